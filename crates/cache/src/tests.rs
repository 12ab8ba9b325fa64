//! The cache as a whole, against a source in memory and disks that fail.

mod ahead;
pub(crate) mod disk;
pub(crate) mod files;
mod random;
mod reading;
pub(crate) mod source;

use std::sync::Arc;
use std::time::Duration;

use crate::tests::source::TestSource;
use crate::{BLOCK_BYTES, Cache, CacheConfig, ContentKey, ReadError, Reader};

pub(crate) const B: u64 = BLOCK_BYTES;
pub(crate) const MIB: u64 = 1 << 20;

pub(crate) fn key(entry: u8, counter: u64) -> ContentKey {
    ContentKey { contact: [1; 16], entry: [entry; 16], epoch: 1, counter }
}

fn config(dir: &tempfile::TempDir) -> CacheConfig {
    CacheConfig::new(dir.path().into(), 1 << 30, [7; 32])
}

/// A reader of the newest version that the source has of `entry`.
pub(crate) fn reader(cache: &Cache, source: &Arc<TestSource>, entry: u8) -> Reader {
    let (key, size) = source.newest(entry);
    cache.reader(key, size, Arc::clone(source) as _)
}

/// Reads and compares with what the source has of the version that the answer names.
async fn check(reader: &Reader, offset: u64, len: u32) -> Result<ContentKey, ReadError> {
    let reply = reader.read(offset, len).await?;
    let end = reply.size.min(offset + u64::from(len));
    assert_eq!(reply.data.len() as u64, end.saturating_sub(offset), "length of the answer at {offset}");
    assert!(reply.data == source::content(&reply.key, offset, reply.data.len()), "bytes at {offset}+{len}");
    Ok(reply.key)
}

/// Reads all of it in pieces of `step`.
pub(crate) async fn check_all(reader: &Reader, step: u32) {
    let mut at = 0;
    while at <= reader.size() {
        assert_eq!(check(reader, at, step).await, Ok(reader.key()), "at {at}");
        at += u64::from(step);
    }
}

/// Waits until nothing is queued for the disk any more.
pub(crate) async fn written(cache: &Cache) {
    // Commands are done in their order.
    let limit = cache.stats().limit;
    cache.set_limit(limit).await.unwrap();
}

async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}
