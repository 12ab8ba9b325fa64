//! An ordinary user mounts, through fusermount3.

use std::fs;
use std::os::unix::fs::chown;
use std::process::Command;

use crate::reading::{errno, libc_errno};
use crate::using::{Host, said};
use crate::{content, hex};

/// Anybody but root; it needs no account.
const USER: u32 = 12_345;

/// A command under which others run as an ordinary user.
fn as_user() -> Command {
    let mut command = Command::new("setpriv");
    let user = USER.to_string();
    command.args(["--reuid", &user, "--regid", &user, "--clear-groups", "--"]);
    command
}

#[test]
fn an_ordinary_user_mounts_and_root_is_kept_out() {
    if !rustix::process::geteuid().is_root() {
        println!("not needed: the other tests run as an ordinary user already");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("host");
    // Where that user can run it, and a folder of its own.
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let own = folder.path().join("own");
    fs::create_dir(&own).unwrap();
    for path in [folder.path(), &own, &program] {
        chown(path, Some(USER), Some(USER)).unwrap();
    }
    match as_user().arg("true").output() {
        Ok(output) if output.status.success() => {}
        other => {
            println!("not tried: setpriv cannot change the user: {other:?}");
            return;
        }
    }
    let mut command = as_user();
    command.arg(&program).env("HOME", &own).env("TMPDIR", &own);
    let mut host = match Host::try_start(&own, command) {
        Ok(host) => host,
        Err(reason) => panic!("an ordinary user cannot mount: {reason}"),
    };
    host.file(b"file", 1000, 7);
    assert_eq!(host.tell(&format!("copy {} /bin/echo", hex(b"echo"))), "ok");
    let read = as_user().arg("cat").arg(host.path("file")).output().unwrap();
    assert!(read.stdout == content(7, 1000), "{}", String::from_utf8_lossy(&read.stderr));
    let listed = said(as_user().arg("ls").arg("-ln").arg(host.tree()));
    assert!(listed.contains("12345"), "{listed}");
    // The drive is its owner's alone.
    assert_eq!(errno(fs::read_dir(host.point())), libc_errno::EACCES);
    assert!(host.stop().is_empty());
}
