//! How long to wait before trying again.

use std::time::Duration;

/// Doubles from a first delay up to a last one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Backoff {
    first: Duration,
    last: Duration,
    next: Duration,
}

impl Backoff {
    pub(crate) fn new(first: Duration, last: Duration) -> Self {
        Self { first, last, next: first }
    }

    /// The delay before the next attempt.
    pub(crate) fn next(&mut self) -> Duration {
        let delay = self.next;
        self.next = (delay * 2).min(self.last);
        delay
    }

    /// Something worked: the next failure begins anew.
    pub(crate) fn reset(&mut self) {
        self.next = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_doubles_up_to_a_bound_and_begins_anew() {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(5));
        assert_eq!([(); 4].map(|()| backoff.next().as_secs()), [1, 2, 4, 5]);
        backoff.reset();
        assert_eq!(backoff.next().as_secs(), 1);
    }
}
