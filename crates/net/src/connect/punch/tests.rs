//! Two punchers behind NATs of the common kinds, in virtual time.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr};

use proptest::prelude::*;

use super::*;

/// Whom a NAT lets in (RFC 4787, section 5), given what went out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Filter {
    Anybody,
    Address,
    AddressAndPort,
}

/// A program's NAT: `steady` ones give a program the same outer port whomever it talks to (section 4.1).
#[derive(Debug, Clone, Copy)]
struct Kind {
    steady: bool,
    filter: Filter,
}

const OPEN: Kind = Kind { steady: true, filter: Filter::Anybody };
const RESTRICTED: Kind = Kind { steady: true, filter: Filter::Address };
const PORT_RESTRICTED: Kind = Kind { steady: true, filter: Filter::AddressAndPort };
const SYMMETRIC: Kind = Kind { steady: false, filter: Filter::AddressAndPort };
const KINDS: [Kind; 4] = [OPEN, RESTRICTED, PORT_RESTRICTED, SYMMETRIC];

struct Nat {
    kind: Kind,
    ip: IpAddr,
    /// Outer port by whom it is for; `None` if it is for all.
    ports: HashMap<Option<SocketAddr>, u16>,
    out: Vec<(u16, SocketAddr)>,
}

impl Nat {
    fn new(kind: Kind, last: u8) -> Self {
        Self { kind, ip: Ipv4Addr::new(192, 0, 2, last).into(), ports: HashMap::new(), out: Vec::new() }
    }

    /// From where a datagram comes that leaves.
    fn leaves(&mut self, to: SocketAddr) -> SocketAddr {
        let fresh = 1000 + u16::try_from(self.ports.len()).unwrap();
        let port = *self.ports.entry((!self.kind.steady).then_some(to)).or_insert(fresh);
        self.out.push((port, to));
        (self.ip, port).into()
    }

    fn lets_in(&self, from: SocketAddr, to: SocketAddr) -> bool {
        to.ip() == self.ip
            && self.out.iter().any(|(port, whom)| {
                *port == to.port()
                    && match self.kind.filter {
                        Filter::Anybody => true,
                        Filter::Address => whom.ip() == from.ip(),
                        Filter::AddressAndPort => *whom == from,
                    }
            })
    }
}

struct World {
    now: Instant,
    trip: Duration,
    nats: [Nat; 2],
    punchers: [Puncher; 2],
    /// What is under way, by when it arrives: to which side, from, to, whether it is an answer.
    flying: BTreeMap<(Instant, u64), (usize, SocketAddr, SocketAddr, bool)>,
    sent: u64,
    lost: fn(u64) -> bool,
    /// Where side 0 heard a punch from: it can dial there.
    dialled: Option<SocketAddr>,
}

impl World {
    /// Both know where the relay sees the other, and side 1 begins `offset` later.
    fn new(kinds: [Kind; 2], trip: Duration, offset: Duration) -> Self {
        let now = Instant::now();
        let mut nats = [Nat::new(kinds[0], 1), Nat::new(kinds[1], 2)];
        let relay = "203.0.113.1:1".parse().unwrap();
        let seen = [nats[0].leaves(relay), nats[1].leaves(relay)];
        let mut punchers = [Puncher::new(now), Puncher::new(now)];
        punchers[0].aim(&[seen[1]], now);
        punchers[1].aim(&[seen[0]], now + offset);
        let flying = BTreeMap::new();
        Self { now, trip, nats, punchers, flying, sent: 0, lost: |_| false, dialled: None }
    }

    fn send(&mut self, side: usize, to: SocketAddr, answer: bool) {
        let from = self.nats[side].leaves(to);
        self.sent += 1;
        if !(self.lost)(self.sent) {
            self.flying.insert((self.now + self.trip / 2, self.sent), (1 - side, from, to, answer));
        }
    }

    /// Runs until side 0 knows where to dial, or for so long.
    fn run(&mut self, longest: Duration) {
        let until = self.now + longest;
        while self.dialled.is_none() {
            for side in 0..2 {
                while let Some(to) = self.punchers[side].next(self.now) {
                    self.send(side, to, false);
                }
            }
            let arrival = self.flying.keys().next().map(|(at, _)| *at);
            let due = self.punchers.iter().filter_map(Puncher::deadline);
            let Some(next) = due.chain(arrival).min().filter(|next| *next <= until) else { return };
            self.now = self.now.max(next);
            self.punchers.iter_mut().for_each(|puncher| {
                puncher.is_unheard(self.now);
            });
            if arrival == Some(next) {
                let (_, (side, from, to, answer)) = self.flying.pop_first().unwrap();
                if self.nats[side].lets_in(from, to) {
                    if self.punchers[side].heard(from, answer, self.now) {
                        self.send(side, from, true);
                    }
                    if side == 0 {
                        self.dialled = Some(from);
                    }
                }
            }
        }
    }

