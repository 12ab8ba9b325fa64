//! The list of shares beside the database: what the user decided, in case the database is lost. It is written
//! whenever the shares change and read only when a database had to be begun anew.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use farhold_wire::{ContactId, Name};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use super::disk::Origin;
use super::schema::{GrantRow, Share};
use crate::CatalogError;

const FORMAT: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
struct List {
    format: u32,
    shares: Vec<Listed>,
}

/// A share as the list has it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Listed {
    path: Text,
    pub(crate) folder: bool,
    device: u64,
    system: u64,
    inode: u64,
    born: i64,
    grants: Vec<ListedGrant>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ListedGrant {
    contact: String,
    name: Text,
    writable: bool,
}

/// Bytes that mostly are text.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Text {
    Utf8(String),
    Bytes(Vec<u8>),
}

impl Text {
    fn new(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Utf8(text.to_owned()),
            Err(_) => Self::Bytes(bytes.to_owned()),
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::Utf8(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

impl Listed {
    pub(crate) fn path(&self) -> PathBuf {
        Path::new(OsStr::from_bytes(self.path.bytes())).to_owned()
    }

    pub(crate) fn origin(&self) -> Origin {
        Origin { device: self.device, system: self.system, inode: self.inode, born: self.born }
    }

    /// Contact, shown name and right; what cannot be understood is left out.
    pub(crate) fn grants(&self) -> impl Iterator<Item = (ContactId, Name, bool)> {
        self.grants.iter().filter_map(|grant| {
            let contact = ContactId(u128::from_str_radix(&grant.contact, 16).ok()?.to_be_bytes());
            Some((contact, Name::new(grant.name.bytes().to_owned()).ok()?, grant.writable))
        })
    }
}

fn path(folder: &Path) -> PathBuf {
    folder.join("shares.json")
}

/// Writes the list as the database has it, whole or not at all.
pub(crate) fn write(connection: &Connection, folder: &Path) -> Result<(), CatalogError> {
    let mut shares = Vec::new();
    for share in Share::all(connection)? {
        let grants = GrantRow::of_share(connection, share.share)?;
        shares.push(Listed {
            path: Text::new(share.path.as_os_str().as_bytes()),
            folder: share.folder,
            device: share.origin.device,
            system: share.origin.system,
            inode: share.origin.inode,
            born: share.origin.born,
            grants: grants
                .into_iter()
                .map(|grant| ListedGrant {
                    contact: grant.contact.to_string(),
                    name: Text::new(grant.name.as_bytes()),
                    writable: grant.writable,
                })
                .collect(),
        });
    }
    replace(&path(folder), &List { format: FORMAT, shares }).map_err(CatalogError::Disk)
}

fn replace(path: &Path, list: &List) -> io::Result<()> {
    let beside = path.with_extension("json.new");
    let mut file = File::create(&beside)?;
    file.write_all(&serde_json::to_vec_pretty(list)?)?;
    file.sync_all()?;
    std::fs::rename(&beside, path)?;
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// The shares listed; none if there is no list. A list that cannot be understood is kept under another name.
pub(crate) fn read_or_set_aside(folder: &Path) -> Result<Vec<Listed>, CatalogError> {
    let path = path(folder);
    let text = match std::fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(CatalogError::Disk)?,
    };
    match serde_json::from_slice::<List>(&text) {
        Ok(list) if list.format == FORMAT => {
            tracing::warn!(
                shares = list.shares.len(),
                "the catalog is begun anew with the shares that were listed"
            );
            Ok(list.shares)
        }
        Ok(list) => Err(CatalogError::Newer { found: list.format.into(), known: FORMAT.into() }),
        Err(error) => {
            tracing::error!(%error, "the list of shares is damaged and was set aside: what was shared is not any more");
            std::fs::rename(&path, path.with_extension("json.damaged")).map_err(CatalogError::Disk)?;
            Ok(Vec::new())
        }
    }
}
