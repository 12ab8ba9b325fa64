//! Two lifecycles and a network between them, in virtual time.

mod network;

use proptest::prelude::*;

use self::network::*;
use super::*;
use crate::connect::race::{Candidate, DialId, Target};

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn milliseconds(count: u64) -> Duration {
    Duration::from_millis(count)
}

#[test]
fn one_who_connects_reaches_the_other_within_five_trips() {
    for side in 0..2 {
        for reachable in WAYS {
            let mut network = Network::new(reachable);
            network.settle();
            let start = network.now;
            network.user(side, Event::Connect);
            network.until(|network| network.connected());
            let took = network.now - start;
            assert!(took <= network.trip * 6, "side {side}, {reachable:?}: {took:?}");
        }
    }
}

#[test]
fn a_session_moves_to_the_best_path_that_there_is() {
    let mut network = Network::new(&[RELAYED, LAN]);
    // The relay answers first.
    network.direct_delay = milliseconds(900);
    network.user(0, Event::Connect);
    network.until(|network| network.connected());
    assert_eq!(network.grade(), Some(RELAYED));
    network.until(|network| network.connected() && network.grade() == Some(LAN));
    assert_eq!(network.interruptions, 0);
    let sessions = network.sessions();
    network.pass(seconds(60));
    assert_eq!(network.sessions(), sessions, "it stays there");
}

#[test]
fn disconnecting_is_told_at_once_and_refuses_until_connect() {
    let mut network = Network::new(&[RELAYED]);
    network.user(0, Event::Connect);
    network.user(1, Event::Connect);
    network.until(|network| network.connected());
    network.user(1, Event::Disconnect);
    assert_eq!(network.phase(1), Phase::Offline { reason: OfflineReason::Disconnected });
    network.pass(network.trip * 3);
    assert_eq!(network.phase(0), Phase::Offline { reason: OfflineReason::PeerDisconnected });
    // The other side still wants, and asking again is refused at once.
    network.pass(seconds(60));
    network.user(0, Event::Connect);
    assert_eq!(network.phase(0), Phase::Offline { reason: OfflineReason::Refused });
    assert_eq!(network.lives[0].present(), Some(true), "disconnecting does not make absent");
    network.user(1, Event::Connect);
    let start = network.now;
    network.until(|network| network.connected());
    assert!(network.now - start <= network.trip * 6);
}

#[test]
fn silence_interrupts_and_a_return_in_time_goes_on() {
    for gone in [1, 5, 12, 20] {
        let mut network = Network::new(&[RELAYED, DIRECT]);
        network.user(0, Event::Connect);
        network.until(|network| network.connected());
        network.cut(true);
        network.pass(seconds(gone));
        for side in 0..2 {
            assert!(
                !matches!(network.phase(side), Phase::Offline { .. } | Phase::Connecting),
                "after {gone} s: {:?}",
                network.phase(side)
            );
        }
        network.cut(false);
        let back = network.now;
        network.until(|network| network.connected());
        assert!(network.now - back <= seconds(5), "after {gone} s: {:?}", network.now - back);
    }
}

#[test]
fn silence_for_too_long_is_offline_and_the_session_still_comes_back() {
    let mut network = Network::new(&[DIRECT]);
    network.user(1, Event::Connect);
    network.until(|network| network.connected());
    network.cut(true);
    network.pass(seconds(40));
    for side in 0..2 {
        assert!(matches!(network.phase(side), Phase::Offline { .. }), "{:?}", network.phase(side));
    }
    network.pass(seconds(600));
    network.cut(false);
    let back = network.now;
    network.until(|network| network.connected());
    assert!(network.now - back <= seconds(5), "{:?}", network.now - back);
}

#[test]
fn a_program_that_is_gone_is_offline_after_eight_seconds_and_found_again_at_its_return() {
    for side in 0..2 {
        let mut network = Network::new(&[RELAYED]);
        network.user(1 - side, Event::Connect);
        network.until(|network| network.connected());
        network.kill(side);
        let killed = network.now;
        network.until(|network| matches!(network.phase(1 - side), Phase::Offline { .. }));
        let took = network.now - killed;
        assert!(took >= seconds(7) && took <= seconds(10), "{took:?}");
        network.pass(seconds(100));
        assert_eq!(network.lives[1 - side].present(), Some(false));
        network.revive(side);
        let back = network.now;
        network.until(|network| network.connected());
        assert!(network.now - back <= seconds(5), "{:?}", network.now - back);
    }
}

