//! The handle to everything.

use std::net::SocketAddr;
use std::sync::Arc;

use farhold_secure::{Code, Identity};
use farhold_wire::ContactId;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::config::{NetConfig, SavedContact};
use crate::counters::WireCounter;
use crate::error::NetError;
use crate::event::NetEvent;
use crate::peer::Peer;
use crate::service::PeerService;
use crate::state::{ContactState, RelayState};

/// All contacts of this program. Cheap to clone; ends with [`Net::stop`] or the token given at its start.
#[derive(Debug, Clone)]
pub struct Net {}

impl Net {
    /// Listens, and keeps the link to the relay. `cancel` ends everything; so does [`Net::stop`], which also waits.
    pub async fn start(
        _config: NetConfig,
        _identity: Arc<Identity>,
        _service: Arc<dyn PeerService>,
        _cancel: CancellationToken,
    ) -> Result<(Self, mpsc::Receiver<NetEvent>), NetError> {
        unimplemented!()
    }

    /// Takes up a stored contact: from now on it sees us present, and may connect. An older one of its id is replaced.
    pub fn add(&self, _contact: SavedContact) -> Result<(), NetError> {
        unimplemented!()
    }

    /// Forgets a contact: its session ends, and it no longer sees us present.
    pub fn remove(&self, _id: ContactId) {
        unimplemented!()
    }

    /// Starts to look for somebody who has our code and whose code this is; lasts until [`NetEvent::Promoted`] or
    /// [`Net::cancel_pairing`]. Call it again after a restart.
    pub fn pair(&self, _code: Code) -> Result<ContactId, NetError> {
        unimplemented!()
    }

    /// Ends a pending pairing.
    pub fn cancel_pairing(&self, _code: &Code) {
        unimplemented!()
    }

    /// The contact of [`NetEvent::Paired`] is on disk: takes it up as [`Net::add`] does, and tells the contact.
    pub fn confirm_stored(&self, _id: ContactId) -> Result<(), NetError> {
        unimplemented!()
    }

    /// Wants a session with the contact, from now until [`Net::disconnect`]; follow [`Net::state`].
    pub fn connect(&self, _id: ContactId) -> Result<(), NetError> {
        unimplemented!()
    }

    /// Ends the session and refuses new ones until [`Net::connect`]. The contact still sees us present.
    pub fn disconnect(&self, _id: ContactId) -> Result<(), NetError> {
        unimplemented!()
    }

    /// Calls to a contact.
    pub fn peer(&self, _id: ContactId) -> Result<Peer, NetError> {
        unimplemented!()
    }

    /// How it stands with a contact.
    pub fn state(&self, _id: ContactId) -> Result<watch::Receiver<ContactState>, NetError> {
        unimplemented!()
    }

    /// How it stands with the relay.
    pub fn relay(&self) -> watch::Receiver<RelayState> {
        unimplemented!()
    }

    /// Bytes on all sockets with contacts.
    pub fn counters(&self) -> Arc<WireCounter> {
        unimplemented!()
    }

    /// Where we listen for contacts; `None` with `relay_only`.
    pub fn listening(&self) -> Option<SocketAddr> {
        unimplemented!()
    }

    /// Says goodbye to all, takes our posts back, and waits until every task has ended.
    pub async fn stop(&self) {
        unimplemented!()
    }
}
