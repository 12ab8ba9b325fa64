//! Files and folders under way as a whole.

use farhold_engine::status;
use serde::Serialize;
use ts_rs::TS;

use super::Path;

/// A transfer.
#[derive(Debug, Clone, PartialEq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Transfer {
    pub(crate) id: u64,
    pub(crate) direction: Direction,
    pub(crate) contact: String,
    pub(crate) name: String,
    pub(crate) state: TransferState,
    pub(crate) reason: Option<String>,
    pub(crate) files_done: u64,
    pub(crate) files: u64,
    pub(crate) bytes_done: u64,
    pub(crate) bytes: u64,
    pub(crate) rate: u64,
    pub(crate) remaining_seconds: Option<u64>,
    pub(crate) destination: Option<Path>,
    pub(crate) destination_display: Option<String>,
}

/// Which way, and who asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Direction {
    Pull,
    Push,
    Receive,
    Serve,
}

/// How it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) enum TransferState {
    Offered,
    Queued,
    Running,
    Waiting,
    Paused,
    Done,
    Failed,
    Cancelled,
}

/// What has changed of the transfers.
#[derive(Debug, Clone, PartialEq, Default, Serialize, TS)]
pub(crate) struct TransferChanges {
    pub(crate) changed: Vec<Transfer>,
    pub(crate) removed: Vec<u64>,
}

impl From<&status::TransferStatus> for Transfer {
    fn from(transfer: &status::TransferStatus) -> Self {
        let direction = match transfer.direction {
            status::Direction::Pull => Direction::Pull,
            status::Direction::Push => Direction::Push,
            status::Direction::Receive => Direction::Receive,
            status::Direction::Serve => Direction::Serve,
        };
        let state = match transfer.state {
            status::TransferState::Offered => TransferState::Offered,
            status::TransferState::Queued => TransferState::Queued,
            status::TransferState::Running => TransferState::Running,
            status::TransferState::Waiting => TransferState::Waiting,
            status::TransferState::Paused => TransferState::Paused,
            status::TransferState::Done => TransferState::Done,
            status::TransferState::Failed => TransferState::Failed,
            status::TransferState::Cancelled => TransferState::Cancelled,
        };
        Self {
            id: transfer.id.0,
            direction,
            contact: transfer.contact.clone(),
            name: transfer.name.clone(),
            state,
            reason: transfer.reason.clone(),
            files_done: transfer.files_done,
            files: transfer.files,
            bytes_done: transfer.bytes_done,
            bytes: transfer.bytes,
            rate: transfer.rate,
            remaining_seconds: transfer.remaining_seconds,
            destination: transfer.destination.as_ref().map(Path::new),
            destination_display: transfer.destination.as_ref().map(|path| path.display().to_string()),
        }
    }
}
