//! Reading a contact's files.

use std::time::Duration;

use bytes::Bytes;
use farhold_vfs::{Handle, NodeKind, OpenMode, Owner, VfsError};

use crate::Bench;
use crate::peer::Mode;

const MIB: usize = 1 << 20;

/// Bytes that differ everywhere.
fn content(seed: u8, length: usize) -> Bytes {
    (0..length).map(|at| (at as u32).wrapping_mul(2_654_435_761).to_be_bytes()[0] ^ seed).collect()
}

#[tokio::test]
async fn what_is_read_is_what_the_home_has() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    let whole = content(1, 3 * MIB + 77);
    bob.file(None, b"file", whole.clone()).await;
    let attr = bench.walk("bob/file").await.unwrap();
    assert_eq!((attr.kind, attr.size, attr.owner), (NodeKind::File, whole.len() as u64, Owner::Mounter));
    // Write bits go: nothing is written through the drive.
    assert_eq!((attr.mode, attr.links), (0o440, 1));
    let file = bench.open("bob/file").await.unwrap();
    for (offset, length) in
        [(0, 10), (MIB - 5, 10), (2 * MIB + 3, MIB), (3 * MIB + 70, 100), (0, 3 * MIB + 77)]
    {
        let read = bench.drive.read(file, offset as u64, length as u32).await.unwrap();
        assert_eq!(read, whole.slice(offset..(offset + length).min(whole.len())));
    }
    assert!(bench.drive.read(file, whole.len() as u64, 10).await.unwrap().is_empty());
    assert!(bench.drive.read(file, u64::MAX, 10).await.unwrap().is_empty());
    bench.drive.release(file);
    assert_eq!(bench.drive.read(file, 0, 1).await, Err(VfsError::BadHandle));
    assert_eq!(bench.drive.read(Handle(999), 0, 1).await, Err(VfsError::BadHandle));
}

#[tokio::test]
async fn offline_what_is_here_is_read_and_the_rest_fails_at_once() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    let tree = bob.folder(None, "tree").await;
    bob.file(Some(tree), b"read", content(1, 1000)).await;
    bob.file(Some(tree), b"unread", content(2, 1000)).await;
    assert_eq!(bench.read("bob/tree/read").await.unwrap(), content(1, 1000));
    bob.set_mode(Mode::Offline);
    assert_eq!(bench.read("bob/tree/read").await.unwrap(), content(1, 1000));
    assert_eq!(bench.read("bob/tree/unread").await, Err(VfsError::Offline));
    assert_eq!(bench.names("bob/tree").await.unwrap(), ["read", "unread"]);
    assert_eq!(bench.walk("bob/tree/none").await, Err(VfsError::NotFound));
    bob.set_mode(Mode::Online);
    assert_eq!(bench.read("bob/tree/unread").await.unwrap(), content(2, 1000));
}

#[tokio::test]
async fn a_silent_contact_is_waited_for_so_long_and_stalls_nothing_else() {
    let bench = Bench::with_wait(Duration::from_secs(3)).await;
    let bob = bench.contact(2, "bob").await;
    let carol = bench.contact(3, "carol").await;
    bob.file(None, b"file", content(1, 1000)).await;
    bob.file(None, b"read", content(3, 1000)).await;
    carol.file(None, b"file", content(2, 1000)).await;
    bench.read("bob/read").await.unwrap();
    bob.set_mode(Mode::Silent);
    // More than a contact's share of what may wait.
    let reads: Vec<_> = (0..400)
        .map(|_| {
            let drive = bench.drive.clone();
            let open = bench.open("bob/file");
            async move { drive.read(open.await.unwrap(), 0, 10).await }
        })
        .collect();
    let waiting = futures_util::future::join_all(reads);
    let elsewhere = async {
        // Until it is decided who may wait.
        tokio::time::sleep(Duration::from_millis(1500)).await;
        for _ in 0..50 {
            assert_eq!(bench.read("carol/file").await.unwrap(), content(2, 1000));
            assert_eq!(bench.read("bob/read").await.unwrap(), content(3, 1000));
            assert_eq!(bench.names("bob").await.unwrap(), ["file", "read"]);
        }
    };
    let (waited, ()) = tokio::join!(waiting, elsewhere);
    assert!(waited.iter().all(|read| matches!(read, Err(VfsError::TimedOut | VfsError::Busy))), "{waited:?}");
    assert!(waited.contains(&Err(VfsError::TimedOut)) && waited.contains(&Err(VfsError::Busy)));
    // The share is free again.
    bob.set_mode(Mode::Online);
    assert_eq!(bench.read("bob/file").await.unwrap(), content(1, 1000));
}

