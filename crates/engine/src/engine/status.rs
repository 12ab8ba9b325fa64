//! The status, put together from what every part publishes.

use farhold_net::{
    Connection, ContactState, GovernorView, LaneInfo, MissingWay, Net, RelayState, SessionState, WireCounter,
};
use farhold_wire::{ContactId, LaneClass};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior};

use super::{Engine, Parts};
use crate::contacts::{Contact, ContactBook, Pairing};
use crate::error::EngineError;
use crate::rates::{self, Counted, Moved, Rates};
use crate::status::{
    CacheStatus, ContactStatus, GovernorStatus, IdentityStatus, LaneStatus, NetworkStatus, PathStatus,
    RelayStateName, SecretStore, SessionStateName, SessionStatus, Status, WireStatus, hit_rate,
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
        let now = Instant::now();
        let parts = &self.inner.parts;
        let wire = moved(&parts.net.counters());
        let rate = parts.rates.of(Counted::All, wire, now);
        // A statement of its own, which gives the book back: what follows borrows it too.
        let contacts = self.book().iter().map(|contact| self.contact(contact, now)).collect();
        Ok(Status {
            identity: IdentityStatus { code: self.code(), secrets: SecretStore::File },
            contacts,
            mount: parts.mounter.status(),
            cache: self.cache_status(),
            wire: WireStatus {
                received: wire.received,
                sent: wire.sent,
                rate_in: rate.received,
                rate_out: rate.sent,
            },
            seek: parts.meter.seek(),
            first_byte: parts.meter.first_byte(),
            transfers: self.transfers(),
            network: self.network(),
        })
    }

    fn network(&self) -> NetworkStatus {
        let net = &self.inner.parts.net;
        let (relay_state, relay_reason) = match &*net.relay().borrow() {
            RelayState::None => (RelayStateName::None, None),
            RelayState::Connecting => (RelayStateName::Connecting, None),
            RelayState::Connected => (RelayStateName::Connected, None),
            RelayState::Unreachable { reason } => (RelayStateName::Unreachable, Some(reason.clone())),
        };
        NetworkStatus {
            relay: self.inner.parts.relay().map(|relay| relay.to_string()),
            relay_state,
            relay_reason,
            listen: net.listening().map(|address| address.port()),
        }
    }

    /// Notes every second what counters show, until cancelled: rates are between two such notes.
    pub(super) async fn note_rates(net: Net, contacts: watch::Receiver<ContactBook>, rates: Rates) {
        let mut ticks = tokio::time::interval(rates::EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let now = ticks.tick().await;
            let mut shown = vec![(Counted::All, moved(&net.counters()))];
            let ids: Vec<ContactId> = contacts.borrow().iter().map(Contact::id).collect();
            for id in ids {
                let Ok(state) = net.state(id) else { continue };
                if let SessionState::Connected(connection) = &state.borrow().session {
                    let lanes = connection.lanes.iter();
                    shown.extend(lanes.map(|lane| (Counted::Lane(id, lane.id), moved(&lane.wire))));
                }
            }
            rates.note(shown, now);
        }
    }

    pub(super) fn cache_status(&self) -> CacheStatus {
        let stats = self.inner.storage.cache.stats();
        CacheStatus {
            limit: stats.limit,
            used: stats.used,
            hits: stats.hits,
            misses: stats.misses,
            hit_rate: hit_rate(stats.hits, stats.misses),
            served: stats.served_bytes,
            fetched: stats.fetched_bytes,
            disk_free: stats.disk_free,
            disk_low: stats.disk_low,
        }
    }

    fn contact(&self, contact: &Contact, now: Instant) -> ContactStatus {
        let state = self.inner.parts.net.state(contact.id()).ok();
        ContactStatus {
            name: contact.name.clone(),
            code: contact.code.to_string(),
            pairing: contact.pairing.state(),
            present: state.as_ref().and_then(|state| state.borrow().present),
            wanted: contact.wanted,
            session: self.session(contact, now),
            words: contact.words.clone(),
            accept: contact.accept.clone(),
        }
    }

    /// The session with the contact of that id.
    pub(super) fn session_with(&self, id: ContactId) -> SessionStatus {
        let now = Instant::now();
        self.book().get(id).map_or_else(offline, |contact| self.session(contact, now))
    }

    /// Takes the contact and not its id: whoever has a contact holds the book, and to borrow that twice waits for
    /// ever once somebody wants to change it in between.
    fn session(&self, contact: &Contact, now: Instant) -> SessionStatus {
        if matches!(contact.pairing, Pairing::Pending) {
            return SessionStatus {
                reason: Some("not paired yet: the contact must add you too, and be there".to_owned()),
                ..offline()
            };
        }
        let Parts { net, rates, .. } = &self.inner.parts;
        let rate = |lane: &LaneInfo| rates.of(Counted::Lane(contact.id(), lane.id), moved(&lane.wire), now);
        net.state(contact.id()).map_or_else(|_| offline(), |state| session_status(&state.borrow(), rate))
    }
}

