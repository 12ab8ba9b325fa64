//! Files, open files, and what was found out about this machine.

use farhold_engine::{commands, doctor, status};
use serde::Serialize;
use ts_rs::TS;

use super::Path;

/// What something in the drive is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) enum EntryKind {
    Folder,
    File,
    Symlink,
}

/// Whose disk holds something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) enum HomeSide {
    Mine,
    Theirs,
}

/// How much of a file is in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Cached {
    None,
    Part,
    Whole,
}

/// One line of a folder.
#[derive(Debug, Clone, PartialEq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entry {
    pub(crate) path: Path,
    pub(crate) name: String,
    pub(crate) kind: EntryKind,
    pub(crate) size: u64,
    pub(crate) modified_ms: i64,
    pub(crate) writable: bool,
    pub(crate) home: HomeSide,
    pub(crate) pinned: bool,
    pub(crate) cached: Option<Cached>,
    pub(crate) unavailable: Option<String>,
}

/// A folder on the way to the one shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
pub(crate) struct Crumb {
    pub(crate) path: Path,
    pub(crate) name: String,
}

/// What is known of a folder once all its entries were told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
pub(crate) struct Listing {
    pub(crate) crumbs: Vec<Crumb>,
    pub(crate) entries: usize,
    pub(crate) contact: Option<String>,
}

/// Where blocks are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) enum RunState {
    Cached,
    Demand,
    Ahead,
}

/// In blocks, sorted; what is missing is absent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
pub(crate) struct Run {
    pub(crate) start: u64,
    pub(crate) blocks: u64,
    pub(crate) state: RunState,
}

/// `playheads` are offsets in bytes.
#[derive(Debug, Clone, PartialEq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OpenFile {
    pub(crate) path: Path,
    pub(crate) display: String,
    pub(crate) size: u64,
    pub(crate) block_size: u64,
    pub(crate) opens: u32,
    pub(crate) runs: Vec<Run>,
    pub(crate) playheads: Vec<u64>,
    pub(crate) hit_rate: Option<f64>,
}

/// How a check of this machine ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) enum CheckState {
    Ok,
    Warning,
    Failed,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
pub(crate) struct Check {
    pub(crate) name: String,
    pub(crate) state: CheckState,
    pub(crate) message: String,
    pub(crate) fix: Option<String>,
}

/// A program that has something of the drive open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
pub(crate) struct Holder {
    pub(crate) pid: u32,
    pub(crate) program: String,
    pub(crate) file: String,
}

/// How long a relay took to answer.
#[derive(Debug, Clone, PartialEq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RelayTest {
    pub(crate) round_trip_ms: f64,
}

/// What something on this machine is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) enum PathKindOnDisk {
    File,
    Folder,
    Other,
}

/// Something on this machine that was dropped, pasted or picked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
pub(crate) struct DescribedPath {
    pub(crate) path: Path,
    pub(crate) display: String,
    pub(crate) name: String,
    pub(crate) kind: PathKindOnDisk,
    pub(crate) size: Option<u64>,
    pub(crate) problem: Option<String>,
}

impl From<status::OpenFile> for OpenFile {
    fn from(file: status::OpenFile) -> Self {
        let run = |run: &status::BlockRun| Run {
            start: run.start,
            blocks: run.blocks,
            state: match run.state {
                status::RunState::Cached => RunState::Cached,
                status::RunState::Demand => RunState::Demand,
                status::RunState::Ahead => RunState::Ahead,
            },
        };
        Self {
            path: Path::of_drive(&file.path),
            display: file.path.to_string(),
            size: file.size,
            block_size: file.block_bytes,
            opens: file.opens,
            runs: file.runs.iter().map(run).collect(),
            playheads: file.playheads,
            hit_rate: file.hit_rate,
        }
    }
}

impl From<doctor::Finding> for Check {
    fn from(finding: doctor::Finding) -> Self {
        let state = match finding.verdict {
            doctor::Verdict::Ok => CheckState::Ok,
            doctor::Verdict::Warning => CheckState::Warning,
            doctor::Verdict::Failed => CheckState::Failed,
        };
        Self { name: finding.check, state, message: finding.detail, fix: finding.fix }
    }
}

impl From<commands::Holder> for Holder {
    fn from(holder: commands::Holder) -> Self {
        Self { pid: holder.pid, program: holder.program, file: holder.file.display().to_string() }
    }
}
