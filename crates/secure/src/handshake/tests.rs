use std::time::Instant;

use bytes::BytesMut;
use proptest::prelude::*;

use super::*;
use crate::random::testing::failing;
use crate::testing::{End, HOUR, ends, establish, open_all, pairing, public, saved, stranger};

const BOTH: [Side; 2] = [Side::Zero, Side::One];

fn start(end: &End) -> Result<(Initiator, BytesMut), HandshakeError> {
    let mut wire = BytesMut::new();
    let initiator = Initiator::start(&end.leg(), end.abilities, &mut wire)?;
    Ok((initiator, wire.split_off(LENGTH_BYTES)))
}

fn answer(end: &End, message: &[u8]) -> Result<(Unconfirmed, BytesMut), HandshakeError> {
    let mut wire = BytesMut::new();
    let unconfirmed = respond(&end.leg(), end.abilities, message, Instant::now(), &mut wire)?;
    Ok((unconfirmed, wire.split_off(LENGTH_BYTES)))
}

fn finish(initiator: Initiator, message: &[u8]) -> Result<(Established, BytesMut), HandshakeError> {
    let mut wire = BytesMut::new();
    let established = initiator.finish(message, Instant::now(), &mut wire)?;
    Ok((established, wire))
}

#[test]
fn every_pairing_of_machines_and_dialers_agrees() {
    let now = Instant::now();
    for initiator in BOTH {
        for (hardware, expected) in [
            ([true, true], Suite::Aes256Gcm),
            ([true, false], Suite::ChaCha20Poly1305),
            ([false, true], Suite::ChaCha20Poly1305),
            ([false, false], Suite::ChaCha20Poly1305),
        ] {
            let ends = ends(initiator, hardware);
            let [mut mine, mut theirs] = establish(&ends, now);
            assert_eq!([mine.suite, theirs.suite], [expected; 2]);
            assert_eq!(mine.capabilities, ends[1].abilities.capabilities);
            assert_eq!(theirs.capabilities, ends[0].abilities.capabilities);
            for (from, to) in [(&mut mine.sealer, &mut theirs.opener), (&mut theirs.sealer, &mut mine.opener)]
            {
                let mut wire = BytesMut::new();
                from.data(now, b"hello".as_slice(), &mut wire).unwrap();
                assert_eq!(open_all(to, &wire).unwrap(), [Record::Data(b"hello".as_slice().into())]);
            }
        }
    }
}

/// Whoever ends the channel below in the middle has another one with each side.
#[test]
fn the_channel_below_is_part_of_the_handshake() {
    let bound = |bindings: [Option<[u8; 32]>; 2]| {
        let mut ends = ends(Side::Zero, [true; 2]);
        for (end, binding) in ends.iter_mut().zip(bindings) {
            (end.kind, end.binding) = (LegKind::Quic, binding);
        }
        ends
    };
    establish(&bound([Some([1; 32]); 2]), Instant::now());
    for different in [[Some([1; 32]), Some([2; 32])], [Some([1; 32]), None], [None, Some([1; 32])]] {
        let [initiator, responder] = bound(different);
        let (_, message) = start(&initiator).unwrap();
        assert!(answer(&responder, &message).is_err(), "{different:?}");
    }
}

#[test]
fn messages_have_the_expected_sizes() {
    let [zero, one] = ends(Side::Zero, [true; 2]);
    let (_, first) = start(&zero).unwrap();
    let (_, second) = answer(&one, &first).unwrap();
    assert_eq!((first.len(), second.len()), (3198, 4778));
}

#[test]
fn the_first_record_may_come_with_more_behind_it() {
    let now = Instant::now();
    let [zero, one] = ends(Side::Zero, [true; 2]);
    let (initiator, first) = start(&zero).unwrap();
    let (unconfirmed, second) = answer(&one, &first).unwrap();
    let (mut mine, mut wire) = finish(initiator, &second).unwrap();
    mine.sealer.data(now, [1; 100_000].as_slice(), &mut wire).unwrap();
    let mut buffer = wire.split_to(10);
    let Ok(Confirmation::Waiting(unconfirmed)) = unconfirmed.confirm(&mut buffer) else {
        panic!("ten bytes are no record")
    };
    buffer.unsplit(wire);
    let Ok(Confirmation::Established(mut theirs)) = unconfirmed.confirm(&mut buffer) else {
        panic!("the record is whole")
    };
    assert_eq!(theirs.opener.open(&mut buffer), Ok(Some(Record::Data(vec![1; 100_000].into()))));
}

#[test]
fn the_responder_answers_before_authentication_with_records_of_any_size() {
    let now = Instant::now();
    let [mut mine, mut theirs] = establish(&ends(Side::Zero, [true; 2]), now);
    let mut wire = BytesMut::new();
    theirs.sealer.data(now, [1; 100_000].as_slice(), &mut wire).unwrap();
    assert_eq!(open_all(&mut mine.opener, &wire).unwrap().len(), 1);
}

