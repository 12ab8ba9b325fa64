//! The people whom the user saved: names, codes, how far the pairing is, and whether a session is wanted.
//!
//! A contact is pending from `contact add` on, provisional once paired and stored here, and paired once the peer
//! has stored it too. Everything here is kept in one sealed file (`file`), as a whole.

use std::path::PathBuf;

use farhold_secure::code::CodeError;
use farhold_secure::{Code, PairSecret, PublicKeys};
use farhold_wire::{ContactId, Name, NameError};

use crate::error::ErrorClass;
use crate::status::PairingState;

pub(crate) mod file;

/// Most contacts of one engine: a relay lets one connection watch 1024 tokens, and a provisional contact takes six.
const MOST: usize = 128;

/// Why a contact cannot be had or saved so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContactError {
    /// Nobody of that name.
    #[error("there is no contact {name}; see: farhold contact list")]
    Unknown {
        /// The name asked for.
        name: String,
    },
    /// Somebody else is called so.
    #[error("there is already a contact {name}")]
    NameTaken {
        /// The name as it is saved.
        name: String,
    },
    /// The code is saved already.
    #[error("this code is already saved as {name}")]
    CodeTaken {
        /// Under which name.
        name: String,
    },
    /// The user's own code.
    #[error("this is your own code; add the code that your contact's `farhold code` prints")]
    OwnCode,
    /// The text is no code.
    #[error("this is no code ({0}); it is what your contact's `farhold code` prints")]
    Code(#[from] CodeError),
    /// A name that no folder can have.
    #[error("a contact cannot be called {name:?}: {source}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        source: NameError,
    },
    /// A name that a terminal or a folder view would not show as it is.
    #[error(
        "a contact cannot be called {name:?}: no control characters, and no spaces or dots at either end"
    )]
    NameUnclear {
        /// The name.
        name: String,
    },
    /// As many as there can be.
    #[error("there cannot be more than {MOST} contacts")]
    TooMany,
}

impl ContactError {
    /// The kind of failure.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Unknown { .. } => ErrorClass::NotFound,
            Self::NameTaken { .. } | Self::CodeTaken { .. } => ErrorClass::Conflict,
            Self::OwnCode | Self::Code(_) | Self::Name { .. } | Self::NameUnclear { .. } => ErrorClass::Usage,
            Self::TooMany => ErrorClass::Refused,
        }
    }
}

/// What two paired contacts know of each other.
#[derive(Debug, Clone)]
pub(crate) struct Bond {
    pub(crate) keys: PublicKeys,
    pub(crate) secret: PairSecret,
}

/// How far the pairing with a contact is.
#[derive(Debug, Clone)]
pub(crate) enum Pairing {
    /// Looking for the peer.
    Pending,
    /// Stored here; the peer has not said that it stored it too.
    Provisional(Bond),
    /// Stored on both sides.
    Paired(Bond),
}

impl Pairing {
    pub(crate) fn state(&self) -> PairingState {
        match self {
            Self::Pending => PairingState::Pending,
            Self::Provisional(_) => PairingState::Provisional,
            Self::Paired(_) => PairingState::Paired,
        }
    }
}

/// One contact.
#[derive(Debug, Clone)]
pub(crate) struct Contact {
    pub(crate) name: String,
    pub(crate) code: Code,
    pub(crate) pairing: Pairing,
    /// A session is wanted: from `contact add` or `connect` on, until `disconnect`.
    pub(crate) wanted: bool,
    /// The words of the pairing, for the two users to compare.
    pub(crate) words: Option<String>,
    /// Where its pushes land; without it they are refused.
    pub(crate) accept: Option<PathBuf>,
}

impl Contact {
    pub(crate) fn id(&self) -> ContactId {
        id_of(&self.code)
    }
}

/// The first 16 bytes of a code name a contact here.
pub(crate) fn id_of(code: &Code) -> ContactId {
    let mut id = [0; 16];
    id.copy_from_slice(&code.as_bytes()[..16]);
    ContactId(id)
}

/// All contacts, by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct ContactBook {
    contacts: Vec<Contact>,
}

