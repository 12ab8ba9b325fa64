//! Nonces of bridge calls seen lately, so that a recorded call cannot be played back.

use std::collections::{HashSet, VecDeque};
use std::time::{Duration, Instant};

use farhold_wire::bridge::Nonce;

/// How long a nonce is remembered: well over the time that a leg may be parked.
pub(crate) const MEMORY: Duration = Duration::from_secs(300);

/// How many are remembered at most (about 5 MB). A flood shortens the memory: the oldest go first, since refusing
/// new callers instead would let the flood close the bridge.
pub(crate) const CAPACITY: usize = 65536;

/// The memory. A state machine without a clock.
#[derive(Debug, Default)]
pub(crate) struct Nonces {
    seen: HashSet<Nonce>,
    order: VecDeque<(Instant, Nonce)>,
}

impl Nonces {
    /// Whether the nonce was seen in the last [`MEMORY`].
    pub(crate) fn contains(&mut self, nonce: &Nonce, now: Instant) -> bool {
        while self.order.front().is_some_and(|(at, _)| now.duration_since(*at) >= MEMORY) {
            self.forget_oldest();
        }
        self.seen.contains(nonce)
    }

    /// Remembers a nonce that is not there yet.
    pub(crate) fn insert(&mut self, nonce: Nonce, now: Instant) {
        if self.seen.len() >= CAPACITY {
            self.forget_oldest();
        }
        if self.seen.insert(nonce) {
            self.order.push_back((now, nonce));
        }
    }

    fn forget_oldest(&mut self) {
        if let Some((_, nonce)) = self.order.pop_front() {
            self.seen.remove(&nonce);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nonce(number: usize) -> Nonce {
        let mut nonce = [0; 16];
        nonce[..8].copy_from_slice(&(number as u64).to_be_bytes());
        nonce
    }

    #[test]
    fn a_nonce_is_remembered_for_its_time_and_no_longer() {
        let start = Instant::now();
        let mut nonces = Nonces::default();
        nonces.insert(nonce(1), start);
        assert!(nonces.contains(&nonce(1), start + MEMORY - Duration::from_millis(1)));
        assert!(!nonces.contains(&nonce(2), start));
        assert!(!nonces.contains(&nonce(1), start + MEMORY));
        assert!(nonces.seen.is_empty() && nonces.order.is_empty());
    }

    #[test]
    fn memory_is_bounded_and_the_oldest_goes_first() {
        let now = Instant::now();
        let mut nonces = Nonces::default();
        for number in 0..=CAPACITY {
            nonces.insert(nonce(number), now);
        }
        assert_eq!((nonces.seen.len(), nonces.order.len()), (CAPACITY, CAPACITY));
        assert!(!nonces.contains(&nonce(0), now));
        assert!(nonces.contains(&nonce(1), now) && nonces.contains(&nonce(CAPACITY), now));
    }
}
