//! What all readers of a cache share: the blocks in memory and on their way, behind one lock that is never held
//! across a wait.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::FETCH_BYTES;
use crate::blocks::BlockState;
use crate::counters::Counters;
use crate::fetch::Fetch;
use crate::flights::{Arrival, Carrier, Departure, FlightId, Flights, Progress};
use crate::key::{BLOCK_BYTES, BlockId, ContentKey, block_length, blocks_of};
use crate::memory::{Claim, Memory};
use crate::read_ahead::{Decision, REQUEST_BYTES, ReadAhead};
use crate::reader::ReadError;
use crate::source::{BlockSource, Urgency};
use crate::store::{Scope, Store, ranges};

mod keep;

/// How often memory is swept: blocks that were read go after once to twice this time.
const SWEEP: Duration = Duration::from_secs(5);

/// A version of a content and its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) key: ContentKey,
    pub(crate) size: u64,
}

impl Version {
    fn block(&self, index: u64) -> (BlockId, u64) {
        (BlockId { key: self.key, index }, block_length(self.size, index))
    }
}

/// Who reads.
pub(crate) struct Asker {
    pub(crate) number: u64,
    pub(crate) version: Version,
    pub(crate) source: Arc<dyn BlockSource>,
}

/// Where a part of a block is.
pub(crate) enum Located {
    Here(Bytes),
    Coming(Carrier, watch::Receiver<Progress>),
    Absent,
}

/// What the source is asked for.
#[derive(Debug, Clone, Copy)]
enum Errand {
    /// A read, which needs the blocks up to this one.
    Demand { until: u64 },
    /// What will probably be read.
    ReadAhead,
    /// What is to be kept.
    Keep,
}

struct State {
    closed: bool,
    memory: Memory,
    flights: Flights,
    readers: HashMap<u64, ReadAhead>,
    last_reader: u64,
}

pub(crate) struct Shared {
    state: Mutex<State>,
    pub(crate) store: Store,
    pub(crate) counters: Arc<Counters>,
    pub(crate) no_progress: Duration,
    pub(crate) tasks: TaskTracker,
    stop: CancellationToken,
}

impl Shared {
    pub(crate) fn new(
        store: Store,
        counters: Arc<Counters>,
        memory: u64,
        no_progress: Duration,
        tasks: TaskTracker,
    ) -> Self {
        let state = State {
            closed: false,
            memory: Memory::new(memory),
            flights: Flights::default(),
            readers: HashMap::new(),
            last_reader: 0,
        };
        let stop = CancellationToken::new();
        Self { state: Mutex::new(state), store, counters, no_progress, tasks, stop }
    }

    /// Starts what lets go of memory that nobody uses any more. It ends with the cache.
    pub(crate) fn sweep(self: &Arc<Self>) {
        let (shared, stop) = (Arc::downgrade(self), self.stop.clone());
        let sweeping = async move {
            loop {
                sleep(SWEEP).await;
                let Some(shared) = shared.upgrade() else { return };
                let is_stored = |id: &BlockId, length| shared.store.contains(id, length);
                shared.state().memory.sweep(Instant::now(), is_stored);
                shared.store.look_at_room();
            }
        };
        self.tasks.spawn(stop.run_until_cancelled_owned(sweeping));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn open_reader(&self, version: Version) -> u64 {
        self.store.open_reader(version.key);
        let mut state = self.state();
        state.last_reader += 1;
        let number = state.last_reader;
        state.readers.insert(number, ReadAhead::new(version.size));
        number
    }

    /// Cuts what only this reader wanted. The last reader of a version takes its blocks in memory along.
    pub(crate) fn close_reader(&self, number: u64, key: ContentKey) {
        let last = self.store.close_reader(key);
        let mut state = self.state();
        state.readers.remove(&number);
        let freed = state.flights.withdraw(number, &(0..0));
        state.memory.release(freed);
        if last {
            state.memory.forget(|other| *other == key);
        }
    }

    /// Ends every flight and refuses to begin others.
    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.stop.cancel();
        self.store.close();
        self.tasks.close();
    }

