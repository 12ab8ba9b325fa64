use super::*;

struct Legs {
    race: Race,
    now: Instant,
    next: u64,
}

impl Legs {
    fn new() -> Self {
        Self { race: Race::default(), now: Instant::now(), next: 0 }
    }

    /// Everything that is due now.
    fn steps(&mut self) -> Vec<Step> {
        let mut steps = Vec::new();
        loop {
            let next = &mut self.next;
            let step = self.race.step(self.now, || {
                *next += 1;
                DialId(*next)
            });
            match step {
                Some(step) => steps.push(step),
                None => return steps,
            }
        }
    }

    fn pass(&mut self, milliseconds: u64) {
        self.now += Duration::from_millis(milliseconds);
    }

    fn failed(&mut self, id: u64, met: bool) -> Option<Grade> {
        self.race.failed(DialId(id), met, self.now)
    }
}

fn candidate(text: &str, path: Path) -> Candidate {
    Candidate { address: text.parse().unwrap(), path }
}

fn quic(id: u64, candidate: Candidate) -> Step {
    Step::Dial(DialId(id), Target::Direct { candidate, transport: Transport::Quic })
}

fn tcp(id: u64, candidate: Candidate) -> Step {
    Step::Dial(DialId(id), Target::Direct { candidate, transport: Transport::Tcp })
}

fn bridged(id: u64, number: u32) -> Step {
    Step::Dial(DialId(id), Target::Bridged { number, transport: Transport::Tcp })
}

fn relayed(id: u64) -> Step {
    Step::Dial(DialId(id), Target::Bridged { number: UDP_LEG, transport: Transport::Quic })
}

#[test]
fn quic_comes_before_tcp_and_the_next_address_soon_after() {
    let mut legs = Legs::new();
    let (a, b) = (candidate("[2001:db8::1]:1", Path::Direct), candidate("192.0.2.1:1", Path::Direct));
    legs.race.set_candidates(&[a, b], legs.now);
    assert_eq!(legs.steps(), [quic(1, a)]);
    legs.pass(49);
    assert_eq!(legs.steps(), []);
    assert_eq!(legs.race.deadline(), Some(legs.now + Duration::from_millis(1)));
    legs.pass(1);
    assert_eq!(legs.steps(), [tcp(2, a), quic(3, b)]);
    legs.pass(50);
    assert_eq!(legs.steps(), [tcp(4, b)]);
    assert_eq!(legs.race.deadline(), None);
}

#[test]
fn a_failure_starts_the_next_leg_at_once() {
    let mut legs = Legs::new();
    let (a, b) = (candidate("192.0.2.1:1", Path::Direct), candidate("192.0.2.2:1", Path::Direct));
    legs.race.set_candidates(&[a, b], legs.now);
    assert_eq!(legs.steps(), [quic(1, a)]);
    legs.pass(1);
    assert_eq!(legs.failed(1, false), Some(Grade { path: Path::Direct, transport: Transport::Quic }));
    assert_eq!(legs.steps(), [tcp(2, a)]);
    legs.failed(2, false);
    assert_eq!(legs.steps(), [quic(3, b)]);
    // Those that failed come again.
    legs.pass(200);
    assert_eq!(legs.steps(), [quic(4, a), tcp(5, a), tcp(6, b)]);
}

#[test]
fn redials_pause_longer_only_while_a_session_stands() {
    for (above, most) in [(false, REDIAL_MOST), (true, BETTER_MOST)] {
        let mut legs = Legs::new();
        let only = candidate("192.0.2.1:1", Path::Direct);
        if above {
            legs.race.only_above(Grade { path: Path::Direct, transport: Transport::Tcp });
        }
        legs.race.set_candidates(&[only], legs.now);
        let mut longest = Duration::ZERO;
        for _ in 0..40 {
            for step in legs.steps() {
                let Step::Dial(id, _) = step else { panic!("{step:?}") };
                legs.race.failed(id, false, legs.now);
            }
            longest = longest.max(legs.race.deadline().unwrap() - legs.now);
            legs.now = legs.race.deadline().unwrap();
        }
        assert_eq!(longest, most);
        // A change may help.
        legs.steps();
        legs.failed(legs.next, false);
        legs.pass(1);
        legs.race.hasten(legs.now);
        assert!(legs.race.deadline().is_some_and(|at| at <= legs.now));
    }
}

