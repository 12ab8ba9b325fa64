//! Open files and their blocks.

use farhold_engine::status::{BlockRun, OpenFile, RunState};

use super::commands::{drive_path_from, drive_path_to};
use super::{FromProto, Malformed, ToProto, all, pb};

impl ToProto for OpenFile {
    type Message = pb::OpenFile;

    fn to_proto(self) -> pb::OpenFile {
        let Self { path, size, block_bytes, opens, runs, playheads, hit_rate } = self;
        let runs = runs.into_iter().map(ToProto::to_proto).collect();
        pb::OpenFile { path: drive_path_to(&path), size, block_bytes, opens, runs, playheads, hit_rate }
    }
}

impl FromProto for OpenFile {
    type Message = pb::OpenFile;

    fn from_proto(file: pb::OpenFile) -> Result<Self, Malformed> {
        let pb::OpenFile { path, size, block_bytes, opens, runs, playheads, hit_rate } = file;
        let path = drive_path_from(path)?;
        Ok(Self { path, size, block_bytes, opens, runs: all(runs)?, playheads, hit_rate })
    }
}

impl ToProto for Vec<OpenFile> {
    type Message = pb::OpenFilesReply;

    fn to_proto(self) -> pb::OpenFilesReply {
        pb::OpenFilesReply { files: self.into_iter().map(ToProto::to_proto).collect() }
    }
}

impl FromProto for Vec<OpenFile> {
    type Message = pb::OpenFilesReply;

    fn from_proto(reply: pb::OpenFilesReply) -> Result<Self, Malformed> {
        all(reply.files)
    }
}

impl ToProto for BlockRun {
    type Message = pb::BlockRun;

    fn to_proto(self) -> pb::BlockRun {
        let state = match self.state {
            RunState::Cached => pb::RunState::Cached,
            RunState::Demand => pb::RunState::Demand,
            RunState::Ahead => pb::RunState::Ahead,
        };
        pb::BlockRun { start: self.start, blocks: self.blocks, state: state.into() }
    }
}

impl FromProto for BlockRun {
    type Message = pb::BlockRun;

    fn from_proto(run: pb::BlockRun) -> Result<Self, Malformed> {
        let state = match run.state() {
            pb::RunState::Cached => RunState::Cached,
            pb::RunState::Demand => RunState::Demand,
            pb::RunState::Ahead => RunState::Ahead,
            pb::RunState::Unspecified => return Err(Malformed("run state")),
        };
        Ok(Self { start: run.start, blocks: run.blocks, state })
    }
}
