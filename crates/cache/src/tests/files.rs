//! Disks that fail as told, and one that is measured.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crate::key::{BlockId, ContentKey};
use crate::store::{Files, Found, Geometry, Space};

/// Segments in memory on a file system with 4 KiB of allocation and a given size.
pub(crate) struct TestFiles {
    state: Arc<State>,
}

pub(crate) struct State {
    files: Mutex<HashMap<BlockId, (Vec<u8>, u64)>>,
    pub(crate) total: AtomicU64,
    /// Bytes that others use.
    pub(crate) others: AtomicU64,
    /// The most that the files ever took up.
    most: AtomicU64,
    /// The least that ever was free after a write.
    least_free: AtomicU64,
    pub(crate) read_errors: Mutex<Option<io::ErrorKind>>,
    pub(crate) write_errors: Mutex<Option<io::ErrorKind>>,
    pub(crate) remove_errors: Mutex<Option<io::ErrorKind>>,
    /// Every write fails half-way.
    pub(crate) tear: AtomicBool,
    hangs: Gate,
    search: Gate,
}

/// Holds calls while it is shut.
#[derive(Default)]
struct Gate {
    shut: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn set(&self, shut: bool) {
        *self.shut.lock().unwrap_or_else(PoisonError::into_inner) = shut;
        self.opened.notify_all();
    }

    fn pass(&self) {
        let shut = self.shut.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.opened.wait_while(shut, |shut| *shut).unwrap_or_else(PoisonError::into_inner));
    }
}

const UNIT: u64 = 4096;
/// Few, so that segments become empty often.
pub(crate) const SLOTS: u64 = 2;

fn fail(kind: &Mutex<Option<io::ErrorKind>>) -> io::Result<()> {
    kind.lock().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), |kind| Err(kind.into()))
}

impl State {
    pub(crate) fn used(&self) -> u64 {
        used(&self.files.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn most(&self) -> u64 {
        self.most.load(Ordering::SeqCst)
    }

    pub(crate) fn least_free(&self) -> u64 {
        self.least_free.load(Ordering::SeqCst)
    }

    pub(crate) fn files(&self) -> Vec<BlockId> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).keys().copied().collect()
    }

    pub(crate) fn set_modified(&self, id: &BlockId, seconds: u64) {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).get_mut(id).unwrap().1 = seconds;
    }

    pub(crate) fn modified(&self, id: &BlockId) -> u64 {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)[id].1
    }

    /// Changes a file behind the cache's back.
    pub(crate) fn damage(&self, id: &BlockId, damage: impl FnOnce(&mut Vec<u8>)) {
        damage(&mut self.files.lock().unwrap_or_else(PoisonError::into_inner).get_mut(id).unwrap().0);
    }

    /// From now on, calls wait until `resume`.
    pub(crate) fn hang(&self) {
        self.hangs.set(true);
    }

    pub(crate) fn resume(&self) {
        self.hangs.set(false);
    }

    /// From now on, the search for contents waits until `resume_search`.
    pub(crate) fn hang_search(&self) {
        self.search.set(true);
    }

    pub(crate) fn resume_search(&self) {
        self.search.set(false);
    }
}

fn used(files: &HashMap<BlockId, (Vec<u8>, u64)>) -> u64 {
    files.values().map(|(file, _)| (file.len() as u64).next_multiple_of(UNIT)).sum()
}

impl TestFiles {
    pub(crate) fn new(total: u64) -> Self {
        let state = State {
            files: Mutex::default(),
            total: total.into(),
            others: 0.into(),
            most: 0.into(),
            least_free: u64::MAX.into(),
            read_errors: Mutex::default(),
            write_errors: Mutex::default(),
            remove_errors: Mutex::default(),
            tear: false.into(),
            hangs: Gate::default(),
            search: Gate::default(),
        };
        Self { state: Arc::new(state) }
    }

    /// The same files, for another cache after this one.
    pub(crate) fn again(state: &Arc<State>) -> Self {
        Self { state: Arc::clone(state) }
    }

