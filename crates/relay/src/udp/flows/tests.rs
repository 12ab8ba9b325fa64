use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::recent::MEMORY;

use BridgeSide::{One, Zero};

const LIFE: Duration = Duration::from_secs(60);
const SECOND: Duration = Duration::from_secs(1);

/// The address of a program on a host of its own.
fn host(number: u8) -> SocketAddr {
    ([192, 0, 2, number], 1000).into()
}

fn port(host: u8, port: u16) -> SocketAddr {
    ([192, 0, 2, host], port).into()
}

fn route(to: SocketAddr) -> Route {
    Route { to, from: None }
}

fn flows(limit: Limit) -> (Flows, Instant) {
    (Flows::new(limit, LIFE, Arc::new(Throttle::new(1 << 40))), Instant::now())
}

/// What one address is told.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Told {
    Alone,
    Both,
    Refused(Refusal),
}

/// The relay's answers, each with who gets it.
fn answers(sent: &[(Route, Datagram)]) -> Vec<(SocketAddr, Told)> {
    let told = |datagram: &Datagram| {
        if let Datagram::Refused { reason, .. } = datagram {
            return Told::Refused(*reason);
        }
        let Datagram::Joined(joined) = datagram else { panic!("{datagram:?} is no answer to a join") };
        if joined.both { Told::Both } else { Told::Alone }
    };
    sent.iter().map(|(route, datagram)| (route.to, told(datagram))).collect()
}

fn cookie_of(sent: &[(Route, Datagram)]) -> Cookie {
    let Datagram::Joined(joined) = &sent[0].1 else { panic!("{:?} has no cookie", sent[0].1) };
    joined.cookie
}

fn join(
    flows: &mut Flows,
    from: SocketAddr,
    token: u8,
    side: BridgeSide,
    now: Instant,
) -> Vec<(SocketAddr, Told)> {
    let join = Join { token: [token; 32], side, nonce: [1; 8], cookie: [0; 8] };
    answers(&flows.join(route(from), &join, now))
}

/// Joins, and proves the address as an honest program does.
fn prove(
    flows: &mut Flows,
    from: SocketAddr,
    token: u8,
    side: BridgeSide,
    now: Instant,
) -> Vec<(SocketAddr, Told)> {
    let join = Join { token: [token; 32], side, nonce: [1; 8], cookie: [0; 8] };
    let sent = flows.join(route(from), &join, now);
    let told = answers(&sent);
    if matches!(told[0].1, Told::Refused(_)) {
        return told;
    }
    let proof = Join { cookie: cookie_of(&sent), ..join };
    let proved = answers(&flows.join(route(from), &proof, now));
    // Where the first join was not remembered, the second one tells what came of it.
    if matches!(proved[0].1, Told::Refused(_)) || proved.len() > told.len() {
        return proved;
    }
    told
}

fn to(address: SocketAddr) -> Result<Route, Stop> {
    Ok(route(address))
}

#[test]
fn two_sides_meet_and_the_first_is_told_when_the_second_comes() {
    let (mut flows, now) = flows(Limit::new(100, 50));
    assert_eq!(prove(&mut flows, host(1), 7, Zero, now), [(host(1), Told::Alone)]);
    assert_eq!(flows.forward(host(1), 100, now), Err(Stop::Alone));
    assert_eq!(join(&mut flows, host(2), 7, One, now), [(host(2), Told::Both), (host(1), Told::Both)]);
    assert_eq!(join(&mut flows, host(2), 7, One, now), [(host(2), Told::Both)], "told once");
    assert_eq!(flows.forward(host(1), 100, now), to(host(2)));
    assert_eq!(flows.forward(host(2), 100, now), to(host(1)));
    assert_eq!((flows.sides(), flows.pairs()), (2, 1));
}

