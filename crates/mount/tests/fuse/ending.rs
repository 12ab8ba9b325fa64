//! How mounts begin and end.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use farhold_mount::{MountError, repair_stale};

use crate::content;
use crate::errors::{self, errno};
use crate::using::{Host, Running, is_mounted, unmount, until};

fn again(folder: &Path) -> Result<Host, String> {
    Host::try_start(folder, Command::new(std::env::current_exe().unwrap()))
}

#[test]
fn a_point_that_holds_something_is_refused_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let point = folder.path().join("point");
    fs::create_dir(&point).unwrap();
    fs::write(point.join("mine"), "x").unwrap();
    let refusal = again(folder.path()).err().unwrap();
    assert!(refusal.starts_with(&format!("refused: {} is not empty", point.display())), "{refusal}");
    assert!(!is_mounted(&point));
    assert_eq!(fs::read(point.join("mine")).unwrap(), b"x");
}

#[test]
fn a_mount_begins_and_ends_again_and_again() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..5 {
        let mut host = Host::start(folder.path());
        host.file(b"file", 10, 1);
        assert_eq!(fs::read(host.path("file")).unwrap(), content(1, 10));
        assert!(host.stop().is_empty());
        assert!(fs::read_dir(folder.path().join("point")).unwrap().next().is_none());
    }
}

#[test]
fn nothing_stays_mounted_if_nobody_waits_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Host::start(folder.path());
    host.file(b"file", 10, 1);
    host.hurry();
}

#[test]
fn what_is_mounted_over_the_drive_is_told_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Host::start(folder.path());
    let point = host.point();
    let over = |what: &str| {
        let mounted = Command::new("mount").args(["-t", "tmpfs", what]).arg(&point).output();
        mounted.is_ok_and(|output| output.status.success())
    };
    if !over("someone") {
        println!("not tried: mounting a tmpfs needs root");
        return;
    }
    let answer = host.tell("stop");
    assert!(Command::new("umount").arg(&point).status().unwrap().success());
    assert!(answer.contains("mounted over it"), "{answer}");
}

#[test]
fn a_busy_mount_is_taken_away_and_its_users_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Host::start(folder.path());
    host.file(b"file", 10, 1);
    let stdin = fs::File::open(host.path("file")).unwrap();
    let mut user = Running(
        Command::new("sleep")
            .arg("60")
            .current_dir(host.tree())
            .stdin(stdin)
            .stdout(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let inside = host.path("file");
    let holders = host.stop();
    // This process holds nothing by now, the other one does.
    assert_eq!(holders, [user.0.id()]);
    assert!(!user.has_ended());
    assert!(fs::metadata(inside).is_err());
    let cwd = fs::read_dir(format!("/proc/{}/cwd/", user.0.id()));
    assert_eq!(errno(cwd), errors::ENOTCONN);
}

#[test]
fn a_mount_in_use_stays_as_it_was_unless_forced() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Host::start(folder.path());
    host.file(b"file", 10, 1);
    host.file(b"other", 10, 2);
    let stdin = fs::File::open(host.path("file")).unwrap();
    let user = Running(Command::new("sleep").arg("60").stdin(stdin).spawn().unwrap());
    assert_eq!(host.tell("try"), format!("held {}", user.0.id()));
    assert_eq!(fs::read(host.path("other")).unwrap(), content(2, 10));
    // What the contact changes is still told to the kernel, and somebody else's unmounting still noticed.
    host.change("other", 20, 3, "in-place");
    until("the change is seen", || fs::read(host.path("other")).unwrap() == content(3, 20));
    drop(user);
    assert!(host.end("try").is_empty());
    assert!(!is_mounted(&host.point()));
}

#[test]
fn a_reader_inside_is_let_go_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Host::start(folder.path());
    host.file(b"blocked", 1 << 20, 1);
    host.block("blocked");
    let mut reader = Running::start(Command::new("cat").arg(host.path("blocked")));
    until("the read is asked for", || host.tell("fetches") != "0");
    host.stop();
    until("the reader ends", || reader.has_ended());
}

#[test]
fn a_killed_mount_is_repaired_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Host::start(folder.path());
    host.file(b"file", 10, 1);
    fs::read(host.path("file")).unwrap();
    let point = host.point();
    host.kill();
    assert!(is_mounted(&point));
    assert_eq!(errno(fs::read_dir(&point)), errors::ENOTCONN);
    let mut host = Host::start(folder.path());
    host.file(b"file", 20, 2);
    assert_eq!(fs::read(host.path("file")).unwrap(), content(2, 20));
    host.stop();
}

#[tokio::test]
async fn dead_mounts_alone_are_repaired() {
    let folder = tempfile::tempdir().unwrap();
    let point = folder.path().canonicalize().unwrap().join("point");
    assert_eq!(repair_stale(&point).await.unwrap(), 0);
    let host = Host::start(folder.path());
    assert!(matches!(repair_stale(&point).await, Err(MountError::InUse { .. })));
    let refusal = again(folder.path()).err().unwrap();
    assert!(refusal.contains("mounted at") && refusal.contains("already"), "{refusal}");
    assert!(is_mounted(&point));
    host.kill();
    assert_eq!(repair_stale(&point).await.unwrap(), 1);
    assert!(!is_mounted(&point));
}

#[tokio::test]
async fn what_is_not_ours_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let point = folder.path().canonicalize().unwrap().join("point");
    fs::create_dir(&point).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "someone"]).arg(&point).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        println!("not tried: mounting a tmpfs needs root");
        return;
    }
    let repaired = repair_stale(&point).await;
    let refusal = again(folder.path()).err();
    let still = is_mounted(&point);
    assert!(Command::new("umount").arg(&point).status().unwrap().success());
    assert!(matches!(repaired, Err(MountError::Foreign { ref kind, .. }) if kind == "tmpfs"), "{repaired:?}");
    assert!(refusal.is_some_and(|refusal| refusal.contains("tmpfs")));
    assert!(still);
}

#[test]
fn an_unmount_by_somebody_else_is_noticed() {
    for lazily in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let mut host = Host::start(folder.path());
        host.file(b"file", 10, 1);
        // So that a lazy unmount leaves the connection alive.
        let held = lazily.then(|| fs::File::open(host.path("file")).unwrap());
        unmount(&host.point(), lazily);
        assert_eq!(host.tell("gone"), "ok");
        drop(held);
        // What came to that place afterwards is not ours to take away.
        assert!(host.stop().is_empty());
    }
}
