//! Which authenticated leg becomes the session.

use std::net::SocketAddr;

use farhold_secure::Side;

use super::{Effect, Intent, Lifecycle, Link, Moment, PUNCHED, Session, SessionId};
use crate::connect::grade::Grade;
use crate::connect::race::DialId;

/// Names an authenticated leg within one contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LegId(pub(crate) u64);

/// Who began a leg.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// We.
    Dialled(DialId),
    /// The contact.
    Accepted,
}

/// A leg whose other end has proved to be the contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReadyLeg {
    pub(crate) id: LegId,
    pub(crate) origin: Origin,
    pub(crate) grade: Grade,
    /// At side 0 the contact's newest attempt, if it said so already; at side 1 the number of the nomination.
    pub(crate) number: Option<u64>,
}

impl Lifecycle {
    pub(super) fn ready(&mut self, leg: &ReadyLeg, at: &Moment) {
        let wanted = match leg.origin {
            // One that was given up may have been through by then; the contact may have left since.
            Origin::Dialled(dial) => {
                let attempt = self.attempt.as_mut();
                attempt.is_some_and(|attempt| attempt.race.failed(dial, true, at.now).is_some())
            }
            Origin::Accepted => true,
        };
        if self.intent == Intent::Disconnected {
            self.effects.push_back(Effect::Refuse(leg.id));
        } else if wanted && self.takes(leg) {
            self.adopt(leg, at);
        } else {
            self.effects.push_back(Effect::Discard(leg.id));
        }
    }

    /// Side 0 dials where a punch came from; it is the QUIC client of punched legs.
    pub(super) fn punched(&mut self, address: SocketAddr, at: &Moment) {
        self.reasons.remove(&PUNCHED);
        if let (Side::Zero, Some(attempt)) = (self.side, &mut self.attempt) {
            attempt.race.punched(address, at.now);
        }
    }

    /// Side 1 goes by the nominations' order; side 0 decides.
    fn takes(&self, leg: &ReadyLeg) -> bool {
        let Link::Up { session, silent } = &self.link else { return true };
        match self.side {
            Side::One => leg.number.is_some_and(|number| number > session.nominated),
            Side::Zero => {
                let newer = leg.number.zip(session.theirs).is_some_and(|(number, known)| number > known);
                silent.is_some() || self.doubtful() || newer || leg.grade > session.bar()
            }
        }
    }

    fn adopt(&mut self, leg: &ReadyLeg, at: &Moment) {
        let former = match self.link {
            Link::Up { session, silent: None } => {
                self.effects.push_back(Effect::Retire(session.id));
                Some(session.id).filter(|_| self.side == Side::Zero)
            }
            Link::Up { session, silent: Some(_) } => {
                self.effects.push_back(Effect::End(session.id, None));
                None
            }
            Link::Cut { .. } | Link::Offline { .. } => None,
        };
        self.last_session += 1;
        let id = SessionId(self.last_session);
        let (nominated, theirs) = match self.side {
            Side::Zero => (self.next_number(at), leg.number),
            Side::One => (leg.number.unwrap_or_default(), None),
        };
        self.effects.push_back(Effect::Adopt {
            leg: leg.id,
            session: id,
            grade: leg.grade,
            number: self.number,
        });
        let session = Session { id, grade: leg.grade, rtt: None, since: at.now, nominated, theirs, former };
        self.link = Link::Up { session, silent: None };
        self.reasons.remove(&leg.grade);
        self.failures = 0;
        self.retry = None;
        self.better(at);
    }
}

impl Session {
    /// What a leg must surpass to replace it.
    pub(super) fn bar(&self) -> Grade {
        self.grade.to_surpass(self.rtt)
    }
}