#[test]
fn a_program_that_restarts_at_once_takes_the_session_over() {
    for side in 0..2 {
        // Its socket stays open in the eyes of the other side.
        let mut network = Network::new(&[RELAYED, LAN]);
        network.user(1 - side, Event::Connect);
        network.until(|network| network.connected());
        network.kill_silently(side);
        network.revive(side);
        network.user(side, Event::Connect);
        let start = network.now;
        network.until(|network| network.connected());
        assert!(network.now - start <= seconds(3), "side {side}: {:?}", network.now - start);
        assert_eq!(network.interruptions, 0, "nobody had to wait for silence");
    }
}

#[test]
fn no_leg_is_dialled_for_a_contact_that_is_absent() {
    let mut network = Network::new(&[RELAYED, DIRECT]);
    network.settle();
    network.kill(1);
    network.pass(seconds(70));
    network.user(0, Event::Connect);
    assert_eq!(network.phase(0), Phase::Offline { reason: OfflineReason::Absent });
    network.pass(seconds(300));
    assert_eq!(network.dialled, 0);
    network.revive(1);
    network.until(|network| network.connected());
}

#[test]
fn without_a_relay_set_nobody_is_found() {
    let at = Moment { now: Instant::now(), unix_milliseconds: 1, fresh: [1; 16] };
    let mut life = Lifecycle::new(Side::Zero, false, &at);
    life.handle(Event::Connect, &at);
    assert_eq!(life.phase(), Phase::Offline { reason: OfflineReason::NoRelay });
    assert_eq!(life.deadline(), None);
}

#[test]
fn another_relay_is_tried_anew_and_nothing_of_the_one_before_counts() {
    let at = Moment { now: Instant::now(), unix_milliseconds: 1, fresh: [1; 16] };
    let mut life = Lifecycle::new(Side::Zero, false, &at);
    life.handle(Event::Connect, &at);
    life.handle(Event::RelaySet { set: true }, &at);
    life.handle(Event::Relay { up: true }, &at);
    assert_eq!(life.phase(), Phase::Connecting);
    life.handle(Event::Absent, &at);
    assert_eq!(
        (life.phase(), life.present()),
        (Phase::Offline { reason: OfflineReason::Absent }, Some(false))
    );
    life.handle(Event::RelaySet { set: true }, &at);
    assert_eq!(life.present(), None);
    life.handle(Event::Relay { up: true }, &at);
    assert_eq!(life.phase(), Phase::Connecting);
    life.handle(Event::Absent, &at);
    life.handle(Event::RelaySet { set: false }, &at);
    life.handle(Event::Connect, &at);
    assert_eq!(life.phase(), Phase::Offline { reason: OfflineReason::NoRelay });
    // None is skipped over if another follows it at once.
    life.handle(Event::Relay { up: true }, &at);
    assert_eq!(life.phase(), Phase::Connecting);
}

#[test]
fn a_relay_that_is_never_reached_is_named() {
    let mut at = Moment { now: Instant::now(), unix_milliseconds: 1, fresh: [1; 16] };
    let mut life = Lifecycle::new(Side::Zero, true, &at);
    life.handle(Event::Connect, &at);
    assert_eq!(life.phase(), Phase::Connecting);
    at.now += ATTEMPT;
    life.handle(Event::Time, &at);
    assert_eq!(life.phase(), Phase::Offline { reason: OfflineReason::RelayUnreachable });
    // It is tried again, quietly.
    at.now = life.deadline().unwrap();
    life.handle(Event::Time, &at);
    assert_eq!(life.phase(), Phase::Offline { reason: OfflineReason::RelayUnreachable });
}

/// A session of that grade that is cut while the relay, new to all, has no post of the contact.
fn cut_and_absent(grade: Grade, absent_first: bool, at: &Moment) -> Lifecycle {
    let mut life = Lifecycle::new(Side::One, true, at);
    life.handle(Event::Relay { up: true }, at);
    let leg = ReadyLeg { id: LegId(1), origin: Origin::Accepted, grade, number: Some(1) };
    life.handle(Event::Ready(leg), at);
    let Phase::Connected { session } = life.phase() else { panic!("{:?}", life.phase()) };
    let mut events = [Event::Session(session, SessionEvent::Closed), Event::Absent];
    if absent_first {
        events.reverse();
    }
    for event in events {
        life.handle(event, at);
    }
    life
}

