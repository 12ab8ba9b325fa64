//! The status, put together from what every part publishes.

use farhold_net::{Connection, ContactState, LaneInfo, Path, SessionState};
use farhold_wire::{ContactId, LaneClass};

use super::Engine;
use crate::contacts::{Contact, Pairing};
use crate::error::EngineError;
use crate::status::{
    CacheStatus, ContactStatus, IdentityStatus, LaneStatus, NetworkStatus, SecretStore, SessionStateName,
    SessionStatus, Status, WireStatus,
};

impl Engine {
    /// How everything stands.
    ///
    /// # Errors
    /// [`EngineError::Stopping`].
    pub fn status(&self) -> Result<Status, EngineError> {
        if self.inner.tasks.work.is_cancelled() {
            return Err(EngineError::Stopping);
        }
        let counters = self.inner.parts.net.counters();
        Ok(Status {
            identity: IdentityStatus { code: self.code(), secrets: SecretStore::File },
            contacts: self.book().iter().map(|contact| self.contact(contact)).collect(),
            mount: self.inner.parts.mount.as_ref().map(|mount| mount.borrow().clone()),
            cache: self.cache_status(),
            wire: WireStatus { received: counters.received(), sent: counters.sent() },
            seek: self.inner.parts.meter.summary(),
            transfers: Vec::new(),
            network: NetworkStatus {
                relay: self.inner.parts.relay.as_ref().map(ToString::to_string),
                listen: self.inner.parts.net.listening().map(|address| address.port()),
            },
        })
    }

    pub(super) fn cache_status(&self) -> CacheStatus {
        let stats = self.inner.storage.cache.stats();
        CacheStatus {
            limit: stats.limit,
            used: stats.used,
            hits: stats.hits,
            misses: stats.misses,
            served: stats.served_bytes,
            fetched: stats.fetched_bytes,
        }
    }

    fn contact(&self, contact: &Contact) -> ContactStatus {
        let state = self.inner.parts.net.state(contact.id()).ok();
        ContactStatus {
            name: contact.name.clone(),
            code: contact.code.to_string(),
            pairing: contact.pairing.state(),
            present: state.as_ref().and_then(|state| state.borrow().present),
            wanted: contact.wanted,
            session: self.session(contact),
            words: contact.words.clone(),
        }
    }

    /// The session with the contact of that id.
    pub(super) fn session_with(&self, id: ContactId) -> SessionStatus {
        self.book().get(id).map_or_else(offline, |contact| self.session(contact))
    }

    /// Takes the contact and not its id: whoever has a contact holds the book, and to borrow that twice waits for
    /// ever once somebody wants to change it in between.
    fn session(&self, contact: &Contact) -> SessionStatus {
        if matches!(contact.pairing, Pairing::Pending) {
            return SessionStatus {
                reason: Some("not paired yet: the contact must add you too, and be there".to_owned()),
                ..offline()
            };
        }
        self.inner
            .parts
            .net
            .state(contact.id())
            .map_or_else(|_| offline(), |state| session_status(&state.borrow()))
    }
}

fn offline() -> SessionStatus {
    SessionStatus {
        state: SessionStateName::Offline,
        path: None,
        lanes: Vec::new(),
        rtt_ms: None,
        epoch: None,
        reason: None,
    }
}

/// A session as the status shows it.
pub(super) fn session_status(state: &ContactState) -> SessionStatus {
    match &state.session {
        SessionState::Offline { reason } => SessionStatus { reason: Some(reason.to_string()), ..offline() },
        SessionState::Connecting => SessionStatus { state: SessionStateName::Connecting, ..offline() },
        SessionState::Interrupted { .. } => SessionStatus {
            state: SessionStateName::Interrupted,
            reason: Some("the connection is lost and is being made again".to_owned()),
            ..offline()
        },
        SessionState::Connected(connection) => connected(connection),
    }
}

fn connected(connection: &Connection) -> SessionStatus {
    SessionStatus {
        state: SessionStateName::Connected,
        path: Some(path(connection.path).to_owned()),
        lanes: connection.lanes.iter().map(lane).collect(),
        rtt_ms: connection.rtt.map(|rtt| rtt.as_secs_f64() * 1e3),
        epoch: Some(connection.epoch.into()),
        reason: None,
    }
}

fn lane(lane: &LaneInfo) -> LaneStatus {
    let class = match lane.class {
        None => "control",
        Some(LaneClass::Urgent) => "urgent",
        Some(LaneClass::Bulk) => "bulk",
    };
    LaneStatus {
        id: lane.id,
        class: class.to_owned(),
        transport: lane.transport.to_owned(),
        path: path(lane.path).to_owned(),
        bytes_in: lane.wire.received(),
        bytes_out: lane.wire.sent(),
        missing: lane.missing.clone(),
    }
}

fn path(path: Path) -> &'static str {
    match path {
        Path::Relayed => "relayed",
        Path::Direct => "direct",
        Path::Lan => "lan",
    }
}
