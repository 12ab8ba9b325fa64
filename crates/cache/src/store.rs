//! Blocks on disk.
//!
//! * [`index`]: what lies there and what goes first, without I/O.
//! * [`disk`]: the files.
//! * [`worker`]: both together, blocking.
//!
//! The store itself is the asynchronous door: a bounded queue of blocks to write, behind which one task works, and
//! loads with a bound on their number and time. A disk that hangs is left alone for a while.

mod disk;
mod holes;
mod index;
mod room;
mod worker;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout};
use tokio_util::task::TaskTracker;

use crate::counters::Counters;
use crate::key::{BlockId, ContentKey};
use crate::seal::Seal;

pub(crate) use disk::{Disk, Files};
pub use index::PinError;
pub(crate) use index::{Scope, ranges};
pub(crate) use room::DiskRoom;
use worker::Worker;
#[cfg(test)]
pub(crate) use {
    disk::Space,
    index::{Found, Geometry},
};

/// Loads and listings at once: a disk that hangs takes no more threads than that, and one for writing.
const LOADS: usize = 4;
/// A load or listing that takes longer is not waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// Whoever drops something or sets a limit waits no longer for the files to be removed.
const COMMAND_PATIENCE: Duration = Duration::from_secs(10);
/// So long nothing is read from a disk that did not answer.
const SUSPENSION: Duration = Duration::from_secs(10);
/// Commands in the queue, beside its bound in bytes.
const QUEUE: usize = 4096;
/// Blocks of a content that are looked at without letting others at the index.
const SLICE: usize = 4096;
/// Commands per visit to a blocking thread.
const BATCH: usize = 16;

enum Command {
    Write(BlockId),
    Forget(Scope, oneshot::Sender<()>),
    Shrink(oneshot::Sender<()>),
}

pub(crate) struct Store {
    worker: Arc<Worker>,
    queued: Arc<Queued>,
    commands: Mutex<Option<mpsc::Sender<Command>>>,
    loads: Arc<Semaphore>,
    suspended: Mutex<Option<Instant>>,
    counters: Arc<Counters>,
}

impl Store {
    /// Starts to look for what is on disk, and the task behind the queue of at most `queue_bytes`.
    pub(crate) fn open(
        files: Box<dyn Files>,
        seal: Seal,
        limit: u64,
        queue_bytes: u64,
        counters: Arc<Counters>,
        tasks: &TaskTracker,
    ) -> Self {
        let worker = Arc::new(Worker::new(files, seal, limit, Arc::clone(&counters)));
        let queued = Arc::new(Queued { limit: queue_bytes, state: Mutex::default() });
        let (commands, queue) = mpsc::channel(QUEUE);
        tasks.spawn(work(Arc::clone(&worker), Arc::clone(&queued), queue));
        Self {
            worker,
            queued,
            commands: Mutex::new(Some(commands)),
            loads: Arc::new(Semaphore::new(LOADS)),
            suspended: Mutex::new(None),
            counters,
        }
    }

    /// Returns when it is known what lies on disk of `key`, or is not going to be known soon.
    pub(crate) async fn listed(&self, key: ContentKey, size: u64) {
        if self.worker.index().is_listed(&key) || self.is_suspended() {
            return;
        }
        let listing = async {
            let Ok(permit) = Arc::clone(&self.loads).acquire_owned().await else { return };
            let worker = Arc::clone(&self.worker);
            let listed = spawn_blocking(move || {
                worker.list(&key, size);
                drop(permit);
            });
            // Should it panic, the read goes on without what was not found.
            listed.await.ok();
        };
        if timeout(PATIENCE, listing).await.is_err() {
            self.suspend();
        }
    }

    /// Whether a block can probably be loaded.
    pub(crate) fn contains(&self, id: &BlockId, length: u64) -> bool {
        self.queued.get(id, length).is_some()
            || (self.worker.index().contains(id, length) && !self.is_suspended())
    }

