//! What a [`Lifecycle`](super::Lifecycle) asks for.

use std::net::SocketAddr;

use super::legs::LegId;
use super::{Goodbye, Nonce, SessionId};
use crate::connect::grade::Grade;
use crate::connect::race::{DialId, Target};

/// What our post says, apart from where we listen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MyPost {
    pub(crate) nonce: Nonce,
    pub(crate) want: bool,
    pub(crate) refuse: bool,
    pub(crate) attempt: u64,
}

/// What is punched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PunchPlan {
    /// The nonces of side 0 and side 1.
    pub(crate) nonces: (Nonce, Nonce),
    pub(crate) addresses: Vec<SocketAddr>,
}

/// Something to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Post this from now on.
    Post(MyPost),
    /// Dial this leg.
    Dial(DialId, Target),
    /// Give a leg up that is being dialled.
    DropDial(DialId),
    /// Punch these from now on, or nothing.
    Punch(Option<PunchPlan>),
    /// Make this leg the session. `number` is what we say first on it: as side 0 the nomination, as side 1 our newest
    /// attempt.
    Adopt { leg: LegId, session: SessionId, grade: Grade, number: u64 },
    /// Close this leg.
    Discard(LegId),
    /// Tell on this leg that we want none, and close it.
    Refuse(LegId),
    /// A newer session carries on: let the calls on this one finish, then close it.
    Retire(SessionId),
    /// End this session.
    End(SessionId, Option<Goodbye>),
}
