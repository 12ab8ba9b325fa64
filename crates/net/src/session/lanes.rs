//! Which further lanes a session has, should have, and lacks. No I/O and no clock.
//!
//! Each side offers the urgent lane on which it asks; side 0 offers the bulk lanes, on which both ask. A lane that is
//! lost is offered anew under a new number.

use std::time::Duration;

use farhold_secure::Side;
use farhold_wire::LaneClass;
use tokio::time::Instant;

use crate::control::{LaneNonce, Message};
use crate::state::Transport;

/// Bulk lanes of a session: with two, one of them lost or slow is not the end of reading ahead.
const BULK_LANES: usize = 2;
/// Bulk lanes of a session over TCP if the round trip is [`LONG`] or more: the systems give one connection no more than 4
/// to 6 MiB for a round trip, and its window less than that after a loss.
const LONG_BULK_LANES: usize = 6;
/// The same over QUIC: what follows a lost packet on its lane waits a round trip for it. At 72 MB/s, 200 ms and 0.1 % of
/// loss each of two lanes always waits for one; each of twelve, every other moment.
const LONG_QUIC_LANES: usize = 12;
const LONG: Duration = Duration::from_millis(50);
/// TCP bulk lanes beside those of a QUIC session if the round trip is under [`SHORT`]: there the kernel's TCP may be the
/// quicker one, which only measuring tells.
const TCP_BESIDE: usize = 2;
const SHORT: Duration = Duration::from_millis(10);
/// How long the other side has to answer an offer.
const ANSWERED_WITHIN: Duration = Duration::from_secs(10);
/// Before a lane is offered again; doubles up to [`AGAIN_MOST`].
const AGAIN: Duration = Duration::from_millis(200);
const AGAIN_MOST: Duration = Duration::from_secs(5);
/// Lanes of each class that the other side may have here: those that stand, and as many that take their place.
const THEIR_URGENT: usize = 2;
const THEIR_BULK: usize = 24;

/// Whose lane it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    Mine,
    Theirs,
}

/// What the session's control lane runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Base {
    /// A TCP connection.
    Tcp,
    /// Two TCP connections, joined by the relay's bridge.
    Bridge,
    /// A QUIC connection.
    Quic {
        /// TCP goes to the same address too.
        tcp_beside: bool,
    },
}

/// How a lane's connection comes about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    /// As the control lane's: another stream of the QUIC connection, or another TCP connection from the same side.
    Same,
    /// Both sides meet at the bridge, as leg of this number.
    Bridge(u32),
    /// A TCP connection beside the QUIC one, from the same side.
    TcpBeside,
}

/// A lane that both sides have agreed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Agreed {
    pub(super) number: u32,
    pub(super) class: LaneClass,
    pub(super) owner: Owner,
    pub(super) my_nonce: LaneNonce,
    pub(super) their_nonce: LaneNonce,
    pub(super) route: Route,
}

/// How it stands with a lane, to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LaneStatus {
    pub(super) number: Option<u32>,
    pub(super) class: LaneClass,
    pub(super) transport: Transport,
    /// `None` if it stands.
    pub(super) missing: Option<String>,
}

/// Randomness that an offer or answer takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fresh {
    pub(super) nonce: LaneNonce,
    pub(super) bridge_leg: u32,
}

/// Why an offer is refused, or ends the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum OfferError {
    #[error("too many lanes")]
    TooMany,
    #[error("the offer's number is not the offerer's next")]
    Number,
    #[error("the offer does not fit the path")]
    Path,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    /// To be offered then.
    Due(Instant),
    Offered {
        number: u32,
        fresh: Fresh,
        until: Instant,
    },
    Opening {
        number: u32,
    },
    Up {
        number: u32,
    },
}

#[derive(Debug)]
struct Mine {
    class: LaneClass,
    tcp_beside: bool,
    state: State,
    failures: u32,
    missing: String,
}

#[derive(Debug)]
struct Theirs {
    number: u32,
    class: LaneClass,
    tcp_beside: bool,
    up: bool,
}

