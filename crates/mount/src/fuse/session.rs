//! A mount from its start to its end.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use farhold_vfs::{Drive, Invalidations};
use fuser::{Config, Session, SessionACL};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::adapter::Adapter;
use super::attach::{self, Detach, DetachError};
use super::error::MountError;
use super::holders::{Holder, holders};
use super::limits::request_limit;
use super::mountinfo::{self, MountEntry};
use super::requests::Requests;
use super::{notify, point, repair, watch};

/// Threads that read requests from the kernel. They only decode and start tasks; the second is there for when the
/// first waits for a processor.
const READERS: usize = 2;
/// How long the connection of a mount that nobody uses takes to end, at most.
const IDLE_LIMIT: Duration = Duration::from_millis(500);
/// How long each of the things that [`Mount::stop`] waits for may take.
const END_LIMIT: Duration = Duration::from_secs(2);

/// Where and how the drive is mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountOptions {
    /// The mount point; made if it is missing, refused if it holds anything.
    pub point: PathBuf,
    /// Whether other users of this machine may use the drive, as far as the modes of its files allow. An ordinary
    /// user needs `user_allow_other` in `/etc/fuse.conf` for it.
    pub allow_other: bool,
}

/// How a mount ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stopped {
    /// Who still used it; it was taken out of the tree of files nevertheless.
    pub holders: Vec<Holder>,
}

/// A mounted drive. [`stop`](Self::stop) unmounts it and waits, [`try_stop`](Self::try_stop) if nobody uses it;
/// dropping it unmounts it without waiting.
#[derive(Debug)]
pub struct Mount {
    entry: MountEntry,
    drive: Arc<Drive>,
    invalidations: Invalidations,
    requests: Arc<Requests>,
    runtime: Handle,
    /// Refuses all requests.
    stop: CancellationToken,
    ends: Ends,
    /// Ends the connection to the kernel when it is written to; `None` where the file system of it is not mounted.
    abort: Option<File>,
    watcher: JoinHandle<()>,
    /// Nothing is left to do for dropping.
    stopped: bool,
}

/// Cancelled when each of them has ended.
#[derive(Debug, Clone)]
struct Ends {
    /// The mount is no longer in the tree of files.
    gone: CancellationToken,
    /// The threads that read requests.
    readers: CancellationToken,
    /// The thread that tells the kernel what to forget.
    notifier: CancellationToken,
}

/// Removes what is dead at `point`: mounts of a Farhold that was killed. Gives back how many there were.
///
/// # Errors
/// [`MountError::InUse`] if a living drive is mounted there, [`MountError::Foreign`] if anything else is.
pub async fn repair_stale(point: &Path) -> Result<usize, MountError> {
    let point = point.to_owned();
    blocking(move || repair::take_away_dead(&point::resolve(&point)?)).await
}

impl Mount {
    /// Mounts `drive`, after removing a dead mount of an earlier run. Must be called in a tokio runtime, which then
    /// also serves the requests.
    ///
    /// # Errors
    /// [`MountError`]; nothing is mounted then.
    pub async fn start(drive: Arc<Drive>, options: MountOptions) -> Result<Self, MountError> {
        let runtime = Handle::current();
        // If nobody waits any more when it is mounted, what comes back is dropped, which unmounts it.
        let mount = blocking(move || mount(drive, &options, runtime)).await?;
        tracing::info!("the drive is mounted");
        tracing::debug!(point = %mount.point().display(), "mount point");
        Ok(mount)
    }

    /// Where it is mounted: absolute, without links.
    pub fn point(&self) -> &Path {
        &self.entry.point
    }

    /// Waits until the mount is gone because somebody else unmounted it. [`stop`](Self::stop) is still due then.
    pub async fn gone(&self) {
        self.ends.gone.cancelled().await;
    }

