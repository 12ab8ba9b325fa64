//! Calls to a contact.

use std::fmt;

use bytes::Bytes;
use farhold_wire::{Batch, Entry, EntryId, LaneClass, Name, Position, ReadHead, ReadRequest};
use futures_util::stream::BoxStream;

use crate::error::PeerError;

/// Calls one contact, across its sessions. While the session is interrupted, calls wait and are asked again on the next
/// one; without a session they fail at once. No call but `changes` takes longer than [`CALL_DEADLINE`].
#[derive(Debug, Clone)]
pub struct Peer {}

/// The answer to a read.
pub struct Reading {
    /// Whose bytes come, and how many.
    pub head: ReadHead,
    /// Exactly that many bytes, or an error; dropping it cancels the rest.
    pub data: BoxStream<'static, Result<Bytes, PeerError>>,
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading").field("head", &self.head).finish_non_exhaustive()
    }
}

impl Peer {
    /// What happens in the contact's trees, from a position or as a snapshot. The stream ends with an error when its
    /// session ends: call again with the position reached.
    pub async fn changes(
        &self,
        _from: Option<Position>,
    ) -> Result<BoxStream<'static, Result<Batch, PeerError>>, PeerError> {
        unimplemented!()
    }

    /// The entry of that name in a folder; `None` as parent is the top level.
    pub async fn lookup(&self, _parent: Option<EntryId>, _name: Name) -> Result<Option<Entry>, PeerError> {
        unimplemented!()
    }

    /// Everything in a folder.
    pub async fn list(&self, _parent: EntryId) -> Result<Vec<Entry>, PeerError> {
        unimplemented!()
    }

    /// A range of a file, on a lane of that class.
    pub async fn read(&self, _request: ReadRequest, _class: LaneClass) -> Result<Reading, PeerError> {
        unimplemented!()
    }
}
