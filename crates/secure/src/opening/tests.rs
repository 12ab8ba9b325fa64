use proptest::prelude::*;

use super::*;
use crate::random::testing::failing;
use crate::rendezvous::PairSecret;
use crate::side::Side;
use crate::testing::{HOUR, pairing, saved};

const KINDS: [LegKind; 3] = [LegKind::Direct, LegKind::Bridged, LegKind::Punched];

fn opening(from: Side) -> Opening {
    Opening::new(&saved(from), LegKind::Direct, HOUR).unwrap()
}

fn accept(opening: &Opening, kind: LegKind, hour: Hour) -> Result<u8, OpeningError> {
    let contacts = [(1, saved(Side::One)), (2, pairing(Side::One))];
    OpeningGuard::new().accept(opening, kind, hour, contacts.iter().map(|(name, of)| (*name, of)))
}

#[test]
fn the_caller_is_found_among_the_contacts() {
    assert_eq!(accept(&opening(Side::Zero), LegKind::Direct, HOUR), Ok(1));
    let pending = Opening::new(&pairing(Side::Zero), LegKind::Direct, HOUR).unwrap();
    assert_eq!(accept(&pending, LegKind::Direct, HOUR), Ok(2));
}

#[test]
fn clocks_may_differ_by_an_hour() {
    let opening = opening(Side::Zero);
    for (hour, expected) in [
        (HOUR.0 - 2, Err(OpeningError::Unknown)),
        (HOUR.0 - 1, Ok(1)),
        (HOUR.0 + 1, Ok(1)),
        (HOUR.0 + 2, Err(OpeningError::Unknown)),
    ] {
        assert_eq!(accept(&opening, LegKind::Direct, Hour(hour)), expected);
    }
}

#[test]
fn an_opening_is_good_for_its_kind_of_leg_only() {
    for sent in KINDS {
        let opening = Opening::new(&saved(Side::Zero), sent, HOUR).unwrap();
        for received in KINDS {
            assert_eq!(accept(&opening, received, HOUR).is_ok(), sent == received);
        }
    }
}

#[test]
fn a_reflected_opening_is_unknown() {
    assert_eq!(accept(&opening(Side::One), LegKind::Direct, HOUR), Err(OpeningError::Unknown));
}

#[test]
fn a_stranger_is_unknown() {
    let other = Rendezvous::saved(&PairSecret::from_bytes(&[1; 32]), Side::Zero);
    let opening = Opening::new(&other, LegKind::Direct, HOUR).unwrap();
    assert_eq!(accept(&opening, LegKind::Direct, HOUR), Err(OpeningError::Unknown));
}

#[test]
fn an_opening_passes_once_while_it_counts() {
    let (opening, one) = (opening(Side::Zero), saved(Side::One));
    let mut guard = OpeningGuard::new();
    let mut at = |hour| guard.accept(&opening, LegKind::Direct, Hour(hour), [((), &one)]);
    assert_eq!(at(HOUR.0 - 1), Ok(()));
    assert_eq!(at(HOUR.0 - 1), Err(OpeningError::Replayed));
    assert_eq!(at(HOUR.0 + 1), Err(OpeningError::Replayed));
    assert_eq!(at(HOUR.0 + 2), Err(OpeningError::Unknown));
}

#[test]
fn memory_is_bounded_per_contact_and_expires() {
    let contacts = [(1, saved(Side::One)), (2, pairing(Side::One))];
    let mut guard = OpeningGuard::new();
    let mut call = |from: &Rendezvous, hour| {
        let opening = Opening::new(from, LegKind::Direct, hour).unwrap();
        guard.accept(&opening, LegKind::Direct, hour, contacts.iter().map(|(name, of)| (*name, of)))
    };
    let caller = saved(Side::Zero);
    for _ in 0..OPENINGS_PER_CONTACT {
        assert_eq!(call(&caller, HOUR), Ok(1));
    }
    assert_eq!(call(&caller, HOUR), Err(OpeningError::TooMany));
    assert_eq!(call(&pairing(Side::Zero), HOUR), Ok(2), "others are not kept out");
    assert_eq!(call(&caller, Hour(HOUR.0 + 1)), Err(OpeningError::TooMany));
    assert_eq!(call(&caller, Hour(HOUR.0 + 2)), Ok(1));
}

#[test]
fn a_removed_contact_is_forgotten() {
    let (opening, one) = (opening(Side::Zero), saved(Side::One));
    let mut guard = OpeningGuard::new();
    assert_eq!(guard.accept(&opening, LegKind::Direct, HOUR, [(1, &one)]), Ok(1));
    guard.forget(&1);
    assert_eq!(guard.accept(&opening, LegKind::Direct, HOUR, [(1, &one)]), Ok(1));
}

/// Whoever the same name stands for later in the hour, its keys were derived before.
#[test]
fn keys_are_derived_once_an_hour_for_each_contact() {
    let (one, other) = (saved(Side::One), Rendezvous::saved(&PairSecret::from_bytes(&[1; 32]), Side::One));
    let mut guard = OpeningGuard::new();
    let accept = |guard: &mut OpeningGuard<u8>, of: &Rendezvous, hour| {
        let opening = Opening::new(&saved(Side::Zero), LegKind::Direct, hour).unwrap();
        guard.accept(&opening, LegKind::Direct, hour, [(1, of)])
    };
    assert_eq!(accept(&mut guard, &one, HOUR), Ok(1));
    assert_eq!(accept(&mut guard, &other, HOUR), Ok(1));
    guard.forget(&1);
    assert_eq!(accept(&mut guard, &other, HOUR), Err(OpeningError::Unknown));
    assert_eq!(accept(&mut guard, &one, Hour(HOUR.0 + 1)), Ok(1));
    assert_eq!(accept(&mut guard, &other, Hour(HOUR.0 + 2)), Err(OpeningError::Unknown));
}

#[test]
fn no_opening_without_random_numbers() {
    let result = failing(0, || Opening::new(&saved(Side::Zero), LegKind::Direct, HOUR));
    assert_eq!(result, Err(RandomError));
}

proptest! {
    #[test]
    fn a_changed_opening_is_refused(at in 0..OPENING_BYTES, bit in 0..8_u8) {
        let mut bytes = *opening(Side::Zero).as_bytes();
        bytes[at] ^= 1 << bit;
        let expected = if at == 0 { OpeningError::Version } else { OpeningError::Unknown };
        prop_assert_eq!(accept(&Opening::from_bytes(bytes), LegKind::Direct, HOUR), Err(expected));
    }
}