fn offline() -> SessionStatus {
    SessionStatus {
        state: SessionStateName::Offline,
        path: None,
        transport: None,
        lanes: Vec::new(),
        paths: Vec::new(),
        governor: None,
        rtt_ms: None,
        epoch: None,
        reason: None,
    }
}

/// A session as the status shows it.
pub(super) fn session_status(state: &ContactState, rate: impl Fn(&LaneInfo) -> Moved) -> SessionStatus {
    match &state.session {
        SessionState::Offline { reason } => SessionStatus { reason: Some(reason.to_string()), ..offline() },
        SessionState::Connecting => SessionStatus { state: SessionStateName::Connecting, ..offline() },
        SessionState::Interrupted { .. } => SessionStatus {
            state: SessionStateName::Interrupted,
            reason: Some("the connection is lost and is being made again".to_owned()),
            ..offline()
        },
        SessionState::Connected(connection) => connected(connection, rate),
    }
}

fn governor(view: &GovernorView) -> GovernorStatus {
    GovernorStatus {
        window: view.window,
        outstanding: view.outstanding,
        queued: view.queued as u64,
        rate: view.rate,
        min_rtt_ms: view.min_rtt.map(|rtt| rtt.as_secs_f64() * 1e3),
    }
}

fn connected(connection: &Connection, rate: impl Fn(&LaneInfo) -> Moved) -> SessionStatus {
    SessionStatus {
        state: SessionStateName::Connected,
        path: Some(connection.path.name().to_owned()),
        transport: Some(connection.transport.name().to_owned()),
        lanes: connection.lanes.iter().map(|info| lane(info, rate(info))).collect(),
        paths: connection.missing.iter().map(missing).collect(),
        governor: Some(governor(&connection.governor.view())),
        rtt_ms: connection.rtt.map(|rtt| rtt.as_secs_f64() * 1e3),
        epoch: Some(connection.epoch.into()),
        reason: None,
    }
}

fn lane(lane: &LaneInfo, rate: Moved) -> LaneStatus {
    let class = match lane.class {
        None => "control",
        Some(LaneClass::Urgent) => "urgent",
        Some(LaneClass::Bulk) => "bulk",
    };
    LaneStatus {
        id: lane.id,
        class: class.to_owned(),
        transport: lane.transport.name().to_owned(),
        path: lane.path.name().to_owned(),
        bytes_in: lane.wire.received(),
        bytes_out: lane.wire.sent(),
        rate_in: rate.received,
        rate_out: rate.sent,
        missing: lane.missing.clone(),
    }
}

fn missing(way: &MissingWay) -> PathStatus {
    PathStatus {
        path: way.path.name().to_owned(),
        transport: way.transport.name().to_owned(),
        reason: way.reason.clone(),
    }
}

fn moved(counter: &WireCounter) -> Moved {
    Moved { received: counter.received(), sent: counter.sent() }
}
