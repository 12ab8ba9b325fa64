//! How often each source does something. A state machine without clock.

use std::collections::{BTreeSet, HashMap};
use std::time::Instant;

use crate::config::Rate;
use crate::source::Source;

/// One token bucket for each source, kept as the time at which the bucket is full again.
#[derive(Debug)]
pub(crate) struct Pace {
    rate: Rate,
    /// Full buckets are not kept, so there are no more than were used lately.
    full_at: HashMap<Source, Instant>,
    by_time: BTreeSet<(Instant, Source)>,
}

impl Pace {
    pub(crate) fn new(rate: Rate) -> Self {
        Self { rate, full_at: HashMap::new(), by_time: BTreeSet::new() }
    }

    /// Whether `source` may do it once more, which then counts.
    pub(crate) fn take(&mut self, source: Source, now: Instant) -> bool {
        self.forget_full(now);
        let old = self.full_at.get(&source).copied();
        let full_at = old.unwrap_or(now) + self.rate.every;
        if full_at.duration_since(now) > self.rate.every.saturating_mul(self.rate.burst) {
            return false;
        }
        if let Some(old) = old {
            self.by_time.remove(&(old, source));
        }
        self.full_at.insert(source, full_at);
        self.by_time.insert((full_at, source));
        true
    }

    fn forget_full(&mut self, now: Instant) {
        while let Some(&(at, source)) = self.by_time.first() {
            if at > now {
                break;
            }
            self.by_time.pop_first();
            self.full_at.remove(&source);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    const RATE: Rate = Rate { every: Duration::from_millis(50), burst: 4 };

    fn source(number: u8) -> Source {
        Source::V4([0, 0, 0, number])
    }

    #[test]
    fn a_burst_and_then_one_at_a_time() {
        let (mut pace, start) = (Pace::new(RATE), Instant::now());
        let mut taken =
            |source, ms| (0..10).filter(|_| pace.take(source, start + Duration::from_millis(ms))).count();
        assert_eq!(taken(source(1), 0), 4);
        assert_eq!(taken(source(2), 0), 4, "each source has its own");
        assert_eq!(taken(source(1), 49), 0);
        assert_eq!(taken(source(1), 50), 1);
        assert_eq!(taken(source(1), 160), 2);
        assert_eq!(taken(source(1), 10_000), 4, "no more is saved up than a burst");
    }

    proptest! {
        /// Over any time, a source has done it no more often than a burst and its share of that time; and only those
        /// are remembered that did it lately.
        #[test]
        fn the_rate_holds(steps in prop::collection::vec((0u8..3, 0u64..60), 0..300)) {
            let (mut pace, start) = (Pace::new(RATE), Instant::now());
            let mut now = start;
            let mut taken: HashMap<u8, Vec<Instant>> = HashMap::new();
            for (number, pause) in steps {
                now += Duration::from_millis(pause);
                if pace.take(source(number), now) {
                    taken.entry(number).or_default().push(now);
                }
                prop_assert_eq!(pace.full_at.len(), pace.by_time.len());
                prop_assert!(pace.full_at.values().all(|at| *at > now));
            }
            for times in taken.values() {
                for (index, from) in times.iter().enumerate() {
                    for (more, to) in times[index..].iter().enumerate() {
                        let share = to.duration_since(*from).as_millis() / RATE.every.as_millis();
                        prop_assert!((more as u128) < u128::from(RATE.burst) + share);
                    }
                }
            }
        }
    }
}
