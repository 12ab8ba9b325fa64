//! Moves the bytes of one transfer: small files in batches, large ones by groups, many of them asked for ahead so
//! that what the governor admits is always there to be asked. Whatever is written is verified by the home's hashes
//! before it gets its name.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use farhold_net::{Peer, PeerError, Priority};
use farhold_wire::limits::{DIGEST_ITEMS, GROUP_BYTES};
use farhold_wire::{DigestItem, Entry, GroupHash, Name, ReadFailure, ReadRequest};
use futures_util::stream;
use futures_util::{FutureExt, StreamExt, TryStreamExt};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::destination::{Destination, LocalError};
use super::error::{Problem, Problems};
use super::hashes::{collect, groups, size_of};
use super::plan::{Plan, Planned, show};
use super::table::{Amounts, End};
use crate::error::ErrorClass;

mod large;
mod small;

/// Reads of one transfer that are asked for at once: as many bytes as a link of 80 MB/s and 330 ms holds, and more.
const AHEAD: usize = 48;
/// Large files of one transfer that are fetched at once: while one is verified, the next one keeps the link busy.
const LARGE_AT_ONCE: usize = 2;
/// Batches of small files that are fetched at once.
const BATCHES_AT_ONCE: usize = 4;
/// Bytes of one batch of small files.
const BATCH_BYTES: u64 = 8 << 20;
/// How often a file is begun again that changes while it is fetched.
const ATTEMPTS: usize = 8;
/// Before something is tried again that its home could not do just now.
pub(crate) const RETRY: Duration = Duration::from_secs(10);

/// Why something was not fetched.
#[derive(Debug)]
enum Trouble {
    /// This file alone.
    File(Problem),
    /// The whole transfer.
    All(End),
}

/// How far a transfer is, for whoever looks.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    files_done: AtomicU64,
    files: AtomicU64,
    bytes_done: AtomicU64,
    bytes: AtomicU64,
    /// Since it was asked last.
    arrived: AtomicU64,
}

