//! Whatever bytes come before a leg is authenticated, they are refused, without a panic.
//!
//! The input is: a place in good messages and what to change there, and other bytes that stand for a message.

#![no_main]

use std::time::Instant;

use bytes::BytesMut;
use farhold_fuzz::contacts::{HOUR, abilities, leg, rendezvous};
use farhold_secure::handshake::{Initiator, respond, take_message};
use farhold_secure::lane::Ticket;
use farhold_secure::opening::{CallerId, LegKind, Opening, OpeningGuard};
use farhold_secure::{Code, PublicKeys, Side};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u16, u8, &[u8])| {
    let (place, change, bytes) = input;
    let (zero, one) = (rendezvous(Side::Zero), rendezvous(Side::One));
    before_the_handshake(bytes);

    let opening = Opening::new(&zero, LegKind::Direct, HOUR).expect("random numbers");
    let (initiators, responders) = (leg(Side::Zero, &zero, &opening), leg(Side::One, &one, &opening));
    let (now, mut wire) = (Instant::now(), BytesMut::new());
    let initiator = Initiator::start(&initiators, abilities(true), &mut wire).expect("a leg is a leg");
    let mut first = wire.split_off(2);
    let answer = |message: &[u8]| {
        let mut wire = BytesMut::new();
        respond(&responders, abilities(true), message, now, &mut wire).map(|_| wire.split_off(2))
    };
    assert!(answer(bytes).is_err());
    let mut second = answer(&first).expect("a good message");
    if change != 0 {
        let at = usize::from(place) % first.len();
        first[at] ^= change;
        assert!(answer(&first).is_err());
        let at = usize::from(place) % second.len();
        second[at] ^= change;
        assert!(initiator.finish(&second, now, &mut wire).is_err());
    } else {
        assert!(initiator.finish(bytes, now, &mut wire).is_err());
    }
});

fn before_the_handshake(bytes: &[u8]) {
    let one = rendezvous(Side::One);
    let _ = take_message(&mut BytesMut::from(bytes));
    if let Some(opening) = bytes.first_chunk() {
        let _ = Ticket::of(opening);
        let opening = Opening::from_bytes(*opening);
        assert!(OpeningGuard::new().accept(&opening, LegKind::Direct, HOUR, [((), &one)]).is_err());
    }
    if let Some(id) = bytes.get(..20).and_then(CallerId::from_slice) {
        assert!(OpeningGuard::new().accept_caller(&id, HOUR, [((), &one)]).is_err());
    }
    assert!(one.open(&one.watch_tokens(HOUR)[0], bytes).is_err());
    if let Ok(keys) = PublicKeys::from_bytes(bytes) {
        assert_eq!(keys.to_bytes(), bytes);
    }
    if let Ok(text) = str::from_utf8(bytes)
        && let Ok(code) = text.parse::<Code>()
    {
        assert_eq!(code.to_string(), text.trim());
    }
}
