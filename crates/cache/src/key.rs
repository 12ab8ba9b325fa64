//! What cached bytes belong to.

use std::fmt;
use std::ops::Range;

/// Unit of presence: a block is cached whole or not at all. The last block of a content is shorter.
pub const BLOCK_BYTES: u64 = 256 << 10;

/// One version of one entry's content.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentKey {
    /// The contact at whose side the entry is at home.
    pub contact: [u8; 16],
    /// The entry.
    pub entry: [u8; 16],
    /// Epoch of the home's catalog.
    pub epoch: u64,
    /// Rises within an epoch with every change of the content.
    pub counter: u64,
}

impl fmt::Debug for ContentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}@{:x}-{:x}", hex(&self.contact), hex(&self.entry), self.epoch, self.counter)
    }
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(*bytes))
}

/// One block of a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct BlockId {
    pub(crate) key: ContentKey,
    pub(crate) index: u64,
}

/// Length of block `index` of a content of `size` bytes; 0 behind its end.
pub(crate) fn block_length(size: u64, index: u64) -> u64 {
    size.saturating_sub(index.saturating_mul(BLOCK_BYTES)).min(BLOCK_BYTES)
}

/// The blocks that hold `bytes`.
pub(crate) fn blocks_of(bytes: &Range<u64>) -> Range<u64> {
    if bytes.is_empty() {
        return 0..0;
    }
    bytes.start / BLOCK_BYTES..bytes.end.div_ceil(BLOCK_BYTES)
}
