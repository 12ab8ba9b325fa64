//! How fast a cold content comes through the cache, and how fast a cached one is read.

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use farhold_cache::{BlockSource, Cache, CacheConfig, ContentKey, FetchError, Fetched, Urgency};
use futures_util::stream::{self, StreamExt};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

const SIZE: u64 = 256 << 20;
const KEY: ContentKey = ContentKey { contact: [1; 16], entry: [2; 16], epoch: 3, counter: 4 };

/// Serves at no cost.
struct Zeros(Bytes);

#[async_trait]
impl BlockSource for Zeros {
    async fn fetch(
        &self,
        key: ContentKey,
        range: Range<u64>,
        _: Urgency,
        _: CancellationToken,
    ) -> Result<Fetched, FetchError> {
        let length = range.end - range.start;
        let piece = self.0.clone();
        let pieces = (0..length).step_by(piece.len()).map(move |at| {
            let rest = usize::try_from(length - at).unwrap_or(usize::MAX);
            Ok(piece.slice(..piece.len().min(rest)))
        });
        Ok(Fetched { key, size: SIZE, length, data: stream::iter(pieces).boxed() })
    }
}

async fn read_all(cache: &Cache) {
    let source = Arc::new(Zeros(vec![0; 256 << 10].into()));
    let reader = cache.reader(KEY, SIZE, source);
    for offset in (0..SIZE).step_by(128 << 10) {
        reader.read(offset, 128 << 10).await.expect("the source serves everything");
    }
}

fn cache(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let mut group = criterion.benchmark_group("read 256 MiB in steps of 128 KiB");
    group.sample_size(10).throughput(Throughput::Bytes(SIZE));
    let open = |dir: &tempfile::TempDir| {
        let _runtime = runtime.enter();
        Cache::open(CacheConfig::new(dir.path().into(), 1 << 30, [5; 32]))
    };

    group.bench_function("cold, with all of it written", |bencher| {
        let fresh = || {
            let dir = tempfile::tempdir().expect("a folder");
            (open(&dir), dir)
        };
        bencher.iter_batched(
            fresh,
            |(cache, dir)| {
                runtime.block_on(async {
                    read_all(&cache).await;
                    cache.close().await;
                });
                dir
            },
            BatchSize::PerIteration,
        );
    });

    let dir = tempfile::tempdir().expect("a folder");
    let cache = open(&dir);
    while cache.blocks(KEY).cached() < SIZE >> 18 {
        runtime.block_on(async {
            read_all(&cache).await;
            cache.set_limit(1 << 30).await.expect("nothing is pinned");
        });
    }
    group.bench_function("from disk", |bencher| bencher.iter(|| runtime.block_on(read_all(&cache))));
    group.finish();
}

criterion_group!(benches, cache);
criterion_main!(benches);
