//! The protocols, and the checked types that the rest of Farhold uses instead of the generated ones.
//!
//! * [`types`]: entries, versions, names, changes; built only by constructors that check.
//! * [`convert`]: generated messages to those types and back; everything from a peer passes through here.
//! * [`bulk`]: the frames of bulk lanes.
//! * [`bridge`]: what a caller says to a relay's bridge.
//! * [`datagram`]: our own UDP datagrams, to a relay and between two programs.
//! * [`limits`]: how large and how many anything from outside may be.
//! * [`transfer`]: hashes, offers and reports of transfers.
//! * [`proto`]: the generated code. Only adapters (`rpc` modules and the control crate) may use it.

pub mod bridge;
pub mod bulk;
pub mod convert;
pub mod datagram;
pub mod limits;
pub mod transfer;
pub mod types;

pub use convert::WireError;
pub use transfer::{
    DigestItem, DigestPart, GroupHash, Offer, OfferAnswer, Report, Sequence, Standing, TransferKey,
    TransferState,
};
pub use types::{
    Batch, Change, ContactId, Entry, EntryId, EntryKind, LaneClass, Name, NameError, Position, ReadFailure,
    ReadHead, ReadPart, ReadRequest, Space, Timestamp, Version,
};

/// Generated from `proto/`.
#[allow(
    clippy::all,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    missing_docs,
    missing_debug_implementations,
    unreachable_pub
)]
pub mod proto {
    /// Between two contacts.
    pub mod peer {
        tonic::include_proto!("farhold.peer.v1");
    }
    /// Between a program and its relay.
    pub mod relay {
        tonic::include_proto!("farhold.relay.v1");
    }
    /// Between the command or window and the engine.
    pub mod control {
        tonic::include_proto!("farhold.control.v1");
    }
}