#[test]
fn the_first_side_is_told_with_its_own_nonce_and_cookie() {
    let (mut flows, now) = flows(Limit::new(100, 50));
    let first = Join { token: [7; 32], side: Zero, nonce: [1; 8], cookie: [0; 8] };
    let cookie = cookie_of(&flows.join(route(host(1)), &first, now));
    let second = Join { side: One, nonce: [2; 8], ..first };
    let sent = flows.join(route(host(2)), &second, now);
    let told = Joined { nonce: [1; 8], cookie, both: true, address: host(1) };
    assert_eq!(sent[1], (route(host(1)), Datagram::Joined(told)));
    assert_ne!(cookie_of(&sent), cookie);
}

#[test]
fn answers_come_from_the_address_that_was_called() {
    let (mut flows, now) = flows(Limit::new(100, 50));
    let called = |last| Route { to: host(last), from: Some([198, 51, 100, last].into()) };
    let first = Join { token: [7; 32], side: Zero, nonce: [1; 8], cookie: [0; 8] };
    assert_eq!(flows.join(called(1), &first, now)[0].0, called(1));
    flows.join(called(2), &Join { side: One, ..first }, now);
    assert_eq!(flows.forward(host(2), 1, now), Ok(called(1)));
}

#[test]
fn strangers_and_other_flows_reach_nobody() {
    let (mut flows, now) = flows(Limit::new(100, 50));
    for (number, token, side) in [(1, 7, Zero), (2, 7, One), (3, 8, Zero), (4, 8, One), (5, 9, One)] {
        prove(&mut flows, host(number), token, side, now);
    }
    let reached: Vec<_> = (1..7).map(|number| flows.forward(host(number), 1, now)).collect();
    let expected =
        [to(host(2)), to(host(1)), to(host(4)), to(host(3)), Err(Stop::Alone), Err(Stop::Stranger)];
    assert_eq!(reached, expected);
}

#[test]
fn nobody_meets_itself() {
    let (mut flows, now) = flows(Limit::new(100, 50));
    prove(&mut flows, host(1), 7, Zero, now);
    assert_eq!(join(&mut flows, host(1), 7, One, now), [(host(1), Told::Refused(Refusal::AddressTaken))]);
    assert_eq!(
        join(&mut flows, host(2), 7, Zero, now),
        [(host(2), Told::Alone)],
        "the same side does not meet"
    );
    assert_eq!(flows.sides(), 1);
}

#[test]
fn a_side_moves_with_its_token_and_side_only() {
    let (mut flows, now) = flows(Limit::new(100, 50));
    prove(&mut flows, host(1), 7, Zero, now);
    prove(&mut flows, host(2), 7, One, now);
    assert_eq!(prove(&mut flows, host(3), 7, Zero, now), [(host(3), Told::Both)]);
    assert_eq!(flows.forward(host(2), 100_000, now), to(host(3)));
    assert_eq!(flows.forward(host(3), 1, now), to(host(2)));
    assert_eq!(flows.forward(host(1), 1, now), Err(Stop::Stranger), "its old address is nobody's");
    // Without the token, a forged source moves nothing and takes no address.
    join(&mut flows, host(4), 8, Zero, now);
    assert_eq!(join(&mut flows, host(3), 8, One, now), [(host(3), Told::Refused(Refusal::AddressTaken))]);
    assert_eq!(flows.forward(host(2), 1, now), to(host(3)));
}

#[test]
fn little_goes_to_an_address_that_has_not_proved_itself() {
    let (mut flows, now) = flows(Limit::new(100, 50));
    prove(&mut flows, host(1), 7, Zero, now);
    let victim = host(2);
    join(&mut flows, victim, 7, One, now);
    let mut passed = 0;
    while flows.forward(host(1), 1200, now).is_ok() {
        passed += 1200;
    }
    assert!(passed <= UNPROVEN_BYTES && passed > UNPROVEN_BYTES - 1200);
    // Joining again without the cookie, or with one made up, brings no more.
    join(&mut flows, victim, 7, One, now);
    let forged = Join { token: [7; 32], side: One, nonce: [1; 8], cookie: [9; 8] };
    flows.join(route(victim), &forged, now);
    assert_eq!(flows.forward(host(1), 1200, now), Err(Stop::Unproven));
    // Nor does the cookie of another address or flow.
    let cookie = cookie_of(&flows.join(route(host(3)), &Join { token: [8; 32], ..forged.clone() }, now));
    flows.join(route(victim), &Join { cookie, ..forged }, now);
    assert_eq!(flows.forward(host(1), 1200, now), Err(Stop::Unproven));

    prove(&mut flows, victim, 7, One, now);
    assert_eq!(flows.forward(host(1), 10_000_000, now), to(victim));
}

