use std::collections::HashSet;
use std::time::Instant;

use bytes::{Buf, BytesMut};
use proptest::prelude::*;

use super::*;
use crate::suite::Suite;
use crate::testing::{LaneEnd, open_all, session};

mod renewal;

/// A stream with all that a stream can have, as written by side zero: records and their starts.
fn stream(zero: &mut LaneEnd, now: Instant) -> (BytesMut, Vec<usize>) {
    let mut wire = BytesMut::new();
    let mut starts = Vec::new();
    for step in 0..6 {
        starts.push(wire.len());
        match step {
            0 | 3 => zero.sealer.ping(now, &mut wire).unwrap(),
            5 => zero.sealer.close(now, &mut wire).unwrap(),
            size => zero.sealer.data(now, vec![b'x'; size * 10].as_slice(), &mut wire).unwrap(),
        }
    }
    starts.push(wire.len());
    (wire, starts)
}

/// What side one makes of `bytes`, and whether it then takes the end of the connection for the end of the stream.
fn received(one: &mut LaneEnd, bytes: &[u8]) -> Result<Vec<Record>, RecordError> {
    let records = open_all(&mut one.opener, bytes)?;
    one.opener.finish(&[])?;
    Ok(records)
}

fn data(bytes: &[u8]) -> Record {
    Record::Data(Bytes::copy_from_slice(bytes))
}

#[test]
fn what_is_sealed_is_opened() {
    for suite in Suite::ALL {
        let [mut zero, mut one] = session(suite);
        let (wire, _) = stream(&mut zero, Instant::now());
        let expected = [
            Record::Ping,
            data(&[b'x'; 10]),
            data(&[b'x'; 20]),
            Record::Ping,
            data(&[b'x'; 40]),
            Record::Close,
        ];
        assert_eq!(received(&mut one, &wire).unwrap(), expected);
    }
}

#[test]
fn bytes_may_come_one_by_one() {
    let [mut zero, mut one] = session(Suite::Aes256Gcm);
    let (wire, _) = stream(&mut zero, Instant::now());
    let mut buffer = BytesMut::new();
    let mut records = 0;
    for byte in wire {
        assert!(one.opener.needed(&buffer) >= 1);
        buffer.extend_from_slice(&[byte]);
        records += usize::from(one.opener.open(&mut buffer).unwrap().is_some());
    }
    assert_eq!(records, 6);
    assert_eq!(one.opener.finish(&buffer), Ok(()));
}

#[test]
fn payload_is_decrypted_where_it_was_received() {
    let [mut zero, mut one] = session(Suite::Aes256Gcm);
    let mut wire = BytesMut::new();
    zero.sealer.data(Instant::now(), [1; 1000].as_slice(), &mut wire).unwrap();
    let place = wire[HEADER_BYTES + 1..].as_ptr();
    let Ok(Some(Record::Data(payload))) = one.opener.open(&mut wire) else { panic!("a data record") };
    assert_eq!(payload.as_ptr(), place);
}

#[test]
fn two_pieces_make_one_record() {
    let [mut zero, mut one] = session(Suite::Aes256Gcm);
    let mut wire = BytesMut::new();
    zero.sealer.data(Instant::now(), b"head".chain(b"body".as_slice()), &mut wire).unwrap();
    assert_eq!(wire.len(), OVERHEAD_BYTES + 8);
    assert_eq!(open_all(&mut one.opener, &wire).unwrap(), [data(b"headbody")]);
}

#[test]
fn payloads_have_bounds() {
    let [mut zero, mut one] = session(Suite::Aes256Gcm);
    let (now, mut wire) = (Instant::now(), BytesMut::new());
    assert_eq!(zero.sealer.data(now, [].as_slice(), &mut wire), Err(RecordError::Empty));
    let large = vec![1; PAYLOAD_BYTES + 1];
    assert_eq!(
        zero.sealer.data(now, large.as_slice(), &mut wire),
        Err(RecordError::PayloadTooLarge(PAYLOAD_BYTES + 1))
    );
    assert!(wire.is_empty());
    zero.sealer.ping(now, &mut wire).unwrap();
    zero.sealer.data(now, &large[1..], &mut wire).unwrap();
    assert_eq!(open_all(&mut one.opener, &wire).unwrap(), [Record::Ping, data(&large[1..])]);
}

