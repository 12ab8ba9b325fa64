use proptest::prelude::*;

use super::*;
use crate::text::TEXT_BYTES;

fn messages() -> Vec<Message> {
    vec![
        Message::Attempt(7),
        Message::Nominate(u64::MAX),
        Message::About { build: "0.1.0".into() },
        Message::LaneOffer {
            lane: 2,
            class: LaneClass::Bulk,
            nonce: [3; 32],
            bridge_leg: Some(9),
            tcp_beside: false,
        },
        Message::LaneOffer {
            lane: 3,
            class: LaneClass::Urgent,
            nonce: [3; 32],
            bridge_leg: None,
            tcp_beside: true,
        },
        Message::LaneAnswer { lane: 2, nonce: [4; 32] },
        Message::LaneRefusal { lane: 2, reason: "too many".into() },
        Message::ExchangeOffer(ExchangeOffer { exchange: 1, x25519: [1; 32], mlkem: Box::new([2; 1568]) }),
        Message::ExchangeAnswer(ExchangeAnswer { exchange: 1, x25519: [1; 32], mlkem: Box::new([2; 1568]) }),
        Message::ExchangeConfirm(1),
        Message::Goodbye(Goodbye::User),
        Message::Goodbye(Goodbye::Stopping),
        Message::Goodbye(Goodbye::Replaced),
        Message::Goodbye(Goodbye::Refused),
        Message::Pairing(PairingStep::Commitment([1; 32])),
        Message::Pairing(PairingStep::Contribution([2; 32])),
        Message::Pairing(PairingStep::Reveal([3; 32])),
        Message::Pairing(PairingStep::Stored),
        Message::Ping(1),
        Message::Pong(2),
    ]
}

#[test]
fn every_message_comes_back_however_it_is_cut() {
    let bytes: Vec<u8> = messages().into_iter().flat_map(Message::encode).collect();
    for piece in [1, 2, 3, 100, 5000] {
        let mut buffer = BytesMut::new();
        let mut decoded = Vec::new();
        for chunk in bytes.chunks(piece) {
            buffer.extend_from_slice(chunk);
            while let Some(message) = Message::decode(&mut buffer).unwrap() {
                decoded.push(message);
            }
        }
        assert_eq!(decoded, messages(), "in pieces of {piece}");
    }
}

#[test]
fn a_length_is_refused_before_its_bytes_come() {
    let too_long = [0x81, 0x80, 0x01];
    assert_eq!(
        Message::decode(&mut BytesMut::from(&too_long[..])),
        Err(WireError::TooLarge("control message"))
    );
    let endless = [0xff; 11];
    assert!(Message::decode(&mut BytesMut::from(&endless[..])).is_err());
}

#[test]
fn text_of_the_other_side_is_cut_and_cleaned() {
    let mut bytes = BytesMut::from(&Message::About { build: "a\u{1b}[2J".repeat(100) }.encode()[..]);
    let Some(Message::About { build }) = Message::decode(&mut bytes).unwrap() else {
        panic!("not the message")
    };
    assert!(build.len() <= TEXT_BYTES && !build.contains('\u{1b}'), "{build:?}");
}

proptest! {
    #[test]
    fn any_bytes_are_a_message_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut buffer = BytesMut::from(&bytes[..]);
        let mut before = buffer.len() + 1;
        while let Ok(Some(_)) = Message::decode(&mut buffer) {
            prop_assert!(buffer.len() < before);
            before = buffer.len();
        }
    }
}
