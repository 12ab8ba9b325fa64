//! The port at which contacts reach us, over TCP and QUIC. A TCP connection that does not begin as a contact's does is
//! closed without a word, and a QUIC connection is not even begun.

mod gate;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::BytesMut;
use farhold_secure::handshake::HANDSHAKE_WITHIN;
use farhold_secure::lane::Ticket;
use farhold_secure::opening::{LegKind, Opening, OpeningError};
use farhold_secure::rendezvous::Hour;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use self::gate::{Admission, CallerId, Gate, Source};
use crate::clock;
use crate::counters::WireCounter;
use crate::error::NetError;
use crate::leg::{self, LegError};
use crate::quic::{self, Endpoint, Quic};
use crate::roster::{Host, IncomingLeg, Roster, RosterId};
use crate::socket::Socket;
use crate::tickets::{Arrival, Tickets};

/// After an error of `accept`, which is about this machine (no more descriptors), not about a caller.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Free TCP ports that are tried for one that UDP has free too.
const BIND_TRIES: u32 = 16;
/// What may come over either transport.
const TCP_KINDS: &[LegKind] = &[LegKind::Direct];
const QUIC_KINDS: &[LegKind] = &[LegKind::Quic, LegKind::Punched];

/// What callers are met with.
#[derive(Debug)]
pub(crate) struct Reception {
    pub(crate) roster: Arc<Roster>,
    pub(crate) tickets: Arc<Tickets>,
    pub(crate) counter: Arc<WireCounter>,
    pub(crate) gate: Arc<SharedGate>,
    pub(crate) cancel: CancellationToken,
}

/// Callers of both transports.
#[derive(Debug, Default)]
pub(crate) struct SharedGate(Mutex<Gate<AbortHandle>>);

/// Binds the port, for TCP and UDP: at `bind`, or at every IPv6 and IPv4 address. 0 is any that is free for both.
pub(crate) async fn bind(
    quic: &Arc<Quic>,
    bind: Option<IpAddr>,
    port: u16,
) -> Result<(TcpListener, Endpoint), NetError> {
    let mut tries = if port == 0 { BIND_TRIES } else { 1 };
    loop {
        tries -= 1;
        match bind_both(quic, bind, port).await {
            Err(error) if tries > 0 && error.kind() == io::ErrorKind::AddrInUse => {}
            bound => return bound.map_err(|source| NetError::Listen { port, source }),
        }
    }
}

async fn bind_both(quic: &Arc<Quic>, bind: Option<IpAddr>, port: u16) -> io::Result<(TcpListener, Endpoint)> {
    let addresses: &[IpAddr] = match &bind {
        Some(address) => &[*address],
        // An IPv6 socket takes IPv4 too, where there is IPv6.
        None => &[IpAddr::V6(Ipv6Addr::UNSPECIFIED), IpAddr::V4(Ipv4Addr::UNSPECIFIED)],
    };
    let addresses: Vec<SocketAddr> = addresses.iter().map(|address| (*address, port).into()).collect();
    let listener = TcpListener::bind(&addresses[..]).await?;
    let endpoint = Endpoint::listen(quic, bind, listener.local_addr()?.port())?;
    Ok((listener, endpoint))
}

