use std::collections::{BTreeMap, HashMap, HashSet};

use bytes::Bytes;
use farhold_wire::{Change, EntryKind, Timestamp, Version, limits};
use proptest::prelude::*;

use super::*;

const EPOCH: u64 = 7;

fn id(number: u32) -> EntryId {
    let mut bytes = [0xaa; 16];
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    EntryId(bytes)
}

fn name(text: &str) -> Name {
    Name::new(text.to_owned()).unwrap()
}

fn entry(number: u32, parent: Option<u32>, text: &str, kind: EntryKind) -> Entry {
    Entry {
        id: id(number),
        parent: parent.map(id),
        name: name(text),
        kind,
        version: Version { epoch: EPOCH, counter: 1 },
        incarnation: 0,
        modified: Timestamp::default(),
        mode: 0o644,
        writable: false,
        unavailable: false,
    }
}

fn folder(number: u32, parent: Option<u32>, text: &str) -> Entry {
    entry(number, parent, text, EntryKind::Folder)
}

fn file(number: u32, parent: Option<u32>, text: &str) -> Entry {
    entry(number, parent, text, EntryKind::File { size: 1 })
}

fn versioned(mut entry: Entry, counter: u64) -> Entry {
    entry.version.counter = counter;
    entry
}

fn batch(sequence: u64, changes: Vec<Change>) -> Batch {
    Batch {
        position: Position { epoch: EPOCH, sequence },
        changes,
        snapshot_begin: false,
        snapshot_end: false,
        space: None,
    }
}

fn puts(sequence: u64, entries: Vec<Entry>) -> Batch {
    batch(sequence, entries.into_iter().map(Change::Put).collect())
}

fn snapshot(sequence: u64, entries: Vec<Entry>) -> Batch {
    Batch { snapshot_begin: true, snapshot_end: true, ..puts(sequence, entries) }
}

struct Bench {
    replica: Replica,
    folder: tempfile::TempDir,
}

impl Bench {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let replica = Replica::open(&folder.path().join("peer.db")).await.unwrap();
        Self { replica, folder }
    }

    async fn holding(entries: Vec<Entry>) -> Self {
        let bench = Self::new().await;
        bench.replica.apply(snapshot(10, entries)).await.unwrap();
        bench
    }

    async fn reopened(self) -> Self {
        self.replica.close().await;
        let replica = Replica::open(&self.folder.path().join("peer.db")).await.unwrap();
        Self { replica, folder: self.folder }
    }

    async fn names(&self, parent: u32) -> Vec<String> {
        let children = self.replica.children(id(parent)).await.unwrap();
        children.entries.iter().map(|entry| entry.name.to_string()).collect()
    }
}

#[tokio::test]
async fn a_snapshot_is_held_across_a_restart() {
    let bench = Bench::new().await;
    assert_eq!(bench.replica.position(), None);
    assert!(!bench.replica.roots().await.unwrap().complete);
    let odd = Name::new(Bytes::from_static(b"\xff\n\\ odd")).unwrap();
    let mut link = entry(3, Some(1), "x", EntryKind::Symlink { target: Some("b".into()) });
    link.name = odd.clone();
    let announced = vec![folder(1, None, "photos"), file(2, Some(1), "a"), link.clone()];
    let space = Space { total_bytes: u64::MAX, free_bytes: 5 };
    let events =
        bench.replica.apply(Batch { space: Some(space), ..snapshot(10, announced.clone()) }).await.unwrap();
    assert_eq!(events.len(), 3);
    let bench = bench.reopened().await;
    assert_eq!(bench.replica.position(), Some(Position { epoch: EPOCH, sequence: 10 }));
    assert_eq!(bench.replica.space(), Some(space));
    let children = bench.replica.children(id(1)).await.unwrap();
    assert!(children.complete);
    assert_eq!(children.entries, vec![announced[1].clone(), link.clone()]);
    assert_eq!(bench.replica.lookup(Some(id(1)), odd).await.unwrap(), Lookup::Found(link));
    assert_eq!(bench.replica.lookup(Some(id(1)), name("b")).await.unwrap(), Lookup::Absent);
    assert_eq!(bench.replica.lookup(None, name("b")).await.unwrap(), Lookup::Absent);
    assert_eq!(bench.replica.entry(id(2)).await.unwrap(), Some(announced[1].clone()));
}

