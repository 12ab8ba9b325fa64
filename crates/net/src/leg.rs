//! From a connection to a leg: opening, handshake and the first words.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use farhold_secure::exchange::Exchange;
use farhold_secure::handshake::{
    self, Abilities, ChannelBinding, Confirmation, Established, HANDSHAKE_WITHIN, HandshakeError, Initiator,
    PairingKeys,
};
use farhold_secure::opening::{LegKind, OPENING_BYTES, Opening, OpeningError};
use farhold_secure::rendezvous::Hour;
use farhold_secure::session::SessionKeys;
use farhold_secure::{Identity, PublicKeys, RandomError, Rendezvous, Side};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{error::Elapsed, timeout};
use tokio_util::sync::CancellationToken;

use crate::bridge::BridgeError;
use crate::clock;
use crate::connect::lifecycle::Goodbye;
use crate::contact::FlowError;
use crate::control::{ControlChannel, ControlError, Message};
use crate::socket::Socket;
use crate::stream::RecordStream;

/// How long side 1 waits for side 0's decision on a leg: a round trip, and the legs that side 0 has in hand.
const NOMINATION_WITHIN: Duration = Duration::from_secs(10);

/// The two ends of every leg with one contact.
#[derive(Debug)]
pub(crate) struct Parties {
    pub(crate) identity: Arc<Identity>,
    pub(crate) peer: PublicKeys,
    pub(crate) rendezvous: Arc<Rendezvous>,
    pub(crate) abilities: Abilities,
}

/// A connection whose other end has proved to be the contact.
#[derive(Debug)]
pub(crate) struct Leg {
    pub(crate) channel: ControlChannel,
    pub(crate) session: SessionKeys,
    pub(crate) exchange: Exchange,
    pub(crate) pairing: Option<PairingKeys>,
    /// We sent the opening.
    pub(crate) initiated: bool,
}

