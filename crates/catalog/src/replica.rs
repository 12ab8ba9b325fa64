//! What one peer shares.

use std::path::Path;

use farhold_wire::{Batch, Entry, EntryId, Name, Position, Space};

use crate::{CatalogError, ReplicaError, TreeEvent};

/// What one contact announced, on disk. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Replica {}

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
    /// The entries known, one for each name.
    pub entries: Vec<Entry>,
    /// These are all. Otherwise ask the home.
    pub complete: bool,
}

impl Replica {
    /// Opens the database at `path`, or begins it. A damaged one is set aside: what it held comes again as a snapshot.
    pub async fn open(_path: &Path) -> Result<Self, CatalogError> {
        unimplemented!()
    }

    /// Waits until the database is closed. Calls after this fail.
    pub async fn close(&self) {
        unimplemented!()
    }

    /// From where the home is to go on; `None` before a first whole snapshot.
    pub fn position(&self) -> Option<Position> {
        unimplemented!()
    }

    /// Room at home, as last announced.
    pub fn space(&self) -> Option<Space> {
        unimplemented!()
    }

    /// Applies a batch as a whole, with its position; says what changed.
    pub async fn apply(&self, _batch: Batch) -> Result<Vec<TreeEvent>, ReplicaError> {
        unimplemented!()
    }

    /// Takes an entry that came with an answer (lookup or read). Never makes anything older than it is, and never
    /// puts an entry into a folder that is wholly known.
    pub async fn absorb(&self, _entry: Entry) -> Result<Vec<TreeEvent>, ReplicaError> {
        unimplemented!()
    }

    /// Takes the whole listing of a folder that was incomplete, which makes it complete. Takes nothing away.
    pub async fn absorb_listing(
        &self,
        _folder: EntryId,
        _entries: Vec<Entry>,
    ) -> Result<Vec<TreeEvent>, ReplicaError> {
        unimplemented!()
    }

    /// The top level.
    pub async fn roots(&self) -> Result<Children, CatalogError> {
        unimplemented!()
    }

    /// A folder. What is not reached from the top level is empty and complete.
    pub async fn children(&self, _folder: EntryId) -> Result<Children, CatalogError> {
        unimplemented!()
    }

    /// A name in a folder (`None`: the top level).
    pub async fn lookup(&self, _parent: Option<EntryId>, _name: Name) -> Result<Lookup, CatalogError> {
        unimplemented!()
    }

    /// An entry that is reached from the top level.
    pub async fn entry(&self, _id: EntryId) -> Result<Option<Entry>, CatalogError> {
        unimplemented!()
    }
}
