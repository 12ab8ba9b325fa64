//! Key derivation: HKDF-SHA-512 (RFC 5869) with labels.
//!
//! Every `info` is `"farhold v1 "`, a label, a zero byte, and then fields of fixed length, so that no two
//! derivations can have the same one.

use hkdf::Hkdf;
use sha2::Sha512;
use zeroize::Zeroizing;

/// Length of a pseudorandom key: SHA-512's output.
pub(crate) const KEY_BYTES: usize = 64;

const PREFIX: &[u8] = b"farhold v1 ";

/// A pseudorandom key from which labelled keys derive. Erased when dropped.
#[derive(Clone)]
pub(crate) struct Key(Zeroizing<[u8; KEY_BYTES]>);

impl Key {
    /// HKDF-Extract.
    pub(crate) fn extract(salt: &[u8], secret: &[u8]) -> Self {
        let mut key = Zeroizing::new([0; KEY_BYTES]);
        let (mut output, _) = Hkdf::<Sha512>::extract(Some(salt), secret);
        key.copy_from_slice(&output);
        zeroize::Zeroize::zeroize(output.as_mut_slice());
        Self(key)
    }

    /// HKDF-Expand to `N` bytes. Fields have fixed lengths for each label.
    pub(crate) fn expand<const N: usize>(&self, label: &str, fields: &[&[u8]]) -> Zeroizing<[u8; N]> {
        const { assert!(N <= 255 * KEY_BYTES, "HKDF gives at most 255 blocks") };
        let mut info = Vec::with_capacity(fields.len() + 3);
        info.extend_from_slice(&[PREFIX, label.as_bytes(), &[0]]);
        info.extend_from_slice(fields);
        let mut output = Zeroizing::new([0; N]);
        Hkdf::<Sha512>::from_prk(&*self.0)
            .expect("a key is as long as the hash")
            .expand_multi_info(&info, &mut *output)
            .expect("N is checked above");
        output
    }

    /// HKDF-Expand to another pseudorandom key.
    pub(crate) fn derive(&self, label: &str, fields: &[&[u8]]) -> Self {
        Self(self.expand(label, fields))
    }

    /// HKDF-Extract with this key as the salt: both are needed to know the result.
    pub(crate) fn mix(&self, other: &Self) -> Self {
        Self::extract(&*self.0, &*other.0)
    }
}

#[cfg(test)]
mod tests {
    use hmac::{Hmac, KeyInit, Mac};

    use super::*;
    use crate::testing::hex;

    /// RFC 4231, test case 2: HKDF-Extract is an HMAC.
    #[test]
    fn extract_is_that_of_the_rfc() {
        let key = Key::extract(b"Jefe", b"what do ya want for nothing?");
        let expected = "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554\
                        9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737";
        assert_eq!(hex(&*key.0), expected);
    }

    /// RFC 5869, 2.3: the first block of HKDF-Expand.
    #[test]
    fn expand_is_one_hmac_over_label_and_fields() {
        let key = Key::extract(b"salt", b"secret");
        let mut hmac = Hmac::<Sha512>::new_from_slice(&*key.0).unwrap();
        hmac.update(b"farhold v1 label\0onetwo\x01");
        let expanded = key.expand::<32>("label", &[b"one", b"two"]);
        assert_eq!(*expanded, hmac.finalize().into_bytes()[..32]);
        assert_eq!(key.derive("label", &[b"one", b"two"]).0[..32], *expanded);
    }
}