#[test]
fn an_address_that_somebody_forged_is_free_for_its_owner() {
    let (mut flows, now) = flows(Limit::new(100, 50));
    assert_eq!(join(&mut flows, host(1), 66, Zero, now), [(host(1), Told::Alone)], "forged");
    assert_eq!(prove(&mut flows, host(1), 7, Zero, now), [(host(1), Told::Alone)]);
    assert_eq!(join(&mut flows, host(1), 66, Zero, now), [(host(1), Told::Refused(Refusal::AddressTaken))]);
    assert_eq!(flows.sides(), 1);
}

#[test]
fn a_proof_holds_while_the_address_stays() {
    let (mut flows, now) = flows(Limit::new(100, 50));
    prove(&mut flows, host(1), 7, Zero, now);
    prove(&mut flows, host(2), 7, One, now);
    join(&mut flows, host(2), 7, One, now);
    assert_eq!(flows.forward(host(1), 1_000_000, now), to(host(2)));
}

#[test]
fn who_does_not_join_again_goes_and_a_flow_that_met_is_over() {
    let (mut flows, start) = flows(Limit::new(100, 50));
    prove(&mut flows, host(1), 7, Zero, start);
    prove(&mut flows, host(2), 7, One, start + 10 * SECOND);
    flows.expire(start + LIFE);
    assert_eq!(flows.forward(host(2), 1, start + LIFE), Err(Stop::Alone));
    assert_eq!(
        prove(&mut flows, host(1), 7, Zero, start + LIFE).len(),
        2,
        "one side that stayed keeps the flow"
    );

    let later = start + 2 * LIFE;
    flows.expire(later);
    assert_eq!((flows.sides(), flows.flows.len(), flows.by_address.len()), (0, 0, 0));
    assert_eq!(join(&mut flows, host(1), 7, Zero, later), [(host(1), Told::Refused(Refusal::Ended))]);
    assert_eq!(join(&mut flows, host(1), 7, Zero, later + MEMORY), [(host(1), Told::Alone)]);
}

#[test]
fn a_token_under_which_nobody_met_is_not_used_up() {
    let (mut flows, start) = flows(Limit::new(100, 50));
    prove(&mut flows, host(1), 7, Zero, start);
    flows.expire(start + LIFE);
    assert_eq!(join(&mut flows, host(1), 7, Zero, start + LIFE), [(host(1), Told::Alone)]);
}

#[test]
fn a_source_that_joins_too_much_leaves_room_for_others() {
    let (mut flows, now) = flows(Limit::new(100, 3));
    for number in 0..3 {
        prove(&mut flows, port(1, number + 1), number as u8, Zero, now);
    }
    let refused = [(port(1, 9), Told::Refused(Refusal::SourceFull))];
    assert_eq!(join(&mut flows, port(1, 9), 9, Zero, now), refused);
    assert_eq!(
        prove(&mut flows, port(1, 10), 0, Zero, now),
        [(port(1, 10), Told::Alone)],
        "a move needs no room"
    );
    assert_eq!(join(&mut flows, port(1, 9), 9, Zero, now), refused);
    assert_eq!(prove(&mut flows, host(2), 9, Zero, now), [(host(2), Told::Alone)]);
}

