//! The format of a block's file: `magic and version (4) | nonce (12) | ciphertext | tag (16)`.
//!
//! AES-256-GCM under a key per content, HKDF-SHA-256 from the cache's key. The nonce is random: a content has far
//! fewer than 2^32 blocks, the bound for random 96-bit nonces (NIST SP 800-38D, 8.3). The associated data binds a
//! file to its content, place and length, so a file that was torn, swapped or renamed does not open.

use std::io;

use aes_gcm::aead::inout::InOutBuf;
use aes_gcm::{AeadInOut, Aes256Gcm, KeyInit, Nonce, Tag};
use bytes::Bytes;
use hkdf::Hkdf;
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::key::{BlockId, ContentKey};

/// Bytes of a sealed block beside the block.
pub(crate) const SEAL_BYTES: usize = BODY + TAG;
/// The same, for sums of sizes on disk.
pub(crate) const OVERHEAD: u64 = SEAL_BYTES as u64;

/// "FHB" and the version of the format.
const MAGIC: [u8; 4] = *b"FHB\x01";
const NONCE: usize = 12;
const TAG: usize = 16;
const BODY: usize = MAGIC.len() + NONCE;
const LABEL: &[u8] = b"farhold cache v1";

/// Seals and opens the files of blocks.
pub(crate) struct Seal {
    root: Zeroizing<[u8; 32]>,
}

impl Seal {
    pub(crate) fn new(root: Zeroizing<[u8; 32]>) -> Self {
        Self { root }
    }

    /// Puts the file of `block` into `file`, whose former content is lost. Fails without randomness.
    pub(crate) fn seal(&self, id: &BlockId, block: &[u8], file: &mut Vec<u8>) -> io::Result<()> {
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce).map_err(io::Error::other)?;
        file.clear();
        file.extend_from_slice(&MAGIC);
        file.extend_from_slice(&nonce);
        file.extend_from_slice(block);
        let tag = self.cipher(&id.key)?.encrypt_inout_detached(
            &Nonce::from(nonce),
            &associated_data(id, block.len()),
            InOutBuf::from(&mut file[BODY..]),
        );
        file.extend_from_slice(&tag.map_err(|_| io::Error::other("a block is too long to seal"))?);
        Ok(())
    }

    /// The block of `length` bytes in `file`; `None` if this is not the file of that block.
    pub(crate) fn open(&self, id: &BlockId, length: usize, mut file: Vec<u8>) -> Option<Bytes> {
        if file.len() != BODY + length + TAG || file[..MAGIC.len()] != MAGIC {
            return None;
        }
        let nonce: [u8; NONCE] = file[MAGIC.len()..BODY].try_into().ok()?;
        let tag: [u8; TAG] = file[BODY + length..].try_into().ok()?;
        self.cipher(&id.key)
            .ok()?
            .decrypt_inout_detached(
                &Nonce::from(nonce),
                &associated_data(id, length),
                InOutBuf::from(&mut file[BODY..BODY + length]),
                &Tag::from(tag),
            )
            .ok()?;
        Some(Bytes::from(file).slice(BODY..BODY + length))
    }

    fn cipher(&self, key: &ContentKey) -> io::Result<Aes256Gcm> {
        let mut info = [0; LABEL.len() + 48];
        info[..LABEL.len()].copy_from_slice(LABEL);
        info[LABEL.len()..].copy_from_slice(&content(key));
        let mut derived = Zeroizing::new([0; 32]);
        Hkdf::<Sha256>::new(None, &*self.root)
            .expand(&info, &mut *derived)
            .map_err(|_| io::Error::other("a key cannot be derived"))?;
        Ok(Aes256Gcm::new(&(*derived).into()))
    }
}

fn content(key: &ContentKey) -> [u8; 48] {
    let mut bytes = [0; 48];
    bytes[..16].copy_from_slice(&key.contact);
    bytes[16..32].copy_from_slice(&key.entry);
    bytes[32..40].copy_from_slice(&key.epoch.to_be_bytes());
    bytes[40..].copy_from_slice(&key.counter.to_be_bytes());
    bytes
}

fn associated_data(id: &BlockId, length: usize) -> [u8; 64] {
    let mut bytes = [0; 64];
    bytes[..48].copy_from_slice(&content(&id.key));
    bytes[48..56].copy_from_slice(&id.index.to_be_bytes());
    bytes[56..].copy_from_slice(&(length as u64).to_be_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(counter: u64, index: u64) -> BlockId {
        BlockId { key: ContentKey { contact: [1; 16], entry: [2; 16], epoch: 3, counter }, index }
    }

    fn sealed(seal: &Seal, id: &BlockId, block: &[u8]) -> Vec<u8> {
        let mut file = Vec::new();
        seal.seal(id, block, &mut file).unwrap();
        file
    }

    #[test]
    fn opens_what_it_sealed_and_nothing_else() {
        let seal = Seal::new(Zeroizing::new([7; 32]));
        let block = b"some bytes of a block";
        let file = sealed(&seal, &id(1, 0), block);
        assert_eq!(file.len() as u64, block.len() as u64 + OVERHEAD);
        assert_eq!(seal.open(&id(1, 0), block.len(), file.clone()).as_deref(), Some(&block[..]));
        assert!(seal.open(&id(2, 0), block.len(), file.clone()).is_none(), "another version");
        assert!(seal.open(&id(1, 1), block.len(), file.clone()).is_none(), "another place");
        assert!(seal.open(&id(1, 0), block.len() - 1, file.clone()).is_none(), "another length");
        let other = Seal::new(Zeroizing::new([8; 32]));
        assert!(other.open(&id(1, 0), block.len(), file.clone()).is_none(), "another cache");
        for at in 0..file.len() {
            let mut damaged = file.clone();
            damaged[at] ^= 1;
            assert!(seal.open(&id(1, 0), block.len(), damaged).is_none(), "byte {at} damaged");
            assert!(seal.open(&id(1, 0), block.len(), file[..at].to_vec()).is_none(), "torn at {at}");
        }
    }

    #[test]
    fn every_sealing_has_its_own_nonce() {
        let seal = Seal::new(Zeroizing::new([7; 32]));
        assert_ne!(sealed(&seal, &id(1, 0), b"same"), sealed(&seal, &id(1, 0), b"same"));
    }

    /// The format does not change unnoticed: this file was made by its first version, with Python's `cryptography`
    /// as a second implementation of the key derivation and of the cipher.
    #[test]
    fn opens_a_file_of_the_first_format() {
        let seal = Seal::new(Zeroizing::new([7; 32]));
        let file = KNOWN_FILE.as_bytes().chunks(2);
        let file: Vec<u8> = file
            .map(|digits| u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap())
            .collect();
        assert_eq!(seal.open(&id(4, 5), 7, file).as_deref(), Some(&b"farhold"[..]));
    }

    const KNOWN_FILE: &str = "46484201000102030405060708090a0bf344a334f46995ccd45a0906647e17632e4b5cdacd0115";
}
