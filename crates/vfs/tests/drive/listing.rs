//! Reading folders from a place on, while they change.

use std::collections::{BTreeSet, HashSet};

use farhold_vfs::{NodeId, VfsError};

use crate::Bench;

const MANY: usize = 10_000;

#[tokio::test]
async fn many_entries_are_listed_once_each_whatever_changes_meanwhile() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    let tree = bob.folder(None, "tree").await;
    bob.files(tree, MANY, |index| format!("file {index:05}")).await;
    let doomed = bob.file(Some(tree), b"zz doomed", "x").await;
    let node = bench.walk("bob/tree").await.unwrap().node;
    let folder = bench.drive.opendir(node).await.unwrap();
    let mut entries = bench.drive.readdir(folder, 0, 100).await.unwrap();
    bob.remove(doomed).await;
    bob.file(Some(tree), b"aa new", "x").await;
    while let Some(cookie) = entries.last().map(|entry| entry.next) {
        let more = bench.drive.readdir(folder, cookie, 999).await.unwrap();
        if more.is_empty() {
            break;
        }
        entries.extend(more);
    }
    let names: Vec<String> =
        entries.iter().map(|entry| String::from_utf8_lossy(&entry.name).into_owned()).collect();
    let stable: BTreeSet<&String> = names.iter().filter(|name| name.starts_with("file ")).collect();
    assert_eq!(stable.len(), MANY);
    let unique: HashSet<&String> = names.iter().collect();
    assert_eq!(unique.len(), names.len());
    // d_ino is st_ino.
    let some = &entries[MANY / 2];
    assert_eq!(bench.drive.lookup(node, &some.name).await.unwrap().node, some.node);

    // From the start again: as it is now.
    let again = bench.list(folder, 1024).await.unwrap();
    assert_eq!(again.len(), MANY + 3);
    assert!(again.iter().any(|entry| entry.name == "aa new"));
    assert!(!again.iter().any(|entry| entry.name == "zz doomed"));
    bench.drive.releasedir(folder);
    assert_eq!(bench.drive.readdir(folder, 0, 1).await, Err(VfsError::BadHandle));
}

#[tokio::test]
async fn any_place_can_be_gone_back_to() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    let tree = bob.folder(None, "tree").await;
    bob.files(tree, 50, |index| format!("{index:02}")).await;
    let node = bench.walk("bob/tree").await.unwrap().node;
    let folder = bench.drive.opendir(node).await.unwrap();
    let all = bench.list(folder, 7).await.unwrap();
    for (index, entry) in all.iter().enumerate() {
        let rest = bench.drive.readdir(folder, entry.next, 100).await.unwrap();
        assert_eq!(rest, all[index + 1..]);
    }
    assert!(bench.drive.readdir(folder, u64::MAX, 1).await.unwrap().is_empty());
}

#[tokio::test]
async fn attributes_in_listings_are_never_older_than_what_was_told() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    let tree = bob.folder(None, "tree").await;
    let grown = bob.file(Some(tree), b"grown", "x").await;
    let gone = bob.file(Some(tree), b"gone", "x").await;
    let replaced = bob.file(Some(tree), b"replaced", "x").await;
    let node = bench.walk("bob/tree").await.unwrap().node;
    let folder = bench.drive.opendir(node).await.unwrap();
    let listed = bench.drive.readdirplus(folder, 0, 9).await.unwrap();
    let old = listed.iter().find(|(entry, _)| entry.name == "replaced").unwrap().1.node;
    assert_eq!(listed.len(), 5);

    bob.change(grown, "longer", false).await;
    bob.remove(gone).await;
    bob.change(replaced, "y", true).await;
    // From the second place on, so out of the same listing.
    let listed = bench.drive.readdirplus(folder, 2, 9).await.unwrap();
    let names: BTreeSet<&[u8]> = listed.iter().map(|(entry, _)| &entry.name[..]).collect();
    assert_eq!(names, BTreeSet::from([&b"grown"[..], b"replaced"]));
    for (entry, attr) in &listed {
        assert_eq!(entry.node, attr.node);
        if entry.name == "grown" {
            assert_eq!(attr.size, 6);
        } else {
            assert_ne!(attr.node, old);
        }
    }
    bench.drive.refer(listed.iter().map(|(entry, _)| entry));
    assert_eq!(bench.drive.getattr(listed[0].1.node).await.unwrap(), listed[0].1);
}

#[tokio::test]
async fn a_listing_does_not_end_at_entries_that_are_gone() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    let tree = bob.folder(None, "tree").await;
    let mut doomed = Vec::new();
    for index in 0..20 {
        doomed.push(bob.file(Some(tree), format!("{index:02}").as_bytes(), "x").await);
    }
    bob.file(Some(tree), b"last", "x").await;
    let node = bench.walk("bob/tree").await.unwrap().node;
    let folder = bench.drive.opendir(node).await.unwrap();
    bench.drive.readdirplus(folder, 0, 2).await.unwrap();
    for id in doomed {
        bob.remove(id).await;
    }
    let listed = bench.drive.readdirplus(folder, 2, 5).await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].0.name, "last");
}

#[tokio::test]
async fn dots_lead_to_the_folder_and_its_parent() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    let tree = bob.folder(None, "tree").await;
    bob.folder(Some(tree), "inner").await;
    let mut parent = NodeId::ROOT;
    let mut node = NodeId::ROOT;
    for name in ["", "bob", "tree", "inner"] {
        if !name.is_empty() {
            parent = node;
            node = bench.drive.lookup(node, name.as_bytes()).await.unwrap().node;
        }
        let folder = bench.drive.opendir(node).await.unwrap();
        let dots = bench.drive.readdir(folder, 0, 2).await.unwrap();
        assert_eq!((&dots[0].name[..], dots[0].node), (&b"."[..], node));
        assert_eq!((&dots[1].name[..], dots[1].node), (&b".."[..], parent));
        bench.drive.releasedir(folder);
    }
}

#[tokio::test]
async fn a_folder_that_is_gone_is_not_empty() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    let tree = bob.folder(None, "tree").await;
    bob.file(Some(tree), b"file", "x").await;
    let node = bench.walk("bob/tree").await.unwrap().node;
    let folder = bench.drive.opendir(node).await.unwrap();
    bob.remove(tree).await;
    assert_eq!(bench.drive.readdir(folder, 0, 9).await, Err(VfsError::Stale));
}