#[test]
fn a_relayed_session_outlives_a_relay_that_forgot_the_contacts_post() {
    for absent_first in [false, true] {
        let mut at = Moment { now: Instant::now(), unix_milliseconds: 1, fresh: [1; 16] };
        let direct = cut_and_absent(DIRECT, absent_first, &at);
        assert_eq!(direct.phase(), Phase::Offline { reason: OfflineReason::Absent });

        let mut life = cut_and_absent(RELAYED, absent_first, &at);
        let interrupted = Phase::Interrupted { since: at.now };
        assert_eq!((life.phase(), life.present()), (interrupted, Some(false)));
        at.now += CLOSED_GRACE - milliseconds(1);
        life.handle(Event::Time, &at);
        assert_eq!(life.phase(), interrupted);
        // Its post is a reason to try at once.
        while life.effect().is_some() {}
        let post = PeerPost {
            nonce: [2; 16],
            want: true,
            refuse: false,
            attempt: 2,
            candidates: Vec::new(),
            punchable: Vec::new(),
        };
        life.handle(Event::Post(post), &at);
        assert_eq!(life.phase(), interrupted);
        assert!(std::iter::from_fn(|| life.effect()).any(|effect| matches!(effect, Effect::Dial(..))));

        // Without one the session ends with its grace.
        life.handle(Event::Absent, &at);
        at.now += milliseconds(1);
        life.handle(Event::Time, &at);
        assert_eq!(life.phase(), Phase::Offline { reason: OfflineReason::Absent });
    }
}

#[test]
fn a_goodbye_on_a_session_that_the_contact_did_not_leave_yet_counts() {
    let at = Moment { now: Instant::now(), unix_milliseconds: 1, fresh: [1; 16] };
    for settled in [false, true] {
        let mut life = Lifecycle::new(Side::Zero, true, &at);
        let leg = |id, grade| {
            Event::Ready(ReadyLeg { id: LegId(id), origin: Origin::Accepted, grade, number: Some(1) })
        };
        life.handle(leg(1, RELAYED), &at);
        let Phase::Connected { session: first } = life.phase() else { panic!("{:?}", life.phase()) };
        life.handle(leg(2, RELAYED_QUIC), &at);
        let Phase::Connected { session: second } = life.phase() else { panic!("{:?}", life.phase()) };
        assert_ne!(first, second);
        if settled {
            life.handle(Event::Session(second, SessionEvent::Settled(1)), &at);
        }
        life.handle(Event::Session(first, SessionEvent::Goodbye(Goodbye::Replaced)), &at);
        assert_eq!(life.phase(), Phase::Connected { session: second });
        life.handle(Event::Session(first, SessionEvent::Goodbye(Goodbye::Stopping)), &at);
        let ended = Phase::Offline { reason: OfflineReason::PeerStopped };
        assert_eq!(life.phase(), if settled { Phase::Connected { session: second } } else { ended });
    }
}

#[test]
fn a_goodbye_counts_though_the_leg_that_was_to_replace_its_session_closed_before() {
    let at = Moment { now: Instant::now(), unix_milliseconds: 1, fresh: [1; 16] };
    for (goodbye, reason) in [
        (Goodbye::Stopping, Some(OfflineReason::PeerStopped)),
        (Goodbye::User, Some(OfflineReason::PeerDisconnected)),
        (Goodbye::Replaced, None),
    ] {
        let mut life = Lifecycle::new(Side::Zero, true, &at);
        let leg = |id, grade| {
            Event::Ready(ReadyLeg { id: LegId(id), origin: Origin::Accepted, grade, number: Some(1) })
        };
        life.handle(leg(1, RELAYED), &at);
        let Phase::Connected { session: first } = life.phase() else { panic!("{:?}", life.phase()) };
        life.handle(leg(2, RELAYED_QUIC), &at);
        let Phase::Connected { session: second } = life.phase() else { panic!("{:?}", life.phase()) };
        life.handle(Event::Session(second, SessionEvent::Closed), &at);
        let interrupted = Phase::Interrupted { since: at.now };
        assert_eq!(life.phase(), interrupted);
        life.handle(Event::Session(first, SessionEvent::Goodbye(goodbye)), &at);
        assert_eq!(life.phase(), reason.map_or(interrupted, |reason| Phase::Offline { reason }));
    }
}

