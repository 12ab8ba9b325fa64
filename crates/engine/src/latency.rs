//! Latencies of now: a histogram that forgets.

use std::time::Duration;

use hdrhistogram::Histogram;

use crate::status::LatencySummary;

/// So many latencies fill a half: enough for a 99th percentile that is not one outlier.
pub(crate) const HALF: u64 = 512;
/// Longer ones count as this, in microseconds: no request waits so long.
const LONGEST: u64 = 60_000_000;
/// Significant digits that are kept.
const DIGITS: u8 = 3;

/// The latest of one kind: at least [`HALF`] once there were so many, and less than twice that.
#[derive(Debug)]
pub(crate) struct Latencies {
    count: u64,
    old: Histogram<u16>,
    new: Histogram<u16>,
}

impl Default for Latencies {
    fn default() -> Self {
        let half = || Histogram::new_with_max(LONGEST, DIGITS).expect("a range that a histogram can have");
        Self { count: 0, old: half(), new: half() }
    }
}

impl Latencies {
    pub(crate) fn record(&mut self, latency: Duration) {
        self.count += 1;
        if self.new.len() == HALF {
            std::mem::swap(&mut self.old, &mut self.new);
            self.new.reset();
        }
        self.new.saturating_record(u64::try_from(latency.as_micros()).unwrap_or(LONGEST));
    }

    pub(crate) fn summary(&self) -> LatencySummary {
        let mut latest = self.old.clone();
        latest += &self.new;
        let ms = |microseconds: u64| microseconds as f64 / 1e3;
        LatencySummary {
            count: self.count,
            p50_ms: ms(latest.value_at_quantile(0.5)),
            p95_ms: ms(latest.value_at_quantile(0.95)),
            p99_ms: ms(latest.value_at_quantile(0.99)),
            max_ms: ms(latest.max()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn milliseconds(latencies: &mut Latencies, all: impl IntoIterator<Item = u64>) {
        all.into_iter().for_each(|latency| latencies.record(Duration::from_millis(latency)));
    }

    #[test]
    fn nothing_yet_is_zero() {
        assert_eq!(Latencies::default().summary(), LatencySummary::default());
    }

    #[test]
    fn figures_are_of_the_latest() {
        let mut latencies = Latencies::default();
        milliseconds(&mut latencies, [9000]);
        milliseconds(&mut latencies, 1..HALF);
        assert!(latencies.summary().max_ms >= 9000.0);
        milliseconds(&mut latencies, (0..=HALF).map(|_| 7));
        let summary = latencies.summary();
        assert_eq!(summary.count, 2 * HALF + 1);
        assert!((7.0..7.01).contains(&summary.max_ms), "{summary:?}");
    }

    #[test]
    fn what_is_too_long_is_counted_as_the_longest() {
        let mut latencies = Latencies::default();
        latencies.record(Duration::MAX);
        assert!(latencies.summary().max_ms >= 60_000.0);
    }

    proptest! {
        #[test]
        fn percentiles_are_those_of_the_sorted_latencies(mut all in prop::collection::vec(1..50_000_u64, 1..400)) {
            let mut latencies = Latencies::default();
            milliseconds(&mut latencies, all.iter().copied());
            all.sort_unstable();
            let summary = latencies.summary();
            for (percent, found) in [(50, summary.p50_ms), (95, summary.p95_ms), (99, summary.p99_ms), (100, summary.max_ms)] {
                // Nearest rank: the smallest that `percent` of all do not exceed.
                let exact = all[(all.len() * percent).div_ceil(100) - 1] as f64;
                prop_assert!((exact..=exact * 1.001 + 0.001).contains(&found), "{percent}: {exact} {found}");
            }
        }
    }
}
