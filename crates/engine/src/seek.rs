//! How long jumps take: reads that missed the cache away from where the last one of their file ended. Only the
//! latest of each kind are kept, so that the figures tell of now.

use std::collections::VecDeque;
use std::time::Duration;

use crate::status::{LatencySummary, SeekStatus};

/// How many latencies of a kind are kept: enough for a 95th percentile that is not one outlier.
const KEPT: usize = 512;

#[derive(Debug, Default)]
struct Latest {
    count: u64,
    kept: VecDeque<Duration>,
}

impl Latest {
    fn record(&mut self, latency: Duration) {
        self.count += 1;
        if self.kept.len() == KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back(latency);
    }

    fn summary(&self) -> LatencySummary {
        let mut sorted: Vec<Duration> = self.kept.iter().copied().collect();
        sorted.sort_unstable();
        // Nearest rank: the smallest latency that `percent` of all do not exceed.
        let rank = |percent: usize| {
            let index = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
            sorted.get(index).map_or(0.0, |latency| latency.as_secs_f64() * 1e3)
        };
        LatencySummary { count: self.count, p50_ms: rank(50), p95_ms: rank(95), max_ms: rank(100) }
    }
}

/// The latest jumps, apart by whether something else was being fetched.
#[derive(Debug, Default)]
pub(crate) struct SeekMeter {
    idle: Latest,
    loaded: Latest,
}

impl SeekMeter {
    /// Counts one jump.
    pub(crate) fn record(&mut self, latency: Duration, loaded: bool) {
        if loaded { &mut self.loaded } else { &mut self.idle }.record(latency);
    }

    /// The figures now.
    pub(crate) fn summary(&self) -> SeekStatus {
        SeekStatus { idle: self.idle.summary(), loaded: self.loaded.summary() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_yet_is_zero() {
        assert_eq!(SeekMeter::default().summary(), SeekStatus::default());
    }

    #[test]
    fn percentiles_are_of_the_latest_and_kinds_stay_apart() {
        let mut meter = SeekMeter::default();
        meter.record(Duration::from_secs(9), true);
        meter.record(Duration::from_secs(9), false);
        for milliseconds in 1..=KEPT as u64 {
            meter.record(Duration::from_millis(milliseconds), false);
        }
        let SeekStatus { idle, loaded } = meter.summary();
        assert_eq!((idle.count, loaded.count), (KEPT as u64 + 1, 1));
        assert_eq!((idle.p50_ms, idle.p95_ms, idle.max_ms), (256.0, 487.0, 512.0));
        assert_eq!((loaded.p50_ms, loaded.max_ms), (9000.0, 9000.0));
    }
}