#[test]
fn a_length_is_refused_before_anything_is_kept_for_it() {
    for (length, authenticated, expected) in [
        (u32::MAX, false, Err(RecordError::TooLong(u32::MAX))),
        (u32::MAX, true, Err(RecordError::TooLong(u32::MAX))),
        ((8 << 10) + 1, false, Err(RecordError::TooLong((8 << 10) + 1))),
        (8 << 10, false, Ok(None)),
        ((1 << 20) + 18, true, Err(RecordError::TooLong((1 << 20) + 18))),
        ((1 << 20) + 17, true, Ok(None)),
        (16, true, Err(RecordError::TooShort(16))),
        (0, false, Err(RecordError::TooShort(0))),
    ] {
        let [mut zero, mut one] = session(Suite::Aes256Gcm);
        let mut buffer = BytesMut::new();
        if authenticated {
            zero.sealer.ping(Instant::now(), &mut buffer).unwrap();
            assert_eq!(one.opener.open(&mut buffer), Ok(Some(Record::Ping)));
        }
        buffer = BytesMut::from(length.to_be_bytes().as_slice());
        assert!(one.opener.needed(&buffer) <= CIPHERTEXT_BYTES);
        let capacity = buffer.capacity();
        assert_eq!(one.opener.open(&mut buffer), expected, "length {length}");
        assert_eq!(buffer.capacity(), capacity);
    }
}

#[test]
fn a_stream_ends_with_a_close_only() {
    let now = Instant::now();
    let [mut zero, mut one] = session(Suite::Aes256Gcm);
    assert_eq!(one.opener.finish(&[]), Err(RecordError::Cut));
    let mut wire = BytesMut::new();
    zero.sealer.data(now, b"x".as_slice(), &mut wire).unwrap();
    assert_eq!(received(&mut one, &wire), Err(RecordError::Cut));
    wire.clear();
    zero.sealer.close(now, &mut wire).unwrap();
    assert_eq!(received(&mut one, &wire), Ok(vec![Record::Close]));

    assert_eq!(zero.sealer.data(now, b"x".as_slice(), &mut wire), Err(RecordError::Closed));
    assert_eq!(zero.sealer.close(now, &mut wire), Err(RecordError::Closed));
    assert_eq!(one.opener.finish(b"more"), Err(RecordError::Closed));
    assert_eq!(one.opener.open(&mut BytesMut::from(b"more".as_slice())), Err(RecordError::Closed));
}

#[test]
fn after_an_error_nothing_is_opened() {
    let [mut zero, mut one] = session(Suite::Aes256Gcm);
    let (wire, _) = stream(&mut zero, Instant::now());
    let mut forged = wire.clone();
    forged[HEADER_BYTES] ^= 1;
    assert_eq!(one.opener.open(&mut forged), Err(RecordError::Forged));
    assert_eq!(one.opener.open(&mut wire.clone()), Err(RecordError::Failed));
    assert_eq!(one.opener.finish(&[]), Err(RecordError::Failed));
}

#[test]
fn authentic_nonsense_is_refused() {
    for (kind, payload, expected) in [
        (9, b"".as_slice(), RecordError::UnknownType(9)),
        (DATA, b"", RecordError::Malformed),
        (PING, b"x", RecordError::Malformed),
        (CLOSE, b"x", RecordError::Malformed),
        (KEY_UPDATE, b"", RecordError::Malformed),
        (KEY_UPDATE, b"12345", RecordError::Malformed),
        (KEY_UPDATE, &[0, 0, 0, 1], RecordError::UnknownExchange(1)),
    ] {
        let [mut zero, mut one] = session(Suite::Aes256Gcm);
        let mut wire = BytesMut::new();
        zero.sealer.append(kind, payload, &mut wire);
        assert_eq!(one.opener.open(&mut wire), Err(expected));
    }
}

/// The same plaintext under the same key and counter would give the same bytes.
#[test]
fn no_two_records_are_alike() {
    let now = Instant::now();
    for suite in Suite::ALL {
        let mut seen = HashSet::new();
        for mut end in session(suite) {
            end.sealer.set_limits(Limits { records: 10, ..Limits::STANDARD });
            for _ in 0..100 {
                let mut wire = BytesMut::new();
                end.sealer.data(now, [0; 64].as_slice(), &mut wire).unwrap();
                while !wire.is_empty() {
                    let length = usize::try_from(u32::from_be_bytes(*wire.first_chunk().unwrap())).unwrap();
                    assert!(seen.insert(wire.split_to(HEADER_BYTES + length)));
                }
            }
        }
        assert!(seen.len() > 200);
    }
}

