//! How many callers may be unknown at once. No I/O and no clock.
//!
//! Silent callers must not keep a contact out, even from its own address: who comes when all places are taken gets
//! the place of the oldest caller that has not proved whose it is.

use std::collections::VecDeque;
use std::net::IpAddr;

use crate::roster::RosterId;

/// Callers that have not sent a valid opening, in all.
pub(crate) const UNPROVEN: usize = 128;
/// The same of one source.
pub(crate) const UNPROVEN_PER_SOURCE: usize = 32;
/// Callers of one contact with a valid opening whose handshake is under way.
pub(crate) const PROVEN_PER_CONTACT: usize = 16;

/// An IPv4 address or an IPv6 /64, which one subscriber has whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    V4([u8; 4]),
    V6([u16; 4]),
}

impl Source {
    pub(crate) fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::V4(address.octets()),
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                Self::V6([a, b, c, d])
            }
        }
    }
}

/// Names a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallerId(u64);

/// A caller was let in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Admission<H> {
    pub(crate) id: CallerId,
    /// Who had to leave for it.
    pub(crate) evicted: Option<H>,
}

#[derive(Debug)]
struct Caller<H> {
    id: CallerId,
    source: Source,
    /// The contact of which it has shown to be.
    proven: Option<RosterId>,
    handle: Option<H>,
}

/// The callers that are inside, oldest first; `H` is what ends one.
#[derive(Debug)]
pub(crate) struct Gate<H> {
    callers: VecDeque<Caller<H>>,
    last: u64,
}

impl<H> Default for Gate<H> {
    fn default() -> Self {
        Self { callers: VecDeque::new(), last: 0 }
    }
}

impl<H> Gate<H> {
    /// Lets a caller in.
    pub(crate) fn admit(&mut self, source: Source) -> Admission<H> {
        let unproven = |caller: &&Caller<H>| caller.proven.is_none();
        let all = self.callers.iter().filter(unproven).count();
        let same = self.callers.iter().filter(unproven).filter(|caller| caller.source == source).count();
        let mut evicted = None;
        if same >= UNPROVEN_PER_SOURCE {
            evicted = self.evict(|caller| caller.source == source);
        } else if all >= UNPROVEN {
            evicted = self.evict(|_| true);
        }
        self.last += 1;
        let id = CallerId(self.last);
        self.callers.push_back(Caller { id, source, proven: None, handle: None });
        Admission { id, evicted }
    }

    /// Says what ends a caller; gives it back if the caller is no longer inside.
    pub(crate) fn seat(&mut self, id: CallerId, handle: H) -> Option<H> {
        let Some(caller) = self.callers.iter_mut().find(|caller| caller.id == id) else {
            return Some(handle);
        };
        caller.handle = Some(handle);
        None
    }

    /// The caller has shown to be of a contact; `false` if too many of that contact have.
    pub(crate) fn prove(&mut self, id: CallerId, contact: RosterId) -> bool {
        let others = self.callers.iter().filter(|caller| caller.id != id && caller.proven == Some(contact));
        if others.count() >= PROVEN_PER_CONTACT {
            return false;
        }
        if let Some(caller) = self.callers.iter_mut().find(|caller| caller.id == id) {
            caller.proven = Some(contact);
        }
        true
    }

    /// The caller is gone.
    pub(crate) fn leave(&mut self, id: CallerId) {
        self.callers.retain(|caller| caller.id != id);
    }

    fn evict(&mut self, of: impl Fn(&Caller<H>) -> bool) -> Option<H> {
        let oldest = self.callers.iter().position(|caller| caller.proven.is_none() && of(caller))?;
        self.callers.remove(oldest)?.handle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(last: u8) -> Source {
        Source::of(IpAddr::from([192, 0, 2, last]))
    }

    fn enter(gate: &mut Gate<u64>, source: Source) -> (CallerId, Option<u64>) {
        let Admission { id, evicted } = gate.admit(source);
        assert_eq!(gate.seat(id, id.0), None);
        (id, evicted)
    }

    #[test]
    fn silent_callers_make_room_oldest_first() {
        let mut gate = Gate::default();
        let silent: Vec<_> = (0..UNPROVEN_PER_SOURCE).map(|_| enter(&mut gate, source(1)).0).collect();
        assert_eq!(enter(&mut gate, source(2)).1, None, "another source has room of its own");
        assert_eq!(enter(&mut gate, source(1)).1, Some(silent[0].0));
        assert_eq!(enter(&mut gate, source(1)).1, Some(silent[1].0));
    }

    #[test]
    fn who_has_proved_itself_stays() {
        let mut gate = Gate::default();
        let (first, _) = enter(&mut gate, source(1));
        assert!(gate.prove(first, RosterId(1)));
        for _ in 0..3 * UNPROVEN_PER_SOURCE {
            assert_ne!(enter(&mut gate, source(1)).1, Some(first.0));
        }
    }

    #[test]
    fn the_number_of_all_is_bounded() {
        let mut gate = Gate::default();
        for index in 0..=255 {
            enter(&mut gate, source(index));
        }
        assert_eq!(gate.callers.len(), UNPROVEN);
    }

    #[test]
    fn a_contact_fills_its_own_places_only() {
        let mut gate = Gate::default();
        let ids: Vec<_> = (0..=255).map(|index| enter(&mut gate, source(index)).0).collect();
        let ids = &ids[256 - UNPROVEN..];
        let proven = |gate: &mut Gate<u64>, contact| {
            ids.iter().filter(|id| gate.prove(**id, RosterId(contact))).count()
        };
        assert_eq!(proven(&mut gate, 1), PROVEN_PER_CONTACT);
        let (another, _) = enter(&mut gate, source(1));
        assert!(!gate.prove(another, RosterId(1)));
        assert!(gate.prove(another, RosterId(2)));
        // Saying it again takes no further place.
        assert!(gate.prove(another, RosterId(2)));
    }

    #[test]
    fn who_left_before_it_was_seated_is_given_back() {
        let mut gate = Gate::default();
        let Admission { id, .. } = gate.admit(source(1));
        gate.leave(id);
        assert_eq!(gate.seat(id, 7), Some(7));
    }

    #[test]
    fn an_ipv6_subscriber_is_one_source() {
        let of = |text: &str| Source::of(text.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::2"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:192.0.2.1"), source(1));
    }
}
