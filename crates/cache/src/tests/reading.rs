//! One read after another, and several at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::source::{Answer, Request, TestSource};
use super::{B, MIB, check, check_all, config, key, reader, settle, written};
use crate::{BlockState, Cache, FetchError, ReadError, Urgency};

fn source(size: u64) -> Arc<TestSource> {
    Arc::new(TestSource::new([(key(1, 1), size)]))
}

#[tokio::test(start_paused = true)]
async fn every_size_is_read_right_and_only_once() {
    for size in [0, 1, 5, B - 1, B, B + 1, 3 * B + 17, 5 * MIB] {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(config(&dir));
        let source = source(size);
        for step in [4096, 100_001, 3_000_000] {
            check_all(&reader(&cache, &source, 1), step).await;
        }
        assert_eq!(cache.stats().fetched_bytes, size);
        assert_eq!(cache.stats().served_bytes, 3 * size);
        written(&cache).await;
        let blocks = cache.blocks(key(1, 1));
        assert_eq!(blocks.cached(), size.div_ceil(B));
        assert!(!blocks.is_fetching());

        cache.close().await;
        let cache = Cache::open(config(&dir));
        check_all(&reader(&cache, &source, 1), 100_001).await;
        assert_eq!(cache.stats().fetched_bytes, 0, "after a restart");
        assert_eq!(cache.stats().misses, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_miss_asks_for_exactly_the_blocks_of_the_read() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(config(&dir));
    let source = source(20 * MIB + 5);
    let reader = reader(&cache, &source, 1);
    let demand = |range| Request { key: key(1, 1), range, urgency: Urgency::Demand };
    for (offset, length, range) in [
        (10, 100, 0..B),
        (7 * B + 10, 4096, 7 * B..8 * B),
        (3 * B - 1, 2, 2 * B..4 * B),
        (20 * MIB - 3, 100, 20 * MIB - B..20 * MIB + 5),
    ] {
        check(&reader, offset, length).await.unwrap();
        assert_eq!(source.requests(), [demand(range)], "for {length} bytes at {offset}");
    }
    // Around what is there.
    check(&reader, B, 3 * B as u32).await.unwrap();
    assert_eq!(source.requests(), [demand(B..2 * B)]);
    assert_eq!(cache.stats().misses, 7);
    assert_eq!(cache.stats().hits, 2);
    let stored = [0..4, 7..8, 79..81].map(|run| (run, BlockState::Stored));
    assert_eq!(cache.blocks(key(1, 1)).runs, stored);
}

#[tokio::test(start_paused = true)]
async fn reads_longer_than_a_fetch_are_split() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(config(&dir));
    let source = source(20 * MIB);
    check(&reader(&cache, &source, 1), 1, 9 << 20).await.unwrap();
    let ranges: Vec<_> = source.requests().into_iter().map(|request| request.range).collect();
    assert_eq!(ranges, [0..4 * MIB, 4 * MIB..8 * MIB, 8 * MIB..9 * MIB + B]);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_read_behind_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(config(&dir));
    let source = source(1000);
    let reader = reader(&cache, &source, 1);
    for (offset, length) in [(1000, 10), (u64::MAX, u32::MAX), (5, 0)] {
        let reply = reader.read(offset, length).await.unwrap();
        assert!(reply.data.is_empty());
    }
    assert_eq!(source.requests(), []);
}

#[tokio::test(start_paused = true)]
async fn bytes_are_given_before_their_fetch_has_ended() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(config(&dir));
    let source = source(MIB);
    source.script(|_| Answer::HangAfter(B + 4096));
    let reader = reader(&cache, &source, 1);
    let whole = reader.read(0, 2 * B as u32);
    let begin = async {
        settle().await;
        check(&reader, B, 4096).await.unwrap();
        let blocks = cache.blocks(key(1, 1));
        assert_eq!(blocks.runs[0], (0..1, BlockState::Stored), "what has not arrived whole is not there");
        assert_eq!((blocks.runs[1].0.start, blocks.runs[1].1), (1, BlockState::InFlight));
    };
    let (whole, ()) = tokio::join!(whole, begin);
    assert_eq!(whole, Err(FetchError::TimedOut.into()));
}

