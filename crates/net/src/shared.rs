//! What all contacts of a [`Net`](crate::Net) share.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use farhold_secure::Identity;
use farhold_secure::handshake::Abilities;
use farhold_wire::ContactId;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::counters::WireCounter;
use crate::event::NetEvent;
use crate::network::Addresses;
use crate::pace::Limiter;
use crate::quic::{Endpoint, Quic};
use crate::rendezvous::Relay;
use crate::roster::Roster;
use crate::service::PeerService;
use crate::tickets::Tickets;

pub(crate) struct Shared {
    pub(crate) identity: Arc<Identity>,
    pub(crate) abilities: Abilities,
    pub(crate) service: Arc<dyn PeerService>,
    pub(crate) relay: Arc<Relay>,
    pub(crate) relay_only: bool,
    /// Whether contacts are dialled at addresses of our own networks.
    pub(crate) lan: watch::Sender<bool>,
    /// We listen at a loopback address, so contacts on this machine may be dialled there.
    pub(crate) loopback: bool,
    pub(crate) roster: Arc<Roster>,
    pub(crate) tickets: Arc<Tickets>,
    pub(crate) counter: Arc<WireCounter>,
    /// What may be received, and what may be sent, in a second.
    pub(crate) receive: Arc<Limiter>,
    pub(crate) send: Arc<Limiter>,
    pub(crate) quic: Arc<Quic>,
    /// The UDP port, at the same number as the TCP port; `None` with `relay_only`.
    pub(crate) endpoint: Option<Endpoint>,
    pub(crate) addresses: watch::Receiver<Addresses>,
    /// Where contacts are told to reach us.
    pub(crate) announced: watch::Receiver<Vec<SocketAddr>>,
    /// From where the relay sees our UDP port.
    pub(crate) outer: watch::Receiver<Vec<SocketAddr>>,
    pub(crate) events: mpsc::Sender<NetEvent>,
    pub(crate) tracker: TaskTracker,
    pub(crate) cancel: CancellationToken,
}

impl Shared {
    /// Tells an event once there is room, without keeping the caller.
    pub(crate) fn tell(&self, event: NetEvent) {
        let (events, cancel) = (self.events.clone(), self.cancel.clone());
        self.tracker.spawn(async move {
            // At the program's end, or if nobody listens, there is nobody to tell.
            let _ = cancel.run_until_cancelled(events.send(event)).await;
        });
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("identity", &self.identity).finish_non_exhaustive()
    }
}

/// A provisional contact's way to a saved one: taken once, as soon as the contact has shown that it knows the secret.
#[derive(Debug)]
pub(crate) struct Promotion {
    id: ContactId,
    done: AtomicBool,
    shared: Arc<Shared>,
    /// Cancelled when the pairing is over.
    pairing: CancellationToken,
}

impl Promotion {
    pub(crate) fn new(id: ContactId, shared: Arc<Shared>, pairing: CancellationToken) -> Arc<Self> {
        Arc::new(Self { id, done: AtomicBool::new(false), shared, pairing })
    }

    pub(crate) fn take(&self) {
        if !self.done.swap(true, Ordering::Relaxed) {
            self.shared.tell(NetEvent::Promoted { id: self.id });
            self.end_pairing();
        }
    }

    /// Whether it was taken.
    pub(crate) fn is_done(&self) -> bool {
        self.done.load(Ordering::Relaxed)
    }

    pub(crate) fn end_pairing(&self) {
        self.pairing.cancel();
    }
}
