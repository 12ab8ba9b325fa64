//! How a further lane gets its connection.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use farhold_secure::lane::{Lane, LaneConfirmation, LaneError, TICKET_LIFE, Ticket, UnconfirmedLane};
use farhold_secure::{Side, Token};
use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;
use tokio::time::{error::Elapsed, timeout};
use tokio_util::sync::CancellationToken;

use crate::bridge::{self, BridgeError};
use crate::clock;
use crate::config::RelayAddress;
use crate::counters::WireCounter;
use crate::leg::{self, LegError};
use crate::quic::Link;
use crate::socket::{self, Socket};
use crate::stream::RecordStream;
use crate::tickets::{Arrival, Expected, Tickets};

/// How long the other end of a connection has for its first record.
const CONFIRMED_WITHIN: Duration = Duration::from_secs(5);

/// Why a lane was not opened.
#[derive(Debug, thiserror::Error)]
pub(super) enum OpeningError {
    #[error("the connection failed: {0}")]
    Io(#[from] io::Error),
    #[error("the relay's bridge: {0}")]
    Bridge(#[from] BridgeError),
    #[error("the opening: {0}")]
    Leg(#[from] LegError),
    #[error(transparent)]
    Lane(#[from] LaneError),
    #[error("the contact took too long")]
    TimedOut,
    #[error("the contact did not dial")]
    NotDialled,
    #[error("no relay is set")]
    NoRelay,
}

impl From<Elapsed> for OpeningError {
    fn from(_: Elapsed) -> Self {
        Self::TimedOut
    }
}

/// Where the connection comes from.
#[derive(Debug)]
pub(super) enum Way {
    /// We dial what the control lane was dialled at, over TCP.
    Dial(SocketAddr),
    /// We open a stream of the control lane's connection.
    Stream(Link),
    /// The other side does either, with a ticket.
    Await(Expected),
    /// Both meet at the bridge.
    Bridge { relay: RelayAddress, token: Token, side: Side },
}

/// Opens a lane; `counter` counts its bytes.
pub(super) async fn open(
    lane: Lane,
    way: Way,
    counter: Arc<WireCounter>,
    cancel: CancellationToken,
) -> Result<RecordStream, OpeningError> {
    match way {
        Way::Dial(address) => {
            let socket = Socket::new(socket::connect(address).await?, counter)?;
            dialled(lane, socket, cancel).await
        }
        Way::Stream(link) => {
            let stream = timeout(CONFIRMED_WITHIN, link.open()).await??;
            dialled(lane, Socket::quic(stream, counter), cancel).await
        }
        Way::Await(mut expected) => {
            let arrival = timeout(TICKET_LIFE, expected.arrival()).await?;
            let Arrival { mut socket, opening, received } = arrival.ok_or(OpeningError::NotDialled)?;
            socket.count_on(counter);
            let mut out = BytesMut::new();
            let unconfirmed = lane.accept(&opening, clock::now(), &mut out)?;
            confirm(unconfirmed, socket, received, out, cancel).await
        }
        Way::Bridge { relay, token, side } => {
            let mut socket = bridge::meet(&relay, token, side, counter).await?;
            match side {
                Side::Zero => dialled(lane, socket, cancel).await,
                Side::One => {
                    let (opening, received) =
                        timeout(CONFIRMED_WITHIN, leg::read_opening(&mut socket)).await??;
                    let mut out = BytesMut::new();
                    let unconfirmed = lane.accept(&opening, clock::now(), &mut out)?;
                    confirm(unconfirmed, socket, received, out, cancel).await
                }
            }
        }
    }
}

/// Takes the streams that the other side opens on a session's connection, until that ends: each begins with the ticket
/// of a lane. QUIC's limit bounds how many there are.
pub(super) async fn take_streams(link: Link, tickets: Arc<Tickets>) {
    let mut arriving = JoinSet::new();
    loop {
        let stream = tokio::select! {
            Some(_) = arriving.join_next() => continue,
            stream = link.accept() => stream,
        };
        // The control lane tells why.
        let Ok(stream) = stream else { return };
        arriving.spawn(arrive(Socket::quic(stream, Arc::default()), Arc::clone(&tickets)));
    }
}

async fn arrive(mut socket: Socket, tickets: Arc<Tickets>) {
    let arriving = async {
        let (opening, received) = leg::read_opening(&mut socket).await?;
        let Some(ticket) = Ticket::of(&opening) else { return Ok(()) };
        let waiting = tickets.claim(ticket).await;
        // Whoever waited may have given up; then the stream ends here.
        let _ = waiting.send(Arrival { socket, opening, received });
        Ok::<_, LegError>(())
    };
    if !matches!(timeout(CONFIRMED_WITHIN, arriving).await, Ok(Ok(()))) {
        tracing::debug!("a stream that is no lane was closed");
    }
}

async fn dialled(
    lane: Lane,
    socket: Socket,
    cancel: CancellationToken,
) -> Result<RecordStream, OpeningError> {
    let mut out = BytesMut::new();
    let unconfirmed = lane.dial(clock::now(), &mut out)?;
    confirm(unconfirmed, socket, BytesMut::new(), out, cancel).await
}

/// The lane counts once the other end's first record verifies.
async fn confirm(
    unconfirmed: UnconfirmedLane,
    socket: Socket,
    received: BytesMut,
    out: BytesMut,
    cancel: CancellationToken,
) -> Result<RecordStream, OpeningError> {
    timeout(CONFIRMED_WITHIN, confirm_now(unconfirmed, socket, received, out, cancel)).await?
}

async fn confirm_now(
    mut unconfirmed: UnconfirmedLane,
    mut socket: Socket,
    mut received: BytesMut,
    mut out: BytesMut,
    cancel: CancellationToken,
) -> Result<RecordStream, OpeningError> {
    socket.write_all_buf(&mut out).await?;
    loop {
        match unconfirmed.confirm(&mut received)? {
            LaneConfirmation::Confirmed(sealer, opener) => {
                return Ok(RecordStream::new(socket, sealer, opener, received, out, cancel));
            }
            LaneConfirmation::Waiting(still) => unconfirmed = still,
        }
        leg::read_more(&mut socket, &mut received).await?;
    }
}
