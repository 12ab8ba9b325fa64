use proptest::prelude::*;

use super::*;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const SIZE: u64 = 1 << 30;

/// Reads in steps from `from` to `to`, at `rate` bytes a second; gives the furthest wish for each step.
fn run(ahead: &mut ReadAhead, from: u64, to: u64, step: u64, rate: u64, now: &mut Instant) -> Vec<Decision> {
    let mut decisions = Vec::new();
    let mut at = from;
    while at < to {
        let end = (at + step).min(to);
        let decision = ahead.read(at..end, *now);
        ahead.asked(decision.fetch.end);
        decisions.push(decision);
        *now += Duration::from_secs_f64((end - at) as f64 / rate as f64);
        at = end;
    }
    decisions
}

/// How far the wishes reach, and whether one begins where another ended.
fn reach(decisions: &[Decision]) -> u64 {
    let wishes = decisions.iter().filter(|decision| !decision.fetch.is_empty());
    wishes.fold(0, |end, decision| {
        assert!(decision.fetch.start >= end, "asked twice: {decision:?}");
        decision.fetch.end
    })
}

#[test]
fn a_probe_fetches_nothing_more() {
    let mut ahead = ReadAhead::new(SIZE);
    let mut now = Instant::now();
    for probe in [0, SIZE - 64 * KIB, 500 * MIB, 3 * MIB, 700 * MIB] {
        for decision in run(&mut ahead, probe, probe + 64 * KIB, 16 * KIB, 100 * MIB, &mut now) {
            assert_eq!(decision.fetch, 0..0);
            assert_eq!(decision.load, 0..0);
        }
    }
    // However long, one read proves nothing, and two far from each other neither.
    assert_eq!(ahead.read(10 * MIB..14 * MIB, now).fetch, 0..0);
    assert_eq!(ahead.read(50 * MIB..54 * MIB, now).fetch, 0..0);
}

#[test]
fn a_fast_reader_gets_a_window_that_grows_to_its_limit() {
    let mut ahead = ReadAhead::new(SIZE);
    let mut now = Instant::now();
    let first = run(&mut ahead, 0, 2 * BLOCK_BYTES, 128 * KIB, 50 * MIB, &mut now);
    assert!(first[..2].iter().all(|decision| decision.fetch.is_empty()), "not proven");
    assert_eq!(first[2].fetch, 384 * KIB..2 * MIB, "from the end of the read on, to the end of a request");
    let mut windows = vec![];
    let mut end = 2 * MIB;
    for mib in 1..200 {
        let from = (mib * MIB).max(2 * BLOCK_BYTES);
        end = reach(&run(&mut ahead, from, from + MIB, 128 * KIB, 50 * MIB, &mut now)).max(end);
        windows.push((end - from) / MIB);
    }
    assert!(windows.is_sorted());
    assert_eq!(*windows.last().unwrap(), 65, "the window and the rest of a request");
    assert!(windows.iter().position(|window| *window > 40).unwrap() < 25, "it grows in time: {windows:?}");
}

#[test]
fn a_paced_reader_has_some_seconds_in_front_of_it() {
    let rate = 3_000_000;
    let mut ahead = ReadAhead::new(SIZE);
    let mut now = Instant::now();
    run(&mut ahead, 0, MIB, 128 * KIB, rate, &mut now);
    let mut end = 0;
    for mib in 1..150 {
        end = reach(&run(&mut ahead, mib * MIB, (mib + 1) * MIB, 128 * KIB, rate, &mut now)).max(end);
        let ahead_bytes = end - (mib + 1) * MIB;
        assert!(ahead_bytes <= 6 * rate, "{ahead_bytes} bytes ahead at {mib} MiB");
        assert!(ahead_bytes >= MIB - 128 * KIB, "{ahead_bytes} bytes ahead at {mib} MiB");
    }
    assert!(end - 150 * MIB >= 4 * rate);
}

