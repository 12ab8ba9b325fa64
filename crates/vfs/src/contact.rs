//! A contact as the drive shows it.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use farhold_cache::{ContentKey, Reader};
use farhold_catalog::{ContactId, EntryId, Name, Version};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::attr::NodeId;
use crate::error::VfsError;
use crate::peer::ContactView;
use crate::slots::Slots;
use crate::warm::Habits;

/// A contact that is shown.
#[derive(Debug)]
pub(crate) struct Contact {
    pub(crate) view: ContactView,
    /// Its folder.
    pub(crate) node: NodeId,
    name: Mutex<Name>,
    /// When a tree last came to its folder or left it.
    touched: Mutex<SystemTime>,
    /// Rises with every change of its trees that is told.
    changes: AtomicU64,
    slots: Slots,
    longest_wait: Duration,
    pub(crate) habits: Mutex<Habits>,
    /// Rises with every small file that is read whole.
    pub(crate) small_reads: watch::Sender<u64>,
    /// Cancelled once it is no longer shown.
    detached: CancellationToken,
}

impl Contact {
    pub(crate) fn new(view: ContactView, node: NodeId, longest_wait: Duration) -> Self {
        Self {
            node,
            name: Mutex::new(view.name.clone()),
            touched: Mutex::new(SystemTime::now()),
            changes: AtomicU64::new(0),
            slots: Slots::new(),
            longest_wait,
            habits: Mutex::default(),
            small_reads: watch::Sender::new(0),
            detached: CancellationToken::new(),
            view,
        }
    }

    pub(crate) fn id(&self) -> ContactId {
        self.view.id
    }

    /// What its folder is called.
    pub(crate) fn name(&self) -> Name {
        self.name.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_name(&self, name: Name) -> Name {
        std::mem::replace(&mut *self.name.lock().unwrap_or_else(PoisonError::into_inner), name)
    }

    pub(crate) fn touched(&self) -> SystemTime {
        *self.touched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn touch(&self) {
        *self.touched.lock().unwrap_or_else(PoisonError::into_inner) = SystemTime::now();
    }

    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    pub(crate) fn count_change(&self) {
        self.changes.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn detach(&self) {
        self.detached.cancel();
    }

    /// Does `work` for as long as the contact is shown.
    pub(crate) async fn until_detached<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.detached.run_until_cancelled(work).await
    }

    /// Does `work`, which may wait for the contact: within the contact's slots and the longest wait.
    pub(crate) async fn wait<T>(
        &self,
        work: impl Future<Output = Result<T, VfsError>>,
    ) -> Result<T, VfsError> {
        tokio::select! {
            biased;
            () = self.detached.cancelled() => Err(VfsError::Stale),
            outcome = self.slots.hold(self.longest_wait, work) => outcome,
        }
    }

    /// What the cache keeps a version of an entry under.
    pub(crate) fn content_key(&self, entry: EntryId, version: Version) -> ContentKey {
        ContentKey { contact: self.id().0, entry: entry.0, epoch: version.epoch, counter: version.counter }
    }

    /// A reader of a version of an entry.
    pub(crate) fn reader(&self, entry: EntryId, version: Version, size: u64) -> Reader {
        self.view.cache.reader(self.content_key(entry, version), size, self.view.source.clone())
    }
}
