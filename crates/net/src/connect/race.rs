//! Which legs are dialled when, while a session is being made or a better one looked for. No I/O and no clock.
//!
//! Legs to announced addresses start [`PACE`] apart, QUIC before TCP, at once if one before failed. Beside them there
//! are legs through the relay as long as both nonces are known, and legs to where punches came from. A leg that failed
//! is dialled again after a while. What ends a race is not its own affair.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::Instant;

use super::grade::Grade;
use crate::state::{Path, Transport};

/// Between the starts of legs to two addresses, and between QUIC and TCP to one: "Ta" of RFC 8445, section 14.2.
const PACE: Duration = Duration::from_millis(50);
/// Before a leg that failed is dialled again; doubles up to [`REDIAL_MOST`], or [`BETTER_MOST`] while a session stands.
const REDIAL: Duration = Duration::from_millis(200);
/// The network may return at any moment, and the session has to follow within 5 s.
const REDIAL_MOST: Duration = Duration::from_secs(2);
const BETTER_MOST: Duration = Duration::from_secs(30);
/// Places that punches came from and that are dialled: a NAT has one, several interfaces have a few.
const PUNCHED: usize = 4;
/// First number of legs through the relay's UDP. One that failed is dialled again under the same number, since whoever
/// comes again takes its former place, unless the relay says that the flow of that number has ended.
pub(crate) const UDP_LEG: u32 = 1 << 30;

/// Names a dialled leg within one contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DialId(pub(crate) u64);

/// Where a leg goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// To an address that the contact announced.
    Direct {
        /// Which.
        candidate: Candidate,
        /// By what.
        transport: Transport,
    },
    /// To where a punch of the contact came from, by QUIC.
    Punched {
        /// There.
        address: SocketAddr,
    },
    /// To the relay, as leg of this number of the present nonces.
    Bridged {
        /// Part of its token.
        number: u32,
        /// By what.
        transport: Transport,
    },
}

impl Target {
    /// What a leg there is worth.
    pub(crate) fn grade(&self) -> Grade {
        match *self {
            Self::Direct { candidate, transport } => Grade { path: candidate.path, transport },
            Self::Punched { .. } => Grade { path: Path::Punched, transport: Transport::Quic },
            Self::Bridged { transport, .. } => Grade { path: Path::Relayed, transport },
        }
    }
}

/// An announced address, and what a leg to it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) address: SocketAddr,
    pub(crate) path: Path,
}

/// What has to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Dial this leg.
    Dial(DialId, Target),
    /// Give this leg up.
    Drop(DialId),
}

#[derive(Debug, Clone, Copy)]
enum Dialling {
    /// Not before then.
    From(Instant),
    /// Under way.
    Now(DialId),
}

/// One leg to be dialled again and again.
#[derive(Debug)]
struct Leg {
    target: Target,
    dialling: Dialling,
    /// Has not been dialled yet.
    fresh: bool,
    failures: u32,
}

/// The legs of one attempt.
#[derive(Debug, Default)]
pub(crate) struct Race {
    /// In the order in which they are dialled.
    legs: Vec<Leg>,
    /// Numbers of the next legs through the relay, by QUIC and by TCP, while both nonces are known.
    numbers: Option<(u32, u32)>,
    /// Legs that would be no better than this are not dialled.
    above: Option<Grade>,
    dropped: Vec<DialId>,
}

impl Race {
    /// The contact announces these addresses, best first. Legs under way to others go on.
    pub(crate) fn set_candidates(&mut self, candidates: &[Candidate], now: Instant) {
        self.legs.retain(|leg| match leg.target {
            Target::Direct { candidate, .. } => leg.is_under_way() || candidates.contains(&candidate),
            Target::Punched { .. } | Target::Bridged { .. } => true,
        });
        let mut at = now;
        for candidate in candidates {
            let quic = Target::Direct { candidate: *candidate, transport: Transport::Quic };
            let tcp = Target::Direct { candidate: *candidate, transport: Transport::Tcp };
            if self.add(quic, at) | self.add(tcp, at + PACE) {
                at += PACE;
            }
        }
    }

    /// A punch of the contact came from there.
    pub(crate) fn punched(&mut self, address: SocketAddr, now: Instant) {
        let known = self.legs.iter().filter(|leg| matches!(leg.target, Target::Punched { .. })).count();
        if known < PUNCHED {
            self.add(Target::Punched { address }, now);
        }
    }

    /// Both sides' nonces are known, or are others than before: the legs through the relay begin at their first numbers.
    pub(crate) fn rebridge(&mut self, now: Instant) {
        self.unbridge();
        self.numbers = Some((UDP_LEG, 0));
        self.add_bridged(now);
    }

