use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::recent::MEMORY;

const HOME: Source = Source::V4([192, 0, 2, 1]);
const AWAY: Source = Source::V4([192, 0, 2, 2]);

fn call(token: u8, side: BridgeSide, nonce: u64) -> BridgeCall {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&nonce.to_be_bytes());
    BridgeCall { token: [token; 32], side, nonce: bytes }
}

fn zero(nonce: u64) -> BridgeCall {
    call(1, BridgeSide::Zero, nonce)
}

fn one(nonce: u64) -> BridgeCall {
    call(1, BridgeSide::One, nonce)
}

const PARKED: Placed = Placed::Parked { replaces: None };

fn pairing() -> (Pairing, Instant) {
    (Pairing::new(Limit::new(100, 50)), Instant::now())
}

#[test]
fn two_sides_meet_under_one_token() {
    let (mut pairing, now) = pairing();
    assert_eq!(pairing.arrive(LegId(1), &zero(1), HOME, now), PARKED);
    assert_eq!(pairing.parked(), 1);
    assert_eq!(pairing.arrive(LegId(2), &one(2), AWAY, now), Placed::Meets(LegId(1)));
    assert_eq!(pairing.parked(), 0);
}

#[test]
fn other_tokens_and_the_same_side_do_not_meet() {
    let (mut pairing, now) = pairing();
    assert_eq!(pairing.arrive(LegId(1), &zero(1), HOME, now), PARKED);
    assert_eq!(pairing.arrive(LegId(2), &call(2, BridgeSide::One, 2), AWAY, now), PARKED);
    assert_eq!(pairing.arrive(LegId(3), &zero(3), AWAY, now), PARKED);
}

#[test]
fn a_nonce_is_taken_once_for_minutes() {
    let (mut pairing, now) = pairing();
    assert_eq!(pairing.arrive(LegId(1), &zero(1), HOME, now), PARKED);
    // Played back: as the same side, and reflected as the other.
    assert_eq!(pairing.arrive(LegId(2), &zero(1), AWAY, now), Placed::Repeated);
    assert_eq!(pairing.arrive(LegId(3), &one(1), AWAY, now), Placed::Repeated);
    pairing.leave(LegId(1), &[1; 32]);
    let later = now + MEMORY - Duration::from_millis(1);
    assert_eq!(pairing.arrive(LegId(4), &zero(1), HOME, later), Placed::Repeated);
    assert_eq!(pairing.arrive(LegId(5), &zero(1), HOME, now + MEMORY), PARKED);
}

#[test]
fn a_newer_leg_of_the_same_source_takes_the_place_of_the_older() {
    let (mut pairing, now) = pairing();
    assert_eq!(pairing.arrive(LegId(1), &zero(1), HOME, now), PARKED);
    let placed = pairing.arrive(LegId(2), &zero(2), HOME, now);
    assert_eq!(placed, Placed::Parked { replaces: Some(LegId(1)) });
    assert_eq!(pairing.parked(), 1);
    assert_eq!(pairing.arrive(LegId(3), &one(3), AWAY, now), Placed::Meets(LegId(2)));
}

#[test]
fn a_leg_of_another_source_waits_beside_and_the_newest_meets_first() {
    let (mut pairing, now) = pairing();
    assert_eq!(pairing.arrive(LegId(1), &zero(1), HOME, now), PARKED);
    assert_eq!(pairing.arrive(LegId(2), &zero(2), AWAY, now), PARKED);
    assert_eq!(pairing.arrive(LegId(3), &one(3), AWAY, now), Placed::Meets(LegId(2)));
    assert_eq!(pairing.arrive(LegId(4), &one(4), AWAY, now), Placed::Meets(LegId(1)));
}

#[test]
fn the_fifth_source_takes_the_place_of_the_oldest_leg() {
    let (mut pairing, now) = pairing();
    for number in 1..=4u8 {
        let placed = pairing.arrive(LegId(number.into()), &zero(number.into()), Source::V4([number; 4]), now);
        assert_eq!(placed, PARKED);
    }
    let placed = pairing.arrive(LegId(5), &zero(5), Source::V4([5; 4]), now);
    assert_eq!(placed, Placed::Parked { replaces: Some(LegId(1)) });
    assert_eq!(pairing.parked(), LEGS_PER_TOKEN);
}

