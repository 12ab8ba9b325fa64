use farhold_wire::EntryId;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{Home, HomeConfig};

const ANNA: ContactId = ContactId([1; 16]);

#[test]
fn room_is_told_when_it_changed_by_64_mib_or_one_per_cent() {
    let space = |total_bytes, free_bytes| Space { total_bytes, free_bytes };
    let large = 1 << 40;
    assert!(!differs(space(large, 1 << 30), space(large, (1 << 30) + ROOM - 1)));
    assert!(differs(space(large, 1 << 30), space(large, (1 << 30) - ROOM)));
    assert!(!differs(space(1000, 500), space(1000, 509)));
    assert!(differs(space(1000, 500), space(1000, 490)));
    assert!(differs(space(1000, 500), space(1001, 500)));
    assert!(!differs(space(0, 0), space(0, 0)));
}

async fn home(folder: &tempfile::TempDir) -> Home {
    let config = HomeConfig { folder: folder.path().to_owned(), refused: Vec::new() };
    Home::open(config, CancellationToken::new()).await.unwrap()
}

async fn first(home: &Home, from: Option<Position>) -> Batch {
    let mut changes = home.changes(ANNA, from);
    changes.next().await.unwrap().unwrap()
}

#[tokio::test]
async fn who_missed_more_removals_than_are_remembered_gets_a_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let home = home(&folder).await;
    let epoch = home.core.epoch;
    let at = |sequence| Some(Position { epoch, sequence });
    home.core
        .change(|change| (0..10).try_for_each(|_| change.bury(EntryId([0; 16]), 1, Some(ANNA))))
        .await
        .unwrap();
    let batch = first(&home, at(3)).await;
    assert!(!batch.snapshot_begin);
    assert_eq!((batch.position.sequence, batch.changes.len()), (10, 7));

    // As if those up to number 5 were forgotten.
    let forget = |connection: &mut rusqlite::Connection| {
        connection.execute("DELETE FROM tombstones WHERE sequence <= 5", [])?;
        Ok(connection.execute("UPDATE state SET floor = 5", [])?)
    };
    home.core.store.write(forget).await.unwrap();
    assert!(first(&home, at(4)).await.snapshot_begin);
    assert!(!first(&home, at(5)).await.snapshot_begin);
    assert_eq!(first(&home, at(5)).await.changes.len(), 5);
}

#[tokio::test]
async fn a_position_that_was_never_given_gets_a_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let home = home(&folder).await;
    let epoch = home.core.epoch;
    for from in [
        None,
        Some(Position { epoch: epoch.wrapping_add(1), sequence: 0 }),
        Some(Position { epoch, sequence: 1 }),
        Some(Position { epoch, sequence: u64::MAX }),
    ] {
        let batch = first(&home, from).await;
        assert!(batch.snapshot_begin && batch.snapshot_end, "{from:?}");
        assert!(batch.space.is_some());
    }
    assert!(!first(&home, Some(Position { epoch, sequence: 0 })).await.snapshot_begin);
}

#[tokio::test]
async fn more_removals_at_once_than_are_remembered_bring_a_snapshot_to_who_is_connected() {
    let folder = tempfile::tempdir().unwrap();
    let home = home(&folder).await;
    let mut changes = home.changes(ANNA, None);
    assert!(changes.next().await.unwrap().unwrap().snapshot_end);
    let bury = |change: &mut super::super::change::Change<'_>| {
        (0..100_010).try_for_each(|_| change.bury(EntryId([0; 16]), 1, Some(ANNA)))?;
        change.prune()
    };
    home.core.change(bury).await.unwrap();
    let batch = changes.next().await.unwrap().unwrap();
    assert!(batch.snapshot_begin && batch.snapshot_end);
    assert_eq!(batch.position.sequence, 100_010);
    // And goes on as before.
    home.core.change(|change| change.bury(EntryId([1; 16]), 1, Some(ANNA))).await.unwrap();
    let batch = changes.next().await.unwrap().unwrap();
    assert_eq!(batch.changes, [Change::Remove(EntryId([1; 16]))]);
    assert_eq!((batch.position.sequence, batch.snapshot_begin), (100_011, false));
}

#[tokio::test]
async fn removals_beyond_those_remembered_are_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let home = home(&folder).await;
    let bury = |change: &mut super::super::change::Change<'_>| {
        (0..100_010).try_for_each(|_| change.bury(EntryId([0; 16]), 1, Some(ANNA)))?;
        change.prune()
    };
    home.core.change(bury).await.unwrap();
    let (floor, kept) = home
        .core
        .store
        .read(|connection| {
            let kept: i64 = connection.query_row("SELECT count(*) FROM tombstones", [], |row| row.get(0))?;
            Ok((State::load(connection)?.unwrap().floor, kept))
        })
        .await
        .unwrap();
    assert_eq!((floor, kept), (10, 100_000));
    // Many batches, of which only the last moves the position.
    let mut changes = home.changes(ANNA, Some(Position { epoch: home.core.epoch, sequence: 50_000 }));
    let mut removals = 0;
    loop {
        let batch = changes.next().await.unwrap().unwrap();
        assert!(batch.changes.len() <= limits::BATCH_CHANGES);
        removals += batch.changes.len();
        if batch.position.sequence != 50_000 {
            assert_eq!(batch.position.sequence, 100_010);
            break;
        }
    }
    assert_eq!(removals, 50_010);
}
