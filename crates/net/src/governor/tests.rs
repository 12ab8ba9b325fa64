//! The governor on an emulated path, in virtual time.

use proptest::prelude::*;

use super::link::{Link, Path, REQUEST, ms};
use super::*;

const SEEDS: std::ops::Range<u64> = 1..6;

fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// A path on which one reads ahead without end.
fn reading(path: Path, seed: u64) -> Link {
    let mut link = Link::new(path, seed);
    link.reader(64, false);
    link
}

fn percentile(latencies: &[Duration], percent: usize) -> Duration {
    let mut sorted = latencies.to_vec();
    sorted.sort_unstable();
    sorted[(sorted.len() * percent).div_ceil(100) - 1]
}

#[test]
fn it_fills_a_path_and_no_queue() {
    for (rate, rtt) in [(72.0, 200), (72.0, 330), (72.0, 400), (20.0, 100), (100.0, 20), (7.0, 150)] {
        let mut link = reading(Path::new(rate, rtt), 1);
        let request = Duration::from_secs_f64(REQUEST as f64 / link.path.rate);
        link.run(secs(15));
        for second in 15..45 {
            let (used, queue) = link.run(secs(1));
            // Trials take a little of the one and give a little to the other.
            assert!(used > 0.88, "{rate} {rtt} {second}: {used}");
            assert!(queue < ms(rtt) * 3 / 10 + request, "{rate} {rtt} {second}: {queue:?}");
        }
        let (used, queue) = link.run(secs(30));
        assert!(used > 0.95, "{rate} {rtt}: {used}");
        assert!(queue < ms(rtt) / 10 + request, "{rate} {rtt}: {queue:?}");
    }
}

#[test]
fn a_short_path_is_full_from_the_beginning() {
    for (rate, rtt) in [(1500.0, Duration::from_micros(50)), (117.0, Duration::from_micros(300))] {
        let mut link = reading(Path { rtt, ..Path::new(rate, 0) }, 1);
        link.run(ms(100));
        let (used, queue) = link.run(secs(3));
        assert!(used > 0.98, "{rate}: {used}");
        assert!(queue < ms(20), "{rate}: {queue:?}");
    }
}

#[test]
fn a_jump_on_a_full_path_costs_what_it_costs_on_an_idle_one() {
    let path = Path::new(72.0, 200);
    let mut idle = Link::new(path, 1);
    idle.jump(ms(700));
    idle.run(secs(20));
    let alone = percentile(&idle.latencies, 50);
    for seed in SEEDS {
        let mut link = reading(path, seed);
        link.run(secs(10));
        link.jump(ms(613 + 20 * seed));
        let (used, _) = link.run(secs(30));
        assert!(used > 0.95, "{used}");
        assert!(link.latencies.len() > 30);
        assert!(percentile(&link.latencies, 50) < alone + ms(20), "{:?} {alone:?}", link.latencies);
        assert!(percentile(&link.latencies, 95) < alone + ms(50), "{:?} {alone:?}", link.latencies);
    }
}

#[test]
fn two_readers_get_the_same_and_a_transfer_an_eighth() {
    let mut link = Link::new(Path::new(72.0, 200), 1);
    link.reader(64, false);
    link.reader(64, false);
    link.reader(64, true);
    link.run(secs(10));
    let before = link.readers.clone();
    link.run(secs(30));
    let got: Vec<f64> =
        link.readers.iter().zip(before).map(|(now, before)| (now.arrived - before.arrived) as f64).collect();
    let all: f64 = got.iter().sum();
    assert!((got[0] / got[1] - 1.0).abs() < 0.05, "{got:?}");
    assert!((got[2] / all - 0.125).abs() < 0.02, "{got:?}");
}

#[test]
fn a_transfer_alone_gets_everything() {
    let mut link = Link::new(Path::new(72.0, 200), 1);
    link.reader(64, true);
    link.run(secs(10));
    assert!(link.run(secs(30)).0 > 0.95);
}

#[test]
fn another_rate_is_found() {
    for seed in SEEDS {
        let mut link = reading(Path::new(72.0, 200), seed);
        link.run(secs(10));
        link.path.rate /= 4.0;
        link.run(secs(10));
        let (used, queue) = link.run(secs(10));
        assert!(used > 0.95 && queue < ms(40), "a quarter: {used} {queue:?}");
        link.path.rate *= 4.0;
        link.run(secs(15));
        let (used, queue) = link.run(secs(20));
        assert!(used > 0.95 && queue < ms(40), "all of it: {used} {queue:?}");
    }
}

