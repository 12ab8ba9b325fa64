//! Noticing that somebody else unmounted the drive.

use std::fs::File;
use std::io;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio_util::sync::CancellationToken;

use super::mountinfo::{self, MOUNTINFO, MountEntry};

/// Cancels `gone` as soon as `entry` is no longer in the mount table. The kernel wakes whoever polls the table when
/// it changes (proc_pid_mounts(5)), so this costs nothing meanwhile.
pub(super) async fn until_gone(entry: MountEntry, gone: CancellationToken) {
    if let Err(error) = wait(&entry).await {
        // The end of the connection still tells it.
        tracing::warn!(%error, "the mount table cannot be watched");
        return;
    }
    tracing::warn!("the drive was unmounted by somebody else");
    gone.cancel();
}

async fn wait(entry: &MountEntry) -> io::Result<()> {
    #[expect(
        deprecated,
        reason = "a `File` keeps its descriptor, and the successor wants that promised as unsafe"
    )]
    let table = AsyncFd::with_interest(File::open(MOUNTINFO)?, Interest::PRIORITY)?;
    loop {
        if !mountinfo::read()?.iter().any(|other| entry.is(other)) {
            return Ok(());
        }
        table.ready(Interest::PRIORITY).await?.clear_ready();
    }
}
