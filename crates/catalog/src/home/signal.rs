//! What the keeper of a share is told: where something may have changed.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

/// Folders that may be marked one by one; beyond that the whole share is.
const FOLDERS: usize = 100_000;

#[derive(Debug)]
pub(crate) struct Signal {
    marks: Mutex<Marks>,
    /// Something was marked.
    pub(crate) marked: Notify,
    /// Somebody waits: do not gather further marks first.
    pub(crate) urgent: Notify,
    /// Why the system's notifications do not serve this share.
    failure: Mutex<Option<String>>,
    /// Ends the keeper of this share.
    pub(crate) cancel: CancellationToken,
}

/// Where something may have changed.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    pub(crate) folders: HashSet<i64>,
    pub(crate) everything: bool,
    /// Told by being dropped, once all of this was scanned.
    pub(crate) waiting: Vec<oneshot::Sender<()>>,
}

impl Signal {
    pub(crate) fn new(cancel: CancellationToken) -> Self {
        Self {
            marks: Mutex::default(),
            marked: Notify::new(),
            urgent: Notify::new(),
            failure: Mutex::default(),
            cancel,
        }
    }

    pub(crate) fn mark(&self, folder: i64) {
        let mut marks = self.marks();
        if marks.folders.len() < FOLDERS {
            marks.folders.insert(folder);
        } else {
            marks.everything = true;
        }
        drop(marks);
        self.marked.notify_one();
    }

    pub(crate) fn mark_everything(&self) {
        self.marks().everything = true;
        self.marked.notify_one();
    }

    /// Marks a folder and waits until it was scanned, or the keeper ended.
    pub(crate) async fn scan_now(&self, folder: i64) {
        let (sender, scanned) = oneshot::channel();
        {
            let mut marks = self.marks();
            marks.folders.insert(folder);
            marks.waiting.push(sender);
        }
        self.marked.notify_one();
        self.urgent.notify_one();
        // Nothing is ever sent: the end of the sender is the message.
        let _ = scanned.await;
    }

    pub(crate) fn take(&self) -> Marks {
        std::mem::take(&mut *self.marks())
    }

    /// Notifications failed: the share is scanned from time to time instead.
    pub(crate) fn fail(&self, reason: String) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if failure.is_none() {
            tracing::warn!(reason, "changes of a share are found by scanning from time to time");
        }
        *failure = Some(reason);
    }

    pub(crate) fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn marks(&self) -> MutexGuard<'_, Marks> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
