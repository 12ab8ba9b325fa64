//! Limits, restarts, damage and disks that fail.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use proptest::prelude::*;
use tokio::time::{Instant, timeout};

use super::files::{State, TestFiles};
use super::source::TestSource;
use super::{B, MIB, check, check_all, config, key, reader, written};
use crate::key::{BlockId, ContentKey};
use crate::{Cache, CacheConfig};

const PLENTY: u64 = 1 << 40;

/// A cache on files in memory.
pub(crate) fn open(limit: u64, files: TestFiles) -> (Cache, Arc<State>) {
    let state = files.state();
    let config = CacheConfig::new("nowhere".into(), limit, [7; 32]);
    (Cache::with_files(config, Box::new(files)), state)
}

fn source(entries: &[(ContentKey, u64)]) -> Arc<TestSource> {
    Arc::new(TestSource::new(entries.iter().copied()))
}

#[tokio::test(start_paused = true)]
async fn the_limit_holds_at_every_moment() {
    let limit = 3 * MIB;
    let (cache, files) = open(limit, TestFiles::new(PLENTY));
    let entries: Vec<_> = (0..10).map(|entry| (key(entry, 1), limit + u64::from(entry) * 1000)).collect();
    let source = source(&entries);
    let readers: Vec<_> = (0..10).map(|entry| reader(&cache, &source, entry)).collect();
    for offset in (0..limit).step_by(512 << 10) {
        for reader in &readers {
            check(reader, offset, 512 << 10).await.unwrap();
        }
        written(&cache).await;
        assert!(cache.stats().used <= limit && cache.stats().used >= files.used());
    }
    assert!(files.most() <= limit, "{} of {limit}", files.most());
    assert!(files.most() > limit - 2 * B, "it is used");
    assert!(cache.stats().evictions > 50);
    assert_eq!(cache.stats().bypasses, 0);
}

#[tokio::test(start_paused = true)]
async fn a_new_limit_holds_at_once() {
    let (cache, files) = open(20 * MIB, TestFiles::new(PLENTY));
    let source = source(&[(key(1, 1), 10 * MIB), (key(2, 1), 10 * MIB)]);
    let other = reader(&cache, &source, 2);
    let reader = reader(&cache, &source, 1);
    check_all(&reader, 1 << 20).await;
    written(&cache).await;
    for limit in [5 * MIB, MIB, 0] {
        cache.set_limit(limit).await.unwrap();
        assert!(files.used() <= limit && cache.stats().used <= limit);
        assert_eq!(cache.stats().limit, limit);
        check_all(&reader, 1 << 20).await;
        assert!(files.used() <= limit);
    }
    assert_eq!(cache.stats().used, 0);
    cache.set_limit(20 * MIB).await.unwrap();
    check_all(&other, 1 << 20).await;
    written(&cache).await;
    assert!(files.used() > 9 * MIB);
}

#[tokio::test(start_paused = true)]
async fn a_smaller_limit_holds_after_a_restart() {
    let (cache, files) = open(20 * MIB, TestFiles::new(PLENTY));
    let source = source(&[(key(1, 1), 10 * MIB)]);
    check_all(&reader(&cache, &source, 1), 1 << 20).await;
    cache.close().await;
    assert!(files.used() > 9 * MIB);
    let (cache, files) = open(2 * MIB, TestFiles::again(&files));
    written(&cache).await;
    assert!(files.used() <= 2 * MIB);
}

#[tokio::test(start_paused = true)]
async fn what_is_dropped_is_gone_and_open_readers_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(config(&dir));
    let other = ContentKey { contact: [2; 16], ..key(3, 1) };
    let source = source(&[(key(1, 1), MIB), (key(2, 1), MIB), (other, MIB)]);
    let readers: Vec<_> = (1..4).map(|entry| reader(&cache, &source, entry)).collect();
    let fetched = async |expected: u64| {
        let before = cache.stats().fetched_bytes;
        for reader in &readers {
            check_all(reader, 100_000).await;
        }
        assert_eq!(cache.stats().fetched_bytes - before, expected * MIB);
        written(&cache).await;
    };
    fetched(3).await;
    fetched(0).await;
    cache.drop_entry([1; 16], [2; 16]).await;
    assert_eq!(cache.blocks(key(2, 1)).runs, []);
    fetched(1).await;
    cache.drop_contact([1; 16]).await;
    fetched(2).await;
    cache.drop_all().await;
    assert_eq!(cache.stats().used, 0);
    assert_eq!(std::fs::read_dir(dir.path().join("segments-64")).unwrap().count(), 0);
    fetched(3).await;
}