#[tokio::test]
async fn the_cache_of_the_system_is_kept_only_for_the_same_content() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    let id = bob.file(None, b"file", "one").await;
    let node = bench.walk("bob/file").await.unwrap().node;
    let mut keeps = Vec::new();
    for round in 0..4 {
        if round == 2 {
            bob.change(id, "two", false).await;
        }
        let opened = bench.drive.open_file(node, OpenMode::Read).await.unwrap();
        keeps.push(opened.keep_cache);
        bench.drive.release(opened.handle);
    }
    assert_eq!(keeps, [false, true, false, true]);
}

#[tokio::test]
async fn files_read_twice_are_fetched_once() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    bob.file(None, b"file", content(1, 200_000)).await;
    bench.read("bob/file").await.unwrap();
    let fetches = bob.fetches();
    assert!(fetches > 0);
    bench.read("bob/file").await.unwrap();
    assert_eq!(bob.fetches(), fetches);
}

#[tokio::test]
async fn what_was_waited_for_in_vain_is_not_waited_for_again_at_once() {
    let bench = Bench::with_wait(Duration::from_millis(300)).await;
    let bob = bench.contact(2, "bob").await;
    bob.file(None, b"file", content(1, MIB)).await;
    let file = bench.open("bob/file").await.unwrap();
    bob.set_mode(Mode::Silent);
    // As a system reads ahead: two requests at once, and then what the program wants.
    let (first, second) =
        tokio::join!(bench.drive.read(file, 0, 131_072), bench.drive.read(file, 131_072, 131_072));
    assert_eq!((first, second), (Err(VfsError::TimedOut), Err(VfsError::TimedOut)));
    let asked = bob.fetches();
    assert_eq!(bench.drive.read(file, 4096, 4096).await, Err(VfsError::TimedOut));
    assert_eq!(bob.fetches(), asked, "it was asked for again");
    // Elsewhere in the file it is.
    assert_eq!(bench.drive.read(file, 500_000, 4096).await, Err(VfsError::TimedOut));
    assert!(bob.fetches() > asked, "it was not asked for");
    bob.set_mode(Mode::Online);
    tokio::time::sleep(Duration::from_secs(2)).await;
    // Such a short wait may be too short for a busy machine: then once more.
    let read = loop {
        match bench.drive.read(file, 4096, 4096).await {
            Err(VfsError::TimedOut) => tokio::time::sleep(Duration::from_millis(100)).await,
            outcome => break outcome,
        }
    };
    assert_eq!(read.unwrap(), content(1, MIB).slice(4096..8192));
}

#[tokio::test]
async fn files_in_use_are_told_with_where_they_are_read_and_where_they_are() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    let tree = bob.folder(None, "tree").await;
    bob.file(Some(tree), b"film", content(1, 3 * MIB)).await;
    let other = bob.file(None, b"other", content(2, 1000)).await;
    assert_eq!(bench.drive.files_in_use(9).await, []);

    let first = bench.open("bob/tree/film").await.unwrap();
    let second = bench.open("bob/tree/film").await.unwrap();
    bench.drive.read(first, 0, 1000).await.unwrap();
    bench.drive.read(second, 2 << 20, 500).await.unwrap();
    bench.drive.read(second, 2 << 20, 600).await.unwrap();
    let [film] = bench.drive.files_in_use(9).await.try_into().unwrap();
    let names: Vec<String> = film.path.1.iter().map(ToString::to_string).collect();
    assert_eq!(
        (film.path.0.to_string(), names),
        ("bob".to_owned(), vec!["tree".to_owned(), "film".to_owned()])
    );
    assert_eq!((film.size, film.opens, film.playheads), (3 << 20, 2, vec![1000, (2 << 20) + 600]));
    assert_eq!((film.hits, film.misses), (1, 2));

    // The latest read comes first, and no more are told than asked for.
    let last = bench.open("bob/other").await.unwrap();
    bench.drive.read(last, 0, 10).await.unwrap();
    let told = bench.drive.files_in_use(9).await;
    assert_eq!(told.iter().map(|file| file.size).collect::<Vec<_>>(), [1000, 3 << 20]);
    assert_eq!(bench.drive.files_in_use(1).await.len(), 1);

    // Renamed above it, and gone from the trees.
    bob.alter(tree, |entry| entry.name = farhold_catalog::Name::new("films").unwrap()).await;
    bob.remove(other).await;
    let told = bench.drive.files_in_use(9).await;
    let paths: Vec<String> = told.iter().map(|file| file.path.1[0].to_string()).collect();
    assert_eq!(paths, ["other", "films"]);
    for handle in [first, second, last] {
        bench.drive.release(handle);
    }
    assert_eq!(bench.drive.files_in_use(9).await, []);
}

#[tokio::test]
async fn files_of_mine_have_no_map() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    bench.share("notes", &[("a", "text")], &bob).await;
    let file = bench.open("bob/notes/a").await.unwrap();
    bench.drive.read(file, 0, 4).await.unwrap();
    assert_eq!(bench.drive.files_in_use(9).await, []);
}
