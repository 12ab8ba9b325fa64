//! Content of files, for contacts: never bytes of another version than the one named.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use farhold_wire::{ContactId, EntryId, Name, ReadFailure, ReadHead, ReadPart, ReadRequest, limits};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::change::Found;
use super::core::Core;
use super::disk::{Cause, Kind, Root, Seen, cause, is_young_on, stat_handle};
use super::schema::{GrantRow, Row, Share, place};
use super::serve::{failure, visible};
use crate::CatalogError;

/// Reads of the disk at once.
const AT_ONCE: usize = 128;
/// Reads of one share at once, so that a disk that does not answer takes a part of them only. As many looks of my own
/// side, beside them.
const AT_ONCE_OF_SHARE: usize = 16;
/// How often a read starts over because the file changed before anything was answered.
const ATTEMPTS: usize = 4;
/// How long a read waits for the scan that has to find out what became of its file.
const SCAN: Duration = Duration::from_secs(5);
/// Files kept open between reads.
const FILES: usize = 64;
/// How long. Short, since an open file holds up an unmount.
const IDLE: Duration = Duration::from_secs(3);

/// Files kept open for the reads that follow, and the bounds of reading.
#[derive(Debug)]
pub(crate) struct OpenFiles {
    files: Mutex<HashMap<EntryId, Opened>>,
    opened: Notify,
    at_once: Arc<Semaphore>,
    shares: Mutex<HashMap<i64, Turns>>,
    contacts: Mutex<HashMap<ContactId, Arc<Semaphore>>>,
}

/// Who may use a share's disk now.
#[derive(Debug, Clone)]
struct Turns {
    contacts: Arc<Semaphore>,
    own: Arc<Semaphore>,
}

impl Turns {
    fn new() -> Self {
        let turns = || Arc::new(Semaphore::new(AT_ONCE_OF_SHARE));
        Self { contacts: turns(), own: turns() }
    }
}

#[derive(Debug, Clone)]
struct Opened {
    file: Arc<File>,
    /// Of its file system.
    granularity: Duration,
    used: Instant,
}

impl OpenFiles {
    pub(crate) fn new() -> Self {
        Self {
            files: Mutex::default(),
            opened: Notify::new(),
            at_once: Arc::new(Semaphore::new(AT_ONCE)),
            shares: Mutex::default(),
            contacts: Mutex::default(),
        }
    }

    /// Closes files that were not read for a while, for ever.
    pub(crate) async fn sweep(&self) {
        loop {
            self.opened.notified().await;
            while !lock(&self.files).is_empty() {
                tokio::time::sleep(IDLE / 2).await;
                let now = Instant::now();
                lock(&self.files).retain(|_, opened| now.saturating_duration_since(opened.used) < IDLE);
            }
        }
    }

    fn take(&self, id: EntryId) -> Option<Opened> {
        let mut files = lock(&self.files);
        let opened = files.get_mut(&id)?;
        opened.used = Instant::now();
        Some(opened.clone())
    }

    fn keep(&self, id: EntryId, opened: Opened) {
        let mut files = lock(&self.files);
        if files.len() >= FILES
            && let Some(oldest) = files.iter().min_by_key(|(_, opened)| opened.used).map(|(id, _)| *id)
        {
            files.remove(&oldest);
        }
        files.insert(id, opened);
        drop(files);
        self.opened.notify_one();
    }

    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        lock(&self.files).len()
    }

    fn drop(&self, id: EntryId) {
        lock(&self.files).remove(&id);
    }

    fn turns(&self, share: i64) -> Turns {
        lock(&self.shares).entry(share).or_insert_with(Turns::new).clone()
    }

    /// Waits for the turn of a look of my own side at the disk. Contacts who read do not hold it up.
    pub(crate) async fn own_turn(&self, share: i64) -> Result<OwnedSemaphorePermit, CatalogError> {
        self.turns(share).own.acquire_owned().await.map_err(|_| CatalogError::Closed)
    }

    /// Waits for the turn of a contact's read of the disk.
    async fn turn(&self, share: i64) -> Result<[OwnedSemaphorePermit; 2], ReadFailure> {
        let of_share = self.turns(share).contacts.acquire_owned().await.map_err(|_| ReadFailure::Internal)?;
        let of_all = self.at_once.clone().acquire_owned().await.map_err(|_| ReadFailure::Internal)?;
        Ok([of_share, of_all])
    }

    /// Forgets a share that ended.
    pub(crate) fn forget(&self, share: i64) {
        lock(&self.shares).remove(&share);
    }

    fn slot(&self, contact: ContactId) -> Result<OwnedSemaphorePermit, ReadFailure> {
        let slots = lock(&self.contacts)
            .entry(contact)
            .or_insert_with(|| Arc::new(Semaphore::new(limits::READS_AT_ONCE)))
            .clone();
        slots.try_acquire_owned().map_err(|_| ReadFailure::Busy)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers a read: a head, then the bytes.
pub(crate) fn read(
    core: Arc<Core>,
    contact: ContactId,
    request: ReadRequest,
) -> BoxStream<'static, Result<ReadPart, ReadFailure>> {
    let reading = Reading { core, contact, request, slot: None, stage: Stage::Begin };
    stream::unfold(Some(reading), |reading| async move {
        let mut reading = reading?;
        match reading.next().await {
            Ok(Some(part)) => Some((Ok(part), Some(reading))),
            Ok(None) => None,
            Err(failure) => Some((Err(failure), None)),
        }
    })
    .boxed()
}

