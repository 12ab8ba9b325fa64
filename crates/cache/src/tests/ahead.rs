//! Read-ahead over a long link, with a virtual clock.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::source::{Answer, TestSource};
use super::{B, MIB, check, check_all, config, key, reader, settle};
use crate::{Cache, CacheConfig, FetchError, Urgency};

const LATENCY: Duration = Duration::from_millis(200);
/// About 72 MB/s.
const PER_MIB: Duration = Duration::from_micros(14_500);

fn far(size: u64) -> Arc<TestSource> {
    let mut source = TestSource::new((0..100).map(|entry| (key(entry, 1), size))).far(LATENCY, PER_MIB);
    source.piece = 256 << 10;
    Arc::new(source)
}

/// The same at 330 ms.
fn farther(size: u64) -> Arc<TestSource> {
    let mut source = TestSource::new([(key(1, 1), size)]).far(Duration::from_millis(330), PER_MIB);
    source.piece = 256 << 10;
    Arc::new(source)
}

/// Reads `from..to` as a kernel does.
async fn check_range(reader: &crate::Reader, from: u64, to: u64) {
    let mut at = from;
    while at < to {
        check(reader, at, (128 << 10).min((to - at) as u32)).await.unwrap();
        at += 128 << 10;
    }
}

#[tokio::test(start_paused = true)]
async fn a_sequential_reader_fills_the_link() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(config(&dir));
    let size = 300 * MIB;
    let source = far(size);
    let start = Instant::now();
    check_range(&reader(&cache, &source, 1), 0, size).await;
    // In virtual time: the link alone takes 4.35 s, the way to the full window some round trips.
    assert!(start.elapsed() < Duration::from_secs(7), "{:?}", start.elapsed());
    assert_eq!(source.sent(), size, "nothing twice");
    let requests = source.requests();
    let (demand, ahead): (Vec<_>, Vec<_>) =
        requests.iter().partition(|request| request.urgency == Urgency::Demand);
    assert!(demand.len() <= 3, "{demand:?}");
    assert!(ahead.iter().all(|request| request.range.end - request.range.start <= MIB));
    assert!(ahead[1..].iter().all(|request| request.range.start % MIB == 0));
}

#[tokio::test(start_paused = true)]
async fn a_jump_whose_beginning_is_here_costs_one_round_trip() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(config(&dir));
    let source = far(100 * MIB);
    let reads = reader(&cache, &source, 1);
    check_range(&reads, 0, 2 * MIB).await;
    check(&reader(&cache, &source, 1), 50 * MIB, 1).await.unwrap();
    let start = Instant::now();
    check_range(&reads, 50 * MIB, 52 * MIB).await;
    assert!(start.elapsed() < LATENCY * 2, "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn the_longest_link_is_full_after_five_round_trips() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(config(&dir));
    let size = 600 * MIB;
    let source = farther(size);
    let reads = {
        let reader = reader(&cache, &source, 1);
        tokio::spawn(async move { check_range(&reader, 0, size).await })
    };
    // What 330 ms at 72 MB/s hold, and a tenth more.
    let full = 26_100_000;
    let start = Instant::now();
    let (mut asked, mut first, mut least) = (0, None, u64::MAX);
    while source.sent() < size - 48 * MIB {
        sleep(Duration::from_millis(5)).await;
        asked += source.requests().iter().map(|request| request.range.end - request.range.start).sum::<u64>();
        let outstanding = asked - source.sent();
        if first.is_none() && outstanding >= full {
            first = Some(start.elapsed());
        }
        if start.elapsed() > Duration::from_secs(3) {
            least = least.min(outstanding);
        }
    }
    assert!(first.unwrap() <= 5 * Duration::from_millis(330), "{first:?}");
    assert!(least >= full, "{least} bytes asked ahead");
    reads.await.unwrap();
    // The link alone takes 8.7 s, the start less than five round trips.
    assert!(start.elapsed() < Duration::from_millis(10_400), "{:?}", start.elapsed());
    assert_eq!(source.sent(), size);
}

#[tokio::test(start_paused = true)]
async fn a_paced_reader_never_waits_after_the_start() {
    paced(far(200 * MIB)).await;
    paced(farther(200 * MIB)).await;
}

async fn paced(source: Arc<TestSource>) {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(config(&dir));
    let reader = reader(&cache, &source, 1);
    let mut late = 0;
    for step in 0..1400 {
        let start = Instant::now();
        check(&reader, step * (128 << 10), 128 << 10).await.unwrap();
        late += u32::from(start.elapsed() > Duration::from_millis(5));
        sleep(Duration::from_millis(43)).await;
    }
    // The first block, the second, and perhaps what the first window still owes.
    assert!(late <= 3, "{late} reads waited");
    let ahead = source.sent() - 1400 * (128 << 10);
    assert!(ahead <= 20 * MIB, "{ahead} bytes ahead");
}

#[tokio::test(start_paused = true)]
async fn a_read_that_comes_to_wait_raises_what_was_asked_for_ahead() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(config(&dir));
    let source = far(100 * MIB);
    let reader = reader(&cache, &source, 1);
    // The window reaches to 2 MiB now.
    check_range(&reader, 0, 2 * B).await;
    let before = source.raised();
    check(&reader, 2 * B, 128 << 10).await.unwrap();
    let raised: Vec<_> = source.raised().into_iter().filter(|range| !before.contains(range)).collect();
    assert_eq!(raised, std::slice::from_ref(&(2 * B..MIB)), "it waits for this and for nothing else");
    sleep(Duration::from_secs(1)).await;
    check_range(&reader, MIB, 2 * MIB).await;
    assert_eq!(source.raised().len(), before.len() + 1, "what is there already is not waited for");
}

