//! How two contacts find each other through a relay that must learn nothing: tokens under which sealed posts lie.
//!
//! Everything derives from one secret of the two, the side that posts, and the hour, so it changes by itself.

use std::fmt;

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{Key as AeadKey, XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

use crate::code::Code;
use crate::kdf;
use crate::punch::PunchKey;
use crate::random::{self, RandomError};
use crate::side::Side;

/// Length of a token.
pub const TOKEN_BYTES: usize = 32;
/// Most plaintext of one post. Sealed it stays under 4096 bytes.
pub const POST_BYTES: usize = 4096 - POST_OVERHEAD;
/// Bytes that sealing adds: nonce (24), time (8), counter (8), tag (16).
pub const POST_OVERHEAD: usize = NONCE_BYTES + STAMP_BYTES + 16;

const NONCE_BYTES: usize = 24;
const STAMP_BYTES: usize = 16;

/// A secret that two saved contacts alone know. Erased when dropped.
#[derive(Clone)]
pub struct PairSecret(Zeroizing<[u8; 32]>);

impl PairSecret {
    /// Takes a stored secret.
    pub fn from_bytes(bytes: &[u8; 32]) -> Self {
        Self(Zeroizing::new(*bytes))
    }

    /// The secret, to be stored.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for PairSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PairSecret(..)")
    }
}

/// A name that means nothing to anybody but the two who derive it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub [u8; TOKEN_BYTES]);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({:02x}{:02x}..)", self.0[0], self.0[1])
    }
}

/// An hour: whole hours since 1970, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hour(pub u64);

impl Hour {
    /// The hour of a point in time, in milliseconds since 1970.
    pub fn of(unix_milliseconds: u64) -> Self {
        Self(unix_milliseconds / 3_600_000)
    }

    /// The hours whose tokens and openings count now: clocks may differ by one.
    pub fn window(self) -> [Self; 3] {
        [Self(self.0.saturating_sub(1)), self, Self(self.0.saturating_add(1))]
    }
}

/// What a sealed post says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// When and as the how manieth it was sealed.
    pub stamp: Stamp,
    /// What it holds.
    pub plaintext: Vec<u8>,
}

/// The order of one side's posts. A relay can repeat an old one as long as its token is watched, so whoever reads them
/// drops those that are not newer than one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp {
    /// The poster's clock, in milliseconds since 1970.
    pub unix_milliseconds: u64,
    /// Rises with every post of one run of the poster's program.
    pub counter: u64,
}

/// Why a post could not be sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// Over [`POST_BYTES`].
    #[error("a post is too large")]
    TooLarge,
    /// No random nonce.
    #[error(transparent)]
    Random(#[from] RandomError),
}

/// A post that was not sealed by the peer under this token. Somebody else wrote it, or it was damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a post was not sealed by the contact")]
pub struct OpenError;

/// Everything two contacts derive to find each other. Erased when dropped.
pub struct Rendezvous {
    key: kdf::Key,
    mine: Side,
    pairing: bool,
}

impl Rendezvous {
    /// Of two saved contacts.
    pub fn saved(secret: &PairSecret, mine: Side) -> Self {
        Self { key: kdf::Key::extract(b"farhold saved v1", secret.as_bytes()), mine, pairing: false }
    }

    /// Of two who know each other's code only; `None` if the codes are the same. Whoever knows both codes can derive
    /// the same, so nothing secret may rest on it.
    pub fn pairing(mine: &Code, theirs: &Code) -> Option<Self> {
        let side = Side::between(mine, theirs)?;
        let (zero, one) = match side {
            Side::Zero => (mine, theirs),
            Side::One => (theirs, mine),
        };
        let codes = [zero.as_bytes().as_slice(), one.as_bytes()].concat();
        Some(Self { key: kdf::Key::extract(b"farhold pairing v1", &codes), mine: side, pairing: true })
    }

    /// My side.
    pub fn side(&self) -> Side {
        self.mine
    }

    /// Whether it rests on codes alone.
    pub fn is_pairing(&self) -> bool {
        self.pairing
    }

    /// The token under which I post in this hour.
    pub fn post_token(&self, hour: Hour) -> Token {
        self.token(self.mine, hour)
    }

    /// The tokens under which the peer may be posting now: of the last hour, this one and the next.
    pub fn watch_tokens(&self, hour: Hour) -> [Token; 3] {
        hour.window().map(|hour| self.token(self.mine.other(), hour))
    }

