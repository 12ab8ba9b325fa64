//! How fast a transfer goes, and how long it will take.

use std::time::Duration;

use tokio::time::Instant;

/// How long a change of rate takes to show by about two thirds.
const SMOOTH: Duration = Duration::from_secs(4);
/// Shorter spans say little about a rate.
const SPAN: Duration = Duration::from_millis(500);

/// An exponentially weighted average of bytes per second.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rate {
    since: Instant,
    bytes: u64,
    rate: Option<f64>,
}

impl Rate {
    /// Begins to measure at `now`.
    pub(crate) fn new(now: Instant) -> Self {
        Self { since: now, bytes: 0, rate: None }
    }

    /// Bytes that arrived until `now`.
    pub(crate) fn add(&mut self, bytes: u64, now: Instant) {
        self.bytes += bytes;
        let span = now.saturating_duration_since(self.since);
        if span < SPAN {
            return;
        }
        let latest = self.bytes as f64 / span.as_secs_f64();
        self.rate = Some(match self.rate {
            None => latest,
            Some(before) => {
                let weight = 1.0 - (-span.as_secs_f64() / SMOOTH.as_secs_f64()).exp();
                before + (latest - before) * weight
            }
        });
        (self.since, self.bytes) = (now, 0);
    }

    /// Bytes per second.
    pub(crate) fn per_second(&self) -> u64 {
        self.rate.unwrap_or(0.0) as u64
    }

    /// Seconds that `bytes` take at this rate; `None` while there is none.
    pub(crate) fn seconds_for(&self, bytes: u64) -> Option<u64> {
        let rate = self.per_second();
        (rate > 0).then(|| bytes.div_ceil(rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_the_rate_and_knows_the_end() {
        let start = Instant::now();
        let mut rate = Rate::new(start);
        assert_eq!((rate.per_second(), rate.seconds_for(1)), (0, None));
        for second in 1..=20u32 {
            rate.add(1000, start + Duration::from_secs(second.into()));
        }
        assert_eq!((rate.per_second(), rate.seconds_for(5001)), (1000, Some(6)));
        for second in 21..=60u32 {
            rate.add(3000, start + Duration::from_secs(second.into()));
        }
        assert!((2990..=3000).contains(&rate.per_second()), "{}", rate.per_second());
        // Nothing comes: that shows too.
        rate.add(0, start + Duration::from_secs(200));
        assert_eq!(rate.per_second(), 0);
    }
}