    /// Whether what side 0 sends there arrives, and the answer comes back.
    fn dial_works(&mut self) -> bool {
        let Some(there) = self.dialled else { return false };
        let from = self.nats[0].leaves(there);
        if !self.nats[1].lets_in(from, there) {
            return false;
        }
        let back = self.nats[1].leaves(from);
        back == there && self.nats[0].lets_in(back, from)
    }
}

fn can_meet(kinds: [Kind; 2]) -> bool {
    let strict = |kind: &Kind| kind.filter == Filter::AddressAndPort;
    kinds.iter().all(|kind| kind.steady) || !kinds.iter().all(strict)
}

#[test]
fn every_pairing_of_nats_that_can_meet_does() {
    let trip = Duration::from_millis(200);
    for zero in KINDS {
        for one in KINDS {
            for offset in [0, 100, 700, 5000] {
                let mut world = World::new([zero, one], trip, Duration::from_millis(offset));
                let start = world.now;
                world.run(Duration::from_secs(60));
                assert_eq!(world.dial_works(), can_meet([zero, one]), "{zero:?} {one:?} {offset}");
                let took = world.now - start;
                if can_meet([zero, one]) {
                    assert!(took <= Duration::from_millis(offset) + trip * 2 + EVERY * 2, "{took:?}");
                }
            }
        }
    }
}

#[test]
fn one_that_begins_when_the_other_has_slowed_down_is_heard_in_time() {
    for kinds in [[PORT_RESTRICTED, PORT_RESTRICTED], [SYMMETRIC, RESTRICTED], [RESTRICTED, SYMMETRIC]] {
        let mut world = World::new(kinds, Duration::from_millis(300), Duration::from_secs(120));
        world.run(Duration::from_secs(120) + EVERY_MOST * 2);
        assert!(world.dial_works(), "{kinds:?}");
    }
}

#[test]
fn what_is_lost_on_the_way_is_made_up_for() {
    let kinds = [PORT_RESTRICTED, RESTRICTED];
    let mut world = World::new(kinds, Duration::from_millis(200), Duration::ZERO);
    world.lost = |sent| sent % 10 != 0;
    world.run(Duration::from_secs(20));
    assert!(world.dial_works());
}

#[test]
fn silence_is_told_once_and_ended_by_a_punch() {
    let now = Instant::now();
    let there = "192.0.2.1:1".parse().unwrap();
    let mut puncher = Puncher::new(now);
    assert_eq!(puncher.deadline(), None);
    puncher.aim(&[there], now);
    assert!(!puncher.is_unheard(now + HEARD_WITHIN / 2));
    assert!(puncher.is_unheard(now + HEARD_WITHIN));
    assert!(!puncher.is_unheard(now + HEARD_WITHIN * 2));
    puncher.restart(now);
    assert!(puncher.heard(there, false, now));
    assert!(!puncher.heard(there, true, now), "an answer is not answered");
    assert!(!puncher.is_unheard(now + HEARD_WITHIN));
    puncher.aim(&[], now);
    assert_eq!(puncher.next(now + HEARD_WITHIN), None);
}

proptest! {
    #[test]
    fn whatever_a_contact_says_the_budget_holds(
        script in proptest::collection::vec((0u8..4, 1u16..20, 0u64..500), 1..200),
    ) {
        let start = Instant::now();
        let mut now = start;
        let mut puncher = Puncher::new(start);
        let mut sent = 0u64;
        for (what, port, wait) in script {
            let address = |port| SocketAddr::from(([192, 0, 2, 1], port));
            match what {
                0 => puncher.aim(&(port..port + 16).map(address).collect::<Vec<_>>(), now),
                1 => puncher.restart(now),
                2 => sent += u64::from(puncher.heard(address(port + 100), false, now)),
                _ => now += Duration::from_millis(wait),
            }
            while puncher.next(now).is_some() {
                sent += 1;
            }
            prop_assert!(puncher.deadline().is_none_or(|next| next > now), "what is due was done");
            prop_assert!(puncher.aims.len() <= 16 + UNANNOUNCED);
            let refilled = (now - start).as_millis() / REFILL.as_millis();
            prop_assert!(u128::from(sent) <= u128::from(BUDGET) + refilled);
        }
    }
}
