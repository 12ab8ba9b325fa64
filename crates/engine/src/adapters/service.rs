//! What contacts may ask of us, answered by the catalog, and of pushes by the transfers.

use std::sync::Arc;

use async_trait::async_trait;
use farhold_catalog::Home;
use farhold_net::PeerService;
use farhold_wire::{
    Batch, ContactId, DigestItem, DigestPart, Entry, EntryId, Name, Offer, OfferAnswer, Position,
    ReadFailure, ReadPart, ReadRequest, Report, Standing,
};
use futures_util::stream::BoxStream;

use crate::transfers::Transfers;

/// Serves what is shared, and what is pushed.
#[derive(Debug, Clone)]
pub(crate) struct HomeService {
    pub(crate) home: Home,
    pub(crate) transfers: Transfers,
}

impl HomeService {
    fn parts(
        &self,
        contact: ContactId,
        request: ReadRequest,
    ) -> BoxStream<'static, Result<ReadPart, ReadFailure>> {
        match self.transfers.offers().find(contact, request.entry) {
            Some(push) => push.read(request),
            None => self.home.read(contact, request),
        }
    }
}

#[async_trait]
impl PeerService for HomeService {
    fn changes(
        &self,
        contact: ContactId,
        from: Option<Position>,
    ) -> BoxStream<'static, Result<Batch, ReadFailure>> {
        self.home.changes(contact, from)
    }

    async fn lookup(
        &self,
        contact: ContactId,
        parent: Option<EntryId>,
        name: Name,
    ) -> Result<Option<Entry>, ReadFailure> {
        self.home.lookup(contact, parent, name).await
    }

    fn list(
        &self,
        contact: ContactId,
        parent: EntryId,
    ) -> BoxStream<'static, Result<Vec<Entry>, ReadFailure>> {
        match self.transfers.offers().find(contact, parent) {
            Some(push) => push.list(parent),
            None => self.home.list(contact, parent),
        }
    }

    fn read(
        &self,
        contact: ContactId,
        request: ReadRequest,
    ) -> BoxStream<'static, Result<ReadPart, ReadFailure>> {
        self.transfers.hashes().follow(request, self.parts(contact, request))
    }

    fn digest(
        &self,
        contact: ContactId,
        items: Vec<DigestItem>,
    ) -> BoxStream<'static, Result<DigestPart, ReadFailure>> {
        let service = self.clone();
        let hashes = Arc::clone(self.transfers.hashes());
        hashes.digest(items, move |request| service.parts(contact, request))
    }

    async fn offer(&self, contact: ContactId, offer: Offer) -> OfferAnswer {
        self.transfers.offered(contact, offer).await
    }

    async fn report(&self, contact: ContactId, report: Report) -> Standing {
        self.transfers.reported(contact, report)
    }
}
