//! The Noise state machine (clatter), with this crate's primitives and errors.
//!
//! clatter brings ciphers, hashes and KEMs of its own, but takes others: with these every primitive exists once in
//! the program, unfit public keys are refused where they are used, and missing random numbers are an error. clatter
//! panics on what it takes for misuse; lengths are checked before each call, and a panic ends the leg only.

use std::panic::{AssertUnwindSafe, catch_unwind};

use clatter::bytearray::{ByteArray, HeapArray, SensitiveByteArray};
use clatter::error::{
    CipherError, CipherResult, DhError, DhResult, HandshakeError as NoiseError, HandshakeResult, KemError,
    KemResult,
};
use clatter::handshakepattern::noise_hybrid_kk;
use clatter::traits::{Cipher, CryptoComponent, Dh, Hash, Kem, Rng};
use clatter::{Handshaker, HybridHandshake, HybridHandshakeParams, KeyPair};
use sha2::{Digest, Sha512};
use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::Zeroizing;

use super::{HandshakeError, Leg, MESSAGE_BYTES, random};
use crate::mlkem::{self, EncapsulationError};
use crate::suite::{Aead, Suite, TAG_BYTES};

type State = HybridHandshake<X25519, MlKem1024, MlKem1024, AesGcm, Hash512>;

/// One side of one handshake.
pub(super) struct Noise(Box<State>);

impl Noise {
    pub(super) fn new(leg: &Leg<'_>, initiator: bool, prologue: &[u8]) -> Result<Self, HandshakeError> {
        let ephemeral = random::array::<32>().map(Zeroizing::new)?;
        let mut ephemeral_seed = Zeroizing::new([0; mlkem::SEED_BYTES]);
        random::fill(&mut *ephemeral_seed)?;
        let params = HybridHandshakeParams::new(noise_hybrid_kk(), initiator)
            .with_prologue(prologue)
            .with_s(x25519_pair(leg.identity.x25519()))
            .with_s_kem(KeyPair::new(
                HeapArray::from_slice(leg.identity.public().mlkem()),
                SensitiveByteArray::from_slice(leg.identity.mlkem()),
            ))
            .with_e(x25519_pair(&StaticSecret::from(*ephemeral)))
            .with_e_kem(mlkem_pair(&ephemeral_seed))
            .with_rs(*leg.peer.x25519())
            .with_rs_kem(HeapArray::from_slice(leg.peer.mlkem()));
        guarded(|| State::new(params)).map(|state| Self(Box::new(state)))
    }

    /// The next message, with `payload` in it.
    pub(super) fn write(&mut self, payload: &[u8]) -> Result<Vec<u8>, HandshakeError> {
        let overhead = guarded(|| self.0.get_next_message_overhead())?;
        let length = overhead + payload.len();
        if length > MESSAGE_BYTES {
            return Err(HandshakeError::TooLong(length));
        }
        let mut message = vec![0; length];
        let written = guarded(|| self.0.write_message(payload, &mut message))?;
        message.truncate(written);
        Ok(message)
    }

    /// The payload of the other side's next message, at most [`MESSAGE_BYTES`] long.
    pub(super) fn read(&mut self, message: &[u8]) -> Result<Zeroizing<Vec<u8>>, HandshakeError> {
        let overhead = guarded(|| self.0.get_next_message_overhead())?;
        let length = message.len().checked_sub(overhead).ok_or(HandshakeError::TooShort(message.len()))?;
        let mut payload = Zeroizing::new(vec![0; length]);
        let read = guarded(|| self.0.read_message(message, &mut payload))?;
        payload.truncate(read);
        Ok(payload)
    }

    /// The handshake hash, and the initiator's and the responder's transport key after another.
    pub(super) fn finish(self) -> Result<([u8; 64], Zeroizing<[u8; 64]>), HandshakeError> {
        let transport = guarded(|| self.0.finalize())?;
        let mut hash = [0; 64];
        hash.copy_from_slice(transport.get_handshake_hash().as_slice());
        let ciphers = transport.take();
        let (initiator, _) = ciphers.initiator_to_responder.take();
        let (responder, _) = ciphers.responder_to_initiator.take();
        let mut keys = Zeroizing::new([0; 64]);
        keys[..32].copy_from_slice(initiator.as_slice());
        keys[32..].copy_from_slice(responder.as_slice());
        Ok((hash, keys))
    }
}

