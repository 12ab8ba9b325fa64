//! How many bytes may be outstanding. No I/O and no clock.
//!
//! The aim is the *knee*: the least that keeps the path full. Below it a larger window brings a higher rate, above it
//! only a queue, in which everything waits. Two things find it:
//!
//! * The model of BBR (draft-ietf-ccwg-bbr): the rate at which bytes arrive times the least round trip is on its way
//!   in any case, so the window is never less than a little over that.
//! * Trials, in the manner of PCC (Dong and others, NSDI 2015): the window is made a tenth larger or smaller for
//!   three rounds, and stays so if the rate says so. They see what the model does not: more bandwidth than before, lanes
//!   that wait for lost packets, somebody else's traffic, and a least round trip that was measured in a queue.
//!
//! A *round* ends when a byte arrives that was asked for after it began. So it is never shorter than a round trip, and
//! what arrives within it tells of the window at its beginning.

use std::time::Duration;

use tokio::time::Instant;

use super::rtt::LeastRtt;

/// The first window. Slow links queue it at the sender, where urgent bytes pass it.
pub(crate) const START_BYTES: u64 = 8 << 20;
const LEAST_BYTES: u64 = 256 << 10;
/// What 1 Gbit/s holds at 500 ms; stream windows of QUIC are as large.
const MOST_BYTES: u64 = 64 << 20;
/// Beyond rate times round trip, for what is neither: requests, disks, tasks that wait for their turn.
const MARGIN_BYTES: f64 = 65_536.0;
const MARGIN: f64 = 1.02;
/// Round trips below this count as this: on short ways tasks and disks take longer than the wire.
const RTT_LEAST: Duration = Duration::from_millis(10);
/// A round is no shorter, so that one that is measured holds more than a few parts.
const ROUND_LEAST: Duration = Duration::from_millis(20);

/// A start goes on while a round brings so much more than the best before...
const START_GROWTH: f64 = 1.25;
/// ... and ends after so many in which it did not.
const START_FLAT: u32 = 3;
/// Window in a start, in bytes that the model says.
const START_GAIN: f64 = 2.0;

/// First step of a trial, as a part of the window; it doubles as long as trials in a row are right.
const STEP: f64 = 0.1;
const STEP_UP_MOST: f64 = 0.5;
const STEP_DOWN_MOST: f64 = 0.5;
/// A larger window is right if the rate grows by so much of the window's growth, a smaller one if it does not shrink by
/// more. Beside another sender who fills the queue, this ends at about 1 - 0.4 of the link.
const ELASTICITY: f64 = 0.4;
/// Bytes of which less than this part shows as a longer wait are not in a queue: lanes that wait for a lost packet need
/// them...
const QUEUED: f64 = 0.3;
/// ... up to so many times the model.
const UNQUEUED_MOST: f64 = 2.0;
/// Waits that differ by less tell nothing.
const WAIT_LEAST_TOLD: Duration = Duration::from_millis(4);
/// Rounds of a trial that are measured, after one in which its window takes hold; one more for each so much by which
/// rounds differ from the mean, up to four times as many.
const TRIAL_ROUNDS: u32 = 2;
const NOISE: f64 = 0.04;
/// Rounds between trials; doubles up to [`WAIT_MOST`] while trials only confirm the window.
const WAIT_LEAST: u32 = 4;
const WAIT_MOST: u32 = 32;
/// Long rounds make trials no rarer than this.
const WAIT_TIME: Duration = Duration::from_secs(8);
/// Rounds that the mean rate tells of, about.
const MEMORY_ROUNDS: u32 = 8;
/// Two rounds that are so far off the mean tell of another link than before.
const SURPRISE: std::ops::Range<f64> = 0.7..1.4;
/// What is so far beyond the model is more than the path needs, unless something else than a queue holds it up; a window
/// that is, while answers take longer, is tried smaller at once.
const EXCESS: f64 = 1.25;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

/// Bytes over time.
#[derive(Debug, Clone, Copy, Default)]
struct Measured {
    bytes: f64,
    seconds: f64,
    rounds: u32,
    /// The least that an answer took, in the last round.
    rtt: Option<Duration>,
}

impl Measured {
    /// Another round follows.
    fn add(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.seconds += other.seconds;
        self.rounds += other.rounds;
        self.rtt = other.rtt;
    }

