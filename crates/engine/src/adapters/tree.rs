//! A contact's folders, asked where the replica is incomplete.

use async_trait::async_trait;
use farhold_net::{Peer, PeerError as NetError};
use farhold_vfs::{PeerError, PeerTree};
use farhold_wire::{Entry, EntryId, Name, ReadFailure};

/// Asks one contact.
#[derive(Debug, Clone)]
pub(crate) struct HomeTree(pub(crate) Peer);

#[async_trait]
impl PeerTree for HomeTree {
    async fn lookup(&self, parent: Option<EntryId>, name: Name) -> Result<Option<Entry>, PeerError> {
        self.0.lookup(parent, name).await.map_err(translate)
    }

    async fn list(&self, folder: EntryId) -> Result<Vec<Entry>, PeerError> {
        self.0.list(folder).await.map_err(translate)
    }
}

fn translate(error: NetError) -> PeerError {
    match error {
        NetError::Offline => PeerError::Offline,
        NetError::TimedOut => PeerError::TimedOut,
        NetError::Failed(ReadFailure::NotFound) => PeerError::NotFound,
        NetError::Failed(ReadFailure::Unavailable) => PeerError::Unavailable,
        NetError::Failed(ReadFailure::Denied) => PeerError::Denied,
        NetError::Failed(ReadFailure::Busy) | NetError::Crowded => PeerError::Busy,
        NetError::Failed(ReadFailure::Changed | ReadFailure::Internal) | NetError::Protocol(_) => {
            PeerError::Failed
        }
    }
}
