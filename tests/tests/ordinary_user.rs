//! The drive works for somebody who is not root.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use farhold_tests::peer::output;
use farhold_tests::program::binary;

/// `nobody` on Debian and nearly everywhere else.
const NOBODY: &str = "65534";

#[test]
fn the_demo_runs_as_nobody() {
    if !rustix::process::geteuid().is_root() {
        // Then every other test already runs as an ordinary user.
        println!("not root: the other tests are this test");
        return;
    }
    // The programs and the temp directory must be reachable for that user.
    let folder = tempfile::tempdir().expect("a temp dir");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).expect("rights");
    let program = folder.path().join("farhold");
    fs::copy(binary("farhold"), &program).expect("a copy");
    let script = r#"
        ./farhold demo --json --seconds 60 > ready & demo=$!
        for _ in $(seq 300); do [ -s ready ] && break; sleep 0.1; done
        mount=$(python3 -c 'import json; print(json.load(open("ready"))["mount"])')
        source=$(python3 -c 'import json; print(json.load(open("ready"))["source"])')
        grep " $mount " /proc/self/mounts
        cd "$source" && find . -type f -print0 | sort -z | xargs -0 sha256sum -z | sha256sum
        cd "$mount/demo/$(basename "$source")" && find . -type f -print0 | sort -z | xargs -0 sha256sum -z | sha256sum
        cd / && kill -TERM $demo && wait $demo
        ! grep " $mount " /proc/self/mounts
    "#;
    // Desktop systems let everybody open /dev/fuse, bare ones may not: a namespace of the test's own does.
    let device = "mknod -m 666 fuse c 10 229; mount --bind fuse /dev/fuse; exec \"$@\"";
    let said = output(
        Command::new("unshare")
            .args(["--mount", "--propagation", "private", "bash", "-euc", device, "as-nobody", "setpriv"])
            .args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "env", "-i", "PATH=/usr/bin:/bin"])
            .arg(format!("HOME={}", folder.path().display()))
            .args(["bash", "-euc", script])
            .current_dir(folder.path()),
    );
    let mut lines = said.lines();
    let mount = lines.next().expect("the mount");
    assert!(mount.contains("fuse.farhold") && mount.contains("user_id=65534"), "{mount}");
    let hashes: Vec<_> = lines.take(2).collect();
    assert_eq!(hashes.len(), 2);
    assert_eq!(hashes[0], hashes[1], "the drive equals the sample");
}
