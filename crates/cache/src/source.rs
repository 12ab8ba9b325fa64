//! Where blocks come from when the cache does not have them.

use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use tokio_util::sync::CancellationToken;

use crate::key::ContentKey;

/// How much somebody is waiting for a fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Urgency {
    /// A program waits for these bytes.
    Demand,
    /// A program will probably want them.
    ReadAhead,
    /// They are to be kept, and nobody waits.
    Bulk,
}

/// Serves ranges of contents. Implemented over the network by the engine, over memory in tests.
#[async_trait]
pub trait BlockSource: Send + Sync + 'static {
    /// Asks for `range` of the content `key`. The range begins at a multiple of [`BLOCK_BYTES`](crate::BLOCK_BYTES)
    /// and is at most [`FETCH_BYTES`](crate::FETCH_BYTES) long.
    ///
    /// If that version is gone, the answer is the same range of a newer one (see [`Fetched::key`]). Dropping the
    /// future or the answer's stream cancels the request.
    ///
    /// `raised` is cancelled when a program comes to wait for bytes that were asked for with less urgency: from then
    /// on it is [`Urgency::Demand`].
    async fn fetch(
        &self,
        key: ContentKey,
        range: Range<u64>,
        urgency: Urgency,
        raised: CancellationToken,
    ) -> Result<Fetched, FetchError>;
}

/// The answer to a fetch.
pub struct Fetched {
    /// The version that the bytes are of: the one asked for, or a newer one of the same entry.
    pub key: ContentKey,
    /// Size of that version, in bytes.
    pub size: u64,
    /// How many bytes come: the whole range asked for, cut at `size`.
    pub length: u64,
    /// The bytes in order, in pieces of any length. Every piece must be known to be of version `key` when it is
    /// handed out: it is given to the reader before the rest arrives.
    pub data: BoxStream<'static, Result<Bytes, FetchError>>,
}

impl std::fmt::Debug for Fetched {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fetched")
            .field("key", &self.key)
            .field("size", &self.size)
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}

/// Why a source cannot serve.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The contact is not reachable.
    #[error("the contact is offline")]
    Offline,
    /// The contact is connected and did not answer in time.
    #[error("the contact did not answer in time")]
    TimedOut,
    /// The entry is gone.
    #[error("the entry is gone")]
    NotFound,
    /// The content changed while it was read: ask again.
    #[error("the content changed while it was read")]
    Changed,
    /// The share cannot be reached at its home now.
    #[error("the share is not available at its home")]
    Unavailable,
    /// The home may not or does not want to serve it.
    #[error("the home refuses to serve it")]
    Denied,
    /// Anything else.
    #[error("{0}")]
    Other(String),
}