    /// Unmounts: no more notifications, waiting requests fail with ENOTCONN, then the mount is taken away, if it is
    /// busy from the tree of files first and from those who use it when they let go. Dropped before its end, this
    /// unmounts without waiting.
    ///
    /// # Errors
    /// [`MountError::StillMounted`] if the system refuses.
    pub async fn stop(mut self) -> Result<Stopped, MountError> {
        self.watcher.abort();
        self.refuse();
        if tokio::time::timeout(END_LIMIT, self.requests.ended()).await.is_err() {
            tracing::warn!("requests on the drive are still being answered");
        }
        let entry = self.entry.clone();
        let stopped = blocking(move || unmount(&entry, Detach::Lazily)).await;
        self.stopped = true;
        self.drive.forget_all();
        let stopped = stopped?;
        self.ended().await;
        Ok(stopped)
    }

    /// Unmounts if nobody uses the drive, which answers all the while; otherwise everything stays as it was. Dropped
    /// before its end, this unmounts without waiting.
    ///
    /// # Errors
    /// With the mount, as it was: [`MountError::Held`] with those who use it, [`MountError::StillMounted`] if the system
    /// refuses for another reason.
    pub async fn try_stop(mut self) -> Result<(), (Self, MountError)> {
        // Else it would take this for somebody else's doing.
        self.watcher.abort();
        let entry = self.entry.clone();
        if let Err(error) = blocking(move || unmount(&entry, Detach::Idle)).await {
            let watching = watch::until_gone(self.entry.clone(), self.ends.gone.clone());
            self.watcher = self.runtime.spawn(watching);
            return Err((self, error));
        }
        self.stopped = true;
        self.refuse();
        self.drive.forget_all();
        self.ended().await;
        Ok(())
    }

    /// Waits for the threads of a mount that was taken away.
    async fn ended(&self) {
        // While somebody still uses what is out of the tree of files, the connection to the kernel lives on.
        if tokio::time::timeout(IDLE_LIMIT, self.ends.readers.cancelled()).await.is_err() {
            self.abort();
        }
        for (ended, thread) in [(&self.ends.readers, "readers"), (&self.ends.notifier, "notifier")] {
            if tokio::time::timeout(END_LIMIT, ended.cancelled()).await.is_err() {
                tracing::warn!(thread, "a thread of the mount has not ended yet");
            }
        }
        tracing::info!("the drive is unmounted");
    }

    /// No more notifications; all requests fail.
    fn refuse(&self) {
        self.invalidations.close();
        self.stop.cancel();
    }

    /// Ends the connection, and with it whatever the mount's users wait for. Where that cannot be done, it ends when
    /// they let go.
    fn abort(&self) {
        if let Some(mut abort) = self.abort.as_ref()
            && let Err(error) = abort.write_all(b"1")
        {
            tracing::debug!(%error, "the connection to the kernel ends when nobody uses it");
        }
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if self.stopped {
            return;
        }
        self.watcher.abort();
        self.refuse();
        unmount_unasked(&self.entry);
        self.drive.forget_all();
    }
}

/// Runs `work` on a thread that may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, MountError> + Send + 'static,
) -> Result<T, MountError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(outcome) => outcome,
        Err(panic) => Err(MountError::Kernel { source: io::Error::other(panic) }),
    }
}