/// Serves callers over TCP until cancelled.
pub(crate) async fn serve(listener: TcpListener, reception: Arc<Reception>) {
    let mut tasks = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            () = reception.cancel.cancelled() => return,
            Some(_) = tasks.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, caller)) => {
                let place = Place::take(&reception.gate, Source::of(caller.ip()));
                let id = place.id;
                // Not under the gate's lock: a runtime that shuts down drops the place at once.
                let handle = tasks.spawn(receive(stream, Arc::clone(&reception), place));
                reception.gate.seat(id, handle);
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept connections");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Serves callers over QUIC until cancelled.
pub(crate) async fn serve_quic(endpoint: Endpoint, reception: Arc<Reception>) {
    let mut tasks = JoinSet::new();
    loop {
        let incoming = tokio::select! {
            () = reception.cancel.cancelled() => return,
            Some(_) = tasks.join_next() => continue,
            Some(incoming) = endpoint.incoming() => incoming,
        };
        let (Some(id), Some(remote)) = (incoming.caller(), incoming.remote()) else { continue };
        match reception.roster.whose_caller(&id, now()) {
            Ok((contact, _)) => {
                let place = Place::take(&reception.gate, Source::of(remote));
                let id = place.id;
                if place.prove(contact) {
                    let handle = tasks.spawn(receive_quic(incoming, contact, Arc::clone(&reception), place));
                    reception.gate.seat(id, handle);
                }
            }
            Err(error) => tracing::debug!(%error, "a caller is ignored"),
        }
    }
}

/// A caller's place at the gate, given up when dropped.
struct Place {
    gate: Arc<SharedGate>,
    id: CallerId,
}

impl Place {
    fn take(gate: &Arc<SharedGate>, source: Source) -> Self {
        let Admission { id, evicted } = gate.lock().admit(source);
        if let Some(oldest) = evicted {
            oldest.abort();
        }
        Self { gate: Arc::clone(gate), id }
    }

    fn prove(&self, contact: RosterId) -> bool {
        self.gate.lock().prove(self.id, contact)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.gate.lock().leave(self.id);
    }
}

impl SharedGate {
    fn lock(&self) -> MutexGuard<'_, Gate<AbortHandle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn seat(&self, id: CallerId, handle: AbortHandle) {
        let left = self.lock().seat(id, handle);
        if let Some(left) = left {
            left.abort();
        }
    }
}

async fn receive(stream: TcpStream, reception: Arc<Reception>, place: Place) {
    let received = match Socket::new(stream, WireCounter::part_of(&reception.counter)) {
        Ok(socket) => receive_from(socket, &reception, &place).await,
        Err(error) => Err(error.into()),
    };
    if let Err(error) = received {
        tracing::debug!(%error, "a caller was closed");
    }
}

async fn receive_from(mut socket: Socket, reception: &Reception, place: &Place) -> Result<(), LegError> {
    // One deadline for opening and handshake, so that a caller has its place for no longer than that.
    let until = Instant::now() + HANDSHAKE_WITHIN;
    let (opening, received) = timeout_at(until, leg::read_opening(&mut socket)).await??;
    if let Some(ticket) = Ticket::of(&opening) {
        let waiting = timeout_at(until, reception.tickets.claim(ticket)).await?;
        // Whoever waited may have given up; then the connection ends here.
        let _ = waiting.send(Arrival { socket, opening, received });
        return Ok(());
    }
    let opening = Opening::from_bytes(opening);
    let (contact, host, kind) = reception.roster.whose(&opening, TCP_KINDS, now())?;
    if !place.prove(contact) {
        return Err(OpeningError::TooMany.into());
    }
    receive_leg(socket, &opening, received, kind, until, reception, host).await
}

async fn receive_quic(incoming: quic::Incoming, contact: RosterId, reception: Arc<Reception>, place: Place) {
    if let Err(error) = receive_quic_from(incoming, contact, &reception).await {
        tracing::debug!(%error, "a caller was closed");
    }
    drop(place);
}

async fn receive_quic_from(
    incoming: quic::Incoming,
    contact: RosterId,
    reception: &Reception,
) -> Result<(), LegError> {
    let until = Instant::now() + HANDSHAKE_WITHIN;
    let accepting = incoming.accept(WireCounter::part_of(&reception.counter));
    let mut socket = timeout_at(until, accepting).await??;
    let (opening, received) = timeout_at(until, leg::read_opening(&mut socket)).await??;
    let opening = Opening::from_bytes(opening);
    let (opener, host, kind) = reception.roster.whose(&opening, QUIC_KINDS, now())?;
    if opener != contact {
        return Err(OpeningError::Unknown.into());
    }
    receive_leg(socket, &opening, received, kind, until, reception, host).await
}

async fn receive_leg(
    socket: Socket,
    opening: &Opening,
    received: BytesMut,
    kind: LegKind,
    until: Instant,
    reception: &Reception,
    host: Host,
) -> Result<(), LegError> {
    let parties = &host.parties;
    let cancel = reception.cancel.clone();
    let responding = leg::respond(socket, parties, kind, opening, received, cancel);
    let mut leg = timeout_at(until, responding).await??;
    let number = leg.first_words(parties.side(), 0).await?;
    // A contact with more legs in hand than it can look at loses this one.
    let _ = host.incoming.try_send(IncomingLeg { leg, kind, number });
    Ok(())
}

fn now() -> Hour {
    Hour::of(clock::unix_milliseconds())
}

#[cfg(test)]
mod tests;
