//! What may be shared, and what becomes of a share whose root or catalog is lost.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]

mod support;

use std::os::unix::fs::symlink;

use farhold_catalog::{Home, HomeConfig, HomeEvent, ShareError, ShareState, TreeEvent};
use farhold_wire::ReadFailure;
use tokio_util::sync::CancellationToken;

use support::{ANNA, BERT, Bench, Follower, content, name};

async fn refusal(bench: &Bench, below: &str) -> ShareError {
    bench.home.share(&bench.folder.path().join(below), &[ANNA], None, false).await.unwrap_err()
}

#[tokio::test]
async fn what_cannot_be_shared_is_refused_with_the_reason() {
    let bench = Bench::new().await;
    std::fs::create_dir(bench.folder.path().join("own/cache")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(bench.folder.path().join("socket")).unwrap();
    symlink("own", bench.folder.path().join("own-link")).unwrap();
    assert!(matches!(refusal(&bench, "none").await, ShareError::Missing(..)));
    assert!(matches!(refusal(&bench, "socket").await, ShareError::Special(_)));
    for own in ["own", "own/cache", "own-link/cache", "shared/../own"] {
        assert!(matches!(refusal(&bench, own).await, ShareError::Own(_)), "{own}");
    }
    let nobody = bench.home.share(&bench.path(""), &[], None, false).await;
    assert!(matches!(nobody, Err(ShareError::NoContact)));
    let root = bench.home.share("/".as_ref(), &[ANNA], None, false).await;
    assert!(matches!(root, Err(ShareError::Name(_))));

    bench.home.share(&bench.path(""), &[ANNA], None, false).await.unwrap();
    assert!(matches!(refusal(&bench, "shared").await, ShareError::AlreadyShared));
    let taken = bench.home.share(bench.folder.path(), &[BERT, ANNA], Some(name("shared")), false).await;
    assert!(matches!(taken, Err(ShareError::NameTaken(_))));
    assert_eq!(bench.home.shares().await.unwrap().len(), 1);
    assert!(matches!(bench.home.unshare(&bench.path("x"), None).await, Err(ShareError::NotShared)));
    assert!(matches!(bench.home.unshare(&bench.path(""), Some(BERT)).await, Err(ShareError::NotShared)));
}

#[tokio::test]
async fn the_programs_own_folders_are_left_out_of_a_share() {
    let bench = Bench::new().await;
    bench.home.share(bench.folder.path(), &[ANNA], Some(name("all")), false).await.unwrap();
    let anna = Follower::new(&bench, ANNA).await;
    anna.until(async |_| anna.root("all").await.is_some()).await;
    let root = anna.root("all").await.unwrap().id;
    let names = async || {
        let children = anna.replica.children(root).await.unwrap();
        children.entries.iter().map(|entry| entry.name.to_string()).collect::<Vec<_>>()
    };
    let before = names().await;
    assert!(before.contains(&"shared".to_owned()) && !before.contains(&"own".to_owned()), "{before:?}");

    // One that becomes the program's own later.
    bench.home.refuse(bench.folder.path().join("drive")).await.unwrap();
    for folder in ["drive", "later"] {
        std::fs::create_dir(bench.folder.path().join(folder)).unwrap();
    }
    anna.until(async |_| names().await.contains(&"later".to_owned())).await;
    assert!(!names().await.contains(&"drive".to_owned()));
    assert!(matches!(refusal(&bench, "drive").await, ShareError::Own(_)));
}

#[tokio::test]
async fn a_shared_file_is_followed_through_replacement_loss_and_return() {
    let bench = Bench::new().await;
    let path = bench.path("doc");
    std::fs::write(&path, "one").unwrap();
    let link = bench.folder.path().join("by-link");
    symlink(&path, &link).unwrap();
    bench.home.share(&link, &[ANNA], None, false).await.unwrap();
    let anna = Follower::new(&bench, ANNA).await;
    anna.sees("by-link", &path).await;
    let id = anna.root("by-link").await.unwrap().id;
    std::fs::write(bench.path("tmp"), "two, longer").unwrap();
    std::fs::rename(bench.path("tmp"), &path).unwrap();
    anna.sees("by-link", &path).await;
    let now = anna.root("by-link").await.unwrap();
    assert_eq!((now.id, now.incarnation), (id, 1));
    assert_eq!(content(&bench.home, ANNA, id).await.unwrap(), b"two, longer");
    std::fs::remove_file(&path).unwrap();
    anna.until(async |_| anna.root("by-link").await.is_some_and(|root| root.unavailable)).await;
    assert_eq!(content(&bench.home, ANNA, id).await, Err(ReadFailure::Unavailable));
    std::fs::write(&path, "three").unwrap();
    anna.sees("by-link", &path).await;
    assert_eq!(content(&bench.home, ANNA, id).await.unwrap(), b"three");
}

#[tokio::test]
async fn a_root_that_is_gone_is_unavailable_and_never_empty() {
    let (bench, anna) = Bench::shared().await;
    bench.write("file", "x");
    let file = anna.expect("file").await;
    let away = bench.folder.path().join("away");
    std::fs::rename(bench.path(""), &away).unwrap();
    anna.until(async |_| anna.root("shared").await.unwrap().unavailable).await;
    assert_eq!(bench.home.shares().await.unwrap()[0].state, ShareState::Unavailable);
    assert_eq!(anna.entry("file").await.unwrap(), file);
    assert_eq!(content(&bench.home, ANNA, file.id).await, Err(ReadFailure::Unavailable));
    let root = file.parent.unwrap();
    assert_eq!(bench.home.lookup(ANNA, Some(root), name("file")).await, Err(ReadFailure::Unavailable));
    std::fs::rename(&away, bench.path("")).unwrap();
    anna.sees("shared", &bench.path("")).await;
    assert_eq!(anna.entry("file").await.unwrap().id, file.id);
    assert_eq!(content(&bench.home, ANNA, file.id).await.unwrap(), b"x");
}

#[tokio::test]
async fn an_unmounted_root_is_unavailable_and_another_disk_is_not_taken_for_it() {
    let bench = Bench::new().await;
    let mount = || {
        rustix::mount::mount("tmpfs", bench.path(""), "tmpfs", rustix::mount::MountFlags::empty(), c"size=1m")
    };
    let unmount = || rustix::mount::unmount(bench.path(""), rustix::mount::UnmountFlags::DETACH);
    if let Err(error) = mount() {
        eprintln!("skipped: this user may not mount ({error})");
        return;
    }
    bench.write("file", "x");
    bench.home.share(&bench.path(""), &[ANNA], None, false).await.unwrap();
    let anna = Follower::new(&bench, ANNA).await;
    let file = anna.expect("file").await;
    unmount().unwrap();
    anna.until(async |_| anna.root("shared").await.unwrap().unavailable).await;
    assert!(anna.entry("file").await.is_some());
    assert_eq!(content(&bench.home, ANNA, file.id).await, Err(ReadFailure::Unavailable));
    mount().unwrap();
    bench.write("other", "secret");
    // Longer than the root is left unlooked at.
    tokio::time::sleep(std::time::Duration::from_secs(6)).await;
    let other =
        (anna.root("shared").await.unwrap().unavailable, anna.entry("other").await, anna.entry("file").await);
    bench.home.close().await;
    unmount().unwrap();
    assert!(matches!(other, (true, None, Some(_))), "{other:?}");
}

#[tokio::test]
async fn another_file_system_below_the_root_is_left_out() {
    let bench = Bench::new().await;
    std::fs::create_dir(bench.path("disk")).unwrap();
    bench.write("file", "x");
    let mounted = rustix::mount::mount(
        "tmpfs",
        bench.path("disk"),
        "tmpfs",
        rustix::mount::MountFlags::empty(),
        c"size=1m",
    );
    if let Err(error) = mounted {
        eprintln!("skipped: this user may not mount ({error})");
        return;
    }
    bench.home.share(&bench.path(""), &[ANNA], None, false).await.unwrap();
    let anna = Follower::new(&bench, ANNA).await;
    anna.expect("file").await;
    let (disk, shares) = (anna.entry("disk").await, bench.home.shares().await);
    bench.home.close().await;
    rustix::mount::unmount(bench.path("disk"), rustix::mount::UnmountFlags::DETACH).unwrap();
    assert_eq!(disk, None);
    assert_eq!(shares.unwrap()[0].skipped, 1);
}

#[tokio::test]
async fn another_folder_at_the_place_is_watched_in_its_turn() {
    let bench = Bench::new().await;
    let above = bench.path("above");
    std::fs::create_dir_all(above.join("top")).unwrap();
    bench.home.share(&above.join("top"), &[ANNA], None, false).await.unwrap();
    let anna = Follower::new(&bench, ANNA).await;
    anna.until(async |_| anna.root("top").await.is_some()).await;
    // No notification tells of it: the watched folder is still where it was in the folder above it.
    std::fs::rename(&above, bench.path("elsewhere")).unwrap();
    std::fs::create_dir_all(above.join("top")).unwrap();
    std::fs::write(above.join("top/first"), "1").unwrap();
    anna.sees("top", &above.join("top")).await;
    std::fs::write(above.join("top/second"), "2").unwrap();
    anna.sees("top", &above.join("top")).await;
}

#[tokio::test]
async fn a_link_on_the_way_to_a_root_is_not_followed() {
    let bench = Bench::new().await;
    std::fs::create_dir_all(bench.path("above/top")).unwrap();
    bench.write("above/top/file", "mine");
    bench.home.share(&bench.path("above/top"), &[ANNA], Some(name("shared")), false).await.unwrap();
    let anna = Follower::new(&bench, ANNA).await;
    let file = anna.expect("file").await.id;
    std::fs::rename(bench.path("above"), bench.path("elsewhere")).unwrap();
    symlink("elsewhere", bench.path("above")).unwrap();
    assert_eq!(content(&bench.home, ANNA, file).await, Err(ReadFailure::Unavailable));
    anna.until(async |_| anna.root("shared").await.is_some_and(|root| root.unavailable)).await;
}

async fn after_loss(lose: impl FnOnce(&Bench)) {
    let (mut bench, mut anna) = Bench::shared().await;
    std::fs::create_dir(bench.path("sub")).unwrap();
    bench.write("sub/file", "x");
    anna.sees("shared", &bench.path("")).await;
    let (file, position) = (anna.expect("sub/file").await, anna.replica.position().unwrap());
    bench.home.close().await;
    lose(&bench);
    bench.restart().await;
    anna.connect(&bench.home);
    anna.until(async |replica| replica.position().is_some_and(|now| now.epoch != position.epoch)).await;
    anna.sees("shared", &bench.path("")).await;
    let now = anna.expect("sub/file").await;
    assert_ne!(now.id, file.id);
    assert_ne!(now.version.epoch, file.version.epoch);
    assert_eq!(content(&bench.home, ANNA, now.id).await.unwrap(), b"x");
    assert_eq!(content(&bench.home, ANNA, file.id).await, Err(ReadFailure::NotFound));
}

#[tokio::test]
async fn a_lost_catalog_begins_a_new_epoch_with_the_same_shares() {
    after_loss(|bench| std::fs::remove_file(bench.catalog().join("home.db")).unwrap()).await;
}

#[tokio::test]
async fn a_damaged_catalog_is_kept_aside_and_begun_anew() {
    after_loss(|bench| {
        std::fs::write(bench.catalog().join("home.db"), "damaged ".repeat(1000)).unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_share_restored_while_its_disk_is_away_is_unavailable() {
    let (mut bench, mut anna) = Bench::shared().await;
    bench.write("file", "x");
    anna.expect("file").await;
    bench.home.close().await;
    std::fs::remove_file(bench.catalog().join("home.db")).unwrap();
    let away = bench.folder.path().join("away");
    std::fs::rename(bench.path(""), &away).unwrap();
    bench.restart().await;
    anna.connect(&bench.home);
    anna.until(async |_| anna.root("shared").await.is_some_and(|root| root.unavailable)).await;
    assert_eq!(bench.home.shares().await.unwrap()[0].state, ShareState::Unavailable);
    std::fs::rename(&away, bench.path("")).unwrap();
    anna.sees("shared", &bench.path("")).await;
}

#[tokio::test]
async fn after_a_kill_nothing_announced_is_forgotten() {
    let (bench, anna) = Bench::shared().await;
    for number in 0..200 {
        bench.write(&format!("{number}"), "x");
        if number % 50 == 0 {
            anna.expect(&format!("{number}")).await;
        }
    }
    let announced = anna.replica.position().unwrap();
    let entry = anna.expect("0").await;
    // The files as a kill would leave them: the log not merged, nothing closed.
    let copy = bench.folder.path().join("copy");
    std::fs::create_dir(&copy).unwrap();
    for file in ["home.db-wal", "home.db", "shares.json"] {
        std::fs::copy(bench.catalog().join(file), copy.join(file)).unwrap();
    }
    bench.home.close().await;
    let config = HomeConfig { folder: copy, refused: Vec::new() };
    let home = Home::open(config, CancellationToken::new()).await.unwrap();
    let mut anna = anna;
    anna.connect(&home);
    anna.sees("shared", &bench.path("")).await;
    let now = anna.replica.position().unwrap();
    assert_eq!(now.epoch, announced.epoch);
    assert!(now.sequence >= announced.sequence);
    assert_eq!(anna.expect("0").await.id, entry.id);
    assert!(anna.expect("0").await.version.counter >= entry.version.counter);
    home.close().await;
}

#[tokio::test]
async fn my_own_side_is_told_of_changes() {
    let bench = Bench::new().await;
    let mut events = bench.home.events();
    let mut told = Vec::new();
    bench.home.share(&bench.path(""), &[ANNA], None, false).await.unwrap();
    bench.write("file", "x");
    let root = loop {
        told.extend(events.recv().await.unwrap().iter().cloned());
        if let Some(root) = told.iter().find_map(|event| match event {
            HomeEvent { contact: Some(ANNA), event: TreeEvent::Added { id, parent: None, .. } } => Some(*id),
            _ => None,
        }) {
            break root;
        }
    };
    let added = |told: &[HomeEvent]| {
        told.iter().any(|event| {
            matches!(&event.event, TreeEvent::Added { parent: Some(parent), name: added, .. }
                if *parent == root && *added == name("file"))
        })
    };
    while !added(&told) {
        told.extend(events.recv().await.unwrap().iter().cloned());
    }
    std::fs::remove_file(bench.path("file")).unwrap();
    while !told.iter().any(|event| matches!(event.event, TreeEvent::Removed { .. })) {
        told.extend(events.recv().await.unwrap().iter().cloned());
    }
}