#[test]
fn a_leg_that_was_given_up_is_none_after_a_goodbye() {
    let at = Moment { now: Instant::now(), unix_milliseconds: 1, fresh: [1; 16] };
    let mut life = Lifecycle::new(Side::Zero, true, &at);
    life.handle(Event::Connect, &at);
    let post = PeerPost {
        nonce: [2; 16],
        want: false,
        refuse: false,
        attempt: 1,
        candidates: Vec::new(),
        punchable: Vec::new(),
    };
    life.handle(Event::Post(post), &at);
    let dials: Vec<_> = std::iter::from_fn(|| life.effect())
        .filter_map(
            |effect| {
                if let Effect::Dial(id, target) = effect { Some((id, target.grade())) } else { None }
            },
        )
        .collect();
    let [(first, quic), (second, tcp)] = dials[..] else { panic!("{dials:?}") };
    let ready = |id, dial, grade| {
        let leg = ReadyLeg { id: LegId(id), origin: Origin::Dialled(dial), grade, number: None };
        Event::Ready(leg)
    };
    life.handle(ready(1, first, quic), &at);
    let Phase::Connected { session } = life.phase() else { panic!("{:?}", life.phase()) };
    life.handle(Event::Session(session, SessionEvent::Goodbye(Goodbye::Stopping)), &at);
    while life.effect().is_some() {}
    life.handle(ready(2, second, tcp), &at);
    assert_eq!(life.effect(), Some(Effect::Discard(LegId(2))));
    assert_eq!(life.phase(), Phase::Offline { reason: OfflineReason::PeerStopped });
}

#[test]
fn side_one_goes_by_the_order_of_nominations() {
    let at = Moment { now: Instant::now(), unix_milliseconds: 1, fresh: [1; 16] };
    let mut life = Lifecycle::new(Side::One, true, &at);
    let leg = |id, number| {
        Event::Ready(ReadyLeg { id: LegId(id), origin: Origin::Accepted, grade: LAN, number: Some(number) })
    };
    life.handle(leg(1, 20), &at);
    life.handle(leg(2, 10), &at);
    life.handle(leg(3, 30), &at);
    let decisions: Vec<_> = std::iter::from_fn(|| life.effect())
        .filter_map(|effect| match effect {
            Effect::Adopt { leg, .. } => Some((leg.0, true)),
            Effect::Discard(leg) => Some((leg.0, false)),
            Effect::Post(_)
            | Effect::Dial(..)
            | Effect::DropDial(_)
            | Effect::Punch(_)
            | Effect::Refuse(_)
            | Effect::Retire(_)
            | Effect::End(..) => None,
        })
        .collect();
    assert_eq!(decisions, [(1, true), (2, false), (3, true)]);
}

#[test]
fn a_deadline_that_has_come_is_followed_by_a_later_one() {
    let mut network = Network::new(&[DIRECT]);
    network.user(0, Event::Connect);
    network.cut(true);
    for _ in 0..1000 {
        let Some(due) = network.lives[0].deadline() else { break };
        network.now = network.now.max(due);
        network.event(0, Event::Time);
        assert!(network.lives[0].deadline().is_none_or(|next| next > network.now));
    }
}

/// What can be reached at best, given that QUIC takes no place from TCP where the round trip is short.
fn is_best(network: &Network) -> bool {
    let best = network.reachable.iter().max().copied();
    let as_good = |grade: Grade| grade.to_surpass(Some(network.trip));
    network.grade().map(as_good) == best.map(as_good)
}

#[test]
fn a_way_that_opens_is_taken_and_one_that_closes_is_left_without_end() {
    let mut network = Network::new(&[RELAYED]);
    network.user(1, Event::Connect);
    network.until(|network| network.connected());
    for ways in [&[RELAYED, RELAYED_QUIC][..], &[RELAYED, RELAYED_QUIC, PUNCHED], &GRADES] {
        network.reachable = ways.to_vec();
        let opened = network.now;
        network.until(|network| network.connected() && is_best(network));
        assert!(network.now - opened <= seconds(120), "{ways:?}: {:?}", network.now - opened);
    }
    assert_eq!(network.interruptions, 0);
    // The address that carried it is gone: the next best way carries on.
    network.reachable = vec![RELAYED, PUNCHED];
    network.lose();
    let lost = network.now;
    network.until(|network| network.connected());
    assert!(network.now - lost <= seconds(5), "{:?}", network.now - lost);
    network.until(|network| network.connected() && is_best(network));
}

