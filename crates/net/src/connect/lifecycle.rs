//! What becomes of the connection with one contact: when to try, which leg to take, when to give up. No I/O and no
//! clock: events and the moment in, effects and a deadline out.
//!
//! An *attempt* races legs until one of them is authenticated. Either side starts one: by its user's wish, or when a
//! session is interrupted. It then takes a fresh nonce and a number, and says so in its post; the other side joins.
//! Side 0 alone picks the leg. While the session is not of the best grade the attempt goes on, slowly and for better legs
//! only.

mod effects;
mod events;
mod legs;
mod timing;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::time::Duration;

use farhold_secure::Side;
use tokio::time::Instant;

pub(crate) use self::effects::{Effect, MyPost, PunchPlan};
pub(crate) use self::events::{Event, Goodbye, Moment, Nonce, PeerPost, SessionEvent, SessionId};
pub(crate) use self::legs::{LegId, Origin, ReadyLeg};
use super::grade::Grade;
use super::race::Race;
use crate::state::{MissingWay, OfflineReason, Path, Transport};

/// How long an attempt lasts.
pub(crate) const ATTEMPT: Duration = Duration::from_secs(10);
/// An attempt of our own that has not succeeded takes a fresh nonce this often: whatever made the two sides wait for
/// each other on different legs ends with it.
const RENEW: Duration = Duration::from_secs(5);
/// How long calls wait for a connection that went silent.
pub(crate) const SILENT_GRACE: Duration = Duration::from_secs(25);
/// How long calls wait for a connection that the other end closed.
pub(crate) const CLOSED_GRACE: Duration = Duration::from_secs(8);
/// Between two attempts while the contact is present; grows to [`RETRY_MOST`].
const RETRY: Duration = Duration::from_secs(1);
/// Leaves room for an attempt within 5 s of the network's return.
const RETRY_MOST: Duration = Duration::from_secs(3);

/// A session that is cut before this has never been of use.
const YOUNG: Duration = Duration::from_secs(3);
/// How long to wait then, at most, for each time in a row.
const CHANCE: Duration = Duration::from_millis(100);

/// What a leg to where a punch came from is worth.
const PUNCHED: Grade = Grade { path: Path::Punched, transport: Transport::Quic };

