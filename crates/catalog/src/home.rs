//! What I share.
//!
//! * `schema`, `change`: the tables, and the transactions that change them.
//! * `shares`, `list`: what is shared with whom, and the list of it that outlives a lost database.
//! * `keeper`, `round`, `scan`, `merge`, `disk`: each share has a task that keeps its part of the catalog true, by
//!   scanning what may have changed and deciding which entry is which.
//! * `watch`, `signal`: the system's notifications, as hints where to scan.
//! * `feed`, `serve`, `read`: what contacts are told and may ask. `own`: what the drive asks.

mod change;
mod core;
mod disk;
mod feed;
mod keeper;
mod list;
mod merge;
mod own;
mod read;
mod round;
mod scan;
mod schema;
mod serve;
mod shares;
mod signal;
mod types;
mod watch;

pub use types::{Attributes, Grant, HomeConfig, Object, OwnEntry, ShareInfo, ShareState, WatchState};

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use farhold_wire::{
    Batch, ContactId, Entry, EntryId, Name, Position, ReadFailure, ReadPart, ReadRequest, Space,
};
use futures_util::stream::BoxStream;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::core::{Announcer, Core, EVENTS_WAITING};
use self::read::OpenFiles;
use self::schema::{Share, State};
use self::watch::Watcher;
use crate::store::Store;
use crate::{CatalogError, HomeEvent, ShareError};

/// How long closing waits for work on disks that may not answer.
const CLOSING: Duration = Duration::from_secs(5);

/// The shares of this user, and what of them each contact sees. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Home {
    core: Arc<Core>,
}

impl Home {
    /// Opens the catalog and starts to scan and watch what is shared. Everything ends when `cancel` does; wait for
    /// that with [`Home::close`]. A damaged database is set aside and begun anew under another epoch, with the
    /// shares that the list beside it names.
    pub async fn open(config: HomeConfig, cancel: CancellationToken) -> Result<Self, CatalogError> {
        let cancel = cancel.child_token();
        let core = tokio::task::spawn_blocking(move || open(config, cancel))
            .await
            .map_err(|_| CatalogError::Closed)??;
        let core = Arc::new(core);
        for share in core.store.read(Share::all).await? {
            shares::keep(&core, &share);
        }
        let sweeping = core.clone();
        core.tasks.spawn(async move {
            let cancel = sweeping.cancel.clone();
            cancel.run_until_cancelled(sweeping.files.sweep()).await;
        });
        Ok(Self { core })
    }

    /// Stops watching and scanning, and waits until the database is closed.
    pub async fn close(&self) {
        self.core.cancel.cancel();
        self.core.tasks.close();
        if tokio::time::timeout(CLOSING, self.core.tasks.wait()).await.is_err() {
            tracing::warn!("a shared disk does not answer; its scan is left behind");
        }
        self.core.store.close().await;
    }

    /// Shares the file or folder at `path` with `contacts`, by reference: nothing is copied. `name` is what they
    /// see, the path's last part unless given. Sharing a path again with a contact under another name or right
    /// changes these. A folder is seen by its contacts once its first scan is done.
    pub async fn share(
        &self,
        path: &Path,
        contacts: &[ContactId],
        name: Option<Name>,
        writable: bool,
    ) -> Result<ShareInfo, ShareError> {
        shares::share(&self.core, path, contacts, name, writable).await
    }

    /// Never shares `folder` from now on, nor shows it inside a share: where the drive is about to be mounted.
    pub async fn refuse(&self, folder: PathBuf) -> Result<(), CatalogError> {
        let core = Arc::clone(&self.core);
        let refusing = move || core.refuse(canonical(folder));
        tokio::task::spawn_blocking(refusing).await.map_err(|_| CatalogError::Closed)
    }

    /// Takes a share back from one contact, or from all.
    pub async fn unshare(&self, path: &Path, contact: Option<ContactId>) -> Result<(), ShareError> {
        shares::unshare(&self.core, path, contact).await
    }

    /// Takes every share back from a contact who was removed.
    pub async fn forget_contact(&self, contact: ContactId) -> Result<(), CatalogError> {
        shares::forget(&self.core, contact).await
    }

    /// Every share, ordered by path.
    pub async fn shares(&self) -> Result<Vec<ShareInfo>, CatalogError> {
        shares::shares(&self.core).await
    }

