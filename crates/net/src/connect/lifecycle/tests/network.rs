//! A network of two programs and a relay: messages that take their time, or are lost while it is cut.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::*;

mod programs;

const fn grade(path: Path, transport: Transport) -> Grade {
    Grade { path, transport }
}

pub(super) const RELAYED: Grade = grade(Path::Relayed, Transport::Tcp);
pub(super) const RELAYED_QUIC: Grade = grade(Path::Relayed, Transport::Quic);
pub(super) const DIRECT: Grade = grade(Path::Direct, Transport::Tcp);
pub(super) const DIRECT_QUIC: Grade = grade(Path::Direct, Transport::Quic);
pub(super) const LAN: Grade = grade(Path::Lan, Transport::Tcp);

/// All there are.
pub(super) const GRADES: [Grade; 7] = [RELAYED, RELAYED_QUIC, PUNCHED, DIRECT, DIRECT_QUIC, LAN, Grade::BEST];

/// Which ways lead anywhere, in combinations that matter: everything open, UDP blocked, NATs, the relay's TCP blocked.
pub(super) const WAYS: [&[Grade]; 8] = [
    &[RELAYED],
    &[DIRECT],
    &[LAN],
    &[RELAYED, RELAYED_QUIC, DIRECT],
    &[RELAYED, RELAYED_QUIC, PUNCHED],
    &[RELAYED_QUIC],
    &[RELAYED, DIRECT, LAN],
    &GRADES,
];

/// Where a punch of the contact comes from.
const PUNCHED_FROM: &str = "198.51.100.1:1";
/// Nothing ever answers there.
const DEAD: &str = "[2001:db8::1]:1";

/// How long the relay keeps a post, and how often it is renewed.
const POST_LIFE: Duration = Duration::from_secs(60);
const POST_EVERY: Duration = Duration::from_secs(20);
/// As the pulse of a session has it.
const SILENT_AFTER: Duration = Duration::from_secs(9);
const DIAL_WITHIN: Duration = Duration::from_secs(4);
/// TCP's next attempt after a cut.
const RESENT_AFTER: Duration = Duration::from_millis(300);
/// As a session has it that was replaced.
const LINGER: Duration = Duration::from_secs(1);
const NOMINATED_WITHIN: Duration = Duration::from_secs(10);

/// What reaches a side.
#[derive(Debug, Clone)]
enum Arrival {
    Event(Event),
    /// A dialled leg came to nothing.
    Failed {
        dial: DialId,
        met: bool,
    },
    /// Side 0's own leg, authenticated.
    Authenticated {
        leg: u64,
        dial: DialId,
    },
    /// Side 1's attempt on a leg that it dialled.
    Attempt {
        leg: u64,
        number: u64,
    },
    /// Side 0's decision on a leg.
    Nomination {
        leg: u64,
        number: u64,
    },
    Discarded {
        leg: u64,
        refused: bool,
    },
    /// Side 1's answer to it.
    Settled {
        leg: u64,
        number: u64,
    },
    /// The pulse has measured the round trip.
    Measured {
        leg: u64,
    },
    Goodbye {
        leg: u64,
        goodbye: Goodbye,
    },
    /// The other end of a session's leg was closed.
    Closed {
        leg: u64,
    },
    /// Nothing came on a leg for too long, or something came again.
    Silence {
        leg: u64,
    },
    /// Side 1's punches come through, again and again.
    Punch,
    PostDue,
    PostEnds,
    Seen(MyPost),
}

#[derive(Debug)]
struct Program {
    /// Rises at each restart: what was meant for an earlier run is lost.
    run: u64,
    alive: bool,
    post: Option<MyPost>,
    /// Sessions by leg, and the other way round.
    legs: HashMap<SessionId, u64>,
    dials: HashSet<DialId>,
    punching: Option<PunchPlan>,
}

/// An authenticated leg.
#[derive(Debug, Clone, Copy)]
struct Leg {
    grade: Grade,
    /// By which side 1 knows it, unless side 0 dialled it straight.
    dial_of_one: Option<DialId>,
}

