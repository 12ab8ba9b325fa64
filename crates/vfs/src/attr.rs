//! Nodes and their attributes, in words of no particular system.

use std::time::SystemTime;

use bytes::Bytes;

use crate::known::Target;

/// One file, folder or link of the drive: the same as long as the object is, never used again for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u64);

impl NodeId {
    /// The drive's top folder.
    pub const ROOT: Self = Self(1);
}

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// Holds other nodes.
    Folder,
    /// Has content.
    File,
    /// Points to another node.
    Symlink,
}

/// Whom a node belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Owner {
    /// The user who mounted the drive.
    Mounter,
    /// The owner of the backing object on this machine.
    Backing {
        /// User number.
        user: u32,
        /// Group number.
        group: u32,
    },
}

/// Attributes of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attr {
    /// Which node.
    pub node: NodeId,
    /// What it is.
    pub kind: NodeKind,
    /// Bytes of content; of a link, of its target; 0 of a folder.
    pub size: u64,
    /// Bytes that it takes on its disk, as far as that is known here.
    pub allocated: u64,
    /// Permission bits, 0 to 0o777.
    pub mode: u16,
    /// Whom it belongs to.
    pub owner: Owner,
    /// Last read. Of what is another's, the last change: reads are not told.
    pub accessed: SystemTime,
    /// Last change of content.
    pub modified: SystemTime,
    /// Last change of anything. Of what is another's, of its content.
    pub changed: SystemTime,
    /// Names it has: 0 once it is removed or replaced while open; 1 for every folder, which tells programs not to
    /// infer its number of folders from it.
    pub links: u32,
}

/// One entry of a folder, as listed: `.` and `..` first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// Its name, as bytes without `/` and NUL.
    pub name: Bytes,
    /// Which node it is.
    pub node: NodeId,
    /// What it is.
    pub kind: NodeKind,
    /// Where the listing goes on after this entry.
    pub next: u64,
    /// The folder it is listed in.
    pub(crate) parent: NodeId,
    pub(crate) target: Target,
}

/// Room on a disk, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiskSpace {
    /// Size of the file system.
    pub total: u64,
    /// Room that the user may fill.
    pub free: u64,
}

/// An open file or folder; numbers are not used again while the drive runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Handle(pub u64);

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// Reading alone.
    Read,
    /// Writing, or reading and writing.
    Write,
}

/// A file that was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFile {
    /// What to read and release it by.
    pub handle: Handle,
    /// The content is the one that the node's previous open saw, so what the system cached of it still holds.
    pub keep_cache: bool,
}

/// What somebody wants to change through the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Make something in a folder.
    Create,
    /// Remove or rename something in a folder.
    Remove,
    /// The content or attributes of a node.
    Content,
    /// The owner of a node.
    Owner,
    /// Give a node another name beside its own.
    Link,
}
