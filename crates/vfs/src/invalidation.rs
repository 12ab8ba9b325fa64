//! What the system must forget of what it cached: a bounded queue in which equal messages become one.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::attr::NodeId;

/// Messages that may wait at once. What does not fit is dropped: cached entries and attributes end by themselves
/// after their time to live, and cached content when its attributes are seen to have changed.
const CAPACITY: usize = 65_536;

/// Something that the system must not answer from its caches any more.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Invalidation {
    /// Content and attributes of a node.
    Content(NodeId),
    /// Attributes alone.
    Attributes(NodeId),
    /// What a name of a folder leads to.
    Entry {
        /// The folder.
        parent: NodeId,
        /// The name in it.
        name: Bytes,
    },
    /// A name of a folder is gone, with the node that it led to.
    Removed {
        /// The folder.
        parent: NodeId,
        /// The node.
        node: NodeId,
        /// The name it had.
        name: Bytes,
    },
}

/// The queue of invalidations: the drive puts in, one thread of the adapter takes out.
#[derive(Debug, Clone, Default)]
pub struct Invalidations {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    order: VecDeque<Invalidation>,
    waiting: HashSet<Invalidation>,
    dropped: u64,
    closed: bool,
}

impl Queue {
    fn take(&mut self) -> Option<Invalidation> {
        let item = self.order.pop_front()?;
        self.waiting.remove(&item);
        if self.order.is_empty() {
            self.dropped = 0;
        }
        Some(item)
    }
}

impl Invalidations {
    /// Adds `item` unless an equal one waits, the queue is full or closed. Never blocks for the taker.
    pub(crate) fn push(&self, item: Invalidation) {
        let mut queue = self.lock();
        if queue.closed || queue.waiting.contains(&item) {
            return;
        }
        if queue.order.len() >= CAPACITY {
            queue.dropped += 1;
            // Once per flood, not once per message.
            if queue.dropped == 1 {
                tracing::warn!(
                    "the system takes invalidations too slowly; some are left to their time to live"
                );
            }
            return;
        }
        queue.waiting.insert(item.clone());
        queue.order.push_back(item);
        drop(queue);
        self.shared.arrived.notify_one();
    }

    /// Waits for the next message; `None` once the queue is closed. Blocks its thread: not for async tasks.
    pub fn wait(&self) -> Option<Invalidation> {
        let mut queue = self
            .shared
            .arrived
            .wait_while(self.lock(), |queue| queue.order.is_empty() && !queue.closed)
            .unwrap_or_else(PoisonError::into_inner);
        queue.take()
    }

    /// The next message, if one waits.
    pub fn try_next(&self) -> Option<Invalidation> {
        self.lock().take()
    }

    /// Ends the queue: what waits is dropped, later messages too, and the taker gets `None`.
    pub fn close(&self) {
        let mut queue = self.lock();
        queue.closed = true;
        queue.order.clear();
        queue.waiting.clear();
        drop(queue);
        self.shared.arrived.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // The queue is whole between any two statements, so a panic elsewhere does not spoil it.
        self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &'static str) -> Invalidation {
        Invalidation::Entry { parent: NodeId(2), name: Bytes::from_static(name.as_bytes()) }
    }

    #[test]
    fn equal_messages_wait_once_and_order_holds() {
        let queue = Invalidations::default();
        for item in [entry("a"), Invalidation::Content(NodeId(3)), entry("a"), entry("b")] {
            queue.push(item);
        }
        assert_eq!(queue.wait(), Some(entry("a")));
        // Taken, so the next equal one is news again.
        queue.push(entry("a"));
        assert_eq!(queue.wait(), Some(Invalidation::Content(NodeId(3))));
        assert_eq!(queue.wait(), Some(entry("b")));
        assert_eq!(queue.wait(), Some(entry("a")));
        assert!(queue.lock().waiting.is_empty());
    }

    #[test]
    fn a_flood_is_bounded() {
        let queue = Invalidations::default();
        for node in 0..(CAPACITY as u64 + 10) {
            queue.push(Invalidation::Content(NodeId(node)));
        }
        assert_eq!(queue.lock().order.len(), CAPACITY);
        assert_eq!(queue.lock().dropped, 10);
    }

    #[test]
    fn closing_wakes_the_taker_and_drops_the_rest() {
        let queue = Invalidations::default();
        let taker = {
            let queue = queue.clone();
            std::thread::spawn(move || {
                let first = queue.wait();
                (first, queue.wait())
            })
        };
        queue.push(entry("a"));
        // The taker may have taken "a" already; either way closing ends it.
        queue.close();
        let (_, last) = taker.join().unwrap();
        assert_eq!(last, None);
        queue.push(entry("b"));
        assert_eq!(queue.wait(), None);
    }
}
