//! Calls that transfers need beside reads.

use farhold_wire::{DigestItem, DigestPart, Offer, OfferAnswer, Report, Standing};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use tokio::time::timeout;

use super::{CALL_DEADLINE, Peer};
use crate::calls::rpc::PeerClient;
use crate::error::PeerError;

impl Peer {
    /// The hashes of the groups of up to [`farhold_wire::limits::DIGEST_ITEMS`] files, in order. The stream ends with
    /// an error when its lane is lost, or when nothing came for [`CALL_DEADLINE`].
    pub async fn digest(
        &self,
        items: Vec<DigestItem>,
    ) -> Result<BoxStream<'static, Result<DigestPart, PeerError>>, PeerError> {
        let call = move |client: PeerClient| {
            let items = items.clone();
            async move { client.digest(&items).await }
        };
        let (parts, under_way) = self.ask(call).await?;
        let parts = stream::unfold(Some((parts, under_way)), |state| async move {
            let (mut parts, under_way) = state?;
            match timeout(CALL_DEADLINE, parts.next()).await {
                Ok(None) => None,
                Ok(Some(Ok(part))) => Some((Ok(part), Some((parts, under_way)))),
                Ok(Some(Err(error))) => Some((Err(error.into()), None)),
                Err(_) => Some((Err(PeerError::TimedOut), None)),
            }
        });
        Ok(parts.boxed())
    }

    /// Offers a push; may be said again.
    pub async fn offer(&self, offer: Offer) -> Result<OfferAnswer, PeerError> {
        let call = move |client: PeerClient| {
            let offer = offer.clone();
            async move { client.offer(offer).await }
        };
        Ok(self.ask(call).await?.0)
    }

    /// Says how it stands with a transfer; may be said again.
    pub async fn report(&self, report: Report) -> Result<Standing, PeerError> {
        let call = move |client: PeerClient| {
            let report = report.clone();
            async move { client.report(report).await }
        };
        Ok(self.ask(call).await?.0)
    }
}
