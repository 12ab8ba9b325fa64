//! The cache after a `kill -9` at any moment of filling, evicting and dropping: what it serves is what the source has.

use std::ops::Range;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use farhold_cache::{BlockSource, Cache, CacheConfig, ContentKey, FetchError, Fetched, Urgency};
use futures_util::stream::{self, StreamExt};
use tokio_util::sync::CancellationToken;

/// Sizes of the contents: blocks in several segments, a part of one, and small ones.
const SIZES: [u64; 6] = [(20 << 20) + 4711, 3 << 20, 262_145, 262_144, 4096, 1];
/// Less than all of them, so that the child evicts.
const CHILD_LIMIT: u64 = 16 << 20;
const DIR: &str = "FARHOLD_TEST_CACHE_DIR";
const SEED: &str = "FARHOLD_TEST_SEED";
const ROUNDS: u64 = 12;

fn key(entry: usize) -> ContentKey {
    ContentKey { contact: [1; 16], entry: [entry as u8; 16], epoch: 3, counter: 4 }
}

/// Serves words that tell their own place.
#[derive(Default)]
struct Words(AtomicU64);

fn words(entry: usize, range: Range<u64>) -> Bytes {
    let first = range.start / 8 * 8;
    let all: Bytes = (first..range.end)
        .step_by(8)
        .flat_map(|at| (at + entry as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes())
        .collect();
    all.slice((range.start - first) as usize..(range.end - first) as usize)
}

#[async_trait]
impl BlockSource for Words {
    async fn fetch(
        &self,
        key: ContentKey,
        range: Range<u64>,
        _: Urgency,
        _: CancellationToken,
    ) -> Result<Fetched, FetchError> {
        let entry = usize::from(key.entry[0]);
        let length = range.end - range.start;
        self.0.fetch_add(length, Ordering::Relaxed);
        let data = stream::iter([Ok(words(entry, range))]).boxed();
        Ok(Fetched { key, size: SIZES[entry], length, data })
    }
}

fn next(random: &mut u64) -> u64 {
    *random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
    *random >> 33
}

async fn read(cache: &Cache, source: &Arc<Words>, entry: usize) {
    let size = SIZES[entry];
    let reader = cache.reader(key(entry), size, Arc::clone(source) as _);
    for start in (0..size).step_by(1 << 20) {
        let reply = reader.read(start, 1 << 20).await.expect("the source serves everything");
        assert!(reply.data == words(entry, start..size.min(start + (1 << 20))), "{entry} at {start}");
    }
}

/// Reads all of it from a cache in `dir`; gives what had to be fetched.
async fn read_all(dir: &Path) -> u64 {
    let source = Arc::new(Words::default());
    let cache = Cache::open(CacheConfig::new(dir.into(), 1 << 30, [5; 32]));
    for entry in 0..SIZES.len() {
        read(&cache, &source, entry).await;
        // The last bytes are given before their fetch has ended; closing would cut it off.
        while cache.blocks(key(entry)).is_fetching() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    assert_eq!(cache.stats().bypasses, 0);
    cache.close().await;
    source.0.load(Ordering::Relaxed)
}

/// Not a test of its own: the process that is killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn filler() {
    let (Ok(dir), Ok(seed)) = (std::env::var(DIR), std::env::var(SEED)) else { return };
    let mut random: u64 = seed.parse().unwrap();
    let source = Arc::new(Words::default());
    let cache = Cache::open(CacheConfig::new(dir.into(), CHILD_LIMIT, [5; 32]));
    loop {
        let entry = next(&mut random) as usize % SIZES.len();
        match next(&mut random) % 8 {
            0 => cache.drop_entry([1; 16], [entry as u8; 16]).await,
            1 => cache.set_limit(CHILD_LIMIT - next(&mut random) % (8 << 20)).await.unwrap(),
            _ => read(&cache, &source, entry).await,
        }
    }
}

/// Bytes of files below a folder.
fn size_below(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let sizes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size_below(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_any_moment_it_serves_only_what_is_right() {
    let mut random = 0x00fa_401d;
    let mut kept = 0;
    for round in 0..ROUNDS {
        let dir = tempfile::tempdir().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "filler"])
            .env(DIR, dir.path())
            .env(SEED, next(&mut random).to_string())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // Not before it writes, and then at any moment.
        let begun = Instant::now();
        while size_below(dir.path()) == 0 && begun.elapsed() < Duration::from_secs(20) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(Duration::from_micros(next(&mut random) % 300_000)).await;
        assert_eq!(child.try_wait().unwrap(), None, "it writes until it is killed");
        child.kill().unwrap();
        child.wait().unwrap();
        let fetched = read_all(dir.path()).await;
        kept += SIZES.iter().sum::<u64>() - fetched;
        assert_eq!(read_all(dir.path()).await, 0, "in round {round} what was missing or torn was replaced");
    }
    assert!(kept > 0, "something is kept over a kill");
}
