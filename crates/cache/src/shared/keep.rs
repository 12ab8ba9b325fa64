//! What is kept without being read.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::Instant;

use super::{Asker, Errand, Shared, Version};
use crate::flights::Progress;
use crate::key::{BLOCK_BYTES, blocks_of};
use crate::memory::Claim;
use crate::reader::ReadError;
use crate::store::ranges;

impl Shared {
    /// Takes in a whole content that came otherwise.
    pub(crate) fn insert(&self, version: Version, bytes: &Bytes) {
        for index in blocks_of(&(0..version.size)) {
            let (id, length) = version.block(index);
            let start = index * BLOCK_BYTES;
            // In memory of its own: it may be part of something much larger.
            let block = Bytes::copy_from_slice(&bytes[start as usize..(start + length) as usize]);
            let mut state = self.state();
            let state = &mut *state;
            let now = Instant::now();
            if !state.closed && !state.has(version, index) && state.memory.reserve(length, Claim::IfFree, now)
            {
                state.memory.release(length);
                state.memory.insert(id, block.clone(), now);
            }
            self.store.keep(id, block);
        }
    }

    /// Asks for what is missing of `blocks` on disk. Gives what is to be waited for, or nothing if memory allows no
    /// more now.
    pub(crate) fn keep(
        self: &Arc<Self>,
        asker: &Asker,
        blocks: Range<u64>,
    ) -> Result<Option<Vec<watch::Receiver<Progress>>>, ReadError> {
        let version = asker.version;
        let mut state = self.state();
        let state = &mut *state;
        if state.closed {
            return Err(ReadError::Closed);
        }
        let mut missing = Vec::new();
        let mut coming = Vec::new();
        for index in blocks {
            let (id, length) = version.block(index);
            if self.is_stored(version, index) {
                continue;
            }
            if let Some((_, progress)) = state.flights.watch(&id) {
                coming.push(progress);
            } else if let Some(block) = state.memory.peek(&id, length) {
                self.store.keep(id, block);
            } else {
                missing.push(index);
            }
        }
        for run in ranges(missing) {
            let first = version.block(run.start).0;
            if !self.fetch(state, asker, version, run, Errand::Keep, Claim::IfFree) {
                return Ok(None);
            }
            coming.extend(state.flights.watch(&first).map(|(_, progress)| progress));
        }
        Ok(Some(coming))
    }

    /// Whether all of `blocks` is on disk or about to be written.
    pub(crate) fn is_kept(&self, version: Version, mut blocks: Range<u64>) -> bool {
        blocks.all(|index| self.is_stored(version, index))
    }
}
