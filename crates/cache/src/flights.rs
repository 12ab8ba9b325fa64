//! Blocks on their way: from the disk, or from a source. No I/O here: the tasks that carry them report to this.
//!
//! A flight covers a run of blocks of one content, in order. The bytes of the block that is arriving can be read at
//! once; whole blocks leave the flight. A flight that nobody waits for and no reader wants is cut, but not before the
//! blocks that a read had asked for are whole.

use std::collections::HashMap;
use std::ops::Range;

use bytes::{Bytes, BytesMut};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::blocks::BlockState;
use crate::key::{BLOCK_BYTES, BlockId, ContentKey, block_length};
use crate::reader::ReadError;

/// Number of a flight.
pub(crate) type FlightId = u64;

/// What carries a flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// From the disk. If it fails, the source is asked.
    Disk,
    /// From the source, because a read needs it: its failure is the read's.
    Demand,
    /// From the source, in case. If it fails, a read that needs it asks for itself.
    ReadAhead,
    /// From the source, to be kept. If it fails, a read that needs it asks for itself.
    Bulk,
}

/// How far a flight is.
#[derive(Debug, Clone)]
pub(crate) struct Progress {
    /// The version that it carries.
    pub(crate) key: ContentKey,
    /// Size of that version.
    pub(crate) size: u64,
    /// Offset of the next byte to come.
    pub(crate) arrived: u64,
    /// How it ended.
    pub(crate) ended: Option<Result<(), ReadError>>,
}

/// What the next bytes made of a block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Bytes are missing yet.
    Partial,
    /// It is whole: report with `landed` where it can be had.
    Whole(BlockId, Vec<Bytes>),
}

struct Flight {
    carrier: Carrier,
    blocks: Range<u64>,
    /// Up to here blocks were asked for by reads.
    demanded_until: u64,
    /// The block that is arriving.
    current: u64,
    /// What has arrived of it.
    pieces: Vec<Bytes>,
    /// A read had its end already.
    read: bool,
    /// Readers in whose window it lies.
    wanted_by: Vec<u64>,
    /// Memory promised to blocks that have not landed.
    reserved: u64,
    progress: watch::Sender<Progress>,
    cut: CancellationToken,
    raised: CancellationToken,
}

impl Flight {
    fn is_wanted(&self) -> bool {
        self.progress.receiver_count() > 0 || !self.wanted_by.is_empty()
    }

    /// Whether the block that is arriving has arrived and only has to land. It may still wait for the source's end.
    fn is_whole(&self) -> bool {
        let progress = self.progress.borrow();
        let length = block_length(progress.size, self.current);
        length > 0 && progress.arrived >= self.current * BLOCK_BYTES + length
    }
}

/// A flight to begin.
pub(crate) struct Departure {
    pub(crate) carrier: Carrier,
    pub(crate) key: ContentKey,
    pub(crate) size: u64,
    pub(crate) blocks: Range<u64>,
    pub(crate) demanded_until: u64,
    pub(crate) wanted_by: Option<u64>,
    pub(crate) reserved: u64,
    /// Cancelled when the flight is cut.
    pub(crate) cut: CancellationToken,
    /// Cancelled when a read comes to wait for it.
    pub(crate) raised: CancellationToken,
}

/// What a flight leaves behind.
pub(crate) struct Ended {
    pub(crate) carrier: Carrier,
    pub(crate) wanted_by: Vec<u64>,
    pub(crate) reserved: u64,
}

#[derive(Default)]
pub(crate) struct Flights {
    last: FlightId,
    flights: HashMap<FlightId, Flight>,
    by_block: HashMap<BlockId, FlightId>,
}

impl Flights {
    pub(crate) fn begin(&mut self, departure: Departure) -> FlightId {
        let Departure { carrier, key, size, blocks, demanded_until, wanted_by, reserved, cut, raised } =
            departure;
        self.last += 1;
        for index in blocks.clone() {
            self.by_block.insert(BlockId { key, index }, self.last);
        }
        let arrived = blocks.start * BLOCK_BYTES;
        let flight = Flight {
            carrier,
            current: blocks.start,
            blocks,
            demanded_until,
            pieces: Vec::new(),
            read: false,
            wanted_by: wanted_by.into_iter().collect(),
            reserved,
            progress: watch::Sender::new(Progress { key, size, arrived, ended: None }),
            cut,
            raised,
        };
        self.flights.insert(self.last, flight);
        self.last
    }

