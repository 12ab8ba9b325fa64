//! What one peer shares, as it announced it.
//!
//! * `schema`: the tables and how entries are written to and read from them.
//! * `update`: batches and answers applied, each in one transaction.
//! * `difference`: what an update changed for whoever looks, as events.
//! * `query`: what is asked. Only what is reached from the top level through folders, at most
//!   [`farhold_wire::limits::DEPTH`] deep, is ever answered: orphans, circles and chains without end stay unseen.

mod difference;
mod query;
mod schema;
mod update;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use farhold_wire::{Batch, Entry, EntryId, Name, Position, Space};

use crate::memory::Memory;
use crate::store::Store;
use crate::{CatalogError, ReplicaError, TreeEvent};

use schema::State;
use update::Update;

/// What one contact announced, on disk. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Replica {
    store: Store,
    state: Arc<Mutex<State>>,
    memory: Arc<Answers>,
    limits: Limits,
}

/// Entries that were found lately.
#[derive(Debug)]
struct Answers {
    by_id: Memory<EntryId, Entry>,
    by_name: Memory<(EntryId, Name), Entry>,
}

impl Answers {
    fn new() -> Self {
        Self { by_id: Memory::new(), by_name: Memory::new() }
    }

    fn forget(&self) {
        self.by_id.forget();
        self.by_name.forget();
    }
}

/// What one contact may announce.
#[derive(Debug, Clone, Copy)]
struct Limits {
    entries: u64,
    /// Of the database, which long names and link targets fill long before there are that many entries.
    bytes: u64,
}

/// What is known of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// It is there.
    Found(Entry),
    /// It is not there: the folder is wholly known.
    Absent,
    /// Not known to be there, and the folder is not wholly known: ask the home.
    Unknown,
}

/// What is known of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Children {
    /// The entries known, one for each name, ordered by name.
    pub entries: Vec<Entry>,
    /// These are all. Otherwise ask the home.
    pub complete: bool,
}

impl Replica {
    /// Entries that one contact may announce: about a gigabyte of database with names of usual lengths.
    const ENTRIES: u64 = 5_000_000;
    /// Trees that one contact may share: the drive reads them all to answer in the contact's folder.
    const ROOTS: u64 = 4096;
    /// Bytes that the database of one contact may take.
    const BYTES: u64 = 2 << 30;

    /// Opens the database at `path`, or begins it. A damaged one is set aside: what it held comes again as a snapshot.
    pub async fn open(path: &Path) -> Result<Self, CatalogError> {
        Self::open_with_limits(path, Limits { entries: Self::ENTRIES, bytes: Self::BYTES }).await
    }

    async fn open_with_limits(path: &Path, limits: Limits) -> Result<Self, CatalogError> {
        let path = path.to_owned();
        let (store, state) = tokio::task::spawn_blocking(move || {
            let (store, _) = Store::open(&path, schema::FORMAT)?;
            let state = store.read_blocking(State::load)?;
            Ok::<_, CatalogError>((store, state))
        })
        .await
        .map_err(|_| CatalogError::Closed)??;
        Ok(Self { store, state: Arc::new(Mutex::new(state)), memory: Arc::new(Answers::new()), limits })
    }

    /// Waits until the database is closed. Calls after this fail.
    pub async fn close(&self) {
        self.store.close().await;
        self.memory.forget();
    }

    /// From where the home is to go on; `None` before a first whole snapshot, and while one is under way.
    pub fn position(&self) -> Option<Position> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).position()
    }

    /// Room at home, as last announced.
    pub fn space(&self) -> Option<Space> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).space
    }

    /// Applies a batch as a whole, with its position; says what changed. After an error nothing of it is applied.
    pub async fn apply(&self, batch: Batch) -> Result<Vec<TreeEvent>, ReplicaError> {
        self.update(move |update| update.apply(batch)).await
    }

    /// Takes an entry that came with an answer (lookup or read). Never makes anything older than it is, and never
    /// puts an entry into a folder that is wholly known.
    pub async fn absorb(&self, entry: Entry) -> Result<Vec<TreeEvent>, ReplicaError> {
        self.update(move |update| update.absorb(entry)).await
    }

    /// Takes the whole listing of a folder that was incomplete, which makes it complete. Takes nothing away.
    pub async fn absorb_listing(
        &self,
        folder: EntryId,
        entries: Vec<Entry>,
    ) -> Result<Vec<TreeEvent>, ReplicaError> {
        self.update(move |update| update.absorb_listing(folder, entries)).await
    }

    /// The top level.
    pub async fn roots(&self) -> Result<Children, CatalogError> {
        self.store.read(query::roots).await
    }

    /// A folder; [`CatalogError::NotFound`] if it is none, or not reached from the top level.
    pub async fn children(&self, folder: EntryId) -> Result<Children, CatalogError> {
        let Answers { by_id, by_name } = &*self.memory;
        let asked = (by_id.asked(), by_name.asked());
        let children = self.store.read(move |connection| query::children(connection, folder)).await?;
        // Each will be asked for by whoever lists a folder.
        let entries = || children.entries.iter().cloned();
        by_id.keep(asked.0, entries().map(|entry| (entry.id, entry)));
        by_name.keep(asked.1, entries().map(|entry| ((folder, entry.name.clone()), entry)));
        Ok(children)
    }

    /// A name in a folder (`None`: the top level). Absent if the folder is not reached from the top level.
    pub async fn lookup(&self, parent: Option<EntryId>, name: Name) -> Result<Lookup, CatalogError> {
        let by_name = &self.memory.by_name;
        let place = parent.map(|parent| (parent, name.clone()));
        if let Some(entry) = place.as_ref().and_then(|place| by_name.get(place)) {
            return Ok(Lookup::Found(entry));
        }
        let asked = by_name.asked();
        let found = self.store.read(move |connection| query::lookup(connection, parent, &name)).await?;
        if let (Some(place), Lookup::Found(entry)) = (place, &found) {
            by_name.keep(asked, [(place, entry.clone())]);
        }
        Ok(found)
    }

    /// An entry that is reached from the top level.
    pub async fn entry(&self, id: EntryId) -> Result<Option<Entry>, CatalogError> {
        let by_id = &self.memory.by_id;
        if let Some(entry) = by_id.get(&id) {
            return Ok(Some(entry));
        }
        let asked = by_id.asked();
        let found = self.store.read(move |connection| query::entry(connection, id)).await?;
        by_id.keep(asked, found.clone().map(|entry| (id, entry)));
        Ok(found)
    }

    async fn update<F>(&self, change: F) -> Result<Vec<TreeEvent>, ReplicaError>
    where
        F: FnOnce(&mut Update<'_>) -> Result<(), ReplicaError> + Send + 'static,
    {
        let (shown, memory) = (self.state.clone(), Arc::clone(&self.memory));
        let limits = self.limits;
        self.store
            .write(move |connection| {
                let transaction = connection.transaction()?;
                let mut update = Update::begin(&transaction, limits)?;
                // The store sees failures of its database; a refusal is no failure of the store.
                match change(&mut update).and_then(|()| update.check_size()) {
                    Ok(()) => {}
                    Err(ReplicaError::Catalog(error)) => return Err(error),
                    Err(refusal) => return Ok(Err(refusal)),
                }
                let (events, state) = update.finish()?;
                transaction.commit()?;
                memory.forget();
                *shown.lock().unwrap_or_else(PoisonError::into_inner) = state;
                Ok(Ok(events))
            })
            .await?
    }
}

#[cfg(test)]
mod tests;
