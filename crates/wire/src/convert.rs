//! Between the generated messages and the checked types.

use bytes::Bytes;

use crate::limits;
use crate::proto::peer as pb;
use crate::types::{
    Batch, Change, Entry, EntryId, EntryKind, LaneClass, Name, NameError, Position, ReadFailure, ReadHead,
    ReadRequest, Space, Timestamp, Version,
};

/// What a message from outside breaks. Any of these ends the lane or call that it came on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// A field that must be there is not.
    #[error("a message lacks its {0}")]
    Missing(&'static str),
    /// Bytes of a fixed length have another.
    #[error("a message's {0} has the wrong length")]
    Length(&'static str),
    /// Over a limit.
    #[error("a message's {0} is too large")]
    TooLarge(&'static str),
    /// A value that is none of those agreed.
    #[error("a message's {0} is unknown")]
    Unknown(&'static str),
    /// A name that is none.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Bytes that are no message at all.
    #[error("a message cannot be decoded")]
    Malformed,
}

/// Takes exactly `N` bytes.
pub fn array<const N: usize>(bytes: &[u8], what: &'static str) -> Result<[u8; N], WireError> {
    bytes.try_into().map_err(|_| WireError::Length(what))
}

/// An entry id, or `None` for the top level.
pub fn parent_from(bytes: &[u8]) -> Result<Option<EntryId>, WireError> {
    if bytes.is_empty() {
        return Ok(None);
    }
    Ok(Some(EntryId(array(bytes, "parent id")?)))
}

/// The opposite of [`parent_from`].
pub fn parent_to(parent: Option<EntryId>) -> Bytes {
    parent.map_or_else(Bytes::new, id_to)
}

pub(crate) fn id_to(id: EntryId) -> Bytes {
    Bytes::copy_from_slice(&id.0)
}

impl From<Version> for pb::Version {
    fn from(version: Version) -> Self {
        Self { epoch: version.epoch, counter: version.counter }
    }
}

impl From<pb::Version> for Version {
    fn from(version: pb::Version) -> Self {
        Self { epoch: version.epoch, counter: version.counter }
    }
}

impl From<Position> for pb::Position {
    fn from(position: Position) -> Self {
        Self { epoch: position.epoch, sequence: position.sequence }
    }
}

impl From<pb::Position> for Position {
    fn from(position: pb::Position) -> Self {
        Self { epoch: position.epoch, sequence: position.sequence }
    }
}

impl From<Space> for pb::Space {
    fn from(space: Space) -> Self {
        Self { total_bytes: space.total_bytes, free_bytes: space.free_bytes }
    }
}

impl From<pb::Space> for Space {
    fn from(space: pb::Space) -> Self {
        Self { total_bytes: space.total_bytes, free_bytes: space.free_bytes }
    }
}

impl From<Entry> for pb::Entry {
    fn from(entry: Entry) -> Self {
        let (kind, size, link_target) = match entry.kind {
            EntryKind::Folder => (pb::Kind::Folder, 0, Bytes::new()),
            EntryKind::File { size } => (pb::Kind::File, size, Bytes::new()),
            EntryKind::Symlink { target } => (pb::Kind::Symlink, 0, target.unwrap_or_default()),
        };
        Self {
            id: id_to(entry.id),
            parent: parent_to(entry.parent),
            name: entry.name.into_bytes(),
            kind: kind.into(),
            version: Some(entry.version.into()),
            incarnation: entry.incarnation,
            size,
            modified_seconds: entry.modified.seconds,
            modified_nanos: entry.modified.nanos,
            mode: entry.mode.into(),
            link_target,
            writable: entry.writable,
            unavailable: entry.unavailable,
        }
    }
}

impl TryFrom<pb::Entry> for Entry {
    type Error = WireError;

    fn try_from(entry: pb::Entry) -> Result<Self, WireError> {
        let kind = match entry.kind() {
            pb::Kind::Folder => EntryKind::Folder,
            pb::Kind::File if entry.size <= limits::FILE_BYTES => EntryKind::File { size: entry.size },
            pb::Kind::File => return Err(WireError::TooLarge("size")),
            pb::Kind::Symlink => EntryKind::Symlink { target: link_target(&entry.link_target)? },
            pb::Kind::Unspecified => return Err(WireError::Unknown("kind")),
        };
        if entry.modified_nanos > 999_999_999 {
            return Err(WireError::TooLarge("time"));
        }
        Ok(Self {
            id: EntryId(array(&entry.id, "entry id")?),
            parent: parent_from(&entry.parent)?,
            // Copied: a name kept must not keep the whole message that it came in.
            name: Name::new(Bytes::copy_from_slice(&entry.name))?,
            kind,
            version: entry.version.ok_or(WireError::Missing("version"))?.into(),
            incarnation: entry.incarnation,
            modified: Timestamp { seconds: entry.modified_seconds, nanos: entry.modified_nanos },
            mode: u16::try_from(entry.mode & 0o777).unwrap_or(0),
            writable: entry.writable,
            unavailable: entry.unavailable,
        })
    }
}

/// A link's target must be relative; whether it stays inside its share depends on where the link stands, and is
/// checked by whoever resolves it.
fn link_target(target: &Bytes) -> Result<Option<Bytes>, WireError> {
    if target.len() > limits::LINK_TARGET_BYTES {
        return Err(WireError::TooLarge("link target"));
    }
    if target.starts_with(b"/") || target.contains(&0) {
        return Err(WireError::Unknown("link target"));
    }
    Ok((!target.is_empty()).then(|| Bytes::copy_from_slice(target)))
}

impl From<Change> for pb::Change {
    fn from(change: Change) -> Self {
        let change = match change {
            Change::Put(entry) => pb::change::Change::Put(entry.into()),
            Change::Remove(id) => pb::change::Change::Remove(id_to(id)),
        };
        Self { change: Some(change) }
    }
}

impl TryFrom<pb::Change> for Change {
    type Error = WireError;

    fn try_from(change: pb::Change) -> Result<Self, WireError> {
        match change.change.ok_or(WireError::Missing("change"))? {
            pb::change::Change::Put(entry) => Ok(Self::Put(entry.try_into()?)),
            pb::change::Change::Remove(id) => Ok(Self::Remove(EntryId(array(&id, "entry id")?))),
        }
    }
}

impl From<Batch> for pb::CatalogBatch {
    fn from(batch: Batch) -> Self {
        Self {
            position: Some(batch.position.into()),
            changes: batch.changes.into_iter().map(Into::into).collect(),
            snapshot_begin: batch.snapshot_begin,
            snapshot_end: batch.snapshot_end,
            space: batch.space.map(Into::into),
        }
    }
}

impl TryFrom<pb::CatalogBatch> for Batch {
    type Error = WireError;

    fn try_from(batch: pb::CatalogBatch) -> Result<Self, WireError> {
        if batch.changes.len() > limits::BATCH_CHANGES {
            return Err(WireError::TooLarge("batch"));
        }
        Ok(Self {
            position: batch.position.ok_or(WireError::Missing("position"))?.into(),
            changes: batch.changes.into_iter().map(TryInto::try_into).collect::<Result<_, _>>()?,
            snapshot_begin: batch.snapshot_begin,
            snapshot_end: batch.snapshot_end,
            space: batch.space.map(Into::into),
        })
    }
}

/// A page of a listing, checked.
pub fn page_from(page: pb::ListPage) -> Result<Vec<Entry>, WireError> {
    if page.entries.len() > limits::BATCH_CHANGES {
        return Err(WireError::TooLarge("page"));
    }
    page.entries.into_iter().map(TryInto::try_into).collect()
}

impl From<ReadRequest> for pb::ReadRequest {
    fn from(request: ReadRequest) -> Self {
        Self {
            entry: id_to(request.entry),
            version: Some(request.version.into()),
            offset: request.offset,
            length: request.length,
        }
    }
}

impl TryFrom<pb::ReadRequest> for ReadRequest {
    type Error = WireError;

    fn try_from(request: pb::ReadRequest) -> Result<Self, WireError> {
        if request.length > limits::READ_BYTES {
            return Err(WireError::TooLarge("read length"));
        }
        if request.offset > limits::FILE_BYTES - u64::from(request.length) {
            return Err(WireError::TooLarge("read offset"));
        }
        Ok(Self {
            entry: EntryId(array(&request.entry, "entry id")?),
            version: request.version.ok_or(WireError::Missing("version"))?.into(),
            offset: request.offset,
            length: request.length,
        })
    }
}

impl From<ReadHead> for pb::ReadHead {
    fn from(head: ReadHead) -> Self {
        Self { entry: Some(head.entry.into()), length: head.length }
    }
}

impl TryFrom<pb::ReadHead> for ReadHead {
    type Error = WireError;

    fn try_from(head: pb::ReadHead) -> Result<Self, WireError> {
        if head.length > limits::READ_BYTES {
            return Err(WireError::TooLarge("read length"));
        }
        Ok(Self { entry: head.entry.ok_or(WireError::Missing("entry"))?.try_into()?, length: head.length })
    }
}

impl From<ReadFailure> for pb::ReadFailure {
    fn from(failure: ReadFailure) -> Self {
        match failure {
            ReadFailure::NotFound => Self::NotFound,
            ReadFailure::Changed => Self::Changed,
            ReadFailure::Unavailable => Self::Unavailable,
            ReadFailure::Denied => Self::Denied,
            ReadFailure::Busy => Self::Busy,
            ReadFailure::Internal => Self::Internal,
        }
    }
}

impl From<pb::ReadFailure> for ReadFailure {
    fn from(failure: pb::ReadFailure) -> Self {
        match failure {
            pb::ReadFailure::NotFound => Self::NotFound,
            pb::ReadFailure::Changed => Self::Changed,
            pb::ReadFailure::Unavailable => Self::Unavailable,
            pb::ReadFailure::Denied => Self::Denied,
            pb::ReadFailure::Busy => Self::Busy,
            pb::ReadFailure::Internal | pb::ReadFailure::Unspecified => Self::Internal,
        }
    }
}

impl From<LaneClass> for pb::LaneClass {
    fn from(class: LaneClass) -> Self {
        match class {
            LaneClass::Urgent => Self::Urgent,
            LaneClass::Bulk => Self::Bulk,
        }
    }
}

impl TryFrom<pb::LaneClass> for LaneClass {
    type Error = WireError;

    fn try_from(class: pb::LaneClass) -> Result<Self, WireError> {
        match class {
            pb::LaneClass::Urgent => Ok(Self::Urgent),
            pb::LaneClass::Bulk => Ok(Self::Bulk),
            pb::LaneClass::Unspecified => Err(WireError::Unknown("lane class")),
        }
    }
}

#[cfg(test)]
mod tests;
