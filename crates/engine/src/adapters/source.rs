//! A contact's content, for the cache.

use std::ops::Range;
use std::sync::Weak;

use async_trait::async_trait;
use bytes::Bytes;
use farhold_cache::{BlockSource, ContentKey, FetchError, Fetched, Urgency};
use farhold_catalog::Replica;
use farhold_net::{ContactState, Peer, PeerError, Priority, SessionState};
use farhold_vfs::Drive;
use farhold_wire::{ContactId, Entry, EntryId, EntryKind, ReadFailure, ReadRequest, Version};
use futures_util::stream::{self, BoxStream, StreamExt};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::seek::{FetchMeter, Fetching};

/// Fetches from one contact.
#[derive(Debug, Clone)]
pub(crate) struct PeerSource {
    pub(crate) contact: ContactId,
    pub(crate) peer: Peer,
    pub(crate) replica: Replica,
    /// The drive has this source, and would never go if this had the drive.
    pub(crate) drive: Weak<Drive>,
    pub(crate) meter: FetchMeter,
    /// How it stands with the contact.
    pub(crate) state: watch::Receiver<ContactState>,
}

#[async_trait]
impl BlockSource for PeerSource {
    async fn fetch(
        &self,
        key: ContentKey,
        range: Range<u64>,
        urgency: Urgency,
        raised: CancellationToken,
    ) -> Result<Fetched, FetchError> {
        let fetching = self.meter.begin(key, &range, urgency, self.is_loaded(), Instant::now());
        let length = u32::try_from(range.end.saturating_sub(range.start))
            .map_err(|_| FetchError::Other("the range is too long".to_owned()))?;
        let asked = Version { epoch: key.epoch, counter: key.counter };
        let request = ReadRequest { entry: EntryId(key.entry), version: asked, offset: range.start, length };
        let priority = match urgency {
            Urgency::Demand => Priority::Demand,
            Urgency::ReadAhead => Priority::ReadAhead,
            Urgency::Bulk => Priority::Bulk,
        };
        let reading = self.peer.read(request, priority, raised).await.map_err(translate)?;
        let entry = reading.head.entry;
        let (size, length) = answered(&entry, &request, reading.head.length)?;
        let version = entry.version;
        if version != asked {
            self.newer(entry).await?;
        }
        let key = ContentKey { epoch: version.epoch, counter: version.counter, ..key };
        Ok(Fetched { key, size, length, data: metered(reading.data, length, fetching) })
    }
}

impl PeerSource {
    /// Whether bytes that anybody here asked for are outstanding from the contact.
    fn is_loaded(&self) -> bool {
        match &self.state.borrow().session {
            SessionState::Connected(connection) => connection.governor.view().outstanding > 0,
            SessionState::Offline { .. } | SessionState::Connecting | SessionState::Interrupted { .. } => {
                false
            }
        }
    }

    /// The home answered with another version than the replica knows: the drive must know it before the bytes.
    async fn newer(&self, entry: Entry) -> Result<(), FetchError> {
        let events =
            self.replica.absorb(entry).await.map_err(|error| FetchError::Other(error.to_string()))?;
        if let Some(drive) = self.drive.upgrade() {
            drive.tree_changed(self.contact, events).await;
        }
        Ok(())
    }
}

/// Size of the version answered and how many bytes come; an error if that is no answer to the request.
fn answered(entry: &Entry, request: &ReadRequest, coming: u32) -> Result<(u64, u64), FetchError> {
    if entry.id != request.entry {
        return Err(FetchError::Other("the contact answered for another entry".to_owned()));
    }
    let EntryKind::File { size } = entry.kind else {
        return Err(FetchError::NotFound);
    };
    let due = size.saturating_sub(request.offset).min(request.length.into());
    if u64::from(coming) != due {
        return Err(FetchError::Other("the contact answered with another length".to_owned()));
    }
    Ok((size, due))
}

