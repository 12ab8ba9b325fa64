//! Numbers for everything that the drive shows: kept across restarts, never used for anything else.

use std::path::Path;

use farhold_wire::{ContactId, EntryId};

use crate::{CatalogError, Object};

/// What a number stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NodeKey {
    /// A contact's folder.
    Contact(ContactId),
    /// An entry of a peer's tree, in one incarnation.
    Peer {
        /// Whose tree.
        contact: ContactId,
        /// Which entry.
        entry: EntryId,
        /// Rises when the entry was replaced.
        incarnation: u64,
    },
    /// A folder or link of mine, as a contact's folder shows it: a folder has one parent only.
    Mine {
        /// In whose folder.
        contact: ContactId,
        /// Which entry.
        entry: EntryId,
        /// Rises when the entry was replaced.
        incarnation: u64,
    },
    /// A regular file of mine, however many shares and contacts show it.
    Object(Object),
}

/// The numbers. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Nodes {}

impl Nodes {
    /// The number of the drive's top folder, which is never given out.
    pub const ROOT: u64 = 1;

    /// Opens the database at `path`, or begins it.
    pub async fn open(_path: &Path) -> Result<Self, CatalogError> {
        unimplemented!()
    }

    /// Waits until the database is closed. Calls after this fail.
    pub async fn close(&self) {
        unimplemented!()
    }

    /// The number of one key, given now if it has none.
    pub async fn number(&self, _key: NodeKey) -> Result<u64, CatalogError> {
        unimplemented!()
    }

    /// The numbers of many keys, in their order; all new ones cost one transaction.
    pub async fn numbers(&self, _keys: Vec<NodeKey>) -> Result<Vec<u64>, CatalogError> {
        unimplemented!()
    }

    /// What a number stands for.
    pub async fn key(&self, _number: u64) -> Result<Option<NodeKey>, CatalogError> {
        unimplemented!()
    }

    /// Forgets the keys of a contact who was removed; their numbers are not used again.
    pub async fn forget_contact(&self, _contact: ContactId) -> Result<(), CatalogError> {
        unimplemented!()
    }
}
