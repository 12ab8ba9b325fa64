//! How far to read ahead of one reader, without I/O and without a clock of its own.
//!
//! A *run* is a stretch read front to back; reads that come slightly out of order (the kernel's do) still belong to
//! it. Once a run is proven, a window in front of it is fetched, from 1 MiB on. Each time the reader has read as much
//! as the window holds, the window doubles if that took at most [`GROWTH_TIME`], and quadruples if it took at most a
//! quarter of it, up to [`WINDOW_MOST`]. So it covers what a fast reader reads in some round trips, after
//! four of them, and a few seconds of a paced one.
//!
//! A read elsewhere is a *jump*: everything ahead of the former run is stale. Who read whole stretches between the
//! last jumps probably does so again, so the jump fetches a stretch like the former one at once, and the window waits
//! at its end until the reader gets there. A reader that begins elsewhere than at the beginning, as a player goes on
//! where it was, probably reads a stretch too.

use std::ops::Range;
use std::time::Duration;

use tokio::time::Instant;

use crate::key::BLOCK_BYTES;

/// Read-ahead is asked for in requests that end at multiples of this.
pub(crate) const REQUEST_BYTES: u64 = 1 << 20;

const WINDOW_FIRST: u64 = 1 << 20;
/// More than twice what a fast long link holds (72 MB/s, 330 ms): requests share the link, so much of the window has
/// arrived before the reader can have it.
const WINDOW_MOST: u64 = 64 << 20;
/// A window that is read within this time is too small.
const GROWTH_TIME: Duration = Duration::from_secs(4);
/// A run is proven when more than this was read of it, and not by one read.
const PROOF_BYTES: u64 = BLOCK_BYTES;
/// How far outside of a run that is not proven a read may lie and still belong to it.
const GAP_BYTES: u64 = BLOCK_BYTES;
/// How far behind a run's end, at least, a read belongs to it.
const BEHIND_BYTES: u64 = 1 << 20;
/// A former run at least so long lets a jump fetch more than it needs.
const EVIDENCE_BYTES: u64 = 512 << 10;
/// The most that a jump fetches beyond its need.
const JUMP_BYTES: u64 = 2 << 20;
/// What the kernel reads beyond a stretch, in the same request as its end: its own read-ahead. Without these bytes the
/// end would wait for them.
const KERNEL_BYTES: u64 = 128 << 10;
/// How far ahead blocks are loaded from the disk.
const LOAD_BYTES: u64 = 2 << 20;
/// After a fetch ahead failed, none is tried for so long.
const PAUSE: Duration = Duration::from_secs(1);

/// What a read sets off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decision {
    /// Of a jump: what was fetched ahead for nothing, as far as is known now.
    pub(crate) stale: Option<Range<u64>>,
    /// Until where the fetch for this read should reach; at least the end of the read.
    pub(crate) demand_end: u64,
    /// What may be loaded from disk now, if it is there.
    pub(crate) load: Range<u64>,
    /// What should be fetched now. Report how far that was possible by `asked`.
    pub(crate) fetch: Range<u64>,
}

#[derive(Debug)]
struct Run {
    start: u64,
    /// End of the foremost read.
    position: u64,
    /// Bytes read between both.
    bytes: u64,
    reads: u64,
}

#[derive(Debug)]
pub(crate) struct ReadAhead {
    size: u64,
    run: Option<Run>,
    /// Length of the run before; 0 if there was none.
    former: u64,
    /// 0 until the run is proven.
    window: u64,
    grown_at: u64,
    grown_since: Option<Instant>,
    /// Until where was asked.
    asked: u64,
    /// Until where loads were started.
    loaded: u64,
    paused_until: Option<Instant>,
}

impl ReadAhead {
    pub(crate) fn new(size: u64) -> Self {
        Self {
            size,
            run: None,
            former: 0,
            window: 0,
            grown_at: 0,
            grown_since: None,
            asked: 0,
            loaded: 0,
            paused_until: None,
        }
    }

