//! Calls over gRPC, on urgent lanes: each side is the client on the lane that it offered.

use std::convert::Infallible;
use std::io;
use std::sync::{Mutex, PoisonError};

use farhold_wire::convert::{page_from, parent_from, parent_to};
use farhold_wire::proto::peer as pb;
use farhold_wire::proto::peer::peer_client::PeerClient as Client;
use farhold_wire::proto::peer::peer_server::{Peer as PeerRpc, PeerServer};
use farhold_wire::transfer::{digest_items, digest_request};
use farhold_wire::{
    Batch, DigestItem, DigestPart, Entry, EntryId, LaneClass, Name, Offer, OfferAnswer, Position,
    ReadFailure, ReadHead, ReadPart, ReadRequest, Report, Standing, WireError, limits,
};
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt, TryStreamExt};
use hyper_util::rt::TokioIo;
use tokio_util::sync::CancellationToken;
use tonic::transport::server::Connected;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Code, Request, Response, Status, Streaming};
use tower::service_fn;

use super::answer::AnswerCheck;
use super::serving::Serving;
use super::{Answer, CallError};
use crate::stream::RecordStream;

/// Unread bytes of answers of a lane, and of each call on it: 400 ms at 80 MB/s, and more than the largest answer.
const ANSWERS_BYTES: u32 = 32 << 20;
const ANSWER_BYTES: u32 = 16 << 20;
/// Unread bytes of requests, which are small: the default of RFC 9113, section 6.9.2.
const REQUEST_BYTES: u32 = 65_535;
/// So that a frame with its header fills one record of the best size.
const FRAME_BYTES: u32 = 63 << 10;
/// Calls under way on one lane.
#[expect(clippy::cast_possible_truncation, reason = "it is 256")]
const CALLS_AT_ONCE: u32 = limits::READS_AT_ONCE as u32 + 64;

/// Calls the contact on one lane, as long as it lasts.
#[derive(Debug, Clone)]
pub(crate) struct PeerClient(Client<Channel>);

impl PeerClient {
    /// Becomes the client on a lane.
    pub(crate) async fn connect(lane: RecordStream) -> Result<Self, tonic::transport::Error> {
        // A lane is one connection: there is nothing to connect to again.
        let lane = Mutex::new(Some(lane));
        let connector = service_fn(move |_| {
            let lane = lane.lock().unwrap_or_else(PoisonError::into_inner).take();
            std::future::ready(
                lane.map(TokioIo::new).ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected)),
            )
        });
        let channel = Endpoint::from_static("http://peer.invalid")
            .initial_stream_window_size(ANSWER_BYTES)
            .initial_connection_window_size(ANSWERS_BYTES)
            .max_frame_size(FRAME_BYTES)
            .connect_with_connector(connector)
            .await?;
        let client = Client::new(channel)
            .max_decoding_message_size(limits::PEER_MESSAGE_BYTES)
            .max_encoding_message_size(limits::PEER_MESSAGE_BYTES);
        Ok(Self(client))
    }

    pub(crate) async fn changes(
        &self,
        from: Option<Position>,
    ) -> Result<BoxStream<'static, Result<Batch, CallError>>, CallError> {
        let request = pb::ChangesRequest { from: from.map(Into::into) };
        let stream = self.0.clone().changes(request).await?.into_inner();
        Ok(checked(stream, Batch::try_from))
    }

    pub(crate) async fn lookup(
        &self,
        parent: Option<EntryId>,
        name: &Name,
    ) -> Result<Option<Entry>, CallError> {
        let name = bytes::Bytes::copy_from_slice(name.as_bytes());
        let request = pb::LookupRequest { parent: parent_to(parent), name };
        let reply = self.0.clone().lookup(request).await?.into_inner();
        let entry = reply.entry.map(Entry::try_from).transpose()?;
        match &entry {
            Some(entry) if entry.parent != parent => Err(WireError::Unknown("parent of an answer").into()),
            Some(_) | None => Ok(entry),
        }
    }

    pub(crate) async fn list(
        &self,
        parent: EntryId,
    ) -> Result<BoxStream<'static, Result<Vec<Entry>, CallError>>, CallError> {
        let request = pb::ListRequest { parent: parent_to(Some(parent)) };
        let stream = self.0.clone().list(request).await?.into_inner();
        Ok(checked(stream, move |page| {
            let page = page_from(page)?;
            match page.iter().all(|entry| entry.parent == Some(parent)) {
                true => Ok(page),
                false => Err(WireError::Unknown("parent of an answer")),
            }
        }))
    }

    pub(crate) async fn digest(
        &self,
        items: &[DigestItem],
    ) -> Result<BoxStream<'static, Result<DigestPart, CallError>>, CallError> {
        let stream = self.0.clone().digest(digest_request(items)).await?.into_inner();
        let (count, mut last) = (items.len(), 0);
        Ok(checked(stream, move |part| {
            let part = DigestPart::try_from(part)?;
            if part.item >= count || part.item < last {
                return Err(WireError::Unknown("item of an answer"));
            }
            last = part.item;
            Ok(part)
        }))
    }

    pub(crate) async fn offer(&self, offer: Offer) -> Result<OfferAnswer, CallError> {
        let reply = self.0.clone().offer(pb::OfferRequest::from(offer)).await?.into_inner();
        Ok(reply.try_into()?)
    }

    pub(crate) async fn report(&self, report: Report) -> Result<Standing, CallError> {
        let reply = self.0.clone().report(pb::ReportRequest::from(report)).await?.into_inner();
        Ok(reply.try_into()?)
    }

    pub(crate) async fn read(&self, request: ReadRequest) -> Result<Answer, CallError> {
        let stream = self.0.clone().read(pb::ReadRequest::from(request)).await?.into_inner();
        let mut parts = checked(stream, part_from);
        let mut check = AnswerCheck::new(request);
        let head = match parts.next().await {
            Some(part) => match part? {
                ReadPart::Head(head) => head,
                ReadPart::Data(_) => return Err(WireError::Missing("head").into()),
            },
            None => return Err(WireError::Missing("head").into()),
        };
        check.head(&head)?;
        let data = stream::unfold(Some((parts, check)), |state| async move {
            let (mut parts, mut check) = state?;
            let data = match parts.next().await {
                Some(Ok(ReadPart::Data(data))) => check.data(&data).map(|()| data),
                Some(Ok(ReadPart::Head(_))) => Err(WireError::Unknown("second head")),
                Some(Err(error)) => return Some((Err(error), None)),
                None => Err(check.end().err()?),
            };
            Some(match data {
                Ok(data) => (Ok(data), Some((parts, check))),
                Err(error) => (Err(error.into()), None),
            })
        });
        Ok(Answer { head, data: data.boxed() })
    }
}

