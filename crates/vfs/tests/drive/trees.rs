//! The top folder, contacts' folders, and whose tree has which name.

use farhold_catalog::{Name, Space};
use farhold_vfs::{Change, DiskSpace, Invalidation, NodeId, NodeKind, VfsError};

use crate::Bench;

fn name(text: &str) -> Name {
    Name::new(text.to_owned()).unwrap()
}

#[tokio::test]
async fn contacts_come_go_and_are_renamed() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    let carol = bench.contact(3, "carol").await;
    let queue = bench.drive.invalidations();
    let node = bench.walk("bob").await.unwrap().node;

    assert!(bench.drive.rename(carol.id, name("bob")).is_err());
    bench.drive.rename(bob.id, name("robert")).unwrap();
    assert_eq!(bench.walk("bob").await, Err(VfsError::NotFound));
    assert_eq!(bench.walk("robert").await.unwrap().node, node);
    assert_eq!(queue.wait(), Some(Invalidation::Entry { parent: NodeId::ROOT, name: "bob".into() }));
    assert_eq!(queue.wait(), Some(Invalidation::Attributes(NodeId::ROOT)));

    bob.file(None, b"file", "x").await;
    let file = bench.open("robert/file").await.unwrap();
    bench.drive.detach(bob.id);
    assert_eq!(bench.walk("robert").await, Err(VfsError::NotFound));
    assert_eq!(bench.drive.getattr(node).await, Err(VfsError::Stale));
    assert_eq!(bench.drive.read(file, 0, 1).await, Err(VfsError::Stale));
    let folder = bench.drive.opendir(NodeId::ROOT).await.unwrap();
    let names: Vec<_> = bench.list(folder, 9).await.unwrap().into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, [".", "..", "carol"]);
}

#[tokio::test]
async fn a_contact_keeps_its_node_over_a_restart() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    let tree = bob.folder(None, "tree").await;
    bob.file(Some(tree), b"file", "x").await;
    let before = (bench.walk("bob").await.unwrap().node, bench.walk("bob/tree/file").await.unwrap().node);
    let folder = bench.close().await;

    let bench = Bench::in_folder(folder, crate::NEVER).await;
    let replica = bench.replica(2).await;
    crate::peer::Peer::unknown(2, replica).show(&bench.drive, "bob", &bench.cache, true).await;
    assert_eq!(
        before,
        (bench.walk("bob").await.unwrap().node, bench.walk("bob/tree/file").await.unwrap().node)
    );
}

#[tokio::test]
async fn both_sides_trees_are_shown_and_one_of_two_equal_names_is_marked() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    bench.share("docs", &[("mine.txt", "mine")], &bob).await;
    let theirs = bob.folder(None, "docs").await;
    bob.file(Some(theirs), b"theirs.txt", "theirs").await;
    bob.folder(None, "music").await;

    assert_eq!(bench.names("bob").await.unwrap(), ["docs", "docs (tTtTtT)", "music"]);
    assert_eq!(bench.read("bob/docs/mine.txt").await.unwrap(), "mine");
    assert_eq!(bench.read("bob/docs (tTtTtT)/theirs.txt").await.unwrap(), "theirs");

    // What was shown by another name stays so when there is no need any more.
    bench.home.unshare(&bench.shared("docs"), None).await.unwrap();
    assert_eq!(bench.names("bob").await.unwrap(), ["docs (tTtTtT)", "music"]);
    let queue = bench.drive.invalidations();
    bob.remove(theirs).await;
    let parent = bench.walk("bob").await.unwrap().node;
    let gone: Vec<_> = [queue.wait(), queue.wait()]
        .into_iter()
        .map(|item| match item {
            Some(Invalidation::Removed { parent: folder, name, .. }) if folder == parent => name,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(gone, ["docs", "docs (tTtTtT)"]);
}

#[tokio::test]
async fn an_unavailable_tree_is_an_error_and_never_empty() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    let tree = bob.folder(None, "tree").await;
    bob.file(Some(tree), b"file", "x").await;
    let node = bench.walk("bob/tree").await.unwrap().node;
    bob.alter(tree, |entry| entry.unavailable = true).await;
    assert_eq!(bench.names("bob").await.unwrap(), ["tree"]);
    assert_eq!(bench.names("bob/tree").await, Err(VfsError::Unavailable));
    assert_eq!(bench.drive.lookup(node, b"file").await, Err(VfsError::Unavailable));
    assert_eq!(bench.drive.lookup(node, b"other").await, Err(VfsError::Unavailable));
    bob.alter(tree, |entry| entry.unavailable = false).await;
    assert_eq!(bench.names("bob/tree").await.unwrap(), ["file"]);
}

