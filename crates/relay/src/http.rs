//! Health and metrics: `GET /health` and `GET /metrics`.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use axum::serve::Listener;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::accept::{Gate, Guarded, accept};
use crate::metrics::page::{Observed, page};

/// Serves callers until `stopping`. A connection lives for `life` at most, since a scrape is short and whoever keeps
/// one open otherwise is none.
pub(crate) async fn serve(
    listener: TcpListener,
    observed: Observed,
    life: Duration,
    stopping: CancellationToken,
    ended: CancellationToken,
) -> io::Result<()> {
    let door = Door { listener, gate: Arc::clone(&observed.http_gate), life, ended };
    let router = Router::new()
        .route("/health", get(|| async { "ok\n" }))
        .route("/metrics", get(metrics))
        .with_state(Arc::new(observed));
    axum::serve(door, router).with_graceful_shutdown(stopping.cancelled_owned()).await
}

struct Door {
    listener: TcpListener,
    gate: Arc<Gate>,
    life: Duration,
    ended: CancellationToken,
}

impl Listener for Door {
    type Io = Guarded;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Guarded, SocketAddr) {
        let (stream, address, permit) = accept(&self.listener, &self.gate).await;
        (Guarded::new((stream, permit), self.life, usize::MAX, self.ended.clone()), address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

async fn metrics(State(observed): State<Arc<Observed>>) -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], page(&observed))
}
