//! A leg through the relay's UDP: a socket of its own that joins the flow of a token, and QUIC on it.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use farhold_secure::{RandomError, Side, Token, random};
use farhold_wire::bridge::BridgeSide;
use farhold_wire::datagram::{Datagram, Join, Refusal};
use tokio::sync::{broadcast, watch};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::task::AbortOnDropHandle;

use crate::connect::join::{Joiner, NO_COOKIE, Standing};
use crate::counters::WireCounter;
use crate::leg::{LegError, Parties};
use crate::network::Addresses;
use crate::quic::{Endpoint, Quic};
use crate::roster::Entry;
use crate::socket::Socket;

/// How long a side waits for the other, once it has joined.
const MET_WITHIN: Duration = Duration::from_secs(60);

/// Why no leg came of it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FlowError {
    #[error("its UDP port does not answer")]
    Unreached,
    #[error("it refuses the flow: {}", reason(*.0))]
    Refused(Refusal),
    #[error("the contact did not come")]
    Alone,
    #[error("no UDP socket: {0}")]
    Socket(io::Error),
    #[error(transparent)]
    Random(#[from] RandomError),
}

/// Keeps our side of the flow as long as it lives.
#[derive(Debug)]
pub(crate) struct Keeper {
    _task: AbortOnDropHandle<()>,
}

/// Where a flow is, and who we are in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flow {
    /// The relay's UDP port.
    pub(super) relay: SocketAddr,
    pub(super) token: Token,
    pub(super) side: Side,
}

/// Meets the other side in the flow; side 0 is the QUIC client.
pub(super) async fn meet(
    flow: Flow,
    quic: &Arc<Quic>,
    parties: &Parties,
    entry: &Entry,
    mut addresses: watch::Receiver<Addresses>,
    counter: Arc<WireCounter>,
) -> Result<(Socket, Keeper), LegError> {
    let endpoint = endpoint(quic, flow.relay).map_err(FlowError::Socket)?;
    let mut member = Member::new(flow, endpoint.clone())?;
    addresses.mark_unchanged();
    let met = timeout(MET_WITHIN, async {
        match flow.side {
            Side::Zero => {
                member.until_both(&mut addresses).await?;
                tokio::select! {
                    socket = endpoint.dial(flow.relay, parties, counter) => socket,
                    never = member.keep(&mut addresses) => match never {},
                }
            }
            Side::One => {
                let joining = async {
                    member.until_both(&mut addresses).await?;
                    match member.keep(&mut addresses).await {}
                };
                tokio::select! {
                    socket = endpoint.accept(parties, entry, counter) => socket,
                    failed = joining => failed,
                }
            }
        }
    });
    let socket = met.await.map_err(|_| FlowError::Alone)??;
    let keeping = tokio::spawn(async move { match member.keep(&mut addresses).await {} });
    Ok((socket, Keeper { _task: AbortOnDropHandle::new(keeping) }))
}

/// Our side of a flow, with its socket.
struct Member {
    joiner: Joiner,
    endpoint: Endpoint,
    datagrams: broadcast::Receiver<(SocketAddr, Bytes)>,
    relay: SocketAddr,
}

/// A wait that never ends by itself.
enum Never {}

impl Member {
    fn new(flow: Flow, endpoint: Endpoint) -> Result<Self, FlowError> {
        let side = match flow.side {
            Side::Zero => BridgeSide::Zero,
            Side::One => BridgeSide::One,
        };
        let join = Join { token: flow.token.0, side, nonce: random::array()?, cookie: NO_COOKIE };
        let datagrams = endpoint.datagrams();
        Ok(Self { joiner: Joiner::new(join, Instant::now()), endpoint, datagrams, relay: flow.relay })
    }

    /// Joins, and returns when both sides are there.
    async fn until_both(&mut self, addresses: &mut watch::Receiver<Addresses>) -> Result<(), FlowError> {
        loop {
            match self.joiner.standing() {
                Standing::Asking | Standing::Alone => self.step(addresses).await,
                Standing::Both => return Ok(()),
                Standing::Unreached => return Err(FlowError::Unreached),
                Standing::Refused(reason) => return Err(FlowError::Refused(reason)),
            }
        }
    }

    /// Joins again and again.
    async fn keep(&mut self, addresses: &mut watch::Receiver<Addresses>) -> Never {
        loop {
            self.step(addresses).await;
        }
    }

    async fn step(&mut self, addresses: &mut watch::Receiver<Addresses>) {
        if let Some(datagram) = self.joiner.due(Instant::now()) {
            self.endpoint.send(&datagram.encode(), self.relay);
        }
        tokio::select! {
            () = sleep_until(self.joiner.deadline()) => {}
            Ok((from, bytes)) = self.datagrams.recv() => {
                if canonical(from) == self.relay
                    && let Ok(datagram) = Datagram::decode(&bytes)
                {
                    self.joiner.heard(&datagram, Instant::now());
                }
            }
            Ok(()) = addresses.changed() => self.joiner.moved(Instant::now()),
        }
    }
}

fn endpoint(quic: &Arc<Quic>, relay: SocketAddr) -> io::Result<Endpoint> {
    let any: IpAddr = match relay.ip() {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = std::net::UdpSocket::bind((any, 0))?;
    socket.set_nonblocking(true)?;
    Endpoint::relayed(quic, socket)
}

/// As it is shown; an IPv6 socket shows IPv4 addresses mapped.
pub(crate) fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

fn reason(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::Full => "it is full",
        Refusal::SourceFull => "this network has too many",
        Refusal::AddressTaken => "the address has another",
        Refusal::Ended => "it has ended",
    }
}