/// The bytes, and how long they took once all are there.
fn metered(
    data: BoxStream<'static, Result<Bytes, PeerError>>,
    length: u64,
    fetching: Fetching,
) -> BoxStream<'static, Result<Bytes, FetchError>> {
    if length == 0 {
        return stream::empty().boxed();
    }
    stream::unfold((data, length, Some(fetching)), |(mut data, due, mut fetching)| async move {
        let piece = data.next().await?.map_err(translate);
        let length = piece.as_ref().map_or(0, |piece| piece.len() as u64);
        if let Some(fetching) = fetching.as_mut().filter(|_| length > 0) {
            fetching.some_arrived(Instant::now());
        }
        let due = due.saturating_sub(length);
        if due == 0
            && let Some(fetching) = fetching.take()
        {
            fetching.arrived(Instant::now());
        }
        Some((piece, (data, due, fetching)))
    })
    .boxed()
}

fn translate(error: PeerError) -> FetchError {
    match error {
        PeerError::Offline => FetchError::Offline,
        PeerError::TimedOut => FetchError::TimedOut,
        PeerError::Failed(ReadFailure::NotFound) => FetchError::NotFound,
        PeerError::Failed(ReadFailure::Changed) => FetchError::Changed,
        PeerError::Failed(ReadFailure::Unavailable) => FetchError::Unavailable,
        PeerError::Failed(ReadFailure::Denied) => FetchError::Denied,
        PeerError::Failed(ReadFailure::Busy | ReadFailure::Internal)
        | PeerError::Protocol(_)
        | PeerError::Crowded => FetchError::Other(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use farhold_wire::{Name, Timestamp};
    use futures_util::TryStreamExt;

    use super::*;

    fn entry(kind: EntryKind) -> Entry {
        Entry {
            id: EntryId([1; 16]),
            parent: None,
            name: Name::new(b"f".to_vec()).unwrap(),
            kind,
            version: Version { epoch: 1, counter: 2 },
            incarnation: 0,
            modified: Timestamp::default(),
            mode: 0o644,
            writable: false,
            unavailable: false,
        }
    }

    fn request(offset: u64, length: u32) -> ReadRequest {
        ReadRequest { entry: EntryId([1; 16]), version: Version { epoch: 1, counter: 1 }, offset, length }
    }

    #[test]
    fn an_answer_fits_the_request_or_is_refused() {
        let file = entry(EntryKind::File { size: 1000 });
        assert_eq!(answered(&file, &request(0, 1000), 1000), Ok((1000, 1000)));
        assert_eq!(answered(&file, &request(900, 500), 100), Ok((1000, 100)));
        // The newer version is shorter than where the request begins.
        assert_eq!(answered(&file, &request(2000, 500), 0), Ok((1000, 0)));
        for (offset, length, coming) in [(0, 1000, 999), (900, 500, 500), (2000, 500, 1)] {
            assert!(matches!(answered(&file, &request(offset, length), coming), Err(FetchError::Other(_))));
        }
        assert_eq!(answered(&entry(EntryKind::Folder), &request(0, 1), 0), Err(FetchError::NotFound));
        let other = Entry { id: EntryId([2; 16]), ..file };
        assert!(matches!(answered(&other, &request(0, 1000), 1000), Err(FetchError::Other(_))));
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_byte_ends_a_fetch_and_an_error_does_not() {
        let key = ContentKey { contact: [0; 16], entry: [1; 16], epoch: 1, counter: 1 };
        let run = |pieces: Vec<Result<Bytes, PeerError>>| async {
            let meter = FetchMeter::default();
            let fetching = meter.begin(key, &(100..104), Urgency::Demand, false, Instant::now());
            let pieces = stream::iter(pieces).then(|piece| async {
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                piece
            });
            let all: Result<Vec<Bytes>, FetchError> =
                metered(pieces.boxed(), 4, fetching).try_collect().await;
            (all.map(|pieces| pieces.concat()), meter.seek().idle)
        };
        let (data, idle) = run(vec![Ok("ab".into()), Ok("cd".into())]).await;
        assert_eq!((data, idle.count, idle.max_ms.floor()), (Ok(b"abcd".to_vec()), 1, 100.0));
        let (data, idle) = run(vec![Ok("ab".into()), Err(PeerError::Offline)]).await;
        assert_eq!((data, idle.count), (Err(FetchError::Offline), 0));
    }
}
