//! Which UDP addresses belong together. A state machine without I/O and clock.
//!
//! A flow is named by a token and has two sides. An address becomes a side of it by a join, and stays one for as
//! long as it joins again in time. What comes from a side's address goes to the other side's.
//!
//! * A join of the same side **from another address** moves the side: who knows the token says so.
//! * A source address is easily forged. So an answer to a join carries a **cookie** that only who hears at that
//!   address learns. Until a join has brought it back, little is passed on to the address ([`UNPROVEN_BYTES`]), so
//!   that nobody directs a stream at a bystander; and the address gives way to a join of it with another token, so that
//!   nobody holds an address that is not his. One that has proved itself is never taken away by another token.
//! * When half of the room is taken, only joins with their cookie are remembered: forged ones cannot fill the relay.
//! * One address is a side of one flow, so no side meets itself.
//! * When both sides have met and left, the flow has ended, and so has its token.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use farhold_wire::bridge::{BridgeSide, BridgeToken};
use farhold_wire::datagram::{Cookie, Datagram, Join, Joined, Refusal, RequestNonce};

use crate::config::Limit;
use crate::recent::Recent;
use crate::source::{Full, Quota, Source};
use crate::throttle::{Bucket, Throttle};

/// What is passed on to an address that has not proved itself: enough for the first packets of a handshake.
pub(crate) const UNPROVEN_BYTES: usize = 16 << 10;

/// A caller's address, and the relay's own at which it called, from which it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) to: SocketAddr,
    /// `None` if the system does not tell.
    pub(crate) from: Option<IpAddr>,
}

/// Why bytes are not passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The address is no side of a flow.
    Stranger,
    /// The other side is not there.
    Alone,
    /// The other side has not proved its address.
    Unproven,
    /// The source sends more than it may.
    TooFast,
}

/// A side of the flow of a token.
type Seat = (BridgeToken, BridgeSide);

#[derive(Debug)]
struct Member {
    route: Route,
    source: Source,
    bucket: Arc<Bucket>,
    nonce: RequestNonce,
    expires: Instant,
    /// Bytes that may still be passed on to it; `None` once it has proved its address.
    allowance: Option<usize>,
}

#[derive(Debug, Default)]
struct Flow {
    zero: Option<Member>,
    one: Option<Member>,
    met: bool,
}

impl Flow {
    fn side(&mut self, side: BridgeSide) -> &mut Option<Member> {
        match side {
            BridgeSide::Zero => &mut self.zero,
            BridgeSide::One => &mut self.one,
        }
    }

    fn both(&self) -> bool {
        self.zero.is_some() && self.one.is_some()
    }
}

/// All flows. No flow is empty, and each member's address leads to it.
#[derive(Debug)]
pub(crate) struct Flows {
    flows: HashMap<BridgeToken, Flow>,
    by_address: HashMap<SocketAddr, Seat>,
    quota: Quota,
    /// Members that make the relay half full.
    half: usize,
    ended: Recent<BridgeToken>,
    throttle: Arc<Throttle>,
    life: Duration,
    /// Makes cookies; random for each run.
    secret: RandomState,
}

impl Flows {
    /// At most `limit` sides, each kept for `life` after its last join.
    pub(crate) fn new(limit: Limit, life: Duration, throttle: Arc<Throttle>) -> Self {
        Self {
            flows: HashMap::new(),
            by_address: HashMap::new(),
            quota: Quota::new(limit),
            half: limit.total / 2,
            ended: Recent::new(),
            throttle,
            life,
            secret: RandomState::new(),
        }
    }

    /// Sides joined now.
    pub(crate) fn sides(&self) -> usize {
        self.quota.held()
    }

    /// Flows with both sides now.
    pub(crate) fn pairs(&self) -> usize {
        self.flows.values().filter(|flow| flow.both()).count()
    }

    /// A side says where it is. What is to be sent: at most two answers, together no longer than the request.
    pub(crate) fn join(&mut self, caller: Route, join: &Join, now: Instant) -> Vec<(Route, Datagram)> {
        let Join { token, side, nonce, cookie } = *join;
        let seat = (token, side);
        let proven = cookie == self.cookie(caller.to, seat);
        match self.admit(caller.to, seat, proven, now) {
            Ok(true) => self.place(caller, seat, nonce, proven, now),
            Ok(false) => vec![(caller, self.joined(caller.to, seat, nonce, false))],
            Err(reason) => vec![(caller, Datagram::Refused { nonce, reason })],
        }
    }

