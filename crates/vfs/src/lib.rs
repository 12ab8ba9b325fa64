//! The drive's semantics, for every system: a folder per contact, and in it the union of both sides' trees.
//!
//! Mine are served from this machine's disk, theirs from the replica of the contact's catalog and the block cache.
//! The words are the drive's own ([`NodeId`], [`Attr`], [`VfsError`]); what a system calls them is said by its
//! adapter in `mount`.

mod attr;
mod contact;
mod drive;
mod error;
mod handles;
mod invalidation;
mod known;
mod names;
mod peer;
mod shown;
mod slots;
mod warm;

pub use attr::{Attr, Change, DirEntry, DiskSpace, Handle, NodeId, NodeKind, OpenFile, OpenMode, Owner};
pub use drive::{Drive, DriveConfig, DriveError, FileInUse};
pub use error::VfsError;
pub use invalidation::{Invalidation, Invalidations};
pub use peer::{ContactView, PeerError, PeerTree, SMALL_FILE_BYTES, SMALL_FILES, SmallFile};

/// Requests that a system lets wait for the drive in the background, over all contacts.
pub const BACKGROUND_SLOTS: usize = 512;
