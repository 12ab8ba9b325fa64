//! Reads answer bytes of the version that they name, or nothing.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]

mod support;

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::time::Duration;

use farhold_catalog::CatalogError;
use farhold_wire::{EntryId, ReadFailure, ReadPart, limits};
use futures_util::StreamExt;

use support::{ANNA, BERT, Bench, content, name, read, request};

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index * 31 % 251) as u8).collect()
}

#[tokio::test]
async fn any_range_is_answered_exactly() {
    let (bench, anna) = Bench::shared().await;
    let whole = pattern(3_000_000);
    bench.write("file", &whole);
    let entry = anna.expect("file").await;
    for (offset, length) in [
        (0, 0),
        (0, 1),
        (0, limits::READ_BYTES),
        (1, limits::PART_BYTES as u32),
        (262_143, 262_146),
        (2_999_999, 10),
        (3_000_000, 10),
        (1 << 62, 10),
    ] {
        let (head, data) = read(&bench.home, ANNA, request(&entry, offset, length)).await.unwrap();
        let start = (offset as usize).min(whole.len());
        let end = (start + length as usize).min(whole.len());
        assert_eq!(data, whole[start..end], "{offset} {length}");
        assert_eq!(head.entry.id, entry.id);
    }
    bench.write("empty", "");
    let empty = anna.expect("empty").await;
    assert_eq!(content(&bench.home, ANNA, empty.id).await.unwrap(), b"");
}

#[tokio::test]
async fn a_sparse_file_is_read_as_zeros() {
    let (bench, anna) = Bench::shared().await;
    let file = File::create(bench.path("sparse")).unwrap();
    file.set_len(1 << 40).unwrap();
    file.write_at(b"end", (1 << 40) - 3).unwrap();
    drop(file);
    let entry = anna.expect("sparse").await;
    let (_, data) = read(&bench.home, ANNA, request(&entry, (1 << 40) - 5, 100)).await.unwrap();
    assert_eq!(data, b"\0\0end");
}

#[tokio::test]
async fn only_files_that_the_contact_sees_are_read() {
    let (bench, anna) = Bench::shared().await;
    bench.write("file", "x");
    std::fs::create_dir(bench.path("folder")).unwrap();
    symlink("file", bench.path("link")).unwrap();
    let file = anna.expect("file").await;
    assert_eq!(content(&bench.home, ANNA, file.id).await.unwrap(), b"x");
    assert_eq!(content(&bench.home, BERT, file.id).await, Err(ReadFailure::NotFound));
    assert_eq!(content(&bench.home, ANNA, EntryId([7; 16])).await, Err(ReadFailure::NotFound));
    for other in ["folder", "link"] {
        let id = anna.expect(other).await.id;
        assert_eq!(content(&bench.home, ANNA, id).await, Err(ReadFailure::NotFound));
    }
    assert_eq!(
        bench.home.lookup(BERT, Some(file.parent.unwrap()), name("file")).await,
        Err(ReadFailure::NotFound)
    );
    bench.home.unshare(&bench.path(""), None).await.unwrap();
    assert_eq!(content(&bench.home, ANNA, file.id).await, Err(ReadFailure::NotFound));
}

#[tokio::test]
async fn a_read_of_a_gone_version_answers_the_new_one() {
    let (bench, anna) = Bench::shared().await;
    bench.write("file", "old");
    let old = anna.expect("file").await;
    anna.disconnect();
    bench.write("file", "newer");
    let (head, data) = read(&bench.home, ANNA, request(&old, 0, 100)).await.unwrap();
    assert_eq!(data, b"newer");
    assert!(head.entry.version.counter > old.version.counter);
    // Replaced by another object, before any scan.
    bench.write("beside", "newest");
    std::fs::rename(bench.path("beside"), bench.path("file")).unwrap();
    let (head, data) = read(&bench.home, ANNA, request(&old, 0, 100)).await.unwrap();
    assert_eq!(data, b"newest");
    assert_eq!((head.entry.id, head.entry.incarnation), (old.id, old.incarnation + 1));
}

