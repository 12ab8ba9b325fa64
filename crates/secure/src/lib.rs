//! Who we are, how two contacts find and authenticate each other, and how what they say is protected. No I/O and
//! no clock: bytes and `now` in, bytes and typed errors out. `docs/security.md` has the formats in one place.
//!
//! * [`identity`], [`code`], [`side`]: long-lived keys, their fingerprint, and which of the two is which.
//! * [`rendezvous`]: what derives from a pair secret (or, while pairing, from both codes): relay tokens, sealed posts.
//! * [`opening`]: the 33 bytes with which a leg begins.
//! * [`punch`]: what opens NATs between the two.
//! * [`handshake`]: the hybrid Noise handshake of a leg.
//! * [`record`], [`suite`]: the encrypted stream of a lane, with its ratchet.
//! * [`session`], [`lane`], [`exchange`]: further lanes, and the renewal of keys in a long session.
//! * [`words`]: the words that two people compare while pairing.

pub mod code;
pub mod exchange;
pub mod handshake;
pub mod identity;
mod kdf;
pub mod lane;
mod mlkem;
pub mod opening;
pub mod punch;
pub mod random;
mod ratchet;
pub mod record;
pub mod rendezvous;
pub mod session;
pub mod side;
pub mod suite;
pub mod words;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod vectors;

pub use code::Code;
pub use identity::{Identity, PublicKeys};
pub use random::RandomError;
pub use rendezvous::{PairSecret, Rendezvous, Token};
pub use side::Side;
pub use suite::Suite;