impl Progress {
    pub(crate) fn expect(&self, files: u64, bytes: u64) {
        self.files.store(files, Ordering::Relaxed);
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    /// What an earlier run has put into its place.
    pub(crate) fn already(&self, files: u64, bytes: u64) {
        self.files_done.fetch_add(files, Ordering::Relaxed);
        self.bytes_done.fetch_add(bytes, Ordering::Relaxed);
    }

    fn file_done(&self) {
        self.files_done.fetch_add(1, Ordering::Relaxed);
    }

    /// Bytes that are there now; of them, some came just now.
    fn add(&self, bytes: u64, arrived: u64) {
        self.bytes_done.fetch_add(bytes, Ordering::Relaxed);
        self.arrived.fetch_add(arrived, Ordering::Relaxed);
    }

    /// Bytes that are not there after all.
    fn lose(&self, bytes: u64) {
        self.bytes_done.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// A file has another size than was expected.
    fn resize(&self, before: u64, now: u64) {
        self.bytes.fetch_add(now.wrapping_sub(before), Ordering::Relaxed);
    }

    /// How far it is, and how many bytes came since this was asked last.
    pub(crate) fn take(&self) -> (Amounts, u64) {
        let amounts = Amounts {
            files_done: self.files_done.load(Ordering::Relaxed),
            files: self.files.load(Ordering::Relaxed),
            bytes_done: self.bytes_done.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
        };
        (amounts, self.arrived.swap(0, Ordering::Relaxed))
    }
}

/// Fetches what a plan names.
#[derive(Debug)]
pub(crate) struct Fetch {
    pub(crate) peer: Peer,
    pub(crate) destination: Arc<Destination>,
    pub(crate) progress: Arc<Progress>,
    /// Everything that writes: it must have ended before the same place is written again.
    pub(crate) writes: TaskTracker,
    permits: Semaphore,
    problems: Mutex<Problems>,
}

impl Fetch {
    pub(crate) fn new(
        peer: Peer,
        destination: Arc<Destination>,
        progress: Arc<Progress>,
        writes: TaskTracker,
        problems: Problems,
    ) -> Self {
        Self {
            peer,
            destination,
            progress,
            writes,
            permits: Semaphore::new(AHEAD),
            problems: Mutex::new(problems),
        }
    }

    /// Fetches the files of a plan that are not in their places yet.
    pub(crate) async fn run(&self, plan: &Plan, due: Vec<Planned>) -> End {
        let (small, large): (Vec<_>, Vec<_>) = due.into_iter().partition(is_small);
        // Boxed here, where their lifetimes are known: rustc cannot tell further out that they may be sent.
        let larges = stream::iter(large)
            .map(Ok)
            .try_for_each_concurrent(LARGE_AT_ONCE, |file| self.large(plan, file))
            .boxed();
        let smalls = stream::iter(batches(small))
            .map(Ok)
            .try_for_each_concurrent(BATCHES_AT_ONCE, |batch| self.small(plan, batch))
            .boxed();
        match futures_util::try_join!(larges, smalls) {
            Err(end) => end,
            Ok(((), ())) => self.outcome(plan),
        }
    }

    fn outcome(&self, plan: &Plan) -> End {
        let problems = self.problems();
        let Some(first) = problems.first() else { return End::Done { note: None } };
        if !plan.is_folder() {
            return End::Fail(first.clone());
        }
        let reason = format!("not everything was transferred: {}", problems.reasons());
        End::Fail(Problem::new(first.class, reason))
    }

    fn problems(&self) -> MutexGuard<'_, Problems> {
        self.problems.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a file that cannot be had; what concerns the whole transfer ends it.
    fn settle(&self, names: &[Name], trouble: Trouble) -> Result<(), End> {
        match trouble {
            Trouble::All(end) => Err(end),
            Trouble::File(mut problem) => {
                self.problems().add(|| {
                    if !names.is_empty() {
                        problem.reason = format!("{}: {}", show(names), problem.reason);
                    }
                    problem
                });
                Ok(())
            }
        }
    }

    /// A range of a file: whose bytes they are, and the bytes.
    async fn read(&self, entry: &Entry, offset: u64, length: u32) -> Result<(Entry, Vec<u8>), PeerError> {
        let request = ReadRequest { entry: entry.id, version: entry.version, offset, length };
        let reading = self.peer.read(request, Priority::Bulk, CancellationToken::new()).await?;
        let bytes = collect(reading.head.length, reading.data).await?;
        Ok((reading.head.entry, bytes))
    }

    /// The file as it is at its home now.
    async fn look(&self, entry: &Entry) -> Result<Entry, Trouble> {
        let (now, _) = self.read(entry, 0, 0).await.map_err(peer_trouble)?;
        Ok(now)
    }

    /// The hashes of the groups of several files, each or why there are none.
    async fn digest(&self, entries: &[Entry]) -> Result<Vec<Result<Vec<GroupHash>, ReadFailure>>, Trouble> {
        let item = |entry: &Entry| DigestItem { entry: entry.id, version: entry.version };
        let items = entries.iter().map(item).collect();
        let mut parts = self.peer.digest(items).await.map_err(peer_trouble)?;
        let due: Vec<usize> = entries
            .iter()
            .map(|entry| usize::try_from(groups(size_of(entry).unwrap_or(0))).unwrap_or(usize::MAX))
            .collect();
        let mut found: Vec<Result<Vec<GroupHash>, ReadFailure>> = vec![Ok(Vec::new()); entries.len()];
        while let Some(part) = parts.next().await {
            let part = part.map_err(peer_trouble)?;
            let (Some(found), Some(due)) = (found.get_mut(part.item), due.get(part.item)) else { continue };
            match (&mut *found, part.hashes) {
                (Ok(hashes), Ok(more)) if hashes.len() + more.len() <= *due => hashes.extend(more),
                (Ok(_), Err(failure)) => *found = Err(failure),
                (Ok(_), Ok(_)) | (Err(_), _) => return Err(Trouble::All(broken())),
            }
        }
        for (found, due) in found.iter().zip(due) {
            if found.as_ref().is_ok_and(|hashes| hashes.len() != due) {
                return Err(Trouble::All(wait("the connection was lost", Duration::from_secs(1))));
            }
        }
        Ok(found)
    }

    /// Runs what waits for the disk. It runs to its end even if nobody waits for it any more.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Destination) -> Result<T, LocalError> + Send + 'static,
    ) -> Result<T, Trouble> {
        let destination = Arc::clone(&self.destination);
        let done = self.writes.spawn_blocking(move || work(&destination)).await;
        match done {
            Ok(done) => done.map_err(local_trouble),
            Err(_) => Err(Trouble::All(End::Fail(Problem::task()))),
        }
    }
}

fn is_small(file: &Planned) -> bool {
    size_of(&file.entry).is_some_and(|size| size <= GROUP_BYTES)
}

/// Small files in batches that are asked for at once.
fn batches(files: Vec<Planned>) -> Vec<Vec<Planned>> {
    let mut batches = Vec::new();
    let (mut batch, mut bytes) = (Vec::new(), 0);
    for file in files {
        let size = size_of(&file.entry).unwrap_or(0);
        if batch.len() >= DIGEST_ITEMS || (!batch.is_empty() && bytes + size > BATCH_BYTES) {
            batches.push(std::mem::take(&mut batch));
            bytes = 0;
        }
        bytes += size;
        batch.push(file);
    }
    batches.push(batch);
    batches
}

pub(crate) fn wait(reason: &str, retry: Duration) -> End {
    End::Wait { reason: reason.to_owned(), retry: Some(retry) }
}

fn broken() -> End {
    End::Fail(Problem::new(ErrorClass::Internal, "the contact broke the protocol"))
}

/// What a refusal of the contact means for a transfer; `None` if it concerns one file alone.
pub(crate) fn peer_end(error: &PeerError) -> Option<End> {
    match error {
        // Once it is found to be away, the transfer waits for it. Until then there is a pause, not a race.
        PeerError::Offline => Some(wait("the contact is not connected", Duration::from_secs(1))),
        PeerError::TimedOut => Some(wait("the contact does not answer", Duration::from_secs(2))),
        PeerError::Failed(ReadFailure::Unavailable) => {
            Some(wait("what is transferred is not available at its home now", RETRY))
        }
        PeerError::Crowded | PeerError::Failed(ReadFailure::Busy) => {
            Some(wait("the contact has too much to do", RETRY))
        }
        PeerError::Protocol(error) => {
            tracing::warn!(%error, "an answer to a transfer is none");
            Some(broken())
        }
        PeerError::Failed(
            ReadFailure::NotFound | ReadFailure::Denied | ReadFailure::Changed | ReadFailure::Internal,
        ) => None,
    }
}

/// Why one file cannot be had.
fn file_problem(failure: ReadFailure) -> Problem {
    let (class, reason) = match failure {
        ReadFailure::NotFound => (ErrorClass::NotFound, "it is gone at its home"),
        ReadFailure::Denied => (ErrorClass::Refused, "its home may not read it"),
        ReadFailure::Changed => (ErrorClass::Conflict, "it keeps changing at its home"),
        ReadFailure::Internal => (ErrorClass::Internal, "its home failed to read it"),
        ReadFailure::Unavailable => (ErrorClass::NotFound, "it is not available at its home"),
        ReadFailure::Busy => (ErrorClass::Refused, "its home has too much to do"),
    };
    Problem::new(class, reason)
}

fn failure_trouble(failure: ReadFailure) -> Trouble {
    peer_trouble(PeerError::Failed(failure))
}

pub(crate) fn peer_problem(error: &PeerError) -> Problem {
    match error {
        PeerError::Failed(failure) => file_problem(*failure),
        PeerError::Offline => Problem::new(ErrorClass::NotConnected, error.to_string()),
        PeerError::TimedOut => Problem::new(ErrorClass::TimedOut, error.to_string()),
        PeerError::Crowded => Problem::new(ErrorClass::Refused, error.to_string()),
        PeerError::Protocol(_) => Problem::new(ErrorClass::Internal, error.to_string()),
    }
}

fn peer_trouble(error: PeerError) -> Trouble {
    match peer_end(&error) {
        Some(end) => Trouble::All(end),
        None => Trouble::File(peer_problem(&error)),
    }
}

fn local_trouble(error: LocalError) -> Trouble {
    match error {
        LocalError::Exists | LocalError::Name | LocalError::NoLink => {
            Trouble::File(Problem::new(error.class(), error.to_string()))
        }
        LocalError::Full | LocalError::Denied | LocalError::Gone | LocalError::Failed(_) => {
            Trouble::All(local_end(&error))
        }
    }
}

/// What a refusal of the disk means for a transfer.
pub(crate) fn local_end(error: &LocalError) -> End {
    let reason = error.to_string();
    match error {
        LocalError::Full => End::Pause { reason },
        LocalError::Denied
        | LocalError::Gone
        | LocalError::Exists
        | LocalError::Name
        | LocalError::NoLink
        | LocalError::Failed(_) => End::Fail(Problem::new(error.class(), reason)),
    }
}
