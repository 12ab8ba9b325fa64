//! A real file system that is far smaller than the limit. Needs the right to mount a tmpfs; says so without it.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use farhold_cache::{BLOCK_BYTES, BlockSource, Cache, CacheConfig, ContentKey, FetchError, Fetched, Urgency};
use futures_util::stream::{self, StreamExt};
use tokio_util::sync::CancellationToken;

const SIZE: u64 = 300 << 20;
const DISK: u64 = 30 << 20;
const KEY: ContentKey = ContentKey { contact: [1; 16], entry: [2; 16], epoch: 3, counter: 4 };

struct Sevens;

#[async_trait]
impl BlockSource for Sevens {
    async fn fetch(
        &self,
        key: ContentKey,
        range: Range<u64>,
        _: Urgency,
        _: CancellationToken,
    ) -> Result<Fetched, FetchError> {
        let length = range.end - range.start;
        let data = stream::iter([Ok(Bytes::from(vec![7; length as usize]))]).boxed();
        Ok(Fetched { key, size: SIZE, length, data })
    }
}

/// A tmpfs that is unmounted in the end.
struct Tmpfs(PathBuf);

impl Tmpfs {
    fn mount(path: &Path) -> Option<Self> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={DISK}"), "tmpfs"]).arg(path);
        mount.output().ok()?.status.success().then(|| Self(path.into()))
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(&self.0).status().expect("umount runs");
    }
}

#[tokio::test]
async fn a_stream_larger_than_the_disk_goes_through_and_leaves_room() {
    let dir = tempfile::tempdir().unwrap();
    let Some(tmpfs) = Tmpfs::mount(dir.path()) else {
        return eprintln_skipped();
    };
    let cache = Cache::open(CacheConfig::new(tmpfs.0.clone(), 1 << 40, [5; 32]));
    let reader = cache.reader(KEY, SIZE, Arc::new(Sevens));
    let mut least = u64::MAX;
    for start in (0..SIZE).step_by(BLOCK_BYTES as usize) {
        let reply = reader.read(start, BLOCK_BYTES as u32).await.unwrap();
        assert!(reply.data.iter().all(|byte| *byte == 7));
        least = least.min(fs4::available_space(&tmpfs.0).unwrap());
        if start % (1 << 20) == 0 {
            // Keeps the queue short, so that everything is tried.
            cache.set_limit(1 << 40).await.unwrap();
        }
    }
    cache.set_limit(1 << 40).await.unwrap();
    let stats = cache.stats();
    assert!(least >= DISK / 50, "{least} bytes were left");
    assert!(stats.used > DISK * 8 / 10, "{stats:?}");
    assert!(stats.evictions > 900, "{stats:?}");
    assert_eq!(stats.bypasses, 0, "{stats:?}");

    // Another program takes the rest, by and by.
    std::fs::write(tmpfs.0.join("other"), vec![1; (DISK / 2) as usize]).unwrap_err();
    let reply = reader.read(0, 8 << 20).await.unwrap();
    assert_eq!(reply.data.len(), 8 << 20);
    cache.close().await;
    assert!(fs4::available_space(&tmpfs.0).unwrap() >= DISK / 50);
}

#[allow(clippy::print_stderr)]
fn eprintln_skipped() {
    eprintln!("skipped: a tmpfs cannot be mounted here");
}
