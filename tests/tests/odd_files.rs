//! Shares that hold what file systems may hold.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use farhold_tests::peer::{Peer, PeerOptions, Relay, output, pair, succeeds};
use farhold_tests::{tree, wait_for};
use rustix::fs::{CWD, FileType, Mode, mknodat};

struct Two {
    anna: Peer,
    ben: Peer,
    _relay: Relay,
}

fn share(fill: impl FnOnce(&Path)) -> Two {
    let relay = Relay::start();
    let anna = Peer::start(&relay, PeerOptions { mount: true, relay_only: false });
    let ben = Peer::start(&relay, PeerOptions::default());
    pair(&anna, &ben);
    let shared = ben.home().join("shared");
    fs::create_dir(&shared).expect("a folder");
    fill(&shared);
    ben.ask(&["share", shared.to_str().expect("text"), "--with", "anna"]);
    anna.wait_path("ben/shared");
    Two { anna, ben, _relay: relay }
}

/// Waits until both trees are listed the same.
fn same(two: &Two) {
    let (here, home) = (two.anna.mount().join("ben/shared"), two.ben.home().join("shared"));
    let names =
        |root: &Path| output(Command::new("bash").args(["-c", "find . -print0 | sort -z"]).current_dir(root));
    wait_for("all names are listed", Duration::from_secs(30), || {
        (names(&here) == names(&home)).then_some(())
    });
    assert_eq!(tree::listing(&here), tree::listing(&home));
}

#[test]
fn ten_thousand_files_in_one_folder() {
    let mut two = share(|shared| {
        for number in 0..10_000 {
            fs::write(shared.join(format!("file {number}")), format!("{number}")).expect("a file");
        }
    });
    same(&two);
    two.anna.stop();
    two.ben.stop();
}

#[test]
fn every_legal_name() {
    let mut two = share(|shared| {
        for byte in (1..=255u8).filter(|byte| *byte != b'/') {
            let name = [b'n', byte, b'.', b't'];
            fs::write(shared.join(OsStr::from_bytes(&name)), [byte]).expect("a file");
        }
        for name in
            ["trailing ", "trailing.", "CON", "a:b", "\"quoted\"", "%41", "-rf", "\u{1f422}", "e\u{301}"]
        {
            fs::write(shared.join(name), name).expect("a file");
        }
        let longest = "n".repeat(255);
        tree::write(&shared.join(&longest).join(&longest), 1, 10);
        tree::write(&shared.join("\u{4e2d}".repeat(85)), 2, 10);
    });
    same(&two);
    two.anna.stop();
    two.ben.stop();
}

#[test]
fn empty_and_sparse_and_special() {
    let mut two = share(|shared| {
        fs::create_dir_all(shared.join("empty/empty/empty")).expect("folders");
        for number in 0..50 {
            tree::write(&shared.join(format!("zero/{number}")), 0, 0);
        }
        let mut sparse = File::create(shared.join("sparse")).expect("a file");
        sparse.write_all(b"front").expect("written");
        sparse.set_len(1 << 30).expect("a hole");
        symlink("nowhere", shared.join("dangling")).expect("a link");
        symlink("zero/1", shared.join("inside")).expect("a link");
        symlink("/etc/passwd", shared.join("absolute")).expect("a link");
        symlink("../../../../etc/passwd", shared.join("zero/escaping")).expect("a link");
        mknodat(CWD, shared.join("fifo"), FileType::Fifo, Mode::from_raw_mode(0o644), 0).expect("a FIFO");
        drop(std::os::unix::net::UnixListener::bind(shared.join("socket")).expect("a socket"));
    });
    let here = two.anna.mount().join("ben/shared");
    let home = two.ben.home().join("shared");
    two.anna.wait_path("ben/shared/zero/49");

    // A link that leads out of its share is listed, but where it leads is not told.
    let script = "find . -type l -printf '%f ' -exec readlink {} ';' || true";
    let links = output(Command::new("bash").args(["-c", script]).current_dir(&here));
    assert!(links.contains("dangling nowhere") && links.contains("inside zero/1"), "{links}");
    assert!(!links.contains("passwd"), "no target outside of the share is told: {links}");
    for escaping in ["absolute", "zero/escaping"] {
        assert!(!succeeds(Command::new("cat").arg(here.join(escaping))), "{escaping} leads nowhere");
    }
    let special = output(Command::new("find").arg(&here).args(["-type", "p,s"]));
    assert!(special.is_empty(), "{special}");

    assert_eq!(tree::hash(&here.join("inside")), tree::hash(&home.join("inside")));
    let ends = "head -c 10000000 sparse | sha256sum; tail -c 10000000 sparse | sha256sum; stat -c %s sparse";
    let ends = |root: &Path| output(Command::new("bash").args(["-c", ends]).current_dir(root));
    assert_eq!(ends(&here), ends(&home));
    two.anna.stop();
    two.ben.stop();
}