#[test]
fn who_read_stretches_gets_them_whole_after_a_jump_and_no_more() {
    let mut ahead = ReadAhead::new(SIZE);
    let mut now = Instant::now();
    run(&mut ahead, 5 * MIB, 7 * MIB, 128 * KIB, 50 * MIB, &mut now);
    for jump in [300, 17, 900, 899] {
        let jump = jump * MIB + 5;
        let decisions = run(&mut ahead, jump, jump + 2 * MIB, 128 * KIB, 50 * MIB, &mut now);
        assert!(decisions[0].stale.is_some());
        assert_eq!(decisions[0].demand_end, jump + 2 * MIB + KERNEL_BYTES);
        let beyond = reach(&decisions);
        let end = (jump + 2 * MIB + KERNEL_BYTES).next_multiple_of(BLOCK_BYTES);
        assert!(beyond <= end, "waits at the end of the stretch");
    }
    // Whoever goes on beyond the stretch gets a window.
    let from = 899 * MIB + 5 + 2 * MIB;
    assert!(reach(&run(&mut ahead, from, from + MIB, 128 * KIB, 50 * MIB, &mut now)) > from + MIB);
    // Who reads little has little fetched.
    run(&mut ahead, 0, 4 * KIB, 4 * KIB, MIB, &mut now);
    let decision = ahead.read(100 * MIB..100 * MIB + 4 * KIB, now);
    assert_eq!(decision.demand_end, 100 * MIB + 4 * KIB);
}

#[test]
fn who_begins_in_the_middle_gets_a_stretch_and_who_begins_at_the_beginning_does_not() {
    let now = Instant::now();
    let mut ahead = ReadAhead::new(SIZE);
    assert_eq!(ahead.read(100 * MIB..100 * MIB + 128 * KIB, now).demand_end, 102 * MIB + KERNEL_BYTES);
    // It read little there, so it gets little elsewhere.
    assert_eq!(ahead.read(300 * MIB..300 * MIB + 4 * KIB, now).demand_end, 300 * MIB + 4 * KIB);
    for first in [0, 128 * KIB] {
        let mut ahead = ReadAhead::new(SIZE);
        assert_eq!(ahead.read(first..first + 128 * KIB, now).demand_end, first + 128 * KIB);
    }
    let mut ahead = ReadAhead::new(SIZE);
    assert_eq!(ahead.read(SIZE - 64 * KIB..SIZE, now).demand_end, SIZE, "an index at the end");
}

#[test]
fn what_the_kernel_reads_beyond_a_stretch_opens_no_window() {
    let mut ahead = ReadAhead::new(SIZE);
    let mut now = Instant::now();
    run(&mut ahead, 5 * MIB, 7 * MIB, 128 * KIB, 50 * MIB, &mut now);
    let decisions = run(&mut ahead, 300 * MIB, 302 * MIB + 128 * KIB, 128 * KIB, 50 * MIB, &mut now);
    assert!(reach(&decisions) <= 302 * MIB + BLOCK_BYTES, "no more than the block that came with the jump");
}

#[test]
fn a_jump_names_what_was_fetched_for_nothing() {
    let mut ahead = ReadAhead::new(SIZE);
    let mut now = Instant::now();
    let end = reach(&run(&mut ahead, 0, 20 * MIB, 128 * KIB, 50 * MIB, &mut now));
    assert!(end > 20 * MIB);
    assert_eq!(ahead.read(500 * MIB..501 * MIB, now).stale, Some(20 * MIB..end));
    assert_eq!(ahead.read(501 * MIB..502 * MIB, now).stale, None);
}

#[test]
fn seeks_within_the_window_keep_it() {
    let mut ahead = ReadAhead::new(SIZE);
    let mut now = Instant::now();
    let end = reach(&run(&mut ahead, 0, 20 * MIB, 128 * KIB, 50 * MIB, &mut now));
    for seek in [19 * MIB, 12 * MIB, 22 * MIB, 21 * MIB] {
        assert_eq!(ahead.read(seek..seek + 4 * KIB, now).stale, None, "to {seek}");
    }
    let next = ahead.read(22 * MIB + 4 * KIB..23 * MIB, now);
    assert!(next.fetch.is_empty() || next.fetch.start >= end, "nothing twice");
    assert!(ahead.read(23 * MIB + 80 * MIB..104 * MIB, now).stale.is_some(), "beyond the window");
}

