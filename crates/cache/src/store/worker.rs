//! The half of the store that blocks on the disk.
//!
//! Writes, evictions and drops come one after the other; loads and the listing of a content run beside them. Room
//! is reserved before a slot is written and given back after it was freed, so that the limit holds at all times.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;

use crate::counters::Counters;
use crate::key::{BLOCK_BYTES, BlockId, ContentKey};
use crate::seal::{SEAL_BYTES, Seal};
use crate::store::disk::Files;
use crate::store::index::{Index, Room, Scope};
use crate::store::room::DiskRoom;

/// Most blocks removed for one to be written: room that others use up faster is not worth the whole cache.
const EVICTIONS_AT_ONCE: usize = 64;
/// Blocks removed when a write finds the disk full in spite of the guard.
const EVICTIONS_WHEN_FULL: usize = 4;
/// Trouble with the disk is logged so often.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// Why a block is not kept.
#[derive(Debug, thiserror::Error)]
enum Bypass {
    #[error("the limit has no room for it")]
    Limit,
    #[error("the disk is nearly full")]
    DiskFull,
    #[error("{0}")]
    Io(#[from] io::Error),
}

pub(crate) struct Worker {
    files: Box<dyn Files>,
    seal: Seal,
    index: Mutex<Index>,
    room: Mutex<DiskRoom>,
    counters: Arc<Counters>,
    /// The folder is there, and how files lie in it is known.
    prepared: Mutex<bool>,
    /// What lay on disk at the start is taken in.
    scanned: AtomicBool,
    logged: Mutex<Option<Instant>>,
}

impl Worker {
    pub(crate) fn new(files: Box<dyn Files>, seal: Seal, limit: u64, counters: Arc<Counters>) -> Self {
        Self {
            files,
            seal,
            index: Mutex::new(Index::new(limit)),
            room: Mutex::default(),
            counters,
            prepared: Mutex::default(),
            scanned: AtomicBool::new(false),
            logged: Mutex::new(None),
        }
    }

    pub(crate) fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of the room on the disk.
    pub(crate) fn room(&self) -> DiskRoom {
        *self.disk_room()
    }

    /// Looks at the room on the disk anew.
    pub(crate) fn look_at_room(&self) {
        let space = self.files.space();
        let mut room = self.disk_room();
        match space {
            Ok(space) => room.seen(space),
            Err(_) => room.unknown(),
        }
    }

    fn disk_room(&self) -> MutexGuard<'_, DiskRoom> {
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what lies on disk, and removes what is over the limit. Nothing is written before it succeeds.
    pub(crate) fn scan(&self) {
        match self.try_scan() {
            Ok(()) => self.shrink(),
            Err(error) => {
                self.trouble(&error.into());
                // Readers look no further for what cannot be found.
                self.index().finish_scan();
            }
        }
    }

    fn try_scan(&self) -> io::Result<()> {
        if self.scanned.load(Ordering::Acquire) {
            return Ok(());
        }
        self.prepare()?;
        let contents = self.files.contents()?;
        self.index().begin_scan();
        for (key, segments) in contents {
            self.take_in(&key, segments);
        }
        self.index().finish_scan();
        self.scanned.store(true, Ordering::Release);
        if let Err(error) = self.files.tidy() {
            self.trouble(&error.into());
        }
        Ok(())
    }

    /// Takes in what lies on disk of `key`, a content of `size` bytes, ahead of the scan.
    pub(crate) fn list(&self, key: &ContentKey, size: u64) {
        match self.prepare() {
            Ok(()) => {
                let slots = self.index().geometry().slots;
                let segments = size.div_ceil(BLOCK_BYTES).div_ceil(slots);
                self.take_in(key, 0..segments);
            }
            Err(error) => self.trouble(&error.into()),
        }
    }

    fn take_in(&self, key: &ContentKey, segments: impl IntoIterator<Item = u64>) {
        let mut found = Vec::new();
        for segment in segments {
            // The scan was quicker; of a content that is said to be huge it always is.
            if self.index().is_listed(key) {
                return;
            }
            match self.files.blocks(key, segment) {
                Ok(blocks) => found.extend(blocks),
                Err(error) => self.trouble(&error.into()),
            }
        }
        self.index().adopt(*key, &found);
    }

    /// The block, if its slot holds it and it verifies. A slot that does not is freed.
    pub(crate) fn load(&self, id: &BlockId, length: usize) -> Option<Bytes> {
        let opened = match self.files.read(id, length + SEAL_BYTES) {
            Ok(slot) => self.seal.open(id, length, slot),
            // Of a file that is too short, or gone.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof) => {
                None
            }
            Err(error) => {
                self.counters.bypasses.add(1);
                self.trouble(&error.into());
                None
            }
        };
        if opened.is_none() {
            tracing::debug!(?id, "a cached block is gone or does not verify");
            self.discard(id);
            return None;
        }
        let refresh = self.index().touch(id, now());
        if refresh && let Err(error) = self.files.refresh(id) {
            self.trouble(&error.into());
        }
        opened
    }

    /// Keeps a block, if there is room and the disk takes it; `slot` is a buffer.
    pub(crate) fn write(&self, id: &BlockId, block: &[u8], slot: &mut Vec<u8>) {
        match self.try_write(id, block, slot) {
            Ok(()) => {}
            Err(Bypass::Limit) => self.counters.bypasses.add(1),
            Err(bypass @ (Bypass::DiskFull | Bypass::Io(_))) => {
                self.counters.bypasses.add(1);
                self.trouble(&bypass);
            }
        }
    }