#[tokio::test]
async fn changes_are_told_as_what_they_are() {
    let bench = Bench::holding(vec![
        folder(1, None, "top"),
        file(2, Some(1), "same"),
        file(3, Some(1), "moves"),
        file(4, Some(1), "grows"),
        file(5, Some(1), "goes"),
        folder(6, Some(1), "sub"),
        file(7, Some(1), "modes"),
    ])
    .await;
    let mut replaced = versioned(file(4, Some(1), "grows"), 20);
    replaced.incarnation = 1;
    let mut modes = file(7, Some(1), "modes");
    modes.mode = 0o600;
    let changes = vec![
        Change::Put(file(2, Some(1), "same")),
        Change::Put(file(3, Some(6), "moved")),
        Change::Put(replaced),
        Change::Put(file(8, Some(6), "new")),
        Change::Put(modes),
        Change::Remove(id(5)),
        Change::Remove(id(99)),
    ];
    let events = bench.replica.apply(batch(11, changes)).await.unwrap();
    let expected = [
        TreeEvent::Moved { id: id(3), from: (Some(id(1)), name("moves")), to: (Some(id(6)), name("moved")) },
        TreeEvent::Content { id: id(4), replaced: true },
        TreeEvent::Removed { id: id(5), parent: Some(id(1)), name: name("goes") },
        TreeEvent::Attributes { id: id(7) },
        TreeEvent::Added { id: id(8), parent: Some(id(6)), name: name("new") },
    ];
    assert_eq!(events.len(), expected.len(), "{events:?}");
    assert!(expected.iter().all(|event| events.contains(event)), "{events:?}");
    assert_eq!(bench.names(6).await, ["moved", "new"]);
}

#[tokio::test]
async fn a_swap_in_one_batch_loses_nothing() {
    let bench = Bench::holding(vec![
        folder(1, None, "top"),
        folder(2, Some(1), "a"),
        folder(3, Some(1), "b"),
        file(4, Some(2), "in a"),
        file(5, Some(3), "in b"),
    ])
    .await;
    let events =
        bench.replica.apply(puts(11, vec![folder(2, Some(1), "b"), folder(3, Some(1), "a")])).await.unwrap();
    assert_eq!(events.len(), 2, "{events:?}");
    assert_eq!(bench.names(1).await, ["a", "b"]);
    assert_eq!(bench.names(3).await, ["in b"]);
    let Lookup::Found(a) = bench.replica.lookup(Some(id(1)), name("a")).await.unwrap() else { panic!() };
    assert_eq!(a.id, id(3));
}

#[tokio::test]
async fn removing_a_folder_removes_what_is_below_and_spares_what_moved_out() {
    let bench = Bench::holding(vec![
        folder(1, None, "top"),
        folder(2, Some(1), "old"),
        folder(3, Some(2), "kept"),
        file(4, Some(3), "file"),
        file(5, Some(2), "lost"),
    ])
    .await;
    let changes = vec![Change::Put(folder(3, Some(1), "kept")), Change::Remove(id(2))];
    bench.replica.apply(batch(11, changes)).await.unwrap();
    assert_eq!(bench.names(1).await, ["kept"]);
    assert_eq!(bench.names(3).await, ["file"]);
    assert_eq!(bench.replica.entry(id(5)).await.unwrap(), None);
}

#[tokio::test]
async fn a_snapshot_removes_only_what_it_did_not_name_by_its_end() {
    let bench = Bench::holding(vec![
        folder(1, None, "top"),
        folder(2, Some(1), "old"),
        file(3, Some(2), "below"),
        file(4, Some(1), "stays"),
    ])
    .await;
    let mut begin = puts(90, vec![folder(1, None, "top")]);
    begin.snapshot_begin = true;
    bench.replica.apply(begin).await.unwrap();
    assert_eq!(bench.replica.position(), None);
    assert_eq!(bench.names(1).await, ["old", "stays"]);

    // The connection is lost: the next one begins again.
    let bench = bench.reopened().await;
    assert_eq!(bench.replica.position(), None);
    assert_eq!(bench.names(2).await, ["below"]);
    let events = bench
        .replica
        .apply(snapshot(95, vec![folder(1, None, "top"), file(4, Some(1), "stays")]))
        .await
        .unwrap();
    assert_eq!(events, [TreeEvent::Removed { id: id(2), parent: Some(id(1)), name: name("old") }]);
    assert_eq!(bench.names(1).await, ["stays"]);
    assert_eq!(bench.replica.entry(id(3)).await.unwrap(), None);
    assert_eq!(bench.replica.position(), Some(Position { epoch: EPOCH, sequence: 95 }));
}

