use farhold_wire::limits;

use super::*;

/// Long enough for anything that a test waits for, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

const ANNA: ContactId = ContactId([1; 16]);

async fn until(what: impl AsyncFn() -> bool) {
    let wait = async {
        while !what().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.expect("it never comes");
}

/// A home that shares `shared` below `folder` with Anna, scanned.
async fn home(folder: &Path) -> (Home, ShareInfo) {
    std::fs::create_dir_all(folder.join("shared")).unwrap();
    let config = HomeConfig { folder: folder.join("own"), refused: Vec::new() };
    let home = Home::open(config, CancellationToken::new()).await.unwrap();
    let share = home.share(&folder.join("shared"), &[ANNA], None, false).await.unwrap();
    until(async || !home.roots(ANNA).await.unwrap().is_empty()).await;
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
    until(async || home.shares().await.unwrap()[0].entries != before).await;
    assert_eq!(home.entry(ANNA, share.root).await.unwrap().unwrap().entry.name.as_bytes(), b"shared");
}

fn signal_share(home: &Home) -> i64 {
    *home.core.signals().keys().next().unwrap()
}

#[tokio::test]
async fn folders_recorded_in_a_circle_hang_nothing_and_are_found_where_they_are() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("shared/a")).unwrap();
    std::fs::create_dir_all(folder.path().join("shared/b")).unwrap();
    let (home, share) = home(folder.path()).await;
    let circle = |connection: &mut rusqlite::Connection| {
        Ok(connection.execute_batch(
            "UPDATE entries SET parent = (SELECT row FROM entries WHERE name = x'62') WHERE name = x'61';
             UPDATE entries SET parent = (SELECT row FROM entries WHERE name = x'61') WHERE name = x'62';",
        )?)
    };
    home.core.store.write(circle).await.unwrap();
    assert!(home.children(share.root).await.unwrap().is_empty());
    home.core.signal(signal_share(&home)).unwrap().mark_everything();
    until(async || home.children(share.root).await.unwrap().len() == 2).await;
}

#[test]
fn a_path_that_is_not_there_yet_is_known_as_it_will_be() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    std::fs::create_dir(folder.join("real")).unwrap();
    std::os::unix::fs::symlink("real", folder.join("link")).unwrap();
    assert_eq!(canonical(folder.join("link/own/cache")), folder.join("real/own/cache"));
    assert_eq!(canonical(folder.join("link")), folder.join("real"));
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
    until(async || home.core.files.count() == 0).await;
}

#[tokio::test]
async fn a_disk_that_does_not_answer_holds_some_threads_and_not_all() {
    let folder = tempfile::tempdir().unwrap();
    let (home, share) = home(folder.path()).await;
    // As if so many looks at the disk never came back.
    let mut stuck = Vec::new();
    let number = signal_share(&home);
    while let Ok(turn) =
        tokio::time::timeout(Duration::from_millis(50), home.core.files.own_turn(number)).await
    {
        stuck.push(turn.unwrap());
        assert!(stuck.len() < 100);
    }
    let waiting = tokio::time::timeout(Duration::from_millis(50), home.attributes(share.root));
    assert!(waiting.await.is_err());
    // What the catalog knows is told all the same.
    home.children(share.root).await.unwrap();
    drop(stuck);
    home.attributes(share.root).await.unwrap();
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
