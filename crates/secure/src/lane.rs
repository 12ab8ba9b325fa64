//! Further lanes of a session.
//!
//! Both sides send 32 random bytes over the control lane; from these, and nothing that outlives them, come the
//! lane's keys, and the 33 bytes with which its own connection begins: `2 | ticket (16) | MAC (16)`.

use std::fmt;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use crate::kdf::Key;
use crate::opening::OPENING_BYTES;
use crate::ratchet::LaneName;
use crate::record::{Opener, Record, RecordError, Sealer};
use crate::session::SessionKeys;
use crate::side::Side;

/// First byte of a connection that is a further lane.
pub const LANE_VERSION: u8 = 2;
/// Length of a ticket.
pub const TICKET_BYTES: usize = 16;
/// How long a lane's acceptor waits for its ticket, which is good for one connection.
pub const TICKET_LIFE: Duration = Duration::from_secs(30);

const MAC_BYTES: usize = 16;

/// Names the lane that a new connection is meant for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket([u8; TICKET_BYTES]);

impl Ticket {
    /// The ticket in the first bytes of a connection; `None` if they are not a lane's.
    pub fn of(opening: &[u8; OPENING_BYTES]) -> Option<Self> {
        let (&version, rest) = opening.split_first()?;
        let ticket = rest.first_chunk::<TICKET_BYTES>()?;
        (version == LANE_VERSION).then_some(Self(*ticket))
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ticket(..)")
    }
}

/// Why a connection is not the lane that its ticket names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LaneError {
    /// The ticket or its MAC is not this lane's.
    #[error("the opening is not this lane's")]
    Opening,
    /// The first record did not come from the peer.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The first record is not a ping.
    #[error("the lane does not begin with a ping")]
    NoPing,
}

/// The keys of a further lane before it has a connection: one side dials, the other accepts.
pub struct Lane {
    ticket: Ticket,
    key: Key,
    mine: Side,
    sealer: Sealer,
    opener: Opener,
}

impl Lane {
    pub(crate) fn derive(
        session: &SessionKeys,
        name: LaneName,
        my_nonce: &[u8; 32],
        their_nonce: &[u8; 32],
    ) -> Self {
        let mine = session.side();
        let nonces = match mine {
            Side::Zero => [*my_nonce, *their_nonce],
            Side::One => [*their_nonce, *my_nonce],
        };
        let nonces = zeroize::Zeroizing::new(nonces.concat());
        let key = Key::extract(b"farhold lane v1", &nonces)
            .derive("lane", &[&name.number.to_be_bytes(), &[name.class]]);
        let chain = |sender: Side| key.derive("lane chain", &[&[sender.number()]]);
        Self {
            ticket: Ticket(*key.expand("lane ticket", &[])),
            mine,
            sealer: session.sealer(name, chain(mine)),
            opener: session.opener(name, chain(mine.other())),
            key,
        }
    }

    /// What the dialer will send; the acceptor finds the lane by it.
    pub fn ticket(&self) -> Ticket {
        self.ticket
    }

    /// Begins a connection that I dialled: appends the opening and my first record to `out`.
    pub fn dial(mut self, now: Instant, out: &mut BytesMut) -> Result<UnconfirmedLane, LaneError> {
        out.extend_from_slice(&self.opening(self.mine));
        self.sealer.ping(now, out)?;
        Ok(UnconfirmedLane { sealer: self.sealer, opener: self.opener })
    }

    /// Takes a connection that the peer dialled and began with `opening`: appends my first record to `out`.
    pub fn accept(
        mut self,
        opening: &[u8; OPENING_BYTES],
        now: Instant,
        out: &mut BytesMut,
    ) -> Result<UnconfirmedLane, LaneError> {
        if !bool::from(self.opening(self.mine.other()).ct_eq(opening)) {
            return Err(LaneError::Opening);
        }
        self.sealer.ping(now, out)?;
        Ok(UnconfirmedLane { sealer: self.sealer, opener: self.opener })
    }

    fn opening(&self, dialer: Side) -> [u8; OPENING_BYTES] {
        let key = self.key.expand::<32>("lane opening", &[&[dialer.number()]]);
        let mut opening = [0; OPENING_BYTES];
        opening[0] = LANE_VERSION;
        opening[1..=TICKET_BYTES].copy_from_slice(&self.ticket.0);
        let mut hmac = Hmac::<Sha256>::new_from_slice(&*key).expect("HMAC takes keys of any length");
        hmac.update(&opening[..=TICKET_BYTES]);
        opening[1 + TICKET_BYTES..].copy_from_slice(&hmac.finalize().into_bytes()[..MAC_BYTES]);
        opening
    }
}

impl fmt::Debug for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lane").field("mine", &self.mine).finish_non_exhaustive()
    }
}

/// A lane with a connection whose other end has not proved to be the peer.
#[derive(Debug)]
pub struct UnconfirmedLane {
    sealer: Sealer,
    opener: Opener,
}

/// What the peer's first bytes made of a lane.
#[derive(Debug)]
pub enum LaneConfirmation {
    /// More bytes are needed.
    Waiting(UnconfirmedLane),
    /// The other end is the peer.
    Confirmed(Sealer, Opener),
}

impl UnconfirmedLane {
    /// Looks for the peer's first record in `buffer`, where further ones may follow it.
    pub fn confirm(mut self, buffer: &mut BytesMut) -> Result<LaneConfirmation, LaneError> {
        match self.opener.open(buffer)? {
            None => Ok(LaneConfirmation::Waiting(self)),
            Some(Record::Ping) => Ok(LaneConfirmation::Confirmed(self.sealer, self.opener)),
            Some(Record::Data(_) | Record::Close) => Err(LaneError::NoPing),
        }
    }
}

#[cfg(test)]
mod tests;
