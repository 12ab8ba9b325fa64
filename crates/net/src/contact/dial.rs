//! One dialled leg, from the connection to its first words.

use std::sync::Arc;

use farhold_secure::Side;
use farhold_secure::handshake::HANDSHAKE_WITHIN;
use farhold_secure::opening::{LegKind, Opening};
use farhold_secure::rendezvous::Hour;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::bridge;
use crate::clock;
use crate::config::RelayAddress;
use crate::connect::lifecycle::Nonce;
use crate::connect::race::Candidate;
use crate::counters::WireCounter;
use crate::leg::{self, Leg, LegError, Parties};
use crate::roster::Entry;
use crate::socket::{self, Socket};

/// An authenticated leg that we dialled.
#[derive(Debug)]
pub(crate) struct Dialled {
    pub(crate) leg: Leg,
    /// As from [`Leg::first_words`].
    pub(crate) number: Option<u64>,
    /// Of a leg through the bridge: the nonces that it was dialled with.
    pub(crate) nonces: Option<(Nonce, Nonce)>,
}

/// A dialled leg came to nothing.
#[derive(Debug)]
pub(crate) struct DialError {
    pub(crate) error: LegError,
    /// It had met the other side at the bridge.
    pub(crate) met: bool,
}

impl From<LegError> for DialError {
    fn from(error: LegError) -> Self {
        Self { error, met: false }
    }
}

/// Dials an address that the contact announced. `attempt` is the number of ours.
pub(super) async fn dial_direct(
    candidate: Candidate,
    parties: Arc<Parties>,
    attempt: u64,
    counter: Arc<WireCounter>,
    cancel: CancellationToken,
) -> Result<Dialled, DialError> {
    let stream = socket::connect(candidate.address).await.map_err(LegError::from)?;
    let socket = Socket::new(stream, counter).map_err(LegError::from)?;
    let mut leg = leg::initiate(socket, &parties, LegKind::Direct, cancel).await?;
    let number = leg.first_words(parties.side(), attempt).await?;
    Ok(Dialled { leg, number, nonces: None })
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
    authenticate(socket, parties, entry, cancel).await.map_err(|error| DialError { error, met: true })
}

async fn authenticate(
    mut socket: Socket,
    parties: &Parties,
    entry: &Entry,
    cancel: CancellationToken,
) -> Result<Leg, LegError> {
    match parties.side() {
        Side::Zero => leg::initiate(socket, parties, LegKind::Bridged, cancel).await,
        Side::One => {
            let (opening, received) = timeout(HANDSHAKE_WITHIN, leg::read_opening(&mut socket)).await??;
            let opening = Opening::from_bytes(opening);
            entry.check(&opening, LegKind::Bridged, Hour::of(clock::unix_milliseconds()), parties)?;
            leg::respond(socket, parties, LegKind::Bridged, &opening, received, cancel).await
        }
    }
}

/// Dials a leg of an attempt through the bridge.
pub(super) async fn dial_relayed(
    meeting: Meeting,
    parties: Arc<Parties>,
    entry: Arc<Entry>,
    attempt: u64,
    counter: Arc<WireCounter>,
    cancel: CancellationToken,
) -> Result<Dialled, DialError> {
    let nonces = meeting.nonces;
    let mut leg = dial_bridge(meeting, &parties, &entry, counter, cancel).await?;
    let number =
        leg.first_words(parties.side(), attempt).await.map_err(|error| DialError { error, met: true })?;
    Ok(Dialled { leg, number, nonces: Some(nonces) })
}
