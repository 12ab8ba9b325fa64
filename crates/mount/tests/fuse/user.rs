//! An ordinary user mounts, through fusermount3.

use std::fs;
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::Command;

use crate::using::{Host, Running, said, until};
use crate::{content, hex};

/// `nobody`: fusermount3 wants a user who has a name.
const USER: u32 = 65_534;

/// A place with mounts of its own, in which the FUSE device may be used by everybody, as it is where udev cares for it.
struct Place {
    keeper: Running,
}

impl Place {
    fn new(folder: &Path) -> Self {
        let ready = folder.join("ready");
        let script = "mount -t tmpfs none \"$0\" && mknod \"$0/fuse\" c 10 229 && chmod 666 \"$0/fuse\" && \
                      mount --bind \"$0/fuse\" /dev/fuse && umount -l \"$0\" && touch \"$1\" && exec sleep 600";
        let device = folder.join("device");
        fs::create_dir(&device).unwrap();
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c", script]).arg(&device).arg(&ready);
        let keeper = Running::start(&mut command);
        until("the place is ready", || ready.exists());
        Self { keeper }
    }

    /// A command that runs another one there.
    fn command(&self) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--mount=/proc/{}/ns/mnt", self.keeper.0.id())).arg("--");
        command
    }

    /// The same as an ordinary user.
    fn as_user(&self) -> Command {
        let mut command = self.command();
        let user = USER.to_string();
        command.args(["setpriv", "--reuid", &user, "--regid", &user, "--clear-groups", "--"]);
        command
    }

    fn is_mounted(&self, point: &Path) -> bool {
        said(self.command().args(["cat", "/proc/self/mountinfo"])).contains(point.to_str().unwrap())
    }
}

#[test]
fn an_ordinary_user_mounts_and_root_is_kept_out() {
    if !rustix::process::geteuid().is_root() {
        println!("not needed: the other tests run as an ordinary user already");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // Where that user can run it, and a folder of its own.
    let program = folder.path().join("host");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let own = folder.path().join("own");
    fs::create_dir(&own).unwrap();
    for path in [folder.path(), &own, &program] {
        chown(path, Some(USER), Some(USER)).unwrap();
    }
    let place = Place::new(folder.path());
    let mut command = place.as_user();
    command.arg(&program);
    let mut host = Host::try_start(&own, command).unwrap();
    let point = host.point();
    assert!(place.is_mounted(&point));
    host.file(b"file", 1000, 7);
    assert_eq!(host.tell(&format!("copy {} /bin/echo", hex(b"echo"))), "ok");
    let read = place.as_user().arg("cat").arg(host.path("file")).output().unwrap();
    assert!(read.stdout == content(7, 1000), "{}", String::from_utf8_lossy(&read.stderr));
    let listed = said(place.as_user().arg("ls").arg("-ln").arg(host.tree()));
    assert_eq!(listed.matches(" 65534 65534 ").count(), 2, "{listed}");
    assert_eq!(said(place.as_user().arg(host.path("echo")).arg("it runs")), "it runs\n");
    // The drive is its owner's alone.
    let seen = place.command().arg("ls").arg(&point).output().unwrap();
    assert!(String::from_utf8_lossy(&seen.stderr).contains("Permission denied"), "{seen:?}");

    // Busy or not, it goes when it is told to.
    let mut inside = place.as_user();
    let mut inside =
        Running::start(inside.args(["sh", "-c", "cd \"$0\" && exec sleep 600"]).arg(host.tree()));
    let working = format!("/proc/{}/cwd", inside.0.id());
    until("somebody works in it", || fs::read_link(&working).is_ok_and(|path| path.starts_with(&point)));
    assert_eq!(host.end("stop"), [inside.0.id()]);
    assert!(!place.is_mounted(&point));
    assert!(!inside.has_ended());
}
