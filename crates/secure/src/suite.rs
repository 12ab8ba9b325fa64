//! The two AEADs that may protect records, behind one small type.

use aes_gcm::Aes256Gcm;
use aes_gcm::aead::{AeadInOut, Key, KeyInit, inout::InOutBuf};
use chacha20poly1305::ChaCha20Poly1305;

/// Length of an authentication tag.
pub(crate) const TAG_BYTES: usize = 16;

/// What encrypts the records of all lanes of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Suite {
    /// AES-256-GCM (NIST SP 800-38D): chosen if both sides have AES in hardware.
    Aes256Gcm,
    /// ChaCha20-Poly1305 (RFC 8439): fast everywhere.
    ChaCha20Poly1305,
}

impl Suite {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Aes256Gcm, Self::ChaCha20Poly1305];

    /// As in handshake payloads.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Aes256Gcm => 1,
            Self::ChaCha20Poly1305 => 2,
        }
    }

    /// The opposite of [`Self::number`].
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|suite| suite.number() == number)
    }
}

/// Whether this machine computes AES and its GHASH in hardware.
pub fn hardware_aes() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("aes") && std::arch::is_x86_feature_detected!("pclmulqdq");
    #[cfg(target_arch = "aarch64")]
    return std::arch::is_aarch64_feature_detected!("aes");
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    return false;
}

/// The tag does not belong to these bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Forged;

/// One key of one suite. Nonces are four zero bytes and a counter. Erased when dropped.
pub(crate) enum Aead {
    Aes256Gcm(Box<Aes256Gcm>),
    ChaCha20Poly1305(ChaCha20Poly1305),
}

impl Aead {
    pub(crate) fn new(suite: Suite, key: &[u8; 32]) -> Self {
        match suite {
            Suite::Aes256Gcm => Self::Aes256Gcm(Box::new(Aes256Gcm::new(<&Key<Aes256Gcm>>::from(key)))),
            Suite::ChaCha20Poly1305 => {
                Self::ChaCha20Poly1305(ChaCha20Poly1305::new(<&Key<ChaCha20Poly1305>>::from(key)))
            }
        }
    }

    /// Encrypts `buffer` in place and gives its tag. A counter is used once.
    pub(crate) fn seal(&self, counter: u64, aad: &[u8], buffer: &mut [u8]) -> [u8; TAG_BYTES] {
        let nonce = nonce(counter).into();
        let tag = match self {
            Self::Aes256Gcm(cipher) => cipher.encrypt_inout_detached(&nonce, aad, InOutBuf::from(buffer)),
            Self::ChaCha20Poly1305(cipher) => {
                cipher.encrypt_inout_detached(&nonce, aad, InOutBuf::from(buffer))
            }
        };
        tag.expect("both ciphers take messages of gigabytes").into()
    }

    /// Verifies `buffer` against `tag`, then decrypts it in place.
    pub(crate) fn open(
        &self,
        counter: u64,
        aad: &[u8],
        buffer: &mut [u8],
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), Forged> {
        let nonce = nonce(counter).into();
        let tag = (*tag).into();
        match self {
            Self::Aes256Gcm(cipher) => {
                cipher.decrypt_inout_detached(&nonce, aad, InOutBuf::from(buffer), &tag)
            }
            Self::ChaCha20Poly1305(cipher) => {
                cipher.decrypt_inout_detached(&nonce, aad, InOutBuf::from(buffer), &tag)
            }
        }
        .map_err(|_| Forged)
    }
}

fn nonce(counter: u64) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&counter.to_be_bytes());
    nonce
}

#[cfg(test)]
mod tests;
