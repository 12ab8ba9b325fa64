//! What lies on disk, what it costs, and what goes first. A state machine without I/O: the store asks for room,
//! removes what it is told to, writes, and reports.
//!
//! Least recently used blocks go first, those of superseded versions before all others. The order survives a
//! restart by the files' modification times.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use crate::key::{BlockId, ContentKey};
use crate::seal::OVERHEAD;

/// What a file or folder costs beside its content: its name in its folder, generously.
const NAME_BYTES: u64 = 64;
/// A block's modification time is set anew by a hit only after so many seconds.
const REFRESH_SECONDS: u64 = 3600;
/// Uses since the start are younger than any modification time (in seconds) found at the start.
const LIVE: u64 = 1 << 40;

/// The unit of allocation of most file systems.
const USUAL_UNIT: u64 = 4096;

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

/// A file found on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) index: u64,
    /// Length of the block.
    pub(crate) length: u32,
    /// Seconds since 1970.
    pub(crate) modified: u64,
}

/// The answer to a wish for room.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// The block is there already.
    Present,
    /// These bytes are reserved: report with `commit` or `cancel`.
    Reserved(u64),
    /// Remove this block and ask again.
    Evict(BlockId),
    /// There is none within the limit.
    Never,
}

/// A block that is no longer served and whose file still takes up its bytes: report with `release` or `restore`.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) id: BlockId,
    /// It was the last block of its content.
    pub(crate) last: bool,
    length: u32,
    modified: u64,
    charge: u64,
}

#[derive(Debug)]
struct Block {
    stamp: u64,
    length: u32,
    modified: u64,
}

#[derive(Debug)]
struct Content {
    key: ContentKey,
    /// When it was last seen for the first time: orders versions of different epochs.
    rank: u64,
    readers: usize,
    superseded: bool,
    /// Everything that the start found of it is in `blocks`.
    listed: bool,
    /// Its folders are counted as used.
    folders: bool,
    blocks: BTreeMap<u64, Block>,
}

/// Order of eviction: use stamp, content number, block number.
type Place = (u64, u64, u64);

#[derive(Debug)]
pub(crate) struct Index {
    limit: u64,
    used: u64,
    /// The file system's unit of allocation.
    unit: u64,
    scanned: bool,
    clock: u64,
    contents: HashMap<u64, Content>,
    numbers: HashMap<ContentKey, u64>,
    versions: HashMap<([u8; 16], [u8; 16]), Vec<u64>>,
    superseded: BTreeSet<Place>,
    current: BTreeSet<Place>,
}