#[test]
fn a_leg_whose_partner_was_gone_is_placed_again_with_its_nonce() {
    let (mut pairing, now) = pairing();
    assert_eq!(pairing.arrive(LegId(1), &zero(1), HOME, now), PARKED);
    assert_eq!(pairing.arrive(LegId(2), &one(2), AWAY, now), Placed::Meets(LegId(1)));
    assert_eq!(pairing.place(LegId(2), &one(2), AWAY), PARKED);
    assert_eq!(pairing.arrive(LegId(3), &zero(3), HOME, now), Placed::Meets(LegId(2)));
}

/// Legs that called while another met a partner that was gone are newer than that one.
#[test]
fn a_leg_that_is_placed_again_stays_behind_newer_ones() {
    let (mut pairing, now) = pairing();
    let meet_in_vain = |pairing: &mut Pairing| {
        assert_eq!(pairing.arrive(LegId(1), &zero(1), HOME, now), PARKED);
        assert_eq!(pairing.arrive(LegId(2), &one(2), AWAY, now), Placed::Meets(LegId(1)));
    };
    meet_in_vain(&mut pairing);
    assert_eq!(pairing.arrive(LegId(3), &zero(3), HOME, now), PARKED);
    assert_eq!(pairing.place(LegId(1), &zero(1), HOME), Placed::Superseded);
    assert_eq!(pairing.arrive(LegId(4), &one(4), AWAY, now), Placed::Meets(LegId(3)));

    let (mut pairing, _) = self::pairing();
    meet_in_vain(&mut pairing);
    assert_eq!(pairing.arrive(LegId(3), &zero(3), AWAY, now), PARKED);
    assert_eq!(pairing.place(LegId(1), &zero(1), HOME), PARKED);
    assert_eq!(pairing.arrive(LegId(4), &one(4), AWAY, now), Placed::Meets(LegId(3)));
    assert_eq!(pairing.arrive(LegId(5), &one(5), AWAY, now), Placed::Meets(LegId(1)));
}

#[test]
fn a_source_parks_no_more_than_its_part_and_a_refused_leg_may_call_again() {
    let mut pairing = Pairing::new(Limit::new(3, 2));
    let now = Instant::now();
    assert_eq!(pairing.arrive(LegId(1), &call(1, BridgeSide::Zero, 1), HOME, now), PARKED);
    assert_eq!(pairing.arrive(LegId(2), &call(2, BridgeSide::Zero, 2), HOME, now), PARKED);
    let third = call(3, BridgeSide::Zero, 3);
    assert_eq!(pairing.arrive(LegId(3), &third, HOME, now), Placed::Full(Full::Source));
    // Redialling a leg and meeting one need no room.
    let placed = pairing.arrive(LegId(4), &call(1, BridgeSide::Zero, 4), HOME, now);
    assert_eq!(placed, Placed::Parked { replaces: Some(LegId(1)) });
    let placed = pairing.arrive(LegId(5), &call(2, BridgeSide::One, 5), HOME, now);
    assert_eq!(placed, Placed::Meets(LegId(2)));
    assert_eq!(pairing.arrive(LegId(6), &third, HOME, now), PARKED);
}

#[derive(Debug, Clone)]
enum Step {
    Arrive {
        token: u8,
        one: bool,
        nonce: u64,
        source: u8,
    },
    /// The meeting before failed for the parked leg: the leg that came is placed again.
    PlaceAgain,
    Leave(usize),
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0u8..3, any::<bool>(), 0u64..40, 0u8..7)
            .prop_map(|(token, one, nonce, source)| Step::Arrive { token, one, nonce, source }),
        1 => Just(Step::PlaceAgain),
        1 => (0usize..10).prop_map(Step::Leave),
        1 => (0u64..200).prop_map(Step::Pass),
    ]
}

const LIMIT: Limit = Limit::new(9, 3);

/// The pairing, and what is known of the legs that should be parked.
struct Checked {
    pairing: Pairing,
    now: Instant,
    next: u64,
    parked: BTreeMap<LegId, (BridgeCall, Source)>,
    last_met: Option<(LegId, BridgeCall, Source)>,
}

