//! The window on a simulated link: a rate, a drop-tail buffer, a delay, and loss that is none of the buffer's.

use super::*;

const PACKET: u64 = 1400;

/// A sender under a [`Window`], and its link.
struct Link {
    window: Window,
    now: Instant,
    /// Bytes per second.
    rate: f64,
    rtt: Duration,
    /// How long a packet may wait at the link.
    buffer: Duration,
    /// Every so many packets one is lost.
    lose_every: Option<u64>,
    free: Instant,
    next: u64,
    /// Numbers, and when they are acknowledged or found to be lost.
    flying: VecDeque<(u64, Instant, bool)>,
    sent: u64,
    delivered: u64,
    lost: u64,
}

impl Link {
    fn new(megabytes: f64, rtt_ms: u64) -> Self {
        let now = Instant::now();
        Self {
            window: Window::new(now),
            now,
            rate: megabytes * 1e6,
            rtt: Duration::from_millis(rtt_ms),
            buffer: Duration::from_millis(200),
            lose_every: None,
            free: now,
            next: 0,
            flying: VecDeque::new(),
            sent: 0,
            delivered: 0,
            lost: 0,
        }
    }

    /// Lets `time` pass, in which at most `outstanding` bytes are asked for at once.
    fn run(&mut self, time: Duration, outstanding: u64) {
        let until = self.now + time;
        while self.now < until {
            self.now += Duration::from_micros(500);
            self.arrive();
            let flying = |link: &Self| link.flying.len() as u64 * PACKET;
            while flying(self) < self.window.window().min(outstanding) {
                self.send();
            }
            self.window.round.idle |= flying(self) < self.window.window();
        }
    }

    fn send(&mut self) {
        let start = self.free.max(self.now);
        let by_chance = self.lose_every.is_some_and(|every| self.next % every == every - 1);
        let lost = by_chance || start - self.now > self.buffer;
        if !lost {
            self.free = start + Duration::from_secs_f64(PACKET as f64 / self.rate);
        }
        self.window.on_sent(self.now, PACKET, self.next);
        let back = start.max(self.free).min(self.now + self.buffer) + self.rtt;
        self.flying.push_back((self.next, back, lost));
        self.next += 1;
        self.sent += 1;
    }

    fn arrive(&mut self) {
        let mut largest = None;
        while let Some((number, at, lost)) = self.flying.front().copied()
            && at <= self.now
        {
            self.flying.pop_front();
            if lost {
                self.lost += 1;
                self.window.on_congestion_event(self.now, at - self.rtt, false, PACKET);
            } else {
                self.delivered += PACKET;
                let idle = self.flying.len() as u64 * PACKET + PACKET < self.window.window();
                let queued = self.free.saturating_duration_since(self.now);
                self.window.delivered(PACKET, idle, self.rtt + queued, self.now);
                largest = Some(number);
            }
        }
        if let Some(largest) = largest {
            self.window.acknowledged(largest, self.now);
        }
    }

    /// Bytes delivered in `time`, as a share of what the link carries.
    fn used(&mut self, time: Duration, outstanding: u64) -> f64 {
        let before = self.delivered;
        self.run(time, outstanding);
        (self.delivered - before) as f64 / (self.rate * time.as_secs_f64())
    }

    fn product(&self) -> f64 {
        self.rate * self.rtt.as_secs_f64()
    }
}

const SECOND: Duration = Duration::from_secs(1);
const NO_LIMIT: u64 = u64::MAX;

#[test]
fn a_link_is_filled_and_the_window_stays_bounded() {
    for (megabytes, rtt_ms) in [(72.0, 200), (72.0, 330), (5.0, 50), (110.0, 2)] {
        let mut link = Link::new(megabytes, rtt_ms);
        link.run(5 * SECOND, NO_LIMIT);
        let used = link.used(5 * SECOND, NO_LIMIT);
        assert!(used > 0.95, "{megabytes} MB/s at {rtt_ms} ms: {used}");
        let most = 2.0 * GAIN * link.product() + LEAST as f64;
        assert!((link.window.window() as f64) < most, "{} of {most}", link.window.window());
    }
}

#[test]
fn some_loss_costs_no_rate() {
    for lose_every in [1000, 50] {
        let mut link = Link::new(72.0, 200);
        link.lose_every = Some(lose_every);
        link.run(5 * SECOND, 15 << 20);
        let used = link.used(10 * SECOND, 15 << 20);
        assert!(used > 0.9, "one of {lose_every} packets lost: {used}");
    }
}

#[test]
fn a_link_that_cannot_queue_is_not_flooded() {
    let mut link = Link::new(10.0, 100);
    link.buffer = Duration::from_millis(20);
    link.run(10 * SECOND, NO_LIMIT);
    let (sent, lost) = (link.sent, link.lost);
    link.run(20 * SECOND, NO_LIMIT);
    let share = (link.lost - lost) as f64 / (link.sent - sent) as f64;
    assert!(share < 2.0 * HEAVY_LOSS, "{share} of the packets were lost");
}

#[test]
fn a_slower_link_brings_the_window_down_and_a_faster_one_up() {
    let mut link = Link::new(72.0, 100);
    link.run(5 * SECOND, NO_LIMIT);
    link.rate /= 8.0;
    link.run(10 * SECOND, NO_LIMIT);
    assert!((link.window.window() as f64) < 5.0 * link.product());
    link.rate *= 4.0;
    link.run(5 * SECOND, NO_LIMIT);
    assert!(link.used(5 * SECOND, NO_LIMIT) > 0.9);
}

#[test]
fn who_asks_for_little_loses_nothing_of_the_window() {
    let mut link = Link::new(72.0, 200);
    link.run(5 * SECOND, NO_LIMIT);
    let window = link.window.window();
    link.run(20 * SECOND, 64 << 10);
    assert!(link.window.window() * 2 > window, "{} of {window}", link.window.window());
    link.run(SECOND, 0);
    assert!(link.used(SECOND, 15 << 20) > 0.7);
}

#[test]
fn a_path_that_was_away_is_measured_anew() {
    let mut link = Link::new(72.0, 200);
    link.run(5 * SECOND, NO_LIMIT);
    link.window.on_congestion_event(link.now, link.now, true, 0);
    assert_eq!(link.window.window(), INITIAL);
    link.run(5 * SECOND, NO_LIMIT);
    assert!(link.used(SECOND, NO_LIMIT) > 0.9);
}