#[test]
fn growing_and_replaced_files() {
    let mut two = share(|shared| {
        tree::write(&shared.join("growing"), 1, 8 << 20);
        tree::write(&shared.join("replaced"), 2, 8 << 20);
    });
    let here = two.anna.mount().join("ben/shared");
    let home = two.ben.home().join("shared");

    // Growing: a reader gets some whole prefix of what it became, never bytes of another place.
    let end = std::time::Instant::now() + Duration::from_secs(4);
    let mut length = 8 << 20;
    while std::time::Instant::now() < end {
        length += 300_000;
        fs::write(home.join("growing.part"), tree::bytes(1, length)).expect("the next state");
        // In place, as a log grows: only the new tail is written.
        let mut file = File::options().append(true).open(home.join("growing")).expect("the file");
        let tail = tree::bytes(1, length);
        let have = usize::try_from(file.metadata().expect("its size").len()).expect("a size");
        file.write_all(&tail[have..]).expect("appended");
        let read =
            Command::new("timeout").args(["30", "cat"]).arg(here.join("growing")).output().expect("cat runs");
        if read.status.success() {
            assert_eq!(read.stdout, tree::bytes(1, read.stdout.len()), "a prefix");
            assert!(read.stdout.len() >= 8 << 20);
        }
    }
    fs::remove_file(home.join("growing.part")).expect("removed");

    // Replaced while open: what is open keeps the old bytes or fails, a new open sees the new ones.
    let mut holder = Command::new("bash")
        .arg("-c")
        .arg("exec 3<replaced 4>../../../held; head -c 1000000 <&3 >&4; touch ../../../opened; sleep 4; cat <&3 >&4")
        .current_dir(&here)
        .spawn()
        .expect("bash runs");
    // `opened` and `held` are made beside the drive, three folders above the share.
    let opened = two.anna.home().join("opened");
    wait_for("the file is open", Duration::from_secs(10), || opened.exists().then_some(()));
    fs::write(home.join("new"), tree::bytes(3, 7_000_000)).expect("the new file");
    fs::rename(home.join("new"), home.join("replaced")).expect("replaced");
    wait_for("the new bytes are seen", Duration::from_secs(20), || {
        // An open in the very moment of the replacement may fail as stale, so this is asked again too.
        succeeds(Command::new("cmp").arg(here.join("replaced")).arg(home.join("replaced"))).then_some(())
    });
    let whole = holder.wait().expect("its status").success();
    let held = fs::read(two.anna.home().join("held")).expect("what the open file gave");
    let old = tree::bytes(2, 8 << 20);
    assert!(old.starts_with(&held) && held.len() >= 1_000_000, "an open file never turns into another one");
    assert!(!whole || held.len() == old.len(), "an open file never ends early without an error");
    same(&two);
    two.anna.stop();
    two.ben.stop();
}
