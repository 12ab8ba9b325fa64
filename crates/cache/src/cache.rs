//! The cache as others see it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use zeroize::Zeroizing;

use crate::FETCH_BYTES;
use crate::blocks::Blocks;
use crate::counters::Counters;
use crate::fetch::SIZE_MOST;
use crate::key::ContentKey;
use crate::reader::Reader;
use crate::seal::Seal;
use crate::shared::{Shared, Version};
use crate::source::BlockSource;
use crate::store::{Disk, Files, PinError, Scope, Store};

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
    /// Bytes that are free on the disk, as it was seen last, some seconds ago at most while the disk answers; `None`
    /// if it would not say.
    pub disk_free: Option<u64>,
    /// The disk is nearly full: blocks make room for others, or are not kept.
    pub disk_low: bool,
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
        let shared = Arc::new(Shared::new(store, counters, memory, config.no_progress, tasks));
        shared.sweep();
        Self { shared }
    }

    /// A reader of the version `key`, which has `size` bytes, fed by `source`.
    pub fn reader(&self, key: ContentKey, size: u64, source: Arc<dyn BlockSource>) -> Reader {
        Reader::new(Arc::clone(&self.shared), Version { key, size: size.min(SIZE_MOST) }, source)
    }

    /// Forgets everything that is not pinned. Open readers go on; what they read is fetched anew. Like all that removes
    /// files, it returns after 10 s at the latest: what a slow disk has not done by then, it does later.
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
    ///
    /// # Errors
    /// [`PinError`]: what is pinned needs more. The limit stays as it was.
    pub async fn set_limit(&self, limit: u64) -> Result<(), PinError> {
        self.shared.store.set_limit(limit).await
    }

    /// What there is and will be of the version `key`, which has `size` bytes, is neither evicted nor dropped until it
    /// is unpinned. A pin is not remembered over a restart. Pinning again changes nothing.
    ///
    /// # Errors
    /// [`PinError`]: all that is pinned would need more than the limit. Then it is not pinned.
    pub fn pin(&self, key: ContentKey, size: u64) -> Result<(), PinError> {
        self.shared.store.pin(key, size)
    }

    /// Whether all of `contents`, as [`pin`](Self::pin) takes them, could be pinned besides what is.
    ///
    /// # Errors
    /// [`PinError`]: all together would need more than the limit.
    pub fn check_pins(&self, contents: impl IntoIterator<Item = (ContentKey, u64)>) -> Result<(), PinError> {
        self.shared.store.check_pins(contents)
    }

    /// The opposite of [`pin`](Self::pin): from now on it goes like any other content.
    pub fn unpin(&self, key: ContentKey) {
        self.shared.store.unpin(&key);
    }

    /// Keeps a whole content of which all bytes are at hand. True if it is a content's whole and not larger than a
    /// fetch ([`FETCH_BYTES`](crate::FETCH_BYTES)).
    pub fn insert(&self, key: ContentKey, size: u64, bytes: &Bytes) -> bool {
        if bytes.len() as u64 != size || size > FETCH_BYTES {
            return false;
        }
        self.shared.insert(Version { key, size }, bytes);
        true
    }

    /// Whether all of the version `key`, which has `size` bytes, is here or on its way, as far as is known at once.
    pub fn is_here(&self, key: ContentKey, size: u64) -> bool {
        self.shared.is_here(Version { key, size })
    }

    /// Counters and sizes.
    pub fn stats(&self) -> Stats {
        let (limit, used) = self.shared.store.usage();
        let room = self.shared.store.room();
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
            disk_free: room.free,
            disk_low: room.low,
        }
    }

    /// Which blocks of `key` are here. Touches no disk and holds no lock for long, but of a content of which very much
    /// is here it takes some milliseconds.
    pub fn blocks(&self, key: ContentKey) -> Blocks {
        let (stored, queued) = self.shared.store.blocks(&key);
        Blocks::new(&stored, queued, self.shared.indexes(&key))
    }

    /// Ends every fetch, writes what is queued (for at most 5 s) and stops. Reads fail from now on.
    pub async fn close(&self) {
        self.shared.close();
        if timeout(CLOSING, self.shared.tasks.wait()).await.is_err() {
            tracing::warn!("the cache's disk does not end what it began");
        }
    }
}