#[tokio::test(start_paused = true)]
async fn a_fetch_without_progress_times_out_and_a_slow_one_does_not() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(config(&dir));
    let stuck = source(MIB);
    stuck.script(|_| Answer::HangAfter(0));
    let start = Instant::now();
    let error = check(&reader(&cache, &stuck, 1), 0, 10).await;
    assert_eq!(error, Err(FetchError::TimedOut.into()));
    assert!((25..26).contains(&start.elapsed().as_secs()));
    settle().await;
    assert_eq!(stuck.open(), 0);

    // A piece each 20 s.
    let slow = TestSource::new([(key(2, 1), MIB)]).far(Duration::ZERO, Duration::from_secs(210));
    check(&reader(&cache, &Arc::new(slow), 2), 0, B as u32).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn readers_at_once_share_what_is_fetched() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(config(&dir));
    let size = 30 * MIB + 77;
    let source =
        TestSource::new([(key(1, 1), size)]).far(Duration::from_millis(200), Duration::from_millis(14));
    let source = Arc::new(source);
    let readers = (0..4).map(|number| {
        let (cache, source) = (cache.clone(), Arc::clone(&source));
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(30 * number)).await;
            check_all(&reader(&cache, &source, 1), 128 << 10).await;
        })
    });
    for reader in readers.collect::<Vec<_>>() {
        reader.await.unwrap();
    }
    assert_eq!(source.sent(), size);
    assert_eq!(cache.stats().fetched_bytes, size);
    assert_eq!(cache.stats().served_bytes, 4 * size);
}

