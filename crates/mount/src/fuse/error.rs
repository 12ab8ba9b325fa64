//! Why the drive cannot be mounted, or not be unmounted.

use std::io;
use std::path::PathBuf;

use super::holders::Holder;

/// Why the drive cannot be mounted, or not be unmounted. The texts name the mount point: they are for the user.
#[derive(Debug, thiserror::Error)]
pub enum MountError {
    /// The mount point holds something, which the drive would hide.
    #[error("{point} is not empty: choose an empty folder for the drive, or empty it")]
    NotEmpty {
        /// The mount point.
        point: PathBuf,
    },
    /// The mount point is no folder.
    #[error("{point} is not a folder")]
    NotFolder {
        /// The mount point.
        point: PathBuf,
    },
    /// A living Farhold drive is mounted there.
    #[error("a Farhold drive is mounted at {point} already")]
    InUse {
        /// The mount point.
        point: PathBuf,
    },
    /// Something that is not Farhold's is mounted there.
    #[error("{kind} is mounted at {point}")]
    Foreign {
        /// The mount point.
        point: PathBuf,
        /// Type of the file system.
        kind: String,
    },
    /// The mount point cannot be made or read.
    #[error("cannot use {point} as a mount point: {source}")]
    Point {
        /// The mount point.
        point: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// This system has no FUSE.
    #[error(
        "/dev/fuse cannot be opened; load the kernel module (modprobe fuse), or let the container use it: {source}"
    )]
    NoFuse {
        /// What the system says.
        source: io::Error,
    },
    /// An ordinary user needs the mount helper, `fusermount3`, to mount.
    #[error("fusermount3 cannot be started; install the package fuse3: {source}")]
    NoHelper {
        /// What the system says.
        source: io::Error,
    },
    /// `fusermount3` refused.
    #[error("the mount was refused: {reason}")]
    Refused {
        /// What it said.
        reason: String,
    },
    /// The kernel refused.
    #[error("the mount failed: {source}")]
    Kernel {
        /// What the kernel says.
        source: io::Error,
    },
    /// Programs use the drive, and unmounting was not forced.
    #[error("{point} is in use")]
    Held {
        /// The mount point.
        point: PathBuf,
        /// Who uses it, as far as this user may see.
        holders: Vec<Holder>,
    },
    /// The mount could not be taken away.
    #[error("{point} could not be unmounted: {reason}")]
    StillMounted {
        /// The mount point.
        point: PathBuf,
        /// What the system says.
        reason: String,
    },
}
