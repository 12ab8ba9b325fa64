//! How many bytes may move in a second, and whose. No I/O and no clock of its own; [`Limiter`] is how others use it.
//!
//! There is one of these for what is received and one for what is sent, over all sessions. Both let go whoever comes while
//! there is no debt, however much it takes, and everybody else waits until that is paid off. So a part need not be
//! divided, and the average is the rate. What somebody waits for (demand) has a debt of its own, in which bulk does not
//! count; bulk has to wait for both.

mod limiter;

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

pub(crate) use limiter::{Limiter, Place, Turn};

/// What was not used within this time is lost. Timers come late by less.
const SPARE: Duration = Duration::from_millis(100);
/// The same of demand, which comes in bursts.
const SPARE_DEMAND: Duration = Duration::from_millis(500);

/// Why somebody may not go now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Until then.
    Until(Instant),
    /// Until others went.
    Others,
}

/// A rate, and what was used of it.
#[derive(Debug)]
struct Level {
    /// Bytes that may go; below zero it is debt.
    bytes: f64,
    /// Seconds of the rate that are kept.
    spare: f64,
}

impl Level {
    fn new(spare: Duration) -> Self {
        Self { bytes: 0.0, spare: spare.as_secs_f64() }
    }

    fn pass(&mut self, seconds: f64, rate: f64) {
        self.bytes = (self.bytes + seconds * rate).min(self.spare * rate);
    }

    /// When there is no debt any more, if there is one.
    fn paid_off(&self, rate: f64, now: Instant) -> Option<Instant> {
        // A nanosecond more, so that rounding leaves none.
        let wait = || Duration::from_secs_f64(-self.bytes / rate) + Duration::from_nanos(1);
        (self.bytes < 0.0).then(|| now + wait())
    }
}

/// Shares out a rate.
#[derive(Debug)]
pub(crate) struct Pace {
    /// Bytes per second; no limit without.
    rate: Option<f64>,
    at: Instant,
    all: Level,
    demand: Level,
    /// Who waits with bulk, in the order of their turns.
    turns: VecDeque<u64>,
}

impl Pace {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            rate: None,
            at: now,
            all: Level::new(SPARE),
            demand: Level::new(SPARE_DEMAND),
            turns: VecDeque::new(),
        }
    }

    /// From now on so many bytes per second, or as many as there are. With another rate debts are forgotten.
    pub(crate) fn set(&mut self, rate: Option<u64>, now: Instant) {
        let rate = rate.map(|rate| rate.max(1) as f64);
        if rate == self.rate {
            return;
        }
        (self.rate, self.at) = (rate, now);
        (self.all.bytes, self.demand.bytes) = (0.0, 0.0);
    }

    /// Lets demand go, or tells when to try again.
    pub(crate) fn demand(&mut self, bytes: u64, now: Instant) -> Result<(), Instant> {
        let Some(rate) = self.pass(now) else { return Ok(()) };
        if let Some(until) = self.demand.paid_off(rate, now) {
            return Err(until);
        }
        self.demand.bytes -= bytes as f64;
        self.all.bytes -= bytes as f64;
        Ok(())
    }

    /// Lets `who` go with bulk if it is its turn, or gives it a place among those who wait. Who went tells with
    /// [`Pace::spend`] how much it took.
    pub(crate) fn turn(&mut self, who: u64, now: Instant) -> Result<(), Wait> {
        if self.rate.is_some() && !self.turns.contains(&who) {
            self.turns.push_back(who);
        }
        self.due(who, now)?;
        self.turns.retain(|other| *other != who);
        Ok(())
    }

    /// Whether `who`, who waits with bulk, may go now.
    pub(crate) fn due(&mut self, who: u64, now: Instant) -> Result<(), Wait> {
        let Some(rate) = self.pass(now) else { return Ok(()) };
        if self.turns.front() != Some(&who) {
            return Err(Wait::Others);
        }
        self.all.paid_off(rate, now).map_or(Ok(()), |until| Err(Wait::Until(until)))
    }

    /// Whether `who` has a place among those who wait.
    pub(crate) fn waits(&self, who: u64) -> bool {
        self.turns.contains(&who)
    }

    /// Bulk went.
    pub(crate) fn spend(&mut self, bytes: u64) {
        self.all.bytes -= bytes as f64;
    }

    /// Bytes of demand or bulk that went will not come.
    pub(crate) fn refund(&mut self, bytes: u64, demand: bool) {
        self.all.bytes += bytes as f64;
        if demand {
            self.demand.bytes += bytes as f64;
        }
    }

    /// `who` does not want to go any more; true if that lets others go.
    pub(crate) fn leave(&mut self, who: u64) -> bool {
        let waited = self.waits(who);
        self.turns.retain(|other| *other != who);
        waited
    }

    /// Lets time pass; gives the rate.
    fn pass(&mut self, now: Instant) -> Option<f64> {
        let rate = self.rate?;
        let seconds = now.saturating_duration_since(self.at).as_secs_f64();
        self.at = now.max(self.at);
        self.all.pass(seconds, rate);
        self.demand.pass(seconds, rate);
        Some(rate)
    }
}

#[cfg(test)]
mod tests;
