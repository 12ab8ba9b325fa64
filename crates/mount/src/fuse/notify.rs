//! Telling the kernel what to forget, from one OS thread of its own.
//!
//! A notification may wait inside the kernel for a request that is under way: an invalidated page for its read, an
//! entry for the lookup that holds its folder. So it is never sent from a task, and nothing ever waits for this
//! thread, except stopping, which fails the requests first.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::thread;

use farhold_vfs::{Invalidation, Invalidations, NodeId};
use fuser::{INodeNo, Notifier};
use rustix::io::Errno;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Starts the thread; the token is cancelled when it has ended.
pub(super) fn spawn(queue: Invalidations, notifier: Notifier) -> io::Result<CancellationToken> {
    let ended = CancellationToken::new();
    let guard: DropGuard = ended.clone().drop_guard();
    thread::Builder::new().name("farhold-notify".to_owned()).spawn(move || {
        while let Some(item) = queue.wait() {
            if let Err(error) = tell(&notifier, &item) {
                tracing::debug!(?item, %error, "the kernel did not take an invalidation");
            }
        }
        drop(guard);
    })?;
    Ok(ended)
}

fn tell(notifier: &Notifier, item: &Invalidation) -> io::Result<()> {
    match item {
        Invalidation::Content(node) => notifier.inval_inode(inode(*node), 0, 0),
        // A negative offset: attributes alone.
        Invalidation::Attributes(node) => notifier.inval_inode(inode(*node), -1, 0),
        Invalidation::Entry { parent, name } => notifier.inval_entry(inode(*parent), OsStr::from_bytes(name)),
        Invalidation::Removed { parent, node, name } => {
            let name = OsStr::from_bytes(name);
            match notifier.delete(inode(*parent), inode(*node), name) {
                // A folder of which the kernel still knows children, or a mount point: it is looked up anew.
                Err(error) if is(&error, Errno::NOTEMPTY) || is(&error, Errno::BUSY) => {
                    notifier.inval_entry(inode(*parent), name)
                }
                outcome => outcome,
            }
        }
    }
}

fn is(error: &io::Error, errno: Errno) -> bool {
    error.raw_os_error() == Some(errno.raw_os_error())
}

fn inode(node: NodeId) -> INodeNo {
    INodeNo(node.0)
}
