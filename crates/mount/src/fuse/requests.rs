//! Requests of the kernel under way: each in its own task, each answered exactly once and in time.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use farhold_vfs::VfsError;
use fuser::{
    Errno, ReplyAttr, ReplyData, ReplyDirectory, ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyOpen,
    ReplyStatfs,
};
use tokio::runtime::Handle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::errno::errno;

/// A request that is older is logged.
const OVERDUE: Duration = Duration::from_secs(20);
/// How often requests are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// A way to answer a request: used up by the answer, so there is exactly one.
pub(super) trait Refuse: Send + 'static {
    /// Answers with an error.
    fn refuse(self, error: Errno);
}

macro_rules! refuse {
    ($($reply:ty),*) => {
        $(impl Refuse for $reply {
            fn refuse(self, error: Errno) {
                self.error(error);
            }
        })*
    };
}
refuse!(
    ReplyAttr,
    ReplyData,
    ReplyDirectory,
    ReplyDirectoryPlus,
    ReplyEmpty,
    ReplyEntry,
    ReplyOpen,
    ReplyStatfs
);

/// Requests under way. Their number is bounded by the kernel: one for each thread that calls, and the background
/// requests that the mount allows.
#[derive(Debug)]
pub(super) struct Requests {
    runtime: Handle,
    tasks: TaskTracker,
    stop: CancellationToken,
    limit: Duration,
    table: Arc<Mutex<Table>>,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    live: HashMap<u64, Live>,
}

#[derive(Debug)]
struct Live {
    operation: &'static str,
    since: Instant,
    told: bool,
}

/// Takes a request out of the table when its task ends, however it ends.
struct Ticket {
    id: u64,
    table: Arc<Mutex<Table>>,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        lock(&self.table).live.remove(&self.id);
    }
}

impl Requests {
    /// Answers at most `limit` after the question. Once `stop` is cancelled, everything is refused at once.
    pub(super) fn new(runtime: Handle, limit: Duration, stop: CancellationToken) -> Self {
        let requests = Self {
            runtime,
            tasks: TaskTracker::new(),
            stop,
            limit,
            table: Arc::new(Mutex::new(Table::default())),
        };
        requests.tasks.spawn_on(watch(Arc::clone(&requests.table), requests.stop.clone()), &requests.runtime);
        requests
    }

    /// Does `work` in a task and answers `reply` with what comes of it: by `answer`, or with an error.
    pub(super) fn run<T, R: Refuse>(
        &self,
        operation: &'static str,
        reply: R,
        work: impl Future<Output = Result<T, VfsError>> + Send + 'static,
        answer: impl FnOnce(R, T) + Send + 'static,
    ) where
        T: Send + 'static,
    {
        let ticket = self.enter(operation);
        let (stop, limit) = (self.stop.clone(), self.limit);
        self.tasks.spawn_on(
            async move {
                let outcome = tokio::select! {
                    biased;
                    () = stop.cancelled() => Err(Errno::ENOTCONN),
                    outcome = tokio::time::timeout(limit, work) => match outcome {
                        Ok(outcome) => outcome.map_err(errno),
                        Err(_) => Err(errno(VfsError::TimedOut)),
                    },
                };
                match outcome {
                    Ok(value) => answer(reply, value),
                    Err(error) => reply.refuse(error),
                }
                drop(ticket);
            },
            &self.runtime,
        );
    }

    /// Whether the mount ends.
    pub(super) fn are_refused(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Waits until every task has ended; `stop` must be cancelled.
    pub(super) async fn ended(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    fn enter(&self, operation: &'static str) -> Ticket {
        let mut table = lock(&self.table);
        let id = table.next;
        table.next += 1;
        table.live.insert(id, Live { operation, since: Instant::now(), told: false });
        Ticket { id, table: Arc::clone(&self.table) }
    }
}

/// Logs each request once that waits for longer than [`OVERDUE`].
async fn watch(table: Arc<Mutex<Table>>, stop: CancellationToken) {
    while stop.run_until_cancelled(tokio::time::sleep(LOOK_EVERY)).await.is_some() {
        for (operation, age) in lock(&table).overdue(Instant::now()) {
            tracing::warn!(operation, seconds = age.as_secs(), "a request on the drive waits for long");
        }
    }
}

impl Table {
    fn overdue(&mut self, now: Instant) -> Vec<(&'static str, Duration)> {
        let mut overdue = Vec::new();
        for live in self.live.values_mut() {
            let age = now.saturating_duration_since(live.since);
            if age >= OVERDUE && !live.told {
                live.told = true;
                overdue.push((live.operation, age));
            }
        }
        overdue
    }
}

fn lock(table: &Mutex<Table>) -> MutexGuard<'_, Table> {
    // The table is whole between any two statements, so a panic elsewhere does not spoil it.
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use tokio::sync::oneshot;

    use super::*;

    /// A reply that tells what became of it.
    struct Told(oneshot::Sender<Result<u32, i32>>);

    impl Refuse for Told {
        fn refuse(self, error: Errno) {
            self.0.send(Err(error.code())).unwrap();
        }
    }

    fn ask(
        requests: &Requests,
        work: impl Future<Output = Result<u32, VfsError>> + Send + 'static,
    ) -> oneshot::Receiver<Result<u32, i32>> {
        let (sender, receiver) = oneshot::channel();
        requests.run("test", Told(sender), work, |told, value| told.0.send(Ok(value)).unwrap());
        receiver
    }

    fn requests(stop: &CancellationToken) -> Requests {
        Requests::new(Handle::current(), Duration::from_secs(28), stop.clone())
    }

    #[tokio::test(start_paused = true)]
    async fn every_request_is_answered() {
        let stop = CancellationToken::new();
        let requests = requests(&stop);
        assert_eq!(ask(&requests, async { Ok(7) }).await.unwrap(), Ok(7));
        let not_found = Errno::ENOENT.code();
        assert_eq!(ask(&requests, async { Err(VfsError::NotFound) }).await.unwrap(), Err(not_found));
        assert!(lock(&requests.table).live.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_held_longer_than_the_limit() {
        let stop = CancellationToken::new();
        let requests = requests(&stop);
        let asked = Instant::now();
        assert_eq!(ask(&requests, pending()).await.unwrap(), Err(Errno::ETIMEDOUT.code()));
        assert_eq!(asked.elapsed().as_secs(), 28);
    }

    #[tokio::test(start_paused = true)]
    async fn stopping_refuses_what_waits_and_what_comes() {
        let stop = CancellationToken::new();
        let requests = requests(&stop);
        let waiting = ask(&requests, pending());
        stop.cancel();
        assert_eq!(waiting.await.unwrap(), Err(Errno::ENOTCONN.code()));
        assert_eq!(ask(&requests, async { Ok(7) }).await.unwrap(), Err(Errno::ENOTCONN.code()));
        requests.ended().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_wait_is_told_once() {
        let stop = CancellationToken::new();
        let requests = requests(&stop);
        let _waiting = ask(&requests, pending());
        tokio::time::advance(Duration::from_secs(19)).await;
        assert!(lock(&requests.table).overdue(Instant::now()).is_empty());
        tokio::time::advance(Duration::from_secs(1)).await;
        // The watch of the requests themselves may have told it first.
        let told = lock(&requests.table).overdue(Instant::now()).len();
        assert!(told <= 1);
        assert!(lock(&requests.table).live.values().all(|live| live.told));
        assert!(lock(&requests.table).overdue(Instant::now()).is_empty());
    }
}
