//! What blocks take up on disk.

use crate::key::BLOCK_BYTES;
use crate::seal::OVERHEAD;

/// What a segment costs beside its slots: its name in its folder, generously.
const NAME_BYTES: u64 = 128;

/// How blocks lie in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// The file system's unit of allocation.
    pub(crate) unit: u64,
    /// Blocks of a segment.
    pub(crate) slots: u64,
}

impl Geometry {
    /// What a block of `length` bytes takes up in its segment.
    pub(super) fn charge(&self, length: u64) -> u64 {
        (length + OVERHEAD).next_multiple_of(self.unit)
    }

    /// What a segment takes up besides: its name, and its list of extents.
    pub(super) fn segment_charge(&self) -> u64 {
        self.unit + NAME_BYTES
    }

    /// What a contact's folder takes up besides the names in it.
    pub(super) fn folder_charge(&self) -> u64 {
        self.unit + NAME_BYTES
    }

    /// What a whole content of `size` bytes takes up, were it the only one of its contact.
    pub(super) fn content_charge(&self, size: u64) -> u64 {
        let whole = size / BLOCK_BYTES;
        let rest = size % BLOCK_BYTES;
        let blocks = whole + u64::from(rest > 0);
        let rest = if rest > 0 { self.charge(rest) } else { 0 };
        let segments = blocks.div_ceil(self.slots);
        whole.saturating_mul(self.charge(BLOCK_BYTES))
            + rest
            + segments * self.segment_charge()
            + self.folder_charge()
    }
}

impl Default for Geometry {
    /// Of most file systems.
    fn default() -> Self {
        Self { unit: 4096, slots: 1 }
    }
}
