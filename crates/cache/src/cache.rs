//! The cache as others see it.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use zeroize::Zeroizing;

use crate::counters::Counters;
use crate::fetch::SIZE_MOST;
use crate::key::ContentKey;
use crate::reader::Reader;
use crate::seal::Seal;
use crate::shared::{Shared, Version};
use crate::source::BlockSource;
use crate::store::{Disk, Files, Scope, Store, ranges};

/// The part of the memory that blocks waiting to be written may take.
const QUEUE_FRACTION: u64 = 4;
/// How long closing waits for the disk.
const CLOSING: Duration = Duration::from_secs(5);

/// How a cache is made.
#[derive(Clone)]
pub struct CacheConfig {
    /// Where blocks are kept; made if it does not exist.
    pub dir: PathBuf,
    /// Most bytes of disk to use.
    pub limit: u64,
    /// Every content's key derives from it.
    pub key: Zeroizing<[u8; 32]>,
    /// Most bytes of memory for blocks: fetched ahead, read lately, or not yet written. A read that somebody waits
    /// for and the first window of a reader's read-ahead go beyond it.
    pub memory: u64,
    /// A fetch of which nothing arrives for so long has failed.
    pub no_progress: Duration,
}

impl CacheConfig {
    /// The usual memory limit (256 MiB) and deadline (25 s).
    pub fn new(dir: PathBuf, limit: u64, key: [u8; 32]) -> Self {
        Self { dir, limit, key: Zeroizing::new(key), memory: 256 << 20, no_progress: Duration::from_secs(25) }
    }
}

impl std::fmt::Debug for CacheConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CacheConfig")
            .field("limit", &self.limit)
            .field("memory", &self.memory)
            .field("no_progress", &self.no_progress)
            .finish_non_exhaustive()
    }
}

/// What a cache did since it was opened, and what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Most bytes of disk to use.
    pub limit: u64,
    /// Bytes of disk in use, rounded up to the file system's blocks.
    pub used: u64,
    /// Blocks of reads for which nothing had to be asked.
    pub hits: u64,
    /// Blocks of reads that had to be asked for.
    pub misses: u64,
    /// Bytes given to readers.
    pub served_bytes: u64,
    /// Bytes that came from sources.
    pub fetched_bytes: u64,
    /// Blocks that were not kept or not found because of the disk: full, failing, or too slow.
    pub bypasses: u64,
    /// Blocks removed to make room.
    pub evictions: u64,
}

/// Which blocks of a content the cache has. Ranges of block numbers, in order, apart from each other.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Blocks {
    /// On disk or in memory.
    pub cached: Vec<Range<u64>>,
    /// Asked for and not yet there.
    pub in_flight: Vec<Range<u64>>,
}

/// Blocks on disk and in memory, filled from [`BlockSource`]s. Clones are the same cache.
#[derive(Clone)]
pub struct Cache {
    pub(crate) shared: Arc<Shared>,
}

impl std::fmt::Debug for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cache").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

impl Cache {
    /// Opens the cache and looks in the background for what its directory holds. One cache at a time may use a
    /// directory. Must be called in a tokio runtime.
    ///
    /// Trouble with the directory is no error: reads then go past the disk, and it is tried again.
    pub fn open(config: CacheConfig) -> Self {
        let files = Disk::new(config.dir.clone());
        Self::with_files(config, Box::new(files))
    }

    pub(crate) fn with_files(config: CacheConfig, files: Box<dyn Files>) -> Self {
        let counters = Arc::new(Counters::default());
        let tasks = TaskTracker::new();
        let queue = config.memory / QUEUE_FRACTION;
        let store =
            Store::open(files, Seal::new(config.key), config.limit, queue, Arc::clone(&counters), &tasks);
        let memory = config.memory - queue;
        Self { shared: Arc::new(Shared::new(store, counters, memory, config.no_progress, tasks)) }
    }

    /// A reader of the version `key`, which has `size` bytes, fed by `source`.
    pub fn reader(&self, key: ContentKey, size: u64, source: Arc<dyn BlockSource>) -> Reader {
        Reader::new(Arc::clone(&self.shared), Version { key, size: size.min(SIZE_MOST) }, source)
    }

    /// Forgets everything. Open readers go on; what they read is fetched anew. Like all that removes files, it returns
    /// after 10 s at the latest: what a slow disk has not done by then, it does later.
    pub async fn drop_all(&self) {
        self.forget(Scope::All).await;
    }

    /// Forgets everything of `contact`.
    pub async fn drop_contact(&self, contact: [u8; 16]) {
        self.forget(Scope::Contact(contact)).await;
    }

    /// Forgets every version of `entry`.
    pub async fn drop_entry(&self, contact: [u8; 16], entry: [u8; 16]) {
        self.forget(Scope::Entry(contact, entry)).await;
    }

    async fn forget(&self, scope: Scope) {
        self.shared.store.forget(scope).await;
        self.shared.forget_memory(scope);
    }

    /// Changes the limit of disk use; returns when it holds, or when its disk took 10 s for that.
    pub async fn set_limit(&self, limit: u64) {
        self.shared.store.set_limit(limit).await;
    }

    /// Counters and sizes.
    pub fn stats(&self) -> Stats {
        let (limit, used) = self.shared.store.usage();
        let counters = &self.shared.counters;
        Stats {
            limit,
            used,
            hits: counters.hits.get(),
            misses: counters.misses.get(),
            served_bytes: counters.served_bytes.get(),
            fetched_bytes: counters.fetched_bytes.get(),
            bypasses: counters.bypasses.get(),
            evictions: counters.evictions.get(),
        }
    }

    /// Which blocks of `key` are here.
    pub fn blocks(&self, key: ContentKey) -> Blocks {
        let (mut cached, in_flight) = self.shared.indexes(&key);
        cached.extend(self.shared.store.indexes(&key));
        Blocks { cached: sorted_ranges(cached), in_flight: sorted_ranges(in_flight) }
    }

    /// Ends every fetch, writes what is queued (for at most 5 s) and stops. Reads fail from now on.
    pub async fn close(&self) {
        self.shared.close();
        if timeout(CLOSING, self.shared.tasks.wait()).await.is_err() {
            tracing::warn!("the cache's disk does not end what it began");
        }
    }
}

fn sorted_ranges(mut numbers: Vec<u64>) -> Vec<Range<u64>> {
    numbers.sort_unstable();
    numbers.dedup();
    ranges(numbers)
}
