//! One bulk lane: a task that owns the stream, asks for its own side and answers the other.
//!
//! Nothing waits behind anything that does not go on: answers are taken part by part from the oldest that is ready, and
//! only while there is room on the way out; what comes in is passed on at once, since every answer has room for all it
//! announced.

use std::collections::HashMap;
use std::collections::hash_map;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Buf;
use farhold_wire::bulk::Frame;
use farhold_wire::{LaneClass, ReadFailure, ReadPart, WireError, limits};
use futures_util::stream::{AbortHandle, Abortable, BoxStream};
use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::sync::mpsc;

use super::answers::Answers;
use super::frames::{FrameReader, pieces};
use super::pool::{BulkPool, Fetch, LaneShared, Part};
use super::small::{Ask, Check};
use crate::calls::SmallFile;
use crate::calls::serving::Serving;
use crate::pace::Turn;
use crate::stream::RecordStream;

/// Requests of the contact without an end yet. Whoever keeps to [`limits::READS_AT_ONCE`] stays far below; above it they
/// are refused, but a contact that does not read its refusals would make them pile up.
const ANSWERING: usize = 2 * limits::READS_AT_ONCE;

/// Why a bulk lane ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BulkError {
    #[error(transparent)]
    Lane(#[from] io::Error),
    #[error("the contact closed the lane")]
    Ended,
    #[error("the contact broke the protocol: {0}")]
    Protocol(#[from] WireError),
}

/// A request of ours that is not at its end.
#[derive(Debug)]
struct Asked {
    fetch: Fetch,
    check: Check,
    /// Nobody waits for it any more; the contact was told.
    cancelled: bool,
}

/// What an answer of ours has next; `None` after its last part.
struct Next {
    id: u64,
    part: Option<Result<Served, ReadFailure>>,
}

impl Next {
    /// Bytes of contents in it.
    fn bytes(&self) -> u64 {
        match &self.part {
            Some(Ok(Served::Part(ReadPart::Data(data)) | Served::Small(Some((_, data))))) => {
                data.len() as u64
            }
            Some(Ok(Served::Part(ReadPart::Head(_)) | Served::Small(None)) | Err(_)) | None => 0,
        }
    }
}

/// A part of an answer of ours.
enum Served {
    Part(ReadPart),
    Small(SmallFile),
}

/// A lane and both sides' requests on it.
pub(crate) struct BulkLane {
    stream: RecordStream,
    reader: FrameReader,
    number: u32,
    pool: Arc<BulkPool>,
    shared: Arc<LaneShared>,
    fetches: mpsc::Receiver<Fetch>,
    asked: HashMap<u64, Asked>,
    serving: Serving,
    answers: Answers<Next>,
    answering: HashMap<u64, AbortHandle>,
    /// To send, under the limit of what may be sent.
    turn: Turn,
    /// A part that waits for that turn.
    held: Option<Next>,
}

impl BulkLane {
    pub(crate) fn new(stream: RecordStream, number: u32, pool: Arc<BulkPool>, serving: Serving) -> Self {
        let shared = LaneShared::new(stream.socket().transport());
        let fetches = pool.enter(number, Arc::clone(&shared));
        let turn = Turn::new(&serving.send);
        Self {
            stream,
            reader: FrameReader::default(),
            number,
            pool,
            shared,
            fetches,
            asked: HashMap::new(),
            serving,
            answers: Answers::new(),
            answering: HashMap::new(),
            turn,
            held: None,
        }
    }

    /// Runs until the lane ends.
    pub(crate) async fn run(mut self) -> BulkError {
        let end = poll_fn(|cx| self.poll(cx)).await;
        if let BulkError::Protocol(error) = &end {
            for asked in self.asked.values() {
                let _ = asked.fetch.answer.try_send(Part::Broken(*error));
            }
        }
        end
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<BulkError> {
        self.shared.woken.register(cx.waker());
        loop {
            let progress = self.poll_out(cx).and_then(|out| Ok(self.poll_in(cx)? | out));
            match progress {
                Ok(true) => {}
                Ok(false) => return Poll::Pending,
                Err(error) => return Poll::Ready(error),
            }
        }
    }

    /// Writes; `true` if there is more to do at once.
    fn poll_out(&mut self, cx: &mut Context<'_>) -> Result<bool, BulkError> {
        let mut sealed = false;
        while self.stream.has_room() {
            if let Poll::Ready(Some(fetch)) = self.fetches.poll_recv(cx) {
                self.ask(fetch)?;
                sealed = true;
                continue;
            }
            // Only now, so that whatever was cancelled has been asked.
            for id in self.shared.take_cancelled() {
                self.cancel(id)?;
            }
            if let Poll::Ready(next) = self.poll_answer(cx) {
                self.answer(next)?;
                sealed = true;
            } else {
                break;
            }
        }
        let full = !self.stream.has_room();
        if full {
            // Others need not wait for it.
            self.turn.place().leave();
        }
        if let Poll::Ready(result) = self.stream.poll_drain(cx) {
            result?;
        }
        // Where there was no room, nothing above was polled that could wake us: it is, now that there is.
        Ok(sealed || (full && self.stream.has_room()))
    }

    /// The next part of an answer, once it may be sent.
    fn poll_answer(&mut self, cx: &mut Context<'_>) -> Poll<Next> {
        let next = match self.held.take() {
            Some(held) => held,
            None => std::task::ready!(self.answers.poll_next(cx)),
        };
        let bytes = next.bytes();
        if bytes > 0 {
            if self.turn.poll_take(cx).is_pending() {
                self.held = Some(next);
                return Poll::Pending;
            }
            self.turn.place().spend(bytes);
        }
        Poll::Ready(next)
    }

    /// Reads; `true` if a record came.
    fn poll_in(&mut self, cx: &mut Context<'_>) -> Result<bool, BulkError> {
        let record = match self.stream.poll_chunk(cx) {
            Poll::Pending => return Ok(false),
            Poll::Ready(record) => record?.ok_or(BulkError::Ended)?,
        };
        self.reader.push(record);
        while let Some(frame) = self.reader.next()? {
            self.take(frame)?;
        }
        Ok(true)
    }

    fn take(&mut self, frame: Frame) -> Result<(), BulkError> {
        match frame {
            Frame::Fetch(id, request) => {
                let parts = self.serving.read(request, LaneClass::Bulk);
                self.serve(id, parts.map(|parts| parts.map_ok(Served::Part).boxed()))
            }
            Frame::FetchSmall(id, requests) => {
                let files = self.serving.read_small(requests);
                self.serve(id, files.map(|files| files.map_ok(Served::Small).boxed()))
            }
            Frame::Cancel(id) => {
                if let Some(answer) = self.answering.get(&id) {
                    answer.abort();
                }
                Ok(())
            }
            Frame::Head(id, head) => self.pass_on(id, Part::Head(head)),
            Frame::Data(id, data) => self.pass_on(id, Part::Data(data)),
            Frame::Small(id, file) => self.pass_on(id, Part::Small(file)),
            Frame::End(id, outcome) => self.pass_on(id, Part::End(outcome)),
        }
    }

    /// Sends a request of ours.
    fn ask(&mut self, fetch: Fetch) -> Result<(), BulkError> {
        if fetch.answer.is_closed() {
            // It was cancelled on the way here, and that may have come first.
            return Ok(());
        }
        let (id, check) = (fetch.id, Check::new(&fetch.ask));
        let frame = match &fetch.ask {
            Ask::Range(request) => Frame::Fetch(id, *request),
            Ask::Small(requests) => Frame::FetchSmall(id, requests.clone()),
        };
        self.asked.insert(id, Asked { fetch, check, cancelled: false });
        self.send(frame)
    }

    fn cancel(&mut self, id: u64) -> Result<(), BulkError> {
        if let Some(asked) = self.asked.get_mut(&id)
            && !asked.cancelled
        {
            asked.cancelled = true;
            self.send(Frame::Cancel(id))?;
        }
        Ok(())
    }

    /// Passes a part of an answer on to whoever asked.
    fn pass_on(&mut self, id: u64, part: Part) -> Result<(), BulkError> {
        let asked = self.asked.get_mut(&id).ok_or(WireError::Unknown("request id"))?;
        let checked = if asked.cancelled { Ok(()) } else { asked.check.part(&part) };
        if let Err(error) = checked {
            // Whoever asked hears what was wrong; so does everybody else on the lane, which this ends.
            return Err(error.into());
        }
        let ended = matches!(part, Part::End(_));
        if !asked.cancelled {
            // There is room for all parts; if nobody waits, the request is about to be cancelled.
            let _ = asked.fetch.answer.try_send(part);
        }
        if ended {
            self.asked.remove(&id);
        }
        Ok(())
    }

    /// Starts to answer a request of the contact.
    fn serve(
        &mut self,
        id: u64,
        answer: Result<BoxStream<'static, Result<Served, ReadFailure>>, ReadFailure>,
    ) -> Result<(), BulkError> {
        let under_way = self.answering.len();
        let hash_map::Entry::Vacant(place) = self.answering.entry(id) else {
            return Err(WireError::Unknown("request id, used twice").into());
        };
        if under_way >= ANSWERING {
            return Err(WireError::TooLarge("number of requests under way").into());
        }
        let (handle, registration) = AbortHandle::new_pair();
        place.insert(handle);
        match answer {
            Ok(parts) => {
                let parts = Abortable::new(parts, registration).map(Some);
                let parts = parts.chain(stream::once(std::future::ready(None)));
                self.answers.push(parts.map(move |part| Next { id, part }).boxed());
            }
            Err(failure) => self.answers.push_ready(Next { id, part: Some(Err(failure)) }),
        }
        Ok(())
    }

    /// Sends the next part of an answer. Each answer has exactly one end, also if it was cancelled.
    fn answer(&mut self, Next { id, part }: Next) -> Result<(), BulkError> {
        match part {
            Some(Ok(Served::Part(ReadPart::Head(head)))) => self.send(Frame::Head(id, head)),
            Some(Ok(Served::Part(ReadPart::Data(data)))) => {
                pieces(data).try_for_each(|piece| self.send(Frame::Data(id, piece)))
            }
            Some(Ok(Served::Small(file))) => self.send(Frame::Small(id, file)),
            Some(Err(failure)) => self.end(id, Err(failure)),
            None => self.end(id, Ok(())),
        }
    }

    fn end(&mut self, id: u64, outcome: Result<(), ReadFailure>) -> Result<(), BulkError> {
        match self.answering.remove(&id) {
            Some(_) => self.send(Frame::End(id, outcome)),
            // A failure was its end.
            None => Ok(()),
        }
    }

    fn send(&mut self, frame: Frame) -> Result<(), BulkError> {
        let (header, body) = frame.encode();
        Ok(self.stream.seal(header.chain(body))?)
    }
}

impl Drop for BulkLane {
    fn drop(&mut self) {
        self.pool.leave(self.number);
    }
}

impl std::fmt::Debug for BulkLane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BulkLane").field("number", &self.number).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