struct Reading {
    core: Arc<Core>,
    contact: ContactId,
    request: ReadRequest,
    slot: Option<OwnedSemaphorePermit>,
    stage: Stage,
}

enum Stage {
    Begin,
    /// The first bytes were read before the head was sent, so that it names their version.
    First(Bytes, Rest),
    Rest(Rest),
}

/// What is still to be sent.
struct Rest {
    file: Arc<File>,
    share: i64,
    row: i64,
    seen: Seen,
    offset: u64,
    length: u32,
    granularity: Duration,
}

/// An entry that is to be read, and where it is.
struct Wanted {
    row: Row,
    share: Share,
    grant: GrantRow,
    names: Vec<Name>,
}

/// What came of the attempt to begin.
enum Begun {
    Ready(Box<(ReadHead, Bytes, Rest)>),
    /// The place holds another object than recorded: a scan of this folder has to tell what became of the entry.
    Scan(i64),
    /// The file changed while its first bytes were read.
    Again,
}

impl Reading {
    async fn next(&mut self) -> Result<Option<ReadPart>, ReadFailure> {
        match std::mem::replace(&mut self.stage, Stage::Begin) {
            Stage::Begin => {
                self.slot = Some(self.core.files.slot(self.contact)?);
                let (head, first, rest) = self.begin().await?;
                self.stage = Stage::First(first, rest);
                Ok(Some(ReadPart::Head(head)))
            }
            Stage::First(first, rest) => {
                self.stage = Stage::Rest(rest);
                Ok((!first.is_empty()).then_some(ReadPart::Data(first)))
            }
            Stage::Rest(rest) if rest.length == 0 => Ok(None),
            Stage::Rest(rest) => {
                let core = self.core.clone();
                let (data, rest) = self.blocking(rest.share, move || rest.next(&core)).await??;
                self.stage = Stage::Rest(rest);
                Ok(Some(ReadPart::Data(data)))
            }
        }
    }

    async fn begin(&self) -> Result<(ReadHead, Bytes, Rest), ReadFailure> {
        for _ in 0..ATTEMPTS {
            let wanted = self.wanted().await?;
            let share = wanted.share.share;
            let (core, request) = (self.core.clone(), self.request);
            match self.blocking(share, move || begin(&core, wanted, request)).await?? {
                Begun::Ready(ready) => return Ok(*ready),
                Begun::Again => {}
                Begun::Scan(folder) => {
                    let signal = self.core.signal(share).ok_or(ReadFailure::NotFound)?;
                    // If it takes longer, the attempt that follows finds the same and asks again.
                    let _ = tokio::time::timeout(SCAN, signal.scan_now(folder)).await;
                }
            }
        }
        Err(ReadFailure::Changed)
    }

    async fn wanted(&self) -> Result<Wanted, ReadFailure> {
        let (contact, id) = (self.contact, self.request.entry);
        let found = self.core.store.read(move |connection| {
            let Some((row, share, grant)) = visible(connection, contact, id)? else { return Ok(None) };
            let names = place(connection, row.row)?.unwrap_or_default();
            Ok(Some(Wanted { row, share, grant, names }))
        });
        let wanted = found.await.map_err(failure)?.ok_or(ReadFailure::NotFound)?;
        if wanted.row.seen.kind != Kind::File {
            return Err(ReadFailure::NotFound);
        }
        if !wanted.share.available {
            return Err(ReadFailure::Unavailable);
        }
        Ok(wanted)
    }

    async fn blocking<R: Send + 'static>(
        &self,
        share: i64,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, ReadFailure> {
        let turn = self.core.files.turn(share).await?;
        let work = self.core.tasks.spawn_blocking(move || {
            let _turn = turn;
            work()
        });
        work.await.map_err(|_| ReadFailure::Internal)
    }
}