impl Checked {
    fn apply(&mut self, step: Step) {
        match step {
            Step::Arrive { token, one, nonce, source } => {
                let side = if one { BridgeSide::One } else { BridgeSide::Zero };
                let (leg, call, source) =
                    (LegId(self.next), call(token, side, nonce), Source::V4([source; 4]));
                self.next += 1;
                let placed = self.pairing.arrive(leg, &call, source, self.now);
                self.placed(leg, call, source, placed);
            }
            Step::PlaceAgain => {
                if let Some((leg, call, source)) = self.last_met.take() {
                    let placed = self.pairing.place(leg, &call, source);
                    self.placed(leg, call, source, placed);
                }
            }
            Step::Leave(index) => {
                let leaving = self.parked.iter().nth(index).map(|(leg, (call, _))| (*leg, call.token));
                if let Some((leg, token)) = leaving {
                    self.pairing.leave(leg, &token);
                    self.parked.remove(&leg);
                    self.pairing.leave(leg, &token);
                }
            }
            Step::Pass(seconds) => self.now += Duration::from_secs(seconds),
        }
    }

    fn placed(&mut self, leg: LegId, call: BridgeCall, source: Source, placed: Placed) {
        self.last_met = None;
        match placed {
            Placed::Meets(other) => {
                let (partner, _) = self.parked.remove(&other).expect("met a leg that was not parked");
                assert_eq!(partner.token, call.token);
                assert_ne!(partner.side, call.side);
                assert_ne!(partner.nonce, call.nonce);
                self.last_met = Some((leg, call, source));
            }
            Placed::Parked { replaces } => {
                if let Some(old) = replaces {
                    let (replaced, _) = self.parked.remove(&old).expect("replaced a leg that was not parked");
                    assert_eq!((replaced.token, replaced.side), (call.token, call.side));
                }
                let could_meet =
                    |(other, _): &(BridgeCall, Source)| other.token == call.token && other.side != call.side;
                assert!(!self.parked.values().any(could_meet), "parked beside its partner");
                self.parked.insert(leg, (call, source));
            }
            Placed::Repeated => {}
            Placed::Superseded => {
                let same =
                    |(other, _): &(BridgeCall, Source)| (other.token, other.side) == (call.token, call.side);
                assert!(self.parked.iter().any(|(other, of)| *other > leg && same(of)));
            }
            Placed::Full(_) => {
                let of_source = self.parked.values().filter(|(_, of)| *of == source).count();
                assert!(of_source == LIMIT.per_source || self.parked.len() == LIMIT.total);
            }
        }
    }

    fn check(&self) {
        assert_eq!(self.pairing.parked(), self.parked.len());
        assert!(self.parked.len() <= LIMIT.total);
        let known: BTreeSet<LegId> = self.parked.keys().copied().collect();
        let waiting = self.pairing.waiting.values().flat_map(|waiting| &waiting.legs);
        assert_eq!(waiting.map(|parked| parked.leg).collect::<BTreeSet<_>>(), known);
        for waiting in self.pairing.waiting.values() {
            assert!((1..=LEGS_PER_TOKEN).contains(&waiting.legs.len()));
            assert!(waiting.legs.is_sorted_by_key(|parked| parked.leg), "oldest first");
            let sources: Vec<Source> = waiting.legs.iter().map(|parked| parked.source).collect();
            assert!((1..sources.len()).all(|index| !sources[..index].contains(&sources[index])));
        }
        for source in 0..7 {
            let of_source = self.parked.values().filter(|(_, of)| *of == Source::V4([source; 4])).count();
            assert!(of_source <= LIMIT.per_source);
        }
    }
}

proptest! {
    #[test]
    fn random_arrivals_never_pair_a_side_with_itself_and_keep_to_the_limits(
        steps in prop::collection::vec(step(), 0..200),
    ) {
        let mut checked = Checked {
            pairing: Pairing::new(LIMIT),
            now: Instant::now(),
            next: 0,
            parked: BTreeMap::new(),
            last_met: None,
        };
        for step in steps {
            checked.apply(step);
            checked.check();
        }
    }
}