/// The recorded legs of an earlier session, played to a responder that has forgotten their opening.
#[test]
fn a_repeated_leg_is_never_confirmed() {
    let [zero, one] = ends(Side::Zero, [true; 2]);
    let (initiator, first) = start(&zero).unwrap();
    let (_, second) = answer(&one, &first).unwrap();
    let (mut mine, mut recorded) = finish(initiator, &second).unwrap();
    mine.sealer.data(Instant::now(), b"delete everything".as_slice(), &mut recorded).unwrap();

    let (unconfirmed, again) = answer(&one, &first).unwrap();
    assert_ne!(second, again);
    assert!(matches!(unconfirmed.confirm(&mut recorded), Err(HandshakeError::Record(RecordError::Forged))));
}

#[test]
fn only_a_ping_confirms() {
    let [zero, one] = ends(Side::Zero, [true; 2]);
    let (initiator, first) = start(&zero).unwrap();
    let (unconfirmed, second) = answer(&one, &first).unwrap();
    // An initiator that leaves out its ping.
    let Initiator { mut noise, proposal_hash, side, .. } = initiator;
    let encoded = read(&mut noise, &second).unwrap();
    let finished = Finished {
        noise,
        proposal_hash,
        choice_hash: Sha512::digest(&encoded).into(),
        suite: Choice::decode(&encoded).unwrap().suite,
        side,
        peer_capabilities: 0,
        pairing_keys: None,
    };
    let mut wire = BytesMut::new();
    let now = Instant::now();
    finished.establish(now).unwrap().sealer.data(now, b"x".as_slice(), &mut wire).unwrap();
    assert!(matches!(unconfirmed.confirm(&mut wire), Err(HandshakeError::Unconfirmed)));
}

type Change = fn(&mut End);

#[test]
fn what_the_sides_know_must_agree() {
    let changes: [(&str, Change); 4] = [
        ("kind", |end| end.kind = LegKind::Bridged),
        ("opening", |end| end.opening = Opening::new(&end.rendezvous, LegKind::Direct, HOUR).unwrap()),
        ("pairing", |end| end.rendezvous = pairing(end.side)),
        ("side", |end| end.rendezvous = saved(end.side.other())),
    ];
    for (what, change) in changes {
        let [zero, mut one] = ends(Side::Zero, [true; 2]);
        let (_, first) = start(&zero).unwrap();
        change(&mut one);
        assert!(matches!(answer(&one, &first), Err(HandshakeError::Forged)), "{what}");
    }
}

#[test]
fn a_stranger_cannot_take_either_part() {
    let stranger = stranger();
    let [zero, one] = ends(Side::Zero, [true; 2]);
    // Knows everything but the contact's secret keys.
    let as_zero = Leg { identity: &stranger, ..zero.leg() };
    let mut wire = BytesMut::new();
    Initiator::start(&as_zero, zero.abilities, &mut wire).unwrap();
    let first = take_message(&mut wire).unwrap().unwrap();
    assert!(matches!(answer(&one, &first), Err(HandshakeError::Forged)));

    let (_, first) = start(&zero).unwrap();
    let as_one = Leg { identity: &stranger, peer: public(Side::Zero), ..one.leg() };
    let result = respond(&as_one, one.abilities, &first, Instant::now(), &mut wire);
    assert!(matches!(result, Err(HandshakeError::Forged)));
}

#[test]
fn only_a_pairing_leg_gives_what_a_contact_is_saved_with() {
    let now = Instant::now();
    let [mine, theirs] = establish(&ends(Side::Zero, [true; 2]), now);
    assert!(mine.pairing.is_none() && theirs.pairing.is_none());

    let pairing_ends = || {
        let [mut zero, mut one] = ends(Side::Zero, [true; 2]);
        (zero.rendezvous, one.rendezvous) = (pairing(Side::Zero), pairing(Side::One));
        [zero, one]
    };
    let secrets =
        |[mine, theirs]: [Established; 2]| [mine, theirs].map(|end| *end.pairing.unwrap().secret.as_bytes());
    let first = secrets(establish(&pairing_ends(), now));
    let second = secrets(establish(&pairing_ends(), now));
    assert_eq!(first[0], first[1]);
    assert_eq!(second[0], second[1]);
    assert_ne!(first[0], second[0], "each handshake has secrets of its own");
}

#[test]
fn every_failure_of_the_random_numbers_is_an_error() {
    let [zero, one] = ends(Side::Zero, [true; 2]);
    let (_, first) = start(&zero).unwrap();
    let mut failures = [0; 2];
    for good_calls in 0..10 {
        for (side, result) in [
            failing(good_calls, || start(&zero).map(|_| ())),
            failing(good_calls, || answer(&one, &first).map(|_| ())),
        ]
        .into_iter()
        .enumerate()
        {
            if let Err(error) = result {
                assert_eq!(error, HandshakeError::Random(RandomError));
                failures[side] += 1;
            }
        }
    }
    assert_eq!(failures, [3, 4], "two ephemeral seeds, and one or two encapsulations");
}