pub(super) struct Network {
    pub(super) now: Instant,
    pub(super) trip: Duration,
    /// Added to what a direct leg takes.
    pub(super) direct_delay: Duration,
    pub(super) lives: Vec<Lifecycle>,
    pub(super) dialled: usize,
    pub(super) interruptions: usize,
    start: Instant,
    pub(super) reachable: Vec<Grade>,
    cut: bool,
    programs: [Program; 2],
    queue: BTreeMap<(Instant, u64), (usize, u64, Arrival)>,
    /// Legs that wait at the bridge: by nonces and number, who.
    parked: HashMap<(Nonce, Nonce, u32), (usize, u64, DialId)>,
    legs: HashMap<u64, Leg>,
    held: Vec<(usize, u64, Arrival)>,
    next: u64,
    fresh: u128,
    /// When each side's post ends at the relay.
    post_ends: [Option<Instant>; 2],
}

impl Network {
    pub(super) fn new(reachable: &[Grade]) -> Self {
        let now = Instant::now();
        let program = || Program {
            run: 0,
            alive: true,
            post: None,
            legs: HashMap::new(),
            dials: HashSet::new(),
            punching: None,
        };
        let mut network = Self {
            now,
            trip: milliseconds(100),
            direct_delay: Duration::ZERO,
            lives: Vec::new(),
            dialled: 0,
            interruptions: 0,
            start: now,
            reachable: reachable.to_vec(),
            cut: false,
            programs: [program(), program()],
            queue: BTreeMap::new(),
            parked: HashMap::new(),
            legs: HashMap::new(),
            held: Vec::new(),
            next: 0,
            fresh: 0,
            post_ends: [None; 2],
        };
        for side in [Side::Zero, Side::One] {
            let at = network.moment();
            network.lives.push(Lifecycle::new(side, true, &at));
        }
        for side in 0..2 {
            network.begin(side);
        }
        network
    }

    pub(super) fn user(&mut self, side: usize, event: Event) {
        if self.programs[side].alive {
            self.event(side, event);
        }
    }

    pub(super) fn phase(&self, side: usize) -> Phase {
        self.lives[side].phase()
    }

    /// Both sides have the same session.
    pub(super) fn connected(&self) -> bool {
        self.leg(0).is_some() && self.leg(0) == self.leg(1)
    }

    pub(super) fn grade(&self) -> Option<Grade> {
        match self.lives[0].link {
            Link::Up { session, .. } => Some(session.grade),
            Link::Offline { .. } | Link::Cut { .. } => None,
        }
    }

    pub(super) fn sessions(&self) -> u64 {
        self.lives[0].last_session
    }

    /// From now on nothing gets through, or everything does again.
    pub(super) fn cut(&mut self, cut: bool) {
        if self.cut == cut {
            return;
        }
        self.cut = cut;
        if !cut {
            for (side, run, arrival) in std::mem::take(&mut self.held) {
                if self.programs[side].run == run {
                    self.later(side, RESENT_AFTER, arrival);
                }
            }
        }
        for side in 0..2 {
            self.later(
                side,
                milliseconds(if cut { 3000 } else { 300 }),
                Arrival::Event(Event::Relay { up: !cut }),
            );
            for leg in self.programs[side].legs.values().copied().collect::<Vec<_>>() {
                if cut {
                    self.later(side, SILENT_AFTER, Arrival::Silence { leg });
                }
            }
        }
    }

    /// The session's leg breaks for both.
    pub(super) fn lose(&mut self) {
        for side in 0..2 {
            for leg in self.programs[side].legs.values().copied().collect::<Vec<_>>() {
                self.later(side, Duration::ZERO, Arrival::Closed { leg });
            }
        }
    }

    /// The program's sockets are closed.
    pub(super) fn kill(&mut self, side: usize) {
        let legs: Vec<_> = self.programs[side].legs.values().copied().collect();
        self.kill_silently(side);
        for leg in legs {
            self.send(1 - side, self.trip / 2, Arrival::Closed { leg });
        }
    }

    /// Nobody is told.
    pub(super) fn kill_silently(&mut self, side: usize) {
        let program = &mut self.programs[side];
        if !program.alive {
            return;
        }
        program.alive = false;
        program.run += 1;
        let legs: Vec<_> = std::mem::take(&mut program.legs).into_values().collect();
        program.dials.clear();
        program.punching = None;
        self.parked.retain(|_, (who, ..)| *who != side);
        for leg in legs {
            self.later(1 - side, SILENT_AFTER, Arrival::Silence { leg });
        }
    }

