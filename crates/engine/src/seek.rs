//! How long jumps take: demand fetches that begin away from where the last fetch of their content ended. Only the
//! latest of each kind are kept, so that the figures tell of now.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use farhold_cache::{ContentKey, Urgency};
use tokio::time::Instant;

use crate::status::{LatencySummary, SeekStatus};

/// How many latencies of a kind are kept: enough for a 95th percentile that is not one outlier.
const KEPT: usize = 512;
/// Of how many contents the end of the last fetch is remembered: more than are read at once.
const CONTENTS: usize = 256;

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

#[derive(Debug, Default)]
struct Fetches {
    under_way: usize,
    /// Where the last fetch of each content ended; the latest content is last.
    ends: VecDeque<(ContentKey, u64)>,
    idle: Latest,
    loaded: Latest,
}

impl Fetches {
    /// Notes a fetch; whether it goes on where the one before ended, or at the content's beginning.
    fn goes_on(&mut self, key: ContentKey, range: &Range<u64>) -> bool {
        let known = self.ends.iter().position(|(other, _)| *other == key);
        let end = known.and_then(|index| self.ends.remove(index)).map_or(0, |(_, end)| end);
        if self.ends.len() == CONTENTS {
            self.ends.pop_front();
        }
        self.ends.push_back((key, range.end));
        range.start == end
    }
}

/// Meters the fetches from all contacts. Clones are the same meter.
#[derive(Debug, Clone, Default)]
pub(crate) struct FetchMeter {
    fetches: Arc<Mutex<Fetches>>,
}

impl FetchMeter {
    /// A fetch begins; it ends when what this gives is dropped.
    pub(crate) fn begin(
        &self,
        key: ContentKey,
        range: &Range<u64>,
        urgency: Urgency,
        now: Instant,
    ) -> Fetching {
        let mut fetches = self.lock();
        let goes_on = fetches.goes_on(key, range);
        let jump = urgency == Urgency::Demand && !goes_on;
        let loaded = fetches.under_way > 0;
        fetches.under_way += 1;
        Fetching { meter: self.clone(), since: now, jump: jump.then_some(Jump { loaded }) }
    }

    /// The figures now.
    pub(crate) fn summary(&self) -> SeekStatus {
        let fetches = self.lock();
        SeekStatus { idle: fetches.idle.summary(), loaded: fetches.loaded.summary() }
    }

    fn lock(&self) -> MutexGuard<'_, Fetches> {
        // Counters are whole between any two statements, so a panic elsewhere does not spoil them.
        self.fetches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Clone, Copy)]
struct Jump {
    /// Something else was being fetched when it began.
    loaded: bool,
}

/// One fetch under way.
#[derive(Debug)]
pub(crate) struct Fetching {
    meter: FetchMeter,
    since: Instant,
    jump: Option<Jump>,
}

impl Fetching {
    /// All of its bytes have arrived.
    pub(crate) fn arrived(self, now: Instant) {
        if let Some(jump) = self.jump {
            let mut fetches = self.meter.lock();
            let kind = if jump.loaded { &mut fetches.loaded } else { &mut fetches.idle };
            kind.record(now.duration_since(self.since));
        }
    }
}

impl Drop for Fetching {
    fn drop(&mut self) {
        self.meter.lock().under_way -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(entry: u8) -> ContentKey {
        ContentKey { contact: [0; 16], entry: [entry; 16], epoch: 1, counter: 1 }
    }

    fn fetch(meter: &FetchMeter, entry: u8, range: Range<u64>, urgency: Urgency, milliseconds: u64) {
        let now = Instant::now();
        meter.begin(key(entry), &range, urgency, now).arrived(now + Duration::from_millis(milliseconds));
    }

    #[test]
    fn nothing_yet_is_zero() {
        assert_eq!(FetchMeter::default().summary(), SeekStatus::default());
    }

    #[test]
    fn only_demand_away_from_the_last_end_is_a_jump() {
        let meter = FetchMeter::default();
        fetch(&meter, 1, 0..10, Urgency::Demand, 1);
        fetch(&meter, 1, 10..20, Urgency::ReadAhead, 1);
        fetch(&meter, 1, 20..30, Urgency::Demand, 1);
        fetch(&meter, 1, 500..510, Urgency::ReadAhead, 1);
        assert_eq!(meter.summary(), SeekStatus::default());
        fetch(&meter, 1, 100..110, Urgency::Demand, 7);
        fetch(&meter, 2, 100..110, Urgency::Demand, 9);
        let idle = meter.summary().idle;
        assert_eq!((idle.count, idle.p50_ms, idle.max_ms), (2, 7.0, 9.0));
    }

    #[test]
    fn a_jump_beside_another_fetch_is_loaded_and_a_cancelled_one_counts_nowhere() {
        let meter = FetchMeter::default();
        let now = Instant::now();
        let bulk = meter.begin(key(1), &(0..10), Urgency::ReadAhead, now);
        fetch(&meter, 2, 100..110, Urgency::Demand, 5);
        drop(bulk);
        drop(meter.begin(key(2), &(0..10), Urgency::Demand, now));
        fetch(&meter, 2, 300..310, Urgency::Demand, 6);
        let SeekStatus { idle, loaded } = meter.summary();
        assert_eq!((loaded.count, loaded.max_ms), (1, 5.0));
        assert_eq!((idle.count, idle.max_ms), (1, 6.0));
        assert_eq!(meter.lock().under_way, 0);
    }

    #[test]
    fn percentiles_are_of_the_latest_and_memory_is_bounded() {
        let meter = FetchMeter::default();
        fetch(&meter, 0, 5..6, Urgency::Demand, 9000);
        for milliseconds in 1..=KEPT as u64 {
            fetch(&meter, 0, 2 * milliseconds..2 * milliseconds + 1, Urgency::Demand, milliseconds);
        }
        let idle = meter.summary().idle;
        assert_eq!(idle.count, KEPT as u64 + 1);
        assert_eq!((idle.p50_ms, idle.p95_ms, idle.max_ms), (256.0, 487.0, 512.0));
        for counter in 0..2 * CONTENTS as u64 {
            drop(meter.begin(ContentKey { counter, ..key(0) }, &(0..1), Urgency::Demand, Instant::now()));
        }
        assert_eq!(meter.lock().ends.len(), CONTENTS);
    }
}
