//! The task that keeps what is pinned of one contact, for as long as the contact is linked.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use farhold_cache::{BlockSource, Cache, ContentKey, FetchError, FillError, PinError, ReadError};
use farhold_catalog::{CatalogError, Replica};
use farhold_net::{ContactState, SessionState};
use farhold_wire::{ContactId, Entry, EntryId, EntryKind};
use futures_util::{StreamExt, stream};
use tokio::sync::{Notify, watch};
use tokio::time::sleep;

use super::{PinState, Pins};
use crate::backoff::Backoff;

/// Files at once, so that small ones do not take a round trip each.
const FILES: usize = 32;
/// After a failure that is not the session's: a full disk, a share that is not available.
const RETRY: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(300));

/// Keeps what is pinned of one contact.
pub(crate) struct Keeper {
    pub(crate) contact: ContactId,
    pub(crate) pins: Pins,
    pub(crate) replica: Replica,
    pub(crate) cache: Cache,
    pub(crate) source: Arc<dyn BlockSource>,
    pub(crate) state: watch::Receiver<ContactState>,
    /// Told after every change of the replica.
    pub(crate) replicated: Arc<Notify>,
}

/// Changes come in batches: so long others are awaited.
const SETTLING: Duration = Duration::from_millis(200);

/// Files and their sizes.
pub(super) type Files = HashMap<ContentKey, u64>;

/// What a round is about.
struct Plan {
    /// The files of every pin.
    found: Vec<(Option<EntryId>, Option<Files>)>,
    /// Those of them that are not whole and have room.
    missing: Files,
    /// For some there is no room.
    refused: bool,
}

/// How a round ended.
enum Ended {
    Whole,
    /// The list or the replica changed.
    Changed,
    Failed,
}

/// The contents that are pinned in the cache, until this goes.
struct Held {
    cache: Cache,
    files: Files,
}

impl Held {
    /// From now on `files` and no others are pinned. Gives those for which there is no room, and why.
    fn set(&mut self, files: &Files) -> HashMap<ContentKey, PinError> {
        self.files.retain(|key, _| {
            let stays = files.contains_key(key);
            if !stays {
                self.cache.unpin(*key);
            }
            stays
        });
        let mut refused = HashMap::new();
        for (key, size) in files {
            match self.cache.pin(*key, *size) {
                Ok(()) => drop(self.files.insert(*key, *size)),
                Err(error) => drop(refused.insert(*key, error)),
            }
        }
        refused
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.files.keys().for_each(|key| self.cache.unpin(*key));
    }
}

impl Keeper {
    /// Keeps for ever; dropped to end.
    pub(crate) async fn run(self) {
        let mut changes = self.pins.changes();
        let mut held = Held { cache: self.cache.clone(), files: Files::new() };
        let mut backoff = Backoff::new(RETRY.0, RETRY.1);
        loop {
            changes.mark_unchanged();
            let ended = match self.plan(&mut held).await {
                Ok(plan) => self.fill(plan, &mut changes).await,
                Err(error) => {
                    tracing::error!("what is pinned cannot be looked up: {error}");
                    Ended::Failed
                }
            };
            let retry = match ended {
                Ended::Changed => {
                    backoff.reset();
                    continue;
                }
                Ended::Whole => {
                    backoff.reset();
                    None
                }
                Ended::Failed => Some(backoff.next()),
            };
            tokio::select! {
                // An error says that the list is gone, and with it this task's purpose.
                changed = changes.changed() => if changed.is_err() { return },
                () = self.replicated.notified() => {}
                () = sleep(retry.unwrap_or(Duration::MAX)), if retry.is_some() => {}
            }
        }
    }

    /// Looks up the files of every pin.
    async fn look_up(&self) -> Result<Vec<(Option<EntryId>, Option<Files>)>, CatalogError> {
        let mut found = Vec::new();
        for entry in self.pins.of(self.contact) {
            found.push((entry, files_below(&self.replica, self.contact, entry).await?));
        }
        Ok(found)
    }

    /// Looks up what is pinned, and pins it in the cache.
    async fn plan(&self, held: &mut Held) -> Result<Plan, CatalogError> {
        self.pins.filling_nothing(self.contact);
        let found = self.look_up().await?;
        let mut all = Files::new();
        found.iter().for_each(|(_, files)| all.extend(files.iter().flatten()));
        let refused = held.set(&all);
        let mut whole = HashSet::new();
        for (key, size) in &all {
            if self.cache.is_whole(*key, *size).await {
                whole.insert(*key);
            }
        }
        for (entry, files) in &found {
            self.pins.tell(self.contact, *entry, |known| {
                let Some(files) = files else {
                    (known.state, known.reason) = (PinState::Gone, None);
                    return known.files.clear();
                };
                let files: HashMap<_, _> =
                    files.iter().map(|(key, size)| (*key, (*size, whole.contains(key)))).collect();
                let no_room = files.keys().find_map(|key| refused.get(key));
                known.reason = no_room.map(ToString::to_string);
                known.state = match no_room {
                    Some(_) => PinState::NoRoom,
                    None if files.values().all(|(_, whole)| *whole) => PinState::Whole,
                    None => PinState::Fetching,
                };
                known.files = files;
            });
        }
        all.retain(|key, _| !whole.contains(key) && !refused.contains_key(key));
        Ok(Plan { found, missing: all, refused: !refused.is_empty() })
    }