/// The lanes of one session.
#[derive(Debug)]
pub(super) struct Lanes {
    side: Side,
    base: Base,
    mine: Vec<Mine>,
    theirs: Vec<Theirs>,
    next: u32,
    /// The least number that the other side's next offer may have.
    least: u32,
}

impl Lanes {
    pub(super) fn new(side: Side, base: Base, now: Instant) -> Self {
        let bulk = match side {
            Side::Zero => BULK_LANES,
            Side::One => 0,
        };
        let classes = std::iter::once(LaneClass::Urgent).chain(std::iter::repeat_n(LaneClass::Bulk, bulk));
        let mine = classes.map(|class| Mine::new(class, false, now));
        // Side 0's numbers are even, side 1's odd; the control lane is none of them.
        let first = |side: Side| 2 + u32::from(side.number());
        Self {
            side,
            base,
            mine: mine.collect(),
            theirs: Vec::new(),
            next: first(side),
            least: first(side.other()),
        }
    }

    /// The round trip is known: offers the lanes that such a path needs.
    pub(super) fn measured(&mut self, rtt: Duration, now: Instant) {
        let (tcp_beside, wanted) = match (self.side, self.base) {
            (Side::Zero, Base::Tcp | Base::Bridge) if rtt >= LONG => (false, LONG_BULK_LANES),
            (Side::Zero, Base::Quic { .. }) if rtt >= LONG => (false, LONG_QUIC_LANES),
            (Side::Zero, Base::Quic { tcp_beside: true }) if rtt < SHORT => (true, TCP_BESIDE),
            (Side::Zero | Side::One, Base::Tcp | Base::Bridge | Base::Quic { .. }) => return,
        };
        let such = |lane: &&Mine| lane.class == LaneClass::Bulk && lane.tcp_beside == tcp_beside;
        for _ in self.mine.iter().filter(such).count()..wanted {
            self.mine.push(Mine::new(LaneClass::Bulk, tcp_beside, now));
        }
    }

    /// An offer that is due, to be sent.
    pub(super) fn offer(&mut self, now: Instant, fresh: Fresh) -> Option<Message> {
        for lane in &mut self.mine {
            if matches!(lane.state, State::Offered { until, .. } if until <= now) {
                lane.fail("the offer was not answered", now);
            }
        }
        let due = |lane: &&mut Mine| matches!(lane.state, State::Due(at) if at <= now);
        let lane = self.mine.iter_mut().find(due)?;
        let number = self.next;
        self.next += 2;
        lane.state = State::Offered { number, fresh, until: now + ANSWERED_WITHIN };
        let bridge_leg = (self.base == Base::Bridge).then_some(fresh.bridge_leg);
        Some(Message::LaneOffer {
            lane: number,
            class: lane.class,
            nonce: fresh.nonce,
            bridge_leg,
            tcp_beside: lane.tcp_beside,
        })
    }

