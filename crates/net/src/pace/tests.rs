use std::sync::Arc;

use futures_util::FutureExt;
use proptest::prelude::*;

use super::*;

const RATE: u64 = 1_000_000;
const REQUEST: u64 = 1 << 20;

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// What went within a time: bulk that always wants more, by `movers` who take `part` at a time, and a demand read of
/// `demand` bytes every so often. Gives the bytes of each mover, those of demand, and its longest wait.
fn run(
    rate: u64,
    time: Duration,
    movers: u64,
    part: u64,
    demand: Option<(u64, Duration)>,
) -> (Vec<u64>, u64, Duration) {
    let begin = Instant::now();
    let mut pace = Pace::new(begin);
    pace.set(Some(rate), begin);
    let mut moved = vec![0; movers as usize];
    let (mut asked, mut longest) = (0, Duration::ZERO);
    let mut next = demand.map(|(_, every)| begin + every);
    let mut waiting: Option<Instant> = None;
    let mut now = begin;
    while now < begin + time {
        if let (Some(at), Some((_, every))) = (next, demand)
            && now >= at
            && waiting.is_none()
        {
            waiting = Some(at);
            next = Some(at + every);
        }
        if let (Some(since), Some((bytes, _))) = (waiting, demand)
            && pace.demand(bytes, now).is_ok()
        {
            asked += bytes;
            longest = longest.max(now - since);
            waiting = None;
        }
        for who in 0..movers {
            if pace.turn(who, now).is_ok() {
                pace.spend(part);
                moved[who as usize] += part;
            }
        }
        // As a timer would: in whole milliseconds.
        now += ms(1);
    }
    (moved, asked, longest)
}

fn near(bytes: u64, rate: u64, time: Duration) -> bool {
    let wanted = rate as f64 * time.as_secs_f64();
    (bytes as f64 - wanted).abs() <= 0.03 * wanted
}

#[test]
fn bulk_moves_at_the_rate() {
    let minutes = Duration::from_secs(120);
    for (rate, part) in [(64_000, 16 << 10), (RATE, REQUEST), (10 * RATE, REQUEST), (100 * RATE, 256 << 10)] {
        let (moved, _, _) = run(rate, minutes, 1, part, None);
        assert!(near(moved[0], rate, minutes), "{rate}: {}", moved[0]);
    }
}

#[test]
fn those_who_move_bulk_take_turns() {
    let time = Duration::from_secs(120);
    let (moved, _, _) = run(RATE, time, 3, REQUEST / 4, None);
    assert!(near(moved.iter().sum(), RATE, time), "{moved:?}");
    let (least, most) = (moved.iter().min().unwrap(), moved.iter().max().unwrap());
    assert!(most - least <= REQUEST / 4, "{moved:?}");
}

#[test]
fn demand_does_not_wait_for_bulk_and_bulk_gets_the_rest() {
    let time = Duration::from_secs(120);
    // A third of the rate is demand.
    let (moved, asked, longest) = run(RATE, time, 2, REQUEST, Some((RATE / 3, Duration::from_secs(1))));
    assert!(longest <= ms(1), "{longest:?}");
    assert!(near(moved.iter().sum::<u64>() + asked, RATE, time), "{moved:?} {asked}");
    assert!(asked >= 118 * (RATE / 3), "{asked}");
}

#[test]
fn demand_alone_keeps_to_the_limit_too() {
    let time = Duration::from_secs(120);
    let (_, asked, _) = run(RATE, time, 0, 0, Some((RATE, ms(100))));
    assert!(near(asked, RATE, time), "{asked}");
    // While it takes all, bulk has nothing.
    let (moved, asked, _) = run(RATE, time, 1, REQUEST, Some((RATE, ms(100))));
    assert!(near(moved[0] + asked, RATE, time), "{moved:?} {asked}");
    assert!(moved[0] < asked / 10, "{moved:?} {asked}");
}

