use proptest::prelude::*;

use super::*;

fn address() -> impl Strategy<Value = SocketAddr> {
    let ip = prop_oneof![
        any::<[u8; 4]>().prop_map(IpAddr::from),
        any::<[u8; 16]>().prop_map(|octets| Ipv6Addr::from(octets).to_canonical()),
    ];
    (ip, any::<u16>()).prop_map(SocketAddr::from)
}

fn side() -> impl Strategy<Value = BridgeSide> {
    any::<bool>().prop_map(|one| if one { BridgeSide::One } else { BridgeSide::Zero })
}

fn datagram() -> impl Strategy<Value = Datagram> {
    prop_oneof![
        any::<[u8; 8]>().prop_map(|nonce| Datagram::Where { nonce }),
        (any::<[u8; 8]>(), address()).prop_map(|(nonce, address)| Datagram::Here { nonce, address }),
        (any::<[u8; 32]>(), side(), any::<[u8; 8]>(), any::<[u8; 8]>())
            .prop_map(|(token, side, nonce, cookie)| Datagram::Join(Join { token, side, nonce, cookie })),
        (any::<[u8; 8]>(), any::<[u8; 8]>(), any::<bool>(), address()).prop_map(
            |(nonce, cookie, both, address)| Datagram::Joined(Joined { nonce, cookie, both, address })
        ),
        (any::<[u8; 8]>(), proptest::sample::select(&Refusal::ALL[..]))
            .prop_map(|(nonce, reason)| Datagram::Refused { nonce, reason }),
        (any::<[u8; 16]>(), any::<[u8; 16]>(), any::<bool>())
            .prop_map(|(id, mac, answer)| Datagram::Punch(Punch { id, mac, answer })),
    ]
}

proptest! {
    #[test]
    fn every_datagram_is_read_as_it_was_written(datagram in datagram()) {
        let bytes = datagram.encode();
        prop_assert!(bytes.len() <= LONGEST && is_ours(&bytes));
        prop_assert!(bytes[0] & 0b1100_0000 == 0, "no QUIC packet begins like this");
        prop_assert_eq!(Datagram::decode(&bytes).unwrap(), datagram);
    }

    #[test]
    fn no_other_length_is_taken(datagram in datagram(), cut in 1..LONGEST, more in 1..10_usize) {
        let mut bytes = datagram.encode();
        let short = bytes.len().saturating_sub(cut);
        prop_assert!(Datagram::decode(&bytes[..short]).is_err());
        bytes.resize(bytes.len() + more, 0);
        prop_assert!(Datagram::decode(&bytes).is_err());
    }

    #[test]
    fn what_is_taken_has_one_encoding(kind in 0..8_u8, body in proptest::collection::vec(any::<u8>(), 0..100)) {
        let bytes = [&MAGIC[..], &[kind], &body].concat();
        if let Ok(datagram) = Datagram::decode(&bytes) {
            // An IPv4 address may also come as an IPv6 one; everything else has one form.
            prop_assert_eq!(Datagram::decode(&datagram.encode()).unwrap(), datagram);
        }
    }
}

#[test]
fn the_bytes_of_a_join_and_of_its_answer() {
    let join = Join { token: [7; 32], side: BridgeSide::One, nonce: [8; 8], cookie: [9; 8] };
    let expected = [&MAGIC[..], &[JOIN], &[7; 32], &[1], &[8; 8], &[9; 8], &[0; 26]].concat();
    assert_eq!(Datagram::Join(join).encode(), expected);

    let address = "192.0.2.1:258".parse().unwrap();
    let joined = Joined { nonce: [8; 8], cookie: [9; 8], both: true, address };
    let mapped = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1];
    let expected = [&MAGIC[..], &[JOINED], &[8; 8], &[9; 8], &[1], &mapped, &[1, 2]].concat();
    assert_eq!(Datagram::Joined(joined).encode(), expected);
}

#[test]
fn no_request_is_shorter_than_what_it_draws() {
    let address = "[2001:db8::1]:7481".parse().unwrap();
    let asked = Datagram::Where { nonce: [1; 8] }.encode().len();
    assert!(asked >= Datagram::Here { nonce: [1; 8], address }.encode().len());

    let side = BridgeSide::Zero;
    let join = Datagram::Join(Join { token: [1; 32], side, nonce: [1; 8], cookie: [0; 8] }).encode().len();
    let joined = Joined { nonce: [1; 8], cookie: [1; 8], both: true, address };
    assert!(join >= 2 * Datagram::Joined(joined).encode().len());
    assert!(join >= Datagram::Refused { nonce: [1; 8], reason: Refusal::Full }.encode().len());
}

#[test]
fn padding_and_unknown_values_are_refused() {
    let mut padded = Datagram::Where { nonce: [1; 8] }.encode();
    *padded.last_mut().unwrap() = 1;
    assert_eq!(Datagram::decode(&padded), Err(WireError::Malformed));
    let mut refused = Datagram::Refused { nonce: [1; 8], reason: Refusal::Ended }.encode();
    *refused.last_mut().unwrap() = 4;
    assert_eq!(Datagram::decode(&refused), Err(WireError::Unknown("refusal")));
    let mut punch = Datagram::Punch(Punch { id: [1; 16], mac: [2; 16], answer: true }).encode();
    *punch.last_mut().unwrap() = 2;
    assert_eq!(Datagram::decode(&punch), Err(WireError::Malformed));
    assert_eq!(
        Datagram::decode(&[MAGIC.as_slice(), &[9]].concat()),
        Err(WireError::Unknown("datagram kind"))
    );
}

#[test]
fn logs_show_neither_tokens_nor_cookies() {
    let join =
        Datagram::Join(Join { token: [77; 32], side: BridgeSide::One, nonce: [78; 8], cookie: [79; 8] });
    let shown = format!("{join:?}");
    assert!(shown.contains("One") && !shown.contains("77") && !shown.contains("78") && !shown.contains("79"));
}
