//! Blocks of contacts' files on disk and in memory, and read-ahead. It knows no network: a [`BlockSource`] serves
//! what is missing.

mod cache;
mod core;
mod counters;
mod fetch;
mod flights;
mod key;
mod memory;
mod read_ahead;
mod reader;
mod seal;
mod source;
mod store;

#[cfg(test)]
mod tests;

pub use cache::{Blocks, Cache, CacheConfig, Stats};
pub use key::{BLOCK_BYTES, ContentKey};
pub use reader::{ReadError, ReadReply, Reader};
pub use source::{BlockSource, FetchError, Fetched, Urgency};

/// Most bytes that one fetch asks for.
pub const FETCH_BYTES: u64 = 4 << 20;
