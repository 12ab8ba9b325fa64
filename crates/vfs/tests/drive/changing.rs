//! Entries that change while somebody looks at them.

use std::collections::HashSet;
use std::time::Duration;

use farhold_vfs::{Invalidation, Invalidations, VfsError};

use crate::Bench;

/// Everything that waits in the queue now.
fn drain(queue: &Invalidations) -> HashSet<Invalidation> {
    let mut items = HashSet::new();
    while let Some(item) = queue.try_next() {
        items.insert(item);
    }
    items
}

#[tokio::test]
async fn a_change_in_place_is_followed_by_open_files() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    let id = bob.file(None, b"file", "one").await;
    let node = bench.walk("bob/file").await.unwrap().node;
    let file = bench.open("bob/file").await.unwrap();
    assert_eq!(bench.drive.read(file, 0, 100).await.unwrap(), "one");
    let queue = bench.drive.invalidations();
    bob.change(id, "two and longer", false).await;
    assert_eq!(bench.drive.read(file, 0, 100).await.unwrap(), "two and longer");
    let attr = bench.walk("bob/file").await.unwrap();
    assert_eq!((attr.node, attr.size), (node, 14));
    assert_eq!(drain(&queue), HashSet::from([Invalidation::Content(node)]));
}

#[tokio::test]
async fn a_read_that_meets_newer_content_follows_it() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    let id = bob.file(None, b"file", "one").await;
    let node = bench.walk("bob/file").await.unwrap().node;
    let file = bench.open("bob/file").await.unwrap();
    let queue = bench.drive.invalidations();
    bob.change_untold(id, "two", false);
    assert_eq!(bench.drive.read(file, 0, 100).await.unwrap(), "two");
    assert_eq!(bob.fetches(), 1, "the answer itself brought it");
    bob.change(id, "longest", false).await;
    assert_eq!(bench.drive.read(file, 0, 100).await.unwrap(), "longest");
    assert_eq!(bench.drive.getattr(node).await.unwrap().size, 7);
    assert_eq!(drain(&queue), HashSet::from([Invalidation::Content(node)]));
}

#[tokio::test]
async fn an_answer_of_the_old_content_is_not_given_after_the_new_one_is_shown() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    let id = bob.file(None, b"file", "old").await;
    let file = bench.open("bob/file").await.unwrap();
    bob.block(id);
    let drive = bench.drive.clone();
    let read = tokio::spawn(async move { drive.read(file, 0, 100).await });
    while bob.fetches() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    bob.change(id, "new", false).await;
    bob.unblock(id);
    assert_eq!(read.await.unwrap().unwrap(), "new");
}

#[tokio::test]
async fn a_replaced_file_is_another_node_and_the_old_one_keeps_its_bytes() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    let id = bob.file(None, b"file", "old").await;
    let other = bob.file(None, b"other", "old").await;
    let contact = bench.walk("bob").await.unwrap().node;
    let old = bench.walk("bob/file").await.unwrap().node;
    let read = bench.open("bob/file").await.unwrap();
    let unread = bench.open("bob/other").await.unwrap();
    bench.drive.read(read, 0, 100).await.unwrap();
    let queue = bench.drive.invalidations();
    bob.change(id, "newer", true).await;
    assert!(drain(&queue).contains(&Invalidation::Entry { parent: contact, name: "file".into() }));
    bob.change(other, "newer", true).await;

    let new = bench.walk("bob/file").await.unwrap();
    assert_ne!(new.node, old);
    assert_eq!(bench.read("bob/file").await.unwrap(), "newer");
    assert_eq!(bench.drive.read(read, 0, 100).await.unwrap(), "old");
    assert_eq!(bench.drive.read(unread, 0, 100).await, Err(VfsError::Stale));
    let attr = bench.drive.getattr(old).await.unwrap();
    assert_eq!((attr.size, attr.links), (3, 0));
    bench.drive.release(read);
    assert_eq!(bench.drive.getattr(old).await, Err(VfsError::Stale));
}

#[tokio::test]
async fn a_file_replaced_untold_is_not_mixed_with_the_old_one() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    let id = bob.file(None, b"file", "old").await;
    let file = bench.open("bob/file").await.unwrap();
    bob.change_untold(id, "newer", true);
    assert_eq!(bench.drive.read(file, 0, 100).await, Err(VfsError::Stale));
    assert_eq!(bench.read("bob/file").await.unwrap(), "newer");
}

#[tokio::test]
async fn a_removed_file_is_read_as_far_as_it_is_here() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    let tree = bob.folder(None, "tree").await;
    let id = bob.file(Some(tree), b"file", "here").await;
    let unread = bob.file(Some(tree), b"unread", "there").await;
    let parent = bench.walk("bob/tree").await.unwrap().node;
    let node = bench.walk("bob/tree/file").await.unwrap().node;
    let file = bench.open("bob/tree/file").await.unwrap();
    let other = bench.open("bob/tree/unread").await.unwrap();
    bench.drive.read(file, 0, 100).await.unwrap();
    let queue = bench.drive.invalidations();
    bob.remove(id).await;
    bob.remove(unread).await;
    assert!(drain(&queue).contains(&Invalidation::Removed { parent, node, name: "file".into() }));
    assert_eq!(bench.walk("bob/tree/file").await, Err(VfsError::NotFound));
    assert_eq!(bench.drive.read(file, 0, 100).await.unwrap(), "here");
    assert_eq!(bench.drive.read(other, 0, 100).await, Err(VfsError::Stale));
    assert_eq!(bench.drive.getattr(node).await.unwrap().links, 0);
}

