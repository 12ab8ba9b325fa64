//! What lies on disk, what it costs, and what goes first. A state machine without I/O: the store asks for room,
//! removes what it is told to, writes, and reports.
//!
//! Least recently used blocks go first, those of superseded versions before all others; those of pinned contents never
//! go. Blocks lie in *segments*, the files. The order survives a restart by the segments' modification times.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use crate::key::{BlockId, ContentKey};
use order::{Orders, Standing};

mod geometry;
mod order;
mod pins;

pub(crate) use geometry::Geometry;
pub use pins::PinError;
use pins::Pins;

/// A segment's modification time is set anew by a hit only after so many seconds.
const REFRESH_SECONDS: u64 = 3600;
/// Uses since the start are younger than any modification time (in seconds) found at the start.
const LIVE: u64 = 1 << 40;

/// What a drop concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    All,
    Contact([u8; 16]),
    Entry([u8; 16], [u8; 16]),
}

impl Scope {
    pub(crate) fn holds(&self, key: &ContentKey) -> bool {
        match self {
            Self::All => true,
            Self::Contact(contact) => *contact == key.contact,
            Self::Entry(contact, entry) => *contact == key.contact && *entry == key.entry,
        }
    }
}

/// A block found on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) index: u64,
    /// Length of the block, as far as can be seen without opening it.
    pub(crate) length: u32,
    /// When its segment was modified, in seconds since 1970.
    pub(crate) modified: u64,
}

/// The answer to a wish for room.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// The block is there already.
    Present,
    /// Reserved: report with `commit` or `cancel`. So many bytes are going to be written.
    Reserved(u64),
    /// Remove this block and ask again.
    Evict(BlockId),
    /// There is none within the limit.
    Never,
}

/// A block that is no longer served and whose slot still takes up its bytes: report with `removed` or `restore`.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) id: BlockId,
    /// Nothing else is in its segment.
    pub(crate) last: bool,
    length: u32,
}

/// A segment's blocks, taken at once.
#[derive(Debug)]
pub(crate) struct TakenSegment {
    pub(crate) blocks: Vec<Taken>,
    /// Nothing else is in it.
    pub(crate) whole: bool,
}

#[derive(Debug)]
struct Block {
    stamp: u64,
    length: u32,
}

#[derive(Debug, Default)]
struct Segment {
    /// Blocks that are there, reserved or taken.
    blocks: u64,
    /// Seconds since 1970.
    modified: u64,
}

#[derive(Debug)]
struct Content {
    key: ContentKey,
    /// When it was last seen for the first time: orders versions of different epochs.
    rank: u64,
    readers: usize,
    standing: Standing,
    /// Everything that the start found of it is in `blocks`.
    listed: bool,
    segments: BTreeMap<u64, Segment>,
    blocks: BTreeMap<u64, Block>,
}

#[derive(Debug)]
pub(crate) struct Index {
    limit: u64,
    used: u64,
    geometry: Geometry,
    scanned: bool,
    clock: u64,
    contents: HashMap<u64, Content>,
    numbers: HashMap<ContentKey, u64>,
    versions: HashMap<([u8; 16], [u8; 16]), Vec<u64>>,
    orders: Orders,
    /// Segments of each contact.
    folders: HashMap<[u8; 16], u64>,
    pins: Pins,
}

