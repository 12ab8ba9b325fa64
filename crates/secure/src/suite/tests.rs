use super::*;
use crate::testing::{hex, unhex};

/// McGrew and Viega, "The Galois/Counter Mode of Operation", test cases 13 and 14.
#[test]
fn aes_256_gcm_is_that_of_the_standard() {
    let aead = Aead::new(Suite::Aes256Gcm, &[0; 32]);
    assert_eq!(hex(&aead.seal(0, &[], &mut [])), "530f8afbc74536b9a963b4f1c4cb738b");
    let mut block = [0; 16];
    assert_eq!(hex(&aead.seal(0, &[], &mut block)), "d0d1c8a799996bf0265b98b5d48ab919");
    assert_eq!(hex(&block), "cea7403d4d606b6e074ec5d3baf39d18");
}

/// RFC 8439, A.5.
#[test]
fn chacha20_poly1305_is_that_of_the_rfc() {
    let key = unhex("1c9240a5eb55d38af333888604f6b5f0473917c1402b80099dca5cbc207075c0");
    let aad = unhex("f33388860000000000004e91");
    let tag = unhex("eead9d67890cbb22392336fea1851f38");
    let mut message = unhex(
        "64a0861575861af460f062c79be643bd5e805cfd345cf389f108670ac76c8cb24c6cfc18755d43eea09ee94e382d26b0
         bdb7b73c321b0100d4f03b7f355894cf332f830e710b97ce98c8a84abd0b948114ad176e008d33bd60f982b1ff37c855
         9797a06ef4f0ef61c186324e2b3506383606907b6a7c02b0f9f6157b53c867e4b9166c767b804d46a59b5216cde7a4e9
         9040c5a40433225ee282a1b0a06c523eaf4534d7f83fa1155b0047718cbc546a0d072b04b3564eea1b422273f548271a
         0bb2316053fa76991955ebd63159434ecebb4e466dae5a1073a6727627097a1049e617d91d361094fa68f0ff77987130
         305beaba2eda04df997b714d6c6f2c29a6ad5cb4022b02709b",
    );
    let aead = Aead::new(Suite::ChaCha20Poly1305, &key.try_into().unwrap());
    let counter = 0x0102_0304_0506_0708;
    let sealed = message.clone();
    assert_eq!(aead.open(counter, &aad, &mut message, &tag.clone().try_into().unwrap()), Ok(()));
    assert!(message.starts_with(b"Internet-Drafts are draft documents valid for a maximum of six months"));
    assert_eq!(aead.seal(counter, &aad, &mut message).to_vec(), tag);
    assert_eq!(message, sealed);
}

#[test]
fn forged_messages_stay_as_they_are() {
    for suite in Suite::ALL {
        let aead = Aead::new(suite, &[1; 32]);
        let mut message = *b"secret";
        let tag = aead.seal(5, b"aad", &mut message);
        let sealed = message;
        for (counter, aad) in [(4, b"aad".as_slice()), (5, b"aax"), (5, b"")] {
            assert_eq!(aead.open(counter, aad, &mut message, &tag), Err(Forged));
            assert_eq!(message, sealed, "not decrypted before it verified");
        }
        assert_eq!(aead.open(5, b"aad", &mut message, &tag), Ok(()));
        assert_eq!(&message, b"secret");
    }
}

#[test]
fn numbers_name_suites() {
    for suite in Suite::ALL {
        assert_eq!(Suite::from_number(suite.number()), Some(suite));
    }
    assert_eq!(Suite::from_number(0), None);
}