    pub(crate) fn carries(&self, id: &BlockId) -> bool {
        self.by_block.contains_key(id)
    }

    /// A read comes to wait for a block.
    pub(crate) fn raise(&self, id: &BlockId) {
        if let Some(flight) = self.bringing(id) {
            flight.raised.cancel();
        }
    }

    /// The flight that brings a block.
    pub(crate) fn watch(&self, id: &BlockId) -> Option<(Carrier, watch::Receiver<Progress>)> {
        let flight = self.bringing(id)?;
        Some((flight.carrier, flight.progress.subscribe()))
    }

    /// The bytes `part` of a block that is arriving, if they are there.
    pub(crate) fn part(&mut self, id: &BlockId, part: &Range<usize>) -> Option<Bytes> {
        let number = self.by_block.get(id)?;
        let flight = self.flights.get_mut(number).filter(|flight| flight.current == id.index)?;
        if flight.pieces.iter().map(Bytes::len).sum::<usize>() < part.end {
            return None;
        }
        flight.read |= part.end as u64 == block_length(flight.progress.borrow().size, id.index);
        let mut copied = BytesMut::with_capacity(part.len());
        let mut start = 0;
        for piece in &flight.pieces {
            let end = start + piece.len();
            let (from, to) = (part.start.clamp(start, end), part.end.clamp(start, end));
            copied.extend_from_slice(&piece[from - start..to - start]);
            start = end;
        }
        Some(copied.freeze())
    }

    /// The reader's window covers this block.
    pub(crate) fn want(&mut self, id: &BlockId, reader: u64) {
        let Some(flight) = self.by_block.get(id).and_then(|flight| self.flights.get_mut(flight)) else {
            return;
        };
        if !flight.wanted_by.contains(&reader) {
            flight.wanted_by.push(reader);
        }
    }

    /// The answer is of another version: the flight goes on as one of that. Gives the readers that wanted it.
    pub(crate) fn divert(&mut self, number: FlightId, key: ContentKey, size: u64) -> Vec<u64> {
        let Some(flight) = self.flights.get_mut(&number) else { return Vec::new() };
        let former = flight.progress.borrow().key;
        for index in flight.blocks.clone() {
            self.by_block.remove(&BlockId { key: former, index });
            if block_length(size, index) > 0 {
                self.by_block.entry(BlockId { key, index }).or_insert(number);
            }
        }
        flight.progress.send_modify(|progress| {
            progress.key = key;
            progress.size = size;
        });
        flight.wanted_by.clone()
    }

    /// The next bytes have arrived, all of one block.
    pub(crate) fn arrived(&mut self, number: FlightId, bytes: Bytes) -> Arrival {
        let Some(flight) = self.flights.get_mut(&number) else { return Arrival::Partial };
        let length = bytes.len() as u64;
        flight.pieces.push(bytes);
        flight.progress.send_modify(|progress| progress.arrived += length);
        if !flight.is_whole() {
            return Arrival::Partial;
        }
        let key = flight.progress.borrow().key;
        Arrival::Whole(BlockId { key, index: flight.current }, flight.pieces.clone())
    }

    /// A whole block can be had elsewhere from now on. Gives the memory that was promised to it, or nothing if
    /// another flight brings the block.
    pub(crate) fn landed(&mut self, number: FlightId, id: &BlockId, length: u64) -> Option<u64> {
        let flight = self.flights.get_mut(&number)?;
        flight.pieces.clear();
        flight.read = false;
        flight.current = id.index + 1;
        flight.progress.send_modify(|_| {});
        if self.by_block.get(id) != Some(&number) {
            return None;
        }
        self.by_block.remove(id);
        let promised = length.min(flight.reserved);
        flight.reserved -= promised;
        Some(promised)
    }

