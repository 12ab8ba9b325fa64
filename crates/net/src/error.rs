//! What can go wrong.

use std::io;

use farhold_wire::{ContactId, ReadFailure, WireError};

use crate::rendezvous::SubscribeError;

/// Why [`Net`](crate::Net) does not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum NetError {
    /// The text is no address of a relay.
    #[error("`{0}` is no relay address (HOST or HOST:PORT)")]
    RelayAddress(String),
    /// The port cannot be listened at, over TCP or UDP.
    #[error("cannot listen at port {port}")]
    Listen {
        /// The port asked for.
        port: u16,
        /// What the system says.
        source: io::Error,
    },
    /// TLS for QUIC cannot be set up.
    #[error("QUIC cannot be set up")]
    Quic(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The code or keys are our own.
    #[error("this is our own code")]
    OwnCode,
    /// There is no such contact here.
    #[error("no contact {0}")]
    UnknownContact(ContactId),
    /// The contact is paired; to pair again, remove it first.
    #[error("contact {0} is paired already")]
    AlreadyPaired(ContactId),
    /// More contacts and pairings than one watch at the relay takes.
    #[error("too many contacts")]
    TooManyContacts,
    /// No randomness from the system.
    #[error(transparent)]
    Random(#[from] farhold_secure::RandomError),
}

impl From<SubscribeError> for NetError {
    fn from(error: SubscribeError) -> Self {
        match error {
            SubscribeError::TooMany => Self::TooManyContacts,
            SubscribeError::Random(error) => Self::Random(error),
        }
    }
}

/// Why a call to a contact has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PeerError {
    /// There is no session with the contact.
    #[error("the contact is not connected")]
    Offline,
    /// The session stands, but the answer did not come in time.
    #[error("the contact did not answer in time")]
    TimedOut,
    /// More reads wait for their turn than may.
    #[error("too many reads wait for the contact")]
    Crowded,
    /// The contact answered that it cannot.
    #[error("the contact: {0}")]
    Failed(#[from] ReadFailure),
    /// What came is no answer to what was asked.
    #[error("the contact broke the protocol: {0}")]
    Protocol(#[from] WireError),
}
