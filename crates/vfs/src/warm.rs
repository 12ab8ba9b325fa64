//! When the other small files of a folder are fetched before they are asked for, and which of them next. No I/O and no
//! clock of its own.
//!
//! Whoever has read three small files of a folder whole is taken to read the others too, one after the other, each of
//! which would cost a round trip. So they are fetched many at a time, in the order in which a copying program reads
//! them, for as long as somebody goes on reading.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use farhold_catalog::EntryId;
use tokio::time::Instant;

use crate::peer::{SMALL_FILE_BYTES, SMALL_FILES, SmallFile};

/// Small files of a folder that are read whole before the others are fetched.
pub(crate) const READ_WHOLE: usize = 3;
/// A folder of which no small file was read whole in this time is left alone.
pub(crate) const IDLE: Duration = Duration::from_secs(5);
/// Folders remembered; the one that was left alone longest makes room.
const FOLDERS: usize = 32;

/// Bytes of one request.
const BATCH_BYTES: u64 = 1 << 20;
/// Files and bytes that may have been fetched and not been read: programs may read in another order.
const LEAD_FILES: u64 = 16_384;
const LEAD_BYTES: u64 = 64 << 20;
/// Requests under way at once, and their bytes: together they fill a long link also where files are tiny.
const BATCHES: usize = 32;
const COMING_BYTES: u64 = 16 << 20;

/// What was read whole in a folder lately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    pub(crate) last: Instant,
}

#[derive(Debug)]
struct Habit {
    /// The first different files.
    first: Vec<EntryId>,
    warmed: bool,
    standing: Standing,
}

/// Who reads small files, by folder.
#[derive(Debug, Default)]
pub(crate) struct Habits(HashMap<EntryId, Habit>);

impl Habits {
    /// A small file of `folder` was read whole. True if from now on the others are to be fetched.
    pub(crate) fn read_whole(&mut self, folder: EntryId, file: EntryId, size: u64, now: Instant) -> bool {
        self.0.retain(|_, habit| now.duration_since(habit.standing.last) < IDLE);
        if !self.0.contains_key(&folder) && self.0.len() >= FOLDERS {
            let longest = self.0.iter().min_by_key(|(_, habit)| habit.standing.last).map(|(id, _)| *id);
            longest.and_then(|id| self.0.remove(&id));
        }
        let habit = self.0.entry(folder).or_insert_with(|| Habit {
            first: Vec::with_capacity(READ_WHOLE),
            warmed: false,
            standing: Standing { files: 0, bytes: 0, last: now },
        });
        let Standing { files, bytes, .. } = habit.standing;
        habit.standing = Standing { files: files + 1, bytes: bytes + size, last: now };
        if !habit.warmed && !habit.first.contains(&file) {
            habit.first.push(file);
            habit.warmed = habit.first.len() >= READ_WHOLE;
            return habit.warmed;
        }
        false
    }

    /// How it stands with a folder; `None` once it is left alone.
    pub(crate) fn standing(&self, folder: EntryId, now: Instant) -> Option<Standing> {
        let standing = self.0.get(&folder)?.standing;
        (now.duration_since(standing.last) < IDLE).then_some(standing)
    }

    /// What fetching the others brought was an error: they are fetched only after three more.
    pub(crate) fn forget(&mut self, folder: EntryId) {
        self.0.remove(&folder);
    }
}

/// The files of a folder that are still to be fetched.
#[derive(Debug)]
pub(crate) struct Plan {
    waiting: VecDeque<SmallFile>,
    /// Files and bytes taken by now, in all.
    files: u64,
    bytes: u64,
    /// How it stood at the beginning.
    began: Standing,
    coming: usize,
    coming_bytes: u64,
}

impl Plan {
    /// Fetches `files`, in that order.
    pub(crate) fn new(files: impl IntoIterator<Item = SmallFile>, began: Standing) -> Self {
        let small = |file: &SmallFile| (1..=SMALL_FILE_BYTES).contains(&file.size);
        let waiting = files.into_iter().filter(small).collect();
        Self { waiting, files: 0, bytes: 0, began, coming: 0, coming_bytes: 0 }
    }

    /// The files of the next request, without those that are there already; `None` if there is none now.
    pub(crate) fn next(
        &mut self,
        standing: Standing,
        is_here: impl Fn(&SmallFile) -> bool,
    ) -> Option<Vec<SmallFile>> {
        if self.coming >= BATCHES || self.coming_bytes >= COMING_BYTES {
            return None;
        }
        let Standing { files, bytes, .. } = self.began;
        let read = (standing.files.saturating_sub(files), standing.bytes.saturating_sub(bytes));
        let mut batch = Vec::new();
        let mut bytes = 0;
        while let Some(file) = self.waiting.front()
            && batch.len() < SMALL_FILES
            && bytes + file.size <= BATCH_BYTES
            && self.files < read.0 + LEAD_FILES
            && self.bytes + file.size <= read.1 + LEAD_BYTES
        {
            if !is_here(file) {
                bytes += file.size;
                self.files += 1;
                self.bytes += file.size;
                batch.push(*file);
            }
            self.waiting.pop_front();
        }
        if batch.is_empty() {
            return None;
        }
        self.coming += 1;
        self.coming_bytes += bytes;
        Some(batch)
    }

