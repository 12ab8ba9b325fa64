//! A contact, as the drive needs it.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use farhold_cache::{BlockSource, Cache};
use farhold_catalog::{ContactId, Entry, EntryId, Name, Replica, Version};

use crate::error::VfsError;

/// The home of a contact's trees, asked where the replica is incomplete, and for many small files at once. All calls must end by themselves, with an
/// error, when the contact is or becomes unreachable; the drive sets a deadline besides.
#[async_trait]
pub trait PeerTree: Send + Sync + 'static {
    /// The entry `name` in `parent` (`None`: the top level).
    ///
    /// # Errors
    /// [`PeerError`]; that there is no such entry is no error.
    async fn lookup(&self, parent: Option<EntryId>, name: Name) -> Result<Option<Entry>, PeerError>;

    /// Every entry in `folder`.
    ///
    /// # Errors
    /// [`PeerError`]; a listing that was cut off is an error.
    async fn list(&self, folder: EntryId) -> Result<Vec<Entry>, PeerError>;

    /// The whole contents of small files, at most [`SMALL_FILES`] of at most [`SMALL_FILE_BYTES`] each. Those that are
    /// not to be had are left out; each is of the version of its entry, and not longer than was asked for.
    ///
    /// # Errors
    /// [`PeerError`]
    async fn small_files(&self, files: Vec<SmallFile>) -> Result<Vec<(Entry, Bytes)>, PeerError>;
}

/// Largest file that is fetched as a whole with others of its folder, in bytes.
pub const SMALL_FILE_BYTES: u64 = 64 << 10;
/// Most files of one request.
pub const SMALL_FILES: usize = 64;

/// A small file that is wanted whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SmallFile {
    /// Which.
    pub entry: EntryId,
    /// In which version.
    pub version: Version,
    /// Its size in that version, in bytes.
    pub size: u64,
}

/// Why a home does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PeerError {
    /// The contact is not reachable.
    #[error("the contact is offline")]
    Offline,
    /// The contact is connected and did not answer in time.
    #[error("the contact did not answer in time")]
    TimedOut,
    /// It has no such folder.
    #[error("there is no such entry")]
    NotFound,
    /// It cannot reach the tree now.
    #[error("the share is not available at its home")]
    Unavailable,
    /// It may not or does not want to tell.
    #[error("the home refuses to tell")]
    Denied,
    /// It has too many requests.
    #[error("the home has too many requests")]
    Busy,
    /// It failed, or broke the protocol.
    #[error("the home failed")]
    Failed,
}

impl From<PeerError> for VfsError {
    fn from(error: PeerError) -> Self {
        match error {
            PeerError::Offline => Self::Offline,
            PeerError::TimedOut => Self::TimedOut,
            PeerError::NotFound => Self::NotFound,
            PeerError::Unavailable => Self::Unavailable,
            PeerError::Denied => Self::Denied,
            PeerError::Busy => Self::Busy,
            PeerError::Failed => Self::HomeFailed,
        }
    }
}

/// What the drive needs to show a contact.
#[derive(Clone)]
pub struct ContactView {
    /// Which contact.
    pub id: ContactId,
    /// What the contact's folder is called.
    pub name: Name,
    /// Six characters of the contact's code: they tell its trees from mine where both have the same name.
    pub mark: String,
    /// My trees keep their names where both sides have one of the same name: my code sorts lower.
    pub mine_first: bool,
    /// What the contact shares.
    pub replica: Replica,
    /// Asked where the replica is incomplete.
    pub tree: Arc<dyn PeerTree>,
    /// Where the contact's content comes from. Before an answer of a newer version is given, its entry must be in the
    /// replica ([`Replica::absorb`]), and the events of that be told by [`Drive::tree_changed`](crate::Drive::tree_changed).
    pub source: Arc<dyn BlockSource>,
    /// Keeps the contact's content.
    pub cache: Cache,
}

impl std::fmt::Debug for ContactView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ContactView").field("id", &self.id).field("name", &self.name).finish_non_exhaustive()
    }
}