#[test]
fn another_round_trip_is_found() {
    let mut link = reading(Path::new(72.0, 200), 1);
    link.run(secs(10));
    link.path.rtt = ms(100);
    link.run(secs(10));
    let (used, queue) = link.run(secs(10));
    assert!(used > 0.95 && queue < ms(20), "shorter: {used} {queue:?}");
    link.path.rtt = ms(250);
    link.run(secs(40));
    let (used, _) = link.run(secs(20));
    assert!(used > 0.85, "longer: {used}");
}

#[test]
fn losses_that_hold_lanes_up_get_a_larger_window() {
    for seed in SEEDS {
        // One packet of a thousand: a chunk has a dozen.
        let mut link = reading(Path { loss: 0.012, ..Path::new(72.0, 200) }, seed);
        link.run(secs(10));
        let (used, _) = link.run(secs(60));
        assert!(used > 0.6, "{seed}: {used}");
        link.path.loss = 0.0;
        link.run(secs(20));
        let (used, queue) = link.run(secs(20));
        assert!(used > 0.95 && queue < ms(40), "{seed}: {used} {queue:?}");
    }
}

#[test]
fn a_busy_machine_does_not_blow_the_window_up() {
    for seed in SEEDS {
        let mut link = reading(Path { stalls: 2.0, ..Path::new(72.0, 200) }, seed);
        link.run(secs(10));
        let (used, queue) = link.run(secs(60));
        assert!(used > 0.85 && queue < ms(50), "{seed}: {used} {queue:?}");
    }
}

#[test]
fn beside_another_sender_it_neither_starves_nor_starves_it() {
    let mut link = reading(Path::new(72.0, 100), 1);
    link.run(secs(10));
    link.compete(true);
    link.run(secs(10));
    let (used, _) = link.run(secs(60));
    assert!((0.25..0.75).contains(&used), "{used}");
    link.compete(false);
    link.run(secs(20));
    let (used, queue) = link.run(secs(20));
    assert!(used > 0.95 && queue < ms(20), "{used} {queue:?}");
}

#[test]
fn beside_a_constant_stream_it_takes_the_rest_without_a_queue() {
    let mut link = reading(Path::new(72.0, 200), 1);
    link.run(secs(10));
    link.path.constant = 0.5;
    link.run(secs(10));
    let (used, queue) = link.run(secs(20));
    assert!(used > 0.47 && queue < ms(40), "{used} {queue:?}");
}

#[test]
fn a_reader_who_pauses_does_not_shrink_the_window() {
    let mut link = reading(Path::new(72.0, 200), 1);
    link.run(secs(15));
    let window = link.governor.view().window;
    // Three requests at once are far less than the path carries.
    link.readers[0].depth = 3;
    link.run(secs(20));
    assert!(link.governor.view().window * 10 >= window * 9, "{:?}", link.governor.view());
    link.readers[0].depth = 64;
    link.run(ms(400));
    assert!(link.run(secs(1)).0 > 0.85);
}

#[test]
fn a_session_that_takes_over_begins_where_the_one_before_was() {
    let now = Instant::now();
    let mut governor = Governor::new(Some(15 << 20), now);
    for index in 0..64 {
        governor.wait(Priority::Bulk, EntryId([1; 16]), 1 << 20, index).unwrap();
    }
    let mut gone = 0;
    while governor.next(now).is_some() {
        gone += 1;
    }
    assert_eq!(gone, 15);
    assert_eq!(governor.kept(), 15 << 20);
}

#[test]
fn one_read_may_always_go_however_large() {
    let now = Instant::now();
    let mut governor = Governor::new(None, now);
    governor.demand(100 << 20, now);
    governor.wait(Priority::Bulk, EntryId([1; 16]), 4 << 20, ()).unwrap();
    governor.wait(Priority::Bulk, EntryId([1; 16]), 4 << 20, ()).unwrap();
    assert!(governor.next(now).is_some());
    assert!(governor.next(now).is_none());
    governor.gone(4 << 20, true, now);
    assert!(governor.next(now).is_some());
}

