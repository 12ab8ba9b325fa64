//! One engine per config directory: a lock that the kernel gives back however the engine ends.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

/// Holds the config directory until dropped.
#[derive(Debug)]
pub(crate) struct InstanceLock {
    _file: File,
}

/// Why the config directory cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LockError {
    /// Another engine has it.
    #[error("another engine holds it")]
    Held,
    /// The file system would not.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl InstanceLock {
    /// Takes the lock without waiting.
    pub(crate) fn take(path: &Path) -> Result<Self, LockError> {
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self { _file: file }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(LockError::Held),
            Err(error) => Err(LockError::Io(error.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_and_free_after_drop() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("lock");
        let held = InstanceLock::take(&path).unwrap();
        assert!(matches!(InstanceLock::take(&path), Err(LockError::Held)));
        drop(held);
        InstanceLock::take(&path).unwrap();
    }
}
