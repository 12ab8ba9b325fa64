//! What all parts of a home share.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use rusqlite::Connection;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::change::Change;
use super::read::OpenFiles;
use super::signal::Signal;
use super::watch::Watcher;
use crate::store::Store;
use crate::{CatalogError, HomeEvent};

/// Commits whose events may wait for a listener before it lags.
pub(crate) const EVENTS_WAITING: usize = 1024;

#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) store: Store,
    pub(crate) epoch: u64,
    /// The folder of the database and of the list of shares.
    pub(crate) folder: PathBuf,
    /// Never shared, canonical where they exist.
    pub(crate) refused: RwLock<Vec<PathBuf>>,
    pub(crate) announcer: Announcer,
    pub(crate) watcher: Arc<Watcher>,
    /// One for each share.
    pub(crate) signals: Mutex<HashMap<i64, Arc<Signal>>>,
    pub(crate) files: OpenFiles,
    pub(crate) tasks: TaskTracker,
    pub(crate) cancel: CancellationToken,
}

/// Tells of commits.
#[derive(Debug, Clone)]
pub(crate) struct Announcer {
    /// Number of the last change committed.
    pub(crate) head: watch::Sender<u64>,
    pub(crate) events: broadcast::Sender<Arc<[HomeEvent]>>,
}

impl Announcer {
    /// A job for the writing thread: `work` in one transaction, told once it is committed.
    fn job<R, F>(&self, work: F) -> impl FnOnce(&mut Connection) -> Result<R, CatalogError> + Send + use<R, F>
    where
        F: FnOnce(&mut Change<'_>) -> Result<R, CatalogError> + Send + 'static,
    {
        let announcer = self.clone();
        move |connection| {
            let transaction = connection.transaction()?;
            let mut change = Change::begin(&transaction)?;
            let result = work(&mut change)?;
            let (sequence, events) = change.finish()?;
            transaction.commit()?;
            announcer.head.send_if_modified(|head| std::mem::replace(head, sequence) != sequence);
            if !events.is_empty() {
                // Nobody may listen.
                let _ = announcer.events.send(events.into());
            }
            Ok(result)
        }
    }
}

impl Core {
    /// What is never shared.
    pub(crate) fn refused(&self) -> RwLockReadGuard<'_, Vec<PathBuf>> {
        self.refused.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Never shares that either.
    pub(crate) fn refuse(&self, folder: PathBuf) {
        let mut refused = self.refused.write().unwrap_or_else(PoisonError::into_inner);
        if !refused.contains(&folder) {
            refused.push(folder);
        }
    }

    /// Changes the catalog in one transaction.
    pub(crate) async fn change<R, F>(&self, work: F) -> Result<R, CatalogError>
    where
        R: Send + 'static,
        F: FnOnce(&mut Change<'_>) -> Result<R, CatalogError> + Send + 'static,
    {
        self.store.write(self.announcer.job(work)).await
    }

    /// The same for a thread that may block.
    pub(crate) fn change_blocking<R, F>(&self, work: F) -> Result<R, CatalogError>
    where
        R: Send + 'static,
        F: FnOnce(&mut Change<'_>) -> Result<R, CatalogError> + Send + 'static,
    {
        self.store.write_blocking(self.announcer.job(work))
    }

    pub(crate) fn signal(&self, share: i64) -> Option<Arc<Signal>> {
        self.signals().get(&share).cloned()
    }

    pub(crate) fn signals(&self) -> MutexGuard<'_, HashMap<i64, Arc<Signal>>> {
        self.signals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
