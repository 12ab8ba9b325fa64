//! What I share.

mod types;

pub use types::{Attributes, Grant, HomeConfig, Object, OwnEntry, ShareInfo, ShareState, WatchState};

use std::path::Path;
use std::sync::Arc;

use farhold_wire::{
    Batch, ContactId, Entry, EntryId, Name, Position, ReadFailure, ReadPart, ReadRequest, Space,
};
use futures_util::stream::BoxStream;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use crate::{CatalogError, HomeEvent, ShareError};

/// The shares of this user, and what of them each contact sees. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Home {}

impl Home {
    /// Opens the catalog and starts to scan and watch what is shared. Everything ends when `cancel` does; wait for
    /// that with [`Home::close`]. A damaged database is set aside and begun anew under another epoch, with the
    /// shares that it held.
    pub async fn open(_config: HomeConfig, _cancel: CancellationToken) -> Result<Self, CatalogError> {
        unimplemented!()
    }

    /// Stops watching and scanning, and waits until the database is closed.
    pub async fn close(&self) {
        unimplemented!()
    }

    /// Shares the file or folder at `path` with `contacts`, by reference: nothing is copied. `name` is what they
    /// see, the path's last part unless given. Sharing a path again with a contact under another name or right
    /// changes these.
    pub async fn share(
        &self,
        _path: &Path,
        _contacts: &[ContactId],
        _name: Option<Name>,
        _writable: bool,
    ) -> Result<ShareInfo, ShareError> {
        unimplemented!()
    }

    /// Takes a share back from one contact, or from all.
    pub async fn unshare(&self, _path: &Path, _contact: Option<ContactId>) -> Result<(), ShareError> {
        unimplemented!()
    }

    /// Takes every share back from a contact who was removed.
    pub async fn forget_contact(&self, _contact: ContactId) -> Result<(), CatalogError> {
        unimplemented!()
    }

    /// Every share, ordered by path.
    pub async fn shares(&self) -> Result<Vec<ShareInfo>, CatalogError> {
        unimplemented!()
    }

    /// What `contact` sees, as changes after `from` (a snapshot without it, or if it is of another epoch or too
    /// old), and then every further change until the stream is dropped or the catalog closes.
    pub fn changes(
        &self,
        _contact: ContactId,
        _from: Option<Position>,
    ) -> BoxStream<'static, Result<Batch, ReadFailure>> {
        unimplemented!()
    }

    /// The entry that `contact` sees as `name` in `parent` (`None`: the top level).
    pub async fn lookup(
        &self,
        _contact: ContactId,
        _parent: Option<EntryId>,
        _name: Name,
    ) -> Result<Option<Entry>, ReadFailure> {
        unimplemented!()
    }

    /// The entries that `contact` sees in `parent`, in pages of at most [`farhold_wire::limits::BATCH_CHANGES`].
    pub fn list(
        &self,
        _contact: ContactId,
        _parent: EntryId,
    ) -> BoxStream<'static, Result<Vec<Entry>, ReadFailure>> {
        unimplemented!()
    }

    /// A range of a file's content: one head, then its bytes, all of the version that the head names.
    pub fn read(
        &self,
        _contact: ContactId,
        _request: ReadRequest,
    ) -> BoxStream<'static, Result<ReadPart, ReadFailure>> {
        unimplemented!()
    }

    /// My own view: the roots that `contact` is shown, by the names that are shown.
    pub async fn roots(&self, _contact: ContactId) -> Result<Vec<OwnEntry>, CatalogError> {
        unimplemented!()
    }

    /// My own view: everything in `folder`.
    pub async fn children(&self, _folder: EntryId) -> Result<Vec<OwnEntry>, CatalogError> {
        unimplemented!()
    }

    /// My own view: `name` in `folder`. Looks on the disk before it says that there is none.
    pub async fn child(&self, _folder: EntryId, _name: Name) -> Result<Option<OwnEntry>, CatalogError> {
        unimplemented!()
    }

    /// My own view: one entry; a root has the name and right that `contact` is given.
    pub async fn entry(&self, _contact: ContactId, _id: EntryId) -> Result<Option<OwnEntry>, CatalogError> {
        unimplemented!()
    }

    /// Attributes of the object behind an entry, as the disk has them now.
    pub async fn attributes(&self, _id: EntryId) -> Result<Attributes, CatalogError> {
        unimplemented!()
    }

    /// Opens a file of mine for reading, beneath its share's root and through no symlink.
    pub async fn open_file(&self, _id: EntryId) -> Result<std::fs::File, CatalogError> {
        unimplemented!()
    }

    /// Room on the disk of what `contact` is shown (of the first share, or of the catalog's folder without one).
    pub async fn space(&self, _contact: ContactId) -> Result<Space, CatalogError> {
        unimplemented!()
    }

    /// Changes of what I share, one message for each commit. Who lags has to take everything for changed.
    pub fn events(&self) -> broadcast::Receiver<Arc<[HomeEvent]>> {
        unimplemented!()
    }
}
