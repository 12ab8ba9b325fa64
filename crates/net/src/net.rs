//! The handle to everything.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use farhold_secure::handshake::Abilities;
use farhold_secure::{Code, Identity, Rendezvous, Side};
use farhold_wire::{ContactId, limits};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::{NetConfig, RelayAddress, SavedContact};
use crate::contact::{Contact, Fresh, Wish};
use crate::counters::WireCounter;
use crate::error::NetError;
use crate::event::NetEvent;
use crate::listener::{self, Reception};
use crate::network::{self, Addresses};
use crate::pairing::{self, Pairing};
use crate::peer::Peer;
use crate::quic::Quic;
use crate::rendezvous::{Relay, reflexive};
use crate::service::PeerService;
use crate::shared::Shared;
use crate::state::{ContactState, RelayState};

/// Events that nobody has taken yet.
const EVENTS: usize = 16;

/// All contacts of this program. Cheap to clone; ends with [`Net::stop`], the token given at its start or its last clone.
#[derive(Debug, Clone)]
pub struct Net {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    listening: Option<SocketAddr>,
    contacts: Mutex<Contacts>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.shared.cancel.cancel();
    }
}

#[derive(Debug, Default)]
struct Contacts {
    saved: HashMap<ContactId, Contact>,
    pairings: HashMap<ContactId, Pairing>,
}

impl Net {
    /// Listens, and keeps the link to the relay. `cancel` ends everything; so does [`Net::stop`], which also waits.
    pub async fn start(
        config: NetConfig,
        identity: Arc<Identity>,
        service: Arc<dyn PeerService>,
        cancel: CancellationToken,
    ) -> Result<(Self, mpsc::Receiver<NetEvent>), NetError> {
        let NetConfig { relay: address, bind, port, announce, relay_only, no_lan, hardware_aes } = config;
        let counter = Arc::default();
        let quic = Quic::new(Arc::clone(&counter)).map_err(|error| NetError::Quic(error.into()))?;
        let port = match relay_only {
            true => None,
            false => Some(listener::bind(&quic, bind, port).await?),
        };
        let listening = port.as_ref().and_then(|(listener, _)| listener.local_addr().ok());
        let (events, event_receiver) = mpsc::channel(EVENTS);
        let tracker = TaskTracker::new();
        let cancel = cancel.child_token();
        let (addresses_sender, addresses) = watch::channel(Addresses::look().unwrap_or_default());
        let (announced_sender, announced) = watch::channel(Vec::new());
        let (outer_sender, outer) = watch::channel(Vec::new());
        let relay = Relay::start(address, addresses.clone(), &tracker, cancel.clone());
        let here = Abilities::here(0);
        let abilities = Abilities { hardware_aes: hardware_aes.unwrap_or(here.hardware_aes), ..here };
        let shared = Arc::new(Shared {
            identity,
            abilities,
            service,
            relay,
            relay_only,
            lan: watch::Sender::new(!no_lan),
            loopback: bind.is_some_and(|ip| ip.is_loopback()),
            roster: Arc::default(),
            tickets: Arc::default(),
            counter,
            receive: Arc::default(),
            send: Arc::default(),
            quic,
            endpoint: port.as_ref().map(|(_, endpoint)| endpoint.clone()),
            addresses,
            announced,
            outer,
            events,
            tracker,
            cancel,
        });
        shared.tracker.spawn(network::follow(addresses_sender, shared.cancel.clone()));
        if let (Some((listener, endpoint)), Some(listening)) = (port, listening) {
            let reception = Arc::new(Reception {
                roster: Arc::clone(&shared.roster),
                tickets: Arc::clone(&shared.tickets),
                counter: Arc::clone(&shared.counter),
                gate: Arc::default(),
                cancel: shared.cancel.clone(),
            });
            shared.tracker.spawn(listener::serve(listener, Arc::clone(&reception)));
            shared.tracker.spawn(listener::serve_quic(endpoint.clone(), reception));
            let (relay, addresses) = (Arc::clone(&shared.relay), shared.addresses.clone());
            let asking = reflexive::follow(endpoint, relay, addresses, outer_sender, shared.cancel.clone());
            shared.tracker.spawn(asking);
            let given = announce.or_else(|| bind.map(|ip| vec![SocketAddr::new(ip, listening.port())]));
            let announcing =
                announce_addresses(Arc::clone(&shared), given, listening.port(), announced_sender);
            let cancel = shared.cancel.clone();
            shared.tracker.spawn(async move {
                cancel.run_until_cancelled(announcing).await;
            });
        }
        let inner = Inner { shared, listening, contacts: Mutex::default() };
        Ok((Self { inner: Arc::new(inner) }, event_receiver))
    }

