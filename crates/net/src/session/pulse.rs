//! Whether the other end is there, and how far away. No I/O and no clock.

use std::time::Duration;

use tokio::time::Instant;

/// How often the round trip is measured.
const EVERY: Duration = Duration::from_secs(15);
/// While calls wait, silence of this long is asked about.
const QUIET: Duration = Duration::from_secs(3);
/// Silence of this long after a ping is the end of trust: with [`QUIET`], within 10 s of the last that came.
const ANSWERED_WITHIN: Duration = Duration::from_secs(6);

/// What is to be done or told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beat {
    /// Send a ping of this number.
    Ping(u64),
    /// Nothing came in time.
    Silent,
    /// Something came again.
    Alive,
}

/// Pings of one session.
#[derive(Debug)]
pub(super) struct Pulse {
    last: u64,
    /// When the last ping was sent, and whether nothing has come since.
    pinged: Option<(Instant, bool)>,
    /// Number of the last pong.
    ponged: u64,
    silent: bool,
    rtt: Option<Duration>,
}

impl Pulse {
    pub(super) fn new() -> Self {
        Self { last: 0, pinged: None, ponged: 0, silent: false, rtt: None }
    }

    /// The next thing, asked again until there is none. `heard` is when anything last came, `busy` whether calls wait.
    pub(super) fn beat(&mut self, now: Instant, heard: Instant, busy: bool) -> Option<Beat> {
        if let Some((sent, waiting @ true)) = &mut self.pinged
            && heard > *sent
        {
            // Whatever came shows as much as the answer would.
            *waiting = false;
        }
        match self.pinged {
            Some((sent, true)) if now >= sent + ANSWERED_WITHIN && !self.silent => {
                self.silent = true;
                Some(Beat::Silent)
            }
            Some((_, true)) => None,
            Some((_, false)) if self.silent => {
                self.silent = false;
                Some(Beat::Alive)
            }
            Some((sent, false)) if now < Self::due(sent, heard, busy) => None,
            Some((_, false)) | None => {
                self.last += 1;
                self.pinged = Some((now, true));
                Some(Beat::Ping(self.last))
            }
        }
    }

    /// A pong came.
    pub(super) fn pong(&mut self, number: u64, now: Instant) {
        if let Some((sent, waiting)) = &mut self.pinged
            && number == self.last
            && number > self.ponged
        {
            self.ponged = number;
            *waiting = false;
            self.rtt = Some(now - *sent);
        }
    }

    /// The round trip, as last measured.
    pub(super) fn rtt(&self) -> Option<Duration> {
        self.rtt
    }

    /// When [`Self::beat`] has something to do, unless something comes before.
    pub(super) fn deadline(&self, heard: Instant, busy: bool) -> Option<Instant> {
        match self.pinged {
            Some((sent, true)) => (!self.silent).then_some(sent + ANSWERED_WITHIN),
            Some((sent, false)) => Some(Self::due(sent, heard, busy)),
            None => Some(heard),
        }
    }

    fn due(sent: Instant, heard: Instant, busy: bool) -> Instant {
        let regular = sent + EVERY;
        if busy { regular.min(sent.max(heard) + QUIET) } else { regular }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn the_first_ping_goes_at_once_and_measures() {
        let start = Instant::now();
        let mut pulse = Pulse::new();
        assert_eq!(pulse.beat(start, start, false), Some(Beat::Ping(1)));
        assert_eq!(pulse.beat(start, start, false), None);
        pulse.pong(1, start + Duration::from_millis(200));
        assert_eq!(pulse.rtt(), Some(Duration::from_millis(200)));
        let heard = start + Duration::from_millis(200);
        assert_eq!(pulse.beat(start + seconds(14), heard, false), None);
        assert_eq!(pulse.beat(start + seconds(15), heard, false), Some(Beat::Ping(2)));
        // An answer to an older ping, or a second one, measures nothing.
        pulse.pong(1, start + seconds(16));
        assert_eq!(pulse.rtt(), Some(Duration::from_millis(200)));
    }

    #[test]
    fn silence_under_calls_is_noticed_within_ten_seconds() {
        let start = Instant::now();
        let mut pulse = Pulse::new();
        pulse.beat(start, start, true);
        let heard = start + Duration::from_millis(1);
        pulse.pong(1, heard);
        let now = loop {
            let due = pulse.deadline(heard, true).unwrap();
            if pulse.beat(due, heard, true) == Some(Beat::Silent) {
                break due;
            }
        };
        assert!(now - heard <= seconds(10), "{:?}", now - heard);
        // It is told once, and its end too.
        assert_eq!(pulse.beat(now + seconds(1), heard, true), None);
        assert_eq!(pulse.deadline(heard, true), None);
        let again = now + seconds(2);
        assert_eq!(pulse.beat(again, again, true), Some(Beat::Alive));
    }

    #[test]
    fn an_idle_end_that_is_gone_is_noticed_within_thirty_seconds() {
        let start = Instant::now();
        let mut pulse = Pulse::new();
        pulse.beat(start, start, false);
        pulse.pong(1, start + Duration::from_millis(1));
        let mut now = start;
        while pulse.beat(now, start + Duration::from_millis(1), false) != Some(Beat::Silent) {
            now = pulse.deadline(start, false).unwrap().max(now);
        }
        assert!(now - start <= seconds(30), "{:?}", now - start);
    }

    #[test]
    fn traffic_is_as_good_as_a_pong() {
        let start = Instant::now();
        let mut pulse = Pulse::new();
        let mut now = start;
        for _ in 0..100 {
            now += seconds(1);
            let heard = now - Duration::from_millis(10);
            assert_ne!(pulse.beat(now, heard, true), Some(Beat::Silent));
        }
    }
}
