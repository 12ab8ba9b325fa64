//! ML-KEM-1024 (FIPS 203) on plain bytes, with this crate's randomness and errors.

use ml_kem::ml_kem_1024::{DecapsulationKey, EncapsulationKey};
use ml_kem::{Decapsulate, KeyExport, Seed};
use zeroize::{Zeroize, Zeroizing};

use crate::random::{self, RandomError};

/// Length of a seed (d || z), from which the key pair expands.
pub(crate) const SEED_BYTES: usize = 64;
/// Length of an encapsulation key.
pub(crate) const PUBLIC_BYTES: usize = 1568;
/// Length of a ciphertext.
pub(crate) const CIPHERTEXT_BYTES: usize = 1568;
/// Length of a shared secret.
pub(crate) const SECRET_BYTES: usize = 32;

/// Why an encapsulation failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EncapsulationError {
    #[error("the key is no ML-KEM-1024 encapsulation key")]
    InvalidKey,
    #[error(transparent)]
    Random(#[from] RandomError),
}

/// Expands a key pair.
pub(crate) fn expand(seed: &[u8; SEED_BYTES]) -> DecapsulationKey {
    let mut copy = Seed::from(*seed);
    let key = DecapsulationKey::from_seed(copy);
    copy.zeroize();
    key
}

/// The public half of a key pair.
pub(crate) fn public(key: &DecapsulationKey) -> Box<[u8; PUBLIC_BYTES]> {
    let mut bytes = Box::new([0; PUBLIC_BYTES]);
    bytes.copy_from_slice(&key.encapsulation_key().to_bytes());
    bytes
}

/// The check of FIPS 203, 7.2: the length, and every coefficient below the modulus.
pub(crate) fn check_public(bytes: &[u8]) -> Option<EncapsulationKey> {
    EncapsulationKey::new(bytes.try_into().ok()?).ok()
}

/// A secret, and the ciphertext that brings it to the holder of a key.
pub(crate) struct Encapsulated {
    pub(crate) ciphertext: Box<[u8; CIPHERTEXT_BYTES]>,
    pub(crate) secret: Zeroizing<[u8; SECRET_BYTES]>,
}

/// A fresh secret for the holder of `public`, which is checked.
pub(crate) fn encapsulate(public: &[u8]) -> Result<Encapsulated, EncapsulationError> {
    let key = check_public(public).ok_or(EncapsulationError::InvalidKey)?;
    let randomness = random::array::<32>().map(Zeroizing::new)?;
    let (ciphertext, mut shared) = key.encapsulate_deterministic(&(*randomness).into());
    let mut bytes = Box::new([0; CIPHERTEXT_BYTES]);
    bytes.copy_from_slice(&ciphertext);
    let mut secret = Zeroizing::new([0; SECRET_BYTES]);
    secret.copy_from_slice(&shared);
    shared.zeroize();
    Ok(Encapsulated { ciphertext: bytes, secret })
}

/// The secret in `ciphertext`; a forged ciphertext gives a secret that nobody knows.
pub(crate) fn decapsulate(
    key: &DecapsulationKey,
    ciphertext: &[u8; CIPHERTEXT_BYTES],
) -> Zeroizing<[u8; SECRET_BYTES]> {
    let mut shared = key.decapsulate(&(*ciphertext).into());
    let mut secret = Zeroizing::new([0; SECRET_BYTES]);
    secret.copy_from_slice(&shared);
    shared.zeroize();
    secret
}