#[tokio::test]
async fn an_empty_snapshot_empties() {
    let bench = Bench::holding(vec![folder(1, None, "top"), file(2, Some(1), "a")]).await;
    bench.replica.apply(snapshot(11, vec![])).await.unwrap();
    let roots = bench.replica.roots().await.unwrap();
    assert!(roots.entries.is_empty() && roots.complete);
}

#[tokio::test]
async fn new_folders_are_complete_when_the_step_is() {
    let bench = Bench::holding(vec![folder(1, None, "top")]).await;
    bench.replica.apply(puts(10, vec![folder(2, Some(1), "new"), file(3, Some(2), "a")])).await.unwrap();
    let children = bench.replica.children(id(2)).await.unwrap();
    assert!(!children.complete);
    assert_eq!(bench.replica.lookup(Some(id(2)), name("b")).await.unwrap(), Lookup::Unknown);
    assert!(bench.replica.children(id(1)).await.unwrap().complete);
    bench.replica.apply(puts(20, vec![file(4, Some(2), "b")])).await.unwrap();
    assert!(bench.replica.children(id(2)).await.unwrap().complete);
    assert_eq!(bench.replica.lookup(Some(id(2)), name("c")).await.unwrap(), Lookup::Absent);
}

#[tokio::test]
async fn during_the_first_snapshot_nothing_is_absent() {
    let bench = Bench::new().await;
    let mut begin = puts(10, vec![folder(1, None, "top")]);
    begin.snapshot_begin = true;
    bench.replica.apply(begin).await.unwrap();
    assert_eq!(bench.replica.lookup(None, name("x")).await.unwrap(), Lookup::Unknown);
    assert_eq!(bench.replica.lookup(Some(id(1)), name("x")).await.unwrap(), Lookup::Unknown);

    // The home answers meanwhile.
    bench
        .replica
        .absorb_listing(id(1), vec![file(2, Some(1), "x"), file(3, Some(9), "elsewhere")])
        .await
        .unwrap();
    assert!(bench.replica.children(id(1)).await.unwrap().complete);
    assert_eq!(bench.names(1).await, ["x"]);
    let mut end = puts(10, vec![file(2, Some(1), "x")]);
    end.snapshot_end = true;
    bench.replica.apply(end).await.unwrap();
    assert_eq!(bench.names(1).await, ["x"]);
    assert_eq!(bench.replica.lookup(None, name("x")).await.unwrap(), Lookup::Absent);
}

#[tokio::test]
async fn answers_never_make_anything_older_nor_fill_what_is_complete() {
    let bench = Bench::holding(vec![folder(1, None, "top"), versioned(file(2, Some(1), "a"), 5)]).await;
    assert!(bench.replica.absorb(versioned(file(2, Some(1), "a"), 4)).await.unwrap().is_empty());
    assert!(bench.replica.absorb(file(3, Some(1), "ghost")).await.unwrap().is_empty());
    assert!(bench.replica.absorb(folder(4, None, "ghost")).await.unwrap().is_empty());
    assert!(bench.replica.absorb(file(5, Some(77), "ghost")).await.unwrap().is_empty());
    let mut foreign = versioned(file(2, Some(1), "a"), 50);
    foreign.version.epoch = 1;
    assert!(bench.replica.absorb(foreign).await.unwrap().is_empty());
    assert_eq!(
        bench.replica.absorb(versioned(file(2, Some(1), "a"), 6)).await.unwrap(),
        [TreeEvent::Content { id: id(2), replaced: false }]
    );
    // The batch that the answer overtook: what it says of the place counts, its content is older.
    let events = bench.replica.apply(puts(11, vec![versioned(file(2, Some(1), "b"), 5)])).await.unwrap();
    assert!(matches!(&events[..], [TreeEvent::Moved { .. }]), "{events:?}");
    let known = bench.replica.entry(id(2)).await.unwrap().unwrap();
    assert_eq!((known.version.counter, known.name), (6, name("b")));
}