    /// The verified block.
    pub(crate) async fn load(&self, id: BlockId, length: u64) -> Option<Bytes> {
        if let Some(block) = self.queued.get(&id, length) {
            return Some(block);
        }
        let length = usize::try_from(length).ok()?;
        let loading = async {
            let permit = Arc::clone(&self.loads).acquire_owned().await.ok()?;
            let worker = Arc::clone(&self.worker);
            spawn_blocking(move || {
                let block = worker.load(&id, length);
                drop(permit);
                block
            })
            .await
            .ok()?
        };
        match timeout(PATIENCE, loading).await {
            Ok(block) => block,
            Err(_) => {
                self.counters.bypasses.add(1);
                self.suspend();
                None
            }
        }
    }

    /// Queues a block to be written. If the queue is full, it is not kept.
    pub(crate) fn keep(&self, id: BlockId, block: Bytes) {
        if self.worker.index().contains(&id, block.len() as u64) {
            return;
        }
        let commands = lock(&self.commands);
        let Some(commands) = commands.as_ref() else { return };
        if !self.queued.insert(id, block) {
            self.counters.bypasses.add(1);
        } else if commands.try_send(Command::Write(id)).is_err() {
            self.queued.remove(&id);
            self.counters.bypasses.add(1);
        }
    }

    /// Returns when what is queued now is written, or refused; or after 10 s.
    pub(crate) async fn flush(&self) {
        self.command(Command::Shrink).await;
    }

    /// Whether the queue has room for half of what it may hold.
    pub(crate) fn has_room(&self) -> bool {
        lock(&self.queued.state).bytes <= self.queued.limit / 2
    }

    /// Removes what there is within `scope`. What that has not done within 10 s it does later.
    pub(crate) async fn forget(&self, scope: Scope) {
        self.queued.forget(scope);
        self.command(|done| Command::Forget(scope, done)).await;
    }

    /// Changes the limit for everything that is written from now on, and removes what is over it. What that has not
    /// done within 10 s it does later. Fails if more is pinned.
    pub(crate) async fn set_limit(&self, limit: u64) -> Result<(), PinError> {
        self.worker.index().set_limit(limit)?;
        self.command(Command::Shrink).await;
        Ok(())
    }

    /// The blocks of `key`, a content of `size` bytes, stay from now on.
    pub(crate) fn pin(&self, key: ContentKey, size: u64) -> Result<(), PinError> {
        self.worker.index().pin(key, size)
    }

    pub(crate) fn check_pins(
        &self,
        contents: impl IntoIterator<Item = (ContentKey, u64)>,
    ) -> Result<(), PinError> {
        self.worker.index().check_pins(contents)
    }

    pub(crate) fn unpin(&self, key: &ContentKey) {
        self.worker.index().unpin(key);
    }

    /// A reader of `key` begins.
    pub(crate) fn open_reader(&self, key: ContentKey) {
        self.worker.index().open(key);
    }

    /// A reader of `key` ends; true if it was the last one.
    pub(crate) fn close_reader(&self, key: ContentKey) -> bool {
        self.worker.index().close(key)
    }

    /// Limit and use, in bytes.
    pub(crate) fn usage(&self) -> (u64, u64) {
        let index = self.worker.index();
        (index.limit(), index.used())
    }

    /// The blocks of `key` on disk, in order, and those in the queue, in none. Of a huge content the index is looked
    /// at in slices, so that nobody waits for it long.
    pub(crate) fn blocks(&self, key: &ContentKey) -> (Vec<Range<u64>>, Vec<u64>) {
        let queued = self.queued.indexes(key);
        let mut runs: Vec<Range<u64>> = Vec::new();
        let mut from = 0;
        loop {
            let index = self.worker.index();
            let mut looked_at = 0;
            for number in index.indexes(key, from).take(SLICE) {
                looked_at += 1;
                from = number + 1;
                match runs.last_mut() {
                    Some(run) if run.end == number => run.end = from,
                    Some(_) | None => runs.push(number..from),
                }
            }
            if looked_at < SLICE {
                return (runs, queued);
            }
        }
    }

    /// What is known of the room on the disk.
    pub(crate) fn room(&self) -> DiskRoom {
        self.worker.room()
    }

