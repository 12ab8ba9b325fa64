//! Mounts that a killed Farhold left behind.

use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::io::Errno;

use super::attach::{self, Detach, DetachError, KIND, SOURCE};
use super::error::MountError;
use super::mountinfo::{self, MountEntry};

/// Dead mounts over each other at one point, at most; more than this is no accident of ours.
const MOST_LAYERS: usize = 16;
/// A dead mount answers at once; what does not answer within this time is alive.
const PROBE_LIMIT: Duration = Duration::from_secs(2);

/// Takes away every dead Farhold mount at exactly `point` (an absolute path without links), and tells how many.
/// A living mount, or one that is not Farhold's, stays, and is an error.
pub(super) fn take_away_dead(point: &Path) -> Result<usize, MountError> {
    for taken in 0..MOST_LAYERS {
        let Some(entry) = topmost(point)? else { return Ok(taken) };
        if entry.kind != KIND || entry.source != SOURCE {
            return Err(MountError::Foreign { point: point.to_owned(), kind: entry.kind });
        }
        if !is_dead(point) {
            return Err(MountError::InUse { point: point.to_owned() });
        }
        match attach::detach(point, Detach::Lazily) {
            Ok(()) | Err(DetachError::NotMounted) => {}
            Err(DetachError::Busy) => return Err(still_mounted(point, "busy".to_owned())),
            Err(DetachError::Failed(reason)) => return Err(still_mounted(point, reason)),
        }
    }
    Err(still_mounted(point, "too many dead mounts".to_owned()))
}

fn topmost(point: &Path) -> Result<Option<MountEntry>, MountError> {
    mountinfo::topmost(point).map_err(|source| MountError::Point { point: point.to_owned(), source })
}

fn still_mounted(point: &Path, reason: String) -> MountError {
    MountError::StillMounted { point: point.to_owned(), reason }
}

/// Whether nobody serves the mount at `point` any more.
fn is_dead(point: &Path) -> bool {
    let (sender, answer) = mpsc::channel();
    let probed = point.to_owned();
    // In a thread of its own: a mount that hangs would keep this one, and every pool that it belongs to.
    let probe = thread::Builder::new().name("farhold-probe".to_owned()).spawn(move || {
        // Not stat(2): the kernel may still have its answer. The receiver may have given up.
        let _ = sender.send(rustix::fs::statfs(&probed).err());
    });
    probe.is_ok() && answer.recv_timeout(PROBE_LIMIT) == Ok(Some(Errno::NOTCONN))
}