#[test]
fn the_queue_has_a_bound() {
    let mut governor = Governor::new(None, Instant::now());
    for _ in 0..WAITING {
        governor.wait(Priority::ReadAhead, EntryId([1; 16]), 1, ()).unwrap();
    }
    assert_eq!(governor.wait(Priority::ReadAhead, EntryId([1; 16]), 1, ()), Err(Full));
}

#[derive(Debug, Clone)]
enum Step {
    Wait { bulk: bool, flow: u8, bytes: u64 },
    Demand(u64),
    Withdraw(usize),
    Arrive(usize, u64),
    Give(usize),
    Measure(u64),
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (any::<bool>(), 0u8..4, 1u64..4 << 20)
            .prop_map(|(bulk, flow, bytes)| Step::Wait { bulk, flow, bytes }),
        1 => (1u64..4 << 20).prop_map(Step::Demand),
        1 => any::<usize>().prop_map(Step::Withdraw),
        6 => (any::<usize>(), 1u64..2 << 20).prop_map(|(which, bytes)| Step::Arrive(which, bytes)),
        1 => any::<usize>().prop_map(Step::Give),
        1 => (0u64..500).prop_map(Step::Measure),
        2 => (0u64..300).prop_map(Step::Pass),
    ]
}

proptest! {
    #[test]
    fn nothing_is_lost_and_the_outstanding_bytes_are_those_of_reads_under_way(
        steps in proptest::collection::vec(step(), 0..300),
    ) {
        let mut now = Instant::now();
        let mut governor = Governor::new(None, now);
        let mut waiting: Vec<(u64, u64, usize)> = Vec::new();
        let mut under_way: Vec<(u64, bool)> = Vec::new();
        for (item, step) in steps.into_iter().enumerate() {
            match step {
                Step::Wait { bulk, flow, bytes } => {
                    let priority = if bulk { Priority::Bulk } else { Priority::ReadAhead };
                    let ticket = governor.wait(priority, EntryId([flow; 16]), bytes, item).unwrap();
                    waiting.push((ticket, bytes, item));
                }
                Step::Demand(bytes) => {
                    governor.demand(bytes, now);
                    under_way.push((bytes, false));
                }
                Step::Withdraw(which) if !waiting.is_empty() => {
                    let (ticket, _, item) = waiting.remove(which % waiting.len());
                    prop_assert_eq!(governor.withdraw(ticket), Some(item));
                    prop_assert_eq!(governor.withdraw(ticket), None);
                }
                Step::Arrive(which, bytes) if !under_way.is_empty() => {
                    let which = which % under_way.len();
                    let (left, governed) = &mut under_way[which];
                    let bytes = bytes.min(*left);
                    *left -= bytes;
                    governor.arrived(bytes, *governed, now);
                    under_way.retain(|(left, _)| *left > 0);
                }
                Step::Give(which) if !under_way.is_empty() => {
                    let (left, governed) = under_way.remove(which % under_way.len());
                    governor.gone(left, governed, now);
                }
                Step::Measure(rtt) => governor.measured(ms(rtt), now),
                Step::Pass(time) => now += ms(time),
                Step::Withdraw(_) | Step::Arrive(..) | Step::Give(_) => {}
            }
            let window = governor.view().window;
            prop_assert!((256 << 10..=64 << 20).contains(&window));
            while let Some((bytes, item)) = governor.next(now) {
                let place = waiting.iter().position(|(_, _, waits)| *waits == item).unwrap();
                prop_assert_eq!(waiting.remove(place).1, bytes);
                under_way.push((bytes, true));
            }
            let view = governor.view();
            prop_assert_eq!(view.queued, waiting.len());
            prop_assert_eq!(view.outstanding, under_way.iter().map(|(left, _)| left).sum::<u64>());
            prop_assert!(waiting.is_empty() || view.outstanding >= view.window || under_way.iter().any(|read| read.1));
        }
        // What is under way ends, so everything that waits has its turn.
        while let Some((left, governed)) = under_way.pop() {
            governor.gone(left, governed, now);
            while let Some((bytes, item)) = governor.next(now) {
                waiting.retain(|(_, _, waits)| *waits != item);
                under_way.push((bytes, true));
            }
        }
        prop_assert!(waiting.is_empty());
        prop_assert_eq!(governor.view().outstanding, 0);
    }
}