    pub(crate) fn forget_memory(&self, scope: Scope) {
        self.state().memory.forget(|key| scope.holds(key));
    }

    /// The blocks of `key` on their way and then those in memory; in no order.
    pub(crate) fn indexes(&self, key: &ContentKey) -> Vec<(u64, BlockState)> {
        let state = self.state();
        let mut indexes: Vec<_> = state.flights.indexes(key).collect();
        indexes.extend(state.memory.indexes(key).map(|index| (index, BlockState::Memory)));
        indexes
    }

    /// Bytes of blocks in memory and on their way to it.
    #[cfg(test)]
    pub(crate) fn memory(&self) -> (u64, u64) {
        let state = self.state();
        (state.memory.used(), state.memory.outstanding())
    }

    /// A read begins: asks for what it needs, then for what the read-ahead wants. Gives how many of the needed
    /// blocks did not have to be asked for, and how many had.
    pub(crate) fn begin_read(
        self: &Arc<Self>,
        asker: &Asker,
        version: Version,
        bytes: Range<u64>,
    ) -> Result<(u64, u64), ReadError> {
        let now = Instant::now();
        let mut state = self.state();
        let state = &mut *state;
        let own = version == asker.version;
        let decision = state.readers.get_mut(&asker.number).filter(|_| own);
        let decision = decision.map(|reader| reader.read(bytes.clone(), now));
        let needed = blocks_of(&bytes);
        let Some(Decision { stale, demand_end, load, fetch }) = decision else {
            let until = needed.end;
            return self.demand(state, asker, version, needed, until);
        };
        let until = blocks_of(&(bytes.start..demand_end)).end;
        if let Some(stale) = stale {
            let freed = state.flights.withdraw(asker.number, &(needed.start..until));
            state.memory.release(freed);
            for index in blocks_of(&stale) {
                state.memory.demote(&version.block(index).0);
            }
        }
        let counts = self.demand(state, asker, version, needed, until)?;
        for index in blocks_of(&load) {
            if !state.has(version, index) && self.is_stored(version, index) {
                self.load(state, version, index, Claim::IfFree);
            }
        }
        let asked = self.fetch_ahead(state, asker, bytes.end, fetch);
        if let Some(reader) = state.readers.get_mut(&asker.number) {
            reader.asked(asked);
        }
        Ok(counts)
    }

    /// Asks again for blocks of a read that were lost on their way.
    pub(crate) fn retry(
        self: &Arc<Self>,
        asker: &Asker,
        version: Version,
        needed: Range<u64>,
    ) -> Result<(), ReadError> {
        let until = needed.end;
        self.demand(&mut self.state(), asker, version, needed, until)?;
        Ok(())
    }

    /// Where the bytes `part` of a block are.
    pub(crate) fn locate(
        &self,
        version: Version,
        index: u64,
        part: &Range<usize>,
    ) -> Result<Located, ReadError> {
        let (id, length) = version.block(index);
        let mut state = self.state();
        if state.closed {
            return Err(ReadError::Closed);
        }
        let finished = part.end as u64 == length;
        if state.memory.contains(&id, length)
            && let Some(block) = state.memory.get(&id, finished, Instant::now())
        {
            return Ok(Located::Here(block.slice(part.clone())));
        }
        let Some((carrier, progress)) = state.flights.watch(&id) else { return Ok(Located::Absent) };
        if progress.borrow().size != version.size {
            return Err(ReadError::Inconsistent("one version has two sizes"));
        }
        Ok(match state.flights.part(&id, part) {
            Some(bytes) => Located::Here(bytes),
            None => Located::Coming(carrier, progress),
        })
    }

