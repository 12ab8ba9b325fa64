//! What commands take and answer.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use farhold_engine::commands::{DrivePath, Listed, ListedKind, Share, ShareRequest, ShareState};
use farhold_wire::{Name, Timestamp};

use super::{FromProto, Malformed, ToProto, all, pb};

/// Entries in one message of a listing.
pub(crate) const LISTED_AT_ONCE: usize = 1024;

pub(crate) fn path_to(path: &Path) -> Bytes {
    Bytes::copy_from_slice(path.as_os_str().as_bytes())
}

/// Relative paths would be of the engine's working directory, not of the caller's.
pub(crate) fn path_from(bytes: Bytes) -> Result<PathBuf, Malformed> {
    let path = PathBuf::from(OsString::from_vec(bytes.into()));
    if path.is_absolute() { Ok(path) } else { Err(Malformed("absolute path")) }
}

pub(crate) fn drive_path_to(path: &DrivePath) -> Bytes {
    path.to_bytes().into()
}

pub(crate) fn drive_path_from(bytes: Bytes) -> Result<DrivePath, Malformed> {
    DrivePath::parse(OsStr::from_bytes(&bytes)).map_err(|_| Malformed("path in the drive"))
}

fn name_to(name: &Name) -> Bytes {
    Bytes::copy_from_slice(name.as_bytes())
}

fn name_from(bytes: Bytes) -> Result<Name, Malformed> {
    Name::new(bytes).map_err(|_| Malformed("name"))
}

impl ToProto for ShareRequest {
    type Message = pb::ShareRequest;

    fn to_proto(self) -> pb::ShareRequest {
        pb::ShareRequest {
            paths: self.paths.iter().map(|path| path_to(path)).collect(),
            with: self.with,
            name: self.name.as_ref().map(name_to),
            writable: self.writable,
        }
    }
}

impl FromProto for ShareRequest {
    type Message = pb::ShareRequest;

    fn from_proto(request: pb::ShareRequest) -> Result<Self, Malformed> {
        Ok(Self {
            paths: request.paths.into_iter().map(path_from).collect::<Result<_, _>>()?,
            with: request.with,
            name: request.name.map(name_from).transpose()?,
            writable: request.writable,
        })
    }
}

impl ToProto for Share {
    type Message = pb::Share;

    fn to_proto(self) -> pb::Share {
        let state = match self.state {
            ShareState::Scanning => pb::ShareState::Scanning,
            ShareState::Ready => pb::ShareState::Ready,
            ShareState::Unavailable => pb::ShareState::Unavailable,
        };
        pb::Share {
            path: path_to(&self.path),
            with: self.with,
            name: name_to(&self.name),
            writable: self.writable,
            state: state.into(),
            entries: self.entries,
        }
    }
}

impl FromProto for Share {
    type Message = pb::Share;

    fn from_proto(share: pb::Share) -> Result<Self, Malformed> {
        let state = match share.state() {
            pb::ShareState::Scanning => ShareState::Scanning,
            pb::ShareState::Ready => ShareState::Ready,
            pb::ShareState::Unavailable => ShareState::Unavailable,
            pb::ShareState::Unspecified => return Err(Malformed("share state")),
        };
        Ok(Self {
            path: path_from(share.path)?,
            with: share.with,
            name: name_from(share.name)?,
            writable: share.writable,
            state,
            entries: share.entries,
        })
    }
}

pub(crate) fn shares_to(shares: Vec<Share>) -> pb::SharesReply {
    pb::SharesReply { shares: shares.into_iter().map(ToProto::to_proto).collect() }
}

pub(crate) fn shares_from(reply: pb::SharesReply) -> Result<Vec<Share>, Malformed> {
    all(reply.shares)
}

impl ToProto for Listed {
    type Message = pb::Listed;

    fn to_proto(self) -> pb::Listed {
        let kind = match self.kind {
            ListedKind::Folder => pb::ListedKind::Folder,
            ListedKind::File => pb::ListedKind::File,
            ListedKind::Symlink => pb::ListedKind::Symlink,
        };
        pb::Listed {
            name: name_to(&self.name),
            kind: kind.into(),
            size: self.size,
            modified_seconds: self.modified.seconds,
            modified_nanos: self.modified.nanos,
            mode: self.mode.into(),
        }
    }
}

impl FromProto for Listed {
    type Message = pb::Listed;

    fn from_proto(listed: pb::Listed) -> Result<Self, Malformed> {
        let kind = match listed.kind() {
            pb::ListedKind::Folder => ListedKind::Folder,
            pb::ListedKind::File => ListedKind::File,
            pb::ListedKind::Symlink => ListedKind::Symlink,
            pb::ListedKind::Unspecified => return Err(Malformed("kind")),
        };
        Ok(Self {
            name: name_from(listed.name)?,
            kind,
            size: listed.size,
            modified: Timestamp { seconds: listed.modified_seconds, nanos: listed.modified_nanos },
            mode: u16::try_from(listed.mode).map_err(|_| Malformed("mode"))?,
        })
    }
}