#[test]
fn forged_joins_cannot_fill_the_relay() {
    let (mut flows, now) = flows(Limit::new(20, 10));
    for number in 100..200 {
        join(&mut flows, host(number), number, Zero, now);
    }
    assert_eq!(flows.sides(), 10);
    // A program that hears its answer gets in, and is told when the other is there.
    assert_eq!(prove(&mut flows, host(1), 7, Zero, now), [(host(1), Told::Alone)]);
    prove(&mut flows, host(2), 7, One, now);
    assert_eq!(flows.forward(host(1), 1_000_000, now), to(host(2)));
    for number in 3..20 {
        prove(&mut flows, host(number), 50 + number, Zero, now);
    }
    assert_eq!(flows.sides(), 20);
    assert_eq!(join(&mut flows, host(1), 7, Zero, now), [(host(1), Told::Both)], "who is in stays");
}

#[test]
fn a_source_sends_no_more_than_its_rate() {
    let throttle = Arc::new(Throttle::new(1_000_000));
    let (mut flows, now) = (Flows::new(Limit::new(100, 50), LIFE, throttle), Instant::now());
    for (number, token, side) in [(1, 7, Zero), (2, 7, One)] {
        prove(&mut flows, host(number), token, side, now);
    }
    let passed = (0..1000).filter(|_| flows.forward(host(1), 1000, now).is_ok()).count();
    assert_eq!(passed, 250);
    assert_eq!(flows.forward(host(1), 1000, now), Err(Stop::TooFast));
    assert_eq!(flows.forward(host(2), 1000, now), to(host(1)), "the other side has its own rate");
    assert_eq!(flows.forward(host(1), 1000, now + SECOND), to(host(2)));
}

/// What may happen: who joins as what with or without its cookie, or how many seconds pass.
#[derive(Debug, Clone)]
enum Step {
    Join { host: u8, token: u8, side: bool, proves: bool },
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0u8..6, 0u8..3, any::<bool>(), any::<bool>())
            .prop_map(|(host, token, side, proves)| Step::Join { host, token, side, proves }),
        1 => (0u64..40).prop_map(Step::Pass),
    ]
}

proptest! {
    /// Whatever is joined in whatever order, members, addresses and room agree, and whoever sends reaches only an
    /// address that joined the other side of the token that the sender joined, which then reaches the sender.
    #[test]
    fn the_books_agree(steps in prop::collection::vec(step(), 0..200)) {
        let (mut flows, mut now) = flows(Limit::new(5, 4));
        let mut seats: HashMap<SocketAddr, (u8, BridgeSide)> = HashMap::new();
        for step in steps {
            match step {
                Step::Pass(seconds) => {
                    now += Duration::from_secs(seconds);
                    flows.expire(now);
                }
                Step::Join { host: number, token, side, proves } => {
                    let side = if side { One } else { Zero };
                    let told = if proves {
                        prove(&mut flows, host(number), token, side, now)
                    } else {
                        join(&mut flows, host(number), token, side, now)
                    };
                    if !matches!(told[0].1, Told::Refused(_)) && flows.by_address.contains_key(&host(number)) {
                        seats.insert(host(number), (token, side));
                    }
                }
            }
            let members: Vec<_> = flows.flows.values().flat_map(|flow| [&flow.zero, &flow.one]).flatten().collect();
            prop_assert_eq!(members.len(), flows.quota.held());
            prop_assert_eq!(members.len(), flows.by_address.len());
            prop_assert!(members.len() <= 5 && members.iter().all(|member| member.expires > now));
            prop_assert!(flows.flows.values().all(|flow| flow.zero.is_some() || flow.one.is_some()));
            for number in 0..6 {
                if let Ok(reached) = flows.forward(host(number), 1, now) {
                    let ((token, side), (other, other_side)) = (seats[&host(number)], seats[&reached.to]);
                    prop_assert_eq!((token, side), (other, other_side.other()));
                    prop_assert_eq!(flows.forward(reached.to, 1, now).map(|back| back.to), Ok(host(number)));
                }
            }
        }
    }
}