impl std::fmt::Debug for Noise {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Noise(..)")
    }
}

/// Calls clatter, and turns its errors and panics into ours.
fn guarded<T>(call: impl FnOnce() -> HandshakeResult<T>) -> Result<T, HandshakeError> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|_| HandshakeError::Internal)?.map_err(|error| match error {
        NoiseError::Cipher(CipherError::Decrypt) => HandshakeError::Forged,
        NoiseError::Dh(DhError::KeyGeneration) | NoiseError::Kem(KemError::Input) => HandshakeError::UnfitKey,
        NoiseError::Kem(KemError::Encapsulation | KemError::KeyGeneration) => {
            HandshakeError::Random(crate::RandomError)
        }
        NoiseError::Cipher(
            CipherError::Encrypt | CipherError::NonceOverflow | CipherError::MissingKeyMaterial,
        )
        | NoiseError::Kem(KemError::Decapsulation)
        | NoiseError::MissingMaterial
        | NoiseError::InvalidState
        | NoiseError::BufferTooSmall
        | NoiseError::InvalidMessage
        | NoiseError::ErrorState
        | NoiseError::PskMissing
        | NoiseError::InvalidPattern(..)
        | NoiseError::Transport(_)
        | NoiseError::Pattern(_) => HandshakeError::Internal,
    })
}

fn x25519_pair(secret: &StaticSecret) -> KeyPair<[u8; 32], SensitiveByteArray<[u8; 32]>> {
    KeyPair::new(PublicKey::from(secret).to_bytes(), SensitiveByteArray::from_slice(secret.as_bytes()))
}

fn mlkem_pair(
    seed: &[u8; mlkem::SEED_BYTES],
) -> KeyPair<HeapArray<{ mlkem::PUBLIC_BYTES }>, SensitiveByteArray<[u8; mlkem::SEED_BYTES]>> {
    let public = mlkem::public(&mlkem::expand(seed));
    KeyPair::new(HeapArray::from_slice(&*public), SensitiveByteArray::from_slice(seed))
}

#[derive(Clone)]
struct X25519;

impl CryptoComponent for X25519 {
    fn name() -> &'static str {
        "25519"
    }
}

impl Dh for X25519 {
    type PrivateKey = SensitiveByteArray<[u8; 32]>;
    type PubKey = [u8; 32];
    type Output = SensitiveByteArray<[u8; 32]>;

    fn genkey_rng<R: Rng>(_: &mut R) -> DhResult<KeyPair<Self::PubKey, Self::PrivateKey>> {
        let seed = random::array::<32>().map(Zeroizing::new).map_err(|_| DhError::KeyGeneration)?;
        Ok(x25519_pair(&StaticSecret::from(*seed)))
    }

    fn pubkey(secret: &Self::PrivateKey) -> Self::PubKey {
        PublicKey::from(&StaticSecret::from(**secret)).to_bytes()
    }

    /// Its only error is another's name; it means a point of low order.
    fn dh(secret: &Self::PrivateKey, public: &Self::PubKey) -> DhResult<Self::Output> {
        let shared = StaticSecret::from(**secret).diffie_hellman(&PublicKey::from(*public));
        if !shared.was_contributory() {
            return Err(DhError::KeyGeneration);
        }
        Ok(SensitiveByteArray::from_slice(shared.as_bytes()))
    }
}

#[derive(Clone)]
struct MlKem1024;

impl CryptoComponent for MlKem1024 {
    fn name() -> &'static str {
        "MLKEM1024"
    }
}

impl Kem for MlKem1024 {
    type SecretKey = SensitiveByteArray<[u8; mlkem::SEED_BYTES]>;
    type PubKey = HeapArray<{ mlkem::PUBLIC_BYTES }>;
    type Ct = HeapArray<{ mlkem::CIPHERTEXT_BYTES }>;
    type Ss = SensitiveByteArray<[u8; mlkem::SECRET_BYTES]>;

    fn genkey_rng<R: Rng>(_: &mut R) -> KemResult<KeyPair<Self::PubKey, Self::SecretKey>> {
        let mut seed = Zeroizing::new([0; mlkem::SEED_BYTES]);
        random::fill(&mut *seed).map_err(|_| KemError::KeyGeneration)?;
        Ok(mlkem_pair(&seed))
    }