    /// The reader reads `bytes`, which is not empty and lies within the content.
    pub(crate) fn read(&mut self, bytes: Range<u64>, now: Instant) -> Decision {
        let mut stale = None;
        let mut demand_end = bytes.end;
        match self.run.as_mut().filter(|run| continues(run, self.window, bytes.start)) {
            Some(run) => {
                run.reads += 1;
                if bytes.start < run.start {
                    run.bytes += bytes.end.min(run.start) - bytes.start;
                    run.start = bytes.start;
                }
                if bytes.end > run.position {
                    run.bytes += bytes.end - bytes.start.max(run.position);
                    run.position = bytes.end;
                }
            }
            None => {
                if self.run.is_none() && bytes.start > GAP_BYTES {
                    self.former = JUMP_BYTES;
                }
                stale = Some(self.jump(bytes.clone()));
                if self.former >= EVIDENCE_BYTES {
                    let stretch = self.former.min(JUMP_BYTES) + KERNEL_BYTES;
                    demand_end = bytes.start.saturating_add(stretch).min(self.size).max(bytes.end);
                }
            }
        }
        self.asked = self.asked.max(demand_end);
        self.loaded = self.loaded.max(bytes.end);
        self.grow(now);
        Decision { stale, demand_end, load: self.load(), fetch: self.fetch(now) }
    }

    /// Fetches were started until `end`.
    pub(crate) fn asked(&mut self, end: u64) {
        self.asked = self.asked.max(end);
    }

    /// A fetch ahead failed: after a pause it begins with a small window.
    pub(crate) fn failed(&mut self, now: Instant) {
        self.paused_until = Some(now + PAUSE);
        self.window = self.window.min(WINDOW_FIRST);
        self.asked = 0;
    }

    fn jump(&mut self, bytes: Range<u64>) -> Range<u64> {
        let ahead = self.asked.max(self.loaded);
        let stale = self.run.as_ref().map_or(0..0, |run| run.position..ahead.max(run.position));
        if let Some(run) = &self.run {
            self.former = if is_dense(run) { run.position - run.start } else { 0 };
        }
        self.window = 0;
        self.asked = 0;
        self.loaded = 0;
        let length = bytes.end - bytes.start;
        self.run = Some(Run { start: bytes.start, position: bytes.end, bytes: length, reads: 1 });
        stale
    }

    fn grow(&mut self, now: Instant) {
        let Some(run) = &self.run else { return };
        if self.paused_until.is_some_and(|until| now < until) {
            // What is read now does not come from ahead.
            self.grown_at = run.bytes;
            self.grown_since = Some(now);
        } else if self.window == 0 {
            if run.reads > 1 && run.bytes > PROOF_BYTES && is_dense(run) {
                self.window = WINDOW_FIRST;
                self.grown_at = run.bytes;
                self.grown_since = Some(now);
            }
        } else if run.bytes - self.grown_at >= self.window {
            let took = self.grown_since.map_or(Duration::MAX, |since| now.duration_since(since));
            let growth = match took {
                took if took <= GROWTH_TIME / 4 => 4,
                took if took <= GROWTH_TIME => 2,
                _ => 1,
            };
            self.window = (self.window * growth).min(WINDOW_MOST);
            self.grown_at = run.bytes;
            self.grown_since = Some(now);
        }
    }

    fn load(&mut self) -> Range<u64> {
        let Some(run) = self.run.as_ref().filter(|_| self.window > 0) else { return 0..0 };
        let end = (run.position + LOAD_BYTES).min(self.size);
        let load = self.loaded.max(run.position)..end;
        self.loaded = self.loaded.max(end);
        load
    }

    fn fetch(&self, now: Instant) -> Range<u64> {
        let Some(run) = self.run.as_ref().filter(|_| self.window > 0) else { return 0..0 };
        if self.paused_until.is_some_and(|until| now < until) {
            return 0..0;
        }
        let mut end = (run.position + self.window).next_multiple_of(REQUEST_BYTES);
        let expected = run.start + self.former + KERNEL_BYTES;
        if run.position <= expected {
            end = end.min(expected.next_multiple_of(BLOCK_BYTES));
        }
        let end = end.min(self.size);
        let start = self.asked.max(run.position);
        if start < end { start..end } else { 0..0 }
    }
}

/// Whether a read at `offset` belongs to the run.
fn continues(run: &Run, window: u64, offset: u64) -> bool {
    let behind = run.position.saturating_sub(window.max(BEHIND_BYTES));
    let behind = behind.max(run.start.saturating_sub(GAP_BYTES));
    (behind..=run.position + window.max(GAP_BYTES)).contains(&offset)
}

/// Whether most of the run was read, not skipped.
fn is_dense(run: &Run) -> bool {
    run.bytes >= (run.position - run.start) / 2
}

#[cfg(test)]
mod tests;