impl Index {
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            limit,
            used: 0,
            unit: USUAL_UNIT,
            scanned: false,
            clock: LIVE,
            contents: HashMap::new(),
            numbers: HashMap::new(),
            versions: HashMap::new(),
            superseded: BTreeSet::new(),
            current: BTreeSet::new(),
        }
    }

    /// Sets the file system's unit of allocation; before anything is taken in.
    pub(crate) fn set_unit(&mut self, unit: u64) {
        self.unit = unit.max(1);
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    pub(crate) fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// Bytes of disk in use or reserved.
    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    /// What the file of a block of `length` bytes takes up.
    pub(crate) fn charge(&self, length: u64) -> u64 {
        (length + OVERHEAD).next_multiple_of(self.unit) + NAME_BYTES
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
            self.insert(number, block.index, block.length, block.modified, block.modified.min(LIVE - 1));
            self.used += self.charge(block.length.into());
        }
        if let Some(content) = self.contents.get_mut(&number) {
            content.listed = true;
        }
        self.reorder(key);
        self.forget_if_empty(number);
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

    /// A block was read; true if its file's modification time is to be set to now (seconds since 1970).
    pub(crate) fn touch(&mut self, id: &BlockId, now: u64) -> bool {
        let Some(number) = self.numbers.get(&id.key).copied() else { return false };
        let stamp = self.tick();
        let Some(content) = self.contents.get_mut(&number) else { return false };
        let Some(block) = content.blocks.get_mut(&id.index) else { return false };
        let order = if content.superseded { &mut self.superseded } else { &mut self.current };
        order.remove(&(block.stamp, number, id.index));
        order.insert((stamp, number, id.index));
        block.stamp = stamp;
        let due = now.saturating_sub(block.modified) > REFRESH_SECONDS;
        if due {
            block.modified = now;
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
        let folders = !self.content(&id.key).is_some_and(|content| content.folders);
        let charge = self.charge(length) + if folders { self.folders_charge() } else { 0 };
        if charge > self.limit {
            return Room::Never;
        }
        if self.used + charge > self.limit {
            return self.oldest().map_or(Room::Never, Room::Evict);
        }
        let number = self.sight(id.key);
        if let Some(content) = self.contents.get_mut(&number) {
            content.folders = true;
        }
        self.used += charge;
        Room::Reserved(self.charge(length))
    }

    /// The block for which there was room is written.
    pub(crate) fn commit(&mut self, id: &BlockId, length: u32, now: u64) {
        let number = self.sight(id.key);
        let stamp = self.tick();
        self.insert(number, id.index, length, now, stamp);
    }

    /// The block for which there was room is not written, and nothing of it is left.
    pub(crate) fn cancel(&mut self, id: &BlockId, charge: u64) {
        self.release(charge);
        let Some(number) = self.numbers.get(&id.key).copied() else { return };
        self.release_folders_if_empty(number);
        self.forget_if_empty(number);
    }

    /// The block that is to go first.
    pub(crate) fn oldest(&self) -> Option<BlockId> {
        let (_, number, index) = self.superseded.first().or_else(|| self.current.first())?;
        Some(BlockId { key: self.contents.get(number)?.key, index: *index })
    }

    /// The block that is to go first, if more is used than the limit allows.
    pub(crate) fn over_limit(&self) -> Option<BlockId> {
        if self.used > self.limit { self.oldest() } else { None }
    }

    /// Stops serving a block.
    pub(crate) fn take(&mut self, id: &BlockId) -> Option<Taken> {
        let number = self.numbers.get(&id.key).copied()?;
        let content = self.contents.get_mut(&number)?;
        let block = content.blocks.remove(&id.index)?;
        let order = if content.superseded { &mut self.superseded } else { &mut self.current };
        order.remove(&(block.stamp, number, id.index));
        let last = content.blocks.is_empty();
        let charge = self.charge(block.length.into());
        Some(Taken { id: *id, last, length: block.length, modified: block.modified, charge })
    }

    /// The file of a taken block is gone.
    pub(crate) fn removed(&mut self, taken: &Taken) {
        self.cancel(&taken.id, taken.charge);
    }

    /// The file of a taken block could not be removed: it is served again, and is the last to be tried again.
    pub(crate) fn restore(&mut self, taken: &Taken) {
        let number = self.sight(taken.id.key);
        let stamp = self.tick();
        self.insert(number, taken.id.index, taken.length, taken.modified, stamp);
    }

    /// The blocks of the versions that `key` supersedes, without those that somebody reads.
    pub(crate) fn superseded_by(&self, key: &ContentKey) -> Vec<BlockId> {
        let Some(newer) = self.content(key) else { return Vec::new() };
        let numbers = self.versions.get(&(key.contact, key.entry)).into_iter().flatten();
        numbers
            .filter_map(|number| self.contents.get(number))
            .filter(|content| content.readers == 0 && supersedes(newer, content))
            .flat_map(blocks)
            .collect()
    }

    /// Every block within `scope`.
    pub(crate) fn within(&self, scope: Scope) -> Vec<BlockId> {
        self.contents.values().filter(|content| scope.holds(&content.key)).flat_map(blocks).collect()
    }

    /// The blocks of `key`, in order.
    pub(crate) fn indexes(&self, key: &ContentKey) -> impl Iterator<Item = u64> {
        self.content(key).into_iter().flat_map(|content| content.blocks.keys().copied())
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
                superseded: false,
                listed: false,
                folders: false,
                blocks: BTreeMap::new(),
            },
        );
        number
    }

    fn insert(&mut self, number: u64, index: u64, length: u32, modified: u64, stamp: u64) {
        let folders = self.folders_charge();
        let Some(content) = self.contents.get_mut(&number) else { return };
        if !content.folders {
            content.folders = true;
            self.used += folders;
        }
        content.blocks.insert(index, Block { stamp, length, modified });
        let order = if content.superseded { &mut self.superseded } else { &mut self.current };
        order.insert((stamp, number, index));
    }

    /// Sorts the versions of `key`'s entry into current and superseded ones.
    fn reorder(&mut self, key: ContentKey) {
        let Some(numbers) = self.versions.get(&(key.contact, key.entry)) else { return };
        if numbers.len() == 1 && self.content(&key).is_some_and(|content| !content.superseded) {
            return;
        }
        let versions: Vec<&Content> = numbers.iter().filter_map(|number| self.contents.get(number)).collect();
        let changed: Vec<u64> = numbers
            .iter()
            .filter_map(|number| self.contents.get(number).map(|content| (number, content)))
            .filter(|(_, content)| {
                content.superseded != versions.iter().any(|other| supersedes(other, content))
            })
            .map(|(number, _)| *number)
            .collect();
        for number in changed {
            let Some(content) = self.contents.get_mut(&number) else { continue };
            let (from, to) = if content.superseded {
                (&mut self.superseded, &mut self.current)
            } else {
                (&mut self.current, &mut self.superseded)
            };
            for (index, block) in &content.blocks {
                let place = (block.stamp, number, *index);
                from.remove(&place);
                to.insert(place);
            }
            content.superseded = !content.superseded;
        }
    }

    fn forget_if_empty(&mut self, number: u64) {
        let Some(content) = self.contents.get(&number) else { return };
        let needed = content.readers > 0 || content.folders || (content.listed && !self.scanned);
        if needed || !content.blocks.is_empty() {
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

    fn release(&mut self, charge: u64) {
        self.used = self.used.saturating_sub(charge);
    }

    fn release_folders_if_empty(&mut self, number: u64) {
        let folders = self.folders_charge();
        let Some(content) = self.contents.get_mut(&number) else { return };
        if content.blocks.is_empty() && content.folders {
            content.folders = false;
            self.release(folders);
        }
    }

    /// What the folders of an entry and of its version take up.
    fn folders_charge(&self) -> u64 {
        2 * (self.unit + NAME_BYTES)
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

fn blocks(content: &Content) -> impl Iterator<Item = BlockId> {
    let key = content.key;
    content.blocks.keys().map(move |index| BlockId { key, index: *index })
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
