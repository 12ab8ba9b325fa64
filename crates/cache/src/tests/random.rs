//! Anything in any order: what is read is always what the source has.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use proptest::prelude::*;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::files::TestFiles;
use super::source::{Answer, TestSource};
use super::{B, MIB, check, key, reader};
use crate::{BLOCK_BYTES, Cache, CacheConfig, FetchError, Reader};

#[derive(Debug, Clone)]
enum Step {
    /// Reads at once, some of them given up after so many milliseconds.
    Read(Vec<(u8, u64, u32, Option<u64>)>),
    /// Reads one after another.
    Stream(u8, u64, u32),
    Reopen(u8),
    Publish(u8, u64),
    Source(Fault),
    Disk(DiskFault),
    DropAll,
    DropEntry(u8),
    Limit(u64),
    Restart,
}

#[derive(Debug, Clone, Copy)]
enum Fault {
    None,
    Offline,
    SometimesChanged,
    Breaks(u64),
    Short(u64),
    Hangs(u64),
}

#[derive(Debug, Clone, Copy)]
enum DiskFault {
    None,
    Reads,
    Writes,
    Removals,
    Tears,
    Full,
}

const ENTRIES: u8 = 3;

fn step() -> impl Strategy<Value = Step> {
    let entry = 0..ENTRIES;
    let offset = prop_oneof![0..8 * MIB, (0..32u64).prop_map(|block| block * B)];
    let length = prop_oneof![1..5000u32, 1..3_000_000u32, Just(B as u32)];
    let give_up = prop_oneof![4 => Just(None), 1 => (0..300u64).prop_map(Some)];
    let read = (entry.clone(), offset.clone(), length, give_up);
    let fault = prop_oneof![
        4 => Just(Fault::None),
        1 => Just(Fault::Offline),
        1 => Just(Fault::SometimesChanged),
        1 => (0..2 * MIB).prop_map(Fault::Breaks),
        1 => (0..2 * MIB).prop_map(Fault::Short),
        1 => (0..2 * MIB).prop_map(Fault::Hangs),
    ];
    let disk = prop_oneof![
        3 => Just(DiskFault::None),
        1 => Just(DiskFault::Reads),
        1 => Just(DiskFault::Writes),
        1 => Just(DiskFault::Removals),
        1 => Just(DiskFault::Tears),
        1 => Just(DiskFault::Full),
    ];
    prop_oneof![
        8 => prop::collection::vec(read, 1..8).prop_map(Step::Read),
        4 => (entry.clone(), offset, 1..40u32).prop_map(|(entry, at, count)| Step::Stream(entry, at, count)),
        1 => entry.clone().prop_map(Step::Reopen),
        1 => (entry.clone(), 0..8 * MIB).prop_map(|(entry, size)| Step::Publish(entry, size)),
        2 => fault.prop_map(Step::Source),
        2 => disk.prop_map(Step::Disk),
        1 => Just(Step::DropAll),
        1 => entry.prop_map(Step::DropEntry),
        1 => (0..10 * MIB).prop_map(Step::Limit),
        1 => Just(Step::Restart),
    ]
}

struct World {
    cache: Cache,
    files: Arc<super::files::State>,
    source: Arc<TestSource>,
    readers: Vec<Arc<Reader>>,
    fault: Fault,
    limit: u64,
}

fn open(files: TestFiles, limit: u64) -> Cache {
    let mut config = CacheConfig::new("nowhere".into(), limit, [7; 32]);
    config.memory = 6 * MIB;
    Cache::with_files(config, Box::new(files))
}

impl World {
    fn new() -> Self {
        let source =
            TestSource::new((0..ENTRIES).map(|entry| (key(entry, 1), 5 * MIB + u64::from(entry) * 99)));
        let source = source.far(Duration::from_millis(50), Duration::from_millis(20));
        let (files, source) = (TestFiles::new(1 << 40), Arc::new(source));
        let state = files.state();
        let cache = open(files, 6 * MIB);
        let readers = (0..ENTRIES).map(|entry| Arc::new(reader(&cache, &source, entry))).collect();
        Self { cache, files: state, source, readers, fault: Fault::None, limit: 6 * MIB }
    }