#[tokio::test(start_paused = true)]
async fn a_newer_version_is_named_and_kept_as_such() {
    for newer_size in [0, 100, 2 * B, 5 * B + 3] {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(config(&dir));
        let source = source(3 * B + 9);
        let old = reader(&cache, &source, 1);
        check(&old, 0, 10).await.unwrap();
        source.publish(key(1, 2), newer_size);
        assert_eq!(check(&old, 0, 10).await, Ok(key(1, 1)), "what is here of the old version stays readable");
        // Half of this is here of the old version; the answer is of one version nevertheless.
        assert_eq!(check(&old, 100, 2 * B as u32).await, Ok(key(1, 2)));
        assert_eq!(check(&old, B, 4096).await, Ok(key(1, 2)));

        let before = cache.stats().fetched_bytes;
        let new = reader(&cache, &source, 1);
        if newer_size >= 2 * B {
            check(&new, 0, 2 * B as u32).await.unwrap();
            assert_eq!(cache.stats().fetched_bytes, before, "the newer version's bytes are here by now");
        }
        check_all(&new, 1 << 20).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_content_that_never_rests_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(config(&dir));
    let source = source(B);
    let reader = reader(&cache, &source, 1);
    source.script(|_| Answer::Error(FetchError::Changed));
    assert_eq!(check(&reader, 0, 10).await, Err(FetchError::Changed.into()));
    assert_eq!(source.requests().len(), 4);

    let calls = AtomicUsize::new(0);
    source.script(move |_| match calls.fetch_add(1, Ordering::Relaxed) {
        0 | 1 => Answer::ErrorAfter(1000, FetchError::Changed),
        _ => Answer::Right,
    });
    check(&reader, B - 10, 10).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn errors_of_the_source_are_the_reads_and_leave_nothing_behind() {
    let size = 3 * B + 100;
    let inconsistent = [
        (Answer::Length(B - 1), "fewer bytes than announced"),
        (Answer::Length(0), "fewer bytes than announced"),
        (Answer::Length(B + 1), "more bytes than announced"),
        (Answer::Length(3 * B), "more bytes than announced"),
        (Answer::Announce(key(2, 1), size, B), "the answer is of another entry"),
        (Answer::Announce(key(1, 6), size, B), "the answer is of an older version"),
        (Answer::Announce(key(1, 7), size + 1, B), "one version has two sizes"),
        (Answer::Announce(key(1, 7), size, B - 1), "the length is not what was asked for"),
        (Answer::Announce(key(1, 8), u64::MAX, B), "the size is too large"),
    ];
    let inconsistent = inconsistent.map(|(answer, why)| (answer, ReadError::Inconsistent(why)));
    let failing = [
        (Answer::Error(FetchError::Offline), FetchError::Offline.into()),
        (Answer::ErrorAfter(1000, FetchError::Denied), FetchError::Denied.into()),
        (Answer::ErrorAfter(B, FetchError::Unavailable), FetchError::Unavailable.into()),
        (Answer::Panic, FetchError::Other("the source failed".into()).into()),
    ];
    for (answer, error) in inconsistent.into_iter().chain(failing) {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(config(&dir));
        let source = Arc::new(TestSource::new([(key(1, 7), size)]));
        let told = answer.clone();
        source.script(move |_| told.clone());
        let reader = reader(&cache, &source, 1);
        let mut bytes = 10;
        if matches!(answer, Answer::Length(_) | Answer::ErrorAfter(..)) {
            bytes = B as u32;
        }
        let result = reader.read(0, bytes).await;
        if let (Answer::ErrorAfter(B, _), Ok(reply)) = (&answer, &result) {
            assert_eq!(reply.data, super::source::content(&key(1, 7), 0, B as usize));
        } else {
            assert_eq!(result, Err(error), "{answer:?}");
        }
        settle().await;
        assert_eq!(cache.blocks(key(1, 7)).runs, [], "{answer:?}");
        assert_eq!(source.open(), 0);

        source.script(|_| Answer::Right);
        check_all(&reader, 100_000).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_that_is_given_up_stops_its_fetch() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(config(&dir));
    let source = source(50 * MIB);
    source.script(|_| Answer::HangAfter(0));
    let reader = reader(&cache, &source, 1);
    for offset in 0..50 {
        timeout(Duration::from_millis(5), reader.read(offset * MIB, 9 << 20)).await.unwrap_err();
        settle().await;
        assert_eq!(source.open(), 0, "after the read at {offset} MiB");
    }
    assert!(!cache.blocks(key(1, 1)).is_fetching());
    source.script(|_| Answer::Right);
    check(&reader, 7, 100).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn giving_up_does_not_take_the_fetch_from_others() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(config(&dir));
    let source = TestSource::new([(key(1, 1), MIB)]).far(Duration::from_millis(100), Duration::ZERO);
    let source = Arc::new(source);
    let (first, second) = (reader(&cache, &source, 1), reader(&cache, &source, 1));
    let hasty = async {
        timeout(Duration::from_millis(10), first.read(0, 100)).await.unwrap_err();
        drop(first);
    };
    let (result, ()) = tokio::join!(check(&second, 50, 100), hasty);
    result.unwrap();
    assert_eq!(source.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_probe_leaves_its_block_whole() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(config(&dir));
    let far = TestSource::new([(key(1, 1), 2 * B)]).far(Duration::ZERO, Duration::from_secs(4));
    let source = Arc::new(far);
    check(&reader(&cache, &source, 1), 0, 100).await.unwrap();
    tokio::time::sleep(Duration::from_secs(4)).await;
    check(&reader(&cache, &source, 1), B - 100, 100).await.unwrap();
    assert_eq!(source.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_nobody_waits_for_does_not_trickle_in_for_ever() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(config(&dir));
    let mut trickle = TestSource::new([(key(1, 1), B)]).far(Duration::ZERO, Duration::from_secs(4000));
    trickle.piece = 1000;
    let source = Arc::new(trickle);
    let reader = reader(&cache, &source, 1);
    check(&reader, 0, 100).await.unwrap();
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(source.open(), 0);
    assert_eq!(cache.shared.memory(), (0, 0));

    // Who waits goes on waiting as long as something comes.
    check(&reader, 0, 50_000).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_is_here_is_given_although_its_fetch_failed_later() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(config(&dir));
    let source = source(MIB);
    source.script(|_| Answer::ErrorAfter(B + 1000, FetchError::Offline));
    // So that the reads begin in their order.
    written(&cache).await;
    let (long, short) = (reader(&cache, &source, 1), reader(&cache, &source, 1));
    let (failed, given) = tokio::join!(check(&long, 0, 2 * B as u32), check(&short, 0, 100));
    assert_eq!((failed, given), (Err(FetchError::Offline.into()), Ok(key(1, 1))));
    let asked: Vec<_> = source.requests().into_iter().map(|request| request.range).collect();
    assert_eq!(asked, [0..2 * B, B..2 * B], "what is here is not asked for again");
}

#[tokio::test(start_paused = true)]
async fn a_closed_cache_refuses_and_fails_what_waits() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(config(&dir));
    let source = source(MIB);
    source.script(|_| Answer::HangAfter(0));
    let reader = reader(&cache, &source, 1);
    let close = async {
        settle().await;
        cache.close().await;
    };
    let (read, ()) = tokio::join!(reader.read(0, 10), close);
    assert_eq!(read, Err(ReadError::Closed));
    assert_eq!(reader.read(0, 10).await, Err(ReadError::Closed));
    assert_eq!(source.open(), 0);
    cache.drop_all().await;
    cache.set_limit(0).await.unwrap();
    cache.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_file_that_was_read_once_is_here_whole() {
    for size in [B / 2, 2 * B + 5, 3 * B + 5, 5 * MIB] {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(config(&dir));
        let source =
            TestSource::new([(key(1, 1), size)]).far(Duration::from_millis(20), Duration::from_millis(14));
        let source = Arc::new(source);
        check_all(&reader(&cache, &source, 1), 128 << 10).await;
        check_all(&reader(&cache, &source, 1), 128 << 10).await;
        assert_eq!(source.sent(), size);
    }
}

#[tokio::test(start_paused = true)]
async fn memory_that_nobody_uses_goes_and_the_disk_has_what_was_in_it() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(config(&dir));
    let source = Arc::new(TestSource::new([(key(1, 1), 3 * B), (key(2, 1), 100)]));
    let open = reader(&cache, &source, 1);
    check_all(&open, 1000).await;
    assert!(cache.insert(key(2, 1), 100, &super::source::content(&key(2, 1), 0, 100).into()));
    assert!(cache.is_here(key(1, 1), 3 * B) && cache.is_here(key(2, 1), 100));
    assert!(cache.shared.memory().0 > 0);
    written(&cache).await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(cache.shared.memory(), (0, 0));
    source.requests();
    check_all(&open, 1000).await;
    check(&reader(&cache, &source, 2), 0, 100).await.unwrap();
    assert_eq!(source.requests(), [], "the disk had all of it");
}
