//! Which legs are dialled when, while a session is being made. No I/O and no clock.
//!
//! Direct legs start [`STAGGER`] apart in the order of the candidates (RFC 8305, section 5), at once if the one
//! before failed; one that failed is dialled again after a while. Beside them one leg through the relay's bridge is
//! under way as long as both nonces are known. What ends a race is not its own affair.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::Instant;

use crate::state::Path;

/// Between the starts of two direct legs: "Connection Attempt Delay" of RFC 8305, section 8.
pub(crate) const STAGGER: Duration = Duration::from_millis(250);
/// Before a leg that failed is dialled again; doubles up to [`REDIAL_MOST`].
const REDIAL: Duration = Duration::from_millis(200);
/// The network may return at any moment, and the session has to follow within 5 s.
const REDIAL_MOST: Duration = Duration::from_secs(2);

/// Names a dialled leg within one contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DialId(pub(crate) u64);

/// Where a leg goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// To an address that the contact announced.
    Direct(Candidate),
    /// To the bridge, as leg of this number of the present nonces.
    Bridged { number: u32 },
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

/// One leg to be dialled again and again.
#[derive(Debug, Clone, Copy)]
enum Dialling {
    /// Not before then.
    From(Instant),
    /// Under way.
    Now(DialId),
}

#[derive(Debug)]
struct Direct {
    candidate: Candidate,
    dialling: Dialling,
    failures: u32,
}

#[derive(Debug)]
struct Bridge {
    number: u32,
    dialling: Dialling,
    failures: u32,
}

/// The legs of one attempt.
#[derive(Debug)]
pub(crate) struct Race {
    directs: Vec<Direct>,
    bridge: Option<Bridge>,
    /// Legs that would be no better than this are not dialled.
    above: Option<Path>,
    next_direct: Instant,
    dropped: Vec<DialId>,
}

impl Race {
    pub(crate) fn new(now: Instant) -> Self {
        Self { directs: Vec::new(), bridge: None, above: None, next_direct: now, dropped: Vec::new() }
    }

    /// The contact announces these addresses, best first. Legs under way to others go on.
    pub(crate) fn set_candidates(&mut self, candidates: &[Candidate], now: Instant) {
        self.directs.retain(|direct| {
            matches!(direct.dialling, Dialling::Now(_)) || candidates.contains(&direct.candidate)
        });
        let above = self.above;
        for candidate in candidates.iter().filter(|candidate| above.is_none_or(|path| candidate.path > path))
        {
            if !self.directs.iter().any(|direct| direct.candidate == *candidate) {
                self.directs.push(Direct {
                    candidate: *candidate,
                    dialling: Dialling::From(now),
                    failures: 0,
                });
            }
        }
    }

    /// Both sides' nonces are known, or are others than before: the legs through the bridge begin at number 0.
    pub(crate) fn rebridge(&mut self, now: Instant) {
        self.unbridge();
        self.bridge = Some(Bridge { number: 0, dialling: Dialling::From(now), failures: 0 });
    }

    /// No leg through the bridge for now.
    pub(crate) fn unbridge(&mut self) {
        if let Some(Bridge { dialling: Dialling::Now(id), .. }) = self.bridge.take() {
            self.dropped.push(id);
        }
    }

    /// The race is open to all again, and what waited for its turn has it. Legs under way go on: the other side may have
    /// taken one of them already.
    pub(crate) fn reopen(&mut self, now: Instant) {
        self.above = None;
        for direct in &mut self.directs {
            if matches!(direct.dialling, Dialling::From(_)) {
                direct.dialling = Dialling::From(now);
                direct.failures = 0;
            }
        }
    }

    /// A session stands on such a path: only better legs go on.
    pub(crate) fn only_above(&mut self, path: Path) {
        self.above = Some(path);
        self.unbridge();
        self.directs.retain(|direct| {
            let better = direct.candidate.path > path;
            if let (false, Dialling::Now(id)) = (better, direct.dialling) {
                self.dropped.push(id);
            }
            better
        });
    }

    /// A leg came to nothing. `met` says that a leg through the bridge had met the other side, whose leg therefore
    /// ended too: both go on with the next number.
    pub(crate) fn failed(&mut self, id: DialId, met: bool, now: Instant) {
        if let Some(bridge) = &mut self.bridge
            && matches!(bridge.dialling, Dialling::Now(dialled) if dialled == id)
        {
            bridge.number = bridge.number.saturating_add(met.into());
            bridge.dialling = Dialling::From(now + redial(bridge.failures));
            bridge.failures += 1;
        }
        for direct in &mut self.directs {
            if matches!(direct.dialling, Dialling::Now(dialled) if dialled == id) {
                direct.dialling = Dialling::From(now + redial(direct.failures));
                direct.failures += 1;
                self.next_direct = now;
            }
        }
    }

    /// The next step; asked again until there is none. `new_id` names a leg.
    pub(crate) fn step(&mut self, now: Instant, new_id: impl FnOnce() -> DialId) -> Option<Step> {
        if let Some(id) = self.dropped.pop() {
            return Some(Step::Drop(id));
        }
        if let Some(Bridge { number, dialling, .. }) = &mut self.bridge
            && matches!(dialling, Dialling::From(at) if *at <= now)
        {
            let id = new_id();
            *dialling = Dialling::Now(id);
            return Some(Step::Dial(id, Target::Bridged { number: *number }));
        }
        if self.next_direct > now {
            return None;
        }
        let due = |direct: &&mut Direct| matches!(direct.dialling, Dialling::From(at) if at <= now);
        let direct = self.directs.iter_mut().find(due)?;
        let id = new_id();
        direct.dialling = Dialling::Now(id);
        self.next_direct = now + STAGGER;
        Some(Step::Dial(id, Target::Direct(direct.candidate)))
    }

    /// When [`Race::step`] may have something new.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let due = |dialling: &Dialling| match dialling {
            Dialling::From(at) => Some(*at),
            Dialling::Now(_) => None,
        };
        let bridge = self.bridge.as_ref().and_then(|bridge| due(&bridge.dialling));
        let direct = self.directs.iter().filter_map(|direct| due(&direct.dialling)).min();
        bridge.into_iter().chain(direct.map(|at| at.max(self.next_direct))).min()
    }

    /// Gives up every leg.
    pub(crate) fn end(mut self) -> Vec<DialId> {
        self.unbridge();
        let directs = self.directs.iter().filter_map(|direct| match direct.dialling {
            Dialling::Now(id) => Some(id),
            Dialling::From(_) => None,
        });
        self.dropped.iter().copied().chain(directs).collect()
    }
}

fn redial(failures: u32) -> Duration {
    REDIAL.saturating_mul(1 << failures.min(5)).min(REDIAL_MOST)
}

#[cfg(test)]
mod tests;
