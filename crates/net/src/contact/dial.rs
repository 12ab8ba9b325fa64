//! One dialled leg, from the connection to its first words.

use std::sync::Arc;

use farhold_secure::Side;
use farhold_secure::handshake::HANDSHAKE_WITHIN;
use farhold_secure::opening::{LegKind, Opening};
use farhold_secure::rendezvous::Hour;
use farhold_wire::datagram::Refusal;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::flow::{self, Flow, FlowError, Keeper};
use crate::bridge;
use crate::clock;
use crate::config::RelayAddress;
use crate::connect::lifecycle::Nonce;
use crate::connect::race::Target;
use crate::counters::WireCounter;
use crate::leg::{self, Leg, LegError, Parties};
use crate::quic::Endpoint;
use crate::roster::Entry;
use crate::shared::Shared;
use crate::socket::{self, Socket};
use crate::state::Transport;

/// An authenticated leg that we dialled.
#[derive(Debug)]
pub(crate) struct Dialled {
    pub(crate) leg: Leg,
    pub(crate) kind: LegKind,
    /// As from [`Leg::first_words`].
    pub(crate) number: Option<u64>,
    /// Of a leg through the relay.
    pub(crate) relayed: Option<Relayed>,
}

/// What a leg through the relay needs as long as it lives.
#[derive(Debug)]
pub(crate) struct Relayed {
    /// The nonces that it was dialled with.
    pub(crate) nonces: (Nonce, Nonce),
    /// Of one by QUIC.
    pub(crate) keeper: Option<Keeper>,
}

/// A dialled leg came to nothing.
#[derive(Debug)]
pub(crate) struct DialError {
    pub(crate) error: LegError,
    /// As in [`Race::failed`](crate::connect::race::Race::failed).
    pub(crate) met: bool,
}

impl From<LegError> for DialError {
    fn from(error: LegError) -> Self {
        let met = matches!(error, LegError::Flow(FlowError::Refused(Refusal::Ended)));
        Self { error, met }
    }
}

/// A leg to be dialled.
pub(super) struct Dial {
    pub(super) shared: Arc<Shared>,
    pub(super) parties: Arc<Parties>,
    pub(super) entry: Arc<Entry>,
    pub(super) target: Target,
    /// Number of our newest attempt.
    pub(super) attempt: u64,
    /// Of side 0 and side 1, if both are known.
    pub(super) nonces: Option<(Nonce, Nonce)>,
    pub(super) cancel: CancellationToken,
}

impl Dial {
    pub(super) async fn run(self) -> Result<Dialled, DialError> {
        match self.target {
            Target::Direct { candidate, transport: Transport::Tcp } => {
                let stream = socket::connect(candidate.address).await.map_err(LegError::from)?;
                let socket = Socket::new(stream, self.counter()).map_err(LegError::from)?;
                self.straight(socket, LegKind::Direct).await
            }
            Target::Direct { candidate, transport: Transport::Quic } => {
                let dialling = self.endpoint()?.dial(candidate.address, &self.parties, self.counter());
                self.straight(dialling.await?, LegKind::Quic).await
            }
            Target::Punched { address } => {
                let dialling = self.endpoint()?.dial(address, &self.parties, self.counter());
                self.straight(dialling.await?, LegKind::Punched).await
            }
            Target::Bridged { number, transport: Transport::Tcp } => self.bridged(number).await,
            Target::Bridged { number, transport: Transport::Quic } => self.relayed(number).await,
        }
    }

    /// A leg that goes straight to the contact; we initiate, as who dialled.
    async fn straight(&self, socket: Socket, kind: LegKind) -> Result<Dialled, DialError> {
        let mut leg = leg::initiate(socket, &self.parties, kind, self.cancel.clone()).await?;
        let number = leg.first_words(self.parties.side(), self.attempt).await?;
        Ok(Dialled { leg, kind, number, relayed: None })
    }