#[tokio::test(start_paused = true)]
async fn newer_versions_replace_older_ones() {
    let (cache, files) = open(20 * MIB, TestFiles::new(PLENTY));
    let source = source(&[(key(1, 1), MIB), (key(2, 1), MIB)]);
    let kept = reader(&cache, &source, 1);
    check_all(&kept, 1 << 20).await;
    check_all(&reader(&cache, &source, 2), 1 << 20).await;
    source.publish(key(1, 2), MIB);
    source.publish(key(2, 2), MIB);
    check_all(&reader(&cache, &source, 1), 1 << 20).await;
    check_all(&reader(&cache, &source, 2), 1 << 20).await;
    written(&cache).await;
    let has = |key| files.files().iter().filter(|id| id.key == key).count();
    assert_eq!([has(key(1, 2)), has(key(2, 2))], [4, 4]);
    assert_eq!(has(key(2, 1)), 0, "nobody reads the old version");
    assert_eq!(has(key(1, 1)), 4, "somebody reads the old version");
    cache.set_limit(2 * MIB + B / 2).await.unwrap();
    assert_eq!(has(key(1, 1)), 0, "but it goes first");
    assert_eq!([has(key(1, 2)), has(key(2, 2))], [4, 4]);
}

#[tokio::test(start_paused = true)]
async fn the_order_of_eviction_survives_a_restart() {
    let (cache, files) = open(20 * MIB, TestFiles::new(PLENTY));
    let source = source(&[(key(1, 1), MIB), (key(2, 1), MIB)]);
    for entry in [1, 2] {
        check_all(&reader(&cache, &source, entry), 1 << 20).await;
    }
    cache.close().await;
    for id in files.files() {
        files.set_modified(&id, 1000 + u64::from(id.key.entry[0] == 1) * 100 + id.index);
    }
    let (cache, files) = open(20 * MIB, TestFiles::again(&files));
    let used = BlockId { key: key(2, 1), index: 1 };
    check(&reader(&cache, &source, 2), B, 10).await.unwrap();
    assert!(files.modified(&used) > 1 << 30, "a use is noted");
    cache.set_limit(6 * B).await.unwrap();
    let mut left: Vec<_> = files.files().iter().map(|id| (id.key.entry[0], id.index)).collect();
    left.sort_unstable();
    assert_eq!(left, [(1, 0), (1, 1), (1, 2), (1, 3), (2, 1)]);
}

#[tokio::test(start_paused = true)]
async fn reads_are_served_while_the_start_looks_around() {
    let (cache, files) = open(20 * MIB, TestFiles::new(PLENTY));
    let source = source(&[(key(1, 1), MIB), (key(2, 1), MIB)]);
    check_all(&reader(&cache, &source, 1), 1 << 20).await;
    cache.close().await;

    // Only the search for contents hangs; the disk itself answers.
    let again = TestFiles::again(&files);
    files.hang_search();
    let (cache, files) = open(MIB + MIB / 2, again);
    check_all(&reader(&cache, &source, 1), 100_000).await;
    assert_eq!(cache.stats().fetched_bytes, 0);
    check_all(&reader(&cache, &source, 2), 100_000).await;
    assert_eq!(cache.stats().fetched_bytes, MIB);
    assert_eq!(files.files().iter().filter(|id| id.key == key(2, 1)).count(), 0, "nothing is written yet");
    check_all(&reader(&cache, &source, 2), 100_000).await;
    assert_eq!(cache.stats().fetched_bytes, MIB, "what is queued is served");
    files.resume_search();
    written(&cache).await;
    assert_eq!(files.files().iter().filter(|id| id.key == key(2, 1)).count(), 4);
    assert!(files.used() <= MIB + MIB / 2);
}

