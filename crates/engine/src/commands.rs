//! What commands take and answer, beside the status. The field names are what the commands print with `--json`.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use farhold_wire::{Name, NameError, Timestamp};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::status::lossy_path;

/// Something in the drive, as `NAME[/PATH]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrivePath {
    /// The contact whose folder it is in.
    pub contact: String,
    /// The names below that folder.
    pub below: Vec<Name>,
}

/// Why a text is no path in the drive.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DrivePathError {
    /// It does not begin with a contact's name.
    #[error("a path in the drive begins with a contact's name: NAME/PATH")]
    NoContact,
    /// One of its parts is no name.
    #[error(transparent)]
    Name(#[from] NameError),
}

impl DrivePath {
    /// Parses `NAME[/PATH]`; slashes at the end and doubled ones mean nothing.
    ///
    /// # Errors
    /// [`DrivePathError`].
    pub fn parse(text: &OsStr) -> Result<Self, DrivePathError> {
        let mut parts = text.as_bytes().split(|byte| *byte == b'/');
        let contact = parts.next().and_then(|part| std::str::from_utf8(part).ok()).unwrap_or_default();
        if contact.is_empty() {
            return Err(DrivePathError::NoContact);
        }
        let names = parts.filter(|part| !part.is_empty()).map(|part| Name::new(part.to_vec()));
        Ok(Self { contact: contact.to_owned(), below: names.collect::<Result<_, _>>()? })
    }

    /// The text that [`DrivePath::parse`] takes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.contact.as_bytes().to_vec();
        for name in &self.below {
            bytes.push(b'/');
            bytes.extend_from_slice(name.as_bytes());
        }
        bytes
    }
}

impl fmt::Display for DrivePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.to_bytes()))
    }
}

/// A contact, as it was saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ContactAdded {
    /// What the user calls it.
    pub name: String,
    /// Its code.
    pub code: String,
}

/// What contacts' bytes may take of the network, in bytes per second; `None` for as much as there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct RateLimits {
    /// What is received.
    pub receive: Option<u64>,
    /// What is sent.
    pub send: Option<u64>,
}

/// A change of [`RateLimits`]; what is `None` stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RateChange {
    /// What is received.
    pub receive: Option<Option<u64>>,
    /// What is sent.
    pub send: Option<Option<u64>>,
}

/// A program that has something of the drive open, or works in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Holder {
    /// Its process number.
    pub pid: u32,
    /// Its name, as the system tells it.
    pub program: String,
    /// What it has open, or the folder that it works in.
    #[serde(serialize_with = "lossy_path")]
    pub file: PathBuf,
}

/// How unmounting ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unmounted {
    /// Whether the drive is unmounted now.
    pub unmounted: bool,
    /// Who uses the drive, so that it stays mounted, or used it when it was unmounted nevertheless. The system may
    /// hide other users' programs.
    pub holders: Vec<Holder>,
}

/// What to share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareRequest {
    /// Files and folders, as absolute paths.
    pub paths: Vec<PathBuf>,
    /// With whom; may be left out while there is one contact only.
    pub with: Option<String>,
    /// What the contact sees it as; the path's last part otherwise. Only with a single path.
    pub name: Option<Name>,
    /// Whether the contact may write below it.
    pub writable: bool,
}

/// One path shared with one contact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Share {
    /// Where it lies.
    #[serde(serialize_with = "lossy_path")]
    pub path: PathBuf,
    /// With whom.
    pub with: String,
    /// What the contact sees it as.
    #[serde(serialize_with = "lossy_name")]
    pub name: Name,
    /// Whether the contact may write below it.
    pub writable: bool,
    /// Whether it can be reached now.
    pub state: ShareState,
    /// Entries known, the shared one included.
    pub entries: u64,
}

/// Whether a share can be reached and is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ShareState {
    /// Its first scan is under way; the contact sees it afterwards.
    Scanning,
    /// The contact sees it.
    Ready,
    /// It is missing, unreadable or on another device than it was.
    Unavailable,
}

/// What something in the drive is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ListedKind {
    /// Holds others.
    Folder,
    /// Has content.
    File,
    /// Points to another.
    Symlink,
}

/// One line of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: Name,
    /// What it is.
    pub kind: ListedKind,
    /// Bytes of content; 0 of a folder.
    pub size: u64,
    /// Last change of content.
    pub modified: Timestamp,
    /// Permission bits.
    pub mode: u16,
}

impl Serialize for Listed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.name.to_string())?;
        // JSON has no bytes: a name that is no UTF-8 is given whole beside its readable form.
        if std::str::from_utf8(self.name.as_bytes()).is_err() {
            map.serialize_entry("name_hex", &hex(self.name.as_bytes()))?;
        }
        map.serialize_entry("kind", &self.kind)?;
        map.serialize_entry("size", &self.size)?;
        map.serialize_entry("modified", &self.modified.seconds)?;
        map.serialize_entry("mode", &format!("{:04o}", self.mode))?;
        map.end()
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn lossy_name<S: Serializer>(name: &Name, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &[u8]) -> Result<DrivePath, DrivePathError> {
        DrivePath::parse(OsStr::from_bytes(text))
    }

    #[test]
    fn paths_in_the_drive_are_parsed_and_written_back() {
        let path = parse(b"ben//Photos/a\xff/").unwrap();
        assert_eq!(path.contact, "ben");
        assert_eq!(path.to_bytes(), b"ben/Photos/a\xff");
        assert_eq!(parse(&path.to_bytes()).unwrap(), path);
        assert_eq!(parse(b"ben").unwrap().below, []);
    }

    #[test]
    fn what_leads_elsewhere_is_no_path_in_the_drive() {
        for text in [b"".as_slice(), b"/etc", b"\xff/a"] {
            assert_eq!(parse(text), Err(DrivePathError::NoContact));
        }
        assert_eq!(parse(b"ben/../x"), Err(DrivePathError::Name(NameError::Dots)));
        assert_eq!(parse(b"ben/a\0"), Err(DrivePathError::Name(NameError::Separator)));
    }

    #[test]
    fn a_name_that_is_no_text_is_given_whole() {
        let listed = Listed {
            name: Name::new(b"a\xff".to_vec()).unwrap(),
            kind: ListedKind::File,
            size: 3,
            modified: Timestamp { seconds: -1, nanos: 0 },
            mode: 0o644,
        };
        let json = serde_json::to_value(&listed).unwrap();
        assert_eq!(json["name"], "a\u{fffd}");
        assert_eq!(json["name_hex"], "61ff");
        assert_eq!(json["mode"], "0644");
    }
}