#[tokio::test]
async fn a_moved_entry_keeps_its_node() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    let from = bob.folder(None, "from").await;
    let to = bob.folder(None, "to").await;
    let id = bob.folder(Some(from), "folder").await;
    bob.file(Some(id), b"file", "x").await;
    let (from_node, to_node) =
        (bench.walk("bob/from").await.unwrap().node, bench.walk("bob/to").await.unwrap().node);
    let node = bench.walk("bob/from/folder/file").await.unwrap().node;
    let queue = bench.drive.invalidations();
    bob.alter(id, |entry| {
        entry.parent = Some(to);
        entry.name = farhold_catalog::Name::new("moved").unwrap();
    })
    .await;
    let items = drain(&queue);
    assert!(items.contains(&Invalidation::Entry { parent: from_node, name: "folder".into() }), "{items:?}");
    assert!(items.contains(&Invalidation::Entry { parent: to_node, name: "moved".into() }), "{items:?}");
    assert_eq!(bench.walk("bob/to/moved/file").await.unwrap().node, node);
    assert_eq!(bench.walk("bob/from/folder").await, Err(VfsError::NotFound));
}

#[tokio::test]
async fn new_entries_and_attributes_are_told() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    let tree = bob.folder(None, "tree").await;
    let id = bob.file(Some(tree), b"file", "x").await;
    let parent = bench.walk("bob/tree").await.unwrap().node;
    let node = bench.walk("bob/tree/file").await.unwrap().node;
    let queue = bench.drive.invalidations();
    bob.file(Some(tree), b"new", "x").await;
    assert_eq!(drain(&queue), HashSet::from([Invalidation::Attributes(parent)]));
    bob.alter(id, |entry| entry.mode = 0o400).await;
    assert_eq!(drain(&queue), HashSet::from([Invalidation::Attributes(node)]));
    assert_eq!(bench.walk("bob/tree/file").await.unwrap().mode, 0o400);
    // What the system forgot is not told.
    bench.drive.forget(node, 99);
    bob.alter(id, |entry| entry.mode = 0o440).await;
    assert_eq!(drain(&queue), HashSet::new());
}

#[tokio::test]
async fn a_new_queue_ends_the_one_before() {
    let bench = Bench::new().await;
    let first = bench.drive.invalidations();
    let second = bench.drive.invalidations();
    assert_eq!(first.wait(), None);
    bench.contact(2, "bob").await;
    assert!(second.wait().is_some());
}

#[tokio::test]
async fn a_change_that_an_open_file_was_not_told_of_is_seen_with_the_next_one() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    let id = bob.file(None, b"file", "old").await;
    let file = bench.open("bob/file").await.unwrap();
    assert_eq!(bench.drive.read(file, 0, 100).await.unwrap(), "old");
    // As if it had come while the file was being opened: when it is told, the file is not among the open ones.
    let entry = bob.change_untold(id, "newer", false);
    bob.replica.absorb(entry).await.unwrap();
    assert_eq!(bench.drive.read(file, 0, 100).await.unwrap(), "old");
    bob.file(None, b"other", "x").await;
    assert_eq!(bench.drive.read(file, 0, 100).await.unwrap(), "newer");
}

#[tokio::test]
async fn a_link_leads_out_neither_from_where_it_is_nor_from_where_it_was_told() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    let tree = bob.folder(None, "tree").await;
    let folder = bob.folder(Some(tree), "folder").await;
    let (mut deep, mut path) = (tree, "bob/tree".to_owned());
    for name in ["a", "b", "c"] {
        deep = bob.folder(Some(deep), name).await;
        path = format!("{path}/{name}");
    }
    // Somebody works in the folder while its home moves it down: the system does not look it up again.
    let working = bench.walk("bob/tree/folder").await.unwrap().node;
    bob.alter(folder, |entry| entry.parent = Some(deep)).await;
    for (name, target) in [("near", "../near"), ("far", "../../../../far")] {
        bob.link(Some(folder), name, target).await;
    }
    let near = bench.drive.lookup(working, b"near").await.unwrap().node;
    let far = bench.drive.lookup(working, b"far").await.unwrap().node;
    assert_eq!(bench.drive.readlink(near).await.unwrap(), "../near");
    assert_eq!(bench.drive.readlink(far).await, Err(VfsError::Denied));
    // Who never was told of the old place sees all.
    for node in [near, far, working] {
        bench.drive.forget(node, 99);
    }
    let far = bench.walk(&format!("{path}/folder/far")).await.unwrap().node;
    assert_eq!(bench.drive.readlink(far).await.unwrap(), "../../../../far");
}

#[tokio::test]
async fn a_system_that_has_ended_leaves_nothing() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    bob.file(None, b"file", "x").await;
    let node = bench.walk("bob/file").await.unwrap().node;
    let file = bench.open("bob/file").await.unwrap();
    let folder = bench.drive.opendir(bench.walk("bob").await.unwrap().node).await.unwrap();
    bench.drive.forget_all();
    assert_eq!(bench.drive.getattr(node).await, Err(VfsError::Stale));
    assert_eq!(bench.drive.read(file, 0, 1).await, Err(VfsError::BadHandle));
    assert_eq!(bench.drive.readdir(folder, 0, 1).await, Err(VfsError::BadHandle));
    // The next one begins anew, with the same numbers.
    assert_eq!(bench.walk("bob/file").await.unwrap().node, node);
    assert_eq!(bench.read("bob/file").await.unwrap(), "x");
}
