//! Folders of small files that somebody reads one after the other.

use std::time::Duration;

use farhold_catalog::EntryId;
use farhold_vfs::{SMALL_FILE_BYTES, SMALL_FILES};

use crate::Bench;
use crate::peer::{Lie, Peer};

/// Waits for what must come; far longer than it takes.
async fn until(check: impl Fn() -> bool) {
    let checked = async {
        while !check() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), checked).await.expect("did not happen");
}

/// Long enough for what must not happen to happen.
async fn a_while() {
    tokio::time::sleep(Duration::from_millis(300)).await;
}

fn name(index: usize) -> String {
    format!("{index:04}")
}

async fn read(bench: &Bench, files: impl IntoIterator<Item = usize>) {
    for index in files {
        let path = format!("bob/folder/{}", name(index));
        assert_eq!(bench.read(&path).await.unwrap(), index.to_string());
    }
}

/// A contact with a folder of so many small files.
async fn small(bench: &Bench, count: usize) -> (std::sync::Arc<Peer>, EntryId) {
    let bob = bench.contact(2, "bob").await;
    let folder = bob.folder(None, "folder").await;
    bob.files(folder, count, name).await;
    (bob, folder)
}

#[tokio::test]
async fn after_three_the_others_come_by_themselves_and_are_not_fetched_again() {
    let bench = Bench::new().await;
    let (bob, _) = small(&bench, 300).await;
    // Numbers are given in the order of names.
    bench.names("bob/folder").await.unwrap();
    read(&bench, 0..3).await;
    until(|| bob.batched() == 297).await;
    let batches = bob.batches();
    assert!(batches.len() == 5 && batches.iter().all(|batch| batch.len() <= SMALL_FILES));
    let before = bob.fetches();
    // The last request is answered at once, too.
    a_while().await;
    read(&bench, 0..300).await;
    assert_eq!((bob.fetches(), bob.batched()), (before, 297));
}

#[tokio::test]
async fn what_follows_the_last_file_read_comes_first() {
    let bench = Bench::new().await;
    let (bob, _) = small(&bench, 300).await;
    bench.names("bob/folder").await.unwrap();
    read(&bench, 100..103).await;
    until(|| bob.batched() == 297).await;
    let first = bob.batches()[0][0].entry;
    assert_eq!(bob.name_of(first), name(103));
    assert_eq!(bob.name_of(bob.batches().last().unwrap().last().unwrap().entry), name(99));
}

#[tokio::test]
async fn one_or_two_large_or_half_read_files_bring_no_others() {
    let bench = Bench::new().await;
    let (bob, folder) = small(&bench, 100).await;
    read(&bench, [0, 1, 0, 1, 1]).await;
    let large = vec![7; SMALL_FILE_BYTES as usize + 1];
    for number in 0..5 {
        bob.file(Some(folder), format!("large {number}").as_bytes(), large.clone()).await;
        bench.read(&format!("bob/folder/large {number}")).await.unwrap();
        let half = format!("half {number}");
        bob.file(Some(folder), half.as_bytes(), vec![1; 1000]).await;
        let file = bench.open(&format!("bob/folder/{half}")).await.unwrap();
        bench.drive.read(file, 0, 999).await.unwrap();
        bench.drive.release(file);
    }
    a_while().await;
    assert_eq!(bob.batched(), 0);
}

#[tokio::test]
async fn a_file_that_changed_meanwhile_is_kept_under_no_other_version() {
    let bench = Bench::new().await;
    let (bob, _) = small(&bench, 50).await;
    let changed = bob.id_of(&name(20));
    // Of the same length, so that nothing but the version tells.
    bob.change_untold(changed, "99", false);
    read(&bench, 0..3).await;
    until(|| bob.batched() == 47).await;
    a_while().await;
    assert_eq!(bench.read(&format!("bob/folder/{}", name(20))).await.unwrap(), "99");
    read(&bench, (0..50).filter(|index| *index != 20)).await;
}

#[tokio::test]
async fn a_lie_fails_the_request_and_nothing_of_it_is_kept() {
    for lie in [Lie::OtherEntry, Lie::WrongLength] {
        let bench = Bench::new().await;
        let (bob, _) = small(&bench, 50).await;
        bob.lie(lie);
        read(&bench, 0..3).await;
        until(|| bob.batched() == 47).await;
        a_while().await;
        assert_eq!(bob.batches().len(), 1, "{lie:?}");
        let before = bob.fetches();
        read(&bench, 3..5).await;
        assert_eq!(bob.fetches(), before + 2, "{lie:?}");
    }
}

#[tokio::test]
async fn no_more_requests_are_under_way_than_fill_a_link() {
    let bench = Bench::new().await;
    let (bob, _) = small(&bench, 4000).await;
    read(&bench, 0..2).await;
    let third = bench.open(&format!("bob/folder/{}", name(2))).await.unwrap();
    bob.silent_batches(true);
    bench.drive.read(third, 0, 100).await.unwrap();
    until(|| bob.batches().len() == 32).await;
    a_while().await;
    assert_eq!(bob.batches().len(), 32);
    bob.silent_batches(false);
    // The contact goes, and what waits for it too.
    bench.drive.detach(bob.id);
    bench.close().await;
}

#[tokio::test]
async fn a_folder_left_alone_is_fetched_no_further() {
    let bench = Bench::new().await;
    let (bob, _) = small(&bench, 4000).await;
    bob.silent_batches(true);
    read(&bench, 0..3).await;
    until(|| bob.batches().len() == 32).await;
    tokio::time::sleep(Duration::from_millis(5500)).await;
    assert_eq!(bob.given_up(), 32);
    bob.silent_batches(false);
    a_while().await;
    assert_eq!(bob.batches().len(), 32);
    // Read again, it goes on.
    read(&bench, 10..13).await;
    until(|| bob.batched() > 32 * SMALL_FILES).await;
}
