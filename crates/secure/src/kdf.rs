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
