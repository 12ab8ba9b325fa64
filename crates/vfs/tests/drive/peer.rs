//! A contact in memory: a home with content that can be made to hang, to go offline, and to change.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use async_trait::async_trait;
use bytes::Bytes;
use farhold_cache::{BlockSource, Cache, ContentKey, FetchError, Fetched, Urgency};
use farhold_catalog::Replica;
use farhold_vfs::{ContactView, Drive, PeerError, PeerTree, SmallFile};
use farhold_wire::{
    Batch, Change, ContactId, Entry, EntryId, EntryKind, Name, Position, Space, Timestamp, Version,
};
use futures_util::StreamExt;
use futures_util::stream;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

const EPOCH: u64 = 7;

/// How the contact answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Online,
    /// Fails at once.
    Offline,
    /// Never answers.
    Silent,
}

/// A contact in memory.
pub(crate) struct Peer {
    pub(crate) id: ContactId,
    pub(crate) replica: Replica,
    drive: Mutex<Weak<Drive>>,
    state: Mutex<State>,
}

struct State {
    mode: Mode,
    /// Entries whose content is answered only once they are unblocked.
    blocked: HashMap<EntryId, Arc<Notify>>,
    entries: HashMap<EntryId, (Entry, Bytes)>,
    next: u32,
    sequence: u64,
    fetches: u64,
    asked: u64,
    /// The files of each request for small ones.
    batches: Vec<Vec<SmallFile>>,
    /// How those are answered wrongly.
    lie: Option<Lie>,
    /// They are not answered at all.
    silent_batches: bool,
    /// Those that nobody waits for any more.
    given_up: usize,
}

/// An answer that is none.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Lie {
    OtherEntry,
    WrongLength,
}

impl Peer {
    /// A contact whose trees are all known: none.
    pub(crate) async fn new(number: u8, replica: Replica) -> Arc<Self> {
        let peer = Self::unknown(number, replica);
        let begin = peer.batch(Vec::new());
        peer.replica.apply(Batch { snapshot_begin: true, snapshot_end: true, ..begin }).await.unwrap();
        peer
    }

    /// A contact of whom nothing is known yet.
    pub(crate) fn unknown(number: u8, replica: Replica) -> Arc<Self> {
        let state = State {
            mode: Mode::Online,
            blocked: HashMap::new(),
            entries: HashMap::new(),
            next: 1,
            sequence: 0,
            fetches: 0,
            asked: 0,
            batches: Vec::new(),
            lie: None,
            silent_batches: false,
            given_up: 0,
        };
        Arc::new(Self {
            id: ContactId([number; 16]),
            replica,
            drive: Mutex::default(),
            state: Mutex::new(state),
        })
    }

    /// Shows it in `drive`.
    pub(crate) async fn show(
        self: &Arc<Self>,
        drive: &Arc<Drive>,
        name: &str,
        cache: &Cache,
        mine_first: bool,
    ) {
        *self.drive.lock().unwrap() = Arc::downgrade(drive);
        let view = ContactView {
            id: self.id,
            name: Name::new(name.to_owned()).unwrap(),
            mark: "tTtTtT".to_owned(),
            mine_first,
            replica: self.replica.clone(),
            tree: Arc::clone(self) as Arc<dyn PeerTree>,
            source: Arc::clone(self) as Arc<dyn BlockSource>,
            cache: cache.clone(),
        };
        drive.attach(view).await.unwrap();
    }

    pub(crate) fn set_mode(&self, mode: Mode) {
        self.state().mode = mode;
    }

    /// From now on the content of `id` is not answered.
    pub(crate) fn block(&self, id: EntryId) {
        self.state().blocked.insert(id, Arc::default());
    }

    /// It is again; what was asked meanwhile is answered as it was then.
    pub(crate) fn unblock(&self, id: EntryId) {
        if let Some(blocked) = self.state().blocked.remove(&id) {
            blocked.notify_waiters();
        }
    }

    /// How often content was asked for.
    pub(crate) fn fetches(&self) -> u64 {
        self.state().fetches
    }

    /// The files of each request for small ones.
    pub(crate) fn batches(&self) -> Vec<Vec<SmallFile>> {
        self.state().batches.clone()
    }

    /// How many files those were.
    pub(crate) fn batched(&self) -> usize {
        self.state().batches.iter().map(Vec::len).sum()
    }

    /// Requests for small files that are not answered, from now on.
    pub(crate) fn silent_batches(&self, silent: bool) {
        self.state().silent_batches = silent;
    }

    /// Unanswered requests for small files that were given up.
    pub(crate) fn given_up(&self) -> usize {
        self.state().given_up
    }

    pub(crate) fn name_of(&self, id: EntryId) -> String {
        let state = self.state();
        state.entries[&id].0.name.to_string()
    }