#[tokio::test(start_paused = true)]
async fn probes_do_not_pull_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(config(&dir));
    let source = far(100 * MIB);
    let reader = reader(&cache, &source, 1);
    for probe in 0..20 {
        check_range(&reader, probe * 5 * MIB, probe * 5 * MIB + (256 << 10)).await;
    }
    sleep(Duration::from_secs(10)).await;
    assert_eq!(source.sent(), 20 * B);
}

#[tokio::test(start_paused = true)]
async fn a_jump_cancels_what_is_stale() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(config(&dir));
    let source = far(900 * MIB);
    let reader = reader(&cache, &source, 1);
    check_range(&reader, 0, 60 * MIB).await;
    assert!(source.open() > 10, "a wide window is outstanding");
    let sent = source.sent();
    let start = Instant::now();
    check(&reader, 700 * MIB + 5, 128 << 10).await.unwrap();
    assert!(start.elapsed() < LATENCY * 2, "it waits behind nothing: {:?}", start.elapsed());
    settle().await;
    assert!(source.open() <= 1);
    sleep(Duration::from_secs(5)).await;
    // 2 MiB were asked for with the jump, and a piece of each request may have been on its way.
    assert!(source.sent() - sent < 2 * MIB + 66 * B, "{} more", source.sent() - sent);
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_goes_takes_its_read_ahead_along() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(config(&dir));
    let source = far(900 * MIB);
    let reader = reader(&cache, &source, 1);
    check_range(&reader, 0, 60 * MIB).await;
    assert!(source.open() > 10);
    drop(reader);
    settle().await;
    assert_eq!(source.open(), 0);
    let sent = source.sent();
    sleep(Duration::from_secs(5)).await;
    assert_eq!(source.sent(), sent);
    assert!(!cache.blocks(key(1, 1)).is_fetching());
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_goes_leaves_to_others_what_they_want() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(config(&dir));
    let size = 120 * MIB;
    let source = far(size);
    let (first, second) = (reader(&cache, &source, 1), reader(&cache, &source, 1));
    let leader = async {
        check_range(&first, 0, size / 2).await;
        drop(first);
    };
    let follower = async {
        sleep(Duration::from_millis(50)).await;
        check_range(&second, 0, size).await;
    };
    tokio::join!(leader, follower);
    assert_eq!(source.sent(), size);
}

#[tokio::test(start_paused = true)]
async fn jumps_of_whole_stretches_take_one_round_trip() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(config(&dir));
    let source = far(900 * MIB);
    let reader = reader(&cache, &source, 1);
    for jump in 1..20u64 {
        source.requests();
        let offset = (jump * 389 % 890) * MIB + 4096;
        let start = Instant::now();
        check_range(&reader, offset, offset + 2 * MIB).await;
        if jump == 1 {
            continue;
        }
        let requests = source.requests();
        assert_eq!(requests.len(), 1, "jump {jump}: {requests:?}");
        assert_eq!(requests[0].urgency, Urgency::Demand);
        assert!(start.elapsed() < LATENCY + 3 * PER_MIB, "jump {jump}: {:?}", start.elapsed());
    }
    sleep(Duration::from_secs(3)).await;
    assert!(source.sent() < 19 * (2 * MIB + B) + 3 * MIB, "{}", source.sent());
}

#[tokio::test(start_paused = true)]
async fn memory_is_bounded_and_everybody_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config(&dir);
    config.memory = 32 * MIB;
    config.limit = 0;
    let cache = Cache::open(config);
    let size = 6 * MIB;
    let source = far(size);
    let streams: Vec<_> = (0..100)
        .map(|entry| {
            let reader = reader(&cache, &source, entry);
            tokio::spawn(async move { check_range(&reader, 0, size).await })
        })
        .collect();
    let mut most = 0;
    while !streams.iter().all(|stream| stream.is_finished()) {
        sleep(Duration::from_millis(50)).await;
        most = most.max(cache.shared.memory().0);
    }
    for stream in streams {
        stream.await.unwrap();
    }
    assert!(most > 30 * MIB);
    assert!(most <= 24 * MIB + 100 * 2 * MIB, "{most} bytes: the limit and what each stream has in any case");
    assert!(source.sent() <= 100 * size * 105 / 100, "{} of {}", source.sent(), 100 * size);
}

#[tokio::test(start_paused = true)]
async fn failing_read_ahead_neither_fails_reads_nor_floods_the_source() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(config(&dir));
    let source = far(40 * MIB);
    source.script(|request| match request.urgency {
        Urgency::Demand => Answer::Right,
        Urgency::ReadAhead | Urgency::Bulk => Answer::ErrorAfter(300_000, FetchError::Unavailable),
    });
    let start = Instant::now();
    check_all(&reader(&cache, &source, 1), 128 << 10).await;
    let ahead = source.requests().iter().filter(|request| request.urgency == Urgency::ReadAhead).count();
    let seconds = start.elapsed().as_secs() as usize;
    assert!(ahead > 3);
    assert!(ahead <= 4 * (seconds + 2), "{ahead} requests in {seconds} s");
}

#[tokio::test(start_paused = true)]
async fn read_ahead_from_disk_asks_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(config(&dir));
    let source = far(40 * MIB);
    check_all(&reader(&cache, &source, 1), 128 << 10).await;
    cache.close().await;
    let cache = Cache::open(CacheConfig { memory: 8 * MIB, ..config(&dir) });
    source.requests();
    check_all(&reader(&cache, &source, 1), 128 << 10).await;
    assert_eq!(source.requests(), []);
    let stats = cache.stats();
    assert_eq!((stats.misses, stats.bypasses), (0, 0));
}