/// A stream of checked messages, which ends with its first error.
fn checked<W, T>(
    stream: Streaming<W>,
    mut check: impl FnMut(W) -> Result<T, WireError> + Send + 'static,
) -> BoxStream<'static, Result<T, CallError>>
where
    W: Send + 'static,
    T: Send + 'static,
{
    let checked = stream.map(move |message| Ok(check(message?)?));
    checked
        .scan(false, |failed, item: Result<T, CallError>| {
            let go_on = !*failed;
            *failed = item.is_err();
            std::future::ready(go_on.then_some(item))
        })
        .boxed()
}

fn part_from(part: pb::ReadPart) -> Result<ReadPart, WireError> {
    match part.part.ok_or(WireError::Missing("part"))? {
        pb::read_part::Part::Head(head) => Ok(ReadPart::Head(ReadHead::try_from(head)?)),
        pb::read_part::Part::Data(data) => Ok(ReadPart::Data(data)),
    }
}

impl From<Status> for CallError {
    fn from(status: Status) -> Self {
        match status.code() {
            Code::NotFound => ReadFailure::NotFound.into(),
            Code::Aborted => ReadFailure::Changed.into(),
            Code::FailedPrecondition => ReadFailure::Unavailable.into(),
            Code::PermissionDenied => ReadFailure::Denied.into(),
            Code::ResourceExhausted => ReadFailure::Busy.into(),
            Code::DataLoss => ReadFailure::Internal.into(),
            // The contact takes our request for none, or its message is over a limit.
            Code::InvalidArgument | Code::Unimplemented => WireError::Malformed.into(),
            Code::OutOfRange => WireError::TooLarge("message").into(),
            Code::Ok
            | Code::Cancelled
            | Code::Unknown
            | Code::DeadlineExceeded
            | Code::AlreadyExists
            | Code::Internal
            | Code::Unavailable
            | Code::Unauthenticated => Self::Lost,
        }
    }
}

fn status(failure: ReadFailure) -> Status {
    let code = match failure {
        ReadFailure::NotFound => Code::NotFound,
        ReadFailure::Changed => Code::Aborted,
        ReadFailure::Unavailable => Code::FailedPrecondition,
        ReadFailure::Denied => Code::PermissionDenied,
        ReadFailure::Busy => Code::ResourceExhausted,
        ReadFailure::Internal => Code::DataLoss,
    };
    Status::new(code, failure.to_string())
}

fn refused(error: &WireError) -> Status {
    Status::invalid_argument(error.to_string())
}