#[tokio::test(start_paused = true)]
async fn errors_of_the_disk_never_fail_a_read() {
    let kinds = [io::ErrorKind::Other, io::ErrorKind::ReadOnlyFilesystem, io::ErrorKind::NotFound];
    for kind in kinds {
        let (cache, files) = open(20 * MIB, TestFiles::new(PLENTY));
        let source = source(&[(key(1, 1), 2 * MIB), (key(2, 1), 2 * MIB)]);
        check_all(&reader(&cache, &source, 1), 1 << 20).await;
        written(&cache).await;
        let set = |kind| {
            for errors in [&files.read_errors, &files.write_errors, &files.remove_errors] {
                *errors.lock().unwrap() = kind;
            }
        };
        set(Some(kind));
        for entry in [1, 2] {
            check_all(&reader(&cache, &source, entry), 300_000).await;
        }
        cache.drop_all().await;
        cache.set_limit(MIB).await.unwrap();
        check_all(&reader(&cache, &source, 1), 300_000).await;
        assert!(cache.stats().bypasses > 0);
        assert!(cache.stats().used >= files.used(), "what could not be removed stays counted");
        set(None);
        cache.set_limit(20 * MIB).await.unwrap();
        check_all(&reader(&cache, &source, 2), 300_000).await;
        written(&cache).await;
        let before = cache.stats().fetched_bytes;
        check_all(&reader(&cache, &source, 2), 300_000).await;
        assert_eq!(cache.stats().fetched_bytes, before, "the disk is used again");
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_that_fails_half_way_leaves_nothing() {
    let (cache, files) = open(20 * MIB, TestFiles::new(PLENTY));
    let source = source(&[(key(1, 1), MIB)]);
    files.tear.store(true, Ordering::SeqCst);
    check_all(&reader(&cache, &source, 1), 1 << 20).await;
    written(&cache).await;
    assert_eq!(files.used(), 0);
    assert_eq!(cache.stats().used, 0);
    assert_eq!(cache.stats().bypasses, 4);
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_is_made_room_on_and_never_filled_up() {
    let total = 40 * MIB;
    let (cache, files) = open(PLENTY, TestFiles::new(total));
    files.others.store(20 * MIB, Ordering::SeqCst);
    let source = source(&[(key(1, 1), 100 * MIB)]);
    let reads = reader(&cache, &source, 1);
    for offset in (0..100 * MIB).step_by(10 << 20) {
        check(&reads, offset, 10 << 20).await.unwrap();
        written(&cache).await;
    }
    assert!(files.least_free() >= total / 50, "{} bytes free", files.least_free());
    assert!(files.used() > 15 * MIB, "what there is, is used");
    assert_eq!(cache.stats().bypasses, 0);

    // Others leave nothing: the cache gives way, and reading goes on.
    files.others.store(total, Ordering::SeqCst);
    source.publish(key(2, 1), 50 * MIB);
    check_all(&reader(&cache, &source, 2), 1 << 20).await;
    written(&cache).await;
    assert_eq!(files.used(), 0);
    assert!(cache.stats().bypasses > 0);
}

#[tokio::test]
async fn a_disk_that_hangs_is_left_alone() {
    let (cache, files) = open(20 * MIB, TestFiles::new(PLENTY));
    let source = source(&[(key(1, 1), 2 * MIB)]);
    check_all(&reader(&cache, &source, 1), 1 << 20).await;
    written(&cache).await;
    files.hang();
    let start = Instant::now();
    check_all(&reader(&cache, &source, 1), 100_000).await;
    assert_eq!(cache.stats().fetched_bytes, 4 * MIB);
    assert!(start.elapsed() < Duration::from_secs(20), "it waits once, not for every block");
    assert!(cache.stats().bypasses > 0);
    files.resume();
    timeout(Duration::from_secs(20), written(&cache)).await.unwrap();
}

#[test]
fn a_disk_that_hangs_at_the_start_takes_few_threads() {
    // One for the search, four for listings, one for others.
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().max_blocking_threads(6).build().unwrap().block_on(async {
        let files = TestFiles::new(PLENTY);
        files.state().hang();
        let (cache, state) = open(20 * MIB, files);
        let source = source(&(0..20).map(|entry| (key(entry, 1), 1000)).collect::<Vec<_>>());
        let readers: Vec<_> = (0..20).map(|entry| reader(&cache, &source, entry)).collect();
        let reads = readers
            .into_iter()
            .map(|reader| tokio::spawn(async move { check(&reader, 0, 1000).await.unwrap() }));
        let reads: Vec<_> = reads.collect();
        tokio::task::yield_now().await;
        let other = timeout(Duration::from_secs(10), tokio::task::spawn_blocking(|| {})).await;
        state.resume();
        other.unwrap().unwrap();
        for read in reads {
            read.await.unwrap();
        }
    });
}

#[tokio::test(start_paused = true)]
async fn who_orders_a_removal_does_not_wait_for_a_disk_that_hangs() {
    let (cache, files) = open(20 * MIB, TestFiles::new(PLENTY));
    let source = source(&[(key(1, 1), 2 * MIB), (key(2, 1), 2 * MIB)]);
    for entry in [1, 2] {
        check_all(&reader(&cache, &source, entry), 1 << 20).await;
    }
    written(&cache).await;
    files.hang();
    let ordered = {
        let cache = cache.clone();
        tokio::spawn(async move {
            cache.drop_entry([1; 16], [1; 16]).await;
            cache.set_limit(MIB).await.unwrap();
        })
    };
    for _ in 0..2 {
        // The clock stands still while a thread works, so it is put forward.
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        tokio::time::advance(Duration::from_secs(11)).await;
    }
    ordered.await.unwrap();
    assert_eq!(cache.stats().limit, MIB);
    files.resume();
    written(&cache).await;
    assert!(files.files().iter().all(|id| id.key == key(2, 1)) && !files.files().is_empty());
    assert!(files.used() <= MIB);
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_keeps_nobody_waiting() {
    let files = TestFiles::new(PLENTY);
    files.state().hang_search();
    let state = files.state();
    let mut config = CacheConfig::new("nowhere".into(), PLENTY, [7; 32]);
    config.memory = 4 * MIB;
    let cache = Cache::with_files(config, Box::new(files));
    let source = source(&[(key(1, 1), 20 * MIB)]);
    check_all(&reader(&cache, &source, 1), 1 << 20).await;
    assert_eq!(cache.stats().bypasses, 76, "all but one MiB");
    state.resume_search();
    written(&cache).await;
    assert_eq!(state.files().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_swapped_file_is_not_served() {
    let (cache, files) = open(20 * MIB, TestFiles::new(PLENTY));
    let source = source(&[(key(1, 1), MIB), (key(1, 2), MIB)]);
    check_all(&reader(&cache, &source, 1), 1 << 20).await;
    written(&cache).await;
    let mut other = Vec::new();
    files.damage(&BlockId { key: key(1, 2), index: 1 }, |file| other = file.clone());
    files.damage(&BlockId { key: key(1, 2), index: 2 }, |file| *file = other);
    cache.close().await;
    let (cache, files) = open(20 * MIB, TestFiles::again(&files));
    check_all(&reader(&cache, &source, 1), 100_000).await;
    assert_eq!(cache.stats().fetched_bytes, B);
    written(&cache).await;
    cache.close().await;
    let (cache, _) = open(20 * MIB, TestFiles::again(&files));
    check_all(&reader(&cache, &source, 1), 100_000).await;
    assert_eq!(cache.stats().fetched_bytes, 0, "the block was replaced");
}

#[derive(Debug, Clone)]
enum Damage {
    Flip(usize),
    Cut(usize),
    Zero(usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        any::<usize>().prop_map(Damage::Flip),
        any::<usize>().prop_map(Damage::Cut),
        any::<usize>().prop_map(Damage::Zero),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whatever happens to the files, before a start or under a running cache, is never served.
    #[test]
    fn damage_is_never_served(
        damages in prop::collection::vec((any::<prop::sample::Index>(), damage()), 1..6),
        restart in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        runtime.unwrap().block_on(async {
            let (cache, files) = open(20 * MIB, TestFiles::new(PLENTY));
            let source = source(&[(key(1, 1), 2 * MIB + 100)]);
            check_all(&reader(&cache, &source, 1), 1 << 20).await;
            written(&cache).await;
            if restart {
                cache.close().await;
            }
            for (which, damage) in damages {
                let mut files_there = files.files();
                files_there.sort_unstable_by_key(|id| id.index);
                files.damage(which.get(&files_there), |file| match damage {
                    Damage::Flip(at) => { let at = at % file.len().max(1); if let Some(byte) = file.get_mut(at) { *byte ^= 1 } }
                    Damage::Cut(at) => file.truncate(at % (file.len() + 1)),
                    Damage::Zero(from) => { let from = from % (file.len() + 1); file[from..].fill(0) }
                });
            }
            let (cache, files) = if restart { open(20 * MIB, TestFiles::again(&files)) } else { (cache, files) };
            check_all(&reader(&cache, &source, 1), 100_000).await;
            written(&cache).await;
            cache.close().await;
            let (cache, _) = open(20 * MIB, TestFiles::again(&files));
            check_all(&reader(&cache, &source, 1), 100_000).await;
            assert_eq!(cache.stats().fetched_bytes, 0, "damaged blocks were replaced");
        });
    }
}