/// How it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Offline { reason: OfflineReason },
    Connecting,
    Connected { session: SessionId },
    Interrupted { since: Instant },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Intent {
    /// Our user has said nothing: the contact may connect.
    Idle,
    Connect,
    Disconnected,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relay {
    NotSet,
    NotReached,
    Reached,
    Lost,
}

impl Relay {
    /// Before it was reached for the first time.
    fn before(set: bool) -> Self {
        if set { Self::NotReached } else { Self::NotSet }
    }
}

#[derive(Debug, Clone, Copy)]
enum Link {
    Offline {
        reason: OfflineReason,
    },
    Up {
        session: Session,
        silent: Option<Interruption>,
    },
    /// `former` is as of the session that was cut.
    Cut {
        interruption: Interruption,
        former: Option<SessionId>,
    },
}

#[derive(Debug, Clone, Copy)]
struct Session {
    id: SessionId,
    grade: Grade,
    /// The least round trip that was measured.
    rtt: Option<Duration>,
    since: Instant,
    /// Number of its nomination.
    nominated: u64,
    /// Newest attempt of the other side when the session began, if it is known.
    theirs: Option<u64>,
    /// The session before, until the other side shows that it has this one: what ends there ends all.
    former: Option<SessionId>,
}

#[derive(Debug, Clone, Copy)]
struct Interruption {
    since: Instant,
    until: Instant,
    reason: OfflineReason,
    path: Path,
}

#[derive(Debug)]
struct Attempt {
    race: Race,
    /// None while a session stands that it may better.
    ends: Option<Instant>,
    renew: Instant,
    /// Told as `Connecting`; retries are not.
    shown: bool,
    /// The nonces of side 0 and side 1 that legs through the relay and punches go by.
    pair: Option<(Nonce, Nonce)>,
}

/// The connection with one contact.
#[derive(Debug)]
pub(crate) struct Lifecycle {
    side: Side,
    intent: Intent,
    relay: Relay,
    present: Option<bool>,
    refuses: bool,
    post: Option<PeerPost>,
    /// Newest attempt of the contact that we took part in.
    joined: u64,
    nonce: Nonce,
    number: u64,
    link: Link,
    attempt: Option<Attempt>,
    retry: Option<Instant>,
    failures: u32,
    /// How many sessions in a row ended soon after they began.
    young: u32,
    effects: VecDeque<Effect>,
    posted: Option<MyPost>,
    punching: Option<PunchPlan>,
    /// What the last try of each grade met.
    reasons: BTreeMap<Grade, String>,
    last_dial: u64,
    last_session: u64,
}

impl Lifecycle {
    pub(crate) fn new(side: Side, relay_set: bool, at: &Moment) -> Self {
        let mut new = Self {
            side,
            intent: Intent::Idle,
            relay: Relay::before(relay_set),
            present: None,
            refuses: false,
            post: None,
            joined: 0,
            nonce: at.fresh,
            number: at.unix_milliseconds,
            link: Link::Offline { reason: OfflineReason::Idle },
            attempt: None,
            retry: None,
            failures: 0,
            young: 0,
            effects: VecDeque::new(),
            posted: None,
            punching: None,
            reasons: BTreeMap::new(),
            last_dial: 0,
            last_session: 0,
        };
        new.settle(at);
        new
    }

    /// Takes an event in; then [`Self::effect`] has what is to be done, and [`Self::deadline`] is new.
    pub(crate) fn handle(&mut self, event: Event, at: &Moment) {
        match event {
            Event::Connect => self.connect(at),
            Event::Disconnect => {
                self.intent = Intent::Disconnected;
                self.end(OfflineReason::Disconnected, Some(Goodbye::User));
            }
            Event::Post(post) => self.posted_by_peer(post, at),
            Event::Absent => self.absent(),
            Event::RelaySet { set } => {
                self.relay = Relay::before(set);
                self.present = None;
            }
            Event::Relay { up } => self.relay(up, at),
            Event::Network { unrooted } => {
                if unrooted {
                    self.silent(at);
                }
                self.try_anew(at);
                self.hasten(at);
            }
            Event::Failed { dial, met, reason } => {
                if let Some(attempt) = &mut self.attempt
                    && let Some(grade) = attempt.race.failed(dial, met, at.now)
                {
                    self.reasons.insert(grade, reason);
                }
            }
            Event::Refused { dial } => {
                if let Some(attempt) = &mut self.attempt {
                    attempt.race.failed(dial, true, at.now);
                }
                self.refuses = true;
            }
            Event::Ready(leg) => self.ready(&leg, at),
            Event::Punched { address } => self.punched(address, at),
            Event::Unpunched => {
                self.reasons.insert(PUNCHED, "no datagram of the contact came through".to_owned());
            }
            Event::Session(id, event) => self.session(id, event, at),
            Event::Time => {}
        }
        self.settle(at);
    }

    /// The next thing to do.
    pub(crate) fn effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// How it stands.
    pub(crate) fn phase(&self) -> Phase {
        match self.link {
            Link::Up { session, silent: None } => Phase::Connected { session: session.id },
            Link::Up { silent: Some(interruption), .. } | Link::Cut { interruption, .. } => {
                Phase::Interrupted { since: interruption.since }
            }
            Link::Offline { .. } if self.attempt.as_ref().is_some_and(|attempt| attempt.shown) => {
                Phase::Connecting
            }
            Link::Offline { reason } => Phase::Offline { reason },
        }
    }

    /// Whether the contact's program runs, as far as is known.
    pub(crate) fn present(&self) -> Option<bool> {
        if self.healthy() { Some(true) } else { self.present }
    }

    /// What is better than the session that stands and was tried in vain, the best first.
    pub(crate) fn missing(&self) -> Vec<MissingWay> {
        let Link::Up { session, .. } = &self.link else { return Vec::new() };
        let better = self.reasons.range((Bound::Excluded(session.grade), Bound::Unbounded));
        let of = |(grade, reason): (&Grade, &String)| MissingWay {
            path: grade.path,
            transport: grade.transport,
            reason: reason.clone(),
        };
        better.rev().map(of).collect()
    }

    /// The nonces of side 0 and side 1 for a leg through the relay.
    pub(crate) fn nonces(&self) -> Option<(Nonce, Nonce)> {
        let theirs = self.post.as_ref()?.nonce;
        Some(match self.side {
            Side::Zero => (self.nonce, theirs),
            Side::One => (theirs, self.nonce),
        })
    }

    /// Number of our newest attempt.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    fn connect(&mut self, at: &Moment) {
        self.intent = Intent::Connect;
        if self.healthy() {
            return;
        }
        self.failures = 0;
        self.retry = None;
        match &mut self.attempt {
            Some(attempt) => attempt.shown = true,
            None => self.start_own(true, at),
        }
    }

    fn posted_by_peer(&mut self, post: PeerPost, at: &Moment) {
        if self.post.as_ref() != Some(&post) {
            self.hasten(at);
        }
        let news = self.present != Some(true) || self.refuses && !post.refuse;
        self.present = Some(true);
        self.refuses = post.refuse;
        self.post = Some(post);
        if self.refuses && self.interrupted() {
            // Its goodbye was lost with the leg.
            self.end(OfflineReason::PeerDisconnected, None);
        }
        if news && self.retry.is_some() {
            self.retry = None;
            self.failures = 0;
        }
    }

    fn absent(&mut self) {
        self.present = Some(false);
        let cut = match self.link {
            Link::Up { silent: Some(interruption), .. } | Link::Cut { interruption, .. } => interruption.path,
            Link::Up { silent: None, .. } | Link::Offline { .. } => return,
        };
        // A relay that restarts loses the contact's post along with the session: the grace is for its return.
        if cut != Path::Relayed {
            self.end(OfflineReason::Absent, None);
        }
    }

    fn relay(&mut self, up: bool, at: &Moment) {
        let before = self.relay;
        self.relay = match (before, up) {
            (_, true) => Relay::Reached,
            (Relay::NotSet | Relay::NotReached, false) => Relay::NotReached,
            (Relay::Reached | Relay::Lost, false) => Relay::Lost,
        };
        if up && before != Relay::Reached {
            self.try_anew(at);
            // The user has just set this relay, or waits for it since the start.
            if matches!(before, Relay::NotSet | Relay::NotReached)
                && let Some(attempt) = &mut self.attempt
            {
                attempt.shown = true;
            }
        }
    }

    fn session(&mut self, id: SessionId, event: SessionEvent, at: &Moment) {
        let (session, silent) = match &mut self.link {
            Link::Up { session, silent } => (session, silent),
            // A program that stops closes at once the leg that it had not taken up yet; its goodbye comes the other way.
            Link::Cut { former, .. } => {
                if let SessionEvent::Goodbye(goodbye) = event
                    && *former == Some(id)
                {
                    self.goodbye(goodbye);
                }
                return;
            }
            Link::Offline { .. } => return,
        };
        let leaves = matches!(event, SessionEvent::Goodbye(goodbye) if goodbye != Goodbye::Replaced);
        if session.id != id && (session.former != Some(id) || !leaves) {
            return;
        }
        match event {
            SessionEvent::Settled(number) => {
                session.former = None;
                session.theirs = Some(session.theirs.map_or(number, |known| known.max(number)));
            }
            SessionEvent::Measured(rtt) => {
                session.rtt = Some(session.rtt.map_or(rtt, |known| known.min(rtt)));
            }
            SessionEvent::Silent => self.silent(at),
            SessionEvent::Alive => {
                if silent.take().is_some() {
                    self.better(at);
                }
            }
            SessionEvent::Closed if self.refuses => self.end(OfflineReason::PeerDisconnected, None),
            // As in [`Self::absent`], which may come first.
            SessionEvent::Closed if self.present == Some(false) && session.grade.path != Path::Relayed => {
                self.end(OfflineReason::Absent, None);
            }
            SessionEvent::Closed | SessionEvent::Goodbye(Goodbye::Replaced) => {
                let since = silent.map_or(at.now, |interruption| interruption.since);
                let until = (at.now + CLOSED_GRACE)
                    .min(silent.map_or(at.now + CLOSED_GRACE, |interruption| interruption.until));
                let Session { grade: Grade { path, .. }, since: begun, former, .. } = *session;
                self.effects.push_back(Effect::End(id, None));
                let reason = OfflineReason::Closed;
                self.link = Link::Cut { interruption: Interruption { since, until, reason, path }, former };
                if at.now >= begun + YOUNG {
                    self.young = 0;
                    self.start_own(false, at);
                } else {
                    // Each side may be undoing what the other does; a moment of chance ends that.
                    self.young = self.young.saturating_add(1);
                    let most = CHANCE.saturating_mul(self.young.min(10));
                    self.retry = Some(at.now + most * u32::from(at.fresh[0]) / 256);
                }
            }
            SessionEvent::Goodbye(goodbye) => self.goodbye(goodbye),
        }
    }

    /// The contact leaves.
    fn goodbye(&mut self, goodbye: Goodbye) {
        let reason = match goodbye {
            // Not from all of it.
            Goodbye::Replaced => return,
            Goodbye::User => OfflineReason::PeerDisconnected,
            Goodbye::Refused => OfflineReason::Refused,
            Goodbye::Stopping => OfflineReason::PeerStopped,
        };
        match goodbye {
            Goodbye::User | Goodbye::Refused => self.refuses = true,
            Goodbye::Stopping | Goodbye::Replaced => self.present = Some(false),
        }
        self.end(reason, None);
    }

    /// The session, if it stands, is not to be trusted.
    fn silent(&mut self, at: &Moment) {
        if let Link::Up { session, silent: silent @ None } = &mut self.link {
            *silent = Some(Interruption {
                since: at.now,
                until: at.now + SILENT_GRACE,
                reason: OfflineReason::Silent,
                path: session.grade.path,
            });
            self.start_own(false, at);
        }
    }

    /// No session and no attempt from here on.
    fn end(&mut self, reason: OfflineReason, goodbye: Option<Goodbye>) {
        if let Link::Up { session, .. } = self.link {
            self.effects.push_back(Effect::End(session.id, goodbye));
        }
        self.link = Link::Offline { reason };
        self.drop_attempt();
        self.retry = None;
    }

    fn healthy(&self) -> bool {
        matches!(self.link, Link::Up { silent: None, .. })
    }

    fn interrupted(&self) -> bool {
        matches!(self.link, Link::Up { silent: Some(_), .. } | Link::Cut { .. })
    }

    /// The contact has started an attempt after this session began, so it does not have it any more.
    fn doubtful(&self) -> bool {
        let Link::Up { session, silent: None } = &self.link else { return false };
        let known = match self.side {
            Side::Zero => session.theirs,
            Side::One => Some(session.nominated),
        };
        self.post.as_ref().zip(known).is_some_and(|(post, known)| post.want && post.attempt > known)
    }

    /// We want a session and have none.
    fn wanting(&self) -> bool {
        match (self.intent, self.link) {
            (Intent::Disconnected, _) | (_, Link::Up { silent: None, .. }) => false,
            (_, Link::Up { silent: Some(_), .. } | Link::Cut { .. }) => true,
            (intent, Link::Offline { .. }) => intent == Intent::Connect,
        }
    }

    /// Why no leg would lead anywhere.
    fn blocked(&self) -> Option<OfflineReason> {
        if self.intent == Intent::Disconnected {
            Some(OfflineReason::Disconnected)
        } else if self.refuses {
            Some(OfflineReason::Refused)
        } else if self.relay == Relay::NotSet {
            Some(OfflineReason::NoRelay)
        } else if self.present == Some(false) {
            Some(OfflineReason::Absent)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests;
