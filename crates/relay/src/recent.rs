//! Nonces and tokens used lately, so that what was recorded cannot be played back.

use std::collections::{HashSet, VecDeque};
use std::hash::Hash;
use std::time::{Duration, Instant};

/// How long a use is remembered: well over the time that a leg may be parked.
pub(crate) const MEMORY: Duration = Duration::from_secs(300);

/// How many are remembered at most (at most 9 MB). A flood shortens the memory: the oldest go first, since refusing
/// new callers instead would let the flood close the relay.
pub(crate) const CAPACITY: usize = 65536;

/// The memory. A state machine without a clock.
#[derive(Debug)]
pub(crate) struct Recent<T> {
    seen: HashSet<T>,
    order: VecDeque<(Instant, T)>,
}

impl<T: Copy + Eq + Hash> Recent<T> {
    pub(crate) fn new() -> Self {
        Self { seen: HashSet::new(), order: VecDeque::new() }
    }

    /// Whether it was used in the last [`MEMORY`].
    pub(crate) fn contains(&mut self, used: &T, now: Instant) -> bool {
        while self.order.front().is_some_and(|(at, _)| now.duration_since(*at) >= MEMORY) {
            self.forget_oldest();
        }
        self.seen.contains(used)
    }

    /// Remembers one that is not there yet.
    pub(crate) fn insert(&mut self, used: T, now: Instant) {
        if self.seen.len() >= CAPACITY {
            self.forget_oldest();
        }
        if self.seen.insert(used) {
            self.order.push_back((now, used));
        }
    }

    fn forget_oldest(&mut self) {
        if let Some((_, used)) = self.order.pop_front() {
            self.seen.remove(&used);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_use_is_remembered_for_its_time_and_no_longer() {
        let start = Instant::now();
        let mut recent = Recent::new();
        recent.insert(1, start);
        assert!(recent.contains(&1, start + MEMORY - Duration::from_millis(1)));
        assert!(!recent.contains(&2, start));
        assert!(!recent.contains(&1, start + MEMORY));
        assert!(recent.seen.is_empty() && recent.order.is_empty());
    }

    #[test]
    fn memory_is_bounded_and_the_oldest_goes_first() {
        let now = Instant::now();
        let mut recent = Recent::new();
        for number in 0..=CAPACITY {
            recent.insert(number, now);
        }
        assert_eq!((recent.seen.len(), recent.order.len()), (CAPACITY, CAPACITY));
        assert!(!recent.contains(&0, now));
        assert!(recent.contains(&1, now) && recent.contains(&CAPACITY, now));
    }
}