fn suites() -> impl Strategy<Value = Suite> {
    prop::sample::select(Suite::ALL.as_slice())
}

/// Anything but the stream itself is an error, and what was opened before the error is a part of its beginning.
fn assert_refused(suite: Suite, bytes: &[u8], good: &[u8]) -> Result<(), TestCaseError> {
    prop_assume!(bytes != good);
    let [mut zero, mut one] = session(suite);
    let (wire, _) = stream(&mut zero, Instant::now());
    prop_assert_eq!(&wire[..], good);
    let genuine = open_all(&mut session(suite)[1].opener, good)
        .map_err(|error| TestCaseError::fail(error.to_string()))?;
    let mut buffer = BytesMut::from(bytes);
    let mut opened = Vec::new();
    let end = loop {
        match one.opener.open(&mut buffer) {
            Ok(Some(record)) => opened.push(record),
            Ok(None) => break one.opener.finish(&buffer),
            Err(error) => break Err(error),
        }
    };
    prop_assert!(end.is_err());
    prop_assert!(genuine.starts_with(&opened));
    Ok(())
}

proptest! {
    #[test]
    fn a_flipped_bit_is_an_error(suite in suites(), at in any::<prop::sample::Index>(), bit in 0..8_u8) {
        let (good, _) = stream(&mut session(suite)[0], Instant::now());
        let mut bytes = good.clone();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        assert_refused(suite, &bytes, &good)?;
    }

    #[test]
    fn dropped_or_repeated_bytes_are_an_error(
        suite in suites(),
        from in any::<prop::sample::Index>(),
        count in 1..100_usize,
        repeat in any::<bool>(),
    ) {
        let (good, _) = stream(&mut session(suite)[0], Instant::now());
        let from = from.index(good.len());
        let to = (from + count).min(good.len());
        let bytes = if repeat {
            [&good[..to], &good[from..]].concat()
        } else {
            [&good[..from], &good[to..]].concat()
        };
        assert_refused(suite, &bytes, &good)?;
    }

    #[test]
    fn dropped_repeated_or_moved_records_are_an_error(
        suite in suites(),
        order in prop::collection::vec(0..6_usize, 0..8),
    ) {
        let (good, starts) = stream(&mut session(suite)[0], Instant::now());
        let bytes: Vec<u8> =
            order.iter().flat_map(|&record| good[starts[record]..starts[record + 1]].to_vec()).collect();
        assert_refused(suite, &bytes, &good)?;
    }

    #[test]
    fn reflected_records_are_an_error(suite in suites(), first in 0..6_usize) {
        let [mut zero, _] = session(suite);
        let (good, starts) = stream(&mut zero, Instant::now());
        let result = open_all(&mut zero.opener, &good[starts[first]..]);
        prop_assert!(matches!(result, Err(RecordError::Forged)));
    }

    #[test]
    fn random_bytes_are_an_error(suite in suites(), bytes in prop::collection::vec(any::<u8>(), 0..20_000)) {
        let [_, mut one] = session(suite);
        prop_assert!(received(&mut one, &bytes).is_err());
    }

    #[test]
    fn payloads_come_back_however_they_were_cut(
        suite in suites(),
        sizes in prop::collection::vec(1..5000_usize, 1..20),
        chunk in 1..3000_usize,
    ) {
        let [mut zero, mut one] = session(suite);
        let mut wire = BytesMut::new();
        let mut sent = Vec::new();
        for (number, size) in sizes.into_iter().enumerate() {
            let payload = vec![u8::try_from(number).unwrap(); size];
            zero.sealer.data(Instant::now(), payload.as_slice(), &mut wire).unwrap();
            sent.extend(payload);
        }
        let (mut buffer, mut read) = (BytesMut::new(), Vec::new());
        for piece in wire.chunks(chunk) {
            buffer.extend_from_slice(piece);
            while let Some(Record::Data(payload)) = one.opener.open(&mut buffer).unwrap() {
                read.extend(payload);
            }
        }
        prop_assert_eq!(read, sent);
    }
}
