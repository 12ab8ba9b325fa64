//! `tests/vectors.txt`: what every format looked like when it was fixed. A change here is a change of protocol.
//!
//! With `FARHOLD_WRITE_VECTORS=1` the test writes the file instead of comparing it.

use std::fmt::Write as _;
use std::num::NonZeroU8;
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use sha2::{Digest, Sha512};

use crate::handshake::{Confirmation, Initiator, respond, take_message};
use crate::opening::{CallerId, LegKind, Opening};
use crate::random::testing::seeded;
use crate::rendezvous::{Hour, Stamp};
use crate::side::Side;
use crate::suite::Suite;
use crate::testing::{HOUR, LaneEnd, ends, hex, identity, pairing, public, saved, session};
use crate::words::word;

const SIDES: [Side; 2] = [Side::Zero, Side::One];

struct Vectors(String);

impl Vectors {
    fn line(&mut self, name: &str, bytes: &[u8]) {
        writeln!(self.0, "{name} = {}", hex(bytes)).unwrap();
    }

    /// Of what is long, only its hash.
    fn hashed(&mut self, name: &str, bytes: &[u8]) {
        writeln!(self.0, "SHA-512({name}) = {}", hex(&Sha512::digest(bytes))).unwrap();
    }
}

#[test]
fn formats_are_as_they_were() {
    let mut vectors = Vectors(String::new());
    seeded(3, || {
        identities(&mut vectors);
        rendezvous(&mut vectors);
        handshakes(&mut vectors);
        records(&mut vectors);
        lanes(&mut vectors);
        words(&mut vectors);
        quic(&mut vectors);
    });
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors.txt");
    if std::env::var_os("FARHOLD_WRITE_VECTORS").is_some() {
        std::fs::write(&path, &vectors.0).unwrap();
    }
    let fixed = std::fs::read_to_string(&path).unwrap();
    for (now, then) in vectors.0.lines().zip(fixed.lines()) {
        assert_eq!(now, then);
    }
    assert_eq!(vectors.0.len(), fixed.len());
}

fn identities(vectors: &mut Vectors) {
    for side in SIDES {
        let number = side.number();
        vectors.line(&format!("seeds {number}"), &*identity(side).to_seeds());
        vectors.hashed(&format!("public keys {number}"), &public(side).to_bytes());
        writeln!(vectors.0, "code {number} = {}", identity(side).code()).unwrap();
    }
}

fn rendezvous(vectors: &mut Vectors) {
    for (name, make) in [("saved", saved as fn(Side) -> _), ("pairing", pairing)] {
        for side in SIDES {
            let of = make(side);
            vectors.line(&format!("{name} post token {}", side.number()), &of.post_token(HOUR).0);
            let opening = Opening::new(&of, LegKind::Bridged, Hour(HOUR.0 + 1)).unwrap();
            vectors.line(&format!("{name} bridged opening {}", side.number()), opening.as_bytes());
            let stamp = Stamp { unix_milliseconds: 1_787_443_200_123, counter: 45 };
            let post = of.seal(&of.post_token(HOUR), stamp, b"post").unwrap();
            vectors.line(&format!("{name} post {}", side.number()), &post);
        }
        let bridge = make(Side::Zero).bridge_token(&[1; 16], &[2; 16], 3);
        vectors.line(&format!("{name} bridge token"), &bridge.0);
        let punch = make(Side::Zero).punch_key(&[1; 16], &[2; 16]);
        vectors.line(&format!("{name} punch id"), punch.id());
        vectors.line(&format!("{name} punch"), &punch.mac(Side::One, true));
    }
}