    pub(crate) fn forget(&self, scope: Scope) {
        let segments = self.index().within(scope);
        segments.iter().for_each(|id| self.remove_segment(id));
    }

    /// Makes the folder, unless that is done.
    fn prepare(&self) -> io::Result<()> {
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        if !*prepared {
            let geometry = self.files.prepare()?;
            self.index().set_geometry(geometry);
            *prepared = true;
        }
        Ok(())
    }

    /// Removes what is over the limit.
    pub(crate) fn shrink(&self) {
        loop {
            let Some(victim) = self.index().over_limit() else { return };
            if let Err(bypass) = self.evict(&victim) {
                return self.trouble(&bypass);
            }
        }
    }

    fn try_write(&self, id: &BlockId, block: &[u8], slot: &mut Vec<u8>) -> Result<(), Bypass> {
        self.try_scan()?;
        let length = u32::try_from(block.len()).map_err(io::Error::other)?;
        let charge = loop {
            let room = self.index().room(id, length.into());
            match room {
                Room::Present => return Ok(()),
                Room::Never => return Err(Bypass::Limit),
                Room::Evict(victim) => self.evict(&victim)?,
                Room::Reserved(charge) => break charge,
            }
        };
        let written = self.keep_free(charge).and_then(|()| {
            self.seal.seal(id, block, slot)?;
            self.write_slot(id, slot)
        });
        if let Err(bypass) = written {
            // What cannot be removed stays counted.
            let alone = self.index().is_alone(id);
            if self.files.remove(id, alone).is_ok() {
                self.index().cancel(id, length);
            }
            return Err(bypass);
        }
        self.index().commit(id, length, now());
        let superseded = self.index().superseded_by(&id.key);
        superseded.iter().for_each(|id| self.remove_segment(id));
        Ok(())
    }

    fn write_slot(&self, id: &BlockId, slot: &[u8]) -> Result<(), Bypass> {
        let Err(error) = self.files.write(id, slot) else { return Ok(()) };
        if !matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
            return Err(error.into());
        }
        self.disk_room().full();
        let alone = self.index().is_alone(id);
        self.files.remove(id, alone)?;
        for _ in 0..EVICTIONS_WHEN_FULL {
            let victim = self.index().oldest().ok_or(Bypass::DiskFull)?;
            self.evict(&victim)?;
        }
        self.files.write(id, slot)?;
        Ok(())
    }

    /// Makes sure that `needed` bytes can be written and enough is left.
    fn keep_free(&self, needed: u64) -> Result<(), Bypass> {
        for _ in 0..EVICTIONS_AT_ONCE {
            let space = self.files.space()?;
            if self.disk_room().allows(space, needed) {
                return Ok(());
            }
            let victim = self.index().oldest().ok_or(Bypass::DiskFull)?;
            self.evict(&victim)?;
        }
        Err(Bypass::DiskFull)
    }

    fn evict(&self, id: &BlockId) -> Result<(), Bypass> {
        let Some(taken) = self.index().take(id) else { return Ok(()) };
        match self.files.remove(id, taken.last) {
            Ok(()) => {
                self.index().removed(&taken);
                self.counters.evictions.add(1);
                Ok(())
            }
            Err(error) => {
                self.index().restore(&taken);
                Err(error.into())
            }
        }
    }

    /// Removes all blocks of the segment in which `id` lies.
    fn remove_segment(&self, id: &BlockId) {
        let taken = self.index().take_segment(id);
        if taken.whole {
            let removed = self.files.remove(id, true);
            let mut index = self.index();
            match &removed {
                Ok(()) => taken.blocks.iter().for_each(|block| index.removed(block)),
                Err(_) => taken.blocks.iter().for_each(|block| index.restore(block)),
            }
            drop(index);
            return removed.unwrap_or_else(|error| self.trouble(&error.into()));
        }
        for block in taken.blocks {
            match self.files.remove(&block.id, false) {
                Ok(()) => self.index().removed(&block),
                Err(error) => {
                    self.index().restore(&block);
                    self.trouble(&error.into());
                }
            }
        }
    }

    /// As `evict`, but the block is not served again even if its slot stays.
    fn discard(&self, id: &BlockId) {
        let Some(taken) = self.index().take(id) else { return };
        match self.files.remove(id, taken.last) {
            Ok(()) => self.index().removed(&taken),
            Err(error) => self.trouble(&error.into()),
        }
    }

    fn trouble(&self, bypass: &Bypass) {
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        if is_due(&mut logged, Instant::now()) {
            tracing::warn!(error = %bypass, "the cache's disk gives trouble: reading past it");
        }
    }
}

/// Whether it may be logged again, which then counts as done.
fn is_due(logged: &mut Option<Instant>, now: Instant) -> bool {
    let due = logged.is_none_or(|last| now.duration_since(last) >= LOG_INTERVAL);
    if due {
        *logged = Some(now);
    }
    due
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_is_logged_once_a_minute() {
        let start = Instant::now();
        let mut logged = None;
        let lines = (0..300).filter(|second| is_due(&mut logged, start + Duration::from_secs(*second)));
        assert_eq!(lines.collect::<Vec<_>>(), [0, 60, 120, 180, 240]);
    }
}
