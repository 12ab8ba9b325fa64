//! The list of pins on disk: one JSON file, replaced as a whole.

use std::path::Path;

use farhold_wire::{ContactId, EntryId};
use serde::{Deserialize, Serialize};

use super::Pin;
use crate::files;
use crate::settings::SettingsError;

const VERSION: u64 = 1;
/// Largest file that is read: some ten thousand pins.
const FILE_BYTES: u64 = 16 << 20;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    version: u64,
    pins: Vec<Record>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    contact: Id,
    entry: Option<Id>,
    below: String,
}

/// An id as 32 hexadecimal digits.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
struct Id([u8; 16]);

impl From<Id> for String {
    fn from(Id(bytes): Id) -> Self {
        format!("{:032x}", u128::from_be_bytes(bytes))
    }
}

impl TryFrom<String> for Id {
    type Error = &'static str;

    fn try_from(digits: String) -> Result<Self, Self::Error> {
        let id = Self(u128::from_str_radix(&digits, 16).map_err(|_| "no id")?.to_be_bytes());
        if digits.len() == 32 { Ok(id) } else { Err("no id") }
    }
}

/// The list; an empty one where there is none yet.
pub(super) fn load(path: &Path) -> Result<Vec<Pin>, SettingsError> {
    let io = |source| SettingsError::Io { path: path.to_owned(), source };
    let damaged = |source| SettingsError::Damaged { path: path.to_owned(), source };
    let Some(content) = files::read(path, FILE_BYTES).map_err(io)? else { return Ok(Vec::new()) };
    let list: List = serde_json::from_slice(&content).map_err(damaged)?;
    if list.version != VERSION {
        return Err(SettingsError::Version { path: path.to_owned(), version: list.version });
    }
    let pin = |Record { contact, entry, below }| Pin {
        contact: ContactId(contact.0),
        entry: entry.map(|entry| EntryId(entry.0)),
        below,
    };
    Ok(list.pins.into_iter().map(pin).collect())
}

/// Replaces the file as a whole.
pub(super) fn save(path: &Path, pins: &[Pin]) -> Result<(), SettingsError> {
    let record = |pin: &Pin| Record {
        contact: Id(pin.contact.0),
        entry: pin.entry.map(|entry| Id(entry.0)),
        below: pin.below.clone(),
    };
    let list = List { version: VERSION, pins: pins.iter().map(record).collect() };
    let mut content = serde_json::to_vec_pretty(&list)
        .map_err(|source| SettingsError::Damaged { path: path.to_owned(), source })?;
    content.push(b'\n');
    files::replace(path, &content).map_err(|source| SettingsError::Io { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_is_loaded_and_what_is_not_understood_is_an_error() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("pins.json");
        assert_eq!(load(&path).unwrap(), []);
        let pin = |entry, below: &str| Pin { contact: ContactId([0xab; 16]), entry, below: below.to_owned() };
        let pins = [pin(Some(EntryId([1; 16])), "a/b"), pin(None, "")];
        save(&path, &pins).unwrap();
        assert_eq!(load(&path).unwrap(), pins);
        let whole = std::fs::read_to_string(&path).unwrap();
        for (from, to) in
            [("\"version\": 1", "\"version\": 2"), ("\"ab", "\"b"), ("below", "above"), ("]", "")]
        {
            let content = whole.replacen(from, to, 1);
            assert_ne!(content, whole);
            std::fs::write(&path, &content).unwrap();
            load(&path).unwrap_err();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), content, "it is left as it is");
        }
    }
}
