//! Reading many small files with one request.

use std::sync::Arc;

use bytes::Bytes;
use farhold_wire::{ReadHead, ReadRequest, limits};
use futures_util::StreamExt;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{CALL_DEADLINE, Peer, session};
use crate::error::PeerError;
use crate::governor::Priority;

impl Peer {
    /// Whole small files: up to [`limits::SMALL_FILES`], each asked for from its start on and with at most
    /// [`limits::SMALL_FILE_BYTES`]. Those that are not to be had are left out; each is of the version that its head
    /// says, cut to the length asked for. The governor admits them together, as [`Priority::ReadAhead`].
    ///
    /// # Errors
    /// [`PeerError`]; a call that was lost is not made again, since nobody waits for it.
    pub async fn read_small(&self, requests: Vec<ReadRequest>) -> Result<Vec<(ReadHead, Bytes)>, PeerError> {
        let small = |request: &ReadRequest| request.offset == 0 && request.length <= limits::SMALL_FILE_BYTES;
        let Some(first) = requests.first().copied() else { return Ok(Vec::new()) };
        if requests.len() > limits::SMALL_FILES || !requests.iter().all(small) {
            return Err(farhold_wire::WireError::TooLarge("number or size of small files").into());
        }
        let length = requests.iter().map(|request| request.length).sum();
        let together = ReadRequest { length, ..first };
        let mut way = self.way.clone();
        let calls = timeout(CALL_DEADLINE, session(&mut way)).await.map_err(|_| PeerError::TimedOut)??;
        let read = async {
            let never = CancellationToken::new();
            let admitted = calls.governor.admit(&together, Priority::ReadAhead, &never).await;
            let mut admission = admitted.map_err(|_| PeerError::Crowded)?;
            let permit = Arc::clone(&self.reads).acquire_owned().await.map_err(|_| PeerError::Offline)?;
            calls.bulk.ready().await;
            let mut files = Vec::with_capacity(requests.len());
            let mut coming = calls.bulk.read_small(requests, permit).await?;
            while let Some(file) = coming.next().await {
                if let Some((head, bytes)) = file? {
                    if files.is_empty() {
                        admission.began(length);
                    }
                    admission.arrived(bytes.len());
                    files.push((head, bytes));
                }
            }
            Ok(files)
        };
        tokio::select! {
            files = timeout(CALL_DEADLINE, read) => files.map_err(|_| PeerError::TimedOut)?,
            () = calls.ended.cancelled() => Err(PeerError::Offline),
        }
    }
}
