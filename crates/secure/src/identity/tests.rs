use super::*;
use crate::random::testing::failing;
use crate::testing::{hex, stranger};

/// The points of order 1, 2, 4 and 8 of the curve and its twist, with their forms above the prime.
const LOW_ORDER: [&str; 7] = [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
];

#[test]
fn seeds_are_the_whole_identity() {
    let identity = stranger();
    let again = Identity::from_seeds(&identity.to_seeds());
    assert_eq!(identity.public(), again.public());
    assert_eq!(identity.code(), again.code());
    assert_ne!(Identity::generate().unwrap().code(), Identity::generate().unwrap().code());
}

/// RFC 7748, 5.2: the first iteration multiplies the base point by the scalar 9.
#[test]
fn x25519_is_that_of_the_rfc() {
    let mut seeds = [0; IDENTITY_BYTES];
    seeds[0] = 9;
    let expected = "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079";
    assert_eq!(hex(Identity::from_seeds(&seeds).public().x25519()), expected);
}

#[test]
fn public_keys_and_back() {
    let keys = stranger().public().clone();
    let read = PublicKeys::from_bytes(&keys.to_bytes()).unwrap();
    assert_eq!(read, keys);
    assert_eq!(read.code(), *stranger().code());
}

#[test]
fn wrong_lengths_are_refused() {
    let bytes = stranger().public().to_bytes();
    assert_eq!(PublicKeys::from_bytes(&[]), Err(PublicKeysError::Length));
    assert_eq!(PublicKeys::from_bytes(&bytes[1..]), Err(PublicKeysError::Length));
    assert_eq!(PublicKeys::from_bytes(&[bytes.as_slice(), &[0]].concat()), Err(PublicKeysError::Length));
}

#[test]
fn points_of_low_order_are_refused() {
    for point in LOW_ORDER {
        let mut bytes = stranger().public().to_bytes();
        bytes[..32].copy_from_slice(&crate::testing::unhex(point));
        assert_eq!(PublicKeys::from_bytes(&bytes), Err(PublicKeysError::LowOrder), "{point}");
    }
}

/// Coefficients are 12 bits and must be below 3329.
#[test]
fn coefficients_above_the_modulus_are_refused() {
    let good = stranger().public().to_bytes();
    for at in [32, 32 + 3 * 511, 32 + 1536 - 2] {
        let mut bytes = good.clone();
        bytes[at] = 0xff;
        bytes[at + 1] = 0xff;
        assert_eq!(PublicKeys::from_bytes(&bytes), Err(PublicKeysError::MlKem), "at {at}");
    }
}

#[test]
fn code_depends_on_both_keys() {
    let good = stranger().public().to_bytes();
    for at in [0, PUBLIC_KEYS_BYTES - 1] {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        assert_ne!(PublicKeys::from_bytes(&bytes).unwrap().code(), *stranger().code());
    }
}

#[test]
fn no_identity_without_random_numbers() {
    assert_eq!(failing(0, || Identity::generate().map(|_| ())), Err(RandomError));
}
