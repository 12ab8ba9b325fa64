//! Reading one content.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;

use crate::key::{BLOCK_BYTES, ContentKey};
use crate::source::{BlockSource, FetchError, Urgency};

/// What a read gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadReply {
    /// The version that `data` is of. If it is not the reader's, the content has a newer version: `data` is the
    /// asked range of that one, and later reads belong on a reader of it.
    pub key: ContentKey,
    /// Size of that version, in bytes.
    pub size: u64,
    /// The bytes; fewer than asked only at the end of the content.
    pub data: Bytes,
}

/// Why a read gives nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The source could not serve.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The source's answer contradicts itself.
    #[error("the source broke its word: {0}")]
    Inconsistent(&'static str),
    /// The cache was closed.
    #[error("the cache is closed")]
    Closed,
}

/// Reads one version of a content. Reads may run at once; dropping the reader cancels its read-ahead.
pub struct Reader {
    pub(crate) key: ContentKey,
    pub(crate) size: u64,
    pub(crate) source: Arc<dyn BlockSource>,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("key", &self.key).field("size", &self.size).finish_non_exhaustive()
    }
}

impl Reader {
    /// The version that this reader reads.
    pub fn key(&self) -> ContentKey {
        self.key
    }

    /// Its size, in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Reads up to `len` bytes from `offset` on; nothing at or behind the end.
    ///
    /// # Errors
    /// [`ReadError`]; trouble of the cache's disk is none.
    pub async fn read(&self, offset: u64, len: u32) -> Result<ReadReply, ReadError> {
        let end = offset.saturating_add(len.into()).min(self.size);
        if offset >= end {
            return Ok(ReadReply { key: self.key, size: self.size, data: Bytes::new() });
        }
        let start = offset / BLOCK_BYTES * BLOCK_BYTES;
        let mut fetched = self.source.fetch(self.key, start..end, Urgency::Demand).await?;
        let mut data = BytesMut::new();
        while let Some(piece) = fetched.data.next().await {
            data.extend_from_slice(&piece?);
        }
        if data.len() as u64 != fetched.length {
            return Err(ReadError::Inconsistent("length"));
        }
        let data = data.freeze().slice((offset - start).min(fetched.length) as usize..);
        Ok(ReadReply { key: fetched.key, size: fetched.size, data })
    }
}
