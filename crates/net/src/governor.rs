//! How many bytes may be on their way to us at once, and whose. No I/O and no clock.
//!
//! Whoever reads asks here first, so one governor rules everything that a session brings, whatever lanes carry it.
//! `docs/governor.md` says why it works as it does.

mod gate;
mod queue;
mod rtt;
mod window;

use std::sync::Arc;
use std::time::Duration;

use farhold_wire::EntryId;
use tokio::time::Instant;

pub(crate) use self::gate::{Admission, Gate};
use self::queue::{Class, Queue};
#[cfg(test)]
pub(crate) use self::window::START_BYTES;
use self::window::Window;

/// Reads that wait for room: more than all windows of read-ahead hold.
const WAITING: usize = 4096;

/// How much somebody waits for a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Priority {
    /// A transfer that may take its time.
    Bulk,
    /// A program will probably want it.
    ReadAhead,
    /// A program waits for it now.
    Demand,
}

/// How it stands with a governor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GovernorView {
    /// Bytes that may be outstanding.
    pub window: u64,
    /// Bytes that are: asked for, and not there yet.
    pub outstanding: u64,
    /// Bytes per second that arrived when the window was last full; 0 if it never was.
    pub rate: u64,
    /// The least round trip of about the last half minute.
    pub min_rtt: Option<Duration>,
    /// Reads that wait for room.
    pub queued: usize,
}

/// Shows a session's governor, as long as anybody looks.
#[derive(Debug, Clone)]
pub struct GovernorMeter(Arc<Gate>);

impl GovernorMeter {
    pub(crate) fn new(gate: &Arc<Gate>) -> Self {
        Self(Arc::clone(gate))
    }

    /// How it stands now.
    pub fn view(&self) -> GovernorView {
        self.0.view()
    }
}

/// More reads wait than may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full;

/// What may be outstanding, what is, and who waits; `T` is what is handed back when a read may go.
#[derive(Debug)]
pub(crate) struct Governor<T> {
    window: Window,
    queue: Queue<T>,
    /// Outstanding bytes of reads that waited for room.
    governed: u64,
    /// When bytes of such a read arrived last.
    arrived_at: Option<Instant>,
    last_ticket: u64,
}

impl<T> Governor<T> {
    /// `former` is [`Self::kept`] of the session before, if it ran a similar way.
    pub(crate) fn new(former: Option<u64>, now: Instant) -> Self {
        Self {
            window: Window::new(former, now),
            queue: Queue::new(),
            governed: 0,
            arrived_at: None,
            last_ticket: 0,
        }
    }

    /// A read goes at once.
    pub(crate) fn demand(&mut self, bytes: u64, now: Instant) {
        self.window.granted(bytes, now);
    }

    /// A read of `entry` waits for room as one of `priority`; gives its ticket.
    pub(crate) fn wait(
        &mut self,
        priority: Priority,
        entry: EntryId,
        bytes: u64,
        item: T,
    ) -> Result<u64, Full> {
        if self.queue.len() >= WAITING {
            return Err(Full);
        }
        let class = match priority {
            Priority::Bulk => Class::Bulk,
            Priority::ReadAhead | Priority::Demand => Class::Ahead,
        };
        self.last_ticket += 1;
        self.queue.push(class, entry, self.last_ticket, bytes, item);
        Ok(self.last_ticket)
    }

    /// Whether a read waits that may go.
    pub(crate) fn wants(&mut self) -> bool {
        // One may always go, however small the window is.
        if !self.window.has_room() && self.governed > 0 {
            return false;
        }
        if self.queue.len() == 0 {
            self.window.idle();
        }
        self.queue.len() > 0
    }

    /// One could have gone and did not: what arrives tells nothing of the path.
    pub(crate) fn held_back(&mut self) {
        self.window.idle();
    }

    /// The next read that may go, with its bytes, which are outstanding from now on.
    pub(crate) fn next(&mut self, now: Instant) -> Option<(u64, T)> {
        if !self.wants() {
            return None;
        }
        let (bytes, item) = self.queue.pop()?;
        self.window.granted(bytes, now);
        self.governed += bytes;
        Some((bytes, item))
    }

    /// A read no longer waits; `None` if it went already.
    pub(crate) fn withdraw(&mut self, ticket: u64) -> Option<T> {
        self.queue.remove(ticket)
    }

    /// An answer began so long after its request.
    pub(crate) fn measured(&mut self, rtt: Duration, now: Instant) {
        self.window.measured(rtt, now);
    }

    /// Bytes of a read arrived; `governed` if it waited for room.
    pub(crate) fn arrived(&mut self, bytes: u64, governed: bool, now: Instant) {
        self.window.arrived(bytes, now);
        self.settle(bytes, governed);
        if governed {
            self.arrived_at = Some(now);
        }
    }

    /// When bytes of a read that had waited for room arrived last.
    pub(crate) fn arrived_at(&self) -> Option<Instant> {
        self.arrived_at
    }

    /// Bytes of a read will not come.
    pub(crate) fn gone(&mut self, bytes: u64, governed: bool, now: Instant) {
        self.window.gone(bytes, now);
        self.settle(bytes, governed);
    }

    fn settle(&mut self, bytes: u64, governed: bool) {
        if governed {
            self.governed = self.governed.saturating_sub(bytes);
        }
    }

    /// What the governor of a session that takes over may begin with.
    pub(crate) fn kept(&self) -> u64 {
        self.window.kept()
    }

    pub(crate) fn view(&self) -> GovernorView {
        GovernorView {
            window: self.window.size(),
            outstanding: self.window.outstanding(),
            rate: self.window.rate() as u64,
            min_rtt: self.window.least_rtt(),
            queued: self.queue.len(),
        }
    }
}

#[cfg(test)]
mod link;
#[cfg(test)]
mod tests;