    pub(crate) fn state(&self) -> Arc<State> {
        Arc::clone(&self.state)
    }
}

impl Files for TestFiles {
    fn prepare(&self) -> io::Result<Geometry> {
        fail(&self.state.write_errors)?;
        Ok(Geometry { unit: UNIT, slots: SLOTS })
    }

    fn tidy(&self) -> io::Result<()> {
        Ok(())
    }

    fn read(&self, id: &BlockId, length: usize) -> io::Result<Vec<u8>> {
        self.state.hangs.pass();
        fail(&self.state.read_errors)?;
        let files = self.state.files.lock().unwrap_or_else(PoisonError::into_inner);
        let (file, _) = files.get(id).ok_or(io::ErrorKind::NotFound)?;
        Ok(file.get(..length).ok_or(io::ErrorKind::UnexpectedEof)?.to_vec())
    }

    fn write(&self, id: &BlockId, file: &[u8]) -> io::Result<()> {
        self.state.hangs.pass();
        let mut files = self.state.files.lock().unwrap_or_else(PoisonError::into_inner);
        if self.state.tear.load(Ordering::SeqCst) {
            files.insert(*id, (file[..file.len() / 2].to_vec(), 0));
            return Err(io::ErrorKind::Other.into());
        }
        fail(&self.state.write_errors)?;
        files.insert(*id, (file.to_vec(), 1 << 30));
        let used = used(&files);
        self.state.most.fetch_max(used, Ordering::SeqCst);
        let total = self.state.total.load(Ordering::SeqCst);
        let Some(free) = total.checked_sub(used + self.state.others.load(Ordering::SeqCst)) else {
            files.remove(id);
            return Err(io::ErrorKind::StorageFull.into());
        };
        self.state.least_free.fetch_min(free, Ordering::SeqCst);
        Ok(())
    }

    fn remove(&self, id: &BlockId, segment: bool) -> io::Result<()> {
        self.state.hangs.pass();
        fail(&self.state.remove_errors)?;
        let mut files = self.state.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.remove(id);
        if segment {
            files.retain(|other, _| other.key != id.key || other.index / SLOTS != id.index / SLOTS);
        }
        Ok(())
    }

    fn refresh(&self, id: &BlockId) -> io::Result<()> {
        let mut files = self.state.files.lock().unwrap_or_else(PoisonError::into_inner);
        for (other, (_, modified)) in files.iter_mut() {
            if other.key == id.key && other.index / SLOTS == id.index / SLOTS {
                *modified = 1 << 31;
            }
        }
        Ok(())
    }

    fn contents(&self) -> io::Result<BTreeMap<ContentKey, Vec<u64>>> {
        self.state.hangs.pass();
        self.state.search.pass();
        fail(&self.state.read_errors)?;
        let mut contents: BTreeMap<ContentKey, Vec<u64>> = BTreeMap::new();
        for id in self.state.files() {
            let segments = contents.entry(id.key).or_default();
            if !segments.contains(&(id.index / SLOTS)) {
                segments.push(id.index / SLOTS);
            }
        }
        Ok(contents)
    }

    fn blocks(&self, key: &ContentKey, segment: u64) -> io::Result<Vec<Found>> {
        self.state.hangs.pass();
        let files = self.state.files.lock().unwrap_or_else(PoisonError::into_inner);
        let files = files.iter().filter(|(id, _)| id.key == *key && id.index / SLOTS == segment);
        Ok(files
            .filter_map(|(id, (file, modified))| {
                let length = file.len().checked_sub(32)?.try_into().ok()?;
                Some(Found { index: id.index, length, modified: *modified })
            })
            .collect())
    }

    fn space(&self) -> io::Result<Space> {
        let total = self.state.total.load(Ordering::SeqCst);
        let used = self.state.used() + self.state.others.load(Ordering::SeqCst);
        Ok(Space { total, free: total.saturating_sub(used) })
    }
}