impl ContactBook {
    /// All of them, by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Contact> {
        self.contacts.iter()
    }

    /// The contact of that name.
    pub(crate) fn named(&self, name: &str) -> Result<&Contact, ContactError> {
        let found = self.contacts.iter().find(|contact| contact.name == name);
        found.ok_or_else(|| ContactError::Unknown { name: name.to_owned() })
    }

    /// The contact of that id.
    pub(crate) fn get(&self, id: ContactId) -> Option<&Contact> {
        self.contacts.iter().find(|contact| contact.id() == id)
    }

    fn get_mut(&mut self, id: ContactId) -> Option<&mut Contact> {
        self.contacts.iter_mut().find(|contact| contact.id() == id)
    }

    /// Saves somebody who is still to be met.
    pub(crate) fn add(&mut self, mine: &Code, name: &str, code: Code) -> Result<ContactId, ContactError> {
        check_name(name)?;
        if id_of(&code) == id_of(mine) {
            return Err(ContactError::OwnCode);
        }
        if let Some(saved) = self.get(id_of(&code)) {
            return Err(ContactError::CodeTaken { name: saved.name.clone() });
        }
        self.check_free(name, None)?;
        if self.contacts.len() >= MOST {
            return Err(ContactError::TooMany);
        }
        self.insert(Contact {
            name: name.to_owned(),
            code,
            pairing: Pairing::Pending,
            wanted: true,
            words: None,
            accept: None,
        });
        Ok(id_of(&code))
    }

    /// Calls a contact otherwise.
    pub(crate) fn rename(&mut self, old: &str, new: &str) -> Result<ContactId, ContactError> {
        let id = self.named(old)?.id();
        check_name(new)?;
        self.check_free(new, Some(id))?;
        if let Some(mut contact) = self.take(id) {
            contact.name = new.to_owned();
            self.insert(contact);
        }
        Ok(id)
    }

    /// Forgets a contact.
    pub(crate) fn remove(&mut self, name: &str) -> Result<Contact, ContactError> {
        let id = self.named(name)?.id();
        self.take(id).ok_or_else(|| ContactError::Unknown { name: name.to_owned() })
    }

    /// Records whether a session is wanted; whether that changed anything.
    pub(crate) fn want(&mut self, id: ContactId, wanted: bool) -> bool {
        self.get_mut(id).is_some_and(|contact| std::mem::replace(&mut contact.wanted, wanted) != wanted)
    }

    /// Takes a contact's pushes into a folder, or none.
    pub(crate) fn accept(&mut self, name: &str, folder: Option<PathBuf>) -> Result<(), ContactError> {
        let id = self.named(name)?.id();
        if let Some(contact) = self.get_mut(id) {
            contact.accept = folder;
        }
        Ok(())
    }

    /// Records a pairing that the peer has not confirmed; `false` if there is no such contact, or its keys are not
    /// those of its code.
    pub(crate) fn paired(&mut self, id: ContactId, bond: Bond, words: String) -> bool {
        match self.get_mut(id) {
            Some(contact) if contact.code == bond.keys.code() => {
                contact.pairing = Pairing::Provisional(bond);
                contact.words = Some(words);
                true
            }
            Some(_) | None => false,
        }
    }

    /// Records that the peer has stored the pairing too; `false` if there is none to confirm.
    pub(crate) fn promote(&mut self, id: ContactId) -> bool {
        let Some(contact) = self.get_mut(id) else { return false };
        match &contact.pairing {
            Pairing::Provisional(bond) => {
                contact.pairing = Pairing::Paired(bond.clone());
                true
            }
            Pairing::Pending | Pairing::Paired(_) => false,
        }
    }

    /// Names are folder names, and some systems do not tell upper from lower case in those.
    fn check_free(&self, name: &str, except: Option<ContactId>) -> Result<(), ContactError> {
        let folded = name.to_lowercase();
        let taken = self
            .contacts
            .iter()
            .find(|contact| Some(contact.id()) != except && contact.name.to_lowercase() == folded);
        match taken {
            Some(contact) => Err(ContactError::NameTaken { name: contact.name.clone() }),
            None => Ok(()),
        }
    }

    fn take(&mut self, id: ContactId) -> Option<Contact> {
        let index = self.contacts.iter().position(|contact| contact.id() == id)?;
        Some(self.contacts.remove(index))
    }

    fn insert(&mut self, contact: Contact) {
        let index = self.contacts.partition_point(|other| other.name < contact.name);
        self.contacts.insert(index, contact);
    }
}

fn check_name(name: &str) -> Result<(), ContactError> {
    Name::new(name.as_bytes().to_vec())
        .map_err(|source| ContactError::Name { name: name.to_owned(), source })?;
    let edge = |c: char| c.is_whitespace() || c == '.';
    if name.chars().any(char::is_control) || name.starts_with(edge) || name.ends_with(edge) {
        return Err(ContactError::NameUnclear { name: name.to_owned() });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