    /// Makes what was before count half.
    fn fade(&mut self) {
        self.bytes /= 2.0;
        self.seconds /= 2.0;
        self.rounds /= 2;
    }

    /// Bytes per second.
    fn rate(&self) -> f64 {
        if self.seconds > 0.0 { self.bytes / self.seconds } else { 0.0 }
    }
}

#[derive(Debug, Clone, Copy)]
struct Round {
    since: Instant,
    /// Bytes that had arrived before.
    arrived: u64,
    /// It ends with the byte after so many.
    until: u64,
    /// There was more to ask for than the window let through, all the time.
    full: bool,
    /// Bytes outstanding when it began.
    outstanding: u64,
    /// The least round trip measured in it.
    rtt: Option<Duration>,
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    /// The window doubles each round.
    Start { best: f64, flat: u32 },
    /// The window stays.
    Cruise(Cruise),
    /// Another window is tried.
    Trial(Trial),
}

#[derive(Debug, Clone, Copy)]
struct Cruise {
    /// One round passes until what arrives tells of this window.
    settled: bool,
    since: Instant,
    rounds: u32,
    mean: Measured,
    last: Option<Measured>,
}

impl Cruise {
    fn new(now: Instant) -> Self {
        Self { settled: false, since: now, rounds: 0, mean: Measured::default(), last: None }
    }
}

#[derive(Debug, Clone, Copy)]
struct Trial {
    step: f64,
    to: u64,
    /// At the window that is kept if this is not right.
    before: Measured,
    settled: bool,
    measured: Measured,
}

/// The window of one session, and what is outstanding in it.
#[derive(Debug)]
pub(super) struct Window {
    /// What a start begins with.
    start: u64,
    /// What stays if a trial is not right.
    kept: u64,
    /// What holds now.
    now: u64,
    phase: Phase,
    next: Direction,
    wait: u32,
    /// The last smaller window was not right.
    refused_down: bool,
    /// By which part rounds differ from the mean, on average.
    noise: f64,
    rtt: LeastRtt,
    round: Round,
    /// Bytes asked for, and of these the ones that arrived or will not come; both since the beginning.
    granted: u64,
    settled: u64,
    arrived: u64,
    /// Of the last full round, in bytes per second.
    rate: f64,
}

impl Window {
    /// Begins with the window of a session on a way like this one, if there was one.
    pub(super) fn new(former: Option<u64>, now: Instant) -> Self {
        let start = former.unwrap_or(START_BYTES).clamp(START_BYTES, MOST_BYTES);
        Self {
            start,
            kept: start,
            now: start,
            phase: Phase::Start { best: 0.0, flat: 0 },
            next: Direction::Up,
            wait: WAIT_LEAST,
            refused_down: false,
            noise: 0.0,
            rtt: LeastRtt::default(),
            round: Round { since: now, arrived: 0, until: 0, full: false, outstanding: 0, rtt: None },
            granted: 0,
            settled: 0,
            arrived: 0,
            rate: 0.0,
        }
    }

    /// How many bytes may be outstanding now.
    pub(super) fn size(&self) -> u64 {
        self.now
    }

    /// What a session that takes over may begin with.
    pub(super) fn kept(&self) -> u64 {
        self.kept
    }

    /// How many bytes are.
    pub(super) fn outstanding(&self) -> u64 {
        self.granted - self.settled
    }

    /// At which rate bytes arrived when the window was last full, in bytes per second.
    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    /// The least round trip of late.
    pub(super) fn least_rtt(&self) -> Option<Duration> {
        self.rtt.least()
    }

    /// A request may take the window beyond its size by itself, so that the path never waits for the next one.
    pub(super) fn has_room(&self) -> bool {
        self.outstanding() < self.now
    }

    /// A request goes out.
    pub(super) fn granted(&mut self, bytes: u64, now: Instant) {
        if self.outstanding() == 0 {
            // What arrives until the first answer tells of the round trip, not of the rate.
            self.begin_round(now, false);
        }
        self.granted += bytes;
    }

    /// There is room, and nothing to ask for.
    pub(super) fn idle(&mut self) {
        self.round.full = false;
    }

