//! The first bytes of every leg. They tell an acceptor which contact calls before it spends a KEM or DH on the
//! caller, and tell anybody else nothing: an acceptor closes what it does not know without an answer.
//!
//! `version (1) | n (16 random bytes) | HMAC-SHA-256(key, version | leg kind | n), 16 bytes of it`, under a key of
//! the dialer's side and the hour.
//!
//! A QUIC connection shows itself before that, by the [`CallerId`] that it is addressed to.

mod caller;

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::random::{self, RandomError};
use crate::rendezvous::{Hour, Rendezvous};

pub use self::caller::{CALLER_ID_BYTES, CallerId};

/// Length of an opening, and of the opening of a further lane.
pub const OPENING_BYTES: usize = 33;
/// First byte of a leg that begins with an opening.
pub const OPENING_VERSION: u8 = 1;
/// Openings, and beside them caller ids, of one contact remembered at once: a contact that dials more often than every
/// three seconds for three hours is refused until the older ones expire.
pub const OPENINGS_PER_CONTACT: usize = 4096;

const NONCE_BYTES: usize = 16;
const MAC_BYTES: usize = 16;

/// How the two ends of a leg are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LegKind {
    /// A TCP connection between the two.
    Direct,
    /// Two TCP connections spliced by a relay.
    Bridged,
    /// The first stream of a QUIC connection, whichever way its datagrams go.
    Quic,
    /// The first stream of a QUIC connection through NATs that both sides opened to each other.
    Punched,
}

impl LegKind {
    /// As in openings and prologues.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Direct => 0,
            Self::Bridged => 1,
            Self::Quic => 2,
            Self::Punched => 3,
        }
    }
}

/// The 33 bytes as sent on one leg. They are part of that leg's handshake.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Opening([u8; OPENING_BYTES]);

/// Why a leg is closed without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OpeningError {
    /// Not the version that this program speaks.
    #[error("the opening has an unknown version")]
    Version,
    /// No contact's key made it, in none of the hours that count.
    #[error("the opening is of no contact")]
    Unknown,
    /// Seen before.
    #[error("the opening was used before")]
    Replayed,
    /// The contact has dialled [`OPENINGS_PER_CONTACT`] times in the hours that count.
    #[error("the contact has dialled too often")]
    TooMany,
}

impl Opening {
    /// Makes the opening of a leg that I dial now.
    pub fn new(rendezvous: &Rendezvous, kind: LegKind, hour: Hour) -> Result<Self, RandomError> {
        let mut bytes = [0; OPENING_BYTES];
        bytes[0] = OPENING_VERSION;
        bytes[1..=NONCE_BYTES].copy_from_slice(&random::array::<NONCE_BYTES>()?);
        let mac = mac(&rendezvous.opening_key(rendezvous.side(), hour), kind, &nonce(&bytes));
        bytes[1 + NONCE_BYTES..].copy_from_slice(&mac);
        Ok(Self(bytes))
    }

    /// Takes the bytes that began a leg; [`OpeningGuard::accept`] says what they are worth.
    pub fn from_bytes(bytes: [u8; OPENING_BYTES]) -> Self {
        Self(bytes)
    }

    /// The bytes, to be sent.
    pub fn as_bytes(&self) -> &[u8; OPENING_BYTES] {
        &self.0
    }
}

impl fmt::Debug for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Opening({:02x}{:02x}..)", self.0[1], self.0[2])
    }
}

/// Tells whose opening it is, and lets each through once. `K` names a contact, whose rendezvous is the same until the
/// contact is forgotten: its keys are derived once an hour, so that an opening of nobody costs little.
///
/// It remembers in memory only: after a restart an opening of the last hours passes again, and the handshake behind
/// it still cannot be finished without the contact's keys.
pub struct OpeningGuard<K> {
    openings: Seen<K, NONCE_BYTES>,
    callers: Seen<K, { caller::NONCE_BYTES }>,
    /// Of the contacts asked about in `hour`.
    keys: HashMap<K, WindowKeys>,
    hour: Option<Hour>,
}

/// The random numbers that contacts have used.
struct Seen<K, const N: usize>(HashMap<K, HashMap<[u8; N], Hour>>);

/// The keys of the openings that one contact may send now. Boxed, so that a growing map leaves no copies behind.
struct WindowKeys(Box<[Zeroizing<[u8; 32]>; 3]>);

