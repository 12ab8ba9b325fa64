//! What a QUIC connection is addressed to at first.
//!
//! A QUIC client chooses the connection id to which its first packets go (RFC 9000, section 7.2), and a server sees it
//! before it has done anything for the client. Ours is `n (8 random bytes) | HMAC-SHA-256(key of the opening, "farhold
//! quic" | n), 12 bytes of it`, so that nobody but a contact makes a server answer.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use crate::random::{self, RandomError};
use crate::rendezvous::{Hour, Rendezvous};

/// The longest that a connection id may be in QUIC version 1.
pub const CALLER_ID_BYTES: usize = 20;

pub(super) const NONCE_BYTES: usize = 8;
const MAC_BYTES: usize = CALLER_ID_BYTES - NONCE_BYTES;

/// The connection id to which a contact's first packets go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CallerId([u8; CALLER_ID_BYTES]);

impl CallerId {
    /// Makes the id of a connection that I dial now.
    pub fn new(rendezvous: &Rendezvous, hour: Hour) -> Result<Self, RandomError> {
        let nonce = random::array::<NONCE_BYTES>()?;
        let mut bytes = [0; CALLER_ID_BYTES];
        bytes[..NONCE_BYTES].copy_from_slice(&nonce);
        bytes[NONCE_BYTES..].copy_from_slice(&mac(&rendezvous.opening_key(rendezvous.side(), hour), &nonce));
        Ok(Self(bytes))
    }

    /// Takes an id that packets were addressed to; `None` if it has another length. What it is worth says
    /// [`OpeningGuard::accept_caller`](super::OpeningGuard::accept_caller).
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// The bytes, to be sent.
    pub fn as_bytes(&self) -> &[u8; CALLER_ID_BYTES] {
        &self.0
    }

    pub(super) fn nonce(&self) -> [u8; NONCE_BYTES] {
        let mut nonce = [0; NONCE_BYTES];
        nonce.copy_from_slice(&self.0[..NONCE_BYTES]);
        nonce
    }

    pub(super) fn is_made_with(&self, key: &[u8; 32]) -> bool {
        mac(key, &self.nonce()).ct_eq(&self.0[NONCE_BYTES..]).into()
    }
}

impl fmt::Debug for CallerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallerId({:02x}{:02x}..)", self.0[0], self.0[1])
    }
}

fn mac(key: &[u8; 32], nonce: &[u8; NONCE_BYTES]) -> [u8; MAC_BYTES] {
    let mut hmac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    hmac.update(b"farhold quic");
    hmac.update(nonce);
    let mut mac = [0; MAC_BYTES];
    mac.copy_from_slice(&hmac.finalize().into_bytes()[..MAC_BYTES]);
    mac
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{OPENINGS_PER_CONTACT, OpeningError, OpeningGuard};
    use super::*;
    use crate::side::Side;
    use crate::testing::{HOUR, pairing, saved};

    fn accept(guard: &mut OpeningGuard<u8>, id: &CallerId, hour: Hour) -> Result<u8, OpeningError> {
        let contacts = [(1, saved(Side::One)), (2, pairing(Side::One))];
        guard.accept_caller(id, hour, contacts.iter().map(|(name, of)| (*name, of)))
    }

    #[test]
    fn the_caller_is_found_among_the_contacts_for_three_hours() {
        for (from, contact) in [(saved(Side::Zero), 1), (pairing(Side::Zero), 2)] {
            let id = CallerId::new(&from, HOUR).unwrap();
            for hour in [HOUR.0 - 1, HOUR.0, HOUR.0 + 1] {
                assert_eq!(accept(&mut OpeningGuard::new(), &id, Hour(hour)), Ok(contact));
            }
            for hour in [HOUR.0 - 2, HOUR.0 + 2] {
                let unknown = accept(&mut OpeningGuard::new(), &id, Hour(hour));
                assert_eq!(unknown, Err(OpeningError::Unknown));
            }
        }
    }

    #[test]
    fn a_reflected_id_is_unknown() {
        let id = CallerId::new(&saved(Side::One), HOUR).unwrap();
        assert_eq!(accept(&mut OpeningGuard::new(), &id, HOUR), Err(OpeningError::Unknown));
    }

    #[test]
    fn an_id_is_good_once() {
        let mut guard = OpeningGuard::new();
        let id = CallerId::new(&saved(Side::Zero), HOUR).unwrap();
        assert_eq!(accept(&mut guard, &id, HOUR), Ok(1));
        assert_eq!(accept(&mut guard, &id, Hour(HOUR.0 + 1)), Err(OpeningError::Replayed));
        guard.forget(&1);
        assert_eq!(accept(&mut guard, &id, HOUR), Ok(1));
    }

    #[test]
    fn ids_have_places_of_their_own_and_a_bound() {
        let mut guard = OpeningGuard::new();
        let from = saved(Side::Zero);
        for _ in 0..OPENINGS_PER_CONTACT {
            assert_eq!(accept(&mut guard, &CallerId::new(&from, HOUR).unwrap(), HOUR), Ok(1));
        }
        let more = CallerId::new(&from, HOUR).unwrap();
        assert_eq!(accept(&mut guard, &more, HOUR), Err(OpeningError::TooMany));
        let opening = super::super::Opening::new(&from, super::super::LegKind::Quic, HOUR).unwrap();
        let contact = saved(Side::One);
        let accepted = guard.accept(&opening, super::super::LegKind::Quic, HOUR, [(1, &contact)]);
        assert_eq!(accepted, Ok(1));
    }

    proptest! {
        #[test]
        fn whatever_else_it_is_addressed_to_is_unknown(bytes: [u8; CALLER_ID_BYTES], length in 0..40_usize) {
            let id = CallerId::from_slice(&bytes).unwrap();
            prop_assert_eq!(accept(&mut OpeningGuard::new(), &id, HOUR), Err(OpeningError::Unknown));
            let other = vec![0; length];
            prop_assert_eq!(CallerId::from_slice(&other).is_some(), length == CALLER_ID_BYTES);
        }

        #[test]
        fn a_changed_id_is_unknown(at in 0..CALLER_ID_BYTES, change in 1..=u8::MAX) {
            let mut id = CallerId::new(&saved(Side::Zero), HOUR).unwrap();
            id.0[at] ^= change;
            prop_assert_eq!(accept(&mut OpeningGuard::new(), &id, HOUR), Err(OpeningError::Unknown));
        }
    }
}
