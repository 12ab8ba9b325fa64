//! A contact's folders, asked where the replica is incomplete.

use async_trait::async_trait;
use bytes::Bytes;
use farhold_net::{Peer, PeerError as NetError};
use farhold_vfs::{PeerError, PeerTree, SMALL_FILE_BYTES, SMALL_FILES, SmallFile};
use farhold_wire::{Entry, EntryId, Name, ReadFailure, ReadRequest, limits};

// What the drive asks for at once is what a request may hold.
const _: () =
    assert!(SMALL_FILES <= limits::SMALL_FILES && SMALL_FILE_BYTES <= limits::SMALL_FILE_BYTES as u64);

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

    async fn small_files(&self, files: Vec<SmallFile>) -> Result<Vec<(Entry, Bytes)>, PeerError> {
        let request = |SmallFile { entry, version, size }: SmallFile| ReadRequest {
            entry,
            version,
            offset: 0,
            length: u32::try_from(size).unwrap_or(u32::MAX),
        };
        let requests = files.into_iter().map(request).collect();
        let files = self.0.read_small(requests).await.map_err(translate)?;
        Ok(files.into_iter().map(|(head, bytes)| (head.entry, bytes)).collect())
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