    /// The token of one leg through the relay's bridge, from the nonces of both sides' posts. Each is used once: a
    /// leg whose handshake failed is dialled again with the next number.
    pub fn bridge_token(&self, nonce_of_zero: &[u8; 16], nonce_of_one: &[u8; 16], leg: u32) -> Token {
        Token(*self.key.expand("bridge token", &[nonce_of_zero, nonce_of_one, &leg.to_be_bytes()]))
    }

    /// What the two put into the datagrams with which they open NATs to each other, from the nonces of both sides'
    /// posts.
    pub fn punch_key(&self, nonce_of_zero: &[u8; 16], nonce_of_one: &[u8; 16]) -> PunchKey {
        PunchKey::derive(&self.key, nonce_of_zero, nonce_of_one)
    }

    /// Seals a post of mine under `token`, one of my [`Self::post_token`]s.
    pub fn seal(&self, token: &Token, stamp: Stamp, plaintext: &[u8]) -> Result<Vec<u8>, SealError> {
        if plaintext.len() > POST_BYTES {
            return Err(SealError::TooLarge);
        }
        let nonce = random::array::<NONCE_BYTES>()?;
        let mut message = Zeroizing::new(Vec::with_capacity(STAMP_BYTES + plaintext.len()));
        message.extend_from_slice(&stamp.unix_milliseconds.to_be_bytes());
        message.extend_from_slice(&stamp.counter.to_be_bytes());
        message.extend_from_slice(plaintext);
        let aad = associated_data(token, self.mine);
        let sealed = self
            .post_cipher(token, self.mine)
            .encrypt(&XNonce::from(nonce), Payload { msg: &message, aad: &aad })
            .map_err(|_| SealError::TooLarge)?;
        Ok([nonce.as_slice(), &sealed].concat())
    }

    /// Opens a post of the peer, found under `token`, one of my [`Self::watch_tokens`].
    pub fn open(&self, token: &Token, blob: &[u8]) -> Result<Opened, OpenError> {
        if blob.len() < POST_OVERHEAD || blob.len() > POST_OVERHEAD + POST_BYTES {
            return Err(OpenError);
        }
        let theirs = self.mine.other();
        let (nonce, sealed) = blob.split_first_chunk::<NONCE_BYTES>().ok_or(OpenError)?;
        let aad = associated_data(token, theirs);
        let mut message = self
            .post_cipher(token, theirs)
            .decrypt(&XNonce::from(*nonce), Payload { msg: sealed, aad: &aad })
            .map_err(|_| OpenError)?;
        let plaintext = message.split_off(STAMP_BYTES);
        let (time, counter) = message.split_first_chunk::<8>().ok_or(OpenError)?;
        let counter = counter.first_chunk::<8>().ok_or(OpenError)?;
        let stamp =
            Stamp { unix_milliseconds: u64::from_be_bytes(*time), counter: u64::from_be_bytes(*counter) };
        Ok(Opened { stamp, plaintext })
    }

    /// The key of openings that `dialer` sends in `hour`.
    pub(crate) fn opening_key(&self, dialer: Side, hour: Hour) -> Zeroizing<[u8; 32]> {
        self.key.expand("opening", &[&[dialer.number()], &hour.0.to_be_bytes()])
    }

    fn token(&self, poster: Side, hour: Hour) -> Token {
        Token(*self.key.expand("post token", &[&[poster.number()], &hour.0.to_be_bytes()]))
    }

    /// A token belongs to one side and hour, so a key by token is one by side and hour.
    fn post_cipher(&self, token: &Token, poster: Side) -> XChaCha20Poly1305 {
        let key = self.key.expand::<32>("post key", &[&[poster.number()], &token.0]);
        XChaCha20Poly1305::new(&AeadKey::from(*key))
    }
}

impl fmt::Debug for Rendezvous {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rendezvous")
            .field("mine", &self.mine)
            .field("pairing", &self.pairing)
            .finish_non_exhaustive()
    }
}

fn associated_data(token: &Token, poster: Side) -> [u8; TOKEN_BYTES + 1] {
    let mut data = [poster.number(); TOKEN_BYTES + 1];
    data[..TOKEN_BYTES].copy_from_slice(&token.0);
    data
}

#[cfg(test)]
mod tests;