#[tokio::test]
async fn what_only_an_answer_named_goes_after_the_next_whole_step() {
    let bench = Bench::holding(vec![folder(1, None, "top")]).await;
    bench.replica.apply(puts(10, vec![folder(2, Some(1), "new")])).await.unwrap();
    bench
        .replica
        .absorb_listing(id(2), vec![file(3, Some(2), "named later"), file(4, Some(2), "gone")])
        .await
        .unwrap();
    bench.replica.apply(puts(11, vec![])).await.unwrap();
    assert_eq!(bench.names(2).await, ["gone", "named later"]);
    let events = bench.replica.apply(puts(12, vec![file(3, Some(2), "named later")])).await.unwrap();
    assert_eq!(events, [TreeEvent::Removed { id: id(4), parent: Some(id(2)), name: name("gone") }]);
    bench.replica.apply(puts(13, vec![])).await.unwrap();
    assert_eq!(bench.names(2).await, ["named later"]);
}

#[tokio::test]
async fn batches_that_do_not_follow_are_refused() {
    let bench = Bench::new().await;
    assert!(matches!(bench.replica.apply(puts(1, vec![])).await, Err(ReplicaError::OutOfOrder)));
    let bench = Bench::holding(vec![folder(1, None, "top")]).await;
    let mut foreign = puts(11, vec![]);
    foreign.position.epoch = 8;
    let mut end = puts(11, vec![]);
    end.snapshot_end = true;
    for wrong in [puts(9, vec![file(2, Some(1), "x")]), foreign, end] {
        assert!(matches!(bench.replica.apply(wrong).await, Err(ReplicaError::OutOfOrder)));
    }
    assert!(bench.names(1).await.is_empty());
    assert_eq!(bench.replica.position(), Some(Position { epoch: EPOCH, sequence: 10 }));
}

#[tokio::test]
async fn a_batch_over_the_limit_changes_nothing() {
    let folder_of_test = tempfile::tempdir().unwrap();
    let path = folder_of_test.path().join("peer.db");
    let replica = Replica::open_with_limits(&path, Limits { entries: 3, bytes: u64::MAX }).await.unwrap();
    replica.apply(snapshot(1, vec![folder(1, None, "top"), file(2, Some(1), "a")])).await.unwrap();
    let over = puts(2, vec![file(3, Some(1), "b"), file(4, Some(1), "c")]);
    assert!(matches!(replica.apply(over).await, Err(ReplicaError::TooManyEntries(3))));
    assert_eq!(replica.children(id(1)).await.unwrap().entries.len(), 1);
    assert_eq!(replica.position().map(|position| position.sequence), Some(1));
    // What is removed makes room, and what is put again takes none.
    let changes = vec![
        Change::Remove(id(2)),
        Change::Put(file(3, Some(1), "b")),
        Change::Put(file(3, Some(1), "b")),
        Change::Put(file(4, Some(1), "c")),
    ];
    replica.apply(batch(2, changes)).await.unwrap();
}

#[tokio::test]
async fn a_contact_shares_only_so_many_trees() {
    let bench = Bench::new().await;
    let mut roots =
        (1..=u32::try_from(Replica::ROOTS).unwrap()).map(|number| folder(number, None, &format!("{number}")));
    bench.replica.apply(snapshot(1, roots.by_ref().take(1000).collect())).await.unwrap();
    bench.replica.apply(puts(2, roots.collect())).await.unwrap();
    let over = puts(3, vec![folder(1_000_000, None, "one more")]);
    assert!(matches!(bench.replica.apply(over).await, Err(ReplicaError::TooManyRoots(Replica::ROOTS))));
    assert_eq!(bench.replica.position().map(|position| position.sequence), Some(2));
}

