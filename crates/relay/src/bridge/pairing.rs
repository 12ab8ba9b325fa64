//! Which bridge legs meet. A state machine without I/O and clock.
//!
//! Two legs meet that name the same token and different sides, with nonces not used lately. Who comes first is
//! parked. Since a leg that finds one of the other side never parks, all parked legs of a token are of one side.
//!
//! Several legs of one side may wait under one token, because neither "the first stays" nor "the last wins" is right
//! when only one of them is honest:
//! * A newer leg **from the same source** takes the place of the older one: it is the same program dialling again,
//!   and the older one may be a corpse whose end the relay has not heard of.
//! * A leg **from another source** waits beside the others, so that somebody who learnt a token cannot push out whom
//!   it belongs to. At most [`LEGS_PER_TOKEN`] wait; the next one takes the place of the oldest.
//! * The **newest** meets first: a program that came back over another network is newer than its own corpse. A
//!   stranger who is newer still costs the two one failed handshake, while the honest leg stays parked.

use std::collections::HashMap;
use std::time::Instant;

use farhold_wire::bridge::{BridgeCall, BridgeSide, BridgeToken, Nonce};

use crate::config::Limit;
use crate::recent::Recent;
use crate::source::{Full, Quota, Source};

/// Parked legs under one token.
pub(crate) const LEGS_PER_TOKEN: usize = 4;

/// Names a leg for as long as it lives; of two, the newer has the larger number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LegId(pub(crate) u64);

/// What comes of a leg that arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placed {
    /// It meets this one, which is no longer parked.
    Meets(LegId),
    /// It waits; the leg that it replaces, if any, does not any more.
    Parked {
        /// To be closed.
        replaces: Option<LegId>,
    },
    /// Its nonce was used lately.
    Repeated,
    /// A newer leg has its place: one that called while this one met a partner that was gone.
    Superseded,
    /// There is no room for it.
    Full(Full),
}

#[derive(Debug)]
struct Parked {
    leg: LegId,
    source: Source,
    nonce: Nonce,
}

/// The parked legs of one token, oldest first; never empty.
#[derive(Debug)]
struct Waiting {
    side: BridgeSide,
    legs: Vec<Parked>,
}

#[derive(Debug)]
pub(crate) struct Pairing {
    waiting: HashMap<BridgeToken, Waiting>,
    quota: Quota,
    nonces: Recent<Nonce>,
}

impl Pairing {
    pub(crate) fn new(limit: Limit) -> Self {
        Self { waiting: HashMap::new(), quota: Quota::new(limit), nonces: Recent::new() }
    }

    /// Legs parked now.
    pub(crate) fn parked(&self) -> usize {
        self.quota.held()
    }

    /// A leg called.
    pub(crate) fn arrive(&mut self, leg: LegId, call: &BridgeCall, source: Source, now: Instant) -> Placed {
        if self.nonces.contains(&call.nonce, now) {
            return Placed::Repeated;
        }
        let placed = self.place(leg, call, source);
        if matches!(placed, Placed::Meets(_) | Placed::Parked { .. }) {
            self.nonces.insert(call.nonce, now);
        }
        placed
    }

    /// Places a leg that has arrived before and whose partner turned out to be gone.
    pub(crate) fn place(&mut self, leg: LegId, call: &BridgeCall, source: Source) -> Placed {
        let Some(waiting) = self.waiting.get_mut(&call.token) else {
            return self.park(leg, call, source, None);
        };
        // The memory of nonces is bounded; that of parked ones must not be.
        if waiting.legs.iter().any(|parked| parked.nonce == call.nonce) {
            return Placed::Repeated;
        }
        if waiting.side == call.side {
            let same_source = waiting.legs.iter().find(|parked| parked.source == source);
            let oldest = waiting.legs.first().filter(|_| waiting.legs.len() >= LEGS_PER_TOKEN);
            let replaces = same_source.or(oldest).map(|parked| (parked.leg, parked.source));
            if replaces.is_some_and(|(other, _)| other > leg) {
                return Placed::Superseded;
            }
            return self.park(leg, call, source, replaces);
        }
        let newest = waiting.legs.last().map(|parked| parked.leg);
        match newest {
            Some(newest) => {
                self.leave(newest, &call.token);
                Placed::Meets(newest)
            }
            None => self.park(leg, call, source, None),
        }
    }

    /// The leg no longer waits: it went away, or its time is over. Nothing happens if it was not parked.
    pub(crate) fn leave(&mut self, leg: LegId, token: &BridgeToken) {
        let Some(waiting) = self.waiting.get_mut(token) else { return };
        let Some(index) = waiting.legs.iter().position(|parked| parked.leg == leg) else { return };
        let parked = waiting.legs.remove(index);
        if waiting.legs.is_empty() {
            self.waiting.remove(token);
        }
        self.quota.give_back(parked.source, 1);
    }

    fn park(
        &mut self,
        leg: LegId,
        call: &BridgeCall,
        source: Source,
        replaces: Option<(LegId, Source)>,
    ) -> Placed {
        // In the place of its own source's leg it needs no more room.
        if replaces.is_none_or(|(_, other)| other != source)
            && let Err(full) = self.quota.check(source, 1)
        {
            return Placed::Full(full);
        }
        if let Some((old, _)) = replaces {
            self.leave(old, &call.token);
        }
        if let Err(full) = self.quota.take(source, 1) {
            return Placed::Full(full);
        }
        let waiting = self
            .waiting
            .entry(call.token)
            .or_insert_with(|| Waiting { side: call.side, legs: Vec::with_capacity(1) });
        // One that is placed again may be older than others.
        let place = waiting.legs.partition_point(|parked| parked.leg < leg);
        waiting.legs.insert(place, Parked { leg, source, nonce: call.nonce });
        Placed::Parked { replaces: replaces.map(|(old, _)| old) }
    }
}

#[cfg(test)]
mod tests;