impl Index {
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            limit,
            used: 0,
            geometry: Geometry::default(),
            scanned: false,
            clock: LIVE,
            contents: HashMap::new(),
            numbers: HashMap::new(),
            versions: HashMap::new(),
            orders: Orders::default(),
            folders: HashMap::new(),
            pins: Pins::default(),
        }
    }

    /// How blocks lie in files; before anything is taken in.
    pub(crate) fn set_geometry(&mut self, geometry: Geometry) {
        self.geometry = Geometry { unit: geometry.unit.max(1), slots: geometry.slots.max(1) };
        self.pins.set_geometry(self.geometry);
    }

    pub(crate) fn geometry(&self) -> Geometry {
        self.geometry
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    pub(crate) fn set_limit(&mut self, limit: u64) -> Result<(), PinError> {
        self.pins.check(0, limit)?;
        self.limit = limit;
        Ok(())
    }

    /// Bytes of disk in use or reserved.
    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    /// A reader of `key` begins. Of its entry's versions, those that it supersedes are evicted first from now on.
    pub(crate) fn open(&mut self, key: ContentKey) {
        let number = self.sight(key);
        if let Some(content) = self.contents.get_mut(&number) {
            content.readers += 1;
        }
    }

    /// A reader of `key` ends; true if it was the last one.
    pub(crate) fn close(&mut self, key: ContentKey) -> bool {
        let Some(number) = self.numbers.get(&key).copied() else { return true };
        let Some(content) = self.contents.get_mut(&number) else { return true };
        content.readers = content.readers.saturating_sub(1);
        let last = content.readers == 0;
        self.forget_if_empty(number);
        last
    }

    /// Whether everything that lies on disk of `key` is known.
    pub(crate) fn is_listed(&self, key: &ContentKey) -> bool {
        self.scanned || self.content(key).is_some_and(|content| content.listed)
    }

    /// Takes in what the start found of `key`.
    pub(crate) fn adopt(&mut self, key: ContentKey, found: &[Found]) {
        if self.is_listed(&key) {
            return;
        }
        let newest = found.iter().map(|block| block.modified).max().unwrap_or(0).min(LIVE - 1);
        let number = self.number(key, newest);
        for block in found {
            self.occupy(number, block.index, block.length.into());
            self.insert(number, block.index, block.length, block.modified, block.modified.min(LIVE - 1));
        }
        if let Some(content) = self.contents.get_mut(&number) {
            content.listed = true;
        }
        self.reorder(key);
        self.forget_if_empty(number);
    }

    /// What lies on disk is going to be taken in.
    pub(crate) fn begin_scan(&mut self) {
        self.scanned = false;
    }

    /// Everything that lay on disk at the start is taken in.
    pub(crate) fn finish_scan(&mut self) {
        self.scanned = true;
        let numbers: Vec<u64> = self.contents.keys().copied().collect();
        for number in numbers {
            self.forget_if_empty(number);
        }
    }

    pub(crate) fn contains(&self, id: &BlockId, length: u64) -> bool {
        self.block(id).is_some_and(|block| u64::from(block.length) == length)
    }

    /// A block was read; true if its segment's modification time is to be set to now (seconds since 1970).
    pub(crate) fn touch(&mut self, id: &BlockId, now: u64) -> bool {
        let Some(number) = self.numbers.get(&id.key).copied() else { return false };
        let stamp = self.tick();
        let slots = self.geometry.slots;
        let Some(content) = self.contents.get_mut(&number) else { return false };
        let Some(block) = content.blocks.get_mut(&id.index) else { return false };
        self.orders.remove(content.standing, &(block.stamp, number, id.index));
        self.orders.insert(content.standing, (stamp, number, id.index));
        block.stamp = stamp;
        let Some(segment) = content.segments.get_mut(&(id.index / slots)) else { return false };
        let due = now.saturating_sub(segment.modified) > REFRESH_SECONDS;
        if due {
            segment.modified = now;
        }
        due
    }

    /// Reserves room for a block of `length` bytes.
    pub(crate) fn room(&mut self, id: &BlockId, length: u64) -> Room {
        match self.block(id) {
            Some(block) if u64::from(block.length) == length => return Room::Present,
            // Torn, or of a source that does not know its sizes.
            Some(_) => return Room::Evict(*id),
            None => {}
        }
        let segment = id.index / self.geometry.slots;
        let mut charge = self.geometry.charge(length);
        if !self.content(&id.key).is_some_and(|content| content.segments.contains_key(&segment)) {
            charge += self.geometry.segment_charge();
        }
        if !self.folders.contains_key(&id.key.contact) {
            charge += self.geometry.folder_charge();
        }
        if charge > self.limit {
            return Room::Never;
        }
        if self.used + charge > self.limit {
            return self.oldest().map_or(Room::Never, Room::Evict);
        }
        let number = self.sight(id.key);
        self.occupy(number, id.index, length);
        Room::Reserved(charge)
    }

    /// The block for which there was room is written.
    pub(crate) fn commit(&mut self, id: &BlockId, length: u32, now: u64) {
        let number = self.sight(id.key);
        let stamp = self.tick();
        self.insert(number, id.index, length, now, stamp);
    }

    /// The block for which there was room is not written, and nothing of it is left.
    pub(crate) fn cancel(&mut self, id: &BlockId, length: u32) {
        let Some(number) = self.numbers.get(&id.key).copied() else { return };
        self.vacate(number, id.index, length.into());
        self.forget_if_empty(number);
    }

    /// Whether nothing but a reserved block is in its segment.
    pub(crate) fn is_alone(&self, id: &BlockId) -> bool {
        let segment = id.index / self.geometry.slots;
        let content = self.content(&id.key);
        content.and_then(|content| content.segments.get(&segment)).is_none_or(|segment| segment.blocks <= 1)
    }

    /// The block that is to go first.
    pub(crate) fn oldest(&self) -> Option<BlockId> {
        let (_, number, index) = self.orders.first()?;
        Some(BlockId { key: self.contents.get(number)?.key, index: *index })
    }

    /// The block that is to go first, if more is used than the limit allows.
    pub(crate) fn over_limit(&self) -> Option<BlockId> {
        if self.used > self.limit { self.oldest() } else { None }
    }

    /// Stops serving a block.
    pub(crate) fn take(&mut self, id: &BlockId) -> Option<Taken> {
        let number = self.numbers.get(&id.key).copied()?;
        let slots = self.geometry.slots;
        let content = self.contents.get_mut(&number)?;
        let block = content.blocks.remove(&id.index)?;
        self.orders.remove(content.standing, &(block.stamp, number, id.index));
        let last = content.segments.get(&(id.index / slots)).is_none_or(|segment| segment.blocks <= 1);
        Some(Taken { id: *id, last, length: block.length })
    }

    /// Stops serving all blocks of the segment in which `id` lies.
    pub(crate) fn take_segment(&mut self, id: &BlockId) -> TakenSegment {
        let slots = self.geometry.slots;
        let segment = id.index / slots;
        let Some(content) = self.content(&id.key) else {
            return TakenSegment { blocks: Vec::new(), whole: false };
        };
        let there = content.segments.get(&segment).map_or(0, |segment| segment.blocks);
        let indexes: Vec<u64> =
            content.blocks.range(segment * slots..(segment + 1) * slots).map(|(index, _)| *index).collect();
        let blocks: Vec<Taken> =
            indexes.into_iter().filter_map(|index| self.take(&BlockId { index, ..*id })).collect();
        TakenSegment { whole: blocks.len() as u64 == there, blocks }
    }

    /// The slot of a taken block is free.
    pub(crate) fn removed(&mut self, taken: &Taken) {
        self.cancel(&taken.id, taken.length);
    }

    /// The slot of a taken block could not be freed: it is served again, and is the last to be tried again.
    pub(crate) fn restore(&mut self, taken: &Taken) {
        let number = self.sight(taken.id.key);
        let stamp = self.tick();
        self.insert(number, taken.id.index, taken.length, 0, stamp);
    }

    /// One block of each segment of the versions that `key` supersedes, without those that somebody reads or pinned.
    pub(crate) fn superseded_by(&self, key: &ContentKey) -> Vec<BlockId> {
        let Some(newer) = self.content(key) else { return Vec::new() };
        let numbers = self.versions.get(&(key.contact, key.entry)).into_iter().flatten();
        numbers
            .filter_map(|number| self.contents.get(number))
            .filter(|content| content.readers == 0 && supersedes(newer, content))
            .flat_map(|content| self.segments(content))
            .collect()
    }

    /// One block of each segment within `scope`, without pinned contents.
    pub(crate) fn within(&self, scope: Scope) -> Vec<BlockId> {
        if let Scope::Entry(contact, entry) = scope {
            // Directly: a folder is dropped entry by entry.
            let numbers = self.versions.get(&(contact, entry)).into_iter().flatten();
            let contents = numbers.filter_map(|number| self.contents.get(number));
            return contents.flat_map(|content| self.segments(content)).collect();
        }
        let contents = self.contents.values().filter(|content| scope.holds(&content.key));
        contents.flat_map(|content| self.segments(content)).collect()
    }

    /// The blocks of `key` from number `from` on, in order.
    pub(crate) fn indexes(&self, key: &ContentKey, from: u64) -> impl Iterator<Item = u64> {
        let content = self.content(key).into_iter();
        content.flat_map(move |content| content.blocks.range(from..).map(|(index, _)| *index))
    }

    /// One block of each segment, unless the content is pinned.
    fn segments(&self, content: &Content) -> Vec<BlockId> {
        if content.standing == Standing::Pinned {
            return Vec::new();
        }
        let slots = self.geometry.slots;
        let mut blocks: Vec<BlockId> =
            content.blocks.keys().map(|index| BlockId { key: content.key, index: *index }).collect();
        blocks.dedup_by_key(|id| id.index / slots);
        blocks
    }

    fn content(&self, key: &ContentKey) -> Option<&Content> {
        self.contents.get(self.numbers.get(key)?)
    }

    fn block(&self, id: &BlockId) -> Option<&Block> {
        self.content(&id.key)?.blocks.get(&id.index)
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// The number of `key`'s content, which is in use now.
    fn sight(&mut self, key: ContentKey) -> u64 {
        let rank = self.tick();
        let number = self.number(key, rank);
        if let Some(content) = self.contents.get_mut(&number)
            && content.rank < LIVE
        {
            content.rank = rank;
        }
        self.reorder(key);
        number
    }

    fn number(&mut self, key: ContentKey, rank: u64) -> u64 {
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        let number = self.tick();
        self.numbers.insert(key, number);
        self.versions.entry((key.contact, key.entry)).or_default().push(number);
        self.contents.insert(
            number,
            Content {
                key,
                rank,
                readers: 0,
                standing: Standing::Current,
                listed: false,
                segments: BTreeMap::new(),
                blocks: BTreeMap::new(),
            },
        );
        number
    }

    fn insert(&mut self, number: u64, index: u64, length: u32, modified: u64, stamp: u64) {
        let segment = index / self.geometry.slots;
        let Some(content) = self.contents.get_mut(&number) else { return };
        if let Some(segment) = content.segments.get_mut(&segment) {
            segment.modified = segment.modified.max(modified);
        }
        content.blocks.insert(index, Block { stamp, length });
        self.orders.insert(content.standing, (stamp, number, index));
    }

    /// Counts a block as used, with the segment and the folder that it is the first in.
    fn occupy(&mut self, number: u64, index: u64, length: u64) {
        let segment = index / self.geometry.slots;
        let Some(content) = self.contents.get_mut(&number) else { return };
        self.used += self.geometry.charge(length);
        let segment = content.segments.entry(segment).or_default();
        segment.blocks += 1;
        if segment.blocks > 1 {
            return;
        }
        self.used += self.geometry.segment_charge();
        let segments = self.folders.entry(content.key.contact).or_default();
        *segments += 1;
        if *segments == 1 {
            self.used += self.geometry.folder_charge();
        }
    }

    /// The opposite of `occupy`.
    fn vacate(&mut self, number: u64, index: u64, length: u64) {
        let at = index / self.geometry.slots;
        let Some(content) = self.contents.get_mut(&number) else { return };
        let Some(segment) = content.segments.get_mut(&at) else { return };
        segment.blocks -= 1;
        let mut charge = self.geometry.charge(length);
        if segment.blocks == 0 {
            content.segments.remove(&at);
            charge += self.geometry.segment_charge();
            if let Some(segments) = self.folders.get_mut(&content.key.contact) {
                *segments -= 1;
                if *segments == 0 {
                    self.folders.remove(&content.key.contact);
                    charge += self.geometry.folder_charge();
                }
            }
        }
        self.used = self.used.saturating_sub(charge);
    }

    /// Gives the versions of `key`'s entry their standing.
    fn reorder(&mut self, key: ContentKey) {
        let Some(numbers) = self.versions.get(&(key.contact, key.entry)) else { return };
        let versions: Vec<&Content> = numbers.iter().filter_map(|number| self.contents.get(number)).collect();
        let standing = |content: &Content| {
            if self.pins.contains(&content.key) {
                Standing::Pinned
            } else if versions.iter().any(|other| supersedes(other, content)) {
                Standing::Superseded
            } else {
                Standing::Current
            }
        };
        let changed: Vec<(u64, Standing)> = numbers
            .iter()
            .filter_map(|number| self.contents.get(number).map(|content| (*number, content)))
            .map(|(number, content)| (number, content.standing, standing(content)))
            .filter(|(_, former, now)| former != now)
            .map(|(number, _, now)| (number, now))
            .collect();
        for (number, now) in changed {
            let Some(content) = self.contents.get_mut(&number) else { continue };
            let former = std::mem::replace(&mut content.standing, now);
            for (index, block) in &content.blocks {
                let place = (block.stamp, number, *index);
                self.orders.remove(former, &place);
                self.orders.insert(now, place);
            }
        }
    }

    fn forget_if_empty(&mut self, number: u64) {
        let Some(content) = self.contents.get(&number) else { return };
        let needed = content.readers > 0 || (content.listed && !self.scanned);
        if needed || !content.segments.is_empty() {
            return;
        }
        let key = content.key;
        self.contents.remove(&number);
        self.numbers.remove(&key);
        let entry = (key.contact, key.entry);
        if let Some(numbers) = self.versions.get_mut(&entry) {
            numbers.retain(|other| *other != number);
            if numbers.is_empty() {
                self.versions.remove(&entry);
            }
        }
        self.reorder(key);
    }
}

/// Within an epoch the counter decides. Epochs have no order; of two, the one that was seen later is the newer.
fn supersedes(newer: &Content, older: &Content) -> bool {
    if newer.key.epoch == older.key.epoch {
        newer.key.counter > older.key.counter
    } else {
        newer.rank > older.rank
    }
}

/// Sorted numbers as ranges apart from each other.
pub(crate) fn ranges(numbers: impl IntoIterator<Item = u64>) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some(range) if range.end == number => range.end += 1,
            Some(_) | None => ranges.push(number..number + 1),
        }
    }
    ranges
}

#[cfg(test)]
mod tests;
