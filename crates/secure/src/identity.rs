//! Long-lived keys.

use std::fmt;

use sha2::{Digest, Sha512};
use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::Zeroizing;

use crate::code::Code;
use crate::mlkem;
use crate::random::{self, RandomError};

/// Length of an identity's seeds: X25519 (32), then ML-KEM-1024 (64, d || z).
pub const IDENTITY_BYTES: usize = 32 + mlkem::SEED_BYTES;
/// Length of the public keys: X25519 (32), then ML-KEM-1024 (1568).
pub const PUBLIC_KEYS_BYTES: usize = 32 + mlkem::PUBLIC_BYTES;

const CODE_LABEL: &[u8] = b"farhold code v1";

/// My own key pairs, kept as seeds. Erased when dropped.
pub struct Identity {
    x25519: StaticSecret,
    mlkem: Zeroizing<[u8; mlkem::SEED_BYTES]>,
    public: PublicKeys,
    code: Code,
}

impl Identity {
    /// Makes a new identity.
    pub fn generate() -> Result<Self, RandomError> {
        let mut seeds = Zeroizing::new([0; IDENTITY_BYTES]);
        random::fill(&mut *seeds)?;
        Ok(Self::from_seeds(&seeds))
    }

    /// Loads an identity. Any bytes are an identity: whoever stores seeds must be able to tell if they are damaged.
    pub fn from_seeds(seeds: &[u8; IDENTITY_BYTES]) -> Self {
        let mut x25519_seed = Zeroizing::new([0; 32]);
        x25519_seed.copy_from_slice(&seeds[..32]);
        let mut mlkem_seed = Zeroizing::new([0; mlkem::SEED_BYTES]);
        mlkem_seed.copy_from_slice(&seeds[32..]);
        let x25519 = StaticSecret::from(*x25519_seed);
        let public = PublicKeys {
            x25519: PublicKey::from(&x25519).to_bytes(),
            mlkem: mlkem::public(&mlkem::expand(&mlkem_seed)),
        };
        let code = public.code();
        Self { x25519, mlkem: mlkem_seed, public, code }
    }

    /// The seeds, to be stored.
    pub fn to_seeds(&self) -> Zeroizing<[u8; IDENTITY_BYTES]> {
        let mut seeds = Zeroizing::new([0; IDENTITY_BYTES]);
        let (x25519, mlkem) = seeds.split_at_mut(32);
        x25519.copy_from_slice(self.x25519.as_bytes());
        mlkem.copy_from_slice(&*self.mlkem);
        seeds
    }

    /// What a contact may know of it.
    pub fn public(&self) -> &PublicKeys {
        &self.public
    }

    /// Its code.
    pub fn code(&self) -> &Code {
        &self.code
    }

    pub(crate) fn x25519(&self) -> &StaticSecret {
        &self.x25519
    }

    pub(crate) fn mlkem(&self) -> &[u8; mlkem::SEED_BYTES] {
        &self.mlkem
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("code", &self.code).finish_non_exhaustive()
    }
}

/// A checked pair of public keys.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKeys {
    x25519: [u8; 32],
    mlkem: Box<[u8; mlkem::PUBLIC_BYTES]>,
}

/// Why bytes are no public keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PublicKeysError {
    /// Not 1600 bytes.
    #[error("public keys have 1600 bytes")]
    Length,
    /// A point of low order: every secret with it would be zero.
    #[error("the X25519 key is a point of low order")]
    LowOrder,
    /// A coefficient is not below the modulus.
    #[error("the ML-KEM key is malformed")]
    MlKem,
}

impl PublicKeys {
    /// Takes and checks keys from a peer or from disk. Whoever fetched them for a code compares [`Self::code`] next.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, PublicKeysError> {
        let bytes: &[u8; PUBLIC_KEYS_BYTES] = bytes.try_into().map_err(|_| PublicKeysError::Length)?;
        let (x25519, mlkem) = bytes.split_at(32);
        let x25519: [u8; 32] = x25519.try_into().map_err(|_| PublicKeysError::Length)?;
        let mlkem: [u8; mlkem::PUBLIC_BYTES] = mlkem.try_into().map_err(|_| PublicKeysError::Length)?;
        if is_low_order(x25519) {
            return Err(PublicKeysError::LowOrder);
        }
        mlkem::check_public(&mlkem).ok_or(PublicKeysError::MlKem)?;
        Ok(Self { x25519, mlkem: Box::new(mlkem) })
    }

    /// The bytes, to be stored or sent.
    pub fn to_bytes(&self) -> Vec<u8> {
        [self.x25519.as_slice(), self.mlkem.as_slice()].concat()
    }

    /// Their code.
    pub fn code(&self) -> Code {
        let hash = Sha512::new().chain_update(CODE_LABEL).chain_update(self.x25519).chain_update(*self.mlkem);
        Code::from_bytes(hash.finalize().into())
    }

    pub(crate) fn x25519(&self) -> &[u8; 32] {
        &self.x25519
    }

    pub(crate) fn mlkem(&self) -> &[u8; mlkem::PUBLIC_BYTES] {
        &self.mlkem
    }
}

impl fmt::Debug for PublicKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PublicKeys").field(&self.code()).finish()
    }
}

/// Clamped secrets are multiples of the cofactor, so a point of low order gives zero with any of them.
fn is_low_order(point: [u8; 32]) -> bool {
    !StaticSecret::from([1; 32]).diffie_hellman(&PublicKey::from(point)).was_contributory()
}

#[cfg(test)]
mod tests;
