//! How many bytes each source may send through the relay in a second, over all its bridge legs and UDP flows.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::source::Source;

/// What a source may send at once after a pause, as a time at its rate.
const BURST: Duration = Duration::from_millis(250);
/// Buckets kept before unused ones are looked for.
const PRUNE_FROM: usize = 1024;

/// Hands out the bucket of each source.
#[derive(Debug)]
pub(crate) struct Throttle {
    bytes_per_second: u64,
    buckets: Mutex<Buckets>,
}

#[derive(Debug)]
struct Buckets {
    by_source: HashMap<Source, Arc<Bucket>>,
    prune_at: usize,
}

impl Throttle {
    pub(crate) fn new(bytes_per_second: u64) -> Self {
        let buckets = Buckets { by_source: HashMap::new(), prune_at: PRUNE_FROM };
        Self { bytes_per_second, buckets: Mutex::new(buckets) }
    }

    /// The bucket that all legs and flows of `source` draw from. A bucket is kept for as long as one of them lives.
    pub(crate) fn bucket(&self, source: Source) -> Arc<Bucket> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.by_source.len() >= buckets.prune_at {
            buckets.by_source.retain(|_, bucket| Arc::strong_count(bucket) > 1);
            buckets.prune_at = PRUNE_FROM.max(2 * buckets.by_source.len());
        }
        let bucket = buckets.by_source.entry(source).or_insert_with(|| {
            Arc::new(Bucket { bytes_per_second: self.bytes_per_second, full_at: Mutex::new(None) })
        });
        Arc::clone(bucket)
    }
}

/// A token bucket, kept as the time at which it is full again.
#[derive(Debug)]
pub(crate) struct Bucket {
    bytes_per_second: u64,
    /// `None` before the first use.
    full_at: Mutex<Option<Instant>>,
}

impl Bucket {
    /// Takes these bytes, which are there already; how long to wait before any more are read.
    pub(crate) fn charge(&self, bytes: usize, now: Instant) -> Duration {
        let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        let later = full_at.unwrap_or(now).max(now) + self.cost(bytes);
        *full_at = Some(later);
        later.duration_since(now).saturating_sub(BURST)
    }

    /// Takes these bytes if they are within the rate.
    pub(crate) fn admit(&self, bytes: usize, now: Instant) -> bool {
        let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        let later = full_at.unwrap_or(now).max(now) + self.cost(bytes);
        let admitted = later.duration_since(now) <= BURST;
        if admitted {
            *full_at = Some(later);
        }
        admitted
    }

    fn cost(&self, bytes: usize) -> Duration {
        let nanos = u128::from(bytes as u64) * 1_000_000_000 / u128::from(self.bytes_per_second.max(1));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RATE: u64 = 1_000_000;

    fn source(number: usize) -> Source {
        Source::V6((number as u64).to_be_bytes())
    }

    #[test]
    fn who_sends_over_the_rate_waits_for_as_long_as_the_surplus_takes() {
        let (throttle, start) = (Throttle::new(RATE), Instant::now());
        let bucket = throttle.bucket(source(1));
        assert_eq!(bucket.charge(250_000, start), Duration::ZERO);
        assert_eq!(bucket.charge(100_000, start), Duration::from_millis(100));
        // All legs of a source share its bucket; others have their own.
        assert_eq!(throttle.bucket(source(1)).charge(100_000, start), Duration::from_millis(200));
        assert_eq!(throttle.bucket(source(2)).charge(100_000, start), Duration::ZERO);
        assert_eq!(bucket.charge(1000, start + Duration::from_secs(9)), Duration::ZERO);
    }

    #[test]
    fn buckets_in_use_are_kept_and_others_are_forgotten() {
        let (throttle, now) = (Throttle::new(RATE), Instant::now());
        let used = throttle.bucket(source(0));
        used.charge(1_000_000, now);
        for number in 1..10 * PRUNE_FROM {
            throttle.bucket(source(number));
        }
        assert!(throttle.buckets.lock().unwrap().by_source.len() <= PRUNE_FROM);
        assert!(!throttle.bucket(source(0)).admit(1, now));
    }

    proptest! {
        #[test]
        fn no_more_is_admitted_than_a_burst_and_the_rate(steps in prop::collection::vec((0usize..60_000, 0u64..100), 1..200)) {
            let bucket = Throttle::new(RATE).bucket(source(1));
            let start = Instant::now();
            let (mut now, mut admitted) = (start, 0);
            for (bytes, pause) in steps {
                now += Duration::from_millis(pause);
                if bucket.admit(bytes, now) {
                    admitted += bytes;
                }
                let most = (now.duration_since(start) + BURST).as_secs_f64() * RATE as f64;
                prop_assert!(admitted as f64 <= most + 1.0, "{admitted} of {most}");
            }
        }
    }
}