    async fn step(&mut self, step: Step) {
        match step {
            Step::Read(reads) => {
                let mut tasks = JoinSet::new();
                for (entry, offset, length, give_up) in reads {
                    let reader = Arc::clone(&self.readers[usize::from(entry)]);
                    let patience = give_up.map_or(Duration::MAX, Duration::from_millis);
                    tasks.spawn(async move { timeout(patience, check(&reader, offset, length)).await });
                }
                while let Some(result) = tasks.join_next().await {
                    if let Ok(Err(error)) = result.unwrap() {
                        assert!(!matches!(self.fault, Fault::None), "without a fault: {error}");
                    }
                }
            }
            Step::Stream(entry, mut offset, count) => {
                for _ in 0..count {
                    let result = check(&self.readers[usize::from(entry)], offset, 128 << 10).await;
                    assert!(
                        result.is_ok() || !matches!(self.fault, Fault::None),
                        "without a fault: {result:?}"
                    );
                    offset += 128 << 10;
                }
            }
            Step::Reopen(entry) => {
                self.readers[usize::from(entry)] = Arc::new(reader(&self.cache, &self.source, entry));
            }
            Step::Publish(entry, size) => {
                let (newest, _) = self.source.newest(entry);
                self.source.publish(key(entry, newest.counter + 1), size);
            }
            Step::Source(fault) => {
                self.fault = fault;
                let mut calls = 0;
                self.source.script(move |_| {
                    calls += 1;
                    match fault {
                        Fault::Offline => Answer::Error(FetchError::Offline),
                        Fault::SometimesChanged if calls % 3 == 0 => Answer::Error(FetchError::Changed),
                        Fault::Breaks(after) => Answer::ErrorAfter(after, FetchError::Unavailable),
                        Fault::Short(length) => Answer::Length(length),
                        Fault::Hangs(after) => Answer::HangAfter(after),
                        Fault::None | Fault::SometimesChanged => Answer::Right,
                    }
                });
                // What was answered before goes on.
                tokio::time::sleep(Duration::from_secs(60)).await;
            }
            Step::Disk(fault) => {
                let kind = std::io::ErrorKind::Other;
                let set =
                    |errors: &std::sync::Mutex<_>, on: bool| *errors.lock().unwrap() = on.then_some(kind);
                set(&self.files.read_errors, matches!(fault, DiskFault::Reads));
                set(&self.files.write_errors, matches!(fault, DiskFault::Writes));
                set(&self.files.remove_errors, matches!(fault, DiskFault::Removals));
                self.files.tear.store(matches!(fault, DiskFault::Tears), Ordering::SeqCst);
                let others = if matches!(fault, DiskFault::Full) { 1 << 40 } else { 0 };
                self.files.others.store(others, Ordering::SeqCst);
            }
            Step::DropAll => self.cache.drop_all().await,
            Step::DropEntry(entry) => self.cache.drop_entry([1; 16], [entry; 16]).await,
            Step::Limit(limit) => {
                self.limit = limit;
                self.cache.set_limit(limit).await.unwrap();
            }
            Step::Restart => {
                self.readers.clear();
                self.cache.close().await;
                self.cache = open(TestFiles::again(&self.files), self.limit);
                self.readers =
                    (0..ENTRIES).map(|entry| Arc::new(reader(&self.cache, &self.source, entry))).collect();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn reads_always_equal_the_source(steps in prop::collection::vec(step(), 1..30)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        runtime.unwrap().block_on(async {
            let mut world = World::new();
            for step in steps {
                world.step(step).await;
            }
            // Whatever happened: without faults everything can be read, and nothing is left on its way.
            world.step(Step::Source(Fault::None)).await;
            world.step(Step::Disk(DiskFault::None)).await;
            for entry in 0..ENTRIES {
                world.step(Step::Reopen(entry)).await;
                let reader = Arc::clone(&world.readers[usize::from(entry)]);
                for offset in (0..=reader.size()).step_by(BLOCK_BYTES as usize) {
                    assert_eq!(check(&reader, offset, BLOCK_BYTES as u32).await, Ok(reader.key()));
                }
            }
            world.readers.clear();
            tokio::time::sleep(Duration::from_secs(60)).await;
            assert_eq!(world.source.open(), 0);
            for entry in 0..ENTRIES {
                assert!(!world.cache.blocks(world.source.newest(entry).0).is_fetching());
            }
            assert_eq!(world.cache.shared.memory().1, 0);
        });
    }
}

/// On several threads and a real disk, while everything is dropped and the limit changes.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_threads_read_right() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = CacheConfig::new(dir.path().into(), 8 * MIB, [7; 32]);
    config.memory = 8 * MIB;
    let cache = Cache::open(config);
    let size = 6 * MIB + 13;
    let source = Arc::new(TestSource::new((0..ENTRIES).map(|entry| (key(entry, 1), size))));
    let readers: Vec<_> = (0..ENTRIES).map(|entry| Arc::new(reader(&cache, &source, entry))).collect();
    let mut tasks = JoinSet::new();
    for task in 0..8u64 {
        let (cache, source, shared) = (cache.clone(), Arc::clone(&source), readers.clone());
        tasks.spawn(async move {
            let mut random = task + 1;
            for _ in 0..80 {
                random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                let entry = (random >> 33) as u8 % ENTRIES;
                let own = (random % 3 == 0).then(|| reader(&cache, &source, entry));
                let reader = own.as_ref().unwrap_or(&shared[usize::from(entry)]);
                for step in 0..(random >> 40) % 8 {
                    let offset = (random >> 20) % size + step * 100_000;
                    check(reader, offset, 100_000).await.unwrap();
                }
            }
        });
    }
    for round in 0..20 {
        cache.set_limit(round % 4 * 3 * MIB).await.unwrap();
        cache.drop_entry([1; 16], [round as u8 % ENTRIES; 16]).await;
        cache.drop_all().await;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    while let Some(result) = tasks.join_next().await {
        result.unwrap();
    }
    cache.set_limit(1 << 20).await.unwrap();
    assert!(cache.stats().used <= 1 << 20);
}
