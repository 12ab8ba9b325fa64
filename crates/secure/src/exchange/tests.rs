use super::*;
use crate::random::testing::failing;
use crate::suite::Suite;
use crate::testing::{open_all, session};
use bytes::BytesMut;

fn exchanges(now: Instant) -> [Exchange; 2] {
    session(Suite::Aes256Gcm).map(|end| Exchange::new(end.session, now))
}

/// An offer that was due.
fn offered(zero: &mut Exchange, now: Instant) -> ExchangeOffer {
    zero.poll(now + EXCHANGE_EVERY).unwrap().unwrap()
}

#[test]
fn both_sides_renew_their_keys_without_losing_a_record() {
    let start = Instant::now();
    let [mut zero, mut one] = session(Suite::Aes256Gcm);
    let [mut mine, mut theirs] = [&zero, &one].map(|end| Exchange::new(end.session.clone(), start));
    let mut ping = |both: bool| {
        let mut sizes = [0; 2];
        let (there, back) = (BytesMut::new(), BytesMut::new());
        for (at, (from, to, mut wire)) in
            [(&mut zero.sealer, &mut one.opener, there), (&mut one.sealer, &mut zero.opener, back)]
                .into_iter()
                .enumerate()
        {
            from.ping(start, &mut wire).unwrap();
            sizes[at] = wire.len();
            assert_eq!(open_all(to, &wire).unwrap().len(), 1);
        }
        assert_eq!(sizes[1] > 21, both);
        sizes[0] > 21
    };
    for number in 1..=3 {
        assert!(!ping(false));
        let now = start + EXCHANGE_EVERY * number;
        let offer = mine.poll(now).unwrap().unwrap();
        assert_eq!(offer.exchange, number);
        assert!(!ping(false));
        let answer = theirs.answer(&offer, now).unwrap();
        assert!(!ping(false), "side one knows it, and does not use it yet");
        let confirm = mine.answered(&answer, now).unwrap();
        assert!(ping(false), "side zero uses it");
        theirs.confirmed(confirm).unwrap();
        ping(true);
        assert_eq!([mine.session.epoch(), theirs.session.epoch()], [number; 2]);
    }
}

#[test]
fn side_zero_alone_begins_and_one_at_a_time() {
    let start = Instant::now();
    let [mut zero, mut one] = exchanges(start);
    assert_eq!(one.poll(start + 2 * EXCHANGE_EVERY), Ok(None));
    assert_eq!(zero.poll(start + EXCHANGE_EVERY - Duration::from_secs(1)), Ok(None));
    let offer = offered(&mut zero, start);
    assert_eq!(zero.poll(start + EXCHANGE_EVERY), Ok(None));
    let now = start + EXCHANGE_EVERY;
    let answer = one.answer(&offer, now).unwrap();
    zero.answered(&answer, now).unwrap();
    assert_eq!(zero.poll(now + EXCHANGE_EVERY - Duration::from_secs(1)), Ok(None));
    assert!(zero.poll(now + EXCHANGE_EVERY).unwrap().is_some());
}

#[test]
fn an_offer_waits_for_its_answer_for_a_minute() {
    let start = Instant::now();
    let [mut zero, _] = exchanges(start);
    offered(&mut zero, start);
    assert_eq!(zero.poll(start + EXCHANGE_EVERY + ANSWER_WITHIN), Err(ExchangeError::TimedOut));
}

#[test]
fn offers_come_a_minute_after_the_last_exchange_at_the_soonest() {
    let start = Instant::now();
    let [mut zero, mut one] = exchanges(start);
    let offer = offered(&mut zero, start);
    let second = Duration::from_secs(1);
    assert_eq!(one.answer(&offer, start + OFFERS_APART - second), Err(ExchangeError::TooSoon));
    let mut now = start + OFFERS_APART;
    let answer = one.answer(&offer, now).unwrap();
    one.confirmed(zero.answered(&answer, now).unwrap()).unwrap();
    let next = offered(&mut zero, now);
    assert_eq!(one.answer(&next, now + OFFERS_APART - second), Err(ExchangeError::TooSoon));
    now += OFFERS_APART;
    assert!(one.answer(&next, now).is_ok());
}

