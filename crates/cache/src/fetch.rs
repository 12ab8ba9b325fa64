//! The task that carries a flight from its source.
//!
//! What the source says is checked: a byte counts only once it has arrived, and the last block only once the source
//! has ended where it said that it would.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::flights::{Arrival, FlightId};
use crate::key::{BLOCK_BYTES, BlockId};
use crate::reader::ReadError;
use crate::shared::{Shared, Version};
use crate::source::{BlockSource, FetchError, Fetched, Urgency};

/// Largest size of a content: the largest `off_t`.
pub(crate) const SIZE_MOST: u64 = i64::MAX as u64;

pub(crate) struct Fetch {
    pub(crate) shared: Arc<Shared>,
    pub(crate) flight: FlightId,
    pub(crate) source: Arc<dyn BlockSource>,
    pub(crate) version: Version,
    /// What is asked for.
    pub(crate) bytes: Range<u64>,
    pub(crate) urgency: Urgency,
    /// Cancelled when somebody comes to wait.
    pub(crate) raised: CancellationToken,
}

impl Fetch {
    /// Carries the flight to its end, unless it is cut.
    pub(crate) async fn run(self, cut: CancellationToken) {
        let landing = Landing { shared: Arc::clone(&self.shared), flight: self.flight };
        let how = cut.run_until_cancelled(self.carry()).await.unwrap_or(Err(ReadError::Closed));
        landing.shared.end_flight(landing.flight, how);
    }

    async fn carry(&self) -> Result<(), ReadError> {
        let patience = self.shared.no_progress;
        let begun = Instant::now();
        let asking =
            self.source.fetch(self.version.key, self.bytes.clone(), self.urgency, self.raised.clone());
        let fetched = timeout(patience, asking).await.map_err(|_| FetchError::TimedOut)??;
        self.check(&fetched)?;
        if fetched.key != self.version.key {
            self.shared.divert(self.flight, Version { key: fetched.key, size: fetched.size });
        }
        let end = self.bytes.start + fetched.length;
        let mut data = fetched.data;
        let mut at = self.bytes.start;
        let mut last = None;
        while let Some(mut piece) = next(&mut data, patience).await? {
            if piece.len() as u64 > end - at {
                return Err(ReadError::Inconsistent("more bytes than announced"));
            }
            while !piece.is_empty() {
                let border = usize::try_from(BLOCK_BYTES - at % BLOCK_BYTES).unwrap_or(usize::MAX);
                let part = piece.split_to(border.min(piece.len()));
                at += part.len() as u64;
                let Arrival::Whole(id, pieces) = self.shared.arrived(self.flight, part) else { continue };
                if at == end {
                    last = Some((id, pieces));
                } else if self.land(id, &pieces) {
                    return Ok(());
                }
            }
            // Nobody notices how slowly it comes, so it must not go on for ever.
            if begun.elapsed() > patience && !self.shared.is_wanted(self.flight) {
                return Err(FetchError::TimedOut.into());
            }
        }
        if at < end {
            return Err(ReadError::Inconsistent("fewer bytes than announced"));
        }
        if let Some((id, pieces)) = last {
            self.land(id, &pieces);
        }
        Ok(())
    }

    fn check(&self, fetched: &Fetched) -> Result<(), ReadError> {
        let (asked, got) = (self.version.key, fetched.key);
        if (asked.contact, asked.entry) != (got.contact, got.entry) {
            return Err(ReadError::Inconsistent("the answer is of another entry"));
        }
        if asked.epoch == got.epoch && got.counter < asked.counter {
            return Err(ReadError::Inconsistent("the answer is of an older version"));
        }
        if got == asked && fetched.size != self.version.size {
            return Err(ReadError::Inconsistent("one version has two sizes"));
        }
        if fetched.size > SIZE_MOST {
            return Err(ReadError::Inconsistent("the size is too large"));
        }
        if fetched.length != self.bytes.end.min(fetched.size).saturating_sub(self.bytes.start) {
            return Err(ReadError::Inconsistent("the length is not what was asked for"));
        }
        Ok(())
    }

    /// The block in memory of its own: a piece of it may be part of something much larger.
    fn land(&self, id: BlockId, pieces: &[Bytes]) -> bool {
        let mut block = BytesMut::with_capacity(pieces.iter().map(Bytes::len).sum());
        pieces.iter().for_each(|piece| block.extend_from_slice(piece));
        self.shared.land(self.flight, id, block.freeze())
    }
}

/// The next bytes; none at the end.
async fn next(
    data: &mut BoxStream<'static, Result<Bytes, FetchError>>,
    patience: Duration,
) -> Result<Option<Bytes>, FetchError> {
    let some = async {
        loop {
            match data.next().await.transpose()? {
                // No progress, and no way to hold up the deadline.
                Some(piece) if piece.is_empty() => tokio::task::yield_now().await,
                piece => return Ok(piece),
            }
        }
    };
    timeout(patience, some).await.unwrap_or(Err(FetchError::TimedOut))
}

/// Ends the flight even if its task panics.
struct Landing {
    shared: Arc<Shared>,
    flight: FlightId,
}

impl Drop for Landing {
    fn drop(&mut self) {
        let how = FetchError::Other("the source failed".into());
        self.shared.end_flight(self.flight, Err(how.into()));
    }
}
