//! QUIC as a transport: a connection whose streams carry a leg's control lane and its further lanes.
//!
//! On every stream runs what runs on a TCP connection, opening, handshake and records, so QUIC's own encryption is not
//! what content rests on (`docs/security.md`). One UDP socket serves straight connections both ways and our own
//! datagrams ([`farhold_wire::datagram`]); a leg through the relay has a socket of its own.

mod config;
mod congestion;
mod link;
mod port;
mod runtime;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use farhold_secure::handshake::HANDSHAKE_WITHIN;
use farhold_secure::opening::CallerId;
use farhold_secure::rendezvous::Hour;
use quinn::{ConnectionId, EndpointConfig};
use socket2::{Domain, Protocol, Type};
use tokio::sync::broadcast;
use tokio::time::timeout;

pub(crate) use self::config::ConfigError;
use self::config::Configs;
pub(crate) use self::link::{Link, Stream};
use self::port::Port;
use self::runtime::Runtime;
use crate::clock;
use crate::counters::WireCounter;
use crate::leg::{LegError, Parties};
use crate::roster::Entry;
use crate::socket::Socket;

/// What all connections name as their server; it is not sent.
const SERVER_NAME: &str = "farhold";
/// How long connections may take at the program's end to say that they close.
const LINGER: Duration = Duration::from_millis(50);
/// Asked of the system, which gives as much as it allows: 50 ms of 1.3 Gbit/s.
const BUFFER_BYTES: usize = 8 << 20;

/// What all endpoints of a program share.
#[derive(Debug)]
pub(crate) struct Quic {
    configs: Configs,
    runtime: Arc<Runtime>,
    /// Counts all datagrams.
    counter: Arc<WireCounter>,
}

impl Quic {
    /// `counter` counts the bytes of all datagrams, in both directions.
    pub(crate) fn new(counter: Arc<WireCounter>) -> Result<Arc<Self>, ConfigError> {
        Ok(Arc::new(Self { configs: Configs::new()?, runtime: Arc::default(), counter }))
    }

    /// Ends every connection and waits until no task of any is left.
    pub(crate) async fn stop(&self) {
        self.runtime.stop(LINGER).await;
    }
}

/// A UDP socket with the QUIC connections on it. Cheap to clone; what its connections and the socket need lives as long
/// as they do.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    quic: Arc<Quic>,
    endpoint: quinn::Endpoint,
    port: Arc<Port>,
}

/// A connection that somebody begins here. Dropped, it is ignored: its sender gets no answer.
pub(crate) struct Incoming(Option<quinn::Incoming>);

impl Endpoint {
    /// Binds the UDP port at `bind`, or at every IPv6 and IPv4 address, as a TCP listener does.
    pub(crate) fn listen(quic: &Arc<Quic>, bind: Option<IpAddr>, port: u16) -> io::Result<Self> {
        let socket = match bind {
            Some(address) => socket(SocketAddr::new(address, port)),
            None => socket((Ipv6Addr::UNSPECIFIED, port).into())
                .or_else(|_| socket((Ipv4Addr::UNSPECIFIED, port).into())),
        };
        Self::on(quic, socket?)
    }

    /// On an unconnected UDP socket that is bound already, for one leg through the relay.
    pub(crate) fn relayed(quic: &Arc<Quic>, socket: std::net::UdpSocket) -> io::Result<Self> {
        Self::on(quic, socket)
    }

    fn on(quic: &Arc<Quic>, socket: std::net::UdpSocket) -> io::Result<Self> {
        let options = socket2::SockRef::from(&socket);
        // What the system does not give is not there; then the window shrinks with the losses.
        let _ = options.set_recv_buffer_size(BUFFER_BYTES);
        let _ = options.set_send_buffer_size(BUFFER_BYTES);
        let port = Port::new(socket, &*quic.runtime, Arc::clone(&quic.counter))?;
        let mut config = EndpointConfig::default();
        // Datagrams of ours are told from packets by that bit.
        config.grease_quic_bit(false);
        let endpoint = quinn::Endpoint::new_with_abstract_socket(
            config,
            Some(quic.configs.server.clone()),
            Arc::clone(&port) as Arc<dyn quinn::AsyncUdpSocket>,
            Arc::clone(&quic.runtime) as Arc<dyn quinn::Runtime>,
        )?;
        Ok(Self { quic: Arc::clone(quic), endpoint, port })
    }

