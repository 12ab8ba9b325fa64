use super::*;

const FRESH: Fresh = Fresh { nonce: [1; 32], bridge_leg: 77 };

fn offers(lanes: &mut Lanes, now: Instant) -> Vec<(u32, LaneClass)> {
    std::iter::from_fn(|| lanes.offer(now, FRESH))
        .map(|message| {
            let Message::LaneOffer { lane, class, .. } = message else { panic!("{message:?} is no offer") };
            (lane, class)
        })
        .collect()
}

fn missing(lanes: &Lanes) -> Vec<Option<String>> {
    lanes.status().into_iter().map(|lane| lane.missing).collect()
}

#[test]
fn who_offers_what() {
    let now = Instant::now();
    let mut zero = Lanes::new(Side::Zero, false, now);
    let mut one = Lanes::new(Side::One, false, now);
    assert_eq!(offers(&mut zero, now), [(2, LaneClass::Urgent), (4, LaneClass::Bulk), (6, LaneClass::Bulk)]);
    assert_eq!(offers(&mut one, now), [(3, LaneClass::Urgent)]);
}

#[test]
fn both_sides_agree_on_a_lane() {
    let now = Instant::now();
    for relayed in [false, true] {
        let mut zero = Lanes::new(Side::Zero, relayed, now);
        let mut one = Lanes::new(Side::One, relayed, now);
        let Some(Message::LaneOffer { lane, class, nonce, bridge_leg }) = one.offer(now, FRESH) else {
            panic!("nothing offered")
        };
        let other = Fresh { nonce: [2; 32], bridge_leg: 99 };
        let theirs = zero.offered(lane, class, nonce, bridge_leg, other).unwrap();
        let mine = one.answered(lane, theirs.my_nonce).unwrap();
        assert_eq!((mine.my_nonce, mine.their_nonce), (theirs.their_nonce, theirs.my_nonce));
        assert_eq!((mine.number, mine.class), (theirs.number, theirs.class));
        assert_eq!((mine.owner, theirs.owner), (Owner::Mine, Owner::Theirs));
        assert_eq!((mine.bridge_leg, theirs.bridge_leg), (relayed.then_some(77), relayed.then_some(77)));
        assert_eq!(missing(&one), [Some("being opened".to_owned())]);
        one.up(lane);
        assert_eq!(missing(&one), [None]);
        assert_eq!(one.deadline(), None);
    }
}

#[test]
fn a_lost_lane_is_offered_again_under_a_new_number_and_later_each_time() {
    let mut now = Instant::now();
    let mut one = Lanes::new(Side::One, false, now);
    let mut last = Duration::ZERO;
    for number in [3, 5, 7, 9, 11, 13, 15, 17] {
        assert_eq!(offers(&mut one, now), [(number, LaneClass::Urgent)]);
        assert!(one.answered(number, [2; 32]).is_some());
        one.lost(number, "cut", now);
        assert_eq!(missing(&one), [Some("cut".to_owned())]);
        assert_eq!(offers(&mut one, now), []);
        let pause = one.deadline().unwrap() - now;
        assert!(pause >= last && pause <= AGAIN_MOST, "{pause:?}");
        last = pause;
        now += pause;
    }
    assert_eq!(offers(&mut one, now), [(19, LaneClass::Urgent)]);
    assert!(one.answered(19, [2; 32]).is_some());
    one.up(19);
    one.lost(19, "cut", now);
    assert_eq!(one.deadline(), Some(now + AGAIN));
}

#[test]
fn an_offer_without_an_answer_and_a_refused_one_are_made_again() {
    let mut now = Instant::now();
    let mut one = Lanes::new(Side::One, false, now);
    assert_eq!(offers(&mut one, now).len(), 1);
    now += ANSWERED_WITHIN;
    assert_eq!(offers(&mut one, now), []);
    assert_eq!(one.answered(3, [2; 32]), None, "too late");
    now += AGAIN;
    assert_eq!(offers(&mut one, now), [(5, LaneClass::Urgent)]);
    one.refused(5, "too many lanes", now);
    assert_eq!(missing(&one), [Some("too many lanes".to_owned())]);
    assert_eq!(one.answered(5, [2; 32]), None);
}

#[test]
fn the_other_sides_offers_are_checked() {
    let mut zero = Lanes::new(Side::Zero, true, Instant::now());
    let mut offer =
        |number, class, leg| zero.offered(number, class, [2; 32], leg, FRESH).map(|agreed| agreed.number);
    assert_eq!(offer(1, LaneClass::Urgent, Some(1)), Err(OfferError::Number));
    assert_eq!(offer(4, LaneClass::Urgent, Some(1)), Err(OfferError::Number));
    assert_eq!(offer(3, LaneClass::Urgent, None), Err(OfferError::Path));
    assert_eq!(offer(3, LaneClass::Urgent, Some(1)), Err(OfferError::Number), "used");
    assert_eq!(offer(5, LaneClass::Urgent, Some(1)), Ok(5));
    assert_eq!(offer(7, LaneClass::Urgent, Some(1)), Ok(7));
    assert_eq!(offer(9, LaneClass::Urgent, Some(1)), Err(OfferError::TooMany));
    assert_eq!(offer(u32::MAX, LaneClass::Bulk, Some(1)), Err(OfferError::Number));
    let bulk = (0..100).filter(|index| offer(11 + 2 * index, LaneClass::Bulk, Some(1)).is_ok()).count();
    assert_eq!(bulk, THEIR_BULK);
    zero.lost(5, "cut", Instant::now());
    assert!(zero.offered(1001, LaneClass::Urgent, [2; 32], Some(1), FRESH).is_ok());
}
