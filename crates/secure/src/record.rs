//! The encrypted stream of one lane.
//!
//! A record is `length (4, big-endian) | AEAD(type (1) | payload)`; the length counts what follows it and is the
//! associated data. Nonces are counters that are never sent, and each direction has its own key, so a record that is
//! repeated, moved, dropped, reflected or changed fails. A stream ends with a close record; without one its end is
//! an error, never an end of data.

mod opener;
mod sealer;

use std::time::Duration;

use bytes::Bytes;

use crate::suite::TAG_BYTES;

pub use opener::Opener;
pub use sealer::Sealer;

/// Bytes before a record's ciphertext.
pub const HEADER_BYTES: usize = 4;
/// Largest payload of a data record.
pub const PAYLOAD_BYTES: usize = 1 << 20;
/// Best payload of a data record: sealed and opened as fast as larger ones, within 3 % (`benches/record.rs`), and
/// usable at the other end as soon as this much has arrived.
pub const CHUNK_BYTES: usize = 64 << 10;
/// What a record has over its payload: header, type and tag.
pub const OVERHEAD_BYTES: usize = HEADER_BYTES + 1 + TAG_BYTES;
/// Longest ciphertext before the peer has authenticated on this lane.
pub const UNAUTHENTICATED_BYTES: usize = 8 << 10;

/// Longest ciphertext: the largest payload, its type and its tag.
const CIPHERTEXT_BYTES: usize = PAYLOAD_BYTES + 1 + TAG_BYTES;

/// What a record brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// The next bytes of the stream, at least one.
    Data(Bytes),
    /// The peer is there.
    Ping,
    /// The stream ends here.
    Close,
}

/// Why a lane is at its end. Nothing more can be read from or written to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// A record from the peer is longer than it may be now.
    #[error("a record of {0} bytes is too long")]
    TooLong(u32),
    /// A record from the peer is too short to have a type and a tag.
    #[error("a record of {0} bytes is too short")]
    TooShort(u32),
    /// A record was changed, repeated, moved or left out, or is none of the peer's.
    #[error("a record does not verify")]
    Forged,
    /// An authenticated record of a type that does not exist.
    #[error("a record has the unknown type {0}")]
    UnknownType(u8),
    /// An authenticated record whose payload does not fit its type.
    #[error("a record's payload does not fit its type")]
    Malformed,
    /// A key update names an exchange that did not happen.
    #[error("a key update names the unknown exchange {0}")]
    UnknownExchange(u32),
    /// A key update that follows another without a record between, which costs only us.
    #[error("two key updates follow each other")]
    RepeatedUpdate,
    /// The peer has used one key beyond the hard limit.
    #[error("the peer did not renew its key in time")]
    Overused,
    /// The connection ended without a close record.
    #[error("the connection was cut")]
    Cut,
    /// Something follows a close record, or was to be written after it.
    #[error("the stream was closed")]
    Closed,
    /// An error ended this lane before.
    #[error("the lane has failed")]
    Failed,
    /// A payload to be sealed is empty.
    #[error("a data record must not be empty")]
    Empty,
    /// A payload to be sealed is over [`PAYLOAD_BYTES`].
    #[error("a payload of {0} bytes is too large for a record")]
    PayloadTooLarge(usize),
}

/// Types of records.
const DATA: u8 = 0;
const KEY_UPDATE: u8 = 1;
const PING: u8 = 2;
const CLOSE: u8 = 3;

/// When keys are renewed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Ciphertext under one key after which the sender renews it.
    pub(crate) bytes: u64,
    /// Records under one key after which the sender renews it.
    pub(crate) records: u64,
    /// Time since a key's first record after which the sender renews it.
    pub(crate) age: Duration,
    /// Ciphertext under one key beyond which the receiver ends the lane.
    pub(crate) hard_bytes: u64,
    /// Records under one key beyond which the receiver ends the lane.
    pub(crate) hard_records: u64,
}

impl Limits {
    /// Far below what either cipher allows (2^36 bytes a message, 2^32 messages a key at 2^-32 for GCM): they bound
    /// how much one stolen key opens.
    pub(crate) const STANDARD: Self = Self {
        bytes: 1 << 30,
        records: 1 << 20,
        age: Duration::from_secs(60),
        hard_bytes: 2 << 30,
        hard_records: 1 << 21,
    };
}

#[cfg(test)]
mod tests;