impl<K: Eq + Hash + Copy> OpeningGuard<K> {
    /// One that has seen nothing.
    pub fn new() -> Self {
        Self {
            openings: Seen(HashMap::new()),
            callers: Seen(HashMap::new()),
            keys: HashMap::new(),
            hour: None,
        }
    }

    /// Which of `contacts` opened a leg of this kind in `hour` or beside it. Costs only HMACs, three of each contact.
    pub fn accept<'a>(
        &mut self,
        opening: &Opening,
        kind: LegKind,
        hour: Hour,
        contacts: impl IntoIterator<Item = (K, &'a Rendezvous)>,
    ) -> Result<K, OpeningError> {
        if opening.0[0] != OPENING_VERSION {
            return Err(OpeningError::Version);
        }
        let nonce = nonce(&opening.0);
        let made = |key: &[u8; 32]| mac(key, kind, &nonce).ct_eq(&opening.0[1 + NONCE_BYTES..]).into();
        let (contact, of) = self.whose(made, hour, contacts).ok_or(OpeningError::Unknown)?;
        self.openings.remember(contact, nonce, of, hour)
    }

    /// Which of `contacts` addressed a QUIC connection to this id in `hour` or beside it. Costs as much as
    /// [`Self::accept`].
    pub fn accept_caller<'a>(
        &mut self,
        id: &CallerId,
        hour: Hour,
        contacts: impl IntoIterator<Item = (K, &'a Rendezvous)>,
    ) -> Result<K, OpeningError> {
        let made = |key: &[u8; 32]| id.is_made_with(key);
        let (contact, of) = self.whose(made, hour, contacts).ok_or(OpeningError::Unknown)?;
        self.callers.remember(contact, id.nonce(), of, hour)
    }

    /// The contact with whose key of one of the hours something was made, and that hour.
    fn whose<'a>(
        &mut self,
        made: impl Fn(&[u8; 32]) -> bool,
        hour: Hour,
        contacts: impl IntoIterator<Item = (K, &'a Rendezvous)>,
    ) -> Option<(K, Hour)> {
        if self.hour.replace(hour) != Some(hour) {
            self.keys.clear();
        }
        contacts.into_iter().find_map(|(contact, rendezvous)| {
            let keys = self.keys.entry(contact).or_insert_with(|| WindowKeys::derive(rendezvous, hour));
            let mut window = hour.window().into_iter().zip(keys.0.iter());
            window.find(|(_, key)| made(key)).map(|(of, _)| (contact, of))
        })
    }

    /// Forgets a contact that was removed.
    pub fn forget(&mut self, contact: &K) {
        self.openings.0.remove(contact);
        self.callers.0.remove(contact);
        self.keys.remove(contact);
    }
}

impl<K: Eq + Hash + Copy, const N: usize> Seen<K, N> {
    fn remember(&mut self, contact: K, nonce: [u8; N], of: Hour, now: Hour) -> Result<K, OpeningError> {
        let seen = self.0.entry(contact).or_default();
        let [oldest, ..] = now.window();
        seen.retain(|_, hour| *hour >= oldest);
        if seen.contains_key(&nonce) {
            return Err(OpeningError::Replayed);
        }
        if seen.len() >= OPENINGS_PER_CONTACT {
            return Err(OpeningError::TooMany);
        }
        seen.insert(nonce, of);
        Ok(contact)
    }
}

impl<K: Eq + Hash + Copy> Default for OpeningGuard<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> fmt::Debug for OpeningGuard<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpeningGuard").field("contacts", &self.keys.len()).finish_non_exhaustive()
    }
}

impl WindowKeys {
    fn derive(rendezvous: &Rendezvous, hour: Hour) -> Self {
        Self(Box::new(hour.window().map(|of| rendezvous.opening_key(rendezvous.side().other(), of))))
    }
}

fn nonce(opening: &[u8; OPENING_BYTES]) -> [u8; NONCE_BYTES] {
    let mut nonce = [0; NONCE_BYTES];
    nonce.copy_from_slice(&opening[1..=NONCE_BYTES]);
    nonce
}

fn mac(key: &[u8; 32], kind: LegKind, nonce: &[u8; NONCE_BYTES]) -> [u8; MAC_BYTES] {
    let mut hmac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    hmac.update(&[OPENING_VERSION, kind.number()]);
    hmac.update(nonce);
    let mut mac = [0; MAC_BYTES];
    mac.copy_from_slice(&hmac.finalize().into_bytes()[..MAC_BYTES]);
    mac
}

#[cfg(test)]
mod tests;
