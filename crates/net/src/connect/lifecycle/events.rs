//! What a [`Lifecycle`](super::Lifecycle) is told.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::Instant;

use super::legs::ReadyLeg;
use crate::connect::race::{Candidate, DialId};

/// Random bytes of a post; those of both sides make the bridge tokens.
pub(crate) type Nonce = [u8; 16];

/// When something happens, and the randomness that an attempt started by it takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    pub(crate) now: Instant,
    pub(crate) unix_milliseconds: u64,
    pub(crate) fresh: Nonce,
}

/// Names a session within one contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SessionId(pub(crate) u64);

/// What a contact's post says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PeerPost {
    pub(crate) nonce: Nonce,
    pub(crate) want: bool,
    pub(crate) refuse: bool,
    pub(crate) attempt: u64,
    /// Best first.
    pub(crate) candidates: Vec<Candidate>,
    /// Where its NAT may let our datagrams in.
    pub(crate) punchable: Vec<SocketAddr>,
}

/// What the other end of a session did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionEvent {
    /// Side 1 told its newest attempt.
    Settled(u64),
    /// Its round trip was measured.
    Measured(Duration),
    /// Nothing came where something should have.
    Silent,
    /// Something came again.
    Alive,
    /// The control lane ended.
    Closed,
    /// The contact said goodbye.
    Goodbye(Goodbye),
}

/// Why a side ends a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goodbye {
    /// Its user disconnected.
    User,
    /// Its program stops.
    Stopping,
    /// A newer session carries on.
    Replaced,
    /// It wants none now.
    Refused,
}

/// What can happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// Our user wants a session.
    Connect,
    /// Our user wants none.
    Disconnect,
    /// A newer post of the contact.
    Post(PeerPost),
    /// The relay has no post of the contact.
    Absent,
    /// Another relay is set, which is still to be reached, or none.
    RelaySet { set: bool },
    /// The relay is reached, or lost.
    Relay { up: bool },
    /// Our addresses are others than before; `unrooted` says that the session's own is gone.
    Network { unrooted: bool },
    /// A leg that we dialled came to nothing; `met` as in [`Race::failed`].
    Failed { dial: DialId, met: bool, reason: String },
    /// The contact refused a leg that we dialled.
    Refused { dial: DialId },
    /// A leg is authenticated.
    Ready(ReadyLeg),
    /// A punch of the contact came from there.
    Punched { address: SocketAddr },
    /// No punch of the contact came for long.
    Unpunched,
    /// Something came of a session.
    Session(SessionId, SessionEvent),
    /// The deadline has come.
    Time,
}
