//! When which address is punched, so that the NATs of both sides let the other's datagrams in. No I/O and no clock.
//!
//! Both sides send to every address at which the other may be seen. A datagram that leaves opens its sender's NAT for
//! answers; one that arrives shows where the other is really seen, which may be none of the announced addresses
//! ("peer-reflexive" in RFC 8445). It is answered, and side 0 dials there.
//!
//! A contact names the addresses, so it could name somebody else's: all that is sent is bounded by a budget that
//! nothing a contact says fills up.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::Instant;

/// Between two punches to one address at first.
const EVERY: Duration = Duration::from_millis(100);
/// How many punches go out at that pace; then the pauses double up to [`EVERY_MOST`].
const QUICK: u32 = 20;
/// NATs forget a flow that nothing answers after 30 s or later, so both sides' are open at the same time.
const EVERY_MOST: Duration = Duration::from_secs(10);
/// Nothing has come by then.
const HEARD_WITHIN: Duration = Duration::from_secs(3);
/// Addresses that punches came from and nobody announced.
const UNANNOUNCED: usize = 4;
/// Datagrams that may go out at once, and how fast they come again.
const BUDGET: u32 = 256;
const REFILL: Duration = Duration::from_millis(100);

#[derive(Debug)]
struct Aim {
    address: SocketAddr,
    announced: bool,
    next: Instant,
    sent: u32,
}

/// The punches to one contact.
#[derive(Debug)]
pub(crate) struct Puncher {
    aims: Vec<Aim>,
    /// When [`Puncher::is_unheard`] is decided; `None` when something came.
    silence: Option<Instant>,
    /// Datagrams that may still go out, and since when that is so.
    budget: u32,
    counted: Instant,
}

impl Puncher {
    pub(crate) fn new(now: Instant) -> Self {
        Self { aims: Vec::new(), silence: None, budget: BUDGET, counted: now }
    }

    /// Punches these addresses from now on. The pace starts over for those that are new.
    pub(crate) fn aim(&mut self, addresses: &[SocketAddr], now: Instant) {
        self.aims.retain(|aim| addresses.contains(&aim.address));
        for address in addresses {
            if !self.aims.iter().any(|aim| aim.address == *address) {
                self.aims.push(Aim { address: *address, announced: true, next: now, sent: 0 });
            }
        }
        self.silence = (!addresses.is_empty()).then(|| now + HEARD_WITHIN);
    }

    /// The pace starts over for all: our own addresses changed, or the other side begins anew.
    pub(crate) fn restart(&mut self, now: Instant) {
        for aim in &mut self.aims {
            (aim.next, aim.sent) = (now, 0);
        }
        self.silence = (!self.aims.is_empty()).then(|| now + HEARD_WITHIN);
    }

    /// A punch of the contact came from `from`; returns whether it is answered.
    pub(crate) fn heard(&mut self, from: SocketAddr, answer: bool, now: Instant) -> bool {
        self.silence = None;
        let unannounced = self.aims.iter().filter(|aim| !aim.announced).count();
        if unannounced < UNANNOUNCED && !self.aims.iter().any(|aim| aim.address == from) {
            self.aims.push(Aim { address: from, announced: false, next: now + EVERY, sent: 0 });
        }
        !answer && self.spend(now)
    }

    /// The next address to punch now; asked again until there is none.
    pub(crate) fn next(&mut self, now: Instant) -> Option<SocketAddr> {
        let due = self.aims.iter().enumerate().filter(|(_, aim)| aim.next <= now);
        let index = due.min_by_key(|(_, aim)| aim.next)?.0;
        if !self.spend(now) {
            return None;
        }
        let aim = &mut self.aims[index];
        let pause = EVERY.saturating_mul(1 << (aim.sent + 1).saturating_sub(QUICK).min(7)).min(EVERY_MOST);
        aim.sent = aim.sent.saturating_add(1);
        aim.next = now + pause;
        Some(aim.address)
    }

    /// Whether nothing has come for so long that it is worth telling; once.
    pub(crate) fn is_unheard(&mut self, now: Instant) -> bool {
        self.silence.take_if(|until| *until <= now).is_some()
    }

    /// When [`Puncher::next`] or [`Puncher::is_unheard`] may have something new.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let due = self.aims.iter().map(|aim| aim.next).min();
        let affordable = if self.budget == 0 { self.counted + REFILL } else { self.counted };
        due.map(|due| due.max(affordable)).into_iter().chain(self.silence).min()
    }

    /// Takes one datagram off the budget, if it is there.
    fn spend(&mut self, now: Instant) -> bool {
        let refills = now.saturating_duration_since(self.counted).as_millis() / REFILL.as_millis();
        let refills = u32::try_from(refills).unwrap_or(u32::MAX);
        self.budget = self.budget.saturating_add(refills).min(BUDGET);
        self.counted += REFILL.saturating_mul(refills);
        let affordable = self.budget > 0;
        self.budget -= u32::from(affordable);
        affordable
    }
}

#[cfg(test)]
mod tests;