#[tokio::test]
async fn room_is_told_from_memory() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    bob.folder(None, "tree").await;
    let tree = bench.walk("bob/tree").await.unwrap().node;
    assert_eq!(bench.drive.statfs(tree).await, Ok(DiskSpace::default()));
    bob.announce_space(Space { total_bytes: 100, free_bytes: 7 }).await;
    bob.set_mode(crate::peer::Mode::Silent);
    assert_eq!(bench.drive.statfs(tree).await, Ok(DiskSpace { total: 100, free: 7 }));
    let top = bench.drive.statfs(NodeId::ROOT).await.unwrap();
    assert!(top.total >= top.free && top.total > 100);
}

#[tokio::test]
async fn nothing_is_changed_through_the_drive() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    bob.file(None, b"file", "x").await;
    let contact = bench.walk("bob").await.unwrap().node;
    let file = bench.walk("bob/file").await.unwrap().node;
    let refusal = |node, change| bench.drive.refusal(node, change);
    assert_eq!(refusal(NodeId::ROOT, Change::Create), VfsError::NotPermitted);
    assert_eq!(refusal(NodeId::ROOT, Change::Remove), VfsError::NotPermitted);
    assert_eq!(refusal(contact, Change::Remove), VfsError::Shared);
    assert_eq!(refusal(contact, Change::Create), VfsError::ReadOnly);
    assert_eq!(refusal(file, Change::Content), VfsError::ReadOnly);
    assert_eq!(refusal(file, Change::Owner), VfsError::NotPermitted);
    assert_eq!(refusal(file, Change::Link), VfsError::NotPermitted);
    let opened = bench.drive.open_file(file, farhold_vfs::OpenMode::Write).await;
    assert_eq!(opened, Err(VfsError::ReadOnly));
}

#[tokio::test]
async fn names_and_kinds_are_checked() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    bob.file(None, b"file", "x").await;
    let long = "n".repeat(255);
    bob.file(None, long.as_bytes(), "x").await;
    assert_eq!(bench.walk(&format!("bob/{long}")).await.unwrap().kind, NodeKind::File);
    assert_eq!(bench.walk(&format!("bob/{long}n")).await, Err(VfsError::NameTooLong));
    assert_eq!(bench.walk("bob/file/x").await, Err(VfsError::NotFolder));
    let file = bench.walk("bob/file").await.unwrap().node;
    let contact = bench.walk("bob").await.unwrap().node;
    assert_eq!(bench.drive.opendir(file).await, Err(VfsError::NotFolder));
    assert_eq!(bench.drive.readlink(file).await, Err(VfsError::NotLink));
    let opened = bench.drive.open_file(contact, farhold_vfs::OpenMode::Read).await;
    assert_eq!(opened, Err(VfsError::IsFolder));
}

#[tokio::test]
async fn links_out_of_their_tree_are_not_followed() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    let tree = bob.folder(None, "tree").await;
    let inner = bob.folder(Some(tree), "inner").await;
    for (parent, target, inside) in [
        (Some(tree), "inner", true),
        (Some(inner), "../inner/x", true),
        (Some(inner), "..", true),
        (Some(tree), "..", false),
        (Some(tree), "../other", false),
        (Some(inner), "../../other", false),
        (Some(tree), "/etc/passwd", false),
        (Some(tree), "inner/../../x", false),
        (None, "tree", false),
    ] {
        let link = bob.link(parent, "link", target).await;
        let path = match parent {
            None => "bob/link",
            Some(parent) if parent == tree => "bob/tree/link",
            Some(_) => "bob/tree/inner/link",
        };
        let node = bench.walk(path).await.unwrap().node;
        let read = bench.drive.readlink(node).await;
        if inside {
            assert_eq!(read.unwrap(), target);
        } else {
            assert_eq!(read, Err(VfsError::Denied), "{target}");
        }
        bob.remove(link).await;
    }
}
