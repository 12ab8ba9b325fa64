use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::random::testing::{failing, seeded};
use crate::testing::{HOUR, identity, pairing, saved, stranger};

const STAMP: Stamp = Stamp { unix_milliseconds: 1_787_443_200_000, counter: 3 };

fn post(from: &Rendezvous, plaintext: &[u8]) -> (Token, Vec<u8>) {
    let token = from.post_token(HOUR);
    (token, from.seal(&token, STAMP, plaintext).unwrap())
}

#[test]
fn each_watches_what_the_other_posts() {
    for make in [saved, pairing] {
        for side in [Side::Zero, Side::One] {
            let watched = make(side.other()).watch_tokens(HOUR);
            for (at, hour) in [Hour(HOUR.0 - 1), HOUR, Hour(HOUR.0 + 1)].into_iter().enumerate() {
                assert_eq!(make(side).post_token(hour), watched[at]);
            }
        }
    }
}

#[test]
fn no_token_is_ever_another() {
    let mut seen = HashSet::new();
    for make in [saved, pairing] {
        for side in [Side::Zero, Side::One] {
            for hour in 0..100 {
                assert!(seen.insert(make(side).post_token(Hour(hour))));
            }
        }
        for leg in 0..100 {
            assert!(seen.insert(make(Side::Zero).bridge_token(&[1; 16], &[2; 16], leg)));
        }
    }
    assert!(seen.insert(saved(Side::Zero).bridge_token(&[2; 16], &[1; 16], 0)));
    let other = Rendezvous::saved(&PairSecret::from_bytes(&[8; 32]), Side::Zero);
    assert!(seen.insert(other.post_token(Hour(0))));
}

#[test]
fn both_sides_meet_on_the_same_bridge() {
    for make in [saved, pairing] {
        let tokens = [Side::Zero, Side::One].map(|side| make(side).bridge_token(&[1; 16], &[2; 16], 7));
        assert_eq!(tokens[0], tokens[1]);
    }
}

#[test]
fn pairing_needs_two_codes() {
    let mine = identity(Side::Zero).code();
    assert!(Rendezvous::pairing(mine, mine).is_none());
    let other = Rendezvous::pairing(mine, stranger().code()).unwrap();
    assert_ne!(other.post_token(HOUR), pairing(Side::Zero).post_token(HOUR));
}

#[test]
fn posts_are_read_by_the_other_side_only() {
    let (token, blob) = post(&saved(Side::Zero), b"hello");
    let opened = saved(Side::One).open(&token, &blob).unwrap();
    assert_eq!(opened, Opened { stamp: STAMP, plaintext: b"hello".to_vec() });

    assert_eq!(saved(Side::Zero).open(&token, &blob), Err(OpenError), "reflected");
    assert_eq!(pairing(Side::One).open(&token, &blob), Err(OpenError));
    let later = saved(Side::Zero).post_token(Hour(HOUR.0 + 1));
    assert_eq!(saved(Side::One).open(&later, &blob), Err(OpenError), "moved to another token");
}

#[test]
fn posts_have_bounds() {
    let (zero, one) = (saved(Side::Zero), saved(Side::One));
    let (token, largest) = post(&zero, &[5; POST_BYTES]);
    assert_eq!(largest.len(), 4096);
    assert_eq!(one.open(&token, &largest).unwrap().plaintext.len(), POST_BYTES);
    assert_eq!(zero.seal(&token, STAMP, &[5; POST_BYTES + 1]), Err(SealError::TooLarge));
    assert_eq!(one.open(&token, &[0; POST_OVERHEAD - 1]), Err(OpenError));
    assert_eq!(one.open(&token, &[0; 4097]), Err(OpenError));
    let (token, empty) = post(&zero, b"");
    assert_eq!(one.open(&token, &empty).unwrap().plaintext, b"");
}

#[test]
fn nothing_is_sealed_without_random_numbers() {
    let zero = saved(Side::Zero);
    let token = zero.post_token(HOUR);
    assert_eq!(failing(0, || zero.seal(&token, STAMP, b"")), Err(SealError::Random(RandomError)));
}

#[test]
fn posts_are_in_order_of_time_then_counter() {
    let stamp = |unix_milliseconds, counter| Stamp { unix_milliseconds, counter };
    assert!(stamp(10, 1) < stamp(10, 2));
    assert!(stamp(9, 7) < stamp(10, 1));
}

#[test]
fn hours_are_of_utc_and_do_not_overflow() {
    assert_eq!(Hour::of(3_599_999), Hour(0));
    assert_eq!(Hour::of(3_600_000), Hour(1));
    assert_eq!(Hour(0).window(), [Hour(0), Hour(0), Hour(1)]);
    assert_eq!(Hour(u64::MAX).window()[2], Hour(u64::MAX));
}

proptest! {
    #[test]
    fn a_changed_post_does_not_open(
        plaintext in prop::collection::vec(any::<u8>(), 0..64),
        at in any::<prop::sample::Index>(),
        bit in 0..8_u8,
    ) {
        let (token, mut blob) = seeded(2, || post(&saved(Side::Zero), &plaintext));
        let at = at.index(blob.len());
        blob[at] ^= 1 << bit;
        prop_assert_eq!(saved(Side::One).open(&token, &blob), Err(OpenError));
    }

    #[test]
    fn random_posts_do_not_open(blob in prop::collection::vec(any::<u8>(), 0..5000)) {
        let one = saved(Side::One);
        prop_assert_eq!(one.open(&one.watch_tokens(HOUR)[1], &blob), Err(OpenError));
    }
}
