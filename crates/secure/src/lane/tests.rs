use std::num::NonZeroU8;

use proptest::prelude::*;

use super::*;
use crate::suite::Suite;
use crate::testing::{LaneEnd, open_all, session};

const CLASS: NonZeroU8 = NonZeroU8::MIN;

fn lanes(number: u32, class: NonZeroU8) -> [Lane; 2] {
    let [zero, one] = session(Suite::Aes256Gcm);
    [
        zero.session.lane(number, class, &[1; 32], &[2; 32]),
        one.session.lane(number, class, &[2; 32], &[1; 32]),
    ]
}

fn opening(wire: &mut BytesMut) -> [u8; OPENING_BYTES] {
    wire.split_to(OPENING_BYTES).as_ref().try_into().unwrap()
}

fn confirmed(lane: UnconfirmedLane, wire: &mut BytesMut) -> (Sealer, Opener) {
    match lane.confirm(wire).unwrap() {
        LaneConfirmation::Confirmed(sealer, opener) => (sealer, opener),
        LaneConfirmation::Waiting(_) => panic!("the first record is whole"),
    }
}

#[test]
fn either_side_may_dial() {
    let now = Instant::now();
    for swap in [false, true] {
        let [zero, one] = lanes(4, CLASS);
        let (dialer, acceptor) = if swap { (one, zero) } else { (zero, one) };
        let (mut to_acceptor, mut to_dialer) = (BytesMut::new(), BytesMut::new());
        let ticket = acceptor.ticket();
        let dialer = dialer.dial(now, &mut to_acceptor).unwrap();
        let opening = opening(&mut to_acceptor);
        assert_eq!(Ticket::of(&opening), Some(ticket));
        let acceptor = acceptor.accept(&opening, now, &mut to_dialer).unwrap();
        let (mut sealer, mut opener) = confirmed(acceptor, &mut to_acceptor);
        let (mut far_sealer, mut far_opener) = confirmed(dialer, &mut to_dialer);
        for (from, to) in [(&mut sealer, &mut far_opener), (&mut far_sealer, &mut opener)] {
            let mut wire = BytesMut::new();
            from.data(now, b"hello".as_slice(), &mut wire).unwrap();
            assert_eq!(open_all(to, &wire).unwrap(), [Record::Data(b"hello".as_slice().into())]);
        }
    }
}

#[test]
fn lanes_have_nothing_in_common() {
    let now = Instant::now();
    let bytes = |lane: Lane| {
        let mut wire = BytesMut::new();
        lane.dial(now, &mut wire).unwrap();
        wire
    };
    let [session, _] = session(Suite::Aes256Gcm).map(|end| end.session);
    let urgent = session.lane(4, CLASS, &[1; 32], &[2; 32]);
    let all = [
        bytes(session.lane(6, CLASS, &[1; 32], &[2; 32])),
        bytes(session.lane(4, CLASS.saturating_add(1), &[1; 32], &[2; 32])),
        bytes(session.lane(4, CLASS, &[3; 32], &[2; 32])),
        bytes(session.lane(4, CLASS, &[1; 32], &[3; 32])),
        bytes(session.lane(4, CLASS, &[2; 32], &[1; 32])),
        bytes(urgent),
    ];
    for (at, one) in all.iter().enumerate() {
        for other in &all[at + 1..] {
            assert_ne!(one[1..=TICKET_BYTES], other[1..=TICKET_BYTES], "tickets");
            assert_ne!(one[OPENING_BYTES..], other[OPENING_BYTES..], "records");
        }
    }
}

#[test]
fn a_reflected_opening_is_refused() {
    let now = Instant::now();
    let [zero, _] = lanes(4, CLASS);
    let [again, _] = lanes(4, CLASS);
    let mut wire = BytesMut::new();
    zero.dial(now, &mut wire).unwrap();
    let result = again.accept(&opening(&mut wire), now, &mut BytesMut::new());
    assert!(matches!(result, Err(LaneError::Opening)));
}

#[test]
fn a_lane_counts_when_the_peers_first_record_verifies() {
    let now = Instant::now();
    let [zero, one] = lanes(4, CLASS);
    let (mut to_acceptor, mut to_dialer) = (BytesMut::new(), BytesMut::new());
    let dialer = zero.dial(now, &mut to_acceptor).unwrap();
    let acceptor = one.accept(&opening(&mut to_acceptor), now, &mut to_dialer).unwrap();
    let mut part = to_dialer.split_to(3);
    let LaneConfirmation::Waiting(dialer) = dialer.confirm(&mut part).unwrap() else {
        panic!("three bytes are no record")
    };
    // What the dialer wrote, sent back to it.
    let result = dialer.confirm(&mut to_acceptor.clone());
    assert!(matches!(result, Err(LaneError::Record(RecordError::Forged))));
    confirmed(acceptor, &mut to_acceptor);
}

#[test]
fn a_lane_begins_with_a_ping() {
    let now = Instant::now();
    let [zero, mut one] = lanes(4, CLASS);
    let (mut to_acceptor, mut to_dialer) = (BytesMut::new(), BytesMut::new());
    let dialer = zero.dial(now, &mut to_acceptor).unwrap();
    one.sealer.data(now, b"x".as_slice(), &mut to_dialer).unwrap();
    assert!(matches!(dialer.confirm(&mut to_dialer), Err(LaneError::NoPing)));
}

/// An exchange that ends at different times at the two sides of a lane that is being made.
#[test]
fn a_new_lane_fits_into_either_epoch() {
    let now = Instant::now();
    let [zero, one] = session(Suite::Aes256Gcm);
    let learn = |end: &LaneEnd| end.session.learn(1, Key::extract(b"exchange", b"1"));
    let mine = zero.session.lane(4, CLASS, &[1; 32], &[2; 32]);
    learn(&one);
    let theirs = one.session.lane(4, CLASS, &[2; 32], &[1; 32]);
    learn(&zero);
    zero.session.release(1);
    let (mut to_acceptor, mut to_dialer) = (BytesMut::new(), BytesMut::new());
    let dialer = mine.dial(now, &mut to_acceptor).unwrap();
    let acceptor = theirs.accept(&opening(&mut to_acceptor), now, &mut to_dialer).unwrap();
    one.session.release(1);
    let (mut sealer, _) = confirmed(acceptor, &mut to_acceptor);
    let (_, mut far_opener) = confirmed(dialer, &mut to_dialer);
    let mut wire = BytesMut::new();
    sealer.ping(now, &mut wire).unwrap();
    assert_eq!(open_all(&mut far_opener, &wire).unwrap(), [Record::Ping]);
}

proptest! {
    #[test]
    fn a_changed_opening_is_refused(at in 0..OPENING_BYTES, bit in 0..8_u8) {
        let now = Instant::now();
        let [zero, one] = lanes(4, CLASS);
        let mut wire = BytesMut::new();
        zero.dial(now, &mut wire).unwrap();
        let mut opening = opening(&mut wire);
        opening[at] ^= 1 << bit;
        let result = one.accept(&opening, now, &mut BytesMut::new());
        prop_assert!(matches!(result, Err(LaneError::Opening)));
    }
}
