//! Calls to a contact.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use farhold_wire::{Batch, Entry, EntryId, EntryKind, Name, Position, ReadFailure, ReadHead, WireError};
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::activity::Call;
use crate::calls::CallError;
use crate::calls::rpc::PeerClient;
use crate::contact::Way;
use crate::error::PeerError;
use crate::session::Calls;

mod reading;
mod small;
mod transfers;

pub use self::reading::GOVERNED_BYTES;

/// Longest wait for an answer or its next part: a little over what an interruption may take.
pub const CALL_DEADLINE: Duration = Duration::from_secs(26);
/// Most entries of one folder that are taken from a contact.
pub const LIST_ENTRIES: usize = 1 << 18;
/// Most bytes of names and link targets of one folder that are taken from a contact: as many entries with the longest
/// names fit.
pub const LIST_TEXT_BYTES: usize = 64 << 20;

/// Before a call is made again for which the contact had no place.
const BUSY_PAUSE: Duration = Duration::from_millis(100);
/// How long a lane on which a call failed has to show that it is gone; if it is not, the answer was at fault.
const LOSS_SHOWS_WITHIN: Duration = Duration::from_secs(1);

/// Calls one contact, across its sessions. While the session is interrupted, calls wait and are asked again on the next
/// one; without a session they fail at once. Nothing is waited for longer than [`CALL_DEADLINE`], except the next
/// batch of changes, and up to five times that answers on bulk lanes behind others that come. Dropping a future or
/// stream cancels its call.
#[derive(Debug, Clone)]
pub struct Peer {
    way: watch::Receiver<Way>,
    reads: Arc<Semaphore>,
}

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
    pub(crate) fn new(way: watch::Receiver<Way>, reads: Arc<Semaphore>) -> Self {
        Self { way, reads }
    }

    /// What happens in the contact's trees, from a position or as a snapshot. The stream ends with an error when its
    /// session ends: call again with the position reached.
    pub async fn changes(
        &self,
        from: Option<Position>,
    ) -> Result<BoxStream<'static, Result<Batch, PeerError>>, PeerError> {
        let (batches, _) = self.ask(move |client| async move { client.changes(from).await }).await?;
        Ok(batches.map(|batch| batch.map_err(PeerError::from)).boxed())
    }

    /// The entry of that name in a folder; `None` as parent is the top level.
    pub async fn lookup(&self, parent: Option<EntryId>, name: Name) -> Result<Option<Entry>, PeerError> {
        let call = move |client: PeerClient| {
            let name = name.clone();
            async move { client.lookup(parent, &name).await }
        };
        Ok(self.ask(call).await?.0)
    }

    /// Everything in a folder, at most [`LIST_ENTRIES`] and [`LIST_TEXT_BYTES`].
    pub async fn list(&self, parent: EntryId) -> Result<Vec<Entry>, PeerError> {
        let call = move |client: PeerClient| async move { whole(client.list(parent).await?).await };
        Ok(self.ask(call).await?.0)
    }

    /// Makes a call on the urgent lane, and again on the next one if it is lost.
    async fn ask<T, F>(&self, call: impl Fn(PeerClient) -> F) -> Result<(T, Call), PeerError>
    where
        F: Future<Output = Result<T, CallError>>,
    {
        let deadline = Instant::now() + CALL_DEADLINE;
        let asked = async {
            let mut way = self.way.clone();
            loop {
                let (calls, client, under_way) = urgent(&mut way).await?;
                let answer = tokio::select! {
                    answer = call(client) => answer,
                    () = calls.ended.cancelled() => Err(CallError::Lost),
                };
                match answer {
                    Ok(answer) => return Ok((answer, under_way)),
                    Err(CallError::Lost) => lost(&calls, &mut way).await?,
                    // Calls that were given up may not have left their places yet.
                    Err(CallError::Failed(ReadFailure::Busy)) => sleep(BUSY_PAUSE).await,
                    Err(CallError::Failed(failure)) => return Err(failure.into()),
                    Err(CallError::Protocol(error)) => return Err(error.into()),
                }
            }
        };
        timeout_at(deadline, asked).await.map_err(|_| PeerError::TimedOut)?
    }
}

impl From<CallError> for PeerError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Lost => Self::Offline,
            CallError::Failed(failure) => failure.into(),
            CallError::Protocol(error) => error.into(),
        }
    }
}