    async fn bridged(&self, leg: u32) -> Result<Dialled, DialError> {
        let nonces = self.nonces.ok_or(LegError::Unavailable)?;
        let relay = self.shared.relay.address().ok_or(LegError::Unavailable)?;
        let meeting = Meeting { relay, nonces, leg };
        let dialling = dial_bridge(meeting, &self.parties, &self.entry, self.counter(), self.cancel.clone());
        let mut leg = dialling.await?;
        let number = leg
            .first_words(self.parties.side(), self.attempt)
            .await
            .map_err(|error| DialError { error, met: true })?;
        Ok(Dialled { leg, kind: LegKind::Bridged, number, relayed: Some(Relayed { nonces, keeper: None }) })
    }

    async fn relayed(&self, leg: u32) -> Result<Dialled, DialError> {
        let nonces = self.nonces.ok_or(LegError::Unavailable)?;
        let relay = self.shared.relay.udp().ok_or(LegError::Unavailable)?;
        let (Parties { rendezvous, .. }, side) = (&*self.parties, self.parties.side());
        let token = rendezvous.bridge_token(&nonces.0, &nonces.1, leg);
        let Shared { quic, addresses, .. } = &*self.shared;
        let flow = Flow { relay, token, side };
        let meeting = flow::meet(flow, quic, &self.parties, &self.entry, addresses.clone(), self.counter());
        let (socket, keeper) = meeting.await?;
        let kind = LegKind::Quic;
        let mut leg = authenticate(socket, kind, &self.parties, &self.entry, self.cancel.clone()).await?;
        let number = leg.first_words(side, self.attempt).await?;
        Ok(Dialled { leg, kind, number, relayed: Some(Relayed { nonces, keeper: Some(keeper) }) })
    }

    fn endpoint(&self) -> Result<&Endpoint, LegError> {
        self.shared.endpoint.as_ref().ok_or(LegError::Unavailable)
    }

    fn counter(&self) -> Arc<WireCounter> {
        WireCounter::part_of(&self.shared.counter)
    }
}

/// Where and under what a leg through the bridge meets the other side's.
#[derive(Debug)]
pub(crate) struct Meeting {
    pub(crate) relay: RelayAddress,
    pub(crate) nonces: (Nonce, Nonce),
    /// Number of the leg.
    pub(crate) leg: u32,
}

/// Meets the contact at the bridge and authenticates both ends; side 0 initiates.
pub(crate) async fn dial_bridge(
    meeting: Meeting,
    parties: &Parties,
    entry: &Entry,
    counter: Arc<WireCounter>,
    cancel: CancellationToken,
) -> Result<Leg, DialError> {
    let Meeting { relay, nonces: (zero, one), leg } = meeting;
    let token = parties.rendezvous.bridge_token(&zero, &one, leg);
    let socket = bridge::meet(&relay, token, parties.side(), counter).await.map_err(LegError::from)?;
    authenticate(socket, LegKind::Bridged, parties, entry, cancel)
        .await
        .map_err(|error| DialError { error, met: true })
}

/// Authenticates both ends of a leg through the relay; side 0 initiates.
async fn authenticate(
    mut socket: Socket,
    kind: LegKind,
    parties: &Parties,
    entry: &Entry,
    cancel: CancellationToken,
) -> Result<Leg, LegError> {
    match parties.side() {
        Side::Zero => leg::initiate(socket, parties, kind, cancel).await,
        // One deadline for opening and handshake, as side 0 has it.
        Side::One => {
            timeout(HANDSHAKE_WITHIN, async {
                let (opening, received) = leg::read_opening(&mut socket).await?;
                let opening = Opening::from_bytes(opening);
                entry.check(&opening, kind, Hour::of(clock::unix_milliseconds()), parties)?;
                leg::respond(socket, parties, kind, &opening, received, cancel).await
            })
            .await?
        }
    }
}
