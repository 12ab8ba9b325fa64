//! What the relay counts. Numbers only: no identifiers, no addresses.

pub(crate) mod page;

use std::sync::atomic::{AtomicU64, Ordering};

use farhold_wire::datagram::Refusal;

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Why a call of the rendezvous was refused.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CallRefusal {
    /// A field of a wrong length, size or count.
    Malformed,
    /// The caller's source holds all that it may.
    SourceFull,
    /// All sources together hold all that they may.
    Full,
    /// Others hold all slots of the token.
    SlotsTaken,
    /// A token has all the watches that it may.
    WatchesTaken,
    /// The caller's source posts too often.
    TooFast,
}

impl CallRefusal {
    pub(crate) const ALL: [(Self, &str); 6] = [
        (Self::Malformed, "malformed"),
        (Self::SourceFull, "source_full"),
        (Self::Full, "full"),
        (Self::SlotsTaken, "slots_taken"),
        (Self::WatchesTaken, "watches_taken"),
        (Self::TooFast, "too_fast"),
    ];
}

/// Why a bridge leg was closed before it was paired.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LegEnd {
    /// It did not say within the deadline what it wants.
    Silent,
    /// What it said is no bridge call.
    Malformed,
    /// Its nonce was used lately.
    Repeated,
    /// Its source has all the parked legs that it may.
    SourceFull,
    /// All sources together have all the parked legs that they may.
    Full,
    /// A newer leg took its place.
    Replaced,
    /// It spoke before it was paired.
    Spoke,
    /// Its caller went away.
    Gone,
    /// Nobody came for it in time.
    Unmatched,
}

impl LegEnd {
    pub(crate) const ALL: [(Self, &str); 9] = [
        (Self::Silent, "silent"),
        (Self::Malformed, "malformed"),
        (Self::Repeated, "repeated"),
        (Self::SourceFull, "source_full"),
        (Self::Full, "full"),
        (Self::Replaced, "replaced"),
        (Self::Spoke, "spoke"),
        (Self::Gone, "gone"),
        (Self::Unmatched, "unmatched"),
    ];
}

/// Why a UDP datagram was not passed on or answered.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DatagramLoss {
    /// It came from an address that is no side of a flow.
    Stranger,
    /// The other side of its flow was not there.
    Alone,
    /// The other side of its flow has not proved that it hears at its address.
    Unproven,
    /// Its source sends or asks more than it may.
    TooFast,
    /// It begins like a request and is none.
    Malformed,
    /// The system had no room for it.
    Blocked,
    /// The system refused to send it.
    Unsent,
}

impl DatagramLoss {
    pub(crate) const ALL: [(Self, &str); 7] = [
        (Self::Stranger, "stranger"),
        (Self::Alone, "alone"),
        (Self::Unproven, "unproven"),
        (Self::TooFast, "too_fast"),
        (Self::Malformed, "malformed"),
        (Self::Blocked, "blocked"),
        (Self::Unsent, "unsent"),
    ];
}

/// Why a side could not join its UDP flow.
pub(crate) const JOIN_REFUSALS: [(Refusal, &str); 4] = [
    (Refusal::Full, "full"),
    (Refusal::SourceFull, "source_full"),
    (Refusal::AddressTaken, "address_taken"),
    (Refusal::Ended, "ended"),
];

/// Why a pair of bridge legs ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PairEnd {
    /// Both sides had said all.
    Finished,
    /// A connection failed.
    Broken,
    /// Neither side spoke for too long.
    Idle,
}

impl PairEnd {
    pub(crate) const ALL: [(Self, &str); 3] =
        [(Self::Finished, "finished"), (Self::Broken, "broken"), (Self::Idle, "idle")];
}

/// What happened since the start.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Posts taken, those that took a slot back included.
    pub(crate) posts: Counter,
    /// States told to watchers.
    pub(crate) events: Counter,
    /// Pairs spliced.
    pub(crate) pairs: Counter,
    /// Bytes that the bridge passed on.
    pub(crate) bridge_bytes: Counter,
    /// Requests of UDP callers taken.
    pub(crate) udp_requests: Counter,
    /// Datagrams passed on.
    pub(crate) udp_datagrams: Counter,
    /// Their bytes.
    pub(crate) udp_bytes: Counter,
    datagrams_lost: [Counter; DatagramLoss::ALL.len()],
    joins_refused: [Counter; JOIN_REFUSALS.len()],
    calls_refused: [Counter; CallRefusal::ALL.len()],
    legs_ended: [Counter; LegEnd::ALL.len()],
    pairs_ended: [Counter; PairEnd::ALL.len()],
}

impl Counters {
    pub(crate) fn calls_refused(&self, cause: CallRefusal) -> &Counter {
        &self.calls_refused[cause as usize]
    }

    pub(crate) fn legs_ended(&self, cause: LegEnd) -> &Counter {
        &self.legs_ended[cause as usize]
    }

    pub(crate) fn pairs_ended(&self, cause: PairEnd) -> &Counter {
        &self.pairs_ended[cause as usize]
    }

    pub(crate) fn datagrams_lost(&self, cause: DatagramLoss) -> &Counter {
        &self.datagrams_lost[cause as usize]
    }

    pub(crate) fn joins_refused(&self, cause: Refusal) -> &Counter {
        &self.joins_refused[cause as usize]
    }

    /// Pairs spliced now.
    pub(crate) fn pairs_now(&self) -> u64 {
        let ended: u64 = self.pairs_ended.iter().map(Counter::get).sum();
        self.pairs.get().saturating_sub(ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_has_its_own_counter() {
        assert!(CallRefusal::ALL.iter().enumerate().all(|(index, (cause, _))| *cause as usize == index));
        assert!(LegEnd::ALL.iter().enumerate().all(|(index, (cause, _))| *cause as usize == index));
        assert!(DatagramLoss::ALL.iter().enumerate().all(|(index, (cause, _))| *cause as usize == index));
        assert!(JOIN_REFUSALS.iter().enumerate().all(|(index, (cause, _))| *cause as usize == index));
        assert!(PairEnd::ALL.iter().enumerate().all(|(index, (cause, _))| *cause as usize == index));
    }

    #[test]
    fn pairs_now_are_those_begun_less_those_ended() {
        let counters = Counters::default();
        counters.pairs.add(3);
        counters.pairs_ended(PairEnd::Broken).add(1);
        counters.pairs_ended(PairEnd::Idle).add(1);
        assert_eq!(counters.pairs_now(), 1);
    }
}
