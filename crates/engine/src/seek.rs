//! How long fetches take that a reader waits for: the first of a content until its first byte, and jumps, which begin
//! away from where the last fetch of their content ended, until their last.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use farhold_cache::{ContentKey, Urgency};
use tokio::time::Instant;

use crate::latency::Latencies;
use crate::status::{LatencySummary, SeekStatus};

/// Of how many contents the end of the last fetch is remembered: more than are read at once.
const CONTENTS: usize = 256;

#[derive(Debug, Default)]
struct Fetches {
    /// Where the last fetch of each content ended; the latest content is last.
    ends: VecDeque<(ContentKey, u64)>,
    idle: Latencies,
    loaded: Latencies,
    first_byte: Latencies,
}

impl Fetches {
    /// Notes a fetch; where the last one of its content ended, if it is remembered.
    fn note(&mut self, key: ContentKey, range: &Range<u64>) -> Option<u64> {
        let known = self.ends.iter().position(|(other, _)| *other == key);
        let end = known.and_then(|index| self.ends.remove(index)).map(|(_, end)| end);
        if self.ends.len() == CONTENTS {
            self.ends.pop_front();
        }
        self.ends.push_back((key, range.end));
        end
    }
}

/// Meters the fetches from all contacts. Clones are the same meter.
#[derive(Debug, Clone, Default)]
pub(crate) struct FetchMeter {
    fetches: Arc<Mutex<Fetches>>,
}

impl FetchMeter {
    /// A fetch begins; `loaded` tells whether other bytes were outstanding from that contact then.
    pub(crate) fn begin(
        &self,
        key: ContentKey,
        range: &Range<u64>,
        urgency: Urgency,
        loaded: bool,
        now: Instant,
    ) -> Fetching {
        let mut fetches = self.lock();
        let end = fetches.note(key, range);
        let demand = urgency == Urgency::Demand;
        let jump = demand && range.start != end.unwrap_or(0);
        Fetching {
            meter: self.clone(),
            since: now,
            first: demand && end.is_none(),
            jump: jump.then_some(Jump { loaded }),
        }
    }

    /// How long jumps took.
    pub(crate) fn seek(&self) -> SeekStatus {
        let fetches = self.lock();
        SeekStatus { idle: fetches.idle.summary(), loaded: fetches.loaded.summary() }
    }

    /// How long it took to the first byte of a content of which nothing was asked before.
    pub(crate) fn first_byte(&self) -> LatencySummary {
        self.lock().first_byte.summary()
    }

    fn lock(&self) -> MutexGuard<'_, Fetches> {
        // Counters are whole between any two statements, so a panic elsewhere does not spoil them.
        self.fetches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Clone, Copy)]
struct Jump {
    /// Other bytes were outstanding when it began.
    loaded: bool,
}

/// One fetch under way.
#[derive(Debug)]
pub(crate) struct Fetching {
    meter: FetchMeter,
    since: Instant,
    /// The first of its content, of which no byte has come yet.
    first: bool,
    jump: Option<Jump>,
}

impl Fetching {
    /// Some of its bytes have arrived.
    pub(crate) fn some_arrived(&mut self, now: Instant) {
        if std::mem::take(&mut self.first) {
            self.meter.lock().first_byte.record(now.duration_since(self.since));
        }
    }

    /// All of its bytes have arrived.
    pub(crate) fn arrived(self, now: Instant) {
        if let Some(jump) = self.jump {
            let mut fetches = self.meter.lock();
            let kind = if jump.loaded { &mut fetches.loaded } else { &mut fetches.idle };
            kind.record(now.duration_since(self.since));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn key(entry: u8) -> ContentKey {
        ContentKey { contact: [0; 16], entry: [entry; 16], epoch: 1, counter: 1 }
    }

    fn fetch(meter: &FetchMeter, entry: u8, range: Range<u64>, urgency: Urgency, milliseconds: u64) {
        let now = Instant::now();
        meter
            .begin(key(entry), &range, urgency, false, now)
            .arrived(now + Duration::from_millis(milliseconds));
    }

    #[test]
    fn only_demand_away_from_the_last_end_is_a_jump() {
        let meter = FetchMeter::default();
        fetch(&meter, 1, 0..10, Urgency::Demand, 1);
        fetch(&meter, 1, 10..20, Urgency::ReadAhead, 1);
        fetch(&meter, 1, 20..30, Urgency::Demand, 1);
        fetch(&meter, 1, 500..510, Urgency::ReadAhead, 1);
        assert_eq!(meter.seek(), SeekStatus::default());
        fetch(&meter, 1, 100..110, Urgency::Demand, 7);
        fetch(&meter, 2, 100..110, Urgency::Demand, 9);
        let idle = meter.seek().idle;
        assert_eq!((idle.count, idle.p50_ms.floor(), idle.max_ms.floor()), (2, 7.0, 9.0));
    }

    #[test]
    fn loaded_jumps_count_apart_and_cancelled_ones_nowhere() {
        let meter = FetchMeter::default();
        let now = Instant::now();
        let loaded = meter.begin(key(1), &(50..60), Urgency::Demand, true, now);
        fetch(&meter, 1, 100..110, Urgency::Demand, 5);
        loaded.arrived(now + Duration::from_millis(6));
        drop(meter.begin(key(1), &(0..10), Urgency::Demand, true, now));
        let SeekStatus { idle, loaded } = meter.seek();
        assert_eq!((idle.count, idle.max_ms.floor()), (1, 5.0));
        assert_eq!((loaded.count, loaded.max_ms.floor()), (1, 6.0));
    }

    #[test]
    fn the_first_byte_is_of_the_first_fetch_of_a_content() {
        let meter = FetchMeter::default();
        let now = Instant::now();
        let after = |milliseconds| now + Duration::from_millis(milliseconds);
        let mut first = meter.begin(key(1), &(0..10), Urgency::Demand, false, now);
        let mut second = meter.begin(key(1), &(10..20), Urgency::Demand, false, now);
        second.some_arrived(after(3));
        first.some_arrived(after(4));
        first.some_arrived(after(9));
        first.arrived(after(9));
        meter.begin(key(2), &(0..10), Urgency::ReadAhead, false, now).some_arrived(after(5));
        let first_byte = meter.first_byte();
        assert_eq!((first_byte.count, first_byte.max_ms.floor()), (1, 4.0));
    }

    #[test]
    fn memory_is_bounded() {
        let meter = FetchMeter::default();
        for counter in 0..2 * CONTENTS as u64 {
            drop(meter.begin(
                ContentKey { counter, ..key(0) },
                &(0..1),
                Urgency::Demand,
                false,
                Instant::now(),
            ));
        }
        assert_eq!(meter.lock().ends.len(), CONTENTS);
    }
}
