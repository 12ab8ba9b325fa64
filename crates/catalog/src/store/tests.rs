use super::*;

const FORMAT: Format =
    Format { kind: "test", version: 1, create: "CREATE TABLE t (x INTEGER);", durable: false };

fn count(store: &Store) -> Result<i64, CatalogError> {
    store
        .read_blocking(|connection| Ok(connection.query_row("SELECT count(*) FROM t", [], |row| row.get(0))?))
}

#[tokio::test]
async fn commits_are_seen_by_reads_and_after_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let (store, origin) = Store::open(&path, FORMAT).unwrap();
    assert_eq!(origin, Origin::New);
    store.write(|connection| Ok(connection.execute("INSERT INTO t VALUES (1)", [])?)).await.unwrap();
    assert_eq!(
        store
            .read(|connection| Ok(connection.query_row("SELECT x FROM t", [], |row| row.get::<_, i64>(0))?))
            .await
            .unwrap(),
        1
    );
    store.close().await;
    assert!(matches!(count(&store), Err(CatalogError::Closed)));
    assert!(matches!(store.write(|_| Ok(())).await, Err(CatalogError::Closed)));
    let (store, origin) = Store::open(&path, FORMAT).unwrap();
    assert_eq!(origin, Origin::Existing);
    assert_eq!(count(&store).unwrap(), 1);
}

#[tokio::test]
async fn a_store_dropped_without_close_keeps_its_commits() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let (store, _) = Store::open(&path, FORMAT).unwrap();
    store.write(|connection| Ok(connection.execute("INSERT INTO t VALUES (1)", [])?)).await.unwrap();
    // As after a kill: the files as they are now, with the log not yet merged.
    let copy = folder.path().join("b.db");
    for suffix in ["", "-wal"] {
        std::fs::copy(beside(&path, suffix), beside(&copy, suffix)).unwrap();
    }
    let (copied, origin) = Store::open(&copy, FORMAT).unwrap();
    assert_eq!(origin, Origin::Existing);
    assert_eq!(count(&copied).unwrap(), 1);
}

#[tokio::test]
async fn what_went_gives_its_room_back_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let size = || std::fs::metadata(&path).unwrap().len();
    let (store, _) = Store::open(&path, FORMAT).unwrap();
    let fill = "INSERT INTO t WITH RECURSIVE n(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM n LIMIT 100000) SELECT x FROM n";
    store.write(move |connection| Ok(connection.execute(fill, [])?)).await.unwrap();
    store.write(|connection| Ok(connection.execute("DELETE FROM t", [])?)).await.unwrap();
    store.close().await;
    let full = size();
    let (store, _) = Store::open(&path, FORMAT).unwrap();
    store.close().await;
    assert!(size() < full / 10, "{full} bytes became {}", size());
}

#[test]
fn what_is_no_database_is_set_aside_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    std::fs::write(&path, b"this is not a database, but it is long enough to be looked at".repeat(100))
        .unwrap();
    let (store, origin) = Store::open(&path, FORMAT).unwrap();
    let Origin::Replaced(kept) = origin else { panic!("{origin:?}") };
    assert!(std::fs::read(kept).unwrap().starts_with(b"this is not"));
    assert_eq!(count(&store).unwrap(), 0);
}

#[test]
fn a_database_of_another_kind_is_set_aside() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    drop(Store::open(&path, Format { kind: "other", ..FORMAT }).unwrap());
    let (_, origin) = Store::open(&path, FORMAT).unwrap();
    assert!(matches!(origin, Origin::Replaced(_)));
}

#[test]
fn a_newer_format_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    drop(Store::open(&path, Format { version: 2, ..FORMAT }).unwrap());
    assert!(matches!(Store::open(&path, FORMAT), Err(CatalogError::Newer { found: 2, known: 1 })));
    assert!(matches!(Store::open(&path, Format { version: 2, ..FORMAT }), Ok((_, Origin::Existing))));
}

#[test]
fn damage_found_at_run_time_is_set_aside_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let (store, _) = Store::open(&path, FORMAT).unwrap();
    let found: Result<(), _> = store.read_blocking(|_| Err(damage().into()));
    assert!(matches!(found, Err(CatalogError::Damaged)));
    drop(store);
    let (_, origin) = Store::open(&path, FORMAT).unwrap();
    assert!(matches!(origin, Origin::Replaced(_)));
    let (_, origin) = Store::open(&path, FORMAT).unwrap();
    assert_eq!(origin, Origin::Existing);
}
