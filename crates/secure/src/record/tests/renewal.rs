//! Renewing keys, by traffic and by exchanges.

use std::time::Duration;

use super::*;
use crate::kdf::Key;

const MIB: u64 = 1 << 20;

/// The standard limits with MiB for GiB and thousandths of the records.
fn scaled() -> Limits {
    Limits { bytes: MIB, records: 1 << 10, hard_bytes: 2 * MIB, hard_records: 1 << 11, ..Limits::STANDARD }
}

fn ends() -> [LaneEnd; 2] {
    session(Suite::Aes256Gcm).map(|mut end| {
        end.sealer.set_limits(scaled());
        end.opener.set_limits(scaled());
        end
    })
}

/// How many key updates a data record of `size` bytes brought before it.
fn updates(from: &mut LaneEnd, to: &mut LaneEnd, size: usize, now: Instant) -> usize {
    let mut wire = BytesMut::new();
    from.sealer.data(now, vec![3; size].as_slice(), &mut wire).unwrap();
    let count = (wire.len() - OVERHEAD_BYTES - size) / (OVERHEAD_BYTES + 4);
    assert_eq!(open_all(&mut to.opener, &wire).unwrap(), [data(&vec![3; size])]);
    count
}

#[test]
fn three_units_of_traffic_renew_the_key_three_times_or_more() {
    let [mut zero, mut one] = ends();
    let now = Instant::now();
    let mut count = 0;
    let mut sent = 0;
    while sent <= 3 * MIB + MIB / 2 {
        count += updates(&mut zero, &mut one, 4096, now);
        sent += 4096;
    }
    assert_eq!(count, 3);
    assert_eq!(updates(&mut one, &mut zero, 4096, now), 0, "the other direction has its own chain");
}

#[test]
fn many_small_records_renew_the_key() {
    let [mut zero, mut one] = ends();
    let now = Instant::now();
    let count: usize = (0..3 * (1 << 10) + 1).map(|_| updates(&mut zero, &mut one, 1, now)).sum();
    assert_eq!(count, 3);
}

#[test]
fn a_key_in_use_is_renewed_after_a_minute() {
    let [mut zero, mut one] = ends();
    let start = Instant::now();
    let mut at = |seconds| updates(&mut zero, &mut one, 10, start + Duration::from_secs(seconds));
    assert_eq!(at(600), 0, "an unused key does not age");
    assert_eq!(at(659), 0);
    assert_eq!(at(660), 1);
    assert_eq!(at(719), 0);
    assert_eq!(at(720), 1);
}

#[test]
fn a_sender_that_never_renews_is_refused() {
    for (size, limit) in [(4096, 2 * MIB / (4096 + 17)), (1, 1 << 11)] {
        let [mut zero, mut one] = ends();
        zero.sealer.set_limits(Limits::STANDARD);
        let now = Instant::now();
        for _ in 0..limit {
            assert_eq!(updates(&mut zero, &mut one, size, now), 0);
        }
        let mut wire = BytesMut::new();
        zero.sealer.data(now, vec![3; size].as_slice(), &mut wire).unwrap();
        assert_eq!(one.opener.open(&mut wire), Err(RecordError::Overused));
    }
}

#[test]
fn an_old_key_opens_nothing_new() {
    let [mut zero, mut one] = ends();
    let start = Instant::now();
    updates(&mut zero, &mut one, 10, start);
    let mut wire = BytesMut::new();
    zero.sealer.ping(start + Duration::from_secs(60), &mut wire).unwrap();
    // Without the key update the record behind it is under a key that the receiver does not have.
    let mut record = wire.split_off(OVERHEAD_BYTES + 4);
    assert_eq!(one.opener.open(&mut record), Err(RecordError::Forged));
}

fn learn(ends: &[LaneEnd; 2], exchange: u32) {
    for end in ends {
        end.session.learn(exchange, Key::extract(b"exchange", &exchange.to_be_bytes()));
    }
}

#[test]
fn an_exchange_is_mixed_in_by_each_direction_at_its_next_record() {
    let mut ends = ends();
    let now = Instant::now();
    learn(&ends, 1);
    ends[0].session.release(1);
    let [zero, one] = &mut ends;
    assert_eq!(updates(zero, one, 10, now), 1);
    assert_eq!(updates(zero, one, 10, now), 0);
    assert_eq!(updates(one, zero, 10, now), 0, "side one has not released it");
    one.session.release(1);
    assert_eq!(updates(one, zero, 10, now), 1);
}

#[test]
fn an_exchange_changes_the_key() {
    let now = Instant::now();
    let sealed = |secret: &[u8]| {
        let [mut zero, _] = session(Suite::Aes256Gcm);
        zero.session.learn(1, Key::extract(b"exchange", secret));
        zero.session.release(1);
        let mut wire = BytesMut::new();
        zero.sealer.ping(now, &mut wire).unwrap();
        wire.split_off(OVERHEAD_BYTES + 4)
    };
    assert_ne!(sealed(b"a"), sealed(b"b"));
}

#[test]
fn a_lane_that_missed_an_exchange_takes_the_next() {
    let mut ends = ends();
    let now = Instant::now();
    learn(&ends, 1);
    ends[0].session.release(1);
    learn(&ends, 2);
    let [zero, one] = &mut ends;
    assert_eq!(updates(zero, one, 10, now), 1, "renewed, with nothing mixed in");
    assert_eq!(updates(zero, one, 10, now), 0);
    zero.session.release(2);
    assert_eq!(updates(zero, one, 10, now), 1);
}

#[test]
fn an_exchange_is_mixed_in_once() {
    let mut ends = ends();
    learn(&ends, 1);
    let [zero, one] = &mut ends;
    let mut wire = BytesMut::new();
    zero.session.release(1);
    zero.sealer.ping(Instant::now(), &mut wire).unwrap();
    assert_eq!(open_all(&mut one.opener, &wire).unwrap(), [Record::Ping]);
    wire.clear();
    zero.sealer.append(KEY_UPDATE, 1_u32.to_be_bytes().as_slice(), &mut wire);
    assert_eq!(one.opener.open(&mut wire), Err(RecordError::UnknownExchange(1)));
}

#[test]
fn key_updates_do_not_follow_each_other() {
    let [mut zero, mut one] = ends();
    let mut wire = BytesMut::new();
    for _ in 0..3 {
        zero.sealer.update(0, &mut wire);
        zero.sealer.ping(Instant::now(), &mut wire).unwrap();
    }
    assert_eq!(open_all(&mut one.opener, &wire).unwrap(), [Record::Ping, Record::Ping, Record::Ping]);
    wire.clear();
    zero.sealer.update(0, &mut wire);
    zero.sealer.update(0, &mut wire);
    assert_eq!(one.opener.open(&mut wire), Err(RecordError::RepeatedUpdate));
}
