//! How many callers may be unknown at once. No I/O and no clock.
//!
//! Silent callers must not keep a contact out, even from its own address: who comes when all places are taken gets
//! the place of the oldest caller that has not proved whose it is.

use std::collections::VecDeque;
use std::net::IpAddr;

/// Callers that have not sent a valid opening, in all.
pub(crate) const UNPROVEN: usize = 128;
/// The same of one source.
pub(crate) const UNPROVEN_PER_SOURCE: usize = 32;
/// Callers with a valid opening whose handshake is under way.
pub(crate) const PROVEN: usize = 64;

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
    proven: bool,
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
        let unproven = |caller: &&Caller<H>| !caller.proven;
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
        self.callers.push_back(Caller { id, source, proven: false, handle: None });
        Admission { id, evicted }
    }

    /// Says what ends a caller.
    pub(crate) fn seat(&mut self, id: CallerId, handle: H) {
        if let Some(caller) = self.callers.iter_mut().find(|caller| caller.id == id) {
            caller.handle = Some(handle);
        }
    }

    /// The caller sent a valid opening; `false` if too many have.
    pub(crate) fn prove(&mut self, id: CallerId) -> bool {
        if self.callers.iter().filter(|caller| caller.proven).count() >= PROVEN {
            return false;
        }
        if let Some(caller) = self.callers.iter_mut().find(|caller| caller.id == id) {
            caller.proven = true;
        }
        true
    }

    /// The caller is gone.
    pub(crate) fn leave(&mut self, id: CallerId) {
        self.callers.retain(|caller| caller.id != id);
    }

    fn evict(&mut self, of: impl Fn(&Caller<H>) -> bool) -> Option<H> {
        let oldest = self.callers.iter().position(|caller| !caller.proven && of(caller))?;
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
        gate.seat(id, id.0);
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
        assert!(gate.prove(first));
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
        let ids: Vec<_> = gate.callers.iter().map(|caller| caller.id).collect();
        assert_eq!(ids.into_iter().filter(|id| gate.prove(*id)).count(), PROVEN);
    }

    #[test]
    fn an_ipv6_subscriber_is_one_source() {
        let of = |text: &str| Source::of(text.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::2"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:192.0.2.1"), source(1));
    }
}
