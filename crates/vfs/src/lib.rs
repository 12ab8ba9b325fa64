//! The drive's semantics, for every system: a folder per contact, and in it the union of both sides' trees.
//!
//! Mine are served from this machine's disk, theirs from the replica of the contact's catalog and the block cache.
//! The words are the drive's own ([`NodeId`], [`Attr`], [`VfsError`]); what a system calls them is said by its
//! adapter in `mount`.

mod attr;
mod error;
mod invalidation;

pub use attr::{Attr, DirEntry, DiskSpace, Handle, NodeId, NodeKind, OpenFile, OpenMode, Owner};
pub use error::VfsError;
pub use invalidation::{Invalidation, Invalidations};
