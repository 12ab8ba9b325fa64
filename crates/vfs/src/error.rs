//! Why an operation on the drive fails, by cause; what each system calls it is the adapter's matter.

/// Why an operation on the drive fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VfsError {
    /// No entry of that name. Never said of a folder that is not wholly known.
    #[error("there is no such entry")]
    NotFound,
    /// The entry was removed, or another object took its place: this node will not come back.
    #[error("the entry is gone or was replaced")]
    Stale,
    /// A folder was needed.
    #[error("not a folder")]
    NotFolder,
    /// A file was needed.
    #[error("a folder")]
    IsFolder,
    /// A symbolic link was needed.
    #[error("not a symbolic link")]
    NotLink,
    /// Over 255 bytes.
    #[error("the name is too long")]
    NameTooLong,
    /// The contact is not connected, and what is wanted is not here.
    #[error("the contact is not connected")]
    Offline,
    /// The contact is connected but did not answer in time.
    #[error("the contact did not answer in time")]
    TimedOut,
    /// The contact holds its share of waiting requests already.
    #[error("too many requests wait for this contact")]
    Busy,
    /// The tree's home cannot reach it now: a missing disk, an unreadable folder.
    #[error("the shared folder is not available at its home")]
    Unavailable,
    /// The home may not read it, or a link's target leads out of its tree.
    #[error("access denied")]
    Denied,
    /// The tree may not be changed from here.
    #[error("read-only")]
    ReadOnly,
    /// The drive's own folders and the ownership of entries are not changed through the drive.
    #[error("not permitted on the drive")]
    NotPermitted,
    /// A shared tree is withdrawn with `unshare`, not by removing it.
    #[error("the tree is shared")]
    Shared,
    /// The handle is not open.
    #[error("the handle is not open")]
    BadHandle,
    /// Too many files and folders are open at once.
    #[error("too many open files")]
    TooManyOpen,
    /// The home failed, or broke the protocol.
    #[error("the home failed")]
    HomeFailed,
    /// A disk or database of this machine failed.
    #[error("a disk of this machine failed")]
    LocalFailed,
}