    /// When [`Self::offer`] has something to do.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let due = self.mine.iter().filter_map(|lane| match lane.state {
            State::Due(at) | State::Offered { until: at, .. } => Some(at),
            State::Opening { .. } | State::Up { .. } => None,
        });
        due.min()
    }

    /// The other side took an offer; `None` if that offer is no longer good.
    pub(super) fn answered(&mut self, number: u32, their_nonce: LaneNonce) -> Option<Agreed> {
        let base = self.base;
        self.mine.iter_mut().find_map(|lane| {
            let State::Offered { number: offered, fresh, .. } = lane.state else { return None };
            if offered != number {
                return None;
            }
            lane.state = State::Opening { number };
            lane.missing = "being opened".to_owned();
            Some(Agreed {
                number,
                class: lane.class,
                owner: Owner::Mine,
                my_nonce: fresh.nonce,
                their_nonce,
                route: match (base, lane.tcp_beside) {
                    (Base::Bridge, _) => Route::Bridge(fresh.bridge_leg),
                    (Base::Tcp | Base::Quic { .. }, false) => Route::Same,
                    (Base::Tcp | Base::Quic { .. }, true) => Route::TcpBeside,
                },
            })
        })
    }

    /// The other side did not take an offer.
    pub(super) fn refused(&mut self, number: u32, reason: &str, now: Instant) {
        let refused = |lane: &&mut Mine| matches!(lane.state, State::Offered { number: offered, .. } if offered == number);
        if let Some(lane) = self.mine.iter_mut().find(refused) {
            lane.fail(reason, now);
        }
    }

    /// The other side offers a lane.
    pub(super) fn offered(
        &mut self,
        number: u32,
        class: LaneClass,
        their_nonce: LaneNonce,
        bridge_leg: Option<u32>,
        tcp_beside: bool,
        fresh: Fresh,
    ) -> Result<Agreed, OfferError> {
        if number < self.least || number % 2 != self.least % 2 || number > u32::MAX - 2 {
            return Err(OfferError::Number);
        }
        self.least = number + 2;
        let route = match (self.base, bridge_leg, tcp_beside) {
            (Base::Tcp | Base::Quic { .. }, None, false) => Route::Same,
            (Base::Bridge, Some(leg), false) => Route::Bridge(leg),
            (Base::Quic { tcp_beside: true }, None, true) => Route::TcpBeside,
            (Base::Tcp | Base::Bridge | Base::Quic { .. }, _, _) => return Err(OfferError::Path),
        };
        let most = match class {
            LaneClass::Urgent => THEIR_URGENT,
            LaneClass::Bulk => THEIR_BULK,
        };
        if self.theirs.iter().filter(|lane| lane.class == class).count() >= most {
            return Err(OfferError::TooMany);
        }
        self.theirs.push(Theirs { number, class, tcp_beside, up: false });
        Ok(Agreed { number, class, owner: Owner::Theirs, my_nonce: fresh.nonce, their_nonce, route })
    }

    /// A lane stands.
    pub(super) fn up(&mut self, number: u32) {
        for lane in self.mine.iter_mut().filter(|lane| lane.number() == Some(number)) {
            lane.state = State::Up { number };
            lane.failures = 0;
        }
        for lane in self.theirs.iter_mut().filter(|lane| lane.number == number) {
            lane.up = true;
        }
    }

    /// A lane could not be opened, or was lost. Its owner offers another.
    pub(super) fn lost(&mut self, number: u32, reason: &str, now: Instant) {
        for lane in self.mine.iter_mut().filter(|lane| lane.number() == Some(number)) {
            lane.fail(reason, now);
        }
        self.theirs.retain(|lane| lane.number != number);
    }

    /// All lanes, mine first.
    pub(super) fn status(&self) -> Vec<LaneStatus> {
        let mine = self.mine.iter().map(|lane| LaneStatus {
            number: lane.number(),
            class: lane.class,
            transport: self.transport(lane.tcp_beside),
            missing: (!matches!(lane.state, State::Up { .. })).then(|| lane.missing.clone()),
        });
        let theirs = self.theirs.iter().map(|lane| LaneStatus {
            number: Some(lane.number),
            class: lane.class,
            transport: self.transport(lane.tcp_beside),
            missing: (!lane.up).then(|| "being opened".to_owned()),
        });
        mine.chain(theirs).collect()
    }

    pub(super) fn side(&self) -> Side {
        self.side
    }

    fn transport(&self, tcp_beside: bool) -> Transport {
        match (self.base, tcp_beside) {
            (Base::Tcp | Base::Bridge, _) | (Base::Quic { .. }, true) => Transport::Tcp,
            (Base::Quic { .. }, false) => Transport::Quic,
        }
    }
}

impl Mine {
    fn new(class: LaneClass, tcp_beside: bool, now: Instant) -> Self {
        let missing = "not offered yet".to_owned();
        Self { class, tcp_beside, state: State::Due(now), failures: 0, missing }
    }

    fn number(&self) -> Option<u32> {
        match self.state {
            State::Due(_) => None,
            State::Offered { number, .. } | State::Opening { number } | State::Up { number } => Some(number),
        }
    }

    fn fail(&mut self, reason: &str, now: Instant) {
        let pause = AGAIN.saturating_mul(1 << self.failures.min(5)).min(AGAIN_MOST);
        self.failures += 1;
        self.state = State::Due(now + pause);
        reason.clone_into(&mut self.missing);
    }
}

#[cfg(test)]
mod tests;