#[test]
fn a_new_limit_holds_at_once() {
    let begin = Instant::now();
    let mut pace = Pace::new(begin);
    for _ in 0..1000 {
        assert_eq!(pace.turn(1, begin), Ok(()));
        pace.spend(REQUEST);
        assert_eq!(pace.demand(REQUEST, begin), Ok(()));
    }
    pace.set(Some(RATE), begin);
    assert_eq!(pace.turn(1, begin), Ok(()));
    pace.spend(RATE);
    let Err(Wait::Until(until)) = pace.turn(1, begin) else { panic!("it has to wait") };
    assert_eq!((until - begin).as_millis(), 1000);
    assert_eq!(pace.turn(2, begin), Err(Wait::Others));
    // What did not come is not waited for.
    pace.refund(RATE / 2, false);
    assert_eq!(pace.turn(1, begin + ms(501)), Ok(()));
    pace.spend(50 * RATE);
    // Ten times as much, and at last no limit.
    pace.set(Some(10 * RATE), begin + ms(600));
    assert_eq!(pace.turn(2, begin + ms(600)), Ok(()));
    pace.spend(50 * RATE);
    pace.set(None, begin + ms(600));
    assert_eq!((pace.turn(1, begin + ms(600)), pace.turn(2, begin + ms(600))), (Ok(()), Ok(())));
}

#[test]
fn who_leaves_lets_the_next_one_go() {
    let begin = Instant::now();
    let mut pace = Pace::new(begin);
    pace.set(Some(RATE), begin);
    pace.turn(1, begin).unwrap();
    pace.spend(1000);
    assert!(matches!(pace.turn(1, begin), Err(Wait::Until(_))));
    assert_eq!(pace.turn(2, begin), Err(Wait::Others));
    assert!(pace.leave(1) && !pace.leave(1));
    assert_eq!(pace.turn(2, begin + ms(2)), Ok(()));
}

proptest! {
    #[test]
    fn never_more_than_the_rate_and_what_is_spare(
        rate in 64_000..50_000_000u64,
        steps in prop::collection::vec((0..2u8, 1..(2u64 << 20), 0..200u64), 1..300),
    ) {
        let begin = Instant::now();
        let mut pace = Pace::new(begin);
        pace.set(Some(rate), begin);
        let (mut now, mut went, mut largest) = (begin, 0, 0);
        for (kind, bytes, pause) in steps {
            now += ms(pause);
            let gone = match kind {
                0 => pace.demand(bytes, now).is_ok(),
                _ => pace.turn(7, now).map(|()| pace.spend(bytes)).is_ok(),
            };
            if gone {
                went += bytes;
                largest = largest.max(bytes);
            }
            let allowed = rate as f64 * ((now - begin) + SPARE_DEMAND).as_secs_f64();
            prop_assert!(went as f64 <= allowed + 2.0 * largest as f64 + 1.0, "{went} of {allowed}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn those_who_wait_are_woken_in_turn() {
    let limiter = Arc::new(Limiter::default());
    let begin = Instant::now();
    let moves = |limiter: &Arc<Limiter>| {
        let mut turn = Turn::new(limiter);
        async move {
            let mut took = Vec::new();
            for _ in 0..5 {
                std::future::poll_fn(|cx| turn.poll_take(cx)).await;
                took.push(begin.elapsed().as_millis());
                turn.place().spend(RATE / 10);
            }
            took
        }
    };
    limiter.set(Some(RATE));
    let (one, other) = tokio::join!(moves(&limiter), moves(&limiter));
    let mut all: Vec<_> = one.iter().zip(&other).flat_map(|(one, other)| [*one, *other]).collect();
    all.sort_unstable();
    for (nth, at) in all.iter().enumerate() {
        assert!(at.abs_diff(100 * nth as u128) <= 10, "{all:?}");
    }
    // Whoever was first takes its place again before the other one has come.
    let in_turn = |(one, other): (&u128, &u128)| one.abs_diff(*other) <= 110;
    assert!(one.iter().skip(1).zip(&other).all(in_turn), "{one:?} {other:?}");
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_is_lifted_wakes_everybody() {
    let limiter = Arc::new(Limiter::default());
    limiter.set(Some(1));
    limiter.demand(1000).await;
    let mut turn = Turn::new(&limiter);
    assert!(!turn.place().take());
    let mut demand = Box::pin(limiter.demand(1));
    let mut due = Box::pin(turn.due());
    assert!(demand.as_mut().now_or_never().is_none() && due.as_mut().now_or_never().is_none());
    limiter.set(None);
    let begin = Instant::now();
    tokio::join!(demand, due);
    assert_eq!(begin.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn demand_does_not_wait_for_what_will_not_come() {
    let limiter = Limiter::default();
    limiter.set(Some(RATE));
    limiter.demand(20 * RATE).await;
    let mut next = Box::pin(limiter.demand(1));
    assert!(next.as_mut().now_or_never().is_none());
    limiter.refund(20 * RATE, true);
    let begin = Instant::now();
    next.await;
    assert_eq!(begin.elapsed(), Duration::ZERO);
}
