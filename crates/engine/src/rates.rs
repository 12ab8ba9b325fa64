//! Rates over about a second: what counters show is noted every second.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use farhold_wire::ContactId;
use tokio::time::Instant;

/// How often counters are noted.
pub(crate) const EVERY: Duration = Duration::from_secs(1);
/// A rate over less than this would jump about.
const LEAST: Duration = Duration::from_millis(500);

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Counted {
    /// Everything.
    All,
    /// A lane by its number; the control lane has none.
    Lane(ContactId, Option<u32>),
}

/// Bytes, or bytes per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Moved {
    pub(crate) received: u64,
    pub(crate) sent: u64,
}

#[derive(Debug, Clone, Copy)]
struct Note {
    at: Instant,
    moved: Moved,
}

#[derive(Debug, Clone, Copy)]
struct Notes {
    last: Note,
    before: Option<Note>,
}

/// What the counters showed lately. Clones are the same notes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rates {
    notes: Arc<Mutex<HashMap<Counted, Notes>>>,
}

impl Rates {
    /// Notes what the counters show, and forgets all others.
    pub(crate) fn note(&self, shown: impl IntoIterator<Item = (Counted, Moved)>, now: Instant) {
        let mut notes = self.lock();
        let old = std::mem::take(&mut *notes);
        notes.extend(shown.into_iter().map(|(counted, moved)| {
            let before = old.get(&counted).map(|notes| notes.last);
            (counted, Notes { last: Note { at: now, moved }, before })
        }));
    }

    /// The rate since the counter was last noted, or, if that was just now, since the time before; zero as long as it
    /// was not noted. A counter that began anew is at zero until it is noted.
    pub(crate) fn of(&self, counted: Counted, moved: Moved, now: Instant) -> Moved {
        let Some(Notes { last, before }) = self.lock().get(&counted).copied() else {
            return Moved::default();
        };
        let old_enough = |note: &Note| now.saturating_duration_since(note.at) >= LEAST;
        let Some(since) = Some(last).filter(old_enough).or(before.filter(old_enough)) else {
            return Moved::default();
        };
        let seconds = now.duration_since(since.at).as_secs_f64();
        let rate = |then: u64, now: u64| (now.saturating_sub(then) as f64 / seconds).round() as u64;
        Moved {
            received: rate(since.moved.received, moved.received),
            sent: rate(since.moved.sent, moved.sent),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Counted, Notes>> {
        // Notes are whole between any two statements, so a panic elsewhere does not spoil them.
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(received: u64, sent: u64) -> Moved {
        Moved { received, sent }
    }

    #[test]
    fn a_rate_is_over_half_a_second_to_one_and_a_half() {
        let (rates, start) = (Rates::default(), Instant::now());
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        let lane = Counted::Lane(ContactId([1; 16]), Some(2));
        assert_eq!(rates.of(lane, moved(50, 5), at(0)), moved(0, 0));
        rates.note([(lane, moved(100, 10))], at(0));
        assert_eq!(rates.of(lane, moved(200, 20), at(400)), moved(0, 0));
        assert_eq!(rates.of(lane, moved(200, 20), at(500)), moved(200, 20));
        rates.note([(lane, moved(300, 10))], at(1000));
        // Noted just now: since the time before.
        assert_eq!(rates.of(lane, moved(500, 10), at(1250)), moved(320, 0));
        assert_eq!(rates.of(lane, moved(500, 10), at(2000)), moved(200, 0));
    }

    #[test]
    fn what_ended_is_forgotten_and_what_began_anew_has_no_rate() {
        let (rates, start) = (Rates::default(), Instant::now());
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        let lane = Counted::Lane(ContactId([1; 16]), None);
        rates.note([(lane, moved(1000, 0)), (Counted::All, moved(1000, 0))], at(0));
        assert_eq!(rates.of(lane, moved(10, 0), at(1000)), moved(0, 0));
        rates.note([(Counted::All, moved(3000, 0))], at(1000));
        assert_eq!(rates.of(lane, moved(5000, 0), at(2000)), moved(0, 0));
        assert_eq!(rates.of(Counted::All, moved(3000, 0), at(1100)), moved(1818, 0));
    }
}