    /// Our own end.
    #[cfg(test)]
    pub(crate) fn local(&self) -> io::Result<SocketAddr> {
        self.endpoint.local_addr()
    }

    /// Connects as client, as the side of `parties`; the socket is the connection's first stream, whose bytes `counter`
    /// counts. Has [`HANDSHAKE_WITHIN`].
    pub(crate) async fn dial(
        &self,
        address: SocketAddr,
        parties: &Parties,
        counter: Arc<WireCounter>,
    ) -> Result<Socket, LegError> {
        let id = CallerId::new(&parties.rendezvous, Hour::of(clock::unix_milliseconds()))?;
        let mut config = self.quic.configs.client.clone();
        config.initial_dst_cid_provider(Arc::new(move || ConnectionId::new(id.as_bytes())));
        let connecting =
            self.endpoint.connect_with(config, address, SERVER_NAME).map_err(io::Error::other)?;
        let connected = async {
            let link = Link::new(connecting.await?);
            let stream = link.open().await?;
            Ok::<_, io::Error>(Socket::quic(stream, counter))
        };
        Ok(timeout(HANDSHAKE_WITHIN, connected).await??)
    }

    /// The first stream of the next connection that the contact of `entry` begins. Waits for its first packet as long
    /// as need be, and from then on for [`HANDSHAKE_WITHIN`].
    pub(crate) async fn accept(
        &self,
        parties: &Parties,
        entry: &Entry,
        counter: Arc<WireCounter>,
    ) -> Result<Socket, LegError> {
        loop {
            let incoming = self.incoming().await.ok_or(LegError::Closing)?;
            let Some(id) = incoming.caller() else { continue };
            if entry.check_caller(&id, Hour::of(clock::unix_milliseconds()), parties).is_ok() {
                return timeout(HANDSHAKE_WITHIN, incoming.accept(counter)).await?;
            }
        }
    }

    /// Whoever begins a connection; `None` if the endpoint is at its end.
    pub(crate) async fn incoming(&self) -> Option<Incoming> {
        Some(Incoming(Some(self.endpoint.accept().await?)))
    }

    /// Sends a datagram of ours from the same socket. Never blocks: if there is no room it is lost, as it may be on its
    /// way.
    pub(crate) fn send(&self, bytes: &[u8], to: SocketAddr) {
        self.port.send(bytes, to);
    }

    /// Datagrams of ours that arrive, with their source. Whoever is slow loses the oldest.
    pub(crate) fn datagrams(&self) -> broadcast::Receiver<(SocketAddr, Bytes)> {
        self.port.datagrams()
    }

    /// Our addresses are others than before: connections that we dialled show the other side at once where we are now.
    pub(crate) fn network_changed(&self) {
        let port = Arc::clone(&self.port) as Arc<dyn quinn::AsyncUdpSocket>;
        if let Err(error) = self.endpoint.rebind_abstract(port) {
            tracing::warn!(%error, "the UDP socket is lost");
        }
    }
}

impl Incoming {
    /// Where it comes from, as it says.
    pub(crate) fn remote(&self) -> Option<IpAddr> {
        self.0.as_ref().map(|incoming| incoming.remote_address().ip().to_canonical())
    }

    /// What its first packet was addressed to; `None` if that is no caller's id.
    pub(crate) fn caller(&self) -> Option<CallerId> {
        CallerId::from_slice(&self.0.as_ref()?.orig_dst_cid())
    }

    /// Answers: only now the key exchange of TLS is done. Gives the first stream, once something came on it.
    pub(crate) async fn accept(mut self, counter: Arc<WireCounter>) -> Result<Socket, LegError> {
        let incoming = self.0.take().ok_or(LegError::Closing)?;
        let link = Link::new(incoming.accept().map_err(io::Error::from)?.await.map_err(io::Error::from)?);
        Ok(Socket::quic(link.accept().await?, counter))
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if let Some(incoming) = self.0.take() {
            incoming.ignore();
        }
    }
}

fn socket(address: SocketAddr) -> io::Result<std::net::UdpSocket> {
    let socket = socket2::Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    if address.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED) {
        socket.set_only_v6(false)?;
    }
    socket.bind(&address.into())?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests;
