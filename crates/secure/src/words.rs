//! Authentication words: what two people read to each other to know that nobody sits between them.
//!
//! They come from the handshake, both sides' keys and one random number of each side. Side zero commits to its number
//! before it sees the other's, and side one sends its own before it sees side zero's, so nobody in the middle can
//! search for numbers that make both people's words alike: whoever tries has one guess in 2^40.

use std::fmt;
use std::sync::LazyLock;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::kdf::Key;
use crate::random::{self, RandomError};

/// How many words there are: 10 bits each.
pub const WORDS: usize = 4;
/// Length of the list.
pub const LIST_WORDS: usize = 1024;

static LIST: LazyLock<Vec<&'static str>> = LazyLock::new(|| include_str!("words.txt").lines().collect());

/// The word with this number; numbers wrap at [`LIST_WORDS`].
pub fn word(number: u16) -> &'static str {
    LIST[usize::from(number) % LIST_WORDS]
}

/// Four words, as shown to both people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words([&'static str; WORDS]);

impl Words {
    /// The words.
    pub fn as_array(&self) -> &[&'static str; WORDS] {
        &self.0
    }
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(" "))
    }
}

/// The peer's number is not the one it committed to. The pairing must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the peer did not keep to its commitment")]
pub struct BrokenCommitment;

/// What the words of one pairing depend on beside the two numbers.
pub struct WordsKey {
    pub(crate) handshake_hash: [u8; 64],
    /// Side zero's public keys, then side one's.
    keys: Vec<u8>,
}

impl WordsKey {
    pub(crate) fn new(handshake_hash: [u8; 64], keys: Vec<u8>) -> Self {
        Self { handshake_hash, keys }
    }

    /// Side zero begins: the commitment goes to the peer.
    pub fn commit(self) -> Result<(Committed, [u8; 32]), RandomError> {
        let number = random::array()?;
        let commitment = self.commitment(&number);
        Ok((Committed { key: self, number }, commitment))
    }

    /// Side one answers side zero's commitment: the contribution goes to the peer.
    pub fn contribute(self, commitment: [u8; 32]) -> Result<(Contributed, [u8; 32]), RandomError> {
        let number = random::array()?;
        Ok((Contributed { key: self, number, commitment }, number))
    }

    fn commitment(&self, number: &[u8; 32]) -> [u8; 32] {
        Sha256::new()
            .chain_update(b"farhold commitment v1")
            .chain_update(self.handshake_hash)
            .chain_update(number)
            .finalize()
            .into()
    }

    fn words(&self, zero: &[u8; 32], one: &[u8; 32]) -> Words {
        let input = [self.keys.as_slice(), zero, one].concat();
        let bits = Key::extract(&self.handshake_hash, &input).expand::<{ 2 * WORDS }>("words", &[]);
        let mut words = [""; WORDS];
        for (place, pair) in words.iter_mut().zip(bits.chunks_exact(2)) {
            *place = word(u16::from_be_bytes([pair[0], pair[1]]));
        }
        Words(words)
    }
}

impl fmt::Debug for WordsKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WordsKey(..)")
    }
}

/// Side zero after its commitment.
pub struct Committed {
    key: WordsKey,
    number: [u8; 32],
}

impl Committed {
    /// Takes side one's contribution: the words, and the reveal that goes to the peer.
    pub fn reveal(self, contribution: &[u8; 32]) -> (Words, [u8; 32]) {
        (self.key.words(&self.number, contribution), self.number)
    }
}

/// Whoever knows the number before it is revealed can search for words.
impl fmt::Debug for Committed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Committed(..)")
    }
}

/// Side one after its contribution.
pub struct Contributed {
    key: WordsKey,
    number: [u8; 32],
    commitment: [u8; 32],
}

impl Contributed {
    /// Takes side zero's reveal: the words.
    pub fn check(self, reveal: &[u8; 32]) -> Result<Words, BrokenCommitment> {
        if !bool::from(self.key.commitment(reveal).ct_eq(&self.commitment)) {
            return Err(BrokenCommitment);
        }
        Ok(self.key.words(reveal, &self.number))
    }
}

impl fmt::Debug for Contributed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Contributed(..)")
    }
}

#[cfg(test)]
mod tests;