    /// No leg through the relay for now, and none to where earlier punches came from.
    pub(crate) fn unbridge(&mut self) {
        self.numbers = None;
        self.keep(|leg| match leg.target {
            Target::Direct { .. } => true,
            Target::Punched { .. } => leg.is_under_way(),
            Target::Bridged { .. } => false,
        });
    }

    /// The race is open to all again, and what failed before has its turn. Legs under way go on: the other side may have
    /// taken one of them already.
    pub(crate) fn reopen(&mut self, now: Instant) {
        self.above = None;
        self.hasten(now);
        self.add_bridged(now);
    }

    /// Something has changed that may help: what failed before has its turn.
    pub(crate) fn hasten(&mut self, now: Instant) {
        for leg in &mut self.legs {
            if !leg.is_under_way() && !leg.fresh {
                leg.dialling = Dialling::From(now);
                leg.failures = 0;
            }
        }
    }

    /// A session stands that only better legs may replace.
    pub(crate) fn only_above(&mut self, grade: Grade) {
        self.above = Some(grade);
        self.keep(|leg| leg.target.grade() > grade);
    }

    /// Whether a leg of this grade would be of use.
    pub(crate) fn wants(&self, grade: Grade) -> bool {
        self.above.is_none_or(|above| grade > above)
    }

    /// A leg came to nothing; returns what it would have been. `met` says that a leg through the relay had met the other
    /// side's, which therefore ended too: both go on with the next number.
    pub(crate) fn failed(&mut self, id: DialId, met: bool, now: Instant) -> Option<Grade> {
        let most = if self.above.is_some() { BETTER_MOST } else { REDIAL_MOST };
        let leg = self.legs.iter_mut().find(|leg| leg.is(id))?;
        if let (Target::Bridged { number, transport }, Some((quic, tcp))) =
            (&mut leg.target, &mut self.numbers)
        {
            *number = number.saturating_add(met.into());
            match transport {
                Transport::Quic => *quic = *number,
                Transport::Tcp => *tcp = *number,
            }
        }
        leg.dialling = Dialling::From(now + REDIAL.saturating_mul(1 << leg.failures.min(8)).min(most));
        leg.failures += 1;
        let target = leg.target;
        if matches!(target, Target::Direct { .. })
            && let Some(next) = self.legs.iter_mut().find(|leg| leg.fresh)
        {
            next.dialling = Dialling::From(now);
        }
        Some(target.grade())
    }

    /// The next step; asked again until there is none. `new_id` names a leg.
    pub(crate) fn step(&mut self, now: Instant, new_id: impl FnOnce() -> DialId) -> Option<Step> {
        if let Some(id) = self.dropped.pop() {
            return Some(Step::Drop(id));
        }
        let due = |leg: &&mut Leg| matches!(leg.dialling, Dialling::From(at) if at <= now);
        let leg = self.legs.iter_mut().find(due)?;
        let id = new_id();
        leg.dialling = Dialling::Now(id);
        leg.fresh = false;
        Some(Step::Dial(id, leg.target))
    }

    /// When [`Race::step`] may have something new.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let due = self.legs.iter().filter_map(|leg| match leg.dialling {
            Dialling::From(at) => Some(at),
            Dialling::Now(_) => None,
        });
        due.min()
    }

    /// Gives up every leg.
    pub(crate) fn end(mut self) -> Vec<DialId> {
        self.keep(|_| false);
        self.dropped
    }

    fn add_bridged(&mut self, now: Instant) {
        if let Some((quic, tcp)) = self.numbers {
            self.add(Target::Bridged { number: quic, transport: Transport::Quic }, now);
            self.add(Target::Bridged { number: tcp, transport: Transport::Tcp }, now);
        }
    }

    /// Adds a leg that is new and of use.
    fn add(&mut self, target: Target, at: Instant) -> bool {
        let new = self.wants(target.grade()) && !self.legs.iter().any(|leg| leg.target == target);
        if new {
            self.legs.push(Leg { target, dialling: Dialling::From(at), fresh: true, failures: 0 });
        }
        new
    }

    /// Gives up the other legs.
    fn keep(&mut self, kept: impl Fn(&Leg) -> bool) {
        let dropped = &mut self.dropped;
        self.legs.retain(|leg| {
            let keep = kept(leg);
            if let (false, Dialling::Now(id)) = (keep, leg.dialling) {
                dropped.push(id);
            }
            keep
        });
    }
}

impl Leg {
    fn is_under_way(&self) -> bool {
        matches!(self.dialling, Dialling::Now(_))
    }

    fn is(&self, id: DialId) -> bool {
        matches!(self.dialling, Dialling::Now(dialled) if dialled == id)
    }
}

#[cfg(test)]
mod tests;
