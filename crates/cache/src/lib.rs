//! Blocks of contacts' files on disk and in memory, and read-ahead. It knows no network: a [`BlockSource`] serves
//! what is missing. Format and rules are in `docs/cache.md`.
//!
//! State machines without I/O: `store::index` (limit and eviction), `memory`, `flights` (what is on its way) and
//! `read_ahead`. Around them, `shared` holds what all readers of a cache share, `fetch` carries bytes from a source,
//! `store` from and to the disk.

mod blocks;
mod cache;
mod counters;
mod fetch;
mod fill;
mod flights;
mod key;
mod memory;
mod read_ahead;
mod reader;
mod seal;
mod shared;
mod source;
mod store;

#[cfg(test)]
mod tests;

pub use blocks::{BlockState, Blocks};
pub use cache::{Cache, CacheConfig, Stats};
pub use fill::FillError;
pub use key::{BLOCK_BYTES, ContentKey};
pub use reader::{ReadError, ReadReply, Reader, Usage};
pub use source::{BlockSource, FetchError, Fetched, Urgency};
pub use store::PinError;

/// Most bytes that one fetch asks for.
pub const FETCH_BYTES: u64 = 4 << 20;