    fn encapsulate<R: Rng>(public: &[u8], _: &mut R) -> KemResult<(Self::Ct, Self::Ss)> {
        let sealed = mlkem::encapsulate(public).map_err(|error| match error {
            EncapsulationError::InvalidKey => KemError::Input,
            EncapsulationError::Random(_) => KemError::Encapsulation,
        })?;
        Ok((HeapArray::from_slice(&*sealed.ciphertext), SensitiveByteArray::from_slice(&*sealed.secret)))
    }

    fn decapsulate(ciphertext: &[u8], secret: &[u8]) -> KemResult<Self::Ss> {
        let ciphertext = ciphertext.try_into().map_err(|_| KemError::Input)?;
        let seed = secret.try_into().map_err(|_| KemError::Input)?;
        Ok(SensitiveByteArray::from_slice(&*mlkem::decapsulate(&mlkem::expand(seed), ciphertext)))
    }
}

#[derive(Clone)]
struct AesGcm;

impl CryptoComponent for AesGcm {
    fn name() -> &'static str {
        "AESGCM"
    }
}

impl Cipher for AesGcm {
    type Key = SensitiveByteArray<[u8; 32]>;

    fn tag_len() -> usize {
        TAG_BYTES
    }

    fn encrypt(key: &Self::Key, nonce: u64, ad: &[u8], plaintext: &[u8], out: &mut [u8]) -> CipherResult<()> {
        out.get_mut(..plaintext.len()).ok_or(CipherError::Encrypt)?.copy_from_slice(plaintext);
        Self::encrypt_in_place(key, nonce, ad, out, plaintext.len()).map(|_| ())
    }

    fn encrypt_in_place(
        key: &Self::Key,
        nonce: u64,
        ad: &[u8],
        in_out: &mut [u8],
        plaintext_len: usize,
    ) -> CipherResult<usize> {
        let (buffer, rest) = in_out.split_at_mut_checked(plaintext_len).ok_or(CipherError::Encrypt)?;
        let tag = rest.first_chunk_mut::<TAG_BYTES>().ok_or(CipherError::Encrypt)?;
        *tag = Aead::new(Suite::Aes256Gcm, key).seal(nonce, ad, buffer);
        Ok(plaintext_len + TAG_BYTES)
    }

    fn decrypt(
        key: &Self::Key,
        nonce: u64,
        ad: &[u8],
        ciphertext: &[u8],
        out: &mut [u8],
    ) -> CipherResult<()> {
        let (sealed, tag) = ciphertext.split_last_chunk::<TAG_BYTES>().ok_or(CipherError::Decrypt)?;
        let out = out.get_mut(..sealed.len()).ok_or(CipherError::Decrypt)?;
        out.copy_from_slice(sealed);
        Aead::new(Suite::Aes256Gcm, key).open(nonce, ad, out, tag).map_err(|_| CipherError::Decrypt)
    }

    fn decrypt_in_place(
        key: &Self::Key,
        nonce: u64,
        ad: &[u8],
        in_out: &mut [u8],
        ciphertext_len: usize,
    ) -> CipherResult<usize> {
        let ciphertext = in_out.get_mut(..ciphertext_len).ok_or(CipherError::Decrypt)?;
        let (buffer, tag) = ciphertext.split_last_chunk_mut::<TAG_BYTES>().ok_or(CipherError::Decrypt)?;
        Aead::new(Suite::Aes256Gcm, key).open(nonce, ad, buffer, tag).map_err(|_| CipherError::Decrypt)?;
        Ok(buffer.len())
    }
}

#[derive(Clone, Default)]
struct Hash512(Sha512);

impl CryptoComponent for Hash512 {
    fn name() -> &'static str {
        "SHA512"
    }
}

impl Hash for Hash512 {
    type Block = [u8; 128];
    type Output = SensitiveByteArray<[u8; 64]>;

    fn input(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn result(self) -> Self::Output {
        SensitiveByteArray::new(self.0.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::side::Side;
    use crate::testing::ends;

    #[test]
    fn the_protocol_has_its_name() {
        let [end, _] = ends(Side::Zero, [true; 2]);
        let noise = Noise::new(&end.leg(), true, b"").unwrap();
        assert_eq!(noise.0.get_name().as_str(), "Noise_hybridKK_25519+MLKEM1024_AESGCM_SHA512");
    }

    #[test]
    fn a_panic_ends_the_leg_only() {
        let result = guarded::<()>(|| panic!("as clatter does"));
        assert_eq!(result, Err(HandshakeError::Internal));
    }
}
