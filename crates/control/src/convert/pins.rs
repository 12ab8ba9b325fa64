//! What is pinned.

use farhold_engine::{PinState, PinStatus};

use super::{FromProto, Malformed, ToProto, pb};

impl ToProto for PinStatus {
    type Message = pb::Pin;

    fn to_proto(self) -> pb::Pin {
        let state = match self.state {
            PinState::Fetching => pb::PinState::Fetching,
            PinState::Whole => pb::PinState::Whole,
            PinState::Waiting => pb::PinState::Waiting,
            PinState::NoRoom => pb::PinState::NoRoom,
            PinState::Gone => pb::PinState::Gone,
        };
        let PinStatus { path, state: _, files, bytes, cached, reason } = self;
        pb::Pin { path, state: state.into(), files, bytes, cached, reason }
    }
}

impl FromProto for PinStatus {
    type Message = pb::Pin;

    fn from_proto(pin: pb::Pin) -> Result<Self, Malformed> {
        let state = match pin.state() {
            pb::PinState::Fetching => PinState::Fetching,
            pb::PinState::Whole => PinState::Whole,
            pb::PinState::Waiting => PinState::Waiting,
            pb::PinState::NoRoom => PinState::NoRoom,
            pb::PinState::Gone => PinState::Gone,
            pb::PinState::Unspecified => return Err(Malformed("pin state")),
        };
        let pb::Pin { path, state: _, files, bytes, cached, reason } = pin;
        Ok(Self { path, state, files, bytes, cached, reason })
    }
}
