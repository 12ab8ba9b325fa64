//! How a side joins its flow through the relay's UDP, and keeps it. No I/O and no clock.

use std::time::Duration;

use farhold_wire::datagram::{Cookie, Datagram, Join, Joined, Refusal, RequestNonce};
use tokio::time::Instant;

/// Before a request that is not answered is repeated; doubles up to [`AGAIN_MOST`].
const AGAIN: Duration = Duration::from_millis(250);
/// Also how often a side asks that waits for the other, in case that it was not told.
const AGAIN_MOST: Duration = Duration::from_secs(1);
/// Keeps the flow, and the NATs on the way to the relay, open.
const KEEP_EVERY: Duration = Duration::from_secs(10);
/// A relay whose UDP port can be reached has answered by then.
const REACHED_WITHIN: Duration = Duration::from_secs(4);

/// What has become of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The relay has not answered yet.
    Asking,
    /// The relay does not answer.
    Unreached,
    /// The relay does not take it.
    Refused(Refusal),
    /// The other side is not there yet.
    Alone,
    /// Both sides are there.
    Both,
}

/// One side of a flow.
#[derive(Debug)]
pub(crate) struct Joiner {
    join: Join,
    standing: Standing,
    begun: Instant,
    next: Instant,
    again: Duration,
}

impl Joiner {
    /// `join` is what is sent first.
    pub(crate) fn new(join: Join, now: Instant) -> Self {
        Self { join, standing: Standing::Asking, begun: now, next: now, again: AGAIN }
    }

    /// What is to be sent now.
    pub(crate) fn due(&mut self, now: Instant) -> Option<Datagram> {
        if self.standing == Standing::Asking && now >= self.begun + REACHED_WITHIN {
            self.standing = Standing::Unreached;
        }
        if now < self.next {
            return None;
        }
        self.next = now + self.again;
        self.again = match self.standing {
            Standing::Both => KEEP_EVERY,
            Standing::Asking | Standing::Unreached | Standing::Refused(_) | Standing::Alone => {
                (self.again * 2).min(AGAIN_MOST)
            }
        };
        Some(Datagram::Join(self.join.clone()))
    }

    /// Takes a datagram that came from the relay.
    pub(crate) fn heard(&mut self, datagram: &Datagram, now: Instant) {
        match datagram {
            Datagram::Joined(Joined { nonce, cookie, both, .. }) if self.is_mine(nonce) => {
                self.standing = if *both { Standing::Both } else { Standing::Alone };
                if self.join.cookie != *cookie {
                    // The relay passes on little before it has its cookie back.
                    self.join.cookie = *cookie;
                    self.next = now;
                } else if *both {
                    self.again = KEEP_EVERY;
                    self.next = now + KEEP_EVERY;
                }
            }
            Datagram::Refused { nonce, reason } if self.is_mine(nonce) => {
                self.standing = Standing::Refused(*reason);
            }
            Datagram::Joined(_)
            | Datagram::Refused { .. }
            | Datagram::Where { .. }
            | Datagram::Here { .. }
            | Datagram::Join(_)
            | Datagram::Punch(_) => {}
        }
    }

    /// Our address may be another: the relay hears of it at once.
    pub(crate) fn moved(&mut self, now: Instant) {
        self.next = now;
        self.again = AGAIN;
    }

    pub(crate) fn standing(&self) -> Standing {
        self.standing
    }

    /// When [`Joiner::due`] has something new.
    pub(crate) fn deadline(&self) -> Instant {
        match self.standing {
            Standing::Asking => self.next.min(self.begun + REACHED_WITHIN),
            Standing::Unreached | Standing::Refused(_) | Standing::Alone | Standing::Both => self.next,
        }
    }

    fn is_mine(&self, nonce: &RequestNonce) -> bool {
        *nonce == self.join.nonce
    }
}

/// No answer has given one yet.
pub(crate) const NO_COOKIE: Cookie = [0; 8];

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use farhold_wire::bridge::BridgeSide;

    use super::*;

    fn joiner(now: Instant) -> Joiner {
        let join = Join { token: [7; 32], side: BridgeSide::One, nonce: [1; 8], cookie: NO_COOKIE };
        Joiner::new(join, now)
    }

    fn joined(both: bool, cookie: u8) -> Datagram {
        let address: SocketAddr = "192.0.2.1:1".parse().unwrap();
        Datagram::Joined(Joined { nonce: [1; 8], cookie: [cookie; 8], both, address })
    }

    fn sent_cookie(datagram: Option<Datagram>) -> Option<Cookie> {
        match datagram {
            Some(Datagram::Join(join)) => Some(join.cookie),
            _ => None,
        }
    }

    /// How many are sent until then.
    fn sent_until(joiner: &mut Joiner, now: &mut Instant, until: Instant) -> usize {
        let mut sent = 0;
        while joiner.deadline() <= until {
            *now = joiner.deadline();
            sent += usize::from(joiner.due(*now).is_some());
        }
        sent
    }

    #[test]
    fn a_relay_that_does_not_answer_is_not_reached() {
        let start = Instant::now();
        let (mut now, mut joiner) = (start, joiner(start));
        assert!((4..8).contains(&sent_until(&mut joiner, &mut now, start + REACHED_WITHIN)));
        assert_eq!(joiner.standing(), Standing::Unreached);
        // It may still come to be.
        joiner.heard(&joined(false, 1), now);
        assert_eq!(joiner.standing(), Standing::Alone);
    }

    #[test]
    fn a_cookie_is_given_back_at_once_and_the_flow_is_kept() {
        let start = Instant::now();
        let (mut now, mut joiner) = (start, joiner(start));
        assert_eq!(sent_cookie(joiner.due(now)), Some(NO_COOKIE));
        assert_eq!(joiner.due(now), None);
        joiner.heard(&joined(false, 5), now);
        assert_eq!((joiner.standing(), joiner.deadline()), (Standing::Alone, now));
        assert_eq!(sent_cookie(joiner.due(now)), Some([5; 8]));
        // Somebody else's answers change nothing.
        joiner.heard(&Datagram::Refused { nonce: [2; 8], reason: Refusal::Full }, now);
        joiner.heard(&joined(true, 5), now);
        assert_eq!(joiner.standing(), Standing::Both);
        assert_eq!(sent_until(&mut joiner, &mut now, start + Duration::from_secs(60)), 6);
        // Another address, another cookie.
        now += Duration::from_secs(1);
        joiner.moved(now);
        assert!(joiner.due(now).is_some());
        joiner.heard(&joined(true, 6), now);
        assert_eq!(sent_cookie(joiner.due(now)), Some([6; 8]));
    }

    #[test]
    fn while_alone_it_asks_often_in_case_it_was_not_told() {
        let start = Instant::now();
        let (mut now, mut joiner) = (start, joiner(start));
        joiner.due(now);
        joiner.heard(&joined(false, 1), now);
        let sent = sent_until(&mut joiner, &mut now, start + Duration::from_secs(30));
        assert!((29..=33).contains(&sent), "{sent}");
    }

    #[test]
    fn a_refusal_is_told() {
        let now = Instant::now();
        let mut joiner = joiner(now);
        joiner.heard(&Datagram::Refused { nonce: [1; 8], reason: Refusal::Ended }, now);
        assert_eq!(joiner.standing(), Standing::Refused(Refusal::Ended));
    }
}
