//! HTTP/2 connections to the rendezvous, within limits.
//!
//! hyper is driven here and not through tonic's server, which does not let the send buffer be bounded.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use farhold_wire::limits;
use farhold_wire::proto::relay::relay_server::RelayServer;
use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::Status;
use tonic::body::Body;
use tower::ServiceExt;

use super::Rendezvous;
use crate::config::Timings;

/// Calls under way on one connection.
const CALLS_AT_ONCE: u32 = 64;
/// Unread bytes of one call: the default of RFC 9113, 6.9.2.
const CALL_WINDOW: u32 = 65_535;
/// Unread bytes of one connection.
const CONNECTION_WINDOW: u32 = 128 << 10;
/// Bytes of one call that its caller has not taken yet, whatever window it gives. What is told at once may exceed it.
const UNSENT_BYTES: usize = 64 << 10;
/// The least that RFC 9113, 6.5.2, allows.
const FRAME_BYTES: u32 = 16 << 10;
/// Headers of one call.
const HEADER_LIST_BYTES: u32 = 8 << 10;

/// From where a call comes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caller(pub(super) SocketAddr);

/// What every connection is served with.
#[derive(Debug, Clone)]
pub(super) struct Door {
    http: http2::Builder<Tasks>,
    service: RelayServer<Rendezvous>,
    /// How long a call may take, the stream of a watch apart.
    call: Duration,
}

/// Runs the calls of a connection as tasks of the relay.
#[derive(Debug, Clone)]
struct Tasks(TaskTracker);

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Tasks {
    fn execute(&self, call: F) {
        self.0.spawn(call);
    }
}

impl Door {
    pub(super) fn new(rendezvous: Rendezvous, timings: &Timings, tracker: TaskTracker) -> Self {
        let service = RelayServer::new(rendezvous)
            .max_decoding_message_size(limits::RELAY_MESSAGE_BYTES)
            .max_encoding_message_size(limits::RELAY_MESSAGE_BYTES);
        let mut http = http2::Builder::new(Tasks(tracker));
        http.timer(TokioTimer::new())
            .max_concurrent_streams(CALLS_AT_ONCE)
            .initial_stream_window_size(CALL_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_send_buf_size(UNSENT_BYTES)
            .max_frame_size(FRAME_BYTES)
            .max_header_list_size(HEADER_LIST_BYTES)
            .keep_alive_interval(timings.keepalive)
            .keep_alive_timeout(timings.keepalive);
        Self { http, service, call: timings.call }
    }

    /// Serves one connection to its end; after `stopping` it takes no more calls.
    pub(super) async fn serve<C>(self, connection: C, caller: SocketAddr, stopping: CancellationToken)
    where
        C: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Self { http, service, call } = self;
        let calls = service_fn(move |request| answer(service.clone(), request, Caller(caller), call));
        let mut connection = pin!(http.serve_connection(TokioIo::new(connection), calls));
        let served = tokio::select! {
            served = connection.as_mut() => served,
            () = stopping.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = served {
            tracing::debug!(%error, "a connection to the rendezvous broke");
        }
    }
}

async fn answer(
    service: RelayServer<Rendezvous>,
    mut request: Request<Incoming>,
    caller: Caller,
    within: Duration,
) -> Result<Response<Body>, Infallible> {
    request.extensions_mut().insert(caller);
    let answer = tokio::time::timeout(within, service.oneshot(request)).await;
    answer.unwrap_or_else(|_| Ok(Status::deadline_exceeded("the call took too long").into_http()))
}

#[cfg(test)]
mod tests;
