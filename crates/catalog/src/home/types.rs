//! What a home tells of itself.

use std::path::PathBuf;

use farhold_wire::{ContactId, Entry, EntryId, Name, Timestamp};

/// Where a home lives and what it never shares.
#[derive(Debug, Clone)]
pub struct HomeConfig {
    /// Its folder: the database and the list of shares beside it. Made if missing.
    pub folder: PathBuf,
    /// Folders that are never shared, nor shown inside a share: the drive, the cache, the program's own folders.
    pub refused: Vec<PathBuf>,
}

/// The object on this machine's disk behind an entry. Equal objects are the same file, whatever names lead to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Object {
    /// Device number, as the system has it now: it may be another after a restart.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
    /// Birth in nanoseconds since 1970, 0 where the file system does not keep it: tells a file from a later one
    /// that was given the same inode.
    pub born: i64,
}

/// An entry of mine and what is behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnEntry {
    /// As it is announced.
    pub entry: Entry,
    /// The object behind it.
    pub object: Object,
}

/// What the disk says of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    /// Which object.
    pub object: Object,
    /// Bytes of content.
    pub size: u64,
    /// Permission bits, 0 to 0o7777.
    pub mode: u16,
    /// Owner.
    pub user: u32,
    /// Group.
    pub group: u32,
    /// Names it has.
    pub links: u32,
    /// Blocks of 512 bytes that it takes.
    pub blocks: u64,
    /// Last read.
    pub accessed: Timestamp,
    /// Last change of content.
    pub modified: Timestamp,
    /// Last change of anything.
    pub changed: Timestamp,
}

/// A share as its owner sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareInfo {
    /// The shared path, canonical.
    pub path: PathBuf,
    /// Its root's id.
    pub root: EntryId,
    /// A folder, or a single file.
    pub folder: bool,
    /// Who sees it, and how.
    pub grants: Vec<Grant>,
    /// Whether it can be reached and is known.
    pub state: ShareState,
    /// How its changes are noticed.
    pub watch: WatchState,
    /// Entries known, the root included.
    pub entries: u64,
    /// What is in it on disk and is not shared: devices, FIFOs and sockets, other file systems mounted below,
    /// Farhold's own folders, folders that are too deep.
    pub skipped: u64,
    /// Folders that could not be read at their last scan; what was known of them is kept.
    pub unreadable: u64,
}

/// One contact's right to a share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Who.
    pub contact: ContactId,
    /// By which name.
    pub name: Name,
    /// May write below it.
    pub writable: bool,
}

/// Whether a share can be reached and is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShareState {
    /// Its first scan is under way; contacts see it afterwards.
    Scanning,
    /// Known and served.
    Ready,
    /// Its root is missing, unreadable or on another device than it was: contacts see it as unavailable.
    Unavailable,
}

/// How changes of a share are noticed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchState {
    /// By the system's notifications.
    Watched,
    /// By scanning from time to time, because notifications failed.
    Polled {
        /// Why.
        reason: String,
    },
}
