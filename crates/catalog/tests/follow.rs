//! What a home announces is what its disk holds, whatever happens to either.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]

mod support;

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{Duration, Instant};

use farhold_wire::{EntryKind, ReadFailure, limits};
use futures_util::StreamExt;
use tokio_util::sync::CancellationToken;

use support::{ANNA, BERT, Bench, Follower, name, os};

#[tokio::test]
async fn a_shared_folder_is_seen_whole_and_stays_true() {
    let bench = Bench::new().await;
    std::fs::create_dir_all(bench.path("a/b/empty")).unwrap();
    bench.write("a/file", "content");
    bench.write("a/b/nothing", "");
    symlink("../a/file", bench.path("a/link")).unwrap();
    bench.home.share(&bench.path(""), &[ANNA], None, false).await.unwrap();
    let anna = Follower::new(&bench, ANNA).await;
    anna.sees("shared", &bench.path("")).await;

    bench.write("a/file", "other content");
    std::fs::create_dir_all(bench.path("new/deep/deeper")).unwrap();
    bench.write("new/deep/deeper/file", "x");
    std::fs::remove_dir_all(bench.path("a/b")).unwrap();
    anna.sees("shared", &bench.path("")).await;
}

#[tokio::test]
async fn a_share_appears_whole() {
    let bench = Bench::new().await;
    for folder in 0..40 {
        std::fs::create_dir(bench.path(&format!("{folder}"))).unwrap();
        for file in 0..40 {
            bench.write(&format!("{folder}/{file}"), "x");
        }
    }
    let anna = Follower::new(&bench, ANNA).await;
    bench.home.share(&bench.path(""), &[ANNA], None, false).await.unwrap();
    anna.until(async |_| anna.root("shared").await.is_some()).await;
    assert_eq!(anna.tree("shared").await, Some(support::on_disk(&bench.path(""))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_share_appears_although_something_in_it_changes_all_the_time() {
    let bench = Bench::new().await;
    for folder in 0..1000 {
        std::fs::create_dir(bench.path(&format!("{folder}"))).unwrap();
    }
    let stop = CancellationToken::new();
    let (path, stopped) = (bench.path("log"), stop.clone());
    let writing = tokio::task::spawn_blocking(move || {
        while !stopped.is_cancelled() {
            std::fs::write(&path, "x").unwrap();
        }
    });
    let anna = Follower::new(&bench, ANNA).await;
    bench.home.share(&bench.path(""), &[ANNA], None, false).await.unwrap();
    anna.until(async |_| anna.entry("999").await.is_some()).await;
    stop.cancel();
    writing.await.unwrap();
    anna.sees("shared", &bench.path("")).await;
}

#[tokio::test]
async fn ten_thousand_files_in_one_folder_are_all_listed() {
    let (bench, anna) = Bench::shared().await;
    anna.sees("shared", &bench.path("")).await;
    std::fs::create_dir(bench.path("many")).unwrap();
    for number in 0..10_000 {
        bench.write(&format!("many/{number}"), "");
    }
    let created = Instant::now();
    anna.sees("shared", &bench.path("")).await;
    println!("10,000 files seen {:?} after the last", created.elapsed());
    let listed = anna.replica.children(anna.expect("many").await.id).await.unwrap();
    assert_eq!(listed.entries.len(), 10_000);
    assert!(listed.complete);
    std::fs::remove_dir_all(bench.path("many")).unwrap();
    anna.sees("shared", &bench.path("")).await;
}

#[tokio::test]
async fn names_of_every_legal_byte_and_of_full_length_come_through() {
    let (bench, anna) = Bench::shared().await;
    let legal: Vec<u8> = (1..=255).filter(|byte| *byte != b'/').collect();
    for byte in &legal {
        if !matches!(byte, b'.') {
            std::fs::write(bench.path("").join(os(&[*byte])), [*byte]).unwrap();
        }
    }
    for part in legal.chunks(127) {
        std::fs::create_dir(bench.path("").join(os(part))).unwrap();
    }
    std::fs::write(bench.path("").join(os(&[b'n'; 255])), "").unwrap();
    std::fs::write(bench.path("").join("\u{1f600}".repeat(63)), "").unwrap();
    std::fs::write(bench.path("").join("..."), "").unwrap();
    anna.sees("shared", &bench.path("")).await;
}

#[tokio::test]
async fn what_is_no_file_is_counted_and_not_shown() {
    let (bench, anna) = Bench::shared().await;
    rustix::fs::mknodat(
        rustix::fs::CWD,
        bench.path("fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(bench.path("socket")).unwrap();
    bench.write("file", "x");
    anna.expect("file").await;
    anna.sees("shared", &bench.path("")).await;
    assert_eq!(bench.home.shares().await.unwrap()[0].skipped, 2);
    assert!(anna.entry("fifo").await.is_none() && anna.entry("socket").await.is_none());
}

#[tokio::test]
async fn links_tell_their_target_only_if_it_is_inside() {
    let (bench, anna) = Bench::shared().await;
    std::fs::create_dir(bench.path("sub")).unwrap();
    for (link, target) in [
        ("dangling", "nowhere"),
        ("sub/up", "../file"),
        ("sub/out", "../../file"),
        ("absolute", "/etc/passwd"),
        ("tricky", "sub/../../file"),
    ] {
        symlink(target, bench.path(link)).unwrap();
    }
    for (link, told) in [
        ("dangling", Some("nowhere")),
        ("sub/up", Some("../file")),
        ("sub/out", None),
        ("absolute", None),
        ("tricky", None),
    ] {
        let entry = anna.expect(link).await;
        assert_eq!(entry.kind, EntryKind::Symlink { target: told.map(Into::into) }, "{link}");
    }
}

#[tokio::test]
async fn long_targets_are_spread_over_batches_and_pages() {
    let (bench, anna) = Bench::shared().await;
    let target = "t/".repeat(2040);
    for number in 0..700 {
        symlink(&target, bench.path(&format!("{number}"))).unwrap();
    }
    anna.sees("shared", &bench.path("")).await;
    let root = anna.root("shared").await.unwrap().id;
    let pages: Vec<_> = bench.home.list(ANNA, root).map(|page| page.unwrap().len()).collect().await;
    assert!(pages.len() > 1 && pages.iter().sum::<usize>() == 700, "{pages:?}");
}

#[tokio::test]
async fn folders_behind_links_are_not_entered() {
    let (bench, anna) = Bench::shared().await;
    let outside = bench.folder.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("secret"), "x").unwrap();
    symlink(&outside, bench.path("door")).unwrap();
    let door = anna.expect("door").await;
    assert_eq!(door.kind, EntryKind::Symlink { target: None });
    // A folder that becomes a link meanwhile.
    std::fs::create_dir(bench.path("folder")).unwrap();
    anna.expect("folder").await;
    std::fs::remove_dir(bench.path("folder")).unwrap();
    symlink(&outside, bench.path("folder")).unwrap();
    anna.sees("shared", &bench.path("")).await;
    assert!(anna.entry("folder/secret").await.is_none());
}

#[tokio::test]
async fn a_folder_that_cannot_be_read_is_no_empty_folder() {
    let (bench, anna) = Bench::shared().await;
    std::fs::create_dir(bench.path("sub")).unwrap();
    bench.write("sub/file", "x");
    let file = anna.expect("sub/file").await;
    let mode = |mode| std::fs::set_permissions(bench.path("sub"), Permissions::from_mode(mode)).unwrap();
    mode(0o0);
    if std::fs::read_dir(bench.path("sub")).is_ok() {
        eprintln!("skipped: this user may read everything");
        return;
    }
    anna.until(async |_| anna.entry("sub").await.is_some_and(|sub| sub.unavailable)).await;
    let sub = anna.expect("sub").await.id;
    assert_eq!(anna.replica.children(sub).await.unwrap().entries, std::slice::from_ref(&file));
    assert!(!anna.replica.children(sub).await.unwrap().complete);
    let listed: Vec<_> = bench.home.list(ANNA, sub).collect().await;
    assert_eq!(listed, [Err(ReadFailure::Denied)]);
    assert_eq!(bench.home.shares().await.unwrap()[0].unreadable, 1);
    mode(0o700);
    anna.sees("shared", &bench.path("")).await;
    assert_eq!(anna.expect("sub/file").await, file);
}

#[tokio::test]
async fn what_is_too_deep_is_left_out() {
    let (bench, anna) = Bench::shared().await;
    let mut folder =
        rustix::fs::open(bench.path(""), rustix::fs::OFlags::DIRECTORY, rustix::fs::Mode::empty()).unwrap();
    // Names so long that no single path leads to the end.
    let part = "d".repeat(60);
    for _ in 0..limits::DEPTH + 10 {
        rustix::fs::mkdirat(&folder, &part, rustix::fs::Mode::from_raw_mode(0o700)).unwrap();
        folder = rustix::fs::openat(&folder, &part, rustix::fs::OFlags::DIRECTORY, rustix::fs::Mode::empty())
            .unwrap();
    }
    anna.until(async |_| bench.home.shares().await.unwrap()[0].skipped == 1).await;
    let deepest = vec![part.as_str(); limits::DEPTH - 1].join("/");
    anna.expect(&deepest).await;
    assert!(anna.entry(&format!("{deepest}/{part}")).await.is_none());
}

#[tokio::test]
async fn a_rename_keeps_ids_and_what_lies_below() {
    let (bench, anna) = Bench::shared().await;
    std::fs::create_dir_all(bench.path("one/sub/deep")).unwrap();
    std::fs::create_dir(bench.path("two")).unwrap();
    bench.write("one/sub/deep/file", "x");
    bench.write("one/a", "a");
    let file = anna.expect("one/sub/deep/file").await;
    let sub = anna.expect("one/sub").await;
    let a = anna.expect("one/a").await;
    // Its times are settled, so that only the rename changes its version.
    std::fs::rename(bench.path("one/sub"), bench.path("two/moved")).unwrap();
    std::fs::rename(bench.path("one/a"), bench.path("one/b")).unwrap();
    anna.sees("shared", &bench.path("")).await;
    assert_eq!(anna.expect("two/moved").await.id, sub.id);
    assert_eq!(anna.expect("two/moved/deep/file").await.id, file.id);
    assert_eq!(anna.expect("one/b").await.id, a.id);
    assert_eq!(anna.expect("one/b").await.incarnation, a.incarnation);

    // What is now elsewhere is watched there.
    bench.write("two/moved/deep/new", "y");
    anna.expect("two/moved/deep/new").await;
    anna.sees("shared", &bench.path("")).await;
}

#[tokio::test]
async fn a_file_renamed_over_keeps_its_id_as_a_new_incarnation() {
    let (bench, anna) = Bench::shared().await;
    bench.write("doc", "old");
    let old = anna.expect("doc").await;
    bench.write("doc.tmp", "new");
    anna.expect("doc.tmp").await;
    std::fs::rename(bench.path("doc.tmp"), bench.path("doc")).unwrap();
    anna.sees("shared", &bench.path("")).await;
    let new = anna.expect("doc").await;
    assert_eq!(new.id, old.id);
    assert_eq!(new.incarnation, old.incarnation + 1);
    assert!(new.version.counter > old.version.counter);
}

#[tokio::test]
async fn swapped_files_and_folders_keep_their_ids() {
    let (bench, anna) = Bench::shared().await;
    for folder in ["x", "y"] {
        std::fs::create_dir(bench.path(folder)).unwrap();
        bench.write(&format!("{folder}/in {folder}"), folder);
    }
    bench.write("a", "a");
    bench.write("b", "b");
    let before = [
        anna.expect("x").await.id,
        anna.expect("y").await.id,
        anna.expect("a").await.id,
        anna.expect("b").await.id,
    ];
    anna.expect("y/in y").await;
    for (one, other) in [("x", "y"), ("a", "b")] {
        rustix::fs::renameat_with(
            rustix::fs::CWD,
            bench.path(one),
            rustix::fs::CWD,
            bench.path(other),
            rustix::fs::RenameFlags::EXCHANGE,
        )
        .unwrap();
    }
    anna.sees("shared", &bench.path("")).await;
    let after = [
        anna.expect("y").await.id,
        anna.expect("x").await.id,
        anna.expect("b").await.id,
        anna.expect("a").await.id,
    ];
    assert_eq!(before, after);
    anna.expect("x/in y").await;
}

#[tokio::test]
async fn every_change_of_content_is_a_new_version() {
    let (bench, anna) = Bench::shared().await;
    bench.write("f", "0");
    let mut last = anna.expect("f").await.version;
    for round in 1..6 {
        bench.write("f", round.to_string());
        anna.until(async |_| anna.entry("f").await.is_some_and(|entry| entry.version.counter > last.counter))
            .await;
        anna.sees("shared", &bench.path("")).await;
        last = anna.expect("f").await.version;
    }
    // The same size and time, put back by hand.
    let times = std::fs::metadata(bench.path("f")).unwrap().modified().unwrap();
    bench.write("f", "9");
    std::fs::File::options().write(true).open(bench.path("f")).unwrap().set_modified(times).unwrap();
    anna.until(async |_| anna.entry("f").await.is_some_and(|entry| entry.version.counter > last.counter))
        .await;
}

#[tokio::test]
async fn who_was_away_gets_what_is_new() {
    let (bench, mut anna) = Bench::shared().await;
    std::fs::create_dir_all(bench.path("old/kept")).unwrap();
    bench.write("old/kept/file", "x");
    bench.write("gone", "x");
    anna.sees("shared", &bench.path("")).await;
    let kept = anna.expect("old/kept").await.id;
    anna.disconnect();
    // Out of a folder that then goes, and touched afterwards, so that the change comes late in the log.
    std::fs::rename(bench.path("old/kept"), bench.path("kept")).unwrap();
    std::fs::remove_dir(bench.path("old")).unwrap();
    std::fs::remove_file(bench.path("gone")).unwrap();
    tokio::time::sleep(Duration::from_millis(400)).await;
    bench.write("kept/other", "y");
    bench.write("new", "z");
    anna.connect(&bench.home);
    anna.sees("shared", &bench.path("")).await;
    assert_eq!(anna.expect("kept").await.id, kept);
}

#[tokio::test]
async fn restarts_of_either_side_change_nothing() {
    let (mut bench, mut anna) = Bench::shared().await;
    std::fs::create_dir(bench.path("sub")).unwrap();
    bench.write("sub/file", "x");
    // Past the time in which a change might not be seen, after which the version stays.
    anna.sees("shared", &bench.path("")).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let before = anna.expect("sub/file").await;
    let position = anna.replica.position().unwrap();
    bench.restart().await;
    anna.restart(&bench.home).await;
    bench.write("sub/new", "y");
    anna.sees("shared", &bench.path("")).await;
    assert_eq!(anna.expect("sub/file").await, before);
    assert_eq!(anna.replica.position().unwrap().epoch, position.epoch);
}

#[tokio::test]
async fn changes_while_the_home_is_stopped_are_found() {
    let (mut bench, mut anna) = Bench::shared().await;
    std::fs::create_dir_all(bench.path("a/b")).unwrap();
    bench.write("a/b/file", "x");
    bench.write("goes", "x");
    anna.sees("shared", &bench.path("")).await;
    let file = anna.expect("a/b/file").await.id;
    bench.home.close().await;
    std::fs::rename(bench.path("a/b"), bench.path("b")).unwrap();
    std::fs::remove_file(bench.path("goes")).unwrap();
    bench.restart().await;
    anna.connect(&bench.home);
    anna.sees("shared", &bench.path("")).await;
    assert_eq!(anna.expect("b/file").await.id, file);
}

#[tokio::test]
async fn each_contact_sees_what_is_shared_with_it_by_its_name_and_right() {
    let bench = Bench::new().await;
    bench.write("file", "x");
    let (anna, bert) = (Follower::new(&bench, ANNA).await, Follower::new(&bench, BERT).await);
    bench.home.share(&bench.path(""), &[ANNA], None, false).await.unwrap();
    anna.sees("shared", &bench.path("")).await;
    assert!(bert.replica.roots().await.unwrap().entries.is_empty());
    bench.home.share(&bench.path(""), &[BERT], Some(name("for bert")), true).await.unwrap();
    bert.sees("for bert", &bench.path("")).await;
    assert!(bert.root("for bert").await.unwrap().writable);
    assert!(!anna.root("shared").await.unwrap().writable);
    let file = bench.path("file");
    bench.home.share(&file, &[BERT], None, false).await.unwrap();
    bert.sees("file", &file).await;

    bench.home.unshare(&bench.path(""), Some(BERT)).await.unwrap();
    bert.until(async |_| bert.root("for bert").await.is_none()).await;
    anna.sees("shared", &bench.path("")).await;
    bert.sees("file", &file).await;

    // Given back: the removal that was told does not undo it, also for who is behind.
    bert.disconnect();
    bench.home.share(&bench.path(""), &[BERT], Some(name("again")), false).await.unwrap();
    bench.home.unshare(&bench.path(""), Some(BERT)).await.unwrap();
    bench.home.share(&bench.path(""), &[BERT], Some(name("again")), false).await.unwrap();
    let bert = Follower::new(&bench, BERT).await;
    bert.sees("again", &bench.path("")).await;

    bench.home.forget_contact(BERT).await.unwrap();
    bert.until(async |_| bert.root("again").await.is_none()).await;
    assert_eq!(bench.home.shares().await.unwrap().len(), 1);
}