fn begin(core: &Core, wanted: Wanted, request: ReadRequest) -> Result<Begun, ReadFailure> {
    let Wanted { mut row, share, grant, names } = wanted;
    let scan = Begun::Scan(row.parent.unwrap_or(row.row));

    // A file that is open already serves only while nothing of it changed: otherwise its place tells what it is now.
    let kept = core.files.take(row.id).filter(|opened| looks_like(&opened.file, &row.seen));
    let opened = match kept {
        Some(opened) => opened,
        None => match open(&share, &row, &names) {
            Ok(opened) => {
                core.files.keep(row.id, opened.clone());
                opened
            }
            Err(OpenError::Root) => return Err(ReadFailure::Unavailable),
            Err(OpenError::Place(error)) => {
                core.files.drop(row.id);
                return match cause(&error) {
                    Cause::Gone => Ok(scan),
                    Cause::Denied => Err(ReadFailure::Denied),
                    Cause::Failed => Err(ReadFailure::Internal),
                };
            }
        },
    };
    let now = SystemTime::now();
    let meta = stat_handle(&*opened.file).map_err(|_| ReadFailure::Internal)?;
    let Some(seen) = meta.seen(None).filter(|_| meta.is(&row.seen)) else { return Ok(scan) };
    let young = is_young_on(&meta, now, opened.granularity);
    if seen != row.seen || (row.provisional && !young) {
        match note(core, row.row, seen.clone(), young).map_err(failure)? {
            Some(noted) => row = noted,
            None => return Ok(scan),
        }
    }

    let length = u64::from(request.length).min(seen.size.saturating_sub(request.offset));
    let length = u32::try_from(length).unwrap_or(request.length);
    let head = ReadHead { entry: row.entry(core.epoch, &share, Some(&grant)), length };
    let rest = Rest {
        file: opened.file,
        share: share.share,
        row: row.row,
        seen,
        offset: request.offset,
        length,
        granularity: opened.granularity,
    };
    match rest.next(core) {
        Ok((first, rest)) => Ok(Begun::Ready(Box::new((head, first, rest)))),
        Err(ReadFailure::Changed) => Ok(Begun::Again),
        Err(failure) => Err(failure),
    }
}

/// Records what a look at an open file found. `None` if its entry has another object by now.
fn note(core: &Core, row: i64, seen: Seen, young: bool) -> Result<Option<Row>, CatalogError> {
    core.change_blocking(move |change| {
        let Some(old) = Row::at(change.connection, row)? else { return Ok(None) };
        if super::scan::identity(&old.seen) != super::scan::identity(&seen) {
            return Ok(None);
        }
        let found = Found { parent: old.parent, name: old.name.clone(), seen, young };
        change.update(&old, &found, false)?;
        Row::at(change.connection, row)
    })
}

impl Rest {
    /// Reads the next piece, and makes sure afterwards that it is of the version that was named.
    fn next(mut self, core: &Core) -> Result<(Bytes, Self), ReadFailure> {
        let wanted = (self.length as usize).min(limits::PART_BYTES);
        let data = read_exactly(&self.file, self.offset, wanted).map_err(|error| match cause(&error) {
            Cause::Denied => ReadFailure::Denied,
            Cause::Gone | Cause::Failed => ReadFailure::Internal,
        })?;
        let now = SystemTime::now();
        let meta = stat_handle(&*self.file).map_err(|_| ReadFailure::Internal)?;
        let seen = meta.seen(None);
        if data.len() != wanted || seen.as_ref() != Some(&self.seen) {
            if let Some(seen) = seen {
                let young = is_young_on(&meta, now, self.granularity);
                note(core, self.row, seen, young).map_err(failure)?;
            }
            return Err(ReadFailure::Changed);
        }
        self.offset += wanted as u64;
        self.length -= u32::try_from(wanted).unwrap_or(self.length);
        Ok((data, self))
    }
}

/// Reads until `length` bytes are there or the file ends.
fn read_exactly(file: &File, mut offset: u64, length: usize) -> io::Result<Bytes> {
    let mut data = Vec::with_capacity(length);
    while data.len() < length {
        match rustix::io::pread(file, rustix::buffer::spare_capacity(&mut data), offset) {
            Ok(0) => break,
            Ok(read) => offset += read as u64,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    data.truncate(length);
    Ok(data.into())
}

fn looks_like(file: &File, seen: &Seen) -> bool {
    stat_handle(file).is_ok_and(|meta| meta.links > 0 && meta.seen(None).as_ref() == Some(seen))
}

enum OpenError {
    Root,
    Place(io::Error),
}

fn open(share: &Share, row: &Row, names: &[Name]) -> Result<Opened, OpenError> {
    let root = open_root(share).ok_or(OpenError::Root)?;
    let file = root.open_file(names, |meta| meta.is(&row.seen)).map_err(OpenError::Place)?;
    Ok(Opened { file: Arc::new(file), granularity: root.granularity, used: Instant::now() })
}

/// The root of a share, if it still is where the share was last found.
pub(crate) fn open_root(share: &Share) -> Option<Root> {
    Root::open(&share.path, share.folder).ok().filter(|root| root.follows(&share.origin))
}
