use std::sync::atomic::Ordering;

use super::*;
use crate::source::FetchError;
use crate::tests::disk::open;
use crate::tests::files::TestFiles;
use crate::tests::source::{Answer, TestSource};
use crate::tests::{B, MIB, check_all, key, reader, written};
use crate::{BlockState, PinError, Urgency};

const SIZE: u64 = 30 * MIB + 5;

fn source() -> Arc<TestSource> {
    Arc::new(TestSource::new((1..4).map(|entry| (key(entry, 1), SIZE))))
}

async fn fill(cache: &Cache, source: &Arc<TestSource>, entry: u8) -> Result<(), FillError> {
    let (key, size) = source.newest(entry);
    cache.fill(key, size, Arc::clone(source) as _).await
}

#[tokio::test(start_paused = true)]
async fn what_is_missing_is_fetched_once_and_kept() {
    let (cache, files) = open(200 * MIB, TestFiles::new(1 << 40));
    let source = source();
    let reader = reader(&cache, &source, 1);
    reader.read(10 * MIB, 2 << 20).await.unwrap();
    source.requests();
    fill(&cache, &source, 1).await.unwrap();
    written(&cache).await;
    assert_eq!(cache.stats().fetched_bytes, SIZE);
    assert!(source.requests().iter().all(|request| request.urgency == Urgency::Bulk));
    assert_eq!(cache.blocks(key(1, 1)).runs, [(0..SIZE.div_ceil(B), BlockState::Stored)]);
    assert_eq!(files.files().len() as u64, SIZE.div_ceil(B));
    fill(&cache, &source, 1).await.unwrap();
    check_all(&reader, 1 << 20).await;
    assert_eq!(source.requests(), []);
}

#[tokio::test(start_paused = true)]
async fn a_read_beside_it_asks_for_nothing_twice_and_is_waited_for() {
    let (cache, _) = open(200 * MIB, TestFiles::new(1 << 40));
    let slow = TestSource::new([(key(1, 1), SIZE)]);
    let source = Arc::new(slow.far(Duration::from_millis(200), Duration::from_millis(14)));
    let reads = reader(&cache, &source, 1);
    let reading = async {
        sleep(Duration::from_millis(50)).await;
        check_all(&reads, 1 << 20).await;
    };
    let (filled, ()) = tokio::join!(fill(&cache, &source, 1), reading);
    filled.unwrap();
    assert_eq!(source.sent(), SIZE);
    assert!(!source.raised().is_empty());
}

#[tokio::test(start_paused = true)]
async fn its_end_is_told() {
    let (cache, files) = open(200 * MIB, TestFiles::new(1 << 40));
    let source = source();
    source.script(|request| match request.range.start {
        0..20_000_000 => Answer::Right,
        _ => Answer::Error(FetchError::Offline),
    });
    assert_eq!(fill(&cache, &source, 1).await, Err(ReadError::Fetch(FetchError::Offline).into()));
    source.script(|_| Answer::Right);
    fill(&cache, &source, 1).await.unwrap();
    assert!(cache.stats().fetched_bytes < SIZE + 16 * MIB, "what had arrived was kept");

    let old = source.newest(2).0;
    source.publish(key(2, 2), SIZE);
    assert_eq!(cache.fill(old, SIZE, Arc::clone(&source) as _).await, Err(FillError::Newer));

    files.others.store(1 << 40, Ordering::SeqCst);
    assert_eq!(fill(&cache, &source, 3).await, Err(FillError::NotKept));
    cache.close().await;
    assert_eq!(fill(&cache, &source, 3).await, Err(ReadError::Closed.into()));
}

#[tokio::test(start_paused = true)]
async fn given_up_it_asks_for_no_more() {
    let (cache, _) = open(200 * MIB, TestFiles::new(1 << 40));
    let source = Arc::new(
        TestSource::new([(key(1, 1), SIZE)]).far(Duration::from_millis(200), Duration::from_millis(14)),
    );
    let patience = Duration::from_millis(300);
    tokio::time::timeout(patience, fill(&cache, &source, 1)).await.unwrap_err();
    sleep(Duration::from_millis(1)).await;
    assert_eq!(source.open(), 0);
    assert_eq!(cache.shared.memory().1, 0);
}

#[tokio::test(start_paused = true)]
async fn what_is_pinned_stays_when_everything_else_goes() {
    let (cache, files) = open(80 * MIB, TestFiles::new(1 << 40));
    let source = source();
    cache.pin(key(1, 1), SIZE).unwrap();
    fill(&cache, &source, 1).await.unwrap();
    written(&cache).await;
    assert!(cache.is_whole(key(1, 1), SIZE).await && !cache.is_whole(key(2, 1), SIZE).await);
    cache.check_pins([(key(1, 1), SIZE), (key(2, 1), SIZE)]).unwrap();
    cache.check_pins([(key(2, 1), SIZE), (key(3, 1), SIZE)]).unwrap_err();
    cache.pin(key(2, 1), SIZE).unwrap();
    let Err(PinError { needed, limit }) = cache.pin(key(3, 1), SIZE) else { panic!("there is no room") };
    assert!(needed > 3 * SIZE && limit == 80 * MIB);
    for _ in 0..2 {
        check_all(&reader(&cache, &source, 3), 1 << 20).await;
        fill(&cache, &source, 2).await.unwrap();
        written(&cache).await;
    }
    cache.drop_all().await;
    cache.set_limit(70 * MIB).await.unwrap();
    cache.set_limit(20 * MIB).await.unwrap_err();
    assert_eq!(cache.stats().limit, 70 * MIB);
    let count = |entry| files.files().iter().filter(|id| id.key == key(entry, 1)).count() as u64;
    assert_eq!([count(1), count(2), count(3)], [SIZE.div_ceil(B), SIZE.div_ceil(B), 0]);
    let fetched = cache.stats().fetched_bytes;
    check_all(&reader(&cache, &source, 1), 1 << 20).await;
    assert_eq!(cache.stats().fetched_bytes, fetched);
    cache.unpin(key(1, 1));
    cache.drop_all().await;
    assert_eq!([count(1), count(2)], [0, SIZE.div_ceil(B)]);
}

#[tokio::test(start_paused = true)]
async fn a_small_content_that_came_otherwise_is_served() {
    let (cache, files) = open(20 * MIB, TestFiles::new(1 << 40));
    let source = Arc::new(TestSource::new([(key(1, 1), 5000), (key(2, 1), 2 * B + 1)]));
    for (key, size) in [source.newest(1), source.newest(2)] {
        let content = crate::tests::source::content(&key, 0, size as usize).into();
        assert!(!cache.insert(key, size + 1, &content), "not all of it");
        assert!(cache.insert(key, size, &content));
        assert!(cache.insert(key, size, &content));
    }
    for entry in [1, 2] {
        check_all(&reader(&cache, &source, entry), 1000).await;
    }
    written(&cache).await;
    assert_eq!(source.requests(), []);
    assert_eq!(files.files().len(), 4);
}
