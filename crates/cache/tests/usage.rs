//! What the files really take up on the file system of this test stays within the limit, and what is counted is no less.
#![cfg(unix)]

use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use farhold_cache::{BlockSource, Cache, CacheConfig, ContentKey, FetchError, Fetched, Urgency};
use futures_util::stream::{self, StreamExt};
use tokio_util::sync::CancellationToken;

const LIMIT: u64 = 6 << 20;

/// Serves contents whose size is their counter.
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
        Ok(Fetched { key, size: key.counter, length, data })
    }
}

/// Bytes that a file takes up, or all files and folders below a folder and the folder itself.
fn taken(path: &Path) -> u64 {
    // It may go at any moment.
    let Ok(metadata) = std::fs::symlink_metadata(path) else { return 0 };
    let below = std::fs::read_dir(path).into_iter().flatten().flatten();
    metadata.blocks() * 512 + below.map(|entry| taken(&entry.path())).sum::<u64>()
}

#[tokio::test]
async fn the_limit_holds_on_a_real_file_system_under_random_sizes() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(CacheConfig::new(dir.path().into(), LIMIT, [5; 32]));
    let mut random = 0x00fa_401d_u64;
    let mut next = |below: u64| {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (random >> 33) % below
    };
    let mut most = 0;
    for round in 0..300 {
        let size = match round % 3 {
            0 => 1 + next(20_000),
            1 => 1 + next(600_000),
            _ => 1 + next(2 * LIMIT),
        };
        let key = ContentKey { contact: [1; 16], entry: [(round % 40) as u8; 16], epoch: 1, counter: size };
        let reader = cache.reader(key, size, Arc::new(Sevens));
        let offset = next(size);
        assert!(reader.read(offset, 700_000).await.unwrap().data.iter().all(|byte| *byte == 7));
        drop(reader);
        if round % 4 == 0 {
            cache.set_limit(LIMIT).await.unwrap();
            let roots = std::fs::read_dir(dir.path()).unwrap().flatten();
            let contacts = roots.flat_map(|root| std::fs::read_dir(root.path()).unwrap().flatten());
            let taken: u64 = contacts.map(|contact| taken(&contact.path())).sum();
            let counted = cache.stats().used;
            assert!(
                taken <= counted && counted <= LIMIT,
                "{taken} taken, {counted} counted in round {round}"
            );
            most = most.max(taken);
        }
    }
    assert!(most > LIMIT * 3 / 4, "{most}: it is used");
    assert!(cache.stats().evictions > 300, "{:?}", cache.stats());
    cache.drop_all().await;
    assert_eq!(cache.stats().used, 0);
    cache.close().await;
}
