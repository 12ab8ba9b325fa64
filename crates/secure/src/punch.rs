//! What the datagrams hold with which two contacts open NATs to each other: a name that tells the receiver whose they
//! are, and a MAC that only the two can make. An observer can repeat one from another address, which makes the
//! receiver try a handshake there and nothing more.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::kdf;
use crate::side::Side;

/// Length of a name, and of a MAC.
pub const PUNCH_BYTES: usize = 16;

/// Of one pair of nonces. Erased when dropped.
pub struct PunchKey {
    id: [u8; PUNCH_BYTES],
    key: Zeroizing<[u8; 32]>,
}

impl PunchKey {
    pub(crate) fn derive(key: &kdf::Key, nonce_of_zero: &[u8; 16], nonce_of_one: &[u8; 16]) -> Self {
        let nonces: [&[u8]; 2] = [nonce_of_zero, nonce_of_one];
        Self { id: *key.expand("punch id", &nonces), key: key.expand("punch key", &nonces) }
    }

    /// The name, the same for both sides.
    pub fn id(&self) -> &[u8; PUNCH_BYTES] {
        &self.id
    }

    /// The MAC of what `sender` sends: HMAC-SHA-256 over side and answer, 16 bytes of it.
    pub fn mac(&self, sender: Side, answer: bool) -> [u8; PUNCH_BYTES] {
        let mut hmac = Hmac::<Sha256>::new_from_slice(&*self.key).expect("HMAC takes keys of any length");
        hmac.update(&[sender.number(), u8::from(answer)]);
        let mut mac = [0; PUNCH_BYTES];
        mac.copy_from_slice(&hmac.finalize().into_bytes()[..PUNCH_BYTES]);
        mac
    }

    /// Whether `sender` made it.
    pub fn verify(&self, sender: Side, id: &[u8], answer: bool, mac: &[u8]) -> bool {
        id == self.id && self.mac(sender, answer).ct_eq(mac).into()
    }
}

impl fmt::Debug for PunchKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PunchKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::saved;

    #[test]
    fn both_sides_derive_the_same_and_each_case_is_another() {
        let [zero, one] = [Side::Zero, Side::One].map(|side| saved(side).punch_key(&[1; 16], &[2; 16]));
        let cases = [(Side::Zero, false), (Side::Zero, true), (Side::One, false), (Side::One, true)];
        for (index, (side, answer)) in cases.into_iter().enumerate() {
            let mac = zero.mac(side, answer);
            for (other, (by, kind)) in cases.into_iter().enumerate() {
                assert_eq!(one.verify(by, zero.id(), kind, &mac), index == other);
            }
            assert!(!one.verify(side, &[0; 16], answer, &mac));
            assert!(!one.verify(side, zero.id(), answer, &mac[..15]));
        }
        let swapped = saved(Side::One).punch_key(&[2; 16], &[1; 16]);
        assert_ne!(swapped.id(), zero.id());
        assert!(!swapped.verify(Side::Zero, zero.id(), false, &zero.mac(Side::Zero, false)));
    }
}