    pub(crate) fn id_of(&self, name: &str) -> EntryId {
        let state = self.state();
        let found = state.entries.values().find(|(entry, _)| entry.name.as_bytes() == name.as_bytes());
        found.unwrap().0.id
    }

    pub(crate) fn lie(&self, lie: Lie) {
        self.state().lie = Some(lie);
    }

    /// How often names and listings were asked for.
    pub(crate) fn asked(&self) -> u64 {
        self.state().asked
    }

    pub(crate) async fn folder(&self, parent: Option<EntryId>, name: &str) -> EntryId {
        self.announce(self.entry(parent, name.as_bytes(), EntryKind::Folder, 0o755), Bytes::new()).await
    }

    pub(crate) async fn file(
        &self,
        parent: Option<EntryId>,
        name: &[u8],
        content: impl Into<Bytes>,
    ) -> EntryId {
        let content = content.into();
        let kind = EntryKind::File { size: content.len() as u64 };
        self.announce(self.entry(parent, name, kind, 0o640), content).await
    }

    pub(crate) async fn link(&self, parent: Option<EntryId>, name: &str, target: &str) -> EntryId {
        let kind = EntryKind::Symlink { target: Some(Bytes::copy_from_slice(target.as_bytes())) };
        self.announce(self.entry(parent, name.as_bytes(), kind, 0o777), Bytes::new()).await
    }

    /// Many files of one folder, announced as a home does: a thousand at a time.
    pub(crate) async fn files(&self, parent: EntryId, count: usize, name: impl Fn(usize) -> String) {
        let entries: Vec<(Entry, Bytes)> = (0..count)
            .map(|index| {
                let content = Bytes::from(index.to_string());
                let kind = EntryKind::File { size: content.len() as u64 };
                (self.entry(Some(parent), name(index).as_bytes(), kind, 0o644), content)
            })
            .collect();
        for some in entries.chunks(1000) {
            self.hold(some);
            self.tell(some.iter().map(|(entry, _)| Change::Put(entry.clone())).collect()).await;
        }
    }

    /// New content: in place, or of another object that was renamed over the old one.
    pub(crate) async fn change(&self, id: EntryId, content: impl Into<Bytes>, replaced: bool) {
        let entry = self.change_untold(id, content, replaced);
        self.tell(vec![Change::Put(entry)]).await;
    }

    /// The same without telling it: whoever reads is told.
    pub(crate) fn change_untold(&self, id: EntryId, content: impl Into<Bytes>, replaced: bool) -> Entry {
        let content = content.into();
        let mut state = self.state();
        let (entry, held) = state.entries.get_mut(&id).unwrap();
        entry.kind = EntryKind::File { size: content.len() as u64 };
        entry.version.counter += 1;
        entry.modified.seconds += 1;
        entry.incarnation += u64::from(replaced);
        *held = content;
        entry.clone()
    }

    /// Changes anything else of an entry.
    pub(crate) async fn alter(&self, id: EntryId, change: impl FnOnce(&mut Entry)) {
        let entry = {
            let mut state = self.state();
            let (entry, _) = state.entries.get_mut(&id).unwrap();
            change(entry);
            entry.clone()
        };
        self.tell(vec![Change::Put(entry)]).await;
    }

    pub(crate) async fn remove(&self, id: EntryId) {
        self.state().entries.remove(&id);
        self.tell(vec![Change::Remove(id)]).await;
    }

    /// An entry that the home has and has not announced.
    pub(crate) fn unannounced(
        &self,
        parent: Option<EntryId>,
        name: &str,
        content: impl Into<Bytes>,
    ) -> EntryId {
        let content = content.into();
        let kind = EntryKind::File { size: content.len() as u64 };
        let entry = self.entry(parent, name.as_bytes(), kind, 0o644);
        self.hold(&[(entry.clone(), content)]);
        entry.id
    }

    /// A folder that is announced without its entries: the first batch of a snapshot whose end does not come.
    pub(crate) async fn begun_folder(&self, name: &str) -> EntryId {
        let entry = self.entry(None, name.as_bytes(), EntryKind::Folder, 0o755);
        self.hold(&[(entry.clone(), Bytes::new())]);
        let batch = Batch { snapshot_begin: true, ..self.batch(vec![Change::Put(entry.clone())]) };
        self.replica.apply(batch).await.unwrap();
        entry.id
    }

    pub(crate) async fn announce_space(&self, space: Space) {
        let batch = Batch { space: Some(space), ..self.batch(Vec::new()) };
        self.replica.apply(batch).await.unwrap();
    }

    async fn announce(&self, entry: Entry, content: Bytes) -> EntryId {
        self.hold(&[(entry.clone(), content)]);
        let id = entry.id;
        self.tell(vec![Change::Put(entry)]).await;
        id
    }

    async fn tell(&self, changes: Vec<Change>) {
        let events = self.replica.apply(self.batch(changes)).await.unwrap();
        if let Some(drive) = self.drive() {
            drive.tree_changed(self.id, events).await;
        }
    }

