//! Reading one content.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Bytes, BytesMut};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::flights::{Carrier, Progress};
use crate::key::{BLOCK_BYTES, ContentKey, blocks_of};
use crate::shared::{Asker, Located, Shared, Version};
use crate::source::{BlockSource, FetchError};

/// How often a read begins anew because the content changed meanwhile.
const RENEWALS: usize = 3;

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
    /// The source's answer contradicts itself, or an earlier one.
    #[error("the source broke its word: {0}")]
    Inconsistent(&'static str),
    /// The cache was closed.
    #[error("the cache is closed")]
    Closed,
}

/// Reads one version of a content. Reads may run at once, and may be dropped. Dropping the reader cancels its
/// read-ahead.
pub struct Reader {
    shared: Arc<Shared>,
    asker: Asker,
    usage: Mutex<Usage>,
}

/// What was read through a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Where the last read ended, in bytes, and when it began; `None` before the first one.
    pub last: Option<(u64, Instant)>,
    /// Blocks of reads for which nothing had to be asked.
    pub hits: u64,
    /// Blocks of reads that had to be asked for.
    pub misses: u64,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("version", &self.asker.version).finish_non_exhaustive()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.shared.close_reader(self.asker.number, self.asker.version.key);
    }
}

/// What reading a version gives.
enum Outcome<T> {
    Read(T),
    Newer(Version),
}

impl Reader {
    pub(crate) fn new(shared: Arc<Shared>, version: Version, source: Arc<dyn BlockSource>) -> Self {
        let number = shared.open_reader(version);
        Self { shared, asker: Asker { number, version, source }, usage: Mutex::default() }
    }

    pub(crate) fn asker(&self) -> &Asker {
        &self.asker
    }

    /// The version that this reader reads.
    pub fn key(&self) -> ContentKey {
        self.asker.version.key
    }

    /// Its size, in bytes.
    pub fn size(&self) -> u64 {
        self.asker.version.size
    }

    /// What was read through it so far.
    pub fn usage(&self) -> Usage {
        *self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, bytes: &Range<u64>, hits: u64, misses: u64) {
        self.shared.counters.hits.add(hits);
        self.shared.counters.misses.add(misses);
        let mut usage = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        usage.last = Some((bytes.end, Instant::now()));
        usage.hits += hits;
        usage.misses += misses;
    }

    /// Reads up to `len` bytes from `offset` on; nothing at or behind the end.
    ///
    /// # Errors
    /// [`ReadError`]; trouble of the cache's disk is none. If nothing arrives for the time given as
    /// [`no_progress`](crate::CacheConfig::no_progress), it is [`FetchError::TimedOut`].
    pub async fn read(&self, offset: u64, len: u32) -> Result<ReadReply, ReadError> {
        let mut version = self.asker.version;
        for _ in 0..=RENEWALS {
            let bytes = offset..offset.saturating_add(len.into()).min(version.size);
            match self.read_version(version, bytes).await {
                Ok(Outcome::Read(data)) => {
                    self.shared.counters.served_bytes.add(data.len() as u64);
                    return Ok(ReadReply { key: version.key, size: version.size, data });
                }
                Ok(Outcome::Newer(newer)) => version = newer,
                Err(ReadError::Fetch(FetchError::Changed)) => {}
                Err(error) => return Err(error),
            }
        }
        Err(FetchError::Changed.into())
    }

    async fn read_version(&self, version: Version, bytes: Range<u64>) -> Result<Outcome<Bytes>, ReadError> {
        if bytes.is_empty() {
            return Ok(Outcome::Read(Bytes::new()));
        }
        let mut deadline = Instant::now() + self.shared.no_progress;
        self.shared.store.listed(version.key, version.size).await;
        let blocks = blocks_of(&bytes);
        let (hits, misses) = self.shared.begin_read(&self.asker, version, bytes.clone())?;
        self.note(&bytes, hits, misses);
        let mut given_up = GivenUp { shared: &self.shared, key: version.key, blocks: blocks.clone() };
        let mut pieces = Vec::with_capacity(1);
        for index in blocks {
            match self.read_block(version, &bytes, index, &mut deadline).await? {
                Outcome::Read(piece) => pieces.push(piece),
                Outcome::Newer(newer) => {
                    given_up.blocks = 0..0;
                    return Ok(Outcome::Newer(newer));
                }
            }
        }
        given_up.blocks = 0..0;
        if let [piece] = pieces.as_slice() {
            return Ok(Outcome::Read(piece.clone()));
        }
        let mut data = BytesMut::with_capacity(pieces.iter().map(Bytes::len).sum());
        pieces.iter().for_each(|piece| data.extend_from_slice(piece));
        Ok(Outcome::Read(data.freeze()))
    }

    /// What block `index` holds of `bytes`.
    async fn read_block(
        &self,
        version: Version,
        bytes: &Range<u64>,
        index: u64,
        deadline: &mut Instant,
    ) -> Result<Outcome<Bytes>, ReadError> {
        let start = index * BLOCK_BYTES;
        let part = within_block(bytes.start.saturating_sub(start))..within_block(bytes.end - start);
        let mut failed = None;
        loop {
            let (carrier, progress) = match self.shared.locate(version, index, &part)? {
                // Also if the fetch that brought it failed afterwards.
                Located::Here(piece) => return Ok(Outcome::Read(piece)),
                Located::Coming(carrier, progress) => (carrier, progress),
                Located::Absent => {
                    if let Some(error) = failed {
                        return Err(error);
                    }
                    self.shared.retry(&self.asker, version, index..blocks_of(bytes).end)?;
                    continue;
                }
            };
            let progress = self.progress(progress, deadline).await?;
            if progress.key != version.key {
                return Ok(Outcome::Newer(Version { key: progress.key, size: progress.size }));
            }
            if let (Carrier::Demand, Some(Err(error))) = (carrier, progress.ended) {
                failed = Some(error);
            }
        }
    }

    /// Waits until the flight has gone on or ended.
    async fn progress(
        &self,
        mut progress: watch::Receiver<Progress>,
        deadline: &mut Instant,
    ) -> Result<Progress, ReadError> {
        let before = progress.borrow().arrived;
        let changed = timeout_at(*deadline, progress.changed()).await.map_err(|_| FetchError::TimedOut)?;
        // An error says that the flight has ended; how is in its last state.
        changed.ok();
        let now = progress.borrow().clone();
        if now.arrived > before {
            *deadline = Instant::now() + self.shared.no_progress;
        }
        Ok(now)
    }
}

/// An offset as one within a block.
fn within_block(offset: u64) -> usize {
    // BLOCK_BYTES fits any usize.
    offset.min(BLOCK_BYTES) as usize
}

/// Tells of a read that ended early, so that nothing is fetched for nobody.
struct GivenUp<'a> {
    shared: &'a Shared,
    key: ContentKey,
    blocks: Range<u64>,
}

impl Drop for GivenUp<'_> {
    fn drop(&mut self) {
        if !self.blocks.is_empty() {
            self.shared.abandon(self.key, self.blocks.clone());
        }
    }
}
