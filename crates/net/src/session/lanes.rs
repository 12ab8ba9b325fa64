//! Which further lanes a session has, should have, and lacks. No I/O and no clock.
//!
//! Each side offers the urgent lane on which it asks; side 0 offers the bulk lanes, on which both ask. A lane that is
//! lost is offered anew under a new number.

use std::time::Duration;

use farhold_secure::Side;
use farhold_wire::LaneClass;
use tokio::time::Instant;

use crate::control::{LaneNonce, Message};

/// Bulk lanes of a session: with two, one of them lost or slow is not the end of reading ahead.
const BULK_LANES: usize = 2;
/// How long the other side has to answer an offer.
const ANSWERED_WITHIN: Duration = Duration::from_secs(10);
/// Before a lane is offered again; doubles up to [`AGAIN_MOST`].
const AGAIN: Duration = Duration::from_millis(200);
const AGAIN_MOST: Duration = Duration::from_secs(5);
/// Lanes of each class that the other side may have here: those that stand, and as many that take their place.
const THEIR_URGENT: usize = 2;
const THEIR_BULK: usize = 16;

/// Whose lane it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    Mine,
    Theirs,
}

/// A lane that both sides have agreed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Agreed {
    pub(super) number: u32,
    pub(super) class: LaneClass,
    pub(super) owner: Owner,
    pub(super) my_nonce: LaneNonce,
    pub(super) their_nonce: LaneNonce,
    pub(super) bridge_leg: Option<u32>,
}

/// How it stands with a lane, to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LaneStatus {
    pub(super) number: Option<u32>,
    pub(super) class: LaneClass,
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
    state: State,
    failures: u32,
    missing: String,
}

#[derive(Debug)]
struct Theirs {
    number: u32,
    class: LaneClass,
    up: bool,
}

/// The lanes of one session.
#[derive(Debug)]
pub(super) struct Lanes {
    side: Side,
    relayed: bool,
    mine: Vec<Mine>,
    theirs: Vec<Theirs>,
    next: u32,
    /// The least number that the other side's next offer may have.
    least: u32,
}

impl Lanes {
    pub(super) fn new(side: Side, relayed: bool, now: Instant) -> Self {
        let bulk = match side {
            Side::Zero => BULK_LANES,
            Side::One => 0,
        };
        let classes = std::iter::once(LaneClass::Urgent).chain(std::iter::repeat_n(LaneClass::Bulk, bulk));
        let mine = classes.map(|class| Mine {
            class,
            state: State::Due(now),
            failures: 0,
            missing: "not offered yet".to_owned(),
        });
        // Side 0's numbers are even, side 1's odd; the control lane is none of them.
        let first = |side: Side| 2 + u32::from(side.number());
        Self {
            side,
            relayed,
            mine: mine.collect(),
            theirs: Vec::new(),
            next: first(side),
            least: first(side.other()),
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
        let bridge_leg = self.relayed.then_some(fresh.bridge_leg);
        Some(Message::LaneOffer { lane: number, class: lane.class, nonce: fresh.nonce, bridge_leg })
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
                bridge_leg: self.relayed.then_some(fresh.bridge_leg),
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
        fresh: Fresh,
    ) -> Result<Agreed, OfferError> {
        if number < self.least || number % 2 != self.least % 2 || number > u32::MAX - 2 {
            return Err(OfferError::Number);
        }
        self.least = number + 2;
        if bridge_leg.is_some() != self.relayed {
            return Err(OfferError::Path);
        }
        let most = match class {
            LaneClass::Urgent => THEIR_URGENT,
            LaneClass::Bulk => THEIR_BULK,
        };
        if self.theirs.iter().filter(|lane| lane.class == class).count() >= most {
            return Err(OfferError::TooMany);
        }
        self.theirs.push(Theirs { number, class, up: false });
        Ok(Agreed { number, class, owner: Owner::Theirs, my_nonce: fresh.nonce, their_nonce, bridge_leg })
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
            missing: (!matches!(lane.state, State::Up { .. })).then(|| lane.missing.clone()),
        });
        let theirs = self.theirs.iter().map(|lane| LaneStatus {
            number: Some(lane.number),
            class: lane.class,
            missing: (!lane.up).then(|| "being opened".to_owned()),
        });
        mine.chain(theirs).collect()
    }

    pub(super) fn side(&self) -> Side {
        self.side
    }
}

impl Mine {
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