fn handshakes(vectors: &mut Vectors) {
    for (suite, hardware_aes) in Suite::ALL.into_iter().zip([true, false]) {
        for kind in ["saved", "pairing"] {
            let now = Instant::now();
            let [mut one, mut zero] = ends(Side::One, [hardware_aes; 2]);
            if kind == "pairing" {
                (one.rendezvous, zero.rendezvous) = (pairing(Side::One), pairing(Side::Zero));
            }
            let mut wire = BytesMut::new();
            let name = format!("{kind} {suite:?}");
            let initiator = Initiator::start(&one.leg(), one.abilities, &mut wire).unwrap();
            vectors.hashed(&format!("{name} message 1"), &wire);
            let message = take_message(&mut wire).unwrap().unwrap();
            let unconfirmed = respond(&zero.leg(), zero.abilities, &message, now, &mut wire).unwrap();
            vectors.hashed(&format!("{name} message 2"), &wire);
            let message = take_message(&mut wire).unwrap().unwrap();
            let mine = initiator.finish(&message, now, &mut wire).unwrap();
            vectors.line(&format!("{name} first record"), &wire);
            let Ok(Confirmation::Established(mut theirs)) = unconfirmed.confirm(&mut wire) else {
                panic!("the first record verifies")
            };
            theirs.sealer.data(now, b"hello".as_slice(), &mut wire).unwrap();
            vectors.line(&format!("{name} record of the responder"), &wire);
            if let Some(keys) = mine.pairing {
                vectors.line(&format!("{name} handshake hash"), &keys.words.handshake_hash);
                vectors.line(&format!("{name} pair secret"), keys.secret.as_bytes());
                let (committed, commitment) = keys.words.commit().unwrap();
                vectors.line(&format!("{name} commitment"), &commitment);
                writeln!(vectors.0, "{name} words = {}", committed.reveal(&[4; 32]).0).unwrap();
            }
        }
    }
}

/// A stream of one direction: a key update by age, and one by an exchange.
fn records(vectors: &mut Vectors) {
    for suite in Suite::ALL {
        let start = Instant::now();
        let [LaneEnd { mut sealer, session, .. }, _] = session(suite);
        let mut step = |name: &str, write: &mut dyn FnMut(&mut BytesMut)| {
            let mut wire = BytesMut::new();
            write(&mut wire);
            vectors.line(&format!("{suite:?} {name}"), &wire);
        };
        step("ping", &mut |wire| sealer.ping(start, wire).unwrap());
        step("data", &mut |wire| sealer.data(start, b"data".as_slice(), wire).unwrap());
        let later = start + Duration::from_secs(60);
        step("data after an update", &mut |wire| sealer.data(later, b"data".as_slice(), wire).unwrap());
        session.learn(1, crate::kdf::Key::extract(b"exchange", b"secret"));
        session.release(1);
        step("ping after an exchange", &mut |wire| sealer.ping(later, wire).unwrap());
        step("close", &mut |wire| sealer.close(later, wire).unwrap());
    }
}

fn lanes(vectors: &mut Vectors) {
    for suite in Suite::ALL {
        let [zero, one] = session(suite);
        let class = NonZeroU8::new(2).unwrap();
        for (number, end, mine, theirs) in [(0, zero, [1; 32], [2; 32]), (1, one, [2; 32], [1; 32])] {
            let mut wire = BytesMut::new();
            let lane = end.session.lane(5, class, &mine, &theirs);
            lane.dial(Instant::now(), &mut wire).unwrap();
            vectors.line(&format!("{suite:?} lane dialled by side {number}"), &wire);
        }
    }
}

fn words(vectors: &mut Vectors) {
    for number in [0, 1, 511, 1023] {
        writeln!(vectors.0, "word {number} = {}", word(number)).unwrap();
    }
}

/// Last, since what came before was fixed before it.
fn quic(vectors: &mut Vectors) {
    for side in SIDES {
        let id = CallerId::new(&saved(side), HOUR).unwrap();
        vectors.line(&format!("caller id {}", side.number()), id.as_bytes());
    }
    let [mut one, _] = ends(Side::One, [true; 2]);
    (one.kind, one.binding) = (LegKind::Quic, Some([6; 32]));
    let mut wire = BytesMut::new();
    Initiator::start(&one.leg(), one.abilities, &mut wire).unwrap();
    vectors.hashed("bound message 1", &wire);
}
