use std::collections::HashSet;

use super::*;
use crate::random::testing::failing;

fn key(handshake: u8, keys: u8) -> WordsKey {
    WordsKey::new([handshake; 64], vec![keys; 3200])
}

#[test]
fn the_list_is_what_it_must_be() {
    assert_eq!(LIST.len(), LIST_WORDS);
    assert_eq!(LIST.iter().collect::<HashSet<_>>().len(), LIST_WORDS);
    for word in LIST.iter() {
        assert!((3..=9).contains(&word.len()), "{word}");
        assert!(word.bytes().all(|letter| letter.is_ascii_lowercase()), "{word}");
    }
}

/// No word is another with a letter changed, added or left out, or its beginning: such pairs are misheard and
/// mistyped.
#[test]
fn no_two_words_are_nearly_alike() {
    let near = |a: &str, b: &str| {
        let same_from_left = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
        let same_from_right = a.bytes().rev().zip(b.bytes().rev()).take_while(|(a, b)| a == b).count();
        a.len().abs_diff(b.len()) <= 1 && same_from_left + same_from_right + 1 >= a.len().max(b.len())
            || a.starts_with(b)
            || b.starts_with(a)
    };
    for (at, one) in LIST.iter().enumerate() {
        for other in &LIST[at + 1..] {
            assert!(!near(one, other), "{one} and {other}");
        }
    }
}

#[test]
fn both_sides_come_to_the_same_words() {
    let mut seen = HashSet::new();
    for _ in 0..20 {
        let (zero, commitment) = key(1, 2).commit().unwrap();
        let (one, contribution) = key(1, 2).contribute(commitment).unwrap();
        let (mine, reveal) = zero.reveal(&contribution);
        assert_eq!(one.check(&reveal), Ok(mine));
        assert_eq!(mine.to_string().split(' ').count(), WORDS);
        seen.insert(mine.to_string());
    }
    assert!(seen.len() > 15, "each pairing has words of its own");
}

/// Somebody in the middle has a handshake of its own with each side.
#[test]
fn somebody_in_the_middle_changes_the_words() {
    for [for_zero, for_one] in [[(1, 2), (3, 2)], [(1, 2), (1, 3)]] {
        let (zero, commitment) = key(for_zero.0, for_zero.1).commit().unwrap();
        let (one, contribution) = key(for_one.0, for_one.1).contribute(commitment).unwrap();
        let (mine, reveal) = zero.reveal(&contribution);
        assert_ne!(one.check(&reveal), Ok(mine));
    }
}

#[test]
fn a_number_cannot_be_chosen_afterwards() {
    let (_, commitment) = key(1, 2).commit().unwrap();
    let (one, _) = key(1, 2).contribute(commitment).unwrap();
    assert_eq!(one.check(&[5; 32]), Err(BrokenCommitment));
}

#[test]
fn the_numbers_are_not_for_logs() {
    let (zero, commitment) = key(1, 2).commit().unwrap();
    let (one, contribution) = key(1, 2).contribute(commitment).unwrap();
    let logged = format!("{zero:?} {one:?}");
    let (_, reveal) = zero.reveal(&contribution);
    for number in [reveal, contribution] {
        assert!(!logged.contains(&format!("{number:?}")), "{logged}");
    }
}

#[test]
fn no_words_without_random_numbers() {
    assert_eq!(failing(0, || key(1, 2).commit().map(|_| ())), Err(RandomError));
    assert_eq!(failing(0, || key(1, 2).contribute([0; 32]).map(|_| ())), Err(RandomError));
}