    /// Looks anew at the room on the disk, in the background; not while that disk is slow.
    pub(crate) fn look_at_room(&self) {
        if self.is_suspended() {
            return;
        }
        let Ok(permit) = Arc::clone(&self.loads).try_acquire_owned() else { return };
        let worker = Arc::clone(&self.worker);
        spawn_blocking(move || {
            worker.look_at_room();
            drop(permit);
        });
    }

    /// Nothing is queued any more; the task ends when it has done what is.
    pub(crate) fn close(&self) {
        lock(&self.commands).take();
    }

    async fn command(&self, command: impl FnOnce(oneshot::Sender<()>) -> Command) {
        let Some(commands) = lock(&self.commands).clone() else { return };
        let (done, finished) = oneshot::channel();
        let doing = async {
            if commands.send(command(done)).await.is_ok() {
                // An error means that the task has ended: the cache was closed.
                finished.await.ok();
            }
        };
        if timeout(COMMAND_PATIENCE, doing).await.is_err() {
            tracing::warn!("the cache's disk is slow: what is to be removed takes longer");
        }
    }

    fn suspend(&self) {
        tracing::debug!("the cache's disk does not answer");
        *lock(&self.suspended) = Some(Instant::now() + SUSPENSION);
    }

    fn is_suspended(&self) -> bool {
        lock(&self.suspended).is_some_and(|until| Instant::now() < until)
    }
}

async fn work(worker: Arc<Worker>, queued: Arc<Queued>, mut queue: mpsc::Receiver<Command>) {
    let scanning = Arc::clone(&worker);
    // Should it panic, the cache goes on without what was not found.
    let scan = move || {
        scanning.scan();
        scanning.look_at_room();
    };
    spawn_blocking(scan).await.ok();
    loop {
        let mut batch = Vec::with_capacity(BATCH);
        if queue.recv_many(&mut batch, BATCH).await == 0 {
            return;
        }
        let (worker, queued) = (Arc::clone(&worker), Arc::clone(&queued));
        spawn_blocking(move || {
            let mut file = Vec::new();
            for command in batch {
                match command {
                    Command::Write(id) => {
                        if let Some(block) = queued.waiting(&id) {
                            worker.write(&id, &block, &mut file);
                            queued.remove(&id);
                        }
                    }
                    Command::Forget(scope, done) => {
                        worker.forget(scope);
                        done.send(()).ok();
                    }
                    Command::Shrink(done) => {
                        worker.shrink();
                        done.send(()).ok();
                    }
                }
            }
        })
        .await
        .ok();
    }
}

/// The blocks in the queue: they are served from there until they are written.
struct Queued {
    limit: u64,
    state: Mutex<QueuedState>,
}

#[derive(Default)]
struct QueuedState {
    blocks: HashMap<BlockId, Bytes>,
    bytes: u64,
}

impl Queued {
    fn waiting(&self, id: &BlockId) -> Option<Bytes> {
        lock(&self.state).blocks.get(id).cloned()
    }

    fn get(&self, id: &BlockId, length: u64) -> Option<Bytes> {
        self.waiting(id).filter(|block| block.len() as u64 == length)
    }

    fn insert(&self, id: BlockId, block: Bytes) -> bool {
        let mut state = lock(&self.state);
        let length = block.len() as u64;
        if state.bytes + length > self.limit {
            return false;
        }
        state.bytes += length;
        if let Some(former) = state.blocks.insert(id, block) {
            state.bytes -= former.len() as u64;
        }
        true
    }

    fn remove(&self, id: &BlockId) {
        let mut state = lock(&self.state);
        if let Some(block) = state.blocks.remove(id) {
            state.bytes -= block.len() as u64;
        }
    }

    fn forget(&self, scope: Scope) {
        let mut state = lock(&self.state);
        state.blocks.retain(|id, _| !scope.holds(&id.key));
        state.bytes = state.blocks.values().map(|block| block.len() as u64).sum();
    }

    fn indexes(&self, key: &ContentKey) -> Vec<u64> {
        lock(&self.state).blocks.keys().filter(|id| id.key == *key).map(|id| id.index).collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
