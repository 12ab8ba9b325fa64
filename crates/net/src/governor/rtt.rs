//! The least round trip of late. No clock.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// Round trips measured within so long are one.
const STEP: Duration = Duration::from_secs(2);
/// How many of them count: trials of smaller windows empty the queue more often.
const STEPS: usize = 15;

/// A minimum over about half a minute in which something was measured.
#[derive(Debug, Default)]
pub(super) struct LeastRtt(VecDeque<(Instant, Duration)>);

impl LeastRtt {
    pub(super) fn add(&mut self, rtt: Duration, now: Instant) {
        match self.0.back_mut() {
            Some((since, least)) if now.duration_since(*since) < STEP => *least = rtt.min(*least),
            Some(_) | None => {
                if self.0.len() == STEPS {
                    self.0.pop_front();
                }
                self.0.push_back((now, rtt));
            }
        }
    }

    pub(super) fn least(&self) -> Option<Duration> {
        self.0.iter().map(|(_, least)| *least).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_way_is_believed_after_half_a_minute() {
        let (mut least, begin) = (LeastRtt::default(), Instant::now());
        assert_eq!(least.least(), None);
        let long = Duration::from_millis(300);
        least.add(Duration::from_millis(200), begin);
        for second in 1..30 {
            least.add(long, begin + Duration::from_secs(second));
            assert_eq!(least.least(), Some(Duration::from_millis(200)), "{second}");
        }
        least.add(long, begin + Duration::from_secs(32));
        assert_eq!(least.least(), Some(long));
        least.add(Duration::from_millis(100), begin + Duration::from_secs(33));
        assert_eq!(least.least(), Some(Duration::from_millis(100)));
    }
}
