//! The cache after a `kill -9` in the midst of filling it: what it serves is what the source has.

use std::ops::Range;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use farhold_cache::{BlockSource, Cache, CacheConfig, ContentKey, FetchError, Fetched, Urgency};
use futures_util::stream::{self, StreamExt};
use tokio_util::sync::CancellationToken;

// Less than the queue holds, so that the disk can be as slow as it likes.
const SIZE: u64 = (40 << 20) + 4711;
const KEY: ContentKey = ContentKey { contact: [1; 16], entry: [2; 16], epoch: 3, counter: 4 };
const DIR: &str = "FARHOLD_TEST_CACHE_DIR";

/// Serves words that tell their own place.
#[derive(Default)]
struct Words(AtomicU64);

fn words(range: Range<u64>) -> Bytes {
    range.step_by(8).flat_map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()).collect()
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
        let length = range.end - range.start;
        self.0.fetch_add(length, Ordering::Relaxed);
        let data = stream::iter([Ok(words(range).slice(..length as usize))]).boxed();
        Ok(Fetched { key, size: SIZE, length, data })
    }
}

/// Reads all of it from a cache in `dir`; gives what had to be fetched.
async fn read_all(dir: &str) -> u64 {
    let source = Arc::new(Words::default());
    let cache = Cache::open(CacheConfig::new(dir.into(), 1 << 30, [5; 32]));
    let reader = cache.reader(KEY, SIZE, Arc::clone(&source) as _);
    for start in (0..SIZE).step_by(1 << 20) {
        let reply = reader.read(start, 1 << 20).await.expect("the source serves everything");
        let end = SIZE.min(start + (1 << 20));
        assert!(reply.data == words(start..end).slice(..(end - start) as usize), "at {start}");
    }
    drop(reader);
    // The last bytes are given before their fetch has ended; closing would cut it off.
    while !cache.blocks(KEY).in_flight.is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    cache.close().await;
    source.0.load(Ordering::Relaxed)
}

/// Not a test of its own: the process that is killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn filler() {
    if let Ok(dir) = std::env::var(DIR) {
        loop {
            read_all(&dir).await;
            std::fs::remove_dir_all(format!("{dir}/blocks")).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_while_it_writes_it_serves_only_what_is_right() {
    let mut kept = 0;
    for round in 0..6u64 {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().to_str().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "filler"])
            .env(DIR, path)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // Not before it writes, and then at different moments.
        while std::fs::read_dir(dir.path().join("blocks")).map_or(0, Iterator::count) == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(Duration::from_millis(15 + 13 * round)).await;
        child.kill().unwrap();
        child.wait().unwrap();
        let fetched = read_all(path).await;
        kept += SIZE - fetched;
        assert_eq!(read_all(path).await, 0, "what was missing or torn was replaced");
    }
    assert!(kept > 0, "something is kept over a kill");
}
