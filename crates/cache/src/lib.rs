//! Blocks of contacts' files on disk and in memory, and read-ahead. It knows no network: a [`BlockSource`] serves
//! what is missing.

mod cache;
mod key;
mod reader;
mod source;

pub use cache::{Blocks, Cache, CacheConfig, Stats};
pub use key::{BLOCK_BYTES, ContentKey};
pub use reader::{ReadError, ReadReply, Reader};
pub use source::{BlockSource, FetchError, Fetched, Urgency};

/// Most bytes that one fetch asks for.
pub const FETCH_BYTES: u64 = 4 << 20;
