//! Starting and stopping a relay.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use socket2::{Domain, Socket, Type};
use tokio::net::{TcpListener, UdpSocket};
use tokio::sync::SetOnce;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::accept::Gate;
use crate::bridge::Bridge;
use crate::config::{DEFAULT_PORT, RelayConfig};
use crate::hub::Hub;
use crate::metrics::Counters;
use crate::metrics::page::Observed;
use crate::rpc::Rendezvous;
use crate::throttle::Throttle;
use crate::udp::UdpRelay;
use crate::{http, rpc};

/// Connections that the system holds until they are accepted, so that a burst of them is not turned away.
const BACKLOG: i32 = 1024;

/// Why a relay does not run.
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
    /// A part of it ended.
    #[error("{part} ended: {reason}")]
    Ended {
        /// What of the relay.
        part: &'static str,
        /// Why.
        reason: String,
    },
}

/// Where a relay listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    /// The rendezvous (gRPC).
    pub grpc: SocketAddr,
    /// The bridge (TCP), and on the same port number the UDP relay.
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
        let ended = CancellationToken::new();
        let parts = Parts::default();
        let Parts { tracker, stopping, .. } = parts.clone();

        let counters = Arc::new(Counters::default());
        let hub = Hub::new(&limits);
        let throttle = Arc::new(Throttle::new(limits.source_bytes_per_second));
        let bridge = Arc::new(Bridge::new(&limits, &timings, Arc::clone(&throttle), Arc::clone(&counters)));
        let udp = Arc::new(UdpRelay::new(&limits, &timings, throttle, Arc::clone(&counters)));
        let observed = Observed {
            rendezvous_gate: Gate::new(limits.rendezvous_connections),
            bridge_gate: Gate::new(limits.bridge_connections),
            http_gate: Gate::new(limits.http_connections),
            hub: Arc::clone(&hub),
            bridge: Arc::clone(&bridge),
            udp: Arc::clone(&udp),
            counters: Arc::clone(&counters),
        };

        let bridge_gate = Arc::clone(&observed.bridge_gate);
        let serving =
            bridge.serve(ports.bridge, bridge_gate, tracker.clone(), stopping.clone(), ended.clone());
        parts.run("the bridge", async {
            serving.await;
            Ok(())
        });

        parts.run("the UDP relay", udp.serve(ports.udp, stopping.clone()));

        let rendezvous = Rendezvous { hub: Arc::clone(&hub), counters, stopping: stopping.clone() };
        let gate = Arc::clone(&observed.rendezvous_gate);
        let (life, drain) = (timings.call, timings.drain);
        let serving = rpc::serve(ports.grpc, gate, rendezvous, timings, tracker.clone(), ended.clone());
        parts.run("the rendezvous", async {
            serving.await;
            Ok(())
        });

        let serving = http::serve(ports.http, observed, life, stopping.clone(), ended.clone());
        parts.run("the server of health and metrics", serving);

        parts.run("the clock of the posts", async move {
            stopping.run_until_cancelled(hub.keep_time()).await;
            Ok(())
        });
        tracker.close();
        Ok(RunningRelay { addresses, parts, ended, drain })
    }
}

/// What runs of a relay, all of it or nothing: when a part ends, the others stop.
#[derive(Debug, Clone, Default)]
struct Parts {
    tracker: TaskTracker,
    /// No more callers; calls, watches and pairs end.
    stopping: CancellationToken,
    failure: Arc<SetOnce<RelayError>>,
}

impl Parts {
    /// Runs a part, which is meant to end when the relay stops and not before.
    fn run(&self, part: &'static str, serving: impl Future<Output = io::Result<()>> + Send + 'static) {
        let task = self.tracker.spawn(serving);
        let Self { stopping, failure, .. } = self.clone();
        self.tracker.spawn(async move {
            let ended = task.await;
            if stopping.is_cancelled() {
                return;
            }
            let reason = match ended {
                Ok(Ok(())) => "for no reason".to_owned(),
                Ok(Err(error)) => error.to_string(),
                Err(panic) => panic.to_string(),
            };
            tracing::error!(%reason, "{part} ended, so the relay stops");
            // Should two end at once, one reason is enough.
            let _ = failure.set(RelayError::Ended { part, reason });
            stopping.cancel();
        });
    }
}