/// Reads the first part of a long read, does something to the file, and reads on.
async fn interrupted(change: impl FnOnce(&Bench)) -> (Result<Vec<u8>, ReadFailure>, Vec<u8>) {
    let (bench, anna) = Bench::shared().await;
    let old = pattern(2 << 20);
    bench.write("file", &old);
    let entry = anna.expect("file").await;
    // Past the time in which a further change might not be seen.
    anna.until(async |_| {
        let settled = read(&bench.home, ANNA, request(&entry, 0, 1)).await.unwrap().0.entry.version;
        tokio::time::sleep(Duration::from_millis(150)).await;
        read(&bench.home, ANNA, request(&entry, 0, 1)).await.unwrap().0.entry.version == settled
    })
    .await;
    let mut parts = bench.home.read(ANNA, request(&entry, 0, 2 << 20));
    assert!(matches!(parts.next().await, Some(Ok(ReadPart::Head(_)))));
    let Some(Ok(ReadPart::Data(first))) = parts.next().await else { panic!("no bytes") };
    let mut data = first.to_vec();
    change(&bench);
    let rest = loop {
        match parts.next().await {
            None => break Ok(data),
            Some(Ok(ReadPart::Data(part))) => data.extend_from_slice(&part),
            Some(Ok(ReadPart::Head(_))) => panic!("a second head"),
            Some(Err(failure)) => {
                assert!(parts.next().await.is_none());
                break Err(failure);
            }
        }
    };
    (rest, content(&bench.home, ANNA, entry.id).await.unwrap_or_default())
}

#[tokio::test]
async fn a_file_changed_while_it_is_read_ends_the_read() {
    let (read, now) = interrupted(|bench| {
        let file = File::options().write(true).open(bench.path("file")).unwrap();
        file.write_at(b"other", 1 << 20).unwrap();
    })
    .await;
    assert_eq!(read, Err(ReadFailure::Changed));
    let mut expected = pattern(2 << 20);
    expected[1 << 20..][..5].copy_from_slice(b"other");
    assert!(now == expected);
}

#[tokio::test]
async fn a_file_replaced_while_it_is_read_ends_the_read() {
    let (read, now) = interrupted(|bench| {
        bench.write("beside", "replaced");
        std::fs::rename(bench.path("beside"), bench.path("file")).unwrap();
    })
    .await;
    assert_eq!(read, Err(ReadFailure::Changed));
    assert_eq!(now, b"replaced");
}

#[tokio::test]
async fn a_file_truncated_while_it_is_read_ends_the_read() {
    let (read, now) = interrupted(|bench| {
        File::options().write(true).open(bench.path("file")).unwrap().set_len(5).unwrap();
    })
    .await;
    assert_eq!(read, Err(ReadFailure::Changed));
    assert_eq!(now, pattern(5));
}

