//! The rendezvous over gRPC: checks what comes in, and hands it to the board.

mod door;

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use farhold_wire::convert::array;
use farhold_wire::proto::relay as pb;
use farhold_wire::proto::relay::relay_server::Relay;
use farhold_wire::{WireError, limits};
use futures_util::Stream;
use futures_util::stream;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::{Request, Response, Status};

use self::door::{Caller, Door};
use crate::accept::{Gate, Guarded, accept};
use crate::board::{Post, PostRefusal, Token, WatchRefusal};
use crate::config::Timings;
use crate::hub::{Hub, Watch};
use crate::metrics::{CallRefusal, Counters};
use crate::source::{Full, Source};

/// Length of the HTTP/2 client preface (RFC 9113, 3.4). Once it has come, unanswered pings end a connection.
const PREFACE_BYTES: usize = 24;

/// Serves callers until `stopping`; then watches end with a status, and connections once their calls are through.
/// Those that are still there at `ended` are cut. All tasks are `tracker`'s.
pub(crate) async fn serve(
    listener: TcpListener,
    gate: Arc<Gate>,
    rendezvous: Rendezvous,
    timings: Timings,
    tracker: TaskTracker,
    ended: CancellationToken,
) {
    let stopping = rendezvous.stopping.clone();
    let door = Door::new(rendezvous, &timings, tracker.clone());
    while let Some((stream, caller, permit)) = stopping.run_until_cancelled(accept(&listener, &gate)).await {
        let connection = Guarded::new((stream, permit), timings.opening, PREFACE_BYTES, ended.clone());
        tracker.spawn(door.clone().serve(connection, caller, stopping.clone()));
    }
}

/// The service.
#[derive(Debug)]
pub(crate) struct Rendezvous {
    pub(crate) hub: Arc<Hub>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) stopping: CancellationToken,
}

impl Rendezvous {
    fn malformed(&self, error: WireError) -> Status {
        self.counters.calls_refused(CallRefusal::Malformed).add(1);
        Status::invalid_argument(error.to_string())
    }

    fn full(&self, full: Full) -> Status {
        match full {
            Full::Source => self.exhausted(CallRefusal::SourceFull, "too much from this address"),
            Full::Total => self.exhausted(CallRefusal::Full, "the relay is full"),
        }
    }

    fn exhausted(&self, cause: CallRefusal, message: &str) -> Status {
        self.counters.calls_refused(cause).add(1);
        Status::resource_exhausted(message)
    }
}

#[tonic::async_trait]
impl Relay for Rendezvous {
    async fn post(&self, request: Request<pb::PostRequest>) -> Result<Response<pb::PostReply>, Status> {
        let source = caller(&request)?.into();
        let post = post_from(request.into_inner()).map_err(|error| self.malformed(error))?;
        match self.hub.post(post, source) {
            Ok(()) => {
                self.counters.posts.add(1);
                Ok(Response::new(pb::PostReply {}))
            }
            Err(PostRefusal::Full(full)) => Err(self.full(full)),
            Err(PostRefusal::SlotsTaken) => {
                Err(self.exhausted(CallRefusal::SlotsTaken, "others hold all slots of the token"))
            }
            Err(PostRefusal::TooFast) => {
                Err(self.exhausted(CallRefusal::TooFast, "too many posts at once from this address"))
            }
        }
    }

    type WatchStream = Pin<Box<dyn Stream<Item = Result<pb::WatchEvent, Status>> + Send>>;

    async fn watch(&self, request: Request<pb::WatchRequest>) -> Result<Response<Self::WatchStream>, Status> {
        let source: Source = caller(&request)?.into();
        let tokens = tokens_from(request.into_inner()).map_err(|error| self.malformed(error))?;
        let watch = self.hub.watch(tokens, source).map_err(|refusal| match refusal {
            WatchRefusal::Full(full) => self.full(full),
            WatchRefusal::WatchesTaken => {
                self.exhausted(CallRefusal::WatchesTaken, "a token is watched too often already")
            }
        })?;
        Ok(Response::new(Box::pin(events(watch, Arc::clone(&self.counters), self.stopping.clone()))))
    }

    async fn reflexive(
        &self,
        request: Request<pb::ReflexiveRequest>,
    ) -> Result<Response<pb::ReflexiveReply>, Status> {
        let seen = caller(&request)?;
        let address = SocketAddr::new(seen.ip().to_canonical(), seen.port()).to_string();
        Ok(Response::new(pb::ReflexiveReply { address }))
    }
}

fn caller<T>(request: &Request<T>) -> Result<SocketAddr, Status> {
    let caller = request.extensions().get::<Caller>();
    caller.map(|caller| caller.0).ok_or_else(|| Status::internal("a call without a connection"))
}

/// The events of a watch, until its caller goes or the relay stops.
fn events(
    watch: Watch,
    counters: Arc<Counters>,
    stopping: CancellationToken,
) -> impl Stream<Item = Result<pb::WatchEvent, Status>> + Send {
    stream::unfold(Some((watch, counters, stopping)), |state| async {
        let (watch, counters, stopping) = state?;
        let Some((token, blobs)) = stopping.run_until_cancelled(watch.next()).await else {
            return Some((Err(Status::unavailable("the relay is stopping")), None));
        };
        counters.events.add(1);
        let event = pb::WatchEvent { token: Bytes::copy_from_slice(&token), blobs };
        Some((Ok(event), Some((watch, counters, stopping))))
    })
}

fn post_from(post: pb::PostRequest) -> Result<Post, WireError> {
    if post.blob.len() > limits::BLOB_BYTES {
        return Err(WireError::TooLarge("blob"));
    }
    if post.ttl_seconds > limits::POST_TTL_SECONDS {
        return Err(WireError::TooLarge("life"));
    }
    if post.ttl_seconds == 0 && !post.blob.is_empty() {
        return Err(WireError::Missing("life"));
    }
    Ok(Post {
        token: token_from(&post.token)?,
        slot_key: array(&post.slot_key, "slot key")?,
        // A copy, since the decoded field keeps the whole buffer that it was received in.
        blob: Bytes::copy_from_slice(&post.blob),
        ttl: Duration::from_secs(post.ttl_seconds.into()),
    })
}

fn tokens_from(watch: pb::WatchRequest) -> Result<Vec<Token>, WireError> {
    if watch.tokens.len() > limits::WATCH_TOKENS {
        return Err(WireError::TooLarge("number of tokens"));
    }
    watch.tokens.iter().map(|token| token_from(token)).collect()
}

fn token_from(bytes: &[u8]) -> Result<Token, WireError> {
    array(bytes, "token")
}