    /// Takes up a stored contact: from now on it sees us present, and may connect. An older one of its id is replaced.
    /// With a provisional one the pairing goes on until [`NetEvent::Promoted`].
    pub fn add(&self, contact: SavedContact) -> Result<(), NetError> {
        let side = self.side_to(&contact.keys.code())?;
        let mut contacts = self.contacts();
        if contact.provisional {
            let check = pairing::check_of(&contact.secret, side);
            self.start_pairing(&mut contacts, contact.keys.code(), Some(check))?;
        }
        self.start_contact(&mut contacts, contact, side)
    }

    /// Forgets a contact: its session ends, and it no longer sees us present.
    pub fn remove(&self, id: ContactId) {
        let mut contacts = self.contacts();
        contacts.saved.remove(&id);
        contacts.pairings.remove(&id);
    }

    /// Starts to look for somebody who has our code and whose code this is; lasts until [`NetEvent::Promoted`] or
    /// [`Net::cancel_pairing`]. Call it again after a restart.
    pub fn pair(&self, code: Code) -> Result<ContactId, NetError> {
        self.side_to(&code)?;
        let id = pairing::id_of(&code);
        let mut contacts = self.contacts();
        if !contacts.pairings.contains_key(&id) {
            if contacts.saved.contains_key(&id) {
                return Err(NetError::AlreadyPaired(id));
            }
            self.start_pairing(&mut contacts, code, None)?;
        }
        Ok(id)
    }

    /// Ends a pending pairing.
    pub fn cancel_pairing(&self, code: &Code) {
        self.contacts().pairings.remove(&pairing::id_of(code));
    }

    /// The contact of [`NetEvent::Paired`] is on disk: takes it up as [`Net::add`] does, and tells the contact. A later
    /// round may have brought another secret already; what counts is what is on disk.
    pub fn confirm_stored(&self, contact: SavedContact) -> Result<(), NetError> {
        let id = contact.id;
        let mut contacts = self.contacts();
        let pairing = contacts.pairings.get(&id).ok_or(NetError::UnknownContact(id))?;
        let side = self.side_to(&pairing.code)?;
        let check = pairing::check_of(&contact.secret, side);
        self.start_contact(&mut contacts, contact, side)?;
        if let Some(pairing) = contacts.pairings.get(&id) {
            pairing.stored(check);
        }
        Ok(())
    }

    /// Wants a session with the contact, from now until [`Net::disconnect`]; follow [`Net::state`].
    pub fn connect(&self, id: ContactId) -> Result<(), NetError> {
        self.with(id, |contact| contact.wish(Wish::Connect))
    }

    /// Ends the session and refuses new ones until [`Net::connect`]. The contact still sees us present.
    pub fn disconnect(&self, id: ContactId) -> Result<(), NetError> {
        self.with(id, |contact| contact.wish(Wish::Disconnect))
    }

    /// Calls to a contact. They fail as offline once it is removed or replaced by [`Net::add`].
    pub fn peer(&self, id: ContactId) -> Result<Peer, NetError> {
        self.with(id, |contact| Peer::new(contact.way.clone(), Arc::clone(&contact.reads)))
    }

    /// How it stands with a contact. The sender is gone once the contact is removed or replaced.
    pub fn state(&self, id: ContactId) -> Result<watch::Receiver<ContactState>, NetError> {
        self.with(id, |contact| contact.state.clone())
    }

    /// How it stands with the relay.
    pub fn relay(&self) -> watch::Receiver<RelayState> {
        self.inner.shared.relay.state()
    }

    /// Finds contacts through another relay from now on, or not at all. Sessions go on as they are.
    pub fn set_relay(&self, relay: Option<RelayAddress>) {
        self.inner.shared.relay.set_address(relay);
    }

