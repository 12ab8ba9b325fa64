//! Keeping whole contents.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::FETCH_BYTES;
use crate::cache::Cache;
use crate::flights::Progress;
use crate::key::{BLOCK_BYTES, ContentKey, blocks_of};
use crate::reader::{ReadError, Reader};
use crate::shared::Version;
use crate::source::BlockSource;

/// Fetches at once: 40 MiB, more than the longest of fast links holds (72 MB/s, 330 ms).
const FETCHES: usize = 10;
/// How often the same blocks are asked for when they are not kept: the disk may have been slow.
const ATTEMPTS: usize = 3;
/// Until memory or the queue is looked at again when it was full.
const PAUSE: Duration = Duration::from_millis(50);

/// Why a content is not kept whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FillError {
    /// A part of it could not be fetched.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It has a newer version.
    #[error("the content has a newer version")]
    Newer,
    /// The disk or the limit has no room for all of it, or a part was dropped meanwhile.
    #[error("there is no room to keep all of it")]
    NotKept,
}

impl Cache {
    /// Fetches what is missing of the version `key`, which has `size` bytes, and keeps it; whoever reads comes first.
    /// What was evicted meanwhile is missing in the end, so the content should be [pinned](Self::pin). Dropping the
    /// future cancels it; what has arrived is kept.
    ///
    /// # Errors
    /// [`FillError`]; what has arrived is kept.
    pub async fn fill(
        &self,
        key: ContentKey,
        size: u64,
        source: Arc<dyn BlockSource>,
    ) -> Result<(), FillError> {
        let reader = self.reader(key, size, source);
        self.shared.store.listed(key, size).await;
        let blocks = blocks_of(&(0..reader.size()));
        let step = FETCH_BYTES / BLOCK_BYTES;
        let parts = (0..blocks.end.div_ceil(step)).map(|part| part * step..blocks.end.min((part + 1) * step));
        let kept = stream::iter(parts).map(|part| self.fill_part(&reader, part)).buffer_unordered(FETCHES);
        kept.try_collect::<()>().await?;
        self.shared.store.flush().await;
        if self.shared.is_kept(reader.asker().version, blocks) { Ok(()) } else { Err(FillError::NotKept) }
    }

    /// Whether all of the version `key`, which has `size` bytes, is on disk or about to be written.
    pub async fn is_whole(&self, key: ContentKey, size: u64) -> bool {
        self.shared.store.listed(key, size).await;
        self.shared.is_kept(Version { key, size }, blocks_of(&(0..size)))
    }

    async fn fill_part(&self, reader: &Reader, blocks: Range<u64>) -> Result<(), FillError> {
        let asker = reader.asker();
        for _ in 0..ATTEMPTS {
            if self.shared.is_kept(asker.version, blocks.clone()) {
                return Ok(());
            }
            let coming = loop {
                if self.shared.store.has_room()
                    && let Some(coming) = self.shared.keep(asker, blocks.clone())?
                {
                    break coming;
                }
                sleep(PAUSE).await;
            };
            for progress in coming {
                ended(progress, asker.version.key).await?;
            }
        }
        if self.shared.is_kept(asker.version, blocks) { Ok(()) } else { Err(FillError::NotKept) }
    }
}

/// Waits until a fetch has ended.
async fn ended(mut progress: watch::Receiver<Progress>, key: ContentKey) -> Result<(), FillError> {
    // An error says that the fetch is gone; how it ended is in its last state.
    progress.wait_for(|progress| progress.ended.is_some()).await.map(drop).ok();
    let last = progress.borrow();
    if last.key != key {
        return Err(FillError::Newer);
    }
    match &last.ended {
        Some(Err(error)) => Err(error.clone().into()),
        Some(Ok(())) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
