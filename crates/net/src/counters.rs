//! Bytes on sockets: ciphertext, headers and handshakes, as handed to and got from the system.
//!
//! Of a QUIC connection the whole counts datagrams, as they are handed to the system, while a lane counts the bytes of
//! its stream: which datagram carries what of which lane, and how often, is QUIC's affair.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts what a socket, a session or everything moves. A counter adds to the one that it is part of.
#[derive(Debug, Default)]
pub struct WireCounter {
    received: AtomicU64,
    sent: AtomicU64,
    whole: Option<Arc<WireCounter>>,
}

impl WireCounter {
    /// A counter that also adds to `whole`.
    pub fn part_of(whole: &Arc<WireCounter>) -> Arc<Self> {
        Arc::new(Self { whole: Some(Arc::clone(whole)), ..Self::default() })
    }

    /// Bytes received.
    pub fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Bytes sent.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    pub(crate) fn add_received(&self, bytes: usize) {
        self.add_received_alone(bytes);
        if let Some(whole) = &self.whole {
            whole.add_received(bytes);
        }
    }

    /// Without the whole, which counts the same bytes elsewhere.
    pub(crate) fn add_received_alone(&self, bytes: usize) {
        self.received.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn add_sent(&self, bytes: usize) {
        self.add_sent_alone(bytes);
        if let Some(whole) = &self.whole {
            whole.add_sent(bytes);
        }
    }
    /// Without the whole, which counts the same bytes elsewhere.
    pub(crate) fn add_sent_alone(&self, bytes: usize) {
        self.sent.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}