#[test]
fn messages_of_impossible_lengths_are_refused() {
    let [zero, one] = ends(Side::Zero, [true; 2]);
    assert!(matches!(answer(&one, &[]), Err(HandshakeError::TooShort(0))));
    assert!(matches!(answer(&one, &[0; 3183]), Err(HandshakeError::TooShort(3183))));
    assert!(matches!(
        answer(&one, &[0; MESSAGE_BYTES]),
        Err(HandshakeError::Forged | HandshakeError::UnfitKey)
    ));
    assert!(matches!(answer(&one, &[0; MESSAGE_BYTES + 1]), Err(HandshakeError::TooLong(_))));
    let (initiator, _) = start(&zero).unwrap();
    assert!(matches!(finish(initiator, &[0; 100]), Err(HandshakeError::TooShort(100))));
}

#[test]
fn framing_is_bounded() {
    assert!(matches!(take_message(&mut BytesMut::new()), Ok(None)));
    let mut buffer = BytesMut::from([0, 3, 1, 2].as_slice());
    assert!(matches!(take_message(&mut buffer), Ok(None)));
    buffer.extend_from_slice(&[3, 4]);
    assert_eq!(take_message(&mut buffer).unwrap().unwrap(), [1, 2, 3].as_slice());
    assert_eq!(buffer, [4].as_slice());
    let mut buffer = BytesMut::from([0xff, 0xff].as_slice());
    assert_eq!(take_message(&mut buffer), Err(HandshakeError::TooLong(0xffff)));
}

/// Message 1: the ciphertext for the static key, the X25519 and the ML-KEM key, the payload.
const FIRST_PARTS: [(usize, usize); 4] = [(0, 1568), (1568, 1600), (1600, 3168), (3168, 3198)];
/// Message 2: the ciphertexts for both keys, the X25519 and the ML-KEM key, the payload.
const SECOND_PARTS: [(usize, usize); 5] = [(0, 1568), (1568, 3152), (3152, 3184), (3184, 4752), (4752, 4778)];

fn place(parts: &'static [(usize, usize)]) -> impl Strategy<Value = usize> {
    prop::sample::select(parts).prop_flat_map(|(from, to)| from..to)
}

fn is_refusal(error: HandshakeError) -> bool {
    matches!(error, HandshakeError::Forged | HandshakeError::UnfitKey)
}

#[test]
fn a_stripped_capability_breaks_the_handshake() {
    let [zero, one] = ends(Side::Zero, [true; 2]);
    for bit in 0..64 {
        let (initiator, mut first) = start(&zero).unwrap();
        let (_, mut second) = answer(&one, &first).unwrap();
        // Before the capabilities come the count and the version, or the version and the suite.
        first[3168 + 2 + bit / 8] ^= 1 << (bit % 8);
        second[4752 + 2 + bit / 8] ^= 1 << (bit % 8);
        assert!(matches!(answer(&one, &first), Err(HandshakeError::Forged)));
        assert!(matches!(finish(initiator, &second), Err(HandshakeError::Forged)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_changed_first_message_is_refused(at in place(&FIRST_PARTS), bit in 0..8_u8) {
        let [zero, one] = ends(Side::Zero, [true; 2]);
        let (_, mut first) = start(&zero).unwrap();
        first[at] ^= 1 << bit;
        prop_assert!(answer(&one, &first).is_err_and(is_refusal));
    }

    #[test]
    fn a_changed_second_message_is_refused(at in place(&SECOND_PARTS), bit in 0..8_u8) {
        let [zero, one] = ends(Side::Zero, [true; 2]);
        let (initiator, first) = start(&zero).unwrap();
        let (_, mut second) = answer(&one, &first).unwrap();
        second[at] ^= 1 << bit;
        prop_assert!(finish(initiator, &second).is_err_and(is_refusal));
    }

    #[test]
    fn a_cut_or_longer_message_is_refused(length in 0..5000_usize) {
        let [zero, one] = ends(Side::Zero, [true; 2]);
        let (initiator, first) = start(&zero).unwrap();
        let (_, second) = answer(&one, &first).unwrap();
        for message in [first, second.clone()] {
            prop_assume!(message.len() != length);
            let mut changed = message;
            changed.resize(length, 0);
            prop_assert!(answer(&one, &changed).is_err());
        }
        let mut changed = second;
        changed.resize(length, 0);
        prop_assert!(finish(initiator, &changed).is_err());
    }

    #[test]
    fn random_messages_are_refused(message in prop::collection::vec(any::<u8>(), 0..9000)) {
        let [zero, one] = ends(Side::Zero, [true; 2]);
        prop_assert!(answer(&one, &message).is_err());
        let (initiator, _) = start(&zero).unwrap();
        prop_assert!(finish(initiator, &message).is_err());
    }
}
