//! Checked types of the catalog and of reading.

use std::fmt;

use bytes::Bytes;

use crate::limits;

/// A saved contact, as this program names it: the first 16 bytes of the contact's code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContactId(pub [u8; 16]);

/// An entry of a space: random, made at its home, never reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId(pub [u8; 16]);

macro_rules! hex_debug {
    ($name:ident) => {
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }
    };
}
hex_debug!(ContactId);
hex_debug!(EntryId);

/// A version of an entry's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Version {
    /// The epoch of the home's catalog.
    pub epoch: u64,
    /// Rises with every change of content.
    pub counter: u64,
}

/// Where a replica of a catalog stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The epoch of the home's catalog: random, new when a catalog was lost.
    pub epoch: u64,
    /// Number of the last change applied.
    pub sequence: u64,
}

/// Why bytes are no entry name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing there.
    #[error("a name must not be empty")]
    Empty,
    /// Over [`limits::NAME_BYTES`].
    #[error("a name must not be longer than 255 bytes")]
    TooLong,
    /// Holds `/` or NUL.
    #[error("a name must not hold '/' or NUL")]
    Separator,
    /// `.` or `..`.
    #[error("a name must not be '.' or '..'")]
    Dots,
}

/// The name of one entry in its folder: 1 to 255 bytes, without `/` and NUL, not `.` or `..`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Bytes);

impl Name {
    /// Checks and takes `bytes` as a name.
    pub fn new(bytes: impl Into<Bytes>) -> Result<Self, NameError> {
        let bytes = bytes.into();
        if bytes.is_empty() {
            return Err(NameError::Empty);
        }
        if bytes.len() > limits::NAME_BYTES {
            return Err(NameError::TooLong);
        }
        if bytes.iter().any(|byte| matches!(byte, b'/' | 0)) {
            return Err(NameError::Separator);
        }
        if matches!(bytes.as_ref(), b"." | b"..") {
            return Err(NameError::Dots);
        }
        Ok(Self(bytes))
    }

    /// The bytes, as the home has them.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn into_bytes(self) -> Bytes {
        self.0
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(&self.0))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

/// A point in time; before 1970 the seconds are negative and the nanoseconds still count forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Timestamp {
    /// Whole seconds since 1970.
    pub seconds: i64,
    /// 0 to 999,999,999.
    pub nanos: u32,
}

/// What an entry is. Devices, FIFOs and sockets are never entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    /// Holds other entries.
    Folder,
    /// Has content.
    File {
        /// Bytes of content.
        size: u64,
    },
    /// Points to another entry.
    Symlink {
        /// Relative, inside its own share; `None` if it leads out of it, which is not told.
        target: Option<Bytes>,
    },
}

/// One entry as its home announces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its id.
    pub id: EntryId,
    /// The folder that holds it; `None` at the top level.
    pub parent: Option<EntryId>,
    /// Its name there.
    pub name: Name,
    /// What it is.
    pub kind: EntryKind,
    /// Version of its content and attributes.
    pub version: Version,
    /// Rises when a rename put another object in its place.
    pub incarnation: u64,
    /// Last change of content.
    pub modified: Timestamp,
    /// Permission bits (0 to 0o777).
    pub mode: u16,
    /// Of a top-level entry: the contact may write below it.
    pub writable: bool,
    /// Of a top-level entry: its home cannot reach it now.
    pub unavailable: bool,
}

/// One step of a catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The entry is now so (new, moved or changed).
    Put(Entry),
    /// The entry is gone, with everything below it.
    Remove(EntryId),
}

/// Room on a home's disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Space {
    /// Size of the file system, in bytes.
    pub total_bytes: u64,
    /// Room for the sharing user, in bytes.
    pub free_bytes: u64,
}

/// Changes that are applied as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Where the receiver stands afterwards.
    pub position: Position,
    /// In order: moves before removals.
    pub changes: Vec<Change>,
    /// First batch of a snapshot: what the snapshot does not name until its end is gone.
    pub snapshot_begin: bool,
    /// Last batch of a snapshot.
    pub snapshot_end: bool,
    /// Room at home, if it changed noticeably.
    pub space: Option<Space>,
}

/// A range of an entry's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadRequest {
    /// Whose content.
    pub entry: EntryId,
    /// Which version is wanted.
    pub version: Version,
    /// First byte.
    pub offset: u64,
    /// How many bytes, at most [`limits::READ_BYTES`].
    pub length: u32,
}

/// What precedes the bytes of a read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadHead {
    /// The entry whose version the bytes are of: newer than asked if the asked one is gone.
    pub entry: Entry,
    /// How many bytes follow; less than asked only at the end of the file.
    pub length: u32,
}

/// Why a read ended without all of its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReadFailure {
    /// No such entry for this contact.
    #[error("no such entry")]
    NotFound,
    /// The content changed while it was read.
    #[error("the content changed while it was read")]
    Changed,
    /// The share's root is missing or unreadable.
    #[error("the share is not available at its home")]
    Unavailable,
    /// The home may not read it.
    #[error("the home may not read it")]
    Denied,
    /// Too many requests at once.
    #[error("too many requests at once")]
    Busy,
    /// The home failed otherwise.
    #[error("the home failed to read it")]
    Internal,
}

/// What a lane is for; more urgent lanes are never queued behind less urgent ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LaneClass {
    /// Calls that somebody waits for: metadata and demand reads.
    Urgent,
    /// Read-ahead and transfers.
    Bulk,
}

/// What a home answers to a read, in order: one head, then its bytes in pieces of at most [`limits::PART_BYTES`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadPart {
    /// Whose bytes follow, and how many.
    Head(ReadHead),
    /// The next bytes.
    Data(Bytes),
}
