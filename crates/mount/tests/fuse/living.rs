//! The mount stays alive whatever one contact or file does.

use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::process::Command;
use std::time::Duration;

use crate::content;
use crate::errors::{self, errno};
use crate::using::{Host, Running, said, until};

#[test]
fn one_file_that_does_not_come_stalls_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Host::start(folder.path());
    host.file(b"blocked", 1 << 20, 1);
    host.file(b"cached", 100_000, 2);
    host.file(b"fresh", 100_000, 3);
    assert_eq!(fs::read(host.path("cached")).unwrap(), content(2, 100_000));
    host.block("blocked");
    let mut reader = Running::start(Command::new("cat").arg(host.path("blocked")));
    until("the read is asked for", || host.tell("fetches") != "1");
    std::thread::scope(|scope| {
        for _ in 0..50 {
            scope.spawn(|| {
                said(Command::new("ls").arg("-l").arg(host.tree()));
                assert_eq!(fs::metadata(host.path("blocked")).unwrap().len(), 1 << 20);
                assert_eq!(fs::read(host.path("cached")).unwrap(), content(2, 100_000));
            });
        }
    });
    assert_eq!(fs::read(host.path("fresh")).unwrap(), content(3, 100_000));
    assert!(!reader.has_ended(), "all that while it waited");
    host.unblock("blocked");
    until("the reader goes on", || reader.has_ended());
    host.stop();
}

#[test]
fn a_hundred_blocked_files_are_changed_and_removed_and_the_mount_lives_and_ends() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Host::start(folder.path());
    let names: Vec<String> = (0..100).map(|index| format!("file-{index}")).collect();
    for name in &names {
        host.file(name.as_bytes(), 300_000, 1);
        host.block(name);
    }
    host.file(b"other", 1000, 2);
    let mut readers: Vec<Running> =
        names.iter().map(|name| Running::start(Command::new("cat").arg(host.path(name)))).collect();
    until("all reads are asked for", || host.tell("fetches").parse::<u32>().unwrap() >= 100);
    for name in &names {
        host.change(name, 200_000, 3, "in-place");
    }
    for (index, name) in names.iter().enumerate() {
        if index % 2 == 0 {
            host.remove(name);
        } else {
            host.change(name, 100_000, 4, "replaced");
        }
    }
    let listed = said(Command::new("ls").arg("-l").arg(host.tree()));
    assert_eq!(listed.lines().filter(|line| line.contains("file-")).count(), 50);
    assert_eq!(fs::read(host.path("other")).unwrap(), content(2, 1000));
    // Its notification may wait behind that of a blocked file, but not the end of the name's time to live. Looked at
    // before, a blocked file with another size would hold up who looks at it: the kernel cuts its pages, for which it
    // waits.
    std::thread::sleep(Duration::from_millis(1100));
    assert_eq!(errno(fs::metadata(host.path("file-0"))), errors::ENOENT);
    assert!(!readers.iter_mut().all(Running::has_ended), "nothing was blocked");
    host.stop();
    for reader in &mut readers {
        until("the readers end with the mount", || reader.has_ended());
    }
}

#[test]
fn offline_fails_at_once_and_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Host::start(folder.path());
    host.file(b"cached", 1000, 1);
    host.file(b"other", 1000, 2);
    fs::read(host.path("cached")).unwrap();
    host.tell("offline");
    for _ in 0..100 {
        assert_eq!(errno(fs::read(host.path("other"))), errors::EHOSTDOWN);
    }
    assert_eq!(fs::read(host.path("cached")).unwrap(), content(1, 1000));
    assert_eq!(errno(fs::read(host.path("none"))), errors::ENOENT);
    host.tell("online");
    assert_eq!(fs::read(host.path("other")).unwrap(), content(2, 1000));
    host.stop();
}

#[test]
fn changes_in_place_are_seen_and_never_mixed() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Host::start(folder.path());
    host.file(b"file", 200_000, 1);
    let mut open = fs::File::open(host.path("file")).unwrap();
    let mut whole = Vec::new();
    open.read_to_end(&mut whole).unwrap();
    for (round, size) in [50_000, 300_000, 21, 200_000].into_iter().enumerate() {
        let (old, seed) = (whole.clone(), 2 + u8::try_from(round).unwrap());
        host.change("file", size, seed, "in-place");
        let new = content(seed, size);
        until("the new content", || {
            let read = fs::read(host.path("file")).unwrap();
            assert!(read == old || read == new, "neither the old content nor the new: {} bytes", read.len());
            read == new
        });
        // So it is for who had it open before.
        until("the new content behind the old descriptor", || {
            whole.clear();
            open.seek(SeekFrom::Start(0)).unwrap();
            open.read_to_end(&mut whole).unwrap();
            whole == new
        });
    }
    drop(open);
    host.stop();
}

#[test]
fn a_replaced_file_keeps_its_bytes_for_who_has_it_open() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Host::start(folder.path());
    host.file(b"read", 23, 1);
    host.file(b"unread", 23, 1);
    let mut read = fs::File::open(host.path("read")).unwrap();
    let mut unread = fs::File::open(host.path("unread")).unwrap();
    let mut whole = Vec::new();
    read.read_to_end(&mut whole).unwrap();
    host.change("read", 21, 2, "replaced");
    host.change("unread", 21, 2, "replaced");
    until("the new file", || fs::read(host.path("read")).unwrap() == content(2, 21));
    read.seek(SeekFrom::Start(0)).unwrap();
    whole.clear();
    read.read_to_end(&mut whole).unwrap();
    assert_eq!(whole, content(1, 23));
    assert_eq!(errno(unread.read_to_end(&mut Vec::new())), errors::ESTALE);
    drop((read, unread));
    host.stop();
}

#[test]
fn the_working_folder_stays_while_times_to_live_pass() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Host::start(folder.path());
    host.file(b"file", 10, 1);
    let mut shell = Command::new("sh");
    shell.args(["-c", "ls . && sleep 2.5 && ls . && cat file | wc -c"]).current_dir(host.tree());
    assert_eq!(said(&mut shell).split_whitespace().collect::<Vec<_>>(), ["file", "file", "10"]);
    host.stop();
}

#[test]
fn a_killed_reader_leaves_the_mount_alive() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Host::start(folder.path());
    host.file(b"blocked", 1 << 20, 1);
    host.file(b"other", 1000, 2);
    host.block("blocked");
    let mut killed = Vec::new();
    for _ in 0..20 {
        let reader = Running::start(Command::new("cat").arg(host.path("blocked")));
        std::thread::sleep(Duration::from_millis(20));
        // It ends when its read is answered: the kernel does not let it go before.
        killed.push(std::thread::spawn(move || drop(reader)));
    }
    assert_eq!(fs::read(host.path("other")).unwrap(), content(2, 1000));
    host.stop();
    for reader in killed {
        reader.join().unwrap();
    }
}
