use notify::Event;
use notify::event::{AccessKind, CreateKind, DataChange, Flag, RemoveKind};
use tokio_util::sync::CancellationToken;

use super::*;

const SHARE: i64 = 1;

/// Some watched folders, numbered from 1, and the signal of their share.
fn watched(folders: &[&str]) -> (Watched, Arc<Signal>) {
    let signal = Arc::new(Signal::new(CancellationToken::new()));
    let mut watched = Watched::default();
    watched.signals.insert(SHARE, signal.clone());
    for (row, folder) in (1..).zip(folders) {
        watched.folders.insert(folder.into(), vec![(SHARE, row)]);
    }
    (watched, signal)
}

fn marked(signal: &Signal) -> Vec<i64> {
    let marks = signal.take();
    assert!(!marks.everything);
    let mut folders: Vec<i64> = marks.folders.into_iter().collect();
    folders.sort_unstable();
    folders
}

fn event(kind: EventKind, path: &str) -> notify::Result<Event> {
    Ok(Event::new(kind).add_path(path.into()))
}

#[test]
fn a_change_marks_its_folder_and_the_folder_that_it_is() {
    let (mut watched, signal) = watched(&["/s", "/s/a", "/s/a/b", "/t"]);
    watched.handle(event(EventKind::Create(CreateKind::File), "/s/a/new"));
    assert_eq!(marked(&signal), [2]);
    watched.handle(event(EventKind::Modify(ModifyKind::Data(DataChange::Any)), "/s/a"));
    assert_eq!(marked(&signal), [1, 2]);
    watched.handle(event(EventKind::Access(AccessKind::Any), "/s/a/file"));
    watched.handle(event(EventKind::Create(CreateKind::File), "/elsewhere/file"));
    assert!(marked(&signal).is_empty());
}

#[test]
fn what_leaves_its_place_is_watched_no_more_and_looked_for() {
    for kind in [EventKind::Modify(ModifyKind::Name(RenameMode::From)), EventKind::Remove(RemoveKind::Folder)]
    {
        let (mut watched, signal) = watched(&["/s", "/s/a", "/s/a/b", "/s/ab"]);
        watched.handle(event(kind, "/s/a"));
        assert_eq!(marked(&signal), [1, 2, 3]);
        let left: Vec<_> = watched.folders.keys().map(|path| path.to_str().unwrap()).collect();
        assert_eq!(left, ["/s", "/s/ab"]);
    }
}

#[test]
fn lost_notifications_mark_everything() {
    let (mut watched, signal) = watched(&["/s"]);
    watched.handle(Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan)));
    assert!(signal.take().everything);
    watched.handle(Err(notify::Error::generic("failed")));
    assert!(signal.take().everything);
}

#[test]
fn a_flood_of_marks_becomes_one_for_everything() {
    let (_, signal) = watched(&[]);
    (0..100_001).for_each(|folder| signal.mark(folder));
    let marks = signal.take();
    assert!(marks.everything);
    assert_eq!(marks.folders.len(), 100_000);
}

#[test]
fn a_folder_of_a_share_that_ended_is_not_watched_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let watcher = Watcher::new();
    watcher.add(SHARE, Arc::new(Signal::new(CancellationToken::new())));
    watcher.watch(folder.path(), SHARE, 1).unwrap();
    watcher.watch(&folder.path().join("none"), SHARE, 2).unwrap();
    assert_eq!(lock(&watcher.watched).folders.len(), 1);
    watcher.remove(SHARE);
    watcher.watch(folder.path(), SHARE, 1).unwrap();
    assert!(lock(&watcher.watched).folders.is_empty());
}
