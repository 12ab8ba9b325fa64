//! Answering a contact's calls, within bounds that hold across all of its lanes and sessions.

use std::pin::pin;
use std::sync::Arc;

use farhold_wire::{ContactId, LaneClass, ReadFailure, ReadPart, ReadRequest, limits};
use futures_util::stream::{self, BoxStream};
use futures_util::{Stream, StreamExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::SmallFile;
use super::answer::AnswerCheck;
use crate::pace::Limiter;
use crate::service::PeerService;

/// Calls of one contact other than reads that are answered at once; `changes` streams count too.
const OTHERS_AT_ONCE: usize = 64;
/// Small files of one request that are read at once, so that the disk always has something to do.
const SMALL_AT_ONCE: usize = 4;

/// Answers one contact.
#[derive(Clone)]
pub(crate) struct Serving {
    pub(crate) contact: ContactId,
    pub(crate) service: Arc<dyn PeerService>,
    /// By class, so that reading ahead never keeps a read waiting that somebody waits for.
    urgent: Arc<Semaphore>,
    bulk: Arc<Semaphore>,
    others: Arc<Semaphore>,
    /// What may be sent in a second.
    pub(crate) send: Arc<Limiter>,
}

impl Serving {
    pub(crate) fn new(contact: ContactId, service: Arc<dyn PeerService>, send: Arc<Limiter>) -> Self {
        Self {
            contact,
            service,
            urgent: Arc::new(Semaphore::new(limits::READS_AT_ONCE)),
            bulk: Arc::new(Semaphore::new(limits::READS_AT_ONCE)),
            others: Arc::new(Semaphore::new(OTHERS_AT_ONCE)),
            send,
        }
    }

    /// Room for a call other than a read.
    pub(crate) fn admit(&self) -> Result<OwnedSemaphorePermit, ReadFailure> {
        Arc::clone(&self.others).try_acquire_owned().map_err(|_| ReadFailure::Busy)
    }

    /// The parts of an answer, if there is a place for it; a service that does not keep to the rules is cut short as one
    /// that failed.
    pub(crate) fn read(
        &self,
        request: ReadRequest,
        class: LaneClass,
    ) -> Result<BoxStream<'static, Result<ReadPart, ReadFailure>>, ReadFailure> {
        let places = match class {
            LaneClass::Urgent => &self.urgent,
            LaneClass::Bulk => &self.bulk,
        };
        let send = Arc::clone(&self.send);
        let permit = Arc::clone(places).try_acquire_owned().map_err(|_| ReadFailure::Busy)?;
        let reading = Reading {
            parts: self.service.read(self.contact, request),
            check: AnswerCheck::new(request),
            _permit: Arc::new(permit),
        };
        let parts = stream::unfold(Some(reading), Reading::next);
        Ok(match class {
            // The lane keeps to the limit.
            LaneClass::Bulk => parts.boxed(),
            LaneClass::Urgent => parts.then(move |part| paced(part, Arc::clone(&send))).boxed(),
        })
    }

    /// Whole small files in the order of their requests; they take one place together.
    pub(crate) fn read_small(
        &self,
        requests: Vec<ReadRequest>,
    ) -> Result<BoxStream<'static, Result<SmallFile, ReadFailure>>, ReadFailure> {
        let permit = Arc::clone(&self.bulk).try_acquire_owned().map_err(|_| ReadFailure::Busy)?;
        let permit = Arc::new(permit);
        let (service, contact) = (Arc::clone(&self.service), self.contact);
        let files = stream::iter(requests).map(move |request| {
            let reading = Reading {
                parts: service.read(contact, request),
                check: AnswerCheck::new(request),
                _permit: Arc::clone(&permit),
            };
            async move { Ok(whole(stream::unfold(Some(reading), Reading::next)).await) }
        });
        Ok(files.buffered(SMALL_AT_ONCE).boxed())
    }
}

/// A part of an urgent answer, once it may be sent.
async fn paced(part: Result<ReadPart, ReadFailure>, send: Arc<Limiter>) -> Result<ReadPart, ReadFailure> {
    if let Ok(ReadPart::Data(data)) = &part {
        send.demand(data.len() as u64).await;
    }
    part
}

/// All that a read gives; `None` if it fails.
async fn whole(parts: impl Stream<Item = Result<ReadPart, ReadFailure>>) -> SmallFile {
    let mut parts = pin!(parts);
    let mut head = None;
    let mut pieces = Vec::with_capacity(1);
    while let Some(part) = parts.next().await {
        match part.ok()? {
            ReadPart::Head(announced) => head = Some(announced),
            ReadPart::Data(data) => pieces.push(data),
        }
    }
    let bytes = match pieces.as_slice() {
        [piece] => piece.clone(),
        pieces => pieces.concat().into(),
    };
    Some((head?, bytes))
}

impl std::fmt::Debug for Serving {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Serving").field("contact", &self.contact).finish_non_exhaustive()
    }
}

struct Reading {
    parts: BoxStream<'static, Result<ReadPart, ReadFailure>>,
    check: AnswerCheck,
    _permit: Arc<OwnedSemaphorePermit>,
}

impl Reading {
    /// `None` as state ends the stream at the next call.
    async fn next(this: Option<Self>) -> Option<(Result<ReadPart, ReadFailure>, Option<Self>)> {
        let mut this = this?;
        let checked = match this.parts.next().await {
            Some(Ok(part)) => this.check.part(&part).map(|()| part),
            Some(Err(failure)) => return Some((Err(failure), None)),
            None => this.check.end().err().map(Err)?,
        };
        match checked {
            Ok(part) => Some((Ok(part), Some(this))),
            Err(error) => {
                tracing::error!(%error, "an answer of ours is none");
                Some((Err(ReadFailure::Internal), None))
            }
        }
    }
}