#[test]
fn messages_out_of_turn_are_refused() {
    let start = Instant::now();
    let [mut zero, mut one] = exchanges(start);
    let offer = offered(&mut zero, start);
    let now = start + EXCHANGE_EVERY;
    let out_of_turn = ExchangeError::OutOfTurn;
    assert_eq!(zero.answer(&offer, now), Err(out_of_turn), "an offer reflected");
    assert_eq!(one.answer(&ExchangeOffer { exchange: 2, ..offer.clone() }, now), Err(out_of_turn));
    assert_eq!(one.confirmed(1), Err(out_of_turn));
    assert_eq!(one.confirmed(0), Err(out_of_turn));
    let answer = one.answer(&offer, now).unwrap();
    assert_eq!(one.answer(&offer, now), Err(out_of_turn));
    assert_eq!(one.answered(&answer, start), Err(out_of_turn));
    assert_eq!(zero.answered(&ExchangeAnswer { exchange: 2, ..answer.clone() }, start), Err(out_of_turn));
    assert_eq!(zero.answered(&answer, start), Ok(1));
    assert_eq!(zero.answered(&answer, start), Err(out_of_turn));
    assert_eq!(one.confirmed(2), Err(out_of_turn));
    assert_eq!(one.confirmed(1), Ok(()));
    assert_eq!(one.confirmed(1), Err(out_of_turn));
    assert_eq!(one.answer(&offer, now), Err(out_of_turn), "an old offer");
}

#[test]
fn unfit_keys_are_refused() {
    let start = Instant::now();
    let [mut zero, mut one] = exchanges(start);
    let offer = offered(&mut zero, start);
    let now = start + EXCHANGE_EVERY;
    let low = ExchangeOffer { x25519: [0; 32], ..offer.clone() };
    assert_eq!(one.answer(&low, now), Err(ExchangeError::LowOrder));
    let malformed = ExchangeOffer { mlkem: Box::new([0xff; mlkem::PUBLIC_BYTES]), ..offer.clone() };
    assert_eq!(one.answer(&malformed, now), Err(ExchangeError::MlKem));
    let answer = one.answer(&offer, now).unwrap();
    let low = ExchangeAnswer { x25519: [0; 32], ..answer };
    assert_eq!(zero.answered(&low, start), Err(ExchangeError::LowOrder));
}

/// Changed on the way, the two sides come to different secrets, and the first record with them fails.
#[test]
fn a_changed_message_breaks_the_keys() {
    let start = Instant::now();
    let change: [fn(&mut ExchangeAnswer); 2] =
        [|answer| answer.x25519[0] ^= 1, |answer| answer.mlkem[0] ^= 1];
    for change in change {
        let [mut zero, mut one] = session(Suite::Aes256Gcm);
        let [mut mine, mut theirs] = [&zero, &one].map(|end| Exchange::new(end.session.clone(), start));
        let mut answer = theirs.answer(&offered(&mut mine, start), start + EXCHANGE_EVERY).unwrap();
        change(&mut answer);
        mine.answered(&answer, start).unwrap();
        let mut wire = BytesMut::new();
        zero.sealer.ping(start, &mut wire).unwrap();
        assert!(open_all(&mut one.opener, &wire).is_err());
    }
}

#[test]
fn no_exchange_without_random_numbers() {
    let start = Instant::now();
    let random = Err(ExchangeError::Random(RandomError));
    for good_calls in 0..2 {
        let [mut zero, mut one] = exchanges(start);
        assert_eq!(failing(good_calls, || zero.poll(start + EXCHANGE_EVERY).map(|_| ())), random);
        let offer = offered(&mut zero, start);
        assert_eq!(failing(good_calls, || one.answer(&offer, start + EXCHANGE_EVERY).map(|_| ())), random);
    }
}
