//! Transfers as they are kept over restarts: one JSON file, replaced as a whole. How far the files of a transfer are
//! is not in it: that is told by what lies at the destination, and by the journals of large files.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use farhold_wire::{ContactId, Name, TransferKey};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::status::{Direction, TransferId, TransferState};
use crate::error::ErrorClass;
use crate::files;

const FORMAT: u32 = 1;
/// Largest file that is read: far more than the most transfers take.
const FILE_BYTES: u64 = 64 << 20;

/// What a transfer is to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Job {
    /// Fetch what lies at `below` in the contact's trees, as `name` in `folder`.
    Pull {
        below: Vec<Hex>,
        folder: Hex,
        name: Hex,
        /// Something may be at its place that is of this transfer.
        begun: bool,
    },
    /// Offer what lies at `path`.
    Push { path: Hex },
    /// Let the user decide on what the contact offers.
    Offered,
    /// Fetch what the contact offers into `folder`; `name` is chosen when it begins.
    Receive { folder: Hex, name: Option<Hex> },
    /// The contact fetches from here.
    Serve,
}

impl Job {
    pub(crate) fn direction(&self) -> Direction {
        match self {
            Self::Pull { .. } => Direction::Pull,
            Self::Push { .. } => Direction::Push,
            Self::Offered | Self::Receive { .. } => Direction::Receive,
            Self::Serve => Direction::Serve,
        }
    }

    /// Whether it is known where it lands here.
    pub(crate) fn has_destination(&self) -> bool {
        matches!(self, Self::Pull { .. } | Self::Receive { name: Some(_), .. })
    }

    /// Where it lands here, once that is known.
    pub(crate) fn destination(&self) -> Option<PathBuf> {
        match self {
            Self::Pull { folder, name, .. } | Self::Receive { folder, name: Some(name) } => {
                Some(folder.path().join(name.path()))
            }
            Self::Push { .. } | Self::Offered | Self::Receive { name: None, .. } | Self::Serve => None,
        }
    }
}

/// One transfer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) id: TransferId,
    /// What both sides call it.
    #[serde(with = "hex16")]
    pub(crate) key: [u8; 16],
    /// In the names of its part files; never told to anybody, so that nobody can choose a name that is one.
    pub(crate) tag: u64,
    #[serde(with = "hex16")]
    pub(crate) contact: [u8; 16],
    /// Name of the file or folder at its home.
    pub(crate) name: Hex,
    pub(crate) job: Job,
    pub(crate) state: TransferState,
    pub(crate) reason: Option<String>,
    /// Of one that failed here.
    #[serde(default)]
    pub(crate) class: Option<ErrorClass>,
    /// The other side paused it.
    #[serde(default)]
    pub(crate) paused_there: bool,
    /// Of what is received: the user took this one on, whatever else the contact may push.
    #[serde(default)]
    pub(crate) accepted: bool,
    /// The user wants to see it no more; it goes once it is clean.
    #[serde(default)]
    pub(crate) forgotten: bool,
    /// It was given up, and what it left has not been removed yet.
    #[serde(default)]
    pub(crate) unclean: bool,
    pub(crate) files_done: u64,
    pub(crate) files: u64,
    pub(crate) bytes_done: u64,
    pub(crate) bytes: u64,
}

impl Record {
    pub(crate) fn contact(&self) -> ContactId {
        ContactId(self.contact)
    }

    pub(crate) fn key(&self) -> TransferKey {
        TransferKey(self.key)
    }

    pub(crate) fn direction(&self) -> Direction {
        self.job.direction()
    }
}

/// Bytes of a name or path: they need not be UTF-8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hex(pub(crate) Vec<u8>);

impl Hex {
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(OsString::from_vec(self.0.clone()))
    }

    pub(crate) fn lossy(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }

    /// `None` if a file was changed by hand.
    pub(crate) fn name(&self) -> Option<Name> {
        Name::new(self.0.clone()).ok()
    }
}

