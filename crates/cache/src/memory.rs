//! Blocks in memory and the bound on them, without I/O and without a clock of its own.
//!
//! A block that was fetched and not read yet is worth more than one that was read: the latter goes first, and only
//! few are kept. The former goes only when nobody came for it, else it would be fetched twice. So what has to be
//! granted in any case can exceed the limit; it is bounded by the reads at once and by one request for each reader.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use crate::key::{BlockId, ContentKey};

/// The part of the memory that blocks already read may take.
const READ_FRACTION: u64 = 8;
/// A block that nobody came for in this time counts as read.
const UNREAD_LIFE: Duration = Duration::from_secs(10);

/// Who asks for room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Granted in any case: somebody waits, or could not go on at all.
    Always,
    /// Granted if it stays within the limit.
    IfFree,
}

struct Held {
    block: Bytes,
    stamp: u64,
    read: bool,
}

pub(crate) struct Memory {
    limit: u64,
    /// Promised to blocks that are on their way.
    outstanding: u64,
    read_bytes: u64,
    unread_bytes: u64,
    clock: u64,
    blocks: HashMap<BlockId, Held>,
    read: BTreeMap<u64, BlockId>,
    unread: BTreeMap<u64, (BlockId, Instant)>,
    /// The latest stamp when it was swept last.
    swept: u64,
}

