//! The TCP port at which contacts reach us. Anything that does not begin as a contact's connection does is closed
//! without a word.

mod gate;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::BytesMut;
use farhold_secure::handshake::HANDSHAKE_WITHIN;
use farhold_secure::lane::Ticket;
use farhold_secure::opening::{LegKind, OPENING_BYTES, Opening};
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
use crate::roster::{IncomingLeg, Roster};
use crate::socket::Socket;
use crate::tickets::{Arrival, Tickets};

/// After an error of `accept`, which is about this machine (no more descriptors), not about a caller.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What callers are met with.
#[derive(Debug)]
pub(crate) struct Reception {
    pub(crate) roster: Arc<Roster>,
    pub(crate) tickets: Arc<Tickets>,
    pub(crate) counter: Arc<WireCounter>,
    pub(crate) cancel: CancellationToken,
}

/// Binds the port: at `bind`, or at every IPv6 and IPv4 address.
pub(crate) async fn bind(bind: Option<IpAddr>, port: u16) -> Result<TcpListener, NetError> {
    let addresses: &[IpAddr] = match &bind {
        Some(address) => &[*address],
        // An IPv6 socket takes IPv4 too, where there is IPv6.
        None => &[IpAddr::V6(Ipv6Addr::UNSPECIFIED), IpAddr::V4(Ipv4Addr::UNSPECIFIED)],
    };
    let addresses: Vec<SocketAddr> = addresses.iter().map(|address| (*address, port).into()).collect();
    TcpListener::bind(&addresses[..]).await.map_err(|source| NetError::Listen { port, source })
}

/// Serves callers until cancelled.
pub(crate) async fn serve(listener: TcpListener, reception: Arc<Reception>) {
    let mut tasks = JoinSet::new();
    let gate: Arc<Mutex<Gate<AbortHandle>>> = Arc::default();
    loop {
        let accepted = tokio::select! {
            () = reception.cancel.cancelled() => return,
            Some(_) = tasks.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, caller)) => {
                let mut open = lock(&gate);
                let Admission { id, evicted } = open.admit(Source::of(caller.ip()));
                if let Some(oldest) = evicted {
                    oldest.abort();
                }
                let place = Place { gate: Arc::clone(&gate), id };
                let handle = tasks.spawn(receive(stream, Arc::clone(&reception), place));
                open.seat(id, handle);
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept connections");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// A caller's place at the gate, given up when dropped.
struct Place {
    gate: Arc<Mutex<Gate<AbortHandle>>>,
    id: CallerId,
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.gate).leave(self.id);
    }
}

fn lock(gate: &Mutex<Gate<AbortHandle>>) -> MutexGuard<'_, Gate<AbortHandle>> {
    gate.lock().unwrap_or_else(PoisonError::into_inner)
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
    receive_leg(socket, &opening, received, until, reception, place).await
}

async fn receive_leg(
    socket: Socket,
    opening: &[u8; OPENING_BYTES],
    received: BytesMut,
    until: Instant,
    reception: &Reception,
    place: &Place,
) -> Result<(), LegError> {
    let opening = Opening::from_bytes(*opening);
    let (host, kind) =
        reception.roster.whose(&opening, &[LegKind::Direct], Hour::of(clock::unix_milliseconds()))?;
    if !lock(&place.gate).prove(place.id) {
        return Err(LegError::TimedOut);
    }
    let parties = &host.parties;
    let cancel = reception.cancel.clone();
    let responding = leg::respond(socket, parties, kind, &opening, received, cancel);
    let mut leg = timeout_at(until, responding).await??;
    let number = leg.first_words(parties.side(), 0).await?;
    // A contact with more legs in hand than it can look at loses this one.
    let _ = host.incoming.try_send(IncomingLeg { leg, kind, number });
    Ok(())
}

#[cfg(test)]
mod tests;