    /// Whether contacts are dialled at addresses of our own networks from now on. Sessions go on as they are.
    pub fn set_lan(&self, lan: bool) {
        self.inner.shared.lan.send_replace(lan);
    }

    /// Bytes on all sockets with contacts: of TCP connections, and of UDP datagrams.
    pub fn counters(&self) -> Arc<WireCounter> {
        Arc::clone(&self.inner.shared.counter)
    }

    /// Where we listen for contacts; `None` with `relay_only`.
    pub fn listening(&self) -> Option<SocketAddr> {
        self.inner.listening
    }

    /// From now on, at most so many bytes of contents per second are received and sent, over all contacts; `None` is as
    /// many as there are. What somebody waits for goes first, at both.
    pub fn limit(&self, receive: Option<u64>, send: Option<u64>) {
        self.inner.shared.receive.set(receive);
        self.inner.shared.send.set(send);
    }

    /// Says goodbye to all, takes our posts back, and waits until every task has ended.
    pub async fn stop(&self) {
        let shared = &self.inner.shared;
        shared.cancel.cancel();
        shared.tracker.close();
        shared.tracker.wait().await;
        shared.quic.stop().await;
    }

    fn start_contact(
        &self,
        contacts: &mut Contacts,
        contact: SavedContact,
        side: Side,
    ) -> Result<(), NetError> {
        let SavedContact { id, keys, secret, provisional } = contact;
        let pairing = contacts.pairings.get(&id).filter(|_| provisional);
        let promotion = pairing.map(|pairing| Arc::clone(pairing.promotion()));
        let fresh = Fresh::draw()?;
        // The older one goes first: two would take each other's legs. In its place nothing can fail any more.
        contacts.saved.remove(&id);
        let rendezvous = Rendezvous::saved(&secret, side);
        let contact = Contact::start(id, keys, rendezvous, promotion, fresh, &self.inner.shared)?;
        contacts.saved.insert(id, contact);
        Ok(())
    }

    fn start_pairing(
        &self,
        contacts: &mut Contacts,
        code: Code,
        stored: Option<pairing::Check>,
    ) -> Result<(), NetError> {
        let pairing = Pairing::start(code, stored, &self.inner.shared)?.ok_or(NetError::OwnCode)?;
        contacts.pairings.insert(pairing::id_of(&code), pairing);
        Ok(())
    }

    fn side_to(&self, theirs: &Code) -> Result<Side, NetError> {
        Side::between(self.inner.shared.identity.code(), theirs).ok_or(NetError::OwnCode)
    }

    fn with<T>(&self, id: ContactId, does: impl FnOnce(&Contact) -> T) -> Result<T, NetError> {
        self.contacts().saved.get(&id).map(does).ok_or(NetError::UnknownContact(id))
    }

    /// The contacts, without pairings that are over.
    fn contacts(&self) -> MutexGuard<'_, Contacts> {
        let mut contacts = self.inner.contacts.lock().unwrap_or_else(PoisonError::into_inner);
        contacts.pairings.retain(|_, pairing| !pairing.promotion().is_done());
        contacts
    }
}

/// Keeps what contacts are told up to date: the addresses `given`, or those of the interfaces and the one that the
/// relay sees, which may be forwarded to us.
async fn announce_addresses(
    shared: Arc<Shared>,
    given: Option<Vec<SocketAddr>>,
    port: u16,
    announced: watch::Sender<Vec<SocketAddr>>,
) {
    let mut addresses = shared.addresses.clone();
    let mut reflexive = shared.relay.reflexive();
    loop {
        let now = match &given {
            Some(given) => given.clone(),
            None => {
                let mut now = addresses.borrow_and_update().announced(port);
                let seen_as = reflexive.borrow_and_update().filter(|ip| !ip.is_loopback());
                now.extend(seen_as.map(|ip| SocketAddr::new(ip, port)).filter(|seen| !now.contains(seen)));
                now.truncate(limits::CANDIDATES);
                now
            }
        };
        announced.send_if_modified(|before| {
            let changed = *before != now;
            *before = now;
            changed
        });
        tokio::select! {
            Ok(()) = addresses.changed() => {}
            Ok(()) = reflexive.changed() => {}
            else => return,
        }
    }
}