impl Memory {
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            limit,
            outstanding: 0,
            read_bytes: 0,
            unread_bytes: 0,
            clock: 0,
            blocks: HashMap::new(),
            read: BTreeMap::new(),
            unread: BTreeMap::new(),
            swept: 0,
        }
    }

    /// Bytes held or promised.
    pub(crate) fn used(&self) -> u64 {
        self.outstanding + self.read_bytes + self.unread_bytes
    }

    /// Bytes promised.
    #[cfg(test)]
    pub(crate) fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// Promises room for `bytes` that are going to be asked for, if the claim allows it.
    pub(crate) fn reserve(&mut self, bytes: u64, claim: Claim, now: Instant) -> bool {
        while self.used() + bytes > self.limit {
            let read = self.read.first_key_value().map(|(_, id)| *id);
            let victim = read.or_else(|| {
                let (_, (id, since)) = self.unread.first_key_value()?;
                (now.duration_since(*since) >= UNREAD_LIFE).then_some(*id)
            });
            match victim {
                Some(id) => self.remove(&id),
                None if claim == Claim::IfFree => return false,
                None => break,
            }
        }
        self.outstanding += bytes;
        true
    }

    /// Gives up room that was promised.
    pub(crate) fn release(&mut self, bytes: u64) {
        self.outstanding = self.outstanding.saturating_sub(bytes);
    }

    /// Holds a block, whose room was promised and is no longer.
    pub(crate) fn insert(&mut self, id: BlockId, block: Bytes, now: Instant) {
        self.remove(&id);
        self.clock += 1;
        self.unread_bytes += block.len() as u64;
        self.unread.insert(self.clock, (id, now));
        self.blocks.insert(id, Held { block, stamp: self.clock, read: false });
        while let Some((_, (old, since))) = self.unread.first_key_value()
            && now.duration_since(*since) >= UNREAD_LIFE
        {
            let old = *old;
            self.demote(&old);
        }
    }

    pub(crate) fn contains(&self, id: &BlockId, length: u64) -> bool {
        self.blocks.get(id).is_some_and(|held| held.block.len() as u64 == length)
    }

    /// The block, which does not count as used.
    pub(crate) fn peek(&self, id: &BlockId, length: u64) -> Option<Bytes> {
        self.blocks.get(id).map(|held| held.block.clone()).filter(|block| block.len() as u64 == length)
    }

    /// The block. It counts as read if that was `finished` by this.
    pub(crate) fn get(&mut self, id: &BlockId, finished: bool, now: Instant) -> Option<Bytes> {
        let held = self.blocks.get_mut(id)?;
        self.clock += 1;
        let former = std::mem::replace(&mut held.stamp, self.clock);
        let block = held.block.clone();
        if held.read {
            self.read.remove(&former);
            self.read.insert(self.clock, *id);
        } else {
            self.unread.remove(&former);
            self.unread.insert(self.clock, (*id, now));
            if finished {
                self.demote(id);
            }
        }
        Some(block)
    }

    /// Nobody is going to read this block soon.
    pub(crate) fn demote(&mut self, id: &BlockId) {
        let Some(held) = self.blocks.get_mut(id).filter(|held| !held.read) else { return };
        held.read = true;
        self.unread.remove(&held.stamp);
        self.unread_bytes -= held.block.len() as u64;
        self.read_bytes += held.block.len() as u64;
        self.read.insert(held.stamp, *id);
        self.trim_read();
    }

    /// Lets go of the blocks of the contents that `which` names.
    pub(crate) fn forget(&mut self, which: impl Fn(&ContentKey) -> bool) {
        let blocks: Vec<BlockId> = self.blocks.keys().filter(|id| which(&id.key)).copied().collect();
        blocks.iter().for_each(|id| self.remove(id));
    }

    pub(crate) fn indexes(&self, key: &ContentKey) -> impl Iterator<Item = u64> {
        self.blocks.keys().filter(move |id| id.key == *key).map(|id| id.index)
    }

    /// Lets go of the read blocks that were not used since it was swept last. What nobody came for counts as read
    /// if it `can_go`, which is told its length too.
    pub(crate) fn sweep(&mut self, now: Instant, can_go: impl Fn(&BlockId, u64) -> bool) {
        while let Some((stamp, id)) = self.read.first_key_value()
            && *stamp <= self.swept
        {
            let id = *id;
            self.remove(&id);
        }
        self.swept = self.clock;
        let old = self.unread.values().take_while(|(_, since)| now.duration_since(*since) >= UNREAD_LIFE);
        let length = |id: &BlockId| self.blocks.get(id).map_or(0, |held| held.block.len() as u64);
        let old: Vec<BlockId> = old.map(|(id, _)| *id).filter(|id| can_go(id, length(id))).collect();
        old.iter().for_each(|id| self.demote(id));
    }

    fn trim_read(&mut self) {
        while self.read_bytes > self.limit / READ_FRACTION && self.read.len() > 1 {
            let Some((_, id)) = self.read.first_key_value() else { return };
            let id = *id;
            self.remove(&id);
        }
    }

    fn remove(&mut self, id: &BlockId) {
        let Some(held) = self.blocks.remove(id) else { return };
        let length = held.block.len() as u64;
        if held.read {
            self.read.remove(&held.stamp);
            self.read_bytes -= length;
        } else {
            self.unread.remove(&held.stamp);
            self.unread_bytes -= length;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id(index: u64) -> BlockId {
        BlockId { key: ContentKey { contact: [0; 16], entry: [0; 16], epoch: 0, counter: 0 }, index }
    }

    fn filled(memory: &mut Memory, indexes: std::ops::Range<u64>, now: Instant) {
        for index in indexes {
            assert!(memory.reserve(10, Claim::IfFree, now));
            memory.release(10);
            memory.insert(id(index), Bytes::from_static(&[0; 10]), now);
        }
    }

    #[test]
    fn read_blocks_make_room_first_and_unread_ones_only_when_old() {
        let now = Instant::now();
        let mut memory = Memory::new(100);
        filled(&mut memory, 0..9, now);
        memory.get(&id(4), true, now).unwrap();
        memory.get(&id(3), false, now).unwrap();
        assert!(memory.reserve(20, Claim::IfFree, now), "the block that was read makes room");
        assert!(!memory.contains(&id(4), 10));
        assert!(!memory.reserve(10, Claim::IfFree, now), "what was fetched ahead a moment ago stays");
        assert!(memory.reserve(10, Claim::IfFree, now + UNREAD_LIFE), "nobody came for it");
        assert!(!memory.contains(&id(0), 10));
        assert!(memory.reserve(10, Claim::Always, now), "somebody waits");
        assert!(memory.contains(&id(1), 10), "that takes nothing from others");
    }

    #[test]
    fn demand_is_granted_over_the_limit() {
        let now = Instant::now();
        let mut memory = Memory::new(100);
        assert!(memory.reserve(300, Claim::Always, now));
        assert!(!memory.reserve(1, Claim::IfFree, now));
        memory.release(300);
        assert_eq!(memory.used(), 0);
    }

    #[test]
    fn few_read_blocks_are_kept_and_the_latest_always() {
        let now = Instant::now();
        let mut memory = Memory::new(100);
        filled(&mut memory, 0..5, now);
        for index in 0..5 {
            memory.get(&id(index), true, now).unwrap();
        }
        assert_eq!(memory.indexes(&id(0).key).collect::<Vec<_>>(), [4]);
    }

    #[test]
    fn what_nobody_came_for_is_not_kept_for_long() {
        let now = Instant::now();
        let mut memory = Memory::new(100);
        filled(&mut memory, 0..5, now);
        memory.get(&id(2), false, now + UNREAD_LIFE / 2);
        filled(&mut memory, 5..6, now + UNREAD_LIFE);
        let mut left: Vec<_> = memory.indexes(&id(0).key).collect();
        left.sort_unstable();
        assert_eq!(left, [2, 4, 5]);
    }

    #[test]
    fn demoted_blocks_go_like_read_ones() {
        let now = Instant::now();
        let mut memory = Memory::new(100);
        filled(&mut memory, 0..10, now);
        memory.demote(&id(7));
        memory.demote(&id(7));
        assert!(memory.reserve(10, Claim::IfFree, now));
        assert!(!memory.contains(&id(7), 10));
    }

    #[test]
    fn read_blocks_go_some_time_after_their_last_use_and_unread_ones_only_if_they_can() {
        let now = Instant::now();
        let mut memory = Memory::new(1000);
        filled(&mut memory, 0..5, now);
        memory.get(&id(0), true, now).unwrap();
        memory.get(&id(1), true, now).unwrap();
        memory.sweep(now, |_, _| true);
        assert_eq!(memory.used(), 50, "both were used a moment ago");
        memory.get(&id(1), true, now).unwrap();
        memory.sweep(now, |_, _| true);
        assert!(!memory.contains(&id(0), 10) && memory.contains(&id(1), 10));
        let later = now + UNREAD_LIFE;
        for _ in 0..2 {
            memory.sweep(later, |id, length| id.index != 3 && length == 10);
        }
        assert_eq!(memory.indexes(&id(0).key).collect::<Vec<_>>(), [3], "it is nowhere else");
    }

    proptest! {
        #[test]
        fn sums_hold(steps in prop::collection::vec((0..6u8, 0..20u64, 0..60u64), 0..200)) {
            let mut now = Instant::now();
            let mut memory = Memory::new(200);
            let mut promised = Vec::new();
            for (action, index, amount) in steps {
                now += Duration::from_secs(amount / 10);
                match action {
                    0 => if memory.reserve(amount, Claim::IfFree, now) {
                        prop_assert!(memory.used() <= 200);
                        promised.push((index, amount));
                    },
                    1 => if let Some((index, amount)) = promised.pop() {
                        memory.release(amount);
                        memory.insert(id(index), vec![0; amount as usize].into(), now);
                    },
                    2 => { memory.get(&id(index), amount < 30, now); }
                    3 => memory.demote(&id(index)),
                    4 => memory.sweep(now, |id, _| id.index < 10),
                    _ => memory.forget(|_| index == 0),
                }
                let held: u64 = memory.blocks.values().map(|held| held.block.len() as u64).sum();
                let outstanding: u64 = promised.iter().map(|(_, amount)| amount).sum();
                prop_assert_eq!(memory.used(), held + outstanding);
                prop_assert_eq!(memory.blocks.len(), memory.read.len() + memory.unread.len());
            }
        }
    }
}
