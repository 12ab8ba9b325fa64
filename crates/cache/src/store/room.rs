//! Whether the disk has room: what the guard of free space knows. No I/O.

use super::disk::Space;

/// The file system is never taken below this much free space, or below a fiftieth of its size if that is less.
const FREE_BYTES: u64 = 512_000_000;
const FREE_FRACTION: u64 = 50;
/// The disk is low no more once this much more is free: at the guard's edge each eviction makes room for one block.
const CLEAR_BYTES: u64 = 64_000_000;

/// The room on the cache's disk, as it was seen last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct DiskRoom {
    /// Bytes that are free; `None` if the disk would not say.
    pub(crate) free: Option<u64>,
    /// Blocks make room for others, or are not kept, because the disk is nearly full.
    pub(crate) low: bool,
}

/// What must stay free.
fn guarded(space: Space) -> u64 {
    FREE_BYTES.min(space.total / FREE_FRACTION)
}

impl DiskRoom {
    /// Whether `needed` bytes may be written; whoever does not hears that makes room for them or does without.
    pub(crate) fn allows(&mut self, space: Space, needed: u64) -> bool {
        let allowed = space.free >= needed + guarded(space);
        self.seen(space);
        self.low |= !allowed;
        allowed
    }

    /// The disk was looked at.
    pub(crate) fn seen(&mut self, space: Space) {
        self.free = Some(space.free);
        self.low &= space.free < guarded(space) + CLEAR_BYTES;
        self.low |= space.free < guarded(space);
    }

    /// A write found the disk full in spite of the guard.
    pub(crate) fn full(&mut self) {
        self.low = true;
    }

    /// The disk would not say.
    pub(crate) fn unknown(&mut self) {
        self.free = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(free: u64) -> Space {
        Space { total: 1_000_000_000_000, free }
    }

    #[test]
    fn the_disk_is_low_from_the_guards_work_until_there_is_clearly_more() {
        let mut room = DiskRoom::default();
        assert_eq!((room.free, room.low), (None, false));
        assert!(room.allows(space(FREE_BYTES + 10), 10));
        assert!(!room.low);
        assert!(!room.allows(space(FREE_BYTES + 9), 10));
        assert!(room.low);
        // Evictions make room for one block each; that is no end of it.
        assert!(room.allows(space(FREE_BYTES + 10), 10));
        assert!(room.low);
        room.seen(space(FREE_BYTES + CLEAR_BYTES));
        assert_eq!(room, DiskRoom { free: Some(FREE_BYTES + CLEAR_BYTES), low: false });
        room.seen(space(FREE_BYTES - 1));
        assert!(room.low);
        room.unknown();
        assert_eq!(room, DiskRoom { free: None, low: true });
    }

    #[test]
    fn a_small_disk_keeps_a_fiftieth() {
        let mut room = DiskRoom::default();
        assert!(room.allows(Space { total: 5_000, free: 100 }, 0));
        assert!(!room.allows(Space { total: 5_000, free: 100 }, 1));
        room.full();
        assert!(room.low);
    }
}
