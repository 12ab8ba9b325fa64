//! Random bytes to everything that reads from a peer who has not authenticated, and to an open lane: refused, without
//! a panic. The fuzz targets look further; this runs with every test.

#[path = "support/contacts.rs"]
mod contacts;

use std::sync::LazyLock;
use std::time::Instant;

use bytes::BytesMut;
use contacts::{HOUR, abilities, establish, lane, leg, rendezvous};
use farhold_secure::handshake::{Established, Initiator, respond, take_message};
use farhold_secure::lane::Ticket;
use farhold_secure::opening::{LegKind, Opening, OpeningGuard};
use farhold_secure::{Code, PublicKeys, Side};
use proptest::prelude::*;

static ENDS: LazyLock<[Established; 2]> = LazyLock::new(|| establish(true));

/// Short and long ones, and such that begin like a record, a message or an opening of some length.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let begin = prop_oneof![
        Just(Vec::new()),
        (0..2_u32 << 20).prop_map(|length| length.to_be_bytes().to_vec()),
        any::<u16>().prop_map(|length| length.to_be_bytes().to_vec()),
        (0..4_u8).prop_map(|version| vec![version]),
    ];
    let rest = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..64),
        prop::collection::vec(any::<u8>(), 0..10_000),
    ];
    (begin, rest).prop_map(|(begin, rest)| [begin, rest].concat())
}

proptest! {
    #[test]
    fn an_open_lane_takes_no_random_bytes(bytes in hostile(), number in any::<u32>()) {
        let [(_, mut opener), _] = lane(&ENDS, number);
        let mut buffer = BytesMut::from(bytes.as_slice());
        prop_assert!(!matches!(opener.open(&mut buffer), Ok(Some(_))));
        prop_assert!(opener.finish(&buffer).is_err());
    }

    #[test]
    fn a_leg_takes_no_random_bytes(bytes in hostile()) {
        let (zero, one) = (rendezvous(Side::Zero), rendezvous(Side::One));
        let opening = Opening::new(&zero, LegKind::Direct, HOUR).unwrap();
        let (now, mut out) = (Instant::now(), BytesMut::new());
        let initiator = Initiator::start(&leg(Side::Zero, &zero, &opening), abilities(true), &mut out).unwrap();
        let mut buffer = BytesMut::from(bytes.as_slice());
        if let Ok(Some(message)) = take_message(&mut buffer) {
            prop_assert!(respond(&leg(Side::One, &one, &opening), abilities(true), &message, now, &mut out).is_err());
            prop_assert!(initiator.finish(&message, now, &mut out).is_err());
        }
    }

    #[test]
    fn nothing_before_the_handshake_takes_random_bytes(bytes in hostile()) {
        let one = rendezvous(Side::One);
        if let Some(opening) = bytes.first_chunk() {
            prop_assert_eq!(Ticket::of(opening).is_some(), opening[0] == 2);
            let opening = Opening::from_bytes(*opening);
            let contacts = [((), &one)];
            prop_assert!(OpeningGuard::new().accept(&opening, LegKind::Direct, HOUR, contacts).is_err());
        }
        prop_assert!(one.open(&one.watch_tokens(HOUR)[0], &bytes).is_err());
        prop_assert!(PublicKeys::from_bytes(&bytes).is_err());
    }

    #[test]
    fn text_is_a_code_or_is_refused(text in ".{0,100}") {
        if let Ok(code) = text.parse::<Code>() {
            prop_assert_eq!(code.to_string(), text.trim());
        }
    }
}