#[tokio::test]
async fn long_names_and_targets_fill_no_more_than_the_bytes_of_a_contact() {
    const BYTES: u64 = 4 << 20;
    let folder_of_test = tempfile::tempdir().unwrap();
    let path = folder_of_test.path().join("peer.db");
    let replica = Replica::open_with_limits(&path, Limits { entries: u64::MAX, bytes: BYTES }).await.unwrap();
    replica.apply(snapshot(1, vec![folder(1, None, "top")])).await.unwrap();
    let target = "t".repeat(limits::LINK_TARGET_BYTES);
    let long = |number: u32| {
        let kind = EntryKind::Symlink { target: Some(target.clone().into()) };
        Entry { kind, ..file(number, Some(1), &format!("{number:0255}")) }
    };
    let mut held = 2..2;
    let refusal = loop {
        let next = held.end..held.end + 100;
        match replica.apply(puts(2, next.clone().map(long).collect())).await {
            Ok(_) => held.end = next.end,
            Err(error) => break error,
        }
        assert!(u64::from(held.end) * (limits::LINK_TARGET_BYTES as u64) < BYTES);
    };
    assert!(matches!(refusal, ReplicaError::TooLarge(BYTES)));
    assert_eq!(replica.children(id(1)).await.unwrap().entries.len(), held.len());
    // What is removed makes room.
    let gone = held.clone().take(200).map(|number| Change::Remove(id(number))).collect();
    replica.apply(batch(3, gone)).await.unwrap();
    replica.apply(puts(3, (held.end..held.end + 100).map(long).collect())).await.unwrap();
}

#[tokio::test]
async fn orphans_stay_unseen_until_their_folder_comes() {
    let bench = Bench::holding(vec![folder(1, None, "top")]).await;
    bench
        .replica
        .apply(puts(11, vec![file(3, Some(2), "early"), file(4, Some(3), "below a file")]))
        .await
        .unwrap();
    assert_eq!(bench.replica.entry(id(3)).await.unwrap(), None);
    assert!(matches!(bench.replica.children(id(2)).await, Err(CatalogError::NotFound)));
    bench.replica.apply(puts(12, vec![folder(2, Some(1), "late")])).await.unwrap();
    assert_eq!(bench.names(2).await, ["early"]);
    assert_eq!(bench.replica.entry(id(4)).await.unwrap(), None);
    assert!(matches!(bench.replica.children(id(3)).await, Err(CatalogError::NotFound)));
}

#[tokio::test]
async fn circles_and_chains_without_end_are_unseen() {
    let bench =
        Bench::holding(vec![folder(1, None, "top"), folder(2, Some(1), "a"), folder(3, Some(2), "b")]).await;
    bench.replica.apply(puts(11, vec![folder(2, Some(3), "a"), folder(4, Some(4), "self")])).await.unwrap();
    assert!(bench.names(1).await.is_empty());
    for number in [2, 3, 4] {
        assert!(matches!(bench.replica.children(id(number)).await, Err(CatalogError::NotFound)));
        assert_eq!(bench.replica.entry(id(number)).await.unwrap(), None);
        assert_eq!(bench.replica.lookup(Some(id(number)), name("b")).await.unwrap(), Lookup::Absent);
    }
    bench.replica.apply(batch(12, vec![Change::Remove(id(3))])).await.unwrap();
    bench.replica.apply(puts(13, vec![folder(2, Some(1), "a")])).await.unwrap();
    assert_eq!(bench.names(1).await, ["a"]);

    let first = 1000;
    let deepest = first + u32::try_from(limits::DEPTH).unwrap();
    let chain = (first..=deepest)
        .map(|number| folder(number, (number > first).then(|| number - 1), "deep"))
        .collect();
    bench.replica.apply(puts(14, chain)).await.unwrap();
    assert_eq!(bench.names(deepest - 2).await, ["deep"]);
    assert!(matches!(bench.replica.children(id(deepest)).await, Err(CatalogError::NotFound)));
}

#[tokio::test]
async fn of_two_entries_with_one_name_the_later_is_seen() {
    let bench = Bench::holding(vec![folder(1, None, "top"), file(2, Some(1), "a")]).await;
    let events = bench.replica.apply(puts(11, vec![file(3, Some(1), "a")])).await.unwrap();
    assert_eq!(events.len(), 2, "{events:?}");
    let seen = bench.replica.children(id(1)).await.unwrap().entries;
    assert_eq!(seen.iter().map(|entry| entry.id).collect::<Vec<_>>(), [id(3)]);
    let events = bench.replica.apply(batch(12, vec![Change::Remove(id(3))])).await.unwrap();
    assert!(
        events.contains(&TreeEvent::Added { id: id(2), parent: Some(id(1)), name: name("a") }),
        "{events:?}"
    );
    assert_eq!(bench.names(1).await, ["a"]);
}

