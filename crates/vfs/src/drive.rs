//! The drive.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use farhold_catalog::{CatalogError, ContactId, Home, Name, Nodes, TreeEvent};
use tokio_util::sync::CancellationToken;

use crate::attr::{Attr, Change, DirEntry, DiskSpace, Handle, NodeId, OpenFile, OpenMode};
use crate::error::VfsError;
use crate::invalidation::Invalidations;
use crate::peer::ContactView;

/// How a drive is made.
#[derive(Debug, Clone)]
pub struct DriveConfig {
    /// The database of names that differ from their homes' ones.
    pub names: PathBuf,
    /// Six characters of my code: they tell my trees from a contact's where both have the same name.
    pub mark: String,
    /// How long any request waits for a contact.
    pub longest_wait: Duration,
}

impl DriveConfig {
    /// With the usual wait: 27 s, so that whoever asked the drive is answered before 28 s.
    pub fn new(names: PathBuf, mark: String) -> Self {
        Self { names, mark, longest_wait: Duration::from_secs(27) }
    }
}

/// Why a drive cannot be made, or a contact not be shown.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// Another contact's folder has that name.
    #[error("another contact is called so")]
    NameTaken,
    /// No such contact.
    #[error("the contact is not shown")]
    NoContact,
    /// The catalog failed.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The database of names failed.
    #[error("the database of shown names failed")]
    Names(#[from] rusqlite::Error),
}

/// The drive: what is shown, and what is known of it. The file operations are those of a file system; an adapter
/// calls them, many at once.
#[derive(Debug)]
pub struct Drive {}

impl Drive {
    /// Opens the drive without contacts. It follows the changes of `home` until `cancel`; wait for the end of that
    /// with [`close`](Self::close). Must be called in a tokio runtime.
    pub async fn open(
        _home: Home,
        _nodes: Nodes,
        _config: DriveConfig,
        _cancel: CancellationToken,
    ) -> Result<Arc<Self>, DriveError> {
        unimplemented!()
    }

    /// Waits until nothing follows the home any more.
    pub async fn close(&self) {
        unimplemented!()
    }

    /// Shows a contact.
    pub async fn attach(&self, _view: ContactView) -> Result<(), DriveError> {
        unimplemented!()
    }

    /// No longer shows a contact. Open files of it fail.
    pub fn detach(&self, _contact: ContactId) {
        unimplemented!()
    }

    /// Shows a contact under another name.
    pub fn rename(&self, _contact: ContactId, _name: Name) -> Result<(), DriveError> {
        unimplemented!()
    }

    /// Tells what [`Replica::apply`](farhold_catalog::Replica::apply) or `absorb` changed, in that order.
    pub async fn tree_changed(&self, _contact: ContactId, _events: Vec<TreeEvent>) {
        unimplemented!()
    }

    /// The queue of what the system has to forget from now on. There is one at a time: an earlier one ends.
    pub fn invalidations(&self) -> Invalidations {
        unimplemented!()
    }

    /// The entry `name` in `parent`. The system is told its node once more.
    pub async fn lookup(&self, _parent: NodeId, _name: &[u8]) -> Result<Attr, VfsError> {
        unimplemented!()
    }

    /// The system forgets `count` of the times that it was told `node`.
    pub fn forget(&self, _node: NodeId, _count: u64) {
        unimplemented!()
    }

    /// Attributes of `node`.
    pub async fn getattr(&self, _node: NodeId) -> Result<Attr, VfsError> {
        unimplemented!()
    }

    /// The target of a symbolic link.
    pub async fn readlink(&self, _node: NodeId) -> Result<Bytes, VfsError> {
        unimplemented!()
    }

    /// Room on the disk that `node` is on.
    pub async fn statfs(&self, _node: NodeId) -> Result<DiskSpace, VfsError> {
        unimplemented!()
    }

    /// Opens a file.
    pub async fn open_file(&self, _node: NodeId, _mode: OpenMode) -> Result<OpenFile, VfsError> {
        unimplemented!()
    }

    /// Reads up to `length` bytes of an open file; fewer only at its end.
    pub async fn read(&self, _file: Handle, _offset: u64, _length: u32) -> Result<Bytes, VfsError> {
        unimplemented!()
    }

    /// Closes a file.
    pub fn release(&self, _file: Handle) {
        unimplemented!()
    }

    /// Opens a folder.
    pub async fn opendir(&self, _node: NodeId) -> Result<Handle, VfsError> {
        unimplemented!()
    }

    /// Up to `count` entries of an open folder from `cookie` on (0: from the start, listed anew); none at the end.
    pub async fn readdir(
        &self,
        _folder: Handle,
        _cookie: u64,
        _count: usize,
    ) -> Result<Vec<DirEntry>, VfsError> {
        unimplemented!()
    }

    /// The same with attributes, without entries that are gone since the folder was listed. Whoever passes some of
    /// these on to the system has to [`refer`](Self::refer) to them.
    pub async fn readdirplus(
        &self,
        _folder: Handle,
        _cookie: u64,
        _count: usize,
    ) -> Result<Vec<(DirEntry, Attr)>, VfsError> {
        unimplemented!()
    }

    /// The system is told the nodes of these entries once more (`.` and `..` do not count).
    pub fn refer<'a>(&self, _entries: impl Iterator<Item = &'a DirEntry>) {
        unimplemented!()
    }

    /// Why a change of `node`, or of an entry in it, is refused. All are, by now.
    pub fn refusal(&self, _node: NodeId, _change: Change) -> VfsError {
        unimplemented!()
    }

    /// Closes a folder.
    pub fn releasedir(&self, _folder: Handle) {
        unimplemented!()
    }
}