    /// What `contact` sees, as changes after `from` (a snapshot without it, or if it is of another epoch or too
    /// old), and then every further change until the stream is dropped or the catalog closes. The first batch comes
    /// at once, whether or not there is a change.
    pub fn changes(
        &self,
        contact: ContactId,
        from: Option<Position>,
    ) -> BoxStream<'static, Result<Batch, ReadFailure>> {
        feed::changes(self.core.clone(), contact, from)
    }

    /// The entry that `contact` sees as `name` in `parent` (`None`: the top level).
    pub async fn lookup(
        &self,
        contact: ContactId,
        parent: Option<EntryId>,
        name: Name,
    ) -> Result<Option<Entry>, ReadFailure> {
        serve::lookup(&self.core, contact, parent, name).await
    }

    /// The entries that `contact` sees in `parent`, in pages of at most [`farhold_wire::limits::BATCH_CHANGES`].
    pub fn list(
        &self,
        contact: ContactId,
        parent: EntryId,
    ) -> BoxStream<'static, Result<Vec<Entry>, ReadFailure>> {
        serve::list(self.core.clone(), contact, parent)
    }

    /// A range of a file's content: one head, then its bytes, all of the version that the head names.
    pub fn read(
        &self,
        contact: ContactId,
        request: ReadRequest,
    ) -> BoxStream<'static, Result<ReadPart, ReadFailure>> {
        read::read(self.core.clone(), contact, request)
    }

    /// My own view: the roots that `contact` is shown, by the names that are shown.
    pub async fn roots(&self, contact: ContactId) -> Result<Vec<OwnEntry>, CatalogError> {
        own::roots(&self.core, contact).await
    }

    /// My own view: everything in `folder`, ordered by name.
    pub async fn children(&self, folder: EntryId) -> Result<Vec<OwnEntry>, CatalogError> {
        own::children(&self.core, folder).await
    }

    /// My own view: `name` in `folder`. Looks on the disk before it says that there is none.
    pub async fn child(&self, folder: EntryId, name: Name) -> Result<Option<OwnEntry>, CatalogError> {
        own::child(&self.core, folder, name).await
    }

    /// My own view: one entry of what `contact` is shown; a root has the name and right that `contact` is given.
    pub async fn entry(&self, contact: ContactId, id: EntryId) -> Result<Option<OwnEntry>, CatalogError> {
        own::entry(&self.core, contact, id).await
    }

    /// Attributes of the object behind an entry, as the disk has them now.
    pub async fn attributes(&self, id: EntryId) -> Result<Attributes, CatalogError> {
        own::attributes(&self.core, id).await
    }

    /// Opens a file of mine for reading, beneath its share's root and through no symlink.
    pub async fn open_file(&self, id: EntryId) -> Result<std::fs::File, CatalogError> {
        own::open_file(&self.core, id).await
    }

    /// Room on the disk of what `contact` is shown (of the first share, or of the catalog's folder without one).
    pub async fn space(&self, contact: ContactId) -> Result<Space, CatalogError> {
        own::space(&self.core, contact).await
    }

    /// Changes of what I share, one message for each commit. Who lags has to take everything for changed.
    pub fn events(&self) -> broadcast::Receiver<Arc<[HomeEvent]>> {
        self.core.announcer.events.subscribe()
    }
}

fn open(config: HomeConfig, cancel: CancellationToken) -> Result<Core, CatalogError> {
    std::fs::create_dir_all(&config.folder).map_err(CatalogError::Disk)?;
    let (store, _) = Store::open(&config.folder.join("home.db"), schema::FORMAT)?;
    let folder = config.folder.clone();
    let state = store.write_blocking(move |connection| {
        if let Some(state) = State::load(connection)? {
            return Ok(state);
        }
        // Either nothing was ever shared, or the database was lost.
        let listed = list::read_or_set_aside(&folder)?;
        let transaction = connection.transaction()?;
        State::begin(&transaction)?;
        let mut change = change::Change::begin(&transaction)?;
        shares::restore(&mut change, &listed)?;
        change.finish()?;
        transaction.commit()?;
        State::load(connection)?.ok_or_else(|| crate::store::damage().into())
    })?;
    Ok(Core {
        store,
        epoch: state.epoch,
        refused: RwLock::new(config.refused.into_iter().map(canonical).collect()),
        folder: config.folder,
        announcer: Announcer {
            head: tokio::sync::watch::Sender::new(state.sequence),
            events: broadcast::Sender::new(EVENTS_WAITING),
        },
        watcher: Arc::new(Watcher::new()),
        signals: Mutex::new(HashMap::new()),
        files: OpenFiles::new(),
        tasks: TaskTracker::new(),
        cancel,
    })
}

/// A path as scans meet it, also if only a folder above it is there yet.
fn canonical(path: PathBuf) -> PathBuf {
    let path = std::path::absolute(&path).unwrap_or(path);
    let known = path.ancestors().find_map(|above| {
        let below = path.strip_prefix(above).ok()?;
        Some(above.canonicalize().ok()?.join(below))
    });
    // Joining nothing leaves a slash at the end, which does not count in comparisons of paths.
    known.unwrap_or(path)
}

#[cfg(test)]
mod tests;
