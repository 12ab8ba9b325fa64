//! Who may open a leg here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use farhold_secure::opening::{CallerId, LegKind, Opening, OpeningError, OpeningGuard};
use farhold_secure::rendezvous::Hour;
use tokio::sync::mpsc;

use crate::leg::{Leg, Parties};

/// Names one registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RosterId(pub(crate) u64);

/// A leg that a contact opened, after its first words.
#[derive(Debug)]
pub(crate) struct IncomingLeg {
    pub(crate) leg: Leg,
    pub(crate) kind: LegKind,
    /// As from [`Leg::first_words`].
    pub(crate) number: Option<u64>,
}

/// A contact whose direct legs are accepted.
#[derive(Debug, Clone)]
pub(crate) struct Host {
    pub(crate) parties: Arc<Parties>,
    pub(crate) incoming: mpsc::Sender<IncomingLeg>,
}

#[derive(Debug, Default)]
struct Inner {
    guard: OpeningGuard<RosterId>,
    hosts: HashMap<RosterId, Host>,
    last: u64,
}

/// All contacts that may open legs, and the openings that were used.
#[derive(Debug, Default)]
pub(crate) struct Roster(Mutex<Inner>);

/// A place on the roster, given up when dropped.
#[derive(Debug)]
pub(crate) struct Entry {
    roster: Arc<Roster>,
    id: RosterId,
}

impl Roster {
    /// Without a host only legs through the bridge are checked.
    pub(crate) fn enter(self: &Arc<Self>, host: Option<Host>) -> Entry {
        let mut inner = self.lock();
        inner.last += 1;
        let id = RosterId(inner.last);
        if let Some(host) = host {
            inner.hosts.insert(id, host);
        }
        Entry { roster: Arc::clone(self), id }
    }

    /// Whose connection this is, by what it is addressed to.
    pub(crate) fn whose_caller(&self, id: &CallerId, hour: Hour) -> Result<(RosterId, Host), OpeningError> {
        let Inner { guard, hosts, .. } = &mut *self.lock();
        let contacts = hosts.iter().map(|(id, host)| (*id, &*host.parties.rendezvous));
        let contact = guard.accept_caller(id, hour, contacts)?;
        Ok((contact, hosts.get(&contact).cloned().ok_or(OpeningError::Unknown)?))
    }

    /// Whose straight leg this is, and which of `kinds`.
    pub(crate) fn whose(
        &self,
        opening: &Opening,
        kinds: &[LegKind],
        hour: Hour,
    ) -> Result<(RosterId, Host, LegKind), OpeningError> {
        let Inner { guard, hosts, .. } = &mut *self.lock();
        for kind in kinds {
            let contacts = hosts.iter().map(|(id, host)| (*id, &*host.parties.rendezvous));
            match guard.accept(opening, *kind, hour, contacts) {
                Ok(id) => return Ok((id, hosts.get(&id).cloned().ok_or(OpeningError::Unknown)?, *kind)),
                Err(OpeningError::Unknown) => {}
                Err(error) => return Err(error),
            }
        }
        Err(OpeningError::Unknown)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    /// Checks the opening of a leg that came through the relay, where only `parties` can meet.
    pub(crate) fn check(
        &self,
        opening: &Opening,
        kind: LegKind,
        hour: Hour,
        parties: &Parties,
    ) -> Result<(), OpeningError> {
        let contact = [(self.id, &*parties.rendezvous)];
        self.roster.lock().guard.accept(opening, kind, hour, contact).map(|_| ())
    }

    /// Checks what a connection that came through the relay is addressed to.
    pub(crate) fn check_caller(
        &self,
        id: &CallerId,
        hour: Hour,
        parties: &Parties,
    ) -> Result<(), OpeningError> {
        let contact = [(self.id, &*parties.rendezvous)];
        self.roster.lock().guard.accept_caller(id, hour, contact).map(|_| ())
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut inner = self.roster.lock();
        inner.hosts.remove(&self.id);
        inner.guard.forget(&self.id);
    }
}