/// A relay at work. Dropping it cuts everything at once; [`RunningRelay::stop`] is the gentle way.
#[derive(Debug)]
pub struct RunningRelay {
    addresses: Addresses,
    parts: Parts,
    /// What is left is cut.
    ended: CancellationToken,
    drain: Duration,
}

impl RunningRelay {
    /// Where it listens.
    pub fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// Waits until a part of the relay has ended by itself, for this reason, and the others stop; for ever if none
    /// does. [`RunningRelay::stop`] is then still to be called.
    pub async fn failed(&self) -> &RelayError {
        self.parts.failure.wait().await
    }

    /// Accepts no more, ends watches with the status `UNAVAILABLE`, leaves spliced pairs
    /// [`Timings::drain`](crate::Timings::drain) to finish, and returns when nothing of the relay runs any more.
    pub async fn stop(self) {
        self.parts.stopping.cancel();
        if tokio::time::timeout(self.drain, self.parts.tracker.wait()).await.is_err() {
            self.ended.cancel();
            self.parts.tracker.wait().await;
        }
    }
}

impl Drop for RunningRelay {
    fn drop(&mut self) {
        self.parts.stopping.cancel();
        self.ended.cancel();
    }
}

/// The three ports, open; the second one for TCP and UDP.
struct Ports {
    grpc: TcpListener,
    bridge: TcpListener,
    udp: UdpSocket,
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
        let grpc = open(address)?;
        let (bridge, udp) =
            open_both(bridge).map_err(|source| RelayError::Listen { address: bridge, source })?;
        let http = open(http)?;
        let at = |listener: &TcpListener| {
            listener.local_addr().map_err(|source| RelayError::Listen { address, source })
        };
        let addresses = Addresses { grpc: at(&grpc)?, bridge: at(&bridge)?, http: at(&http)? };
        Ok(Self { grpc, bridge, udp, http, addresses })
    }
}

/// A free TCP port need not be a free UDP port too: so many are tried.
const FREE_PORTS: usize = 16;

/// One port number for TCP and UDP.
fn open_both(address: SocketAddr) -> io::Result<(TcpListener, UdpSocket)> {
    let mut left = FREE_PORTS;
    loop {
        let tcp = listen(address)?;
        let port = tcp.local_addr()?.port();
        match listen_udp(SocketAddr::new(address.ip(), port)) {
            Ok(udp) => return Ok((tcp, udp)),
            Err(error) => {
                left -= 1;
                if address.port() != 0 || left == 0 {
                    return Err(error);
                }
            }
        }
    }
}

fn listen_udp(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = socket(address, Type::DGRAM)?;
    socket.bind(&address.into())?;
    UdpSocket::from_std(socket.into())
}

fn socket(address: SocketAddr, kind: Type) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), kind, None)?;
    if address.is_ipv6() {
        // `[::]` takes IPv4 callers too, whatever the system's default is.
        socket.set_only_v6(false)?;
    }
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = socket(address, Type::STREAM)?;
    // So that a restarted relay has its ports at once. Elsewhere the option would allow two relays on one port.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpStream;

    use super::*;

    async fn ended(part: impl Future<Output = io::Result<()>> + Send + 'static) -> String {
        let relay = RelayServer::start(RelayConfig::loopback()).unwrap();
        relay.parts.run("a part", part);
        let reason = relay.failed().await.to_string();
        let addresses = relay.addresses();
        relay.stop().await;
        for address in [addresses.grpc, addresses.bridge, addresses.http] {
            assert!(TcpStream::connect(address).await.is_err(), "{address} is still open");
        }
        reason
    }

    #[tokio::test]
    async fn a_part_that_ends_stops_the_relay_and_the_reason_is_told() {
        assert_eq!(ended(async { Err(io::Error::other("no more")) }).await, "a part ended: no more");
        assert_eq!(ended(async { Ok(()) }).await, "a part ended: for no reason");
        let reason = ended(async { panic!("a bug") }).await;
        assert!(reason.starts_with("a part ended: ") && reason.contains("panicked"), "{reason}");
    }

    #[tokio::test]
    async fn a_relay_that_is_stopped_has_not_failed() {
        let relay = RelayServer::start(RelayConfig::loopback()).unwrap();
        let failure = Arc::clone(&relay.parts.failure);
        relay.stop().await;
        assert!(failure.get().is_none());
    }
}
