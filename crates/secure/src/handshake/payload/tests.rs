use proptest::prelude::*;

use super::*;

const ABLE: Abilities = Abilities { capabilities: 5, hardware_aes: true };

fn proposal() -> Proposal {
    Proposal::new(ABLE)
}

#[test]
fn payloads_and_back() {
    assert_eq!(Proposal::decode(&proposal().encode()), Ok(proposal()));
    let choice = Choice::new(ABLE, &proposal()).unwrap();
    assert_eq!(Choice::decode(&choice.encode()), Ok(choice));
    assert!(proposal().allows(&choice));
}

#[test]
fn what_later_versions_add_is_ignored() {
    let mut bytes = vec![3, 1, 2, 9];
    bytes.extend_from_slice(&u64::MAX.to_be_bytes());
    bytes.extend_from_slice(&[3, 77, 2, 1, 0, b'm', b'o', b'r', b'e']);
    let read = Proposal::decode(&bytes).unwrap();
    assert_eq!(read.suites, [Suite::ChaCha20Poly1305, Suite::Aes256Gcm]);
    assert_eq!(Choice::new(ABLE, &read).unwrap().suite, Suite::ChaCha20Poly1305);
}

#[test]
fn nothing_in_common_is_an_error() {
    let other = Proposal { versions: vec![2], ..proposal() };
    assert_eq!(Choice::new(ABLE, &other), Err(HandshakeError::NoCommonVersion));
    let other = Proposal { suites: vec![Suite::ChaCha20Poly1305], ..proposal() };
    assert_eq!(Choice::new(ABLE, &other), Err(HandshakeError::NoCommonSuite));
}

#[test]
fn a_choice_must_have_been_proposed() {
    let choice = Choice { version: 1, suite: Suite::Aes256Gcm, capabilities: 0 };
    assert!(!Proposal { suites: vec![Suite::ChaCha20Poly1305], ..proposal() }.allows(&choice));
    assert!(!proposal().allows(&Choice { version: 2, ..choice }));
    assert_eq!(Choice::decode(&[1, 9, 0, 0, 0, 0, 0, 0, 0, 0]), Err(HandshakeError::NotProposed));
}

#[test]
fn a_flag_is_zero_or_one() {
    let mut bytes = proposal().encode();
    *bytes.last_mut().unwrap() = 2;
    assert_eq!(Proposal::decode(&bytes), Err(HandshakeError::Malformed));
}

proptest! {
    #[test]
    fn cut_payloads_are_malformed(length in 0..14_usize) {
        let whole = proposal().encode();
        prop_assert_eq!(whole.len(), 14);
        prop_assert_eq!(Proposal::decode(&whole[..length]), Err(HandshakeError::Malformed));
        let whole = Choice::new(ABLE, &proposal()).unwrap().encode();
        prop_assert!(Choice::decode(&whole[..length.min(9)]).is_err());
    }

    #[test]
    fn random_payloads_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let _ = Choice::decode(&bytes);
        if let Ok(proposal) = Proposal::decode(&bytes) {
            prop_assert!(proposal.versions.len() <= 255 && proposal.suites.len() <= 255);
        }
    }
}