impl From<&Path> for Hex {
    fn from(path: &Path) -> Self {
        Self(path.as_os_str().as_bytes().to_vec())
    }
}

impl From<&Name> for Hex {
    fn from(name: &Name) -> Self {
        Self(name.as_bytes().to_vec())
    }
}

impl Serialize for Hex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&to_hex(&self.0))
    }
}

impl<'de> Deserialize<'de> for Hex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        from_hex(&text).map(Self).ok_or_else(|| serde::de::Error::custom("no hexadecimal digits"))
    }
}

/// A push that went off the list, and is not received again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Former {
    #[serde(with = "hex16")]
    pub(crate) contact: [u8; 16],
    #[serde(with = "hex16")]
    pub(crate) key: [u8; 16],
    /// It is in its place; otherwise it was given up.
    pub(crate) done: bool,
}

mod hex16 {
    use super::{Deserialize, Deserializer, Serializer, from_hex, to_hex};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8; 16], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&to_hex(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u8; 16], D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = from_hex(&text).and_then(|bytes| bytes.try_into().ok());
        bytes.ok_or_else(|| serde::de::Error::custom("not 16 bytes"))
    }
}

pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    if rest.is_empty() { pairs.iter().map(byte).collect() } else { None }
}

/// All transfers of an engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct List {
    format: u32,
    pub(crate) next: u64,
    pub(crate) transfers: Vec<Record>,
    /// The oldest first.
    #[serde(default)]
    pub(crate) former: Vec<Former>,
}

impl List {
    pub(crate) fn new(next: u64, transfers: Vec<Record>, former: Vec<Former>) -> Self {
        Self { format: FORMAT, next, transfers, former }
    }

    /// The list at `path`; an empty one where there is none. One that cannot be understood is set aside: what it
    /// moved lies at its destinations, and can be asked for again.
    pub(crate) fn load(path: &Path) -> io::Result<Self> {
        let Some(text) = files::read(path, FILE_BYTES)? else {
            return Ok(Self::new(1, Vec::new(), Vec::new()));
        };
        match serde_json::from_slice::<Self>(&text) {
            Ok(list) if list.format == FORMAT => Ok(list),
            Ok(_) | Err(_) => {
                tracing::error!("the list of transfers cannot be understood and was set aside");
                std::fs::rename(path, path.with_extension("json.damaged"))?;
                Ok(Self::new(1, Vec::new(), Vec::new()))
            }
        }
    }

    pub(crate) fn save(&self, path: &Path) -> io::Result<()> {
        files::replace(path, &serde_json::to_vec(self)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back_and_what_is_damaged_is_set_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("transfers.json");
        assert_eq!(List::load(&path).unwrap(), List::new(1, vec![], vec![]));
        let record = Record {
            id: TransferId(7),
            key: [1; 16],
            tag: 9,
            contact: [2; 16],
            name: Hex(b"a\xff".to_vec()),
            job: Job::Receive { folder: Hex(b"/in".to_vec()), name: None },
            state: TransferState::Paused,
            reason: Some("why".to_owned()),
            class: Some(ErrorClass::NotFound),
            paused_there: true,
            accepted: true,
            forgotten: true,
            unclean: false,
            files_done: 1,
            files: 2,
            bytes_done: 3,
            bytes: 4,
        };
        let former = Former { contact: [2; 16], key: [3; 16], done: true };
        let offered = Record { job: Job::Offered, ..record.clone() };
        let list = List::new(8, vec![record, offered], vec![former]);
        list.save(&path).unwrap();
        assert_eq!(List::load(&path).unwrap(), list);

        std::fs::write(&path, b"{\"format\":1,\"next\":1,\"transfers\":[{}]}").unwrap();
        assert_eq!(List::load(&path).unwrap(), List::new(1, vec![], vec![]));
        assert!(folder.path().join("transfers.json.damaged").exists());
        assert_eq!(from_hex("0g"), None);
        assert_eq!(from_hex("0"), None);
    }
}
