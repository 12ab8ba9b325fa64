//! Whether something is expected of the other end of a session, and when something last came.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::Notify;
use tokio::time::{Duration, Instant};

/// Shared by all lanes of a session and the calls on them.
#[derive(Debug)]
pub(crate) struct Activity {
    start: Instant,
    /// Milliseconds since `start`.
    heard: AtomicU64,
    calls: AtomicUsize,
    changed: Notify,
}

/// A call under way.
#[derive(Debug)]
pub(crate) struct Call(Arc<Activity>);

impl Activity {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            start: Instant::now(),
            heard: AtomicU64::new(0),
            calls: AtomicUsize::new(0),
            changed: Notify::new(),
        })
    }

    /// A record came in on some lane.
    pub(crate) fn heard(&self) {
        let passed = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.heard.fetch_max(passed, Ordering::Relaxed);
    }

    /// When the last record came in, to the millisecond.
    pub(crate) fn last_heard(&self) -> Instant {
        self.start + Duration::from_millis(self.heard.load(Ordering::Relaxed))
    }

    /// A call begins; it ends when the value is dropped.
    pub(crate) fn call(self: &Arc<Self>) -> Call {
        if self.calls.fetch_add(1, Ordering::Relaxed) == 0 {
            self.changed.notify_one();
        }
        Call(Arc::clone(self))
    }

    /// Whether calls are under way.
    pub(crate) fn busy(&self) -> bool {
        self.calls.load(Ordering::Relaxed) > 0
    }

    /// Returns once [`Self::busy`] may have changed since the last time.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if self.0.calls.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.0.changed.notify_one();
        }
    }
}