    /// Something took this long to come back.
    pub(super) fn measured(&mut self, rtt: Duration, now: Instant) {
        self.rtt.add(rtt, now);
        self.round.rtt = Some(self.round.rtt.map_or(rtt, |least| least.min(rtt)));
    }

    /// Bytes that were asked for arrive.
    pub(super) fn arrived(&mut self, bytes: u64, now: Instant) {
        let bytes = bytes.min(self.outstanding());
        self.settled += bytes;
        self.arrived += bytes;
        if let Phase::Start { best, .. } = self.phase {
            let most = ((self.model(best) as f64 * START_GAIN) as u64).clamp(self.start, MOST_BYTES);
            self.now = (self.now + bytes).min(most);
        }
        self.end_round(now);
    }

    /// Bytes that were asked for will not come.
    pub(super) fn gone(&mut self, bytes: u64, now: Instant) {
        self.settled += bytes.min(self.outstanding());
        self.end_round(now);
    }

    fn begin_round(&mut self, now: Instant, full: bool) {
        self.round = Round {
            since: now,
            arrived: self.arrived,
            until: self.granted,
            full,
            outstanding: self.outstanding(),
            rtt: None,
        };
    }

    fn end_round(&mut self, now: Instant) {
        let time = now.duration_since(self.round.since);
        if self.settled <= self.round.until || time < ROUND_LEAST {
            return;
        }
        let bytes = (self.arrived - self.round.arrived) as f64;
        let measured = Measured { bytes, seconds: time.as_secs_f64(), rounds: 1, rtt: self.round.rtt };
        let ended = self.round;
        self.begin_round(now, true);
        // Where more was outstanding than the path needs, it was full though the window was not.
        let excess = ended.outstanding as f64 > self.model(measured.rate()) as f64 * EXCESS;
        if !ended.full && !excess {
            if let Phase::Trial(_) = self.phase {
                self.cruise(now);
            }
            return;
        }
        self.rate = measured.rate();
        match self.phase {
            Phase::Start { best, flat } => self.start_on(best, flat, measured.rate(), now),
            Phase::Cruise(cruise) => self.cruise_on(cruise, measured, now),
            Phase::Trial(trial) => self.try_on(trial, measured, now),
        }
    }

    fn start_on(&mut self, best: f64, flat: u32, rate: f64, now: Instant) {
        let flat = if rate >= best * START_GROWTH { 0 } else { flat + 1 };
        let best = best.max(rate);
        self.phase = Phase::Start { best, flat };
        if flat >= START_FLAT {
            self.kept = self.model(best);
            self.cruise(now);
        }
    }

    fn cruise_on(&mut self, mut cruise: Cruise, measured: Measured, now: Instant) {
        if !cruise.settled {
            cruise.settled = true;
            self.phase = Phase::Cruise(cruise);
            return;
        }
        cruise.rounds += 1;
        let mut two = cruise.last.unwrap_or_default();
        two.add(measured);
        cruise.last = Some(measured);
        let mean = cruise.mean.rate();
        if two.rounds == 2 && cruise.mean.rounds >= 2 && !SURPRISE.contains(&(two.rate() / mean)) {
            cruise.mean = two;
            self.wait = WAIT_LEAST;
            self.refused_down = false;
            if two.rate() > mean {
                self.next = Direction::Up;
            }
        } else {
            if cruise.mean.rounds >= MEMORY_ROUNDS {
                cruise.mean.fade();
            }
            cruise.mean.add(measured);
            // Requests that were given up may end rounds in which nothing arrived.
            let mean = cruise.mean.rate().max(1.0);
            self.noise += ((measured.rate() / mean - 1.0).abs() - self.noise) / 8.0;
        }
        self.phase = Phase::Cruise(cruise);
        let rate = cruise.mean.rate();
        let model = self.model(rate);
        if model > self.kept {
            self.kept = model;
            self.now = model;
        }
        if cruise.mean.rounds < 2 {
            return;
        }
        if measured.rtt.is_some_and(|rtt| self.is_queued(rtt))
            && !self.refused_down
            && self.kept as f64 > model as f64 * EXCESS
        {
            let step = (1.0 - model as f64 / self.kept as f64).min(STEP_DOWN_MOST);
            self.try_out(Direction::Down, step, cruise.mean);
        } else if cruise.rounds >= self.wait || now.duration_since(cruise.since) >= WAIT_TIME {
            self.try_out(self.next, STEP, cruise.mean);
        }
    }