    /// A request has ended.
    pub(crate) fn came(&mut self, batch: &[SmallFile]) {
        self.coming -= 1;
        self.coming_bytes -= batch.iter().map(|file| file.size).sum::<u64>();
    }

    /// Whether all is fetched.
    pub(crate) fn is_done(&self) -> bool {
        self.waiting.is_empty() && self.coming == 0
    }
}

#[cfg(test)]
mod tests {
    use farhold_catalog::Version;
    use proptest::prelude::*;

    use super::*;

    const FOLDER: EntryId = EntryId([1; 16]);
    const VERSION: Version = Version { epoch: 1, counter: 1 };

    fn id(number: usize) -> EntryId {
        let mut id = [0; 16];
        id[..8].copy_from_slice(&number.to_be_bytes());
        EntryId(id)
    }

    fn files(sizes: impl IntoIterator<Item = u64>) -> Vec<SmallFile> {
        let numbered = sizes.into_iter().enumerate();
        numbered.map(|(number, size)| SmallFile { entry: id(number), version: VERSION, size }).collect()
    }

    fn read(files: u64, bytes: u64) -> Standing {
        Standing { files, bytes, last: Instant::now() }
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn three_different_files_make_a_habit_once() {
        let (mut habits, now) = (Habits::default(), Instant::now());
        let mut reads = |file| habits.read_whole(FOLDER, id(file), 10, now);
        let begun: Vec<bool> = [1, 1, 2, 1, 3, 4, 5, 6].map(&mut reads).to_vec();
        assert_eq!(begun, [false, false, false, false, true, false, false, false]);
        assert_eq!(habits.standing(FOLDER, now), Some(Standing { files: 8, bytes: 80, last: now }));
    }

    #[test]
    fn a_folder_left_alone_is_forgotten() {
        let (mut habits, now) = (Habits::default(), Instant::now());
        assert!(!habits.read_whole(FOLDER, id(1), 10, now));
        assert!(!habits.read_whole(FOLDER, id(2), 10, now + seconds(4)));
        assert_eq!(habits.standing(FOLDER, now + seconds(9)), None);
        assert!(!habits.read_whole(FOLDER, id(3), 10, now + seconds(9)));
        assert!(!habits.read_whole(FOLDER, id(4), 10, now + seconds(13)));
        assert!(habits.read_whole(FOLDER, id(5), 10, now + seconds(17)));
        habits.forget(FOLDER);
        assert!(!habits.read_whole(FOLDER, id(6), 10, now + seconds(17)));
    }

    #[test]
    fn folders_do_not_mix_and_are_few() {
        let (mut habits, now) = (Habits::default(), Instant::now());
        for number in 0..1000 {
            let at = now + Duration::from_millis(number as u64);
            assert!(!habits.read_whole(id(number), id(number), 1, at));
            assert!(habits.0.len() <= FOLDERS);
        }
        let at = now + seconds(1);
        assert!(!habits.read_whole(id(999), id(1), 1, at));
        assert!(habits.read_whole(id(999), id(2), 1, at));
    }

    #[test]
    fn what_is_here_large_or_empty_is_left_out() {
        let files = files([1, SMALL_FILE_BYTES, SMALL_FILE_BYTES + 1, 0, 5]);
        let mut plan = Plan::new(files.clone(), read(3, 30));
        let batch = plan.next(read(3, 30), |file| file.size == 1).unwrap();
        assert_eq!(batch, [files[1], files[4]]);
        assert!(plan.next(read(3, 30), |_| false).is_none() && !plan.is_done());
        plan.came(&batch);
        assert!(plan.is_done());
    }

    #[test]
    fn no_more_is_fetched_ahead_than_may_be() {
        let mut plan = Plan::new(files((0..40_000).map(|_| 10)), read(3, 30));
        let mut all = |standing| {
            let mut fetched = 0;
            while let Some(batch) = plan.next(standing, |_| false) {
                fetched += batch.len() as u64;
                plan.came(&batch);
            }
            fetched
        };
        assert_eq!(all(read(3, 30)), LEAD_FILES);
        assert_eq!(all(read(103, 1030)), 100);
    }

    proptest! {
        /// Whatever is read meanwhile, each file is fetched once, in order, in fit requests.
        #[test]
        fn each_file_is_fetched_once(
            sizes in prop::collection::vec(1u64..=SMALL_FILE_BYTES, 0..2000),
            ends in prop::collection::vec(any::<bool>(), 0..100),
        ) {
            let files = files(sizes);
            let mut plan = Plan::new(files.clone(), read(3, 30));
            let (mut fetched, mut coming) = (Vec::new(), VecDeque::new());
            let mut ends = ends.into_iter();
            while !plan.is_done() {
                let standing = read(3 + fetched.len() as u64, 30 + fetched.iter().map(|file: &SmallFile| file.size).sum::<u64>());
                let next = plan.next(standing, |_| false);
                let none = next.is_none();
                if let Some(batch) = next {
                    prop_assert!(batch.len() <= SMALL_FILES);
                    prop_assert!(batch.iter().map(|file| file.size).sum::<u64>() <= BATCH_BYTES);
                    fetched.extend_from_slice(&batch);
                    coming.push_back(batch);
                }
                prop_assert!(coming.len() <= BATCHES);
                if none || ends.next().unwrap_or(false) {
                    let Some(batch) = coming.pop_front() else { break };
                    plan.came(&batch);
                }
            }
            prop_assert_eq!(fetched, files);
        }
    }
}