/// Mounts, agrees with the kernel on what both can, and starts the threads.
fn mount(drive: Arc<Drive>, options: &MountOptions, runtime: Handle) -> Result<Mount, MountError> {
    let point = point::prepare(&options.point)?;
    let device = attach::attach(&point, options.allow_other)?;
    let entry = match mountinfo::topmost(&point) {
        Ok(Some(entry)) if entry.kind == attach::KIND => entry,
        Ok(Some(MountEntry { kind, .. })) => return Err(MountError::Foreign { point, kind }),
        untold => {
            // Whoever cannot be told of later is not left behind.
            let _ = attach::detach(&point, Detach::Lazily);
            let source = untold.err().unwrap_or_else(|| io::Error::from(io::ErrorKind::NotFound));
            return Err(MountError::Kernel { source });
        }
    };
    let stop = CancellationToken::new();
    let guard = stop.clone().drop_guard();
    let requests = Arc::new(Requests::new(runtime.clone(), request_limit(), stop.clone()));
    let invalidations = drive.invalidations();
    let adapter = Adapter::new(Arc::clone(&drive), Arc::clone(&requests));
    let ends = serve(adapter, device, options.allow_other, invalidations.clone()).map_err(|source| {
        invalidations.close();
        unmount_unasked(&entry);
        MountError::Kernel { source }
    })?;
    let watcher = runtime.spawn(watch::until_gone(entry.clone(), ends.gone.clone()));
    // Opened now, while the number is surely ours: it is given to another mount once this one is gone.
    let abort = format!("/sys/fs/fuse/connections/{}/abort", entry.minor);
    let abort = File::options().write(true).open(abort).ok();
    guard.disarm();
    Ok(Mount { entry, drive, invalidations, requests, runtime, stop, ends, abort, watcher, stopped: false })
}

fn serve(
    adapter: Adapter,
    device: std::os::fd::OwnedFd,
    allow_other: bool,
    invalidations: Invalidations,
) -> io::Result<Ends> {
    let acl = if allow_other { SessionACL::All } else { SessionACL::Owner };
    let mut config = Config::default();
    config.acl = acl;
    config.n_threads = Some(READERS);
    let session = Session::from_fd(adapter, device, acl, config)?;
    let notifier = notify::spawn(invalidations, session.notifier())?;
    let ends = Ends { gone: CancellationToken::new(), readers: CancellationToken::new(), notifier };
    let guards = [ends.gone.clone().drop_guard(), ends.readers.clone().drop_guard()];
    thread::Builder::new().name("farhold-fuse".to_owned()).spawn(move || {
        if let Err(error) = session.run() {
            tracing::warn!(%error, "the kernel ended the mount");
        }
        drop(guards);
    })?;
    Ok(ends)
}

/// Takes the mount away, unless somebody did so already; if it is busy, as `busy` says.
fn unmount(entry: &MountEntry, busy: Detach) -> Result<Stopped, MountError> {
    let failed = |reason| MountError::StillMounted { point: entry.point.clone(), reason };
    let mut there = mountinfo::read().map_err(|error| failed(error.to_string()))?;
    there.retain(|other| other.point == entry.point);
    // What is there may be another one by now.
    if !there.iter().any(|other| entry.is(other)) {
        return Ok(Stopped::default());
    }
    if !there.last().is_some_and(|topmost| entry.is(topmost)) {
        return Err(failed("something else is mounted over it".to_owned()));
    }
    match attach::detach(&entry.point, Detach::Idle) {
        Ok(()) | Err(DetachError::NotMounted) => return Ok(Stopped::default()),
        Err(DetachError::Busy) => {}
        Err(DetachError::Failed(reason)) => return Err(failed(reason)),
    }
    let holders = holders(&entry.point);
    if busy == Detach::Idle {
        return Err(MountError::Held { point: entry.point.clone(), holders });
    }
    let pids: Vec<u32> = holders.iter().map(|holder| holder.pid).collect();
    tracing::warn!(?pids, "the drive is unmounted while programs use it");
    tracing::debug!(?holders, "these");
    match attach::detach(&entry.point, Detach::Lazily) {
        Ok(()) | Err(DetachError::NotMounted) => {}
        Err(DetachError::Busy) => return Err(failed("busy".to_owned())),
        Err(DetachError::Failed(reason)) => return Err(failed(reason)),
    }
    Ok(Stopped { holders })
}

/// The same where nobody waits for the outcome.
fn unmount_unasked(entry: &MountEntry) {
    if let Err(error) = unmount(entry, Detach::Lazily) {
        tracing::error!("the drive stays mounted");
        tracing::debug!(%error, "why it stays mounted");
    }
}