    fn batch(&self, changes: Vec<Change>) -> Batch {
        let mut state = self.state();
        state.sequence += 1;
        Batch {
            position: Position { epoch: EPOCH, sequence: state.sequence },
            changes,
            snapshot_begin: false,
            snapshot_end: false,
            space: None,
        }
    }

    fn entry(&self, parent: Option<EntryId>, name: &[u8], kind: EntryKind, mode: u16) -> Entry {
        let mut state = self.state();
        let mut id = [self.id.0[0]; 16];
        id[..4].copy_from_slice(&state.next.to_be_bytes());
        state.next += 1;
        Entry {
            id: EntryId(id),
            parent,
            name: Name::new(name.to_vec()).unwrap(),
            kind,
            version: Version { epoch: EPOCH, counter: 1 },
            incarnation: 0,
            modified: Timestamp { seconds: 1_700_000_000, nanos: 5 },
            mode,
            writable: false,
            unavailable: false,
        }
    }

    fn hold(&self, entries: &[(Entry, Bytes)]) {
        let mut state = self.state();
        state
            .entries
            .extend(entries.iter().map(|(entry, content)| (entry.id, (entry.clone(), content.clone()))));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn drive(&self) -> Option<Arc<Drive>> {
        self.drive.lock().unwrap().upgrade()
    }

    async fn answers(&self) -> Result<(), PeerError> {
        let mode = {
            let mut state = self.state();
            state.asked += 1;
            state.mode
        };
        match mode {
            Mode::Online => Ok(()),
            Mode::Offline => Err(PeerError::Offline),
            Mode::Silent => std::future::pending().await,
        }
    }
}

/// Counts a request that is dropped.
struct GivenUp<'a>(&'a Peer);

impl Drop for GivenUp<'_> {
    fn drop(&mut self) {
        self.0.state().given_up += 1;
    }
}

#[async_trait]
impl PeerTree for Peer {
    async fn lookup(&self, parent: Option<EntryId>, name: Name) -> Result<Option<Entry>, PeerError> {
        self.answers().await?;
        let state = self.state();
        let found = state.entries.values().find(|(entry, _)| entry.parent == parent && entry.name == name);
        Ok(found.map(|(entry, _)| entry.clone()))
    }

    async fn list(&self, folder: EntryId) -> Result<Vec<Entry>, PeerError> {
        self.answers().await?;
        let state = self.state();
        let inside = state.entries.values().filter(|(entry, _)| entry.parent == Some(folder));
        Ok(inside.map(|(entry, _)| entry.clone()).collect())
    }

    async fn small_files(&self, files: Vec<SmallFile>) -> Result<Vec<(Entry, Bytes)>, PeerError> {
        let silent = {
            let mut state = self.state();
            state.batches.push(files.clone());
            state.silent_batches
        };
        if silent {
            let _given_up = GivenUp(self);
            std::future::pending::<()>().await;
        }
        self.answers().await?;
        let state = self.state();
        let mut found: Vec<_> =
            files.iter().filter_map(|file| state.entries.get(&file.entry).cloned()).collect();
        if let Some((entry, bytes)) = found.first_mut() {
            match state.lie {
                Some(Lie::OtherEntry) => entry.id = EntryId([0xee; 16]),
                Some(Lie::WrongLength) => *bytes = Bytes::from_static(b"of another length"),
                None => {}
            }
        }
        Ok(found)
    }
}

#[async_trait]
impl BlockSource for Peer {
    async fn fetch(
        &self,
        key: ContentKey,
        range: Range<u64>,
        _: Urgency,
        _: CancellationToken,
    ) -> Result<Fetched, FetchError> {
        let id = EntryId(key.entry);
        let (mode, found, blocked) = {
            let mut state = self.state();
            state.fetches += 1;
            (state.mode, state.entries.get(&id).cloned(), state.blocked.get(&id).cloned())
        };
        match mode {
            Mode::Online => {}
            Mode::Silent => std::future::pending().await,
            Mode::Offline => return Err(FetchError::Offline),
        }
        if let Some(blocked) = blocked {
            blocked.notified().await;
        }
        let (entry, content) = found.ok_or(FetchError::NotFound)?;
        let newest = ContentKey { epoch: entry.version.epoch, counter: entry.version.counter, ..key };
        if newest != key {
            let events =
                self.replica.absorb(entry).await.map_err(|error| FetchError::Other(error.to_string()))?;
            if let Some(drive) = self.drive() {
                drive.tree_changed(self.id, events).await;
            }
        }
        let size = content.len() as u64;
        let data = content.slice(range.start.min(size) as usize..range.end.min(size) as usize);
        let length = data.len() as u64;
        Ok(Fetched { key: newest, size, length, data: stream::iter([Ok(data)]).boxed() })
    }
}