impl Connected for RecordStream {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

/// Serves the contact's calls on a lane until `closed`, which the end of the lane sets off.
pub(crate) async fn serve(
    lane: RecordStream,
    serving: Serving,
    closed: CancellationToken,
) -> Result<(), tonic::transport::Error> {
    let service = PeerServer::new(Served(serving))
        .max_decoding_message_size(limits::PEER_MESSAGE_BYTES)
        .max_encoding_message_size(limits::PEER_MESSAGE_BYTES);
    let incoming = stream::once(std::future::ready(Ok::<_, Infallible>(lane))).chain(stream::pending());
    Server::builder()
        .max_concurrent_streams(CALLS_AT_ONCE)
        .initial_stream_window_size(REQUEST_BYTES)
        .initial_connection_window_size(REQUEST_BYTES)
        .add_service(service)
        .serve_with_incoming_shutdown(incoming, closed.cancelled_owned())
        .await
}

#[derive(Debug)]
struct Served(Serving);

type Reply<T> = Result<Response<T>, Status>;
type Replies<T> = BoxStream<'static, Result<T, Status>>;

#[tonic::async_trait]
impl PeerRpc for Served {
    type ChangesStream = Replies<pb::CatalogBatch>;
    type ListStream = Replies<pb::ListPage>;
    type ReadStream = Replies<pb::ReadPart>;
    type DigestStream = Replies<pb::DigestPart>;

    async fn changes(&self, request: Request<pb::ChangesRequest>) -> Reply<Self::ChangesStream> {
        let permit = self.0.admit().map_err(status)?;
        let from = request.into_inner().from.map(Position::from);
        let batches = self.0.service.changes(self.0.contact, from);
        Ok(Response::new(
            batches
                .map(move |batch| {
                    let _held = &permit;
                    batch.map(pb::CatalogBatch::from).map_err(status)
                })
                .boxed(),
        ))
    }

    async fn lookup(&self, request: Request<pb::LookupRequest>) -> Reply<pb::LookupReply> {
        let _permit = self.0.admit().map_err(status)?;
        let request = request.into_inner();
        let parent = parent_from(&request.parent).map_err(|error| refused(&error))?;
        let name = Name::new(request.name).map_err(|error| refused(&error.into()))?;
        let entry = self.0.service.lookup(self.0.contact, parent, name).await.map_err(status)?;
        Ok(Response::new(pb::LookupReply { entry: entry.map(Into::into) }))
    }

    async fn list(&self, request: Request<pb::ListRequest>) -> Reply<Self::ListStream> {
        let permit = self.0.admit().map_err(status)?;
        let parent = parent_from(&request.into_inner().parent).map_err(|error| refused(&error))?;
        let parent = parent.ok_or_else(|| refused(&WireError::Missing("parent id")))?;
        let pages = self.0.service.list(self.0.contact, parent);
        Ok(Response::new(
            pages
                .map(move |page| {
                    let _held = &permit;
                    let entries = page.map_err(status)?.into_iter().map(Into::into).collect();
                    Ok(pb::ListPage { entries })
                })
                .boxed(),
        ))
    }

    async fn digest(&self, request: Request<pb::DigestRequest>) -> Reply<Self::DigestStream> {
        let permit = self.0.admit().map_err(status)?;
        let items = digest_items(&request.into_inner()).map_err(|error| refused(&error))?;
        let parts = self.0.service.digest(self.0.contact, items);
        Ok(Response::new(
            parts
                .map(move |part| {
                    let _held = &permit;
                    part.map(pb::DigestPart::from).map_err(status)
                })
                .boxed(),
        ))
    }

    async fn offer(&self, request: Request<pb::OfferRequest>) -> Reply<pb::OfferReply> {
        let _permit = self.0.admit().map_err(status)?;
        let offer = Offer::try_from(request.into_inner()).map_err(|error| refused(&error))?;
        Ok(Response::new(self.0.service.offer(self.0.contact, offer).await.into()))
    }

    async fn report(&self, request: Request<pb::ReportRequest>) -> Reply<pb::ReportReply> {
        let _permit = self.0.admit().map_err(status)?;
        let report = Report::try_from(request.into_inner()).map_err(|error| refused(&error))?;
        Ok(Response::new(self.0.service.report(self.0.contact, report).await.into()))
    }

    async fn read(&self, request: Request<pb::ReadRequest>) -> Reply<Self::ReadStream> {
        let request = ReadRequest::try_from(request.into_inner()).map_err(|error| refused(&error))?;
        let parts = self.0.read(request, LaneClass::Urgent).map_err(status)?;
        let parts = parts.map_ok(|part| pb::ReadPart {
            part: Some(match part {
                ReadPart::Head(head) => pb::read_part::Part::Head(head.into()),
                ReadPart::Data(data) => pb::read_part::Part::Data(data),
            }),
        });
        Ok(Response::new(parts.map_err(status).boxed()))
    }
}