    /// Whether there is room for the member; `false` if it has to prove its address first.
    fn admit(
        &mut self,
        address: SocketAddr,
        seat: Seat,
        proven: bool,
        now: Instant,
    ) -> Result<bool, Refusal> {
        let (token, side) = seat;
        match self.by_address.get(&address) {
            Some(held) if *held != seat => {
                if self.member(address).is_some_and(|member| member.allowance.is_none()) {
                    return Err(Refusal::AddressTaken);
                }
                self.leave(address, now);
            }
            Some(_) => return Ok(true),
            None if !proven && self.quota.held() >= self.half => return Ok(false),
            None => {}
        }
        if self.ended.contains(&token, now) {
            return Err(Refusal::Ended);
        }
        let source = Source::from(address);
        let present = self.flows.get_mut(&token).and_then(|flow| flow.side(side).as_ref());
        if present.is_some_and(|member| member.source == source) {
            // In the place of its own source's member it needs no more room.
            return Ok(true);
        }
        self.quota.check(source, 1).map(|()| true).map_err(|full| match full {
            Full::Total => Refusal::Full,
            Full::Source => Refusal::SourceFull,
        })
    }

    /// Puts an admitted member in its place, and the one that was there out of it.
    fn place(
        &mut self,
        caller: Route,
        seat: Seat,
        nonce: RequestNonce,
        proven: bool,
        now: Instant,
    ) -> Vec<(Route, Datagram)> {
        let (token, side) = seat;
        let source = Source::from(caller.to);
        let flow = self.flows.entry(token).or_default();
        let were_both = flow.both();
        let before = flow.side(side).take();
        let allowance = match &before {
            _ if proven => None,
            Some(member) if member.route.to == caller.to => member.allowance,
            Some(_) | None => Some(UNPROVEN_BYTES),
        };
        let bucket = self.throttle.bucket(source);
        let expires = now + self.life;
        *flow.side(side) = Some(Member { route: caller, source, bucket, nonce, expires, allowance });
        let both = flow.both();
        flow.met |= both;
        let other = flow.side(side.other()).as_ref().map(|other| (other.route, other.nonce));

        if let Some(before) = before {
            self.quota.give_back(before.source, 1);
            self.by_address.remove(&before.route.to);
        }
        let taken = self.quota.take(source, 1);
        debug_assert!(taken.is_ok(), "room was checked");
        self.by_address.insert(caller.to, seat);

        let mut answers = vec![(caller, self.joined(caller.to, seat, nonce, both))];
        if let Some((route, nonce)) = other.filter(|_| !were_both) {
            answers.push((route, self.joined(route.to, (token, side.other()), nonce, true)));
        }
        answers
    }

    /// Where `bytes` that came from an address go.
    pub(crate) fn forward(&mut self, from: SocketAddr, bytes: usize, now: Instant) -> Result<Route, Stop> {
        let (token, side) = self.by_address.get(&from).ok_or(Stop::Stranger)?;
        let flow = self.flows.get_mut(token).ok_or(Stop::Stranger)?;
        let bucket = flow.side(*side).as_ref().map(|member| Arc::clone(&member.bucket));
        let other = flow.side(side.other()).as_mut().ok_or(Stop::Alone)?;
        let allowance = match other.allowance {
            Some(left) => Some(left.checked_sub(bytes).ok_or(Stop::Unproven)?),
            None => None,
        };
        if !bucket.ok_or(Stop::Stranger)?.admit(bytes, now) {
            return Err(Stop::TooFast);
        }
        other.allowance = allowance;
        Ok(other.route)
    }

    /// Lets sides go that have not joined again in time.
    pub(crate) fn expire(&mut self, now: Instant) {
        let members = self.flows.values().flat_map(|flow| [&flow.zero, &flow.one]).flatten();
        let late = members.filter(|member| member.expires <= now).map(|member| member.route.to);
        for address in late.collect::<Vec<_>>() {
            self.leave(address, now);
        }
    }

    fn leave(&mut self, address: SocketAddr, now: Instant) {
        let Some((token, side)) = self.by_address.remove(&address) else { return };
        let Some(flow) = self.flows.get_mut(&token) else { return };
        if let Some(member) = flow.side(side).take() {
            self.quota.give_back(member.source, 1);
        }
        if flow.zero.is_none() && flow.one.is_none() {
            if flow.met {
                self.ended.insert(token, now);
            }
            self.flows.remove(&token);
        }
    }

    fn member(&mut self, address: SocketAddr) -> Option<&Member> {
        let (token, side) = self.by_address.get(&address)?;
        self.flows.get_mut(token)?.side(*side).as_ref()
    }

    fn joined(&self, address: SocketAddr, seat: Seat, nonce: RequestNonce, both: bool) -> Datagram {
        Datagram::Joined(Joined { nonce, cookie: self.cookie(address, seat), both, address })
    }

    fn cookie(&self, address: SocketAddr, seat: Seat) -> Cookie {
        self.secret.hash_one((address, seat)).to_be_bytes()
    }
}

#[cfg(test)]
mod tests;