#[tokio::test]
async fn a_file_removed_while_it_is_read_ends_the_read() {
    let (read, now) = interrupted(|bench| std::fs::remove_file(bench.path("file")).unwrap()).await;
    assert_eq!(read, Err(ReadFailure::Changed));
    assert_eq!(now, b"");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_grows_is_read_as_it_was_at_some_moment() {
    let (bench, anna) = Bench::shared().await;
    bench.write("log", "");
    let entry = anna.expect("log").await;
    let path = bench.path("log");
    let writing = tokio::task::spawn_blocking(move || {
        let mut file = File::options().append(true).open(path).unwrap();
        for line in 0..300 {
            file.write_all(format!("{line:07}\n").as_bytes()).unwrap();
            std::thread::sleep(Duration::from_millis(3));
        }
    });
    let mut longest = 0;
    while !writing.is_finished() {
        let seen = match content(&bench.home, ANNA, entry.id).await {
            Err(ReadFailure::Changed) => continue,
            other => other.unwrap(),
        };
        assert_eq!(seen.len() % 8, 0);
        for (line, text) in seen.chunks(8).enumerate() {
            assert_eq!(text, format!("{line:07}\n").as_bytes());
        }
        assert!(seen.len() >= longest);
        longest = seen.len();
    }
    writing.await.unwrap();
    assert_eq!(content(&bench.home, ANNA, entry.id).await.unwrap().len(), 2400);
}

#[tokio::test]
async fn what_took_a_files_place_is_not_opened() {
    let (bench, anna) = Bench::shared().await;
    let outside = bench.folder.path().join("secret");
    std::fs::write(&outside, "secret").unwrap();
    std::fs::create_dir(bench.path("sub")).unwrap();
    for file in ["fifo", "link", "sub/file"] {
        bench.write(file, "x");
    }
    let mut ids = Vec::new();
    for file in ["fifo", "link", "sub/file"] {
        ids.push(anna.expect(file).await.id);
        std::fs::remove_file(bench.path(file)).unwrap();
    }
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, bench.path("fifo"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    symlink(&outside, bench.path("link")).unwrap();
    std::fs::remove_dir(bench.path("sub")).unwrap();
    symlink(bench.folder.path(), bench.path("sub")).unwrap();
    std::fs::write(bench.folder.path().join("file"), "secret").unwrap();
    for id in ids {
        let answer = tokio::time::timeout(Duration::from_secs(20), content(&bench.home, ANNA, id)).await;
        assert_eq!(answer.expect("it hangs"), Err(ReadFailure::NotFound));
    }
}

#[tokio::test]
async fn a_file_that_may_not_be_read_is_denied() {
    let (bench, anna) = Bench::shared().await;
    bench.write("closed", "x");
    std::fs::set_permissions(bench.path("closed"), std::fs::Permissions::from_mode(0o0)).unwrap();
    let entry = anna.expect("closed").await;
    if File::open(bench.path("closed")).is_ok() {
        eprintln!("skipped: this user may read everything");
        return;
    }
    assert_eq!(content(&bench.home, ANNA, entry.id).await, Err(ReadFailure::Denied));
}

#[tokio::test]
async fn one_contact_has_only_so_many_reads_at_once() {
    let (bench, anna) = Bench::shared().await;
    bench.write("file", pattern(1 << 20));
    let entry = anna.expect("file").await;
    let mut held = Vec::new();
    for _ in 0..limits::READS_AT_ONCE {
        let mut parts = bench.home.read(ANNA, request(&entry, 0, 1 << 20));
        assert!(matches!(parts.next().await, Some(Ok(ReadPart::Head(_)))));
        held.push(parts);
    }
    let one_more = read(&bench.home, ANNA, request(&entry, 0, 1)).await;
    assert_eq!(one_more.map(|_| ()), Err(ReadFailure::Busy));
    held.pop();
    assert!(read(&bench.home, ANNA, request(&entry, 0, 1)).await.is_ok());
}

#[tokio::test]
async fn my_own_view_shows_the_disk() {
    let (bench, anna) = Bench::shared().await;
    bench.write("file", "x");
    let entry = anna.expect("file").await;
    let roots = bench.home.roots(ANNA).await.unwrap();
    assert_eq!(roots.len(), 1);
    assert!(bench.home.roots(BERT).await.unwrap().is_empty());
    let root = roots[0].entry.id;
    let children = bench.home.children(root).await.unwrap();
    assert_eq!(children.len(), 1);
    assert_eq!(children[0].entry, entry);
    let attributes = bench.home.attributes(entry.id).await.unwrap();
    assert_eq!(attributes.object, children[0].object);
    assert_eq!(attributes.size, 1);
    // What is on the disk is found before it was scanned.
    bench.write("new", "12");
    let new = bench.home.child(root, name("new")).await.unwrap().expect("it is on the disk");
    let mut file = bench.home.open_file(new.entry.id).await.unwrap();
    let mut text = String::new();
    std::io::Read::read_to_string(&mut file, &mut text).unwrap();
    assert_eq!(text, "12");
    assert!(bench.home.child(root, name("none")).await.unwrap().is_none());
    std::fs::remove_file(bench.path("new")).unwrap();
    assert!(matches!(bench.home.open_file(new.entry.id).await, Err(CatalogError::NotFound)));
    assert!(bench.home.space(ANNA).await.unwrap().total_bytes > 0);
}