    /// A read of these blocks was given up.
    pub(crate) fn abandon(&self, key: ContentKey, blocks: Range<u64>) {
        let mut state = self.state();
        for index in blocks {
            let freed = state.flights.abandon(&BlockId { key, index });
            state.memory.release(freed);
        }
    }

    pub(crate) fn divert(&self, flight: FlightId, version: Version) {
        let mut state = self.state();
        for reader in state.flights.divert(flight, version.key, version.size) {
            if let Some(reader) = state.readers.get_mut(&reader) {
                reader.failed(Instant::now());
            }
        }
    }

    pub(crate) fn arrived(&self, flight: FlightId, bytes: Bytes) -> Arrival {
        self.counters.fetched_bytes.add(bytes.len() as u64);
        self.state().flights.arrived(flight, bytes)
    }

    pub(crate) fn is_wanted(&self, flight: FlightId) -> bool {
        self.state().flights.is_wanted(flight)
    }

    /// A block is whole: it is given to memory and queued for the disk. True if its flight is over.
    pub(crate) fn land(&self, flight: FlightId, id: BlockId, block: Bytes) -> bool {
        let (brought, over) = {
            let mut state = self.state();
            let read = state.flights.is_read(flight);
            let promised = state.flights.landed(flight, &id, block.len() as u64);
            if let Some(promised) = promised {
                state.memory.release(promised);
                state.memory.insert(id, block.clone(), Instant::now());
                if read {
                    state.memory.demote(&id);
                }
            }
            (promised.is_some(), state.flights.is_over(flight))
        };
        if brought {
            self.store.keep(id, block);
        }
        over
    }

    pub(crate) fn end_flight(&self, flight: FlightId, how: Result<(), ReadError>) {
        let failed = how.is_err();
        let mut state = self.state();
        let Some(ended) = state.flights.end(flight, how) else { return };
        state.memory.release(ended.reserved);
        if failed && ended.carrier == Carrier::ReadAhead {
            for reader in ended.wanted_by {
                if let Some(reader) = state.readers.get_mut(&reader) {
                    reader.failed(Instant::now());
                }
            }
        }
    }

    /// Starts what is missing of the blocks `needed`, and of those that follow up to `until`. Gives how many of the
    /// needed blocks did not have to be asked for, and how many had.
    fn demand(
        self: &Arc<Self>,
        state: &mut State,
        asker: &Asker,
        version: Version,
        needed: Range<u64>,
        until: u64,
    ) -> Result<(u64, u64), ReadError> {
        if state.closed {
            return Err(ReadError::Closed);
        }
        let mut missing = Vec::new();
        for index in needed.clone() {
            if state.has(version, index) {
                state.flights.raise(&version.block(index).0);
                continue;
            }
            if self.is_stored(version, index) {
                self.load(state, version, index, Claim::Always);
            } else {
                missing.push(index);
            }
        }
        let misses = missing.len() as u64;
        // Also where the beginning is here already: else every following read would wait for a round trip of its own.
        let more = needed.end..until;
        missing.extend(more.filter(|i| !state.has(version, *i) && !self.is_stored(version, *i)));
        for run in ranges(missing) {
            self.fetch(state, asker, version, run, Errand::Demand { until: needed.end }, Claim::Always);
        }
        Ok((needed.end - needed.start - misses, misses))
    }

    /// Asks the source for what is missing of `bytes`, in front of a reader at `position`. Gives until where memory
    /// allowed that.
    fn fetch_ahead(
        self: &Arc<Self>,
        state: &mut State,
        asker: &Asker,
        position: u64,
        bytes: Range<u64>,
    ) -> u64 {
        let version = asker.version;
        let mut at = bytes.start;
        while at < bytes.end {
            let end = (at + 1).next_multiple_of(REQUEST_BYTES).min(bytes.end);
            // A reader can go on reading ahead in any case, if only by one request.
            let claim = if at < position + REQUEST_BYTES { Claim::Always } else { Claim::IfFree };
            let mut missing = Vec::new();
            for index in blocks_of(&(at..end)) {
                if state.has(version, index) {
                    state.flights.want(&version.block(index).0, asker.number);
                } else if !self.is_stored(version, index) {
                    missing.push(index);
                }
            }
            for run in ranges(missing) {
                if !self.fetch(state, asker, version, run, Errand::ReadAhead, claim) {
                    return at;
                }
            }
            at = end;
        }
        at
    }