#[test]
fn reads_slightly_out_of_order_are_one_run() {
    let mut ahead = ReadAhead::new(SIZE);
    let now = Instant::now();
    let step = 128 * KIB;
    let mut wishes = 0..0;
    for (number, index) in [1, 0, 3, 2, 5, 4, 7, 6].into_iter().enumerate() {
        let decision = ahead.read(index * step..(index + 1) * step, now);
        assert_eq!(decision.stale.is_some(), number == 0, "at step {index}");
        ahead.asked(decision.fetch.end);
        if !decision.fetch.is_empty() {
            wishes = decision.fetch;
        }
    }
    assert!(wishes.end >= 2 * MIB);
}

#[test]
fn after_a_failure_it_pauses_and_then_asks_again() {
    let mut ahead = ReadAhead::new(SIZE);
    let mut now = Instant::now();
    run(&mut ahead, 0, 10 * MIB, 128 * KIB, 50 * MIB, &mut now);
    ahead.failed(now);
    let paused = run(&mut ahead, 10 * MIB, 11 * MIB, 128 * KIB, 50 * MIB, &mut now);
    assert!(paused.iter().all(|decision| decision.fetch.is_empty()));
    let decision = ahead.read(11 * MIB..11 * MIB + 4 * KIB, now + PAUSE);
    assert_eq!(
        decision.fetch,
        11 * MIB + 4 * KIB..13 * MIB,
        "what failed is asked for again, from a small window on"
    );
}

#[test]
fn what_memory_does_not_allow_is_asked_for_later() {
    let mut ahead = ReadAhead::new(SIZE);
    let now = Instant::now();
    ahead.read(0..MIB, now);
    let wish = ahead.read(MIB..2 * MIB, now).fetch;
    ahead.asked(wish.start);
    let again = ahead.read(2 * MIB..2 * MIB + KIB, now).fetch;
    assert_eq!(again.start, 2 * MIB + KIB);
    assert!(again.end >= wish.end);
}

#[test]
fn the_end_of_the_content_is_the_end() {
    let size = 3 * MIB + 5;
    let mut ahead = ReadAhead::new(size);
    let mut now = Instant::now();
    let decisions = run(&mut ahead, 0, size, 100_000, 50 * MIB, &mut now);
    assert_eq!(reach(&decisions), size);
    assert!(decisions.iter().all(|decision| decision.load.end <= size && decision.demand_end <= size));
}

proptest! {
    #[test]
    fn wishes_are_sane(
        size in 1..5 * SIZE,
        reads in prop::collection::vec((any::<u64>(), 1..2 * MIB, 0..3000u64, any::<bool>()), 1..200),
    ) {
        let mut ahead = ReadAhead::new(size);
        let mut now = Instant::now();
        let mut last = 0;
        for (offset, length, millis, goes_on) in reads {
            now += Duration::from_millis(millis);
            let start = if goes_on { last } else { offset } % size;
            let end = (start + length).min(size);
            last = end;
            let Decision { stale, demand_end, load, fetch } = ahead.read(start..end, now);
            prop_assert!(demand_end >= end && demand_end <= size);
            prop_assert!(demand_end <= end.max(start + JUMP_BYTES + KERNEL_BYTES));
            prop_assert!(load.end <= size && load.end <= end + WINDOW_MOST + LOAD_BYTES);
            prop_assert!(fetch.end <= size);
            prop_assert!(fetch.end - fetch.start <= WINDOW_MOST + REQUEST_BYTES);
            if !goes_on && stale.is_some() {
                prop_assert!(fetch.is_empty(), "a jump proves nothing");
            }
            if millis % 7 == 0 {
                ahead.failed(now);
            } else {
                ahead.asked(fetch.end);
            }
        }
    }
}