    /// Returns when something else is pinned than in `found`, or cannot be looked up.
    async fn changed(&self, found: &[(Option<EntryId>, Option<Files>)], changes: &mut watch::Receiver<()>) {
        loop {
            tokio::select! {
                // An error says that the list is gone.
                changed = changes.changed() => if changed.is_err() { return },
                () = self.replicated.notified() => {}
            }
            sleep(SETTLING).await;
            match self.look_up().await {
                Ok(now) if now == found => {}
                Ok(_) | Err(_) => return,
            }
        }
    }

    /// Fetches what is missing, unless something changes meanwhile.
    async fn fill(&self, plan: Plan, changes: &mut watch::Receiver<()>) -> Ended {
        let Plan { found, missing, refused } = plan;
        // The limit may be raised.
        let whole = if refused { Ended::Failed } else { Ended::Whole };
        if missing.is_empty() {
            return whole;
        }
        let changed = self.changed(&found, changes);
        tokio::pin!(changed);
        let mut state = self.state.clone();
        let connected = |state: &ContactState| matches!(state.session, SessionState::Connected(_));
        if !connected(&state.borrow()) {
            self.failed(PinState::Waiting, &FetchError::Offline.to_string());
            tokio::select! {
                connected = state.wait_for(connected) => if connected.is_err() { return Ended::Failed },
                () = &mut changed => return Ended::Changed,
            }
            self.resumed();
        }
        let mut broken = None;
        let mut renewed = false;
        let mut filling = stream::iter(missing)
            .map(|(key, size)| async move {
                self.pins.filling(key);
                let filled = self.cache.fill(key, size, Arc::clone(&self.source)).await;
                self.pins.filled(key, filled.is_ok());
                filled
            })
            .buffer_unordered(FILES);
        loop {
            tokio::select! {
                filled = filling.next() => match filled {
                    None => break,
                    Some(Ok(())) => {}
                    Some(Err(FillError::Newer)) => renewed = true,
                    Some(Err(error)) => {
                        let offline = matches!(error, FillError::Read(ReadError::Fetch(FetchError::Offline)));
                        broken = Some(error);
                        if offline {
                            break;
                        }
                    }
                },
                () = &mut changed => return Ended::Changed,
            }
        }
        match broken {
            Some(error) => {
                let state = if error == FillError::NotKept { PinState::NoRoom } else { PinState::Waiting };
                self.failed(state, &error.to_string());
                Ended::Failed
            }
            None if renewed => {
                sleep(SETTLING).await;
                Ended::Changed
            }
            None => whole,
        }
    }

    fn failed(&self, state: PinState, reason: &str) {
        self.tell_unfinished(|known| *known = (state, Some(reason.to_owned())));
    }

    fn resumed(&self) {
        self.tell_unfinished(|known| *known = (PinState::Fetching, None));
    }

    fn tell_unfinished(&self, tell: impl Fn(&mut (PinState, Option<String>))) {
        for entry in self.pins.of(self.contact) {
            self.pins.tell(self.contact, entry, |known| {
                if matches!(known.state, PinState::Fetching | PinState::Waiting) {
                    let mut told = (known.state, known.reason.take());
                    tell(&mut told);
                    (known.state, known.reason) = told;
                }
            });
        }
    }
}

/// The files below an entry, itself included; `None` if it is not known.
pub(crate) async fn files_below(
    replica: &Replica,
    contact: ContactId,
    entry: Option<EntryId>,
) -> Result<Option<Files>, CatalogError> {
    let mut todo: Vec<Entry> = match entry {
        None => replica.roots().await?.entries,
        Some(entry) => match replica.entry(entry).await? {
            None => return Ok(None),
            Some(entry) => vec![entry],
        },
    };
    let mut files = Files::new();
    while let Some(entry) = todo.pop() {
        match entry.kind {
            EntryKind::Folder => todo.extend(replica.children(entry.id).await?.entries),
            EntryKind::File { size } => {
                let (epoch, counter) = (entry.version.epoch, entry.version.counter);
                files.insert(ContentKey { contact: contact.0, entry: entry.id.0, epoch, counter }, size);
            }
            EntryKind::Symlink { .. } => {}
        }
    }
    Ok(Some(files))
}
