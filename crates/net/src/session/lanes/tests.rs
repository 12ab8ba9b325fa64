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
    let mut zero = Lanes::new(Side::Zero, Base::Tcp, now);
    let mut one = Lanes::new(Side::One, Base::Tcp, now);
    assert_eq!(offers(&mut zero, now), [(2, LaneClass::Urgent), (4, LaneClass::Bulk), (6, LaneClass::Bulk)]);
    assert_eq!(offers(&mut one, now), [(3, LaneClass::Urgent)]);
}

#[test]
fn both_sides_agree_on_a_lane() {
    let now = Instant::now();
    for (base, route) in [
        (Base::Tcp, Route::Same),
        (Base::Bridge, Route::Bridge(77)),
        (Base::Quic { tcp_beside: true }, Route::Same),
    ] {
        let mut zero = Lanes::new(Side::Zero, base, now);
        let mut one = Lanes::new(Side::One, base, now);
        let Some(Message::LaneOffer { lane, class, nonce, bridge_leg, tcp_beside }) = one.offer(now, FRESH)
        else {
            panic!("nothing offered")
        };
        let other = Fresh { nonce: [2; 32], bridge_leg: 99 };
        let theirs = zero.offered(lane, class, nonce, bridge_leg, tcp_beside, other).unwrap();
        let mine = one.answered(lane, theirs.my_nonce).unwrap();
        assert_eq!((mine.my_nonce, mine.their_nonce), (theirs.their_nonce, theirs.my_nonce));
        assert_eq!((mine.number, mine.class), (theirs.number, theirs.class));
        assert_eq!((mine.owner, theirs.owner), (Owner::Mine, Owner::Theirs));
        assert_eq!([mine.route, theirs.route], [route; 2]);
        assert_eq!(missing(&one), [Some("being opened".to_owned())]);
        one.up(lane);
        assert_eq!(missing(&one), [None]);
        assert_eq!(one.deadline(), None);
    }
}

#[test]
fn a_lost_lane_is_offered_again_under_a_new_number_and_later_each_time() {
    let mut now = Instant::now();
    let mut one = Lanes::new(Side::One, Base::Tcp, now);
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
    let mut one = Lanes::new(Side::One, Base::Tcp, now);
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
    let mut zero = Lanes::new(Side::Zero, Base::Bridge, Instant::now());
    let mut offer = |number, class, leg| {
        zero.offered(number, class, [2; 32], leg, false, FRESH).map(|agreed| agreed.number)
    };
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
    assert!(zero.offered(1001, LaneClass::Urgent, [2; 32], Some(1), false, FRESH).is_ok());
}

#[test]
fn where_a_lane_may_run() {
    let quic = |tcp_beside| Base::Quic { tcp_beside };
    for (base, leg, tcp_beside, route) in [
        (Base::Tcp, None, false, Ok(Route::Same)),
        (Base::Tcp, None, true, Err(OfferError::Path)),
        (Base::Tcp, Some(1), false, Err(OfferError::Path)),
        (Base::Bridge, Some(1), false, Ok(Route::Bridge(1))),
        (Base::Bridge, None, false, Err(OfferError::Path)),
        (Base::Bridge, Some(1), true, Err(OfferError::Path)),
        (quic(true), None, false, Ok(Route::Same)),
        (quic(true), None, true, Ok(Route::TcpBeside)),
        (quic(false), None, true, Err(OfferError::Path)),
        (quic(true), Some(1), false, Err(OfferError::Path)),
    ] {
        let mut zero = Lanes::new(Side::Zero, base, Instant::now());
        let agreed = zero.offered(3, LaneClass::Bulk, [2; 32], leg, tcp_beside, FRESH);
        assert_eq!(agreed.map(|agreed| agreed.route), route, "{base:?} {leg:?} {tcp_beside}");
    }
}

#[test]
fn a_path_gets_the_lanes_that_it_needs() {
    let now = Instant::now();
    let beside = |base, side, milliseconds: &[u64]| {
        let mut lanes = Lanes::new(side, base, now);
        offers(&mut lanes, now);
        for rtt in milliseconds {
            lanes.measured(Duration::from_millis(*rtt), now);
        }
        let more: Vec<_> = std::iter::from_fn(|| lanes.offer(now, FRESH)).collect();
        let tcp = |offer: &Message| matches!(offer, Message::LaneOffer { tcp_beside: true, .. });
        (more.len(), more.iter().filter(|offer| tcp(offer)).count())
    };
    for base in [Base::Tcp, Base::Bridge] {
        assert_eq!(beside(base, Side::Zero, &[49]), (0, 0));
        assert_eq!(beside(base, Side::Zero, &[50, 200, 1]), (4, 0));
        assert_eq!(beside(base, Side::One, &[200]), (0, 0));
    }
    let quic = Base::Quic { tcp_beside: true };
    assert_eq!(beside(quic, Side::Zero, &[10]), (0, 0));
    assert_eq!(beside(quic, Side::Zero, &[50, 200]), (10, 0));
    assert_eq!(beside(quic, Side::Zero, &[9, 1]), (2, 2));
    assert_eq!(beside(quic, Side::One, &[1]), (0, 0));
    assert_eq!(beside(Base::Quic { tcp_beside: false }, Side::Zero, &[1]), (0, 0));
}

#[test]
fn lanes_beside_a_quic_connection_are_shown_as_tcp() {
    let now = Instant::now();
    let mut zero = Lanes::new(Side::Zero, Base::Quic { tcp_beside: true }, now);
    zero.measured(Duration::from_millis(1), now);
    zero.offered(3, LaneClass::Urgent, [2; 32], None, false, FRESH).unwrap();
    let transports: Vec<_> = zero.status().into_iter().map(|lane| lane.transport).collect();
    use Transport::{Quic, Tcp};
    assert_eq!(transports, [Quic, Quic, Quic, Tcp, Tcp, Quic]);
}