    fn try_on(&mut self, mut trial: Trial, measured: Measured, now: Instant) {
        if trial.settled {
            trial.measured.add(measured);
        }
        trial.settled = true;
        self.phase = Phase::Trial(trial);
        let more = ((self.noise / NOISE) as u32).min(3 * TRIAL_ROUNDS);
        if trial.measured.rounds < TRIAL_ROUNDS + more {
            return;
        }
        let rate = trial.measured.rate();
        let (from, to) = (self.kept as f64, trial.to as f64);
        let direction = if to > from { Direction::Up } else { Direction::Down };
        let right = match direction {
            Direction::Up => self.is_used(from, &trial.before, to, &trial.measured),
            Direction::Down => !self.is_used(to, &trial.measured, from, &trial.before),
        };
        if !right {
            self.next = match direction {
                Direction::Up => Direction::Down,
                Direction::Down => Direction::Up,
            };
            self.refused_down = direction == Direction::Down;
            if trial.step <= STEP {
                self.wait = (self.wait * 2).min(WAIT_MOST);
            }
            self.cruise(now);
            return;
        }
        self.wait = WAIT_LEAST;
        let model = self.model(rate);
        self.kept = trial.to.max(model);
        let (step, further) = match direction {
            Direction::Up => {
                self.refused_down = false;
                ((trial.step * 2.0).min(STEP_UP_MOST), self.kept < MOST_BYTES)
            }
            // Not below the model: from there on it is the rate that would shrink.
            Direction::Down => {
                let most = 1.0 - model as f64 / self.kept as f64;
                ((trial.step * 2.0).min(STEP_DOWN_MOST).min(most), most >= STEP / 2.0)
            }
        };
        if further {
            self.try_out(direction, step, trial.measured);
        } else {
            self.next = Direction::Up;
            self.cruise(now);
        }
    }

    /// Whether the path has a use for the bytes between two windows: they bring a higher rate, or at least do not wait in
    /// a queue.
    fn is_used(&self, low: f64, at_low: &Measured, high: f64, at_high: &Measured) -> bool {
        let (slow, fast) = (at_low.rate(), at_high.rate());
        if fast / slow - 1.0 >= ELASTICITY * (high / low - 1.0) {
            return true;
        }
        let queue = Duration::from_secs_f64((high - low) / fast.max(1.0));
        let Some((short, long)) = at_low.rtt.zip(at_high.rtt) else { return false };
        queue >= WAIT_LEAST_TOLD
            && !self.is_queued(long)
            && high <= self.model(fast) as f64 * UNQUEUED_MOST
            && long.saturating_sub(short) < queue.mul_f64(QUEUED)
    }

    /// Whether an answer that took so long waited in a queue.
    fn is_queued(&self, rtt: Duration) -> bool {
        rtt > self.rtt.least().unwrap_or_default().mul_f64(EXCESS) + RTT_LEAST
    }

    /// Begins a trial, if there is another window to try.
    fn try_out(&mut self, direction: Direction, step: f64, before: Measured) {
        let kept = self.kept as f64;
        let to = match direction {
            Direction::Up => kept * (1.0 + step),
            Direction::Down => kept * (1.0 - step),
        };
        let to = (to as u64).clamp(LEAST_BYTES, MOST_BYTES);
        if to == self.kept {
            self.next = if direction == Direction::Up { Direction::Down } else { Direction::Up };
            return;
        }
        self.now = to;
        self.phase = Phase::Trial(Trial { step, to, before, settled: false, measured: Measured::default() });
    }

    fn cruise(&mut self, now: Instant) {
        self.now = self.kept;
        self.phase = Phase::Cruise(Cruise::new(now));
    }

    /// What is on its way at `rate` in any case, and a little more.
    fn model(&self, rate: f64) -> u64 {
        let rtt = self.rtt.least().unwrap_or_default().max(RTT_LEAST);
        let bytes = rate * rtt.as_secs_f64() * MARGIN + MARGIN_BYTES;
        (bytes as u64).clamp(LEAST_BYTES, MOST_BYTES)
    }
}