/// The session that calls go through, once there is one.
async fn session(way: &mut watch::Receiver<Way>) -> Result<Arc<Calls>, PeerError> {
    let decided = way.wait_for(|way| match way {
        Way::Offline => true,
        Way::Interrupted => false,
        // Its task ends before its contact's hears of it.
        Way::Session(calls) => !calls.ended.is_cancelled(),
    });
    match &*decided.await.map_err(|_| PeerError::Offline)? {
        Way::Session(calls) => Ok(Arc::clone(calls)),
        Way::Offline | Way::Interrupted => Err(PeerError::Offline),
    }
}

/// The client on the urgent lane, once there is one.
async fn urgent(way: &mut watch::Receiver<Way>) -> Result<(Arc<Calls>, PeerClient, Call), PeerError> {
    loop {
        let calls = session(way).await?;
        let call = calls.activity.call();
        let mut clients = calls.urgent.clone();
        let client = tokio::select! {
            client = clients.wait_for(Option::is_some) => client.ok().and_then(|client| client.clone()),
            () = calls.ended.cancelled() => None,
        };
        if let Some(client) = client {
            return Ok((calls, client, call));
        }
    }
}

/// Returns once the lane on which a call was lost is known to be gone. If it is there still, the answer itself made the
/// call fail.
async fn lost(calls: &Calls, way: &mut watch::Receiver<Way>) -> Result<(), PeerError> {
    let mut clients = calls.urgent.clone();
    clients.mark_unchanged();
    let gone = async {
        tokio::select! {
            _ = clients.wait_for(Option::is_none) => {}
            () = calls.ended.cancelled() => {}
            // Anything else that changes about it says nothing of this lane.
            _ = way.wait_for(|way| !matches!(way, Way::Session(now) if std::ptr::eq(&**now, calls))) => {}
        }
    };
    match timeout(LOSS_SHOWS_WITHIN, gone).await {
        Ok(()) => Ok(()),
        Err(_) => Err(WireError::Malformed.into()),
    }
}

/// All entries of a listing.
async fn whole(
    mut pages: BoxStream<'static, Result<Vec<Entry>, CallError>>,
) -> Result<Vec<Entry>, CallError> {
    let mut entries = Vec::new();
    let mut text_bytes = 0;
    while let Some(page) = pages.next().await {
        let page = page?;
        if page.is_empty() {
            return Err(WireError::Missing("entries of a page").into());
        }
        text_bytes += page.iter().map(text_length).sum::<usize>();
        entries.extend(page);
        if entries.len() > LIST_ENTRIES || text_bytes > LIST_TEXT_BYTES {
            return Err(WireError::TooLarge("folder").into());
        }
    }
    Ok(entries)
}

/// Bytes of an entry's name and link target.
fn text_length(entry: &Entry) -> usize {
    let target = match &entry.kind {
        EntryKind::Symlink { target: Some(target) } => target.len(),
        EntryKind::Symlink { target: None } | EntryKind::Folder | EntryKind::File { .. } => 0,
    };
    entry.name.as_bytes().len() + target
}

#[cfg(test)]
mod tests {
    use farhold_wire::limits;
    use futures_util::stream;

    use super::*;
    use crate::calls::answer::tests::head;

    async fn listed(pages: impl IntoIterator<Item = Vec<Entry>>) -> Result<usize, CallError> {
        let pages: Vec<_> = pages.into_iter().map(Ok).collect();
        whole(stream::iter(pages).boxed()).await.map(|entries| entries.len())
    }

    #[tokio::test]
    async fn a_listing_has_bounds() {
        let file = head(0).entry;
        let target = Bytes::from(vec![b'a'; limits::LINK_TARGET_BYTES]);
        let link = Entry { kind: EntryKind::Symlink { target: Some(target) }, ..file.clone() };
        let too_large = Err(CallError::Protocol(WireError::TooLarge("folder")));
        for (entry, most) in [(&link, LIST_TEXT_BYTES / text_length(&link)), (&file, LIST_ENTRIES)] {
            let page = vec![entry.clone(); most];
            assert_eq!(listed([page.clone()]).await, Ok(most));
            assert_eq!(listed([page, vec![entry.clone()]]).await, too_large);
        }
    }

    #[tokio::test]
    async fn a_page_is_not_empty_but_a_folder_may_be() {
        assert_eq!(listed([]).await, Ok(0));
        let empty = Err(CallError::Protocol(WireError::Missing("entries of a page")));
        assert_eq!(listed([vec![head(0).entry], vec![]]).await, empty);
    }
}
