//! Transfers.

use farhold_engine::status::{Direction, TransferChanges, TransferId, TransferState, TransferStatus};

use super::commands::{path_from, path_to};
use super::error::{class_name, class_named};
use super::{FromProto, Malformed, ToProto, all, pb};

impl ToProto for TransferStatus {
    type Message = pb::Transfer;

    fn to_proto(self) -> pb::Transfer {
        let direction = match self.direction {
            Direction::Pull => pb::Direction::Pull,
            Direction::Push => pb::Direction::Push,
            Direction::Receive => pb::Direction::Receive,
            Direction::Serve => pb::Direction::Serve,
        };
        let state = match self.state {
            TransferState::Offered => pb::TransferState::Offered,
            TransferState::Queued => pb::TransferState::Queued,
            TransferState::Running => pb::TransferState::Running,
            TransferState::Waiting => pb::TransferState::Waiting,
            TransferState::Paused => pb::TransferState::Paused,
            TransferState::Done => pb::TransferState::Done,
            TransferState::Failed => pb::TransferState::Failed,
            TransferState::Cancelled => pb::TransferState::Cancelled,
        };
        pb::Transfer {
            id: self.id.0,
            direction: direction.into(),
            contact: self.contact,
            name: self.name,
            state: state.into(),
            reason: self.reason,
            files_done: self.files_done,
            files: self.files,
            bytes_done: self.bytes_done,
            bytes: self.bytes,
            rate: self.rate,
            remaining_seconds: self.remaining_seconds,
            destination: self.destination.as_deref().map(path_to),
            class: self.class.map(|class| class_name(class).to_owned()),
        }
    }
}

impl FromProto for TransferStatus {
    type Message = pb::Transfer;

    fn from_proto(transfer: pb::Transfer) -> Result<Self, Malformed> {
        let direction = match transfer.direction() {
            pb::Direction::Pull => Direction::Pull,
            pb::Direction::Push => Direction::Push,
            pb::Direction::Receive => Direction::Receive,
            pb::Direction::Serve => Direction::Serve,
            pb::Direction::Unspecified => return Err(Malformed("direction")),
        };
        let state = match transfer.state() {
            pb::TransferState::Offered => TransferState::Offered,
            pb::TransferState::Queued => TransferState::Queued,
            pb::TransferState::Running => TransferState::Running,
            pb::TransferState::Waiting => TransferState::Waiting,
            pb::TransferState::Paused => TransferState::Paused,
            pb::TransferState::Done => TransferState::Done,
            pb::TransferState::Failed => TransferState::Failed,
            pb::TransferState::Cancelled => TransferState::Cancelled,
            pb::TransferState::Unspecified => return Err(Malformed("transfer state")),
        };
        Ok(Self {
            id: TransferId(transfer.id),
            direction,
            contact: transfer.contact,
            name: transfer.name,
            state,
            reason: transfer.reason,
            class: transfer.class.as_deref().map(class_named).transpose()?,
            files_done: transfer.files_done,
            files: transfer.files,
            bytes_done: transfer.bytes_done,
            bytes: transfer.bytes,
            rate: transfer.rate,
            remaining_seconds: transfer.remaining_seconds,
            destination: transfer.destination.map(path_from).transpose()?,
        })
    }
}

pub(crate) fn ids_to(ids: &[TransferId]) -> Vec<u64> {
    ids.iter().map(|id| id.0).collect()
}

pub(crate) fn ids_from(ids: Vec<u64>) -> Vec<TransferId> {
    ids.into_iter().map(TransferId).collect()
}

impl ToProto for TransferChanges {
    type Message = pb::TransferChanges;

    fn to_proto(self) -> pb::TransferChanges {
        let changed = self.changed.into_iter().map(ToProto::to_proto).collect();
        pb::TransferChanges { changed, removed: ids_to(&self.removed), complete: self.complete }
    }
}

impl FromProto for TransferChanges {
    type Message = pb::TransferChanges;

    fn from_proto(changes: pb::TransferChanges) -> Result<Self, Malformed> {
        let pb::TransferChanges { changed, removed, complete } = changes;
        Ok(Self { changed: all(changed)?, removed: ids_from(removed), complete })
    }
}
