//! Starting and stopping a relay.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use socket2::{Domain, Socket, Type};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::accept::Gate;
use crate::bridge::Bridge;
use crate::config::{DEFAULT_PORT, RelayConfig};
use crate::hub::Hub;
use crate::metrics::Counters;
use crate::metrics::page::Observed;
use crate::rpc::Rendezvous;
use crate::{http, rpc};

/// Connections that the system holds until they are accepted, so that a burst of them is not turned away.
const BACKLOG: i32 = 1024;

/// Why a relay does not start.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// The port leaves no room for the two above it.
    #[error("port {0} is too high: the relay also needs the two ports above it")]
    PortTooHigh(u16),
    /// A port cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
}

/// Where a relay listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    /// The rendezvous (gRPC).
    pub grpc: SocketAddr,
    /// The bridge (TCP).
    pub bridge: SocketAddr,
    /// Health and metrics (HTTP).
    pub http: SocketAddr,
}

/// The relay, not yet running.
#[derive(Debug)]
pub struct RelayServer;

impl RelayServer {
    /// Starts a relay on the current tokio runtime.
    ///
    /// # Errors
    /// If one of its ports cannot be listened on; nothing runs then.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(config: RelayConfig) -> Result<RunningRelay, RelayError> {
        let ports = Ports::open(config.listen)?;
        let addresses = ports.addresses;
        let RelayConfig { limits, timings, .. } = config;
        let (stopping, ended) = (CancellationToken::new(), CancellationToken::new());
        let tracker = TaskTracker::new();

        let counters = Arc::new(Counters::default());
        let hub = Hub::new(&limits);
        let bridge = Arc::new(Bridge::new(&limits, &timings, Arc::clone(&counters)));
        let observed = Observed {
            rendezvous_gate: Gate::new(limits.rendezvous_connections),
            bridge_gate: Gate::new(limits.bridge_connections),
            http_gate: Gate::new(limits.http_connections),
            hub: Arc::clone(&hub),
            bridge: Arc::clone(&bridge),
            counters: Arc::clone(&counters),
        };

        let bridge_gate = Arc::clone(&observed.bridge_gate);
        tracker.spawn(bridge.serve(
            ports.bridge,
            bridge_gate,
            tracker.clone(),
            stopping.clone(),
            ended.clone(),
        ));

        let rendezvous = Rendezvous { hub: Arc::clone(&hub), counters, stopping: stopping.clone() };
        let (gate, grpc_ended) = (Arc::clone(&observed.rendezvous_gate), ended.clone());
        let (life, drain) = (timings.call, timings.drain);
        tracker.spawn(async move {
            if let Err(error) = rpc::serve(ports.grpc, gate, rendezvous, &timings, grpc_ended).await {
                tracing::error!(%error, "the rendezvous failed");
            }
        });

        let (http_stopping, http_ended) = (stopping.clone(), ended.clone());
        tracker.spawn(async move {
            if let Err(error) = http::serve(ports.http, observed, life, http_stopping, http_ended).await {
                tracing::error!(%error, "health and metrics failed");
            }
        });

        let clock = stopping.clone();
        tracker.spawn(async move { clock.run_until_cancelled(hub.keep_time()).await });
        tracker.close();
        Ok(RunningRelay { addresses, tracker, stopping, ended, drain })
    }
}

/// A relay at work. Dropping it cuts everything at once; [`RunningRelay::stop`] is the gentle way.
#[derive(Debug)]
pub struct RunningRelay {
    addresses: Addresses,
    tracker: TaskTracker,
    /// No more callers; calls, watches and pairs end.
    stopping: CancellationToken,
    /// What is left is cut.
    ended: CancellationToken,
    drain: Duration,
}

impl RunningRelay {
    /// Where it listens.
    pub fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// Accepts no more, ends watches with the status `UNAVAILABLE`, leaves spliced pairs
    /// [`Timings::drain`](crate::Timings::drain) to finish, and returns when nothing of the relay runs any more.
    pub async fn stop(self) {
        self.stopping.cancel();
        if tokio::time::timeout(self.drain, self.tracker.wait()).await.is_err() {
            self.ended.cancel();
            self.tracker.wait().await;
        }
    }
}

impl Drop for RunningRelay {
    fn drop(&mut self) {
        self.stopping.cancel();
        self.ended.cancel();
    }
}

/// The three ports, open.
struct Ports {
    grpc: TcpListener,
    bridge: TcpListener,
    http: TcpListener,
    addresses: Addresses,
}

impl Ports {
    fn open(listen: Option<SocketAddr>) -> Result<Self, RelayError> {
        let Some(address) = listen else {
            return match Self::open_at((Ipv6Addr::UNSPECIFIED, DEFAULT_PORT).into()) {
                // A system without IPv6.
                Err(RelayError::Listen { source, .. }) if source.kind() != io::ErrorKind::AddrInUse => {
                    Self::open_at((Ipv4Addr::UNSPECIFIED, DEFAULT_PORT).into())
                }
                result => result,
            };
        };
        Self::open_at(address)
    }

    fn open_at(address: SocketAddr) -> Result<Self, RelayError> {
        let above = |offset: u16| match address.port() {
            0 => Ok(address),
            port => match port.checked_add(offset) {
                Some(port) => Ok(SocketAddr::new(address.ip(), port)),
                None => Err(RelayError::PortTooHigh(port)),
            },
        };
        let open = |address| listen(address).map_err(|source| RelayError::Listen { address, source });
        let (bridge, http) = (above(1)?, above(2)?);
        let (grpc, bridge, http) = (open(address)?, open(bridge)?, open(http)?);
        let at = |listener: &TcpListener| {
            listener.local_addr().map_err(|source| RelayError::Listen { address, source })
        };
        let addresses = Addresses { grpc: at(&grpc)?, bridge: at(&bridge)?, http: at(&http)? };
        Ok(Self { grpc, bridge, http, addresses })
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    if address.is_ipv6() {
        // `[::]` takes IPv4 callers too, whatever the system's default is.
        socket.set_only_v6(false)?;
    }
    // So that a restarted relay has its ports at once. Elsewhere the option would allow two relays on one port.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}
