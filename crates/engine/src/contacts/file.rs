//! Contacts on disk: JSON with a schema version, sealed under the master key.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use farhold_secure::{PairSecret, PublicKeys};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use zeroize::Zeroizing;

use super::{Bond, Contact, ContactBook, Pairing};
use crate::secrets::{MasterKey, SecretsError};
use crate::status::PairingState;

const VERSION: u64 = 1;
const LABEL: &str = "contacts";

/// The sealed file of the contacts.
#[derive(Debug, Clone)]
pub(crate) struct ContactsFile {
    path: PathBuf,
    key: MasterKey,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Book {
    version: u64,
    contacts: Vec<Record>,
}

#[derive(Deserialize)]
struct Schema {
    version: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    name: String,
    code: String,
    pairing: PairingState,
    keys: Option<String>,
    secret: Option<Secret>,
    wanted: bool,
    words: Option<String>,
    /// Bytes of a path, in base64; absent in files of before there were pushes.
    #[serde(default)]
    accept: Option<String>,
}

/// A pair secret on its way to or from the file; erased when dropped.
struct Secret(Zeroizing<[u8; 32]>);

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&Zeroizing::new(STANDARD.encode(*self.0)))
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Secret;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("32 bytes in base64")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Secret, E> {
                let bytes = STANDARD.decode(text).map(Zeroizing::new).map_err(|_| E::custom("no base64"))?;
                let mut secret = Zeroizing::new([0; 32]);
                if bytes.len() != secret.len() {
                    return Err(E::custom("not 32 bytes"));
                }
                secret.copy_from_slice(&bytes);
                Ok(Secret(secret))
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

impl ContactsFile {
    pub(crate) fn new(path: PathBuf, key: MasterKey) -> Self {
        Self { path, key }
    }

    /// The contacts; none where there is no file yet.
    pub(crate) fn load(&self) -> Result<ContactBook, SecretsError> {
        let Some(plain) = self.key.open(&self.path, LABEL)? else {
            return Ok(ContactBook::default());
        };
        let damaged = || SecretsError::Damaged { path: self.path.clone() };
        let schema: Schema = serde_json::from_slice(&plain).map_err(|_| damaged())?;
        if schema.version != VERSION {
            return Err(SecretsError::Schema { path: self.path.clone(), version: schema.version });
        }
        let book: Book = serde_json::from_slice(&plain).map_err(|_| damaged())?;
        let mut contacts = ContactBook::default();
        for record in book.contacts {
            contacts.insert(contact(record).ok_or_else(damaged)?);
        }
        Ok(contacts)
    }

    /// Replaces the file as a whole.
    pub(crate) fn save(&self, contacts: &ContactBook) -> Result<(), SecretsError> {
        let book = Book { version: VERSION, contacts: contacts.iter().map(record).collect() };
        // Large enough not to move: what is left behind by growing would not be erased.
        let mut plain = Zeroizing::new(Vec::with_capacity(1024 + 8192 * book.contacts.len()));
        serde_json::to_writer(&mut *plain, &book)
            .map_err(|error| SecretsError::Io { path: self.path.clone(), source: error.into() })?;
        self.key.seal(&self.path, LABEL, &plain)
    }
}

fn record(contact: &Contact) -> Record {
    let bond = match &contact.pairing {
        Pairing::Pending => None,
        Pairing::Provisional(bond) | Pairing::Paired(bond) => Some(bond),
    };
    Record {
        name: contact.name.clone(),
        code: contact.code.to_string(),
        pairing: contact.pairing.state(),
        keys: bond.map(|bond| STANDARD.encode(bond.keys.to_bytes())),
        secret: bond.map(|bond| Secret(Zeroizing::new(*bond.secret.as_bytes()))),
        wanted: contact.wanted,
        words: contact.words.clone(),
        accept: contact.accept.as_ref().map(|path| STANDARD.encode(path.as_os_str().as_bytes())),
    }
}

/// `None` if the record contradicts itself.
fn contact(record: Record) -> Option<Contact> {
    let code = record.code.parse().ok()?;
    let bond = match (record.keys, record.secret) {
        (Some(keys), Some(secret)) => {
            let keys = PublicKeys::from_bytes(&STANDARD.decode(keys).ok()?).ok()?;
            (keys.code() == code).then(|| Bond { keys, secret: PairSecret::from_bytes(&secret.0) })
        }
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => return None,
    };
    let pairing = match (record.pairing, bond) {
        (PairingState::Pending, None) => Pairing::Pending,
        (PairingState::Provisional, Some(bond)) => Pairing::Provisional(bond),
        (PairingState::Paired, Some(bond)) => Pairing::Paired(bond),
        (PairingState::Pending, Some(_)) | (PairingState::Provisional | PairingState::Paired, None) => {
            return None;
        }
    };
    let accept = match record.accept {
        Some(path) => Some(PathBuf::from(OsString::from_vec(STANDARD.decode(path).ok()?))),
        None => None,
    };
    Some(Contact { name: record.name, code, pairing, wanted: record.wanted, words: record.words, accept })
}
