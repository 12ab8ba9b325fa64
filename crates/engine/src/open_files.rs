//! What is open through the drive, and which blocks of it are here.

use farhold_cache::{BLOCK_BYTES, BlockState, Blocks, Cache};
use farhold_vfs::FileInUse;
use serde::Serialize;

use crate::commands::DrivePath;
use crate::status::hit_rate;

/// Most files that are told of: those that were read last.
pub(crate) const OPEN_FILES: usize = 64;
/// Most runs of blocks that are told of one file; beyond that, neighbours are merged.
const RUNS: usize = 2048;

/// A contact's file that is open through the drive. Several opens of one file are one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OpenFile {
    /// Where it is in the drive.
    #[serde(serialize_with = "displayed")]
    pub path: DrivePath,
    /// Its size, in bytes.
    pub size: u64,
    /// Size of a block, in bytes.
    pub block_bytes: u64,
    /// How often it is open.
    pub opens: u32,
    /// Blocks that are here or on their way, in order; at most 2048: beyond that, neighbours are one.
    pub runs: Vec<BlockRun>,
    /// Where each of its readers read last: the offset behind it, in bytes.
    pub playheads: Vec<u64>,
    /// The part of the blocks read that were here, from 0 to 1; `None` before the first read.
    pub hit_rate: Option<f64>,
}

/// Blocks in a row that are in the same state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BlockRun {
    /// Number of the first.
    pub start: u64,
    /// How many.
    pub blocks: u64,
    /// In which state.
    pub state: RunState,
}

/// Where blocks are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// On disk or in memory.
    Cached,
    /// On their way because somebody waits for them, or to be kept.
    Demand,
    /// On their way because somebody will probably read them.
    Ahead,
}

impl OpenFile {
    /// Looks which blocks of it are here; for some milliseconds if it is huge.
    pub(crate) fn new(file: FileInUse, cache: &Cache) -> Self {
        let FileInUse { path: (contact, below), content, size, opens, playheads, hits, misses } = file;
        Self {
            path: DrivePath { contact: contact.to_string(), below },
            size,
            block_bytes: BLOCK_BYTES,
            opens: u32::try_from(opens).unwrap_or(u32::MAX),
            runs: runs(cache.blocks(content)),
            playheads,
            hit_rate: hit_rate(hits, misses),
        }
    }
}

fn runs(blocks: Blocks) -> Vec<BlockRun> {
    let coarse = blocks.kept().at_most(RUNS).runs.into_iter();
    let run = |(run, state): (std::ops::Range<u64>, BlockState)| BlockRun {
        start: run.start,
        blocks: run.end - run.start,
        state: match state {
            BlockState::Stored | BlockState::Memory => RunState::Cached,
            BlockState::InFlight => RunState::Demand,
            BlockState::ReadAhead => RunState::Ahead,
        },
    };
    coarse.map(run).collect()
}

fn displayed<S: serde::Serializer>(path: &DrivePath, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(path)
}
