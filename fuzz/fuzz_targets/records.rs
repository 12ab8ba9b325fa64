//! Whatever bytes a lane receives, only the records that were sent come out, in order, from the first on.
//!
//! The input is: how many good records precede the rest, a place in them and what to change there, and the rest.

#![no_main]

use std::sync::LazyLock;
use std::time::Instant;

use bytes::BytesMut;
use farhold_fuzz::contacts::{establish, lane};
use farhold_secure::handshake::Established;
use farhold_secure::record::Record;
use libfuzzer_sys::fuzz_target;

static ENDS: LazyLock<[Established; 2]> = LazyLock::new(|| establish(true));

fuzz_target!(|input: (u8, u16, u8, &[u8])| {
    let (count, place, change, rest) = input;
    let [(mut sealer, _), (_, mut opener)] = lane(&ENDS, 0);
    let mut wire = BytesMut::new();
    for number in 0..count % 8 {
        sealer.data(Instant::now(), [number; 50].as_slice(), &mut wire).expect("a good payload");
    }
    if !wire.is_empty() {
        let place = usize::from(place) % wire.len();
        wire[place] ^= change;
    }
    wire.extend_from_slice(rest);

    let mut expected = 0..count % 8;
    loop {
        assert!(opener.needed(&wire) <= (1 << 20) + 21);
        match opener.open(&mut wire) {
            Ok(Some(Record::Data(payload))) => assert_eq!(Some(payload[0]), expected.next()),
            Ok(Some(record)) => panic!("{record:?} was not sent"),
            Ok(None) | Err(_) => break,
        }
    }
    assert!(opener.finish(&wire).is_err());
});
