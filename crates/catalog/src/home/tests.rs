use farhold_wire::limits;

use super::*;

const ANNA: ContactId = ContactId([1; 16]);

/// A home that shares `shared` below `folder` with Anna, scanned.
async fn home(folder: &Path) -> (Home, ShareInfo) {
    std::fs::create_dir_all(folder.join("shared")).unwrap();
    let config = HomeConfig { folder: folder.join("own"), refused: Vec::new() };
    let home = Home::open(config, CancellationToken::new()).await.unwrap();
    let share = home.share(&folder.join("shared"), &[ANNA], None, false).await.unwrap();
    while home.roots(ANNA).await.unwrap().is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    (home, share)
}

#[tokio::test]
async fn what_was_not_notified_is_found_by_a_scan_of_everything() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("shared/a/b");
    std::fs::create_dir_all(&deep).unwrap();
    let (home, share) = home(folder.path()).await;
    let before = home.shares().await.unwrap()[0].entries;
    let signal = home.core.signals().values().next().unwrap().clone();
    // Nothing is notified from now on.
    home.core.watcher.remove(signal_share(&home));
    std::fs::write(deep.join("file"), "x").unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(home.shares().await.unwrap()[0].entries, before);
    signal.mark_everything();
    while home.shares().await.unwrap()[0].entries == before {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(home.entry(ANNA, share.root).await.unwrap().unwrap().entry.name.as_bytes(), b"shared");
}

fn signal_share(home: &Home) -> i64 {
    *home.core.signals().keys().next().unwrap()
}

#[tokio::test]
async fn notifications_that_fail_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let (home, _) = home(folder.path()).await;
    assert_eq!(home.shares().await.unwrap()[0].watch, WatchState::Watched);
    let signal = home.core.signal(signal_share(&home)).unwrap();
    signal.fail("no more watches".to_owned());
    let told = WatchState::Polled { reason: "no more watches".to_owned() };
    assert_eq!(home.shares().await.unwrap()[0].watch, told);
}

#[tokio::test]
async fn files_are_kept_open_between_reads_and_closed_soon_after() {
    let folder = tempfile::tempdir().unwrap();
    let (home, share) = home(folder.path()).await;
    std::fs::write(folder.path().join("shared/file"), "x").unwrap();
    let file = home.child(share.root, Name::new("file").unwrap()).await.unwrap().unwrap().entry;
    let request =
        ReadRequest { entry: file.id, version: file.version, offset: 0, length: limits::READ_BYTES };
    for _ in 0..3 {
        let parts: Vec<_> = futures_util::StreamExt::collect(home.read(ANNA, request)).await;
        assert!(parts.iter().all(Result::is_ok));
    }
    assert_eq!(home.core.files.count(), 1);
    while home.core.files.count() > 0 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn nothing_works_after_closing_and_nothing_hangs() {
    let folder = tempfile::tempdir().unwrap();
    let (home, share) = home(folder.path()).await;
    let mut changes = home.changes(ANNA, None);
    assert!(futures_util::StreamExt::next(&mut changes).await.is_some());
    home.close().await;
    home.close().await;
    assert!(futures_util::StreamExt::next(&mut changes).await.is_none());
    assert!(matches!(home.shares().await, Err(CatalogError::Closed)));
    assert!(matches!(home.children(share.root).await, Err(CatalogError::Closed)));
    let again = home.share(&folder.path().join("shared"), &[ANNA], None, false).await;
    assert!(matches!(again, Err(ShareError::Catalog(CatalogError::Closed))));
}
