use super::*;

struct Legs {
    race: Race,
    now: Instant,
    next: u64,
}

impl Legs {
    fn new() -> Self {
        let now = Instant::now();
        Self { race: Race::new(now), now, next: 0 }
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
}

fn candidate(text: &str, path: Path) -> Candidate {
    Candidate { address: text.parse().unwrap(), path }
}

#[test]
fn direct_legs_are_staggered_and_a_failure_starts_the_next_at_once() {
    let mut legs = Legs::new();
    let (a, b, c) = (
        candidate("[2001:db8::1]:1", Path::Direct),
        candidate("192.0.2.1:1", Path::Direct),
        candidate("192.0.2.2:1", Path::Direct),
    );
    legs.race.set_candidates(&[a, b, c], legs.now);
    assert_eq!(legs.steps(), [Step::Dial(DialId(1), Target::Direct(a))]);
    legs.pass(249);
    assert_eq!(legs.steps(), []);
    assert_eq!(legs.race.deadline(), Some(legs.now + Duration::from_millis(1)));
    legs.pass(1);
    assert_eq!(legs.steps(), [Step::Dial(DialId(2), Target::Direct(b))]);
    legs.pass(10);
    legs.race.failed(DialId(2), false, legs.now);
    assert_eq!(legs.steps(), [Step::Dial(DialId(3), Target::Direct(c))]);
    // The one that failed comes again.
    legs.pass(250);
    assert_eq!(legs.steps(), [Step::Dial(DialId(4), Target::Direct(b))]);
}

#[test]
fn redials_never_pause_longer_than_two_seconds() {
    let mut legs = Legs::new();
    let only = candidate("192.0.2.1:1", Path::Direct);
    legs.race.set_candidates(&[only], legs.now);
    for _ in 0..20 {
        let Some(Step::Dial(id, _)) = legs.steps().pop() else { panic!("nothing dialled") };
        legs.race.failed(id, false, legs.now);
        let wait = legs.race.deadline().unwrap() - legs.now;
        assert!(wait <= Duration::from_secs(2), "{wait:?}");
        legs.now = legs.race.deadline().unwrap();
    }
}

#[test]
fn a_bridged_leg_takes_the_next_number_only_after_it_met_the_other_side() {
    let mut legs = Legs::new();
    legs.race.rebridge(legs.now);
    assert_eq!(legs.steps(), [Step::Dial(DialId(1), Target::Bridged { number: 0 })]);
    legs.race.failed(DialId(1), false, legs.now);
    legs.pass(200);
    assert_eq!(legs.steps(), [Step::Dial(DialId(2), Target::Bridged { number: 0 })]);
    legs.race.failed(DialId(2), true, legs.now);
    legs.pass(400);
    assert_eq!(legs.steps(), [Step::Dial(DialId(3), Target::Bridged { number: 1 })]);
    // New nonces: from the start, and the old leg is given up.
    legs.race.rebridge(legs.now);
    assert_eq!(legs.steps(), [Step::Drop(DialId(3)), Step::Dial(DialId(4), Target::Bridged { number: 0 })]);
    // What became of a leg that was given up is nobody's business.
    legs.race.failed(DialId(3), true, legs.now);
    assert_eq!(legs.steps(), []);
}

#[test]
fn once_a_session_stands_only_better_legs_go_on() {
    let mut legs = Legs::new();
    let lan = candidate("192.168.0.2:1", Path::Lan);
    let direct = candidate("192.0.2.1:1", Path::Direct);
    legs.race.set_candidates(&[direct, lan], legs.now);
    legs.race.rebridge(legs.now);
    assert_eq!(legs.steps().len(), 2);
    legs.race.only_above(Path::Relayed);
    assert_eq!(legs.steps(), [Step::Drop(DialId(1))]);
    legs.race.only_above(Path::Direct);
    assert_eq!(legs.steps(), [Step::Drop(DialId(2))]);
    legs.pass(250);
    assert_eq!(legs.steps(), [Step::Dial(DialId(3), Target::Direct(lan))]);
    assert_eq!(legs.race.end(), [DialId(3)]);
}

#[test]
fn candidates_that_come_later_are_dialled_and_those_that_are_gone_are_not() {
    let mut legs = Legs::new();
    let (a, b) = (candidate("192.0.2.1:1", Path::Direct), candidate("192.0.2.2:1", Path::Direct));
    legs.race.set_candidates(&[a], legs.now);
    assert_eq!(legs.steps(), [Step::Dial(DialId(1), Target::Direct(a))]);
    legs.race.set_candidates(&[b], legs.now);
    legs.race.failed(DialId(1), false, legs.now);
    legs.race.set_candidates(&[b], legs.now);
    assert_eq!(legs.steps(), [Step::Dial(DialId(2), Target::Direct(b))]);
    legs.pass(10_000);
    assert_eq!(legs.steps(), []);
}
