//! What a contact may ask of us.

use async_trait::async_trait;
use farhold_wire::{
    Batch, ContactId, DigestItem, DigestPart, Entry, EntryId, Name, Offer, OfferAnswer, Position,
    ReadFailure, ReadPart, ReadRequest, Report, Standing,
};
use futures_util::stream::{self, BoxStream, StreamExt};

/// Answers a contact's calls. Every argument has passed the checks of `farhold_wire`; whether the contact may see
/// what it asks for is the service's to decide. Dropping a stream or a future cancels the call.
#[async_trait]
pub trait PeerService: Send + Sync + 'static {
    /// Everything that happens in the trees shared with `contact`: from a position, or as a snapshot. Long-lived.
    fn changes(
        &self,
        contact: ContactId,
        from: Option<Position>,
    ) -> BoxStream<'static, Result<Batch, ReadFailure>>;

    /// The entry of that name, if there is one; `None` as parent is the top level.
    async fn lookup(
        &self,
        contact: ContactId,
        parent: Option<EntryId>,
        name: Name,
    ) -> Result<Option<Entry>, ReadFailure>;

    /// What a folder holds, in pages of at most [`farhold_wire::limits::BATCH_CHANGES`] entries.
    fn list(
        &self,
        contact: ContactId,
        parent: EntryId,
    ) -> BoxStream<'static, Result<Vec<Entry>, ReadFailure>>;

    /// A range of a file: one head, then exactly as many bytes as it announces, in parts of
    /// [`farhold_wire::limits::PART_MIN_BYTES`] to [`farhold_wire::limits::PART_BYTES`]; only the last may be smaller.
    fn read(
        &self,
        contact: ContactId,
        request: ReadRequest,
    ) -> BoxStream<'static, Result<ReadPart, ReadFailure>>;

    /// The hashes of the files' groups, in order; at least every few seconds a part, though it be empty. A service
    /// without transfers has none.
    fn digest(
        &self,
        _contact: ContactId,
        _items: Vec<DigestItem>,
    ) -> BoxStream<'static, Result<DigestPart, ReadFailure>> {
        stream::once(async { Err(ReadFailure::NotFound) }).boxed()
    }

    /// The contact offers a push. A service without transfers wants none.
    async fn offer(&self, _contact: ContactId, _offer: Offer) -> OfferAnswer {
        OfferAnswer::NotWanted
    }

    /// The contact says how it stands with a transfer.
    async fn report(&self, _contact: ContactId, _report: Report) -> Standing {
        Standing::Ended
    }
}
