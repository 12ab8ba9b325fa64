use proptest::prelude::*;

use super::*;
use crate::text::TEXT_BYTES;

#[test]
fn posts_come_back() {
    let post = PresencePost {
        nonce: [1; 16],
        want: true,
        refuse: false,
        attempt: 7,
        candidates: vec!["192.0.2.1:5".parse().unwrap(), "[2001:db8::1]:65535".parse().unwrap()],
        reflexive: vec!["198.51.100.1:6".parse().unwrap()],
    };
    assert_eq!(PresencePost::decode(&post.encode()), Ok(post.clone()));
    let most = PresencePost {
        candidates: vec![post.candidates[1]; limits::CANDIDATES],
        reflexive: vec![post.candidates[1]; limits::REFLEXIVE],
        ..post.clone()
    };
    assert!(most.encode().len() <= farhold_secure::rendezvous::POST_BYTES);
    let reflexive = vec![post.candidates[0]; limits::REFLEXIVE + 1];
    let over = PresencePost { reflexive, ..post.clone() };
    assert_eq!(PresencePost::decode(&over.encode()), Err(WireError::TooLarge("reflexive addresses")));
    let over = PresencePost { candidates: vec![post.candidates[0]; limits::CANDIDATES + 1], ..post };
    assert_eq!(PresencePost::decode(&over.encode()), Err(WireError::TooLarge("candidates")));

    for holds in [None, Some([3; 16])] {
        let post = PairingPost { nonce: [1; 16], keys: vec![2; 1600].into(), holds };
        assert!(post.encode().len() <= farhold_secure::rendezvous::POST_BYTES);
        assert_eq!(PairingPost::decode(&post.encode()), Ok(post));
    }
}

#[test]
fn what_a_relay_says_is_cut_and_cleaned() {
    for code in [Code::PermissionDenied, Code::Internal] {
        let said = CallError::from(Status::new(code, "a\u{1b}[2J\n".repeat(100))).to_string();
        assert!(said.starts_with("a[2Ja[2J") && said.len() <= TEXT_BYTES, "{said:?}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_a_post_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = PresencePost::decode(&bytes);
        let _ = PairingPost::decode(&bytes);
    }
}