#[tokio::test]
async fn links_out_of_the_tree_are_shown_without_target() {
    let link = |number, parent, text, target: &'static str| {
        entry(number, parent, text, EntryKind::Symlink { target: Some(target.into()) })
    };
    let bench = Bench::holding(vec![
        folder(1, None, "top"),
        folder(2, Some(1), "sub"),
        link(3, Some(2), "good", "../a"),
        link(4, Some(2), "bad", "../../a"),
        link(5, None, "root", "top"),
    ])
    .await;
    for (number, told) in [(3, Some("../a")), (4, None), (5, None)] {
        let entry = bench.replica.entry(id(number)).await.unwrap().unwrap();
        assert_eq!(entry.kind, EntryKind::Symlink { target: told.map(Bytes::from) });
    }
}

#[tokio::test]
async fn what_the_home_cannot_read_is_not_complete() {
    let mut closed = folder(2, Some(1), "closed");
    closed.unavailable = true;
    let bench = Bench::holding(vec![folder(1, None, "top"), closed]).await;
    assert!(!bench.replica.children(id(2)).await.unwrap().complete);
    assert_eq!(bench.replica.lookup(Some(id(2)), name("x")).await.unwrap(), Lookup::Unknown);
}

/// What a peer may send: any order, any parent, unknown ids.
fn changes(ids: u32) -> impl Strategy<Value = Vec<Change>> {
    let change = prop_oneof![
        4 => (0..ids, prop::option::of(0..ids), any::<bool>(), 1..4u64).prop_map(|(number, parent, is_folder, counter)| {
            let text = format!("n{number}");
            let made = if is_folder { folder(number, parent, &text) } else { file(number, parent, &text) };
            Change::Put(versioned(made, counter))
        }),
        1 => (0..ids).prop_map(|number| Change::Remove(id(number))),
    ];
    prop::collection::vec(change, 0..12)
}

/// Everything seen from the top; fails if it does not end.
async fn walk(replica: &Replica) -> BTreeMap<EntryId, (Option<EntryId>, Name)> {
    let mut seen = BTreeMap::new();
    let mut waiting = replica.roots().await.unwrap().entries;
    while let Some(entry) = waiting.pop() {
        if entry.kind == EntryKind::Folder {
            waiting.extend(replica.children(entry.id).await.unwrap().entries);
        }
        assert!(seen.insert(entry.id, (entry.parent, entry.name)).is_none(), "seen twice");
    }
    seen
}

#[derive(Default)]
struct Mirror(HashMap<EntryId, (Option<EntryId>, Name)>);

impl Mirror {
    fn take(&mut self, event: TreeEvent) {
        match event {
            TreeEvent::Added { id, parent, name } => {
                self.0.insert(id, (parent, name));
            }
            TreeEvent::Moved { id, to, .. } => {
                self.0.insert(id, to);
            }
            TreeEvent::Removed { id, .. } => {
                // What is below a folder stays below it if it comes back, and is not told of again.
                self.0.remove(&id);
            }
            TreeEvent::Content { .. } | TreeEvent::Attributes { .. } => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn hostile_batches_end_and_are_told_whole(
        batches in prop::collection::vec((changes(12), any::<bool>(), any::<bool>()), 1..8)
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let bench = Bench::holding(vec![]).await;
            let mut mirror = Mirror::default();
            let mut sequence = 10;
            for (changes, advance, snapshot) in batches {
                sequence += u64::from(advance);
                let batch = Batch { snapshot_begin: snapshot, snapshot_end: snapshot, ..batch(sequence, changes) };
                // Removed before added, as a name may go from one to the other.
                let mut events = bench.replica.apply(batch).await.unwrap();
                events.sort_by_key(|event| !matches!(event, TreeEvent::Removed { .. }));
                let told: HashSet<EntryId> = events.iter().map(|event| match event {
                    TreeEvent::Added { id, .. } | TreeEvent::Removed { id, .. } | TreeEvent::Moved { id, .. }
                    | TreeEvent::Content { id, .. } | TreeEvent::Attributes { id } => *id,
                }).collect();
                assert!(told.len() <= 12);
                events.into_iter().for_each(|event| mirror.take(event));
                for (entry, place) in walk(&bench.replica).await {
                    assert_eq!(mirror.0.get(&entry), Some(&place));
                }
            }
            // The count that bounds the replica is right whatever happened.
            let counted: i64 = bench.replica.store.read(|connection| {
                Ok(connection.query_row("SELECT count(*) - (SELECT entries FROM state) FROM entries", [], |row| row.get(0))?)
            }).await.unwrap();
            assert_eq!(counted, 0);
        });
    }
}
