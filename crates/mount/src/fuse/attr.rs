//! The drive's attributes in FUSE's words.

use std::time::Duration;

use farhold_vfs::{Attr, NodeKind, Owner};
use fuser::{FileAttr, FileType, INodeNo};

/// How long the kernel may answer from its caches. Notifications make changes visible earlier.
pub(super) const TTL: Duration = Duration::from_secs(1);

/// Size that programs are told to read in, in bytes.
const BLOCK_SIZE: u32 = 128 << 10;

/// Who owns what belongs to the mounting user.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mounter {
    pub(super) user: u32,
    pub(super) group: u32,
}

impl Mounter {
    /// The user of this process.
    pub(super) fn current() -> Self {
        Self { user: rustix::process::geteuid().as_raw(), group: rustix::process::getegid().as_raw() }
    }
}

pub(super) fn file_type(kind: NodeKind) -> FileType {
    match kind {
        NodeKind::Folder => FileType::Directory,
        NodeKind::File => FileType::RegularFile,
        NodeKind::Symlink => FileType::Symlink,
    }
}

pub(super) fn file_attr(attr: &Attr, mounter: Mounter) -> FileAttr {
    let (uid, gid) = match attr.owner {
        Owner::Mounter => (mounter.user, mounter.group),
        Owner::Backing { user, group } => (user, group),
    };
    FileAttr {
        ino: INodeNo(attr.node.0),
        size: attr.size,
        blocks: attr.allocated.div_ceil(512),
        atime: attr.accessed,
        mtime: attr.modified,
        ctime: attr.changed,
        crtime: attr.modified,
        kind: file_type(attr.kind),
        perm: attr.mode & 0o777,
        nlink: attr.links,
        uid,
        gid,
        rdev: 0,
        blksize: BLOCK_SIZE,
        flags: 0,
    }
}
