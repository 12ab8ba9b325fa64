//! What contacts may ask of us, answered by the catalog.

use async_trait::async_trait;
use farhold_catalog::Home;
use farhold_net::PeerService;
use farhold_wire::{Batch, ContactId, Entry, EntryId, Name, Position, ReadFailure, ReadPart, ReadRequest};
use futures_util::stream::BoxStream;

/// Serves what is shared.
#[derive(Debug, Clone)]
pub(crate) struct HomeService(pub(crate) Home);

#[async_trait]
impl PeerService for HomeService {
    fn changes(
        &self,
        contact: ContactId,
        from: Option<Position>,
    ) -> BoxStream<'static, Result<Batch, ReadFailure>> {
        self.0.changes(contact, from)
    }

    async fn lookup(
        &self,
        contact: ContactId,
        parent: Option<EntryId>,
        name: Name,
    ) -> Result<Option<Entry>, ReadFailure> {
        self.0.lookup(contact, parent, name).await
    }

    fn list(
        &self,
        contact: ContactId,
        parent: EntryId,
    ) -> BoxStream<'static, Result<Vec<Entry>, ReadFailure>> {
        self.0.list(contact, parent)
    }

    fn read(
        &self,
        contact: ContactId,
        request: ReadRequest,
    ) -> BoxStream<'static, Result<ReadPart, ReadFailure>> {
        self.0.read(contact, request)
    }
}