    /// Asks the source for blocks. False if memory does not allow it.
    fn fetch(
        self: &Arc<Self>,
        state: &mut State,
        asker: &Asker,
        version: Version,
        blocks: Range<u64>,
        errand: Errand,
        claim: Claim,
    ) -> bool {
        let (carrier, urgency, demanded) = match errand {
            Errand::Demand { until } => (Carrier::Demand, Urgency::Demand, until),
            Errand::ReadAhead => (Carrier::ReadAhead, Urgency::ReadAhead, 0),
            Errand::Keep => (Carrier::Bulk, Urgency::Bulk, 0),
        };
        let most = FETCH_BYTES / BLOCK_BYTES;
        let mut start = blocks.start;
        while start < blocks.end {
            let run = start..blocks.end.min(start + most);
            start = run.end;
            let bytes = run.start * BLOCK_BYTES..version.size.min(run.end * BLOCK_BYTES);
            let length = bytes.end - bytes.start;
            if !state.memory.reserve(length, claim, Instant::now()) {
                return false;
            }
            let demanded_until = demanded.clamp(run.start, run.end);
            let cut = self.stop.child_token();
            let raised = CancellationToken::new();
            let flight = state.flights.begin(Departure {
                carrier,
                key: version.key,
                size: version.size,
                demanded_until,
                wanted_by: (run.end > demanded_until).then_some(asker.number),
                blocks: run,
                reserved: length,
                cut: cut.clone(),
                raised: raised.clone(),
            });
            let source = Arc::clone(&asker.source);
            let fetch = Fetch { shared: Arc::clone(self), flight, source, version, bytes, urgency, raised };
            self.tasks.spawn(fetch.run(cut));
        }
        true
    }

    /// Loads a block from disk, which is neither in memory nor on its way.
    fn load(self: &Arc<Self>, state: &mut State, version: Version, index: u64, claim: Claim) {
        let (id, length) = version.block(index);
        if !state.memory.reserve(length, claim, Instant::now()) {
            return;
        }
        let flight = state.flights.begin(Departure {
            carrier: Carrier::Disk,
            key: version.key,
            size: version.size,
            blocks: index..index + 1,
            demanded_until: index + 1,
            wanted_by: None,
            reserved: length,
            cut: self.stop.child_token(),
            raised: CancellationToken::new(),
        });
        let shared = Arc::clone(self);
        self.tasks.spawn(async move {
            if let Some(block) = shared.store.load(id, length).await {
                shared.loaded(flight, id, block);
            }
            shared.end_flight(flight, Ok(()));
        });
    }

    fn loaded(&self, flight: FlightId, id: BlockId, block: Bytes) {
        let mut state = self.state();
        if let Some(promised) = state.flights.landed(flight, &id, block.len() as u64) {
            state.memory.release(promised);
            state.memory.insert(id, block, Instant::now());
        }
    }

    /// Whether all of a content is in memory, on its way, or on disk.
    pub(crate) fn is_here(&self, version: Version) -> bool {
        let state = self.state();
        blocks_of(&(0..version.size)).all(|index| state.has(version, index) || self.is_stored(version, index))
    }

    fn is_stored(&self, version: Version, index: u64) -> bool {
        let (id, length) = version.block(index);
        self.store.contains(&id, length)
    }
}

impl State {
    /// Whether a block is in memory or on its way.
    fn has(&self, version: Version, index: u64) -> bool {
        let (id, length) = version.block(index);
        self.memory.contains(&id, length) || self.flights.carries(&id)
    }
}