/// Why a leg came to nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LegError {
    #[error("the connection failed: {0}")]
    Io(#[from] io::Error),
    #[error("the relay's bridge: {0}")]
    Bridge(#[from] BridgeError),
    #[error("the relay: {0}")]
    Flow(#[from] FlowError),
    #[error("this way is not open to this program")]
    Unavailable,
    #[error(transparent)]
    Opening(#[from] OpeningError),
    #[error(transparent)]
    Handshake(#[from] HandshakeError),
    #[error(transparent)]
    Control(#[from] ControlError),
    #[error("the other end took too long")]
    TimedOut,
    #[error("the program is at its end")]
    Closing,
    #[error("the contact refuses")]
    Refused,
    #[error(transparent)]
    Random(#[from] RandomError),
}

impl From<Elapsed> for LegError {
    fn from(_: Elapsed) -> Self {
        Self::TimedOut
    }
}

/// Opens a leg on a connection, and authenticates both ends.
pub(crate) async fn initiate(
    socket: Socket,
    parties: &Parties,
    kind: LegKind,
    cancel: CancellationToken,
) -> Result<Leg, LegError> {
    timeout(HANDSHAKE_WITHIN, initiate_now(socket, parties, kind, cancel)).await?
}

async fn initiate_now(
    mut socket: Socket,
    parties: &Parties,
    kind: LegKind,
    cancel: CancellationToken,
) -> Result<Leg, LegError> {
    let opening = Opening::new(&parties.rendezvous, kind, Hour::of(clock::unix_milliseconds()))?;
    let binding = socket.binding()?;
    let mut out = BytesMut::from(&opening.as_bytes()[..]);
    let leg = parties.leg(kind, &opening, binding.as_ref());
    let initiator = Initiator::start(&leg, parties.abilities, &mut out)?;
    socket.write_all_buf(&mut out).await?;
    let mut received = BytesMut::new();
    let message = message(&mut socket, &mut received).await?;
    let established = initiator.finish(&message, clock::now(), &mut out)?;
    // The first record authenticates us to the other end; whatever is said next goes with it.
    Ok(Leg::new(socket, established, received, out, true, cancel))
}

/// Takes the leg that the other end opened with `opening`, which is known to be the contact's.
pub(crate) async fn respond(
    socket: Socket,
    parties: &Parties,
    kind: LegKind,
    opening: &Opening,
    received: BytesMut,
    cancel: CancellationToken,
) -> Result<Leg, LegError> {
    timeout(HANDSHAKE_WITHIN, respond_now(socket, parties, kind, opening, received, cancel)).await?
}

async fn respond_now(
    mut socket: Socket,
    parties: &Parties,
    kind: LegKind,
    opening: &Opening,
    mut received: BytesMut,
    cancel: CancellationToken,
) -> Result<Leg, LegError> {
    let message = message(&mut socket, &mut received).await?;
    let mut out = BytesMut::new();
    let binding = socket.binding()?;
    let leg = parties.leg(kind, opening, binding.as_ref());
    let mut unconfirmed = handshake::respond(&leg, parties.abilities, &message, clock::now(), &mut out)?;
    socket.write_all_buf(&mut out).await?;
    loop {
        match unconfirmed.confirm(&mut received)? {
            Confirmation::Established(established) => {
                return Ok(Leg::new(socket, *established, received, out, false, cancel));
            }
            Confirmation::Waiting(still) => unconfirmed = still,
        }
        read_more(&mut socket, &mut received).await?;
    }
}

/// Reads the 33 bytes with which every connection begins, and no more than may follow them.
pub(crate) async fn read_opening(socket: &mut Socket) -> Result<([u8; OPENING_BYTES], BytesMut), LegError> {
    let mut received = BytesMut::new();
    loop {
        if received.len() >= OPENING_BYTES {
            let mut opening = [0; OPENING_BYTES];
            opening.copy_from_slice(&received.split_to(OPENING_BYTES));
            return Ok((opening, received));
        }
        read_more(socket, &mut received).await?;
    }
}

async fn message(socket: &mut Socket, received: &mut BytesMut) -> Result<BytesMut, LegError> {
    loop {
        if let Some(message) = handshake::take_message(received)? {
            return Ok(message);
        }
        read_more(socket, received).await?;
    }
}

/// Reads what is there, at most 4 KiB; the end is an error.
pub(crate) async fn read_more(socket: &mut Socket, received: &mut BytesMut) -> Result<(), io::Error> {
    received.reserve(4 << 10);
    match socket.read_buf(received).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

impl Parties {
    fn leg<'a>(
        &'a self,
        kind: LegKind,
        opening: &'a Opening,
        binding: Option<&'a ChannelBinding>,
    ) -> handshake::Leg<'a> {
        handshake::Leg {
            identity: &self.identity,
            peer: &self.peer,
            rendezvous: &self.rendezvous,
            kind,
            opening,
            binding,
        }
    }

    pub(crate) fn side(&self) -> Side {
        self.rendezvous.side()
    }
}

impl Leg {
    fn new(
        socket: Socket,
        established: Established,
        received: BytesMut,
        out: BytesMut,
        initiated: bool,
        cancel: CancellationToken,
    ) -> Self {
        let Established { suite: _, capabilities: _, sealer, opener, session, exchange, pairing } =
            established;
        let stream = RecordStream::new(socket, sealer, opener, received, out, cancel);
        Self { channel: ControlChannel::new(stream), session, exchange, pairing, initiated }
    }

    /// What is said before it is decided what becomes of the leg; `number` is our newest attempt. Returns the number
    /// that the other side said: at side 0 its newest attempt, at side 1 that of the nomination.
    pub(crate) async fn first_words(&mut self, side: Side, number: u64) -> Result<Option<u64>, LegError> {
        match (side, self.initiated) {
            (Side::Zero, true) => return Ok(None),
            (Side::One, true) => {
                self.channel.send(Message::Attempt(number))?;
                self.channel.flush().await?;
            }
            (Side::Zero | Side::One, false) => {}
        }
        let message = timeout(NOMINATION_WITHIN, self.channel.receive()).await??;
        match (side, message) {
            (Side::Zero, Message::Attempt(number)) | (Side::One, Message::Nominate(number)) => {
                Ok(Some(number))
            }
            (_, Message::Goodbye(Goodbye::Refused)) => Err(LegError::Refused),
            _ => Err(ControlError::OutOfTurn.into()),
        }
    }
}

#[cfg(test)]
mod tests;