    /// Whether the block that is arriving is no longer waited for: a read had its end, or nobody asked to read it.
    pub(crate) fn is_read(&self, number: FlightId) -> bool {
        self.flights.get(&number).is_some_and(|flight| flight.read || flight.carrier == Carrier::Bulk)
    }

    /// Whether a flight has nothing more to bring: it ended, was cut, or was cut short.
    pub(crate) fn is_over(&self, number: FlightId) -> bool {
        self.flights.get(&number).is_none_or(|flight| flight.current >= flight.blocks.end)
    }

    /// Whether somebody waits for a flight or has it in a window.
    pub(crate) fn is_wanted(&self, number: FlightId) -> bool {
        self.flights.get(&number).is_some_and(Flight::is_wanted)
    }

    /// The flight is over.
    pub(crate) fn end(&mut self, number: FlightId, how: Result<(), ReadError>) -> Option<Ended> {
        let flight = self.flights.remove(&number)?;
        let key = flight.progress.borrow().key;
        self.unlist(number, key, flight.blocks);
        flight.progress.send_modify(|progress| progress.ended = Some(how));
        Some(Ended { carrier: flight.carrier, wanted_by: flight.wanted_by, reserved: flight.reserved })
    }

    /// The reader's window no longer lies where it did. Flights that bring any of the blocks `keep` stay as they
    /// are. Gives the memory that was promised to what was cut.
    pub(crate) fn withdraw(&mut self, reader: u64, keep: &Range<u64>) -> u64 {
        let mut left = Vec::new();
        for (number, flight) in &mut self.flights {
            let kept = flight.blocks.start < keep.end && keep.start < flight.blocks.end;
            if !kept && flight.wanted_by.contains(&reader) {
                flight.wanted_by.retain(|other| *other != reader);
                left.push(*number);
            }
        }
        left.into_iter().map(|number| self.trim(number)).sum()
    }

    /// A read that had asked for this block was given up. As `withdraw`.
    pub(crate) fn abandon(&mut self, id: &BlockId) -> u64 {
        let Some(number) = self.by_block.get(id).copied() else { return 0 };
        let Some(flight) = self.flights.get_mut(&number) else { return 0 };
        if flight.progress.receiver_count() > 0 {
            return 0;
        }
        flight.demanded_until = flight.blocks.start;
        self.trim(number)
    }

    /// The blocks of `key` that are on their way.
    pub(crate) fn indexes(&self, key: &ContentKey) -> impl Iterator<Item = (u64, BlockState)> {
        self.by_block.iter().filter(move |(id, _)| id.key == *key).map(|(id, number)| {
            let ahead = self
                .flights
                .get(number)
                .is_some_and(|flight| flight.carrier == Carrier::ReadAhead && !flight.raised.is_cancelled());
            (id.index, if ahead { BlockState::ReadAhead } else { BlockState::InFlight })
        })
    }

    fn bringing(&self, id: &BlockId) -> Option<&Flight> {
        self.flights.get(self.by_block.get(id)?)
    }

    /// Cuts what nobody waits for and no window covers, up to what reads had asked for.
    fn trim(&mut self, number: FlightId) -> u64 {
        let Some(flight) = self.flights.get_mut(&number) else { return 0 };
        if flight.is_wanted() || flight.carrier == Carrier::Disk {
            return 0;
        }
        let end = flight.demanded_until.max(flight.current + u64::from(flight.is_whole()));
        if flight.current >= end {
            flight.cut.cancel();
            return self.end(number, Err(ReadError::Closed)).map_or(0, |ended| ended.reserved);
        }
        let key = flight.progress.borrow().key;
        let beyond = end..flight.blocks.end;
        flight.blocks.end = end;
        self.unlist(number, key, beyond);
        0
    }

    fn unlist(&mut self, number: FlightId, key: ContentKey, blocks: Range<u64>) {
        for index in blocks {
            let id = BlockId { key, index };
            if self.by_block.get(&id) == Some(&number) {
                self.by_block.remove(&id);
            }
        }
    }
}

#[cfg(test)]
mod tests;