#[test]
fn a_bridged_leg_takes_the_next_number_only_after_it_met_the_other_side() {
    let mut legs = Legs::new();
    legs.race.rebridge(legs.now);
    assert_eq!(legs.steps(), [relayed(1), bridged(2, 0)]);
    legs.failed(2, false);
    legs.pass(200);
    assert_eq!(legs.steps(), [bridged(3, 0)]);
    legs.failed(3, true);
    legs.pass(400);
    assert_eq!(legs.steps(), [bridged(4, 1)]);
    // By UDP whoever comes again takes its former place.
    legs.failed(1, false);
    legs.pass(200);
    assert_eq!(legs.steps(), [relayed(5)]);
    // New nonces: from the start, and the old legs are given up.
    legs.race.rebridge(legs.now);
    let steps = legs.steps();
    assert_eq!(steps[2..], [relayed(6), bridged(7, 0)]);
    assert!(steps.contains(&Step::Drop(DialId(4))) && steps.contains(&Step::Drop(DialId(5))));
    // What became of a leg that was given up is nobody's business.
    assert_eq!(legs.failed(4, true), None);
    assert_eq!(legs.steps(), []);
}

#[test]
fn legs_through_the_relay_come_back_with_their_numbers_when_the_session_is_lost() {
    let mut legs = Legs::new();
    legs.race.rebridge(legs.now);
    assert_eq!(legs.steps(), [relayed(1), bridged(2, 0)]);
    // The second becomes the session.
    legs.failed(2, true);
    legs.race.only_above(Grade { path: Path::Relayed, transport: Transport::Tcp });
    legs.race.only_above(Grade { path: Path::Direct, transport: Transport::Tcp });
    assert_eq!(legs.steps(), [Step::Drop(DialId(1))]);
    legs.race.reopen(legs.now);
    assert_eq!(legs.steps(), [relayed(3), bridged(4, 1)]);
}

#[test]
fn where_punches_came_from_is_dialled_but_not_wherever_somebody_repeats_them() {
    let mut legs = Legs::new();
    for port in 1..100 {
        legs.race.punched(([192, 0, 2, 1], port).into(), legs.now);
        legs.race.punched(([192, 0, 2, 1], 1).into(), legs.now);
    }
    let dialled = legs.steps();
    assert_eq!(dialled.len(), PUNCHED);
    assert_eq!(dialled[0], Step::Dial(DialId(1), Target::Punched { address: ([192, 0, 2, 1], 1).into() }));
    // With new nonces those that failed are known anew when a punch comes.
    legs.failed(1, false);
    legs.race.rebridge(legs.now);
    legs.race.punched(([192, 0, 2, 2], 1).into(), legs.now);
    let punched = |step: &&Step| matches!(step, Step::Dial(_, Target::Punched { .. }));
    assert_eq!(legs.steps().iter().filter(punched).count(), 1);
}

#[test]
fn once_a_session_stands_only_better_legs_go_on() {
    let mut legs = Legs::new();
    let lan = candidate("192.168.0.2:1", Path::Lan);
    let direct = candidate("192.0.2.1:1", Path::Direct);
    legs.race.set_candidates(&[direct, lan], legs.now);
    legs.race.rebridge(legs.now);
    assert_eq!(legs.steps(), [quic(1, direct), relayed(2), bridged(3, 0)]);
    legs.race.only_above(Grade { path: Path::Relayed, transport: Transport::Tcp });
    assert_eq!(legs.steps(), [Step::Drop(DialId(3))]);
    legs.race.only_above(Grade { path: Path::Relayed, transport: Transport::Quic });
    assert_eq!(legs.steps(), [Step::Drop(DialId(2))]);
    legs.race.only_above(Grade { path: Path::Direct, transport: Transport::Tcp });
    legs.pass(100);
    assert_eq!(legs.steps(), [quic(4, lan), tcp(5, lan)]);
    // Also none that would be new.
    legs.race.rebridge(legs.now);
    legs.race.punched(direct.address, legs.now);
    assert_eq!(legs.steps(), []);
    let mut given_up = legs.race.end();
    given_up.sort_unstable();
    assert_eq!(given_up, [DialId(1), DialId(4), DialId(5)]);
}

#[test]
fn candidates_that_come_later_are_dialled_and_those_that_are_gone_are_not() {
    let mut legs = Legs::new();
    let (a, b) = (candidate("192.0.2.1:1", Path::Direct), candidate("192.0.2.2:1", Path::Direct));
    legs.race.set_candidates(&[a], legs.now);
    assert_eq!(legs.steps(), [quic(1, a)]);
    legs.race.set_candidates(&[b], legs.now);
    legs.failed(1, false);
    legs.race.set_candidates(&[b], legs.now);
    legs.pass(50);
    assert_eq!(legs.steps(), [quic(2, b), tcp(3, b)]);
    legs.pass(10_000);
    assert_eq!(legs.steps(), []);
}