#[test]
fn a_change_of_addresses_hastens_what_would_be_better() {
    let mut network = Network::new(&[RELAYED]);
    network.user(0, Event::Connect);
    network.until(|network| network.connected());
    network.pass(seconds(300));
    network.reachable = vec![RELAYED, DIRECT_QUIC];
    network.event(0, Event::Network { unrooted: false });
    let start = network.now;
    network.until(|network| network.grade() == Some(DIRECT_QUIC));
    assert!(network.now - start <= seconds(6), "{:?}", network.now - start);
}

#[test]
fn what_is_missing_is_told_with_the_reason_the_best_first() {
    let mut network = Network::new(&[RELAYED, RELAYED_QUIC]);
    network.user(0, Event::Connect);
    network.until(|network| network.connected());
    network.until(|network| network.grade() == Some(RELAYED_QUIC));
    network.event(0, Event::Unpunched);
    network.pass(seconds(20));
    let missing = network.lives[0].missing();
    let ways: Vec<_> = missing.iter().map(|way| Grade { path: way.path, transport: way.transport }).collect();
    assert_eq!(ways, [Grade::BEST, LAN, DIRECT_QUIC, DIRECT, PUNCHED]);
    assert_eq!(missing[0].reason, "in vain");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn both_may_connect_at_any_offset(
        offset in 0u64..30_000,
        trip in 1u64..400,
        direct in 0u64..2_000,
        paths in 0usize..WAYS.len(),
        first in 0usize..2,
    ) {
        let mut network = Network::new(WAYS[paths]);
        network.trip = milliseconds(trip);
        network.direct_delay = milliseconds(direct);
        network.user(first, Event::Connect);
        network.pass(milliseconds(offset));
        network.user(1 - first, Event::Connect);
        let start = network.now;
        network.until(|network| network.connected());
        prop_assert!(network.now - start <= seconds(12), "{:?}", network.now - start);
        // And it stays so.
        network.pass(seconds(15));
        prop_assert!(network.connected());
        let sessions = network.sessions();
        network.pass(seconds(120));
        prop_assert!(network.connected());
        prop_assert_eq!(network.sessions(), sessions);
    }

    #[test]
    fn whatever_is_open_the_best_way_is_found_and_kept(
        open in 1u8..128,
        trip in 1u64..400,
        offset in 0u64..20_000,
        first in 0usize..2,
    ) {
        let ways: Vec<_> = (0..).zip(GRADES).filter(|(bit, _)| open >> bit & 1 == 1).map(|(_, way)| way).collect();
        let mut network = Network::new(&ways);
        network.trip = milliseconds(trip);
        network.user(first, Event::Connect);
        network.pass(milliseconds(offset));
        network.user(1 - first, Event::Connect);
        network.until(|network| network.connected() && is_best(network));
        prop_assert_eq!(network.interruptions, 0);
        let sessions = network.sessions();
        network.pass(seconds(300));
        prop_assert!(network.connected() && is_best(&network));
        prop_assert_eq!(network.sessions(), sessions, "it stays there");
    }

    #[test]
    fn whatever_happens_two_who_want_to_end_up_connected(
        script in proptest::collection::vec((0u8..8, 0u64..20_000, 0usize..2), 1..15),
        paths in 0usize..WAYS.len(),
    ) {
        let mut network = Network::new(WAYS[paths]);
        for (what, wait, side) in script {
            match what {
                0 | 1 => network.user(side, Event::Connect),
                2 => network.user(side, Event::Disconnect),
                3 => network.cut(true),
                4 => network.cut(false),
                5 => network.kill(side),
                6 => network.kill_silently(side),
                _ => network.revive(side),
            }
            network.pass(milliseconds(wait));
        }
        network.cut(false);
        for side in 0..2 {
            network.revive(side);
            network.user(side, Event::Connect);
        }
        // A killed program's post takes a minute to end, and until then it may look refusing.
        network.pass(seconds(90));
        network.until(|network| network.connected());
        network.pass(seconds(30));
        prop_assert!(network.connected());
    }
}