    pub(super) fn revive(&mut self, side: usize) {
        if self.programs[side].alive {
            return;
        }
        self.programs[side].alive = true;
        let at = self.moment();
        self.lives[side] = Lifecycle::new(if side == 0 { Side::Zero } else { Side::One }, true, &at);
        self.begin(side);
    }

    /// Lets the first posts get through.
    pub(super) fn settle(&mut self) {
        self.pass(self.trip * 3);
    }

    pub(super) fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        while self.step(until) {}
        self.now = until;
    }

    pub(super) fn until(&mut self, reached: impl Fn(&Self) -> bool) {
        let patience = self.now + seconds(120);
        while !reached(self) {
            assert!(self.step(patience), "it never came to that: {:?}, {:?}", self.lives[0], self.lives[1]);
        }
    }

    pub(super) fn event(&mut self, side: usize, event: Event) {
        let at = self.moment();
        let before = self.phase(side);
        self.lives[side].handle(event, &at);
        let interrupted = |phase| matches!(phase, Phase::Interrupted { .. });
        if interrupted(self.phase(side)) && !interrupted(before) {
            self.interruptions += 1;
        }
        while let Some(effect) = self.lives[side].effect() {
            self.act(side, effect);
        }
    }

    fn begin(&mut self, side: usize) {
        self.event(side, Event::Relay { up: !self.cut });
        self.later(side, POST_EVERY, Arrival::PostDue);
        // What the watch tells first.
        let other = self.programs[1 - side].post.filter(|_| self.post_ends[1 - side].is_some());
        let told = other.map_or(Arrival::Event(Event::Absent), Arrival::Seen);
        self.send(side, self.trip, told);
    }

    fn leg(&self, side: usize) -> Option<u64> {
        match self.phase(side) {
            Phase::Connected { session } => self.programs[side].legs.get(&session).copied(),
            Phase::Offline { .. } | Phase::Connecting | Phase::Interrupted { .. } => None,
        }
    }

    fn moment(&mut self) -> Moment {
        self.fresh += 1;
        let passed = (self.now - self.start).as_millis();
        Moment {
            now: self.now,
            unix_milliseconds: 1_000_000 + u64::try_from(passed).unwrap(),
            // Never the same twice, and every byte takes all values.
            fresh: self.fresh.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835).to_be_bytes(),
        }
    }

    /// The next thing that happens, unless that is after `until`.
    fn step(&mut self, until: Instant) -> bool {
        let arrival = self.queue.keys().next().map(|(at, _)| *at);
        let due = |side: usize| self.lives[side].deadline().filter(|_| self.programs[side].alive);
        let deadlines = [due(0), due(1)];
        let Some(next) = arrival.into_iter().chain(deadlines.into_iter().flatten()).min() else {
            return false;
        };
        if next > until {
            return false;
        }
        self.now = self.now.max(next);
        if arrival == Some(next) {
            let (_, (side, run, arrival)) = self.queue.pop_first().expect("it was seen");
            let program = &self.programs[side];
            if program.alive && program.run == run || matches!(arrival, Arrival::PostEnds) {
                self.arrive(side, arrival);
            }
        } else {
            let side = usize::from(deadlines[0] != Some(next));
            self.event(side, Event::Time);
        }
        true
    }

    /// Puts something in a side's way. While the network is cut, what the relay tells is lost, and what goes over a
    /// leg is sent again by TCP when the network is back.
    fn send(&mut self, side: usize, after: Duration, arrival: Arrival) {
        if !self.cut {
            self.later(side, after, arrival);
        } else if !matches!(arrival, Arrival::Event(_) | Arrival::Seen(_)) {
            self.held.push((side, self.programs[side].run, arrival));
        }
    }

    fn later(&mut self, side: usize, after: Duration, arrival: Arrival) {
        self.next += 1;
        self.queue.insert((self.now + after, self.next), (side, self.programs[side].run, arrival));
    }

    fn session_of(&self, side: usize, leg: u64) -> Option<SessionId> {
        self.programs[side].legs.iter().find(|(_, of)| **of == leg).map(|(session, _)| *session)
    }

    fn report(&mut self, side: usize, leg: u64, event: SessionEvent) {
        if let Some(session) = self.session_of(side, leg) {
            self.event(side, Event::Session(session, event));
        }
    }

    /// Takes the leg to the side's lifecycle, if the side still has it.
    fn ready(&mut self, side: usize, leg: u64, dial: Option<DialId>, number: Option<u64>) -> bool {
        let grade = self.legs[&leg].grade;
        let origin = match dial {
            Some(dial) if !self.programs[side].dials.remove(&dial) => return false,
            Some(dial) => Origin::Dialled(dial),
            None => Origin::Accepted,
        };
        self.event(side, Event::Ready(ReadyLeg { id: LegId(leg), origin, grade, number }));
        true
    }

    fn arrive(&mut self, side: usize, arrival: Arrival) {
        match arrival {
            Arrival::Event(Event::Relay { up }) if up == self.cut => {}
            Arrival::Event(event @ Event::Relay { up }) => {
                self.event(side, event);
                if up {
                    self.post(side);
                    let other = self.programs[1 - side].post;
                    let told = match (self.post_ends[1 - side], other) {
                        (Some(_), Some(post)) => Arrival::Seen(post),
                        (None, _) | (_, None) => Arrival::Event(Event::Absent),
                    };
                    self.send(side, self.trip, told);
                }
            }
            Arrival::Event(event) => self.event(side, event),
            Arrival::Failed { dial, met } => {
                if self.programs[side].dials.remove(&dial) {
                    self.event(side, Event::Failed { dial, met, reason: "in vain".to_owned() });
                }
            }
            Arrival::Authenticated { leg, dial } => {
                if !self.ready(0, leg, Some(dial), None) {
                    self.send(1, self.trip / 2, Arrival::Discarded { leg, refused: false });
                }
            }
            Arrival::Attempt { leg, number } => {
                self.ready(0, leg, None, Some(number));
            }
            Arrival::Nomination { leg, number } => {
                let dial = self.legs[&leg].dial_of_one;
                if !self.ready(1, leg, dial, Some(number)) {
                    self.send(0, self.trip / 2, Arrival::Closed { leg });
                }
            }
            Arrival::Discarded { leg, refused } => {
                if let Some(dial) = self.legs[&leg].dial_of_one
                    && self.programs[1].dials.remove(&dial)
                {
                    let failed = Event::Failed { dial, met: true, reason: "discarded".to_owned() };
                    self.event(1, if refused { Event::Refused { dial } } else { failed });
                }
            }
            Arrival::Settled { leg, number } => self.report(side, leg, SessionEvent::Settled(number)),
            Arrival::Measured { leg } => self.report(side, leg, SessionEvent::Measured(self.trip)),
            Arrival::Goodbye { leg, goodbye } => self.report(side, leg, SessionEvent::Goodbye(goodbye)),
            Arrival::Closed { leg } => self.report(side, leg, SessionEvent::Closed),
            Arrival::Silence { leg } => {
                let heard = !self.cut && self.session_of(1 - side, leg).is_some();
                if !heard {
                    self.report(side, leg, SessionEvent::Silent);
                    self.later(side, milliseconds(500), Arrival::Silence { leg });
                } else if self.session_of(side, leg).is_some() {
                    // TCP sends again what was lost, though it may take its time.
                    self.report(side, leg, SessionEvent::Alive);
                }
            }
            Arrival::Punch => {
                let [zero, one] = &self.programs;
                if zero.punching.is_none() || zero.punching != one.punching {
                    return;
                }
                if self.reachable.contains(&PUNCHED) && !self.cut {
                    self.event(0, Event::Punched { address: PUNCHED_FROM.parse().unwrap() });
                }
                self.later(0, seconds(10), Arrival::Punch);
            }
            Arrival::PostDue => {
                self.post(side);
                self.later(side, POST_EVERY, Arrival::PostDue);
            }
            Arrival::PostEnds => {
                if self.post_ends[side].is_some_and(|ends| ends <= self.now) {
                    self.post_ends[side] = None;
                    self.send(1 - side, self.trip / 2, Arrival::Event(Event::Absent));
                }
            }
            Arrival::Seen(post) => {
                let candidates =
                    [("192.168.0.1:1", Path::Lan), (DEAD, Path::Direct), ("192.0.2.1:1", Path::Direct)]
                        .map(|(address, path)| Candidate { address: address.parse().unwrap(), path });
                let MyPost { nonce, want, refuse, attempt } = post;
                let punchable = vec![PUNCHED_FROM.parse().unwrap()];
                let candidates = candidates.to_vec();
                let post = PeerPost { nonce, want, refuse, attempt, candidates, punchable };
                self.event(side, Event::Post(post));
            }
        }
    }
}
