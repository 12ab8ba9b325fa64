//! A wide-area network without I/O and clock: packets and `now` in, packets out.
//!
//! A packet pays, in order: its sender's uplink (rate, drop-tail buffer), the pair's loss and propagation delay, its
//! receiver's downlink (rate, drop-tail buffer). Hosts hang on one cloud; who receives is looked up by address.
//! `now` is the time since any fixed moment and never goes back.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use fastrand::Rng;

pub use self::loss::Loss;
use self::loss::LossState;
use self::packet::Header;

mod loss;
mod packet;
#[cfg(test)]
mod tests;

/// A host's position in the network, in the order of [`Emulator::add`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostId(usize);

/// How a host hangs on the network.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Access {
    /// Bits per second towards the network.
    pub up: u64,
    /// Bits per second from the network.
    pub down: u64,
    /// How long a packet may wait in either buffer; one that would wait longer is dropped.
    pub buffer: Duration,
}

/// What lies between two hosts, the same in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Between {
    /// One-way propagation delay.
    pub delay: Duration,
    /// Packets that vanish on the way.
    pub loss: Loss,
    /// Nothing passes.
    pub cut: bool,
}

/// What a host's network refuses to carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Refusal {
    /// Nothing passes in either direction: the cable is out.
    pub everything: bool,
    /// UDP vanishes in both directions.
    pub udp: bool,
    /// IPv6 vanishes in both directions, although the host has an address and a route.
    pub ipv6: bool,
}

/// What happened to a host's packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Packets that it sent.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets that it received.
    pub received: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Packets that it sent and a full buffer dropped, its own or the receiver's.
    pub overflowed: u64,
    /// Packets that it sent and the path lost.
    pub lost: u64,
    /// Packets that it sent to nobody, from an address that it does not have, or of a refused kind.
    pub refused: u64,
}

#[derive(Debug)]
struct Host {
    access: Access,
    addresses: Vec<IpAddr>,
    refusal: Refusal,
    up_free: Duration,
    down_free: Duration,
    /// On the downlink, in order, with the moment at which each has been received whole.
    down: VecDeque<(Duration, Vec<u8>)>,
    counters: Counters,
}

#[derive(Debug, Default)]
struct Path {
    between: Between,
    loss: LossState,
    /// When its last packet arrives: a path keeps the order also when its delay shrinks.
    last: Duration,
}

/// A packet between the two access links; ordered by arrival, then by sending.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Flight {
    due: Duration,
    number: u64,
    from: HostId,
    to: HostId,
    packet: Vec<u8>,
}

/// The network.
#[derive(Debug)]
pub struct Emulator {
    hosts: Vec<Host>,
    paths: BTreeMap<(HostId, HostId), Path>,
    flights: BinaryHeap<Reverse<Flight>>,
    number: u64,
    rng: Rng,
}

impl Emulator {
    /// An empty one; `seed` decides which packets are lost.
    pub fn new(seed: u64) -> Self {
        Self {
            hosts: Vec::new(),
            paths: BTreeMap::new(),
            flights: BinaryHeap::new(),
            number: 0,
            rng: Rng::with_seed(seed),
        }
    }

    /// Adds a host that has these addresses.
    pub fn add(&mut self, access: Access, addresses: &[IpAddr]) -> HostId {
        self.hosts.push(Host {
            access,
            addresses: addresses.to_vec(),
            refusal: Refusal::default(),
            up_free: Duration::ZERO,
            down_free: Duration::ZERO,
            down: VecDeque::new(),
            counters: Counters::default(),
        });
        HostId(self.hosts.len() - 1)
    }

    /// What happened to the packets of `host` so far.
    pub fn counters(&self, host: HostId) -> Counters {
        self.hosts[host.0].counters
    }

    /// From now on `host` has these addresses; what comes to or from others vanishes.
    pub fn set_addresses(&mut self, host: HostId, addresses: &[IpAddr]) {
        self.hosts[host.0].addresses = addresses.to_vec();
    }

    /// From now on the network of `host` refuses this. Also meets packets on their way.
    pub fn refuse(&mut self, host: HostId, refusal: Refusal) {
        self.hosts[host.0].refusal = refusal;
    }

    /// From now on `host` hangs on the network like this; packets in buffers keep their times.
    pub fn set_access(&mut self, host: HostId, access: Access) {
        self.hosts[host.0].access = access;
    }

    /// From now on this lies between the two, in both directions.
    pub fn set_between(&mut self, a: HostId, b: HostId, between: Between) {
        for pair in [(a, b), (b, a)] {
            self.paths.entry(pair).or_default().between = between;
        }
    }

    /// What lies between the two.
    pub fn between(&self, a: HostId, b: HostId) -> Between {
        self.paths.get(&(a, b)).map(|path| path.between).unwrap_or_default()
    }

    /// `from` sends an IP packet.
    pub fn send(&mut self, from: HostId, packet: &[u8], now: Duration) {
        let to = self.admit(from, packet);
        let host = &mut self.hosts[from.0];
        host.counters.sent += 1;
        host.counters.sent_bytes += packet.len() as u64;
        let Some(to) = to else {
            host.counters.refused += 1;
            return;
        };
        let start = host.up_free.max(now);
        if start - now > host.access.buffer {
            host.counters.overflowed += 1;
            return;
        }
        host.up_free = start + time_on_link(packet.len(), host.access.up);
        let path = self.paths.entry((from, to)).or_default();
        if path.loss.drops(path.between.loss, &mut self.rng) {
            host.counters.lost += 1;
            return;
        }
        path.last = path.last.max(host.up_free + path.between.delay);
        let (due, number) = (path.last, self.number);
        self.number += 1;
        self.flights.push(Reverse(Flight { due, number, from, to, packet: packet.to_vec() }));
    }

    /// The next packet that has reached its receiver by `now`.
    pub fn deliver(&mut self, now: Duration) -> Option<(HostId, Vec<u8>)> {
        self.arrive(now);
        for (index, host) in self.hosts.iter_mut().enumerate() {
            if let Some((_, packet)) = host.down.pop_front_if(|(due, _)| *due <= now) {
                host.counters.received += 1;
                host.counters.received_bytes += packet.len() as u64;
                return Some((HostId(index), packet));
            }
        }
        None
    }

    /// When something will happen; `None` while nothing is under way.
    pub fn next(&self) -> Option<Duration> {
        let arrival = self.flights.peek().map(|Reverse(flight)| flight.due);
        let received = self.hosts.iter().filter_map(|host| host.down.front().map(|(due, _)| *due));
        received.chain(arrival).min()
    }

    /// Moves what has arrived by `now` into the receivers' downlinks.
    fn arrive(&mut self, now: Duration) {
        while self.flights.peek().is_some_and(|Reverse(flight)| flight.due <= now) {
            let Some(Reverse(flight)) = self.flights.pop() else { return };
            if self.admit(flight.from, &flight.packet) != Some(flight.to) {
                self.hosts[flight.from.0].counters.refused += 1;
                continue;
            }
            let host = &mut self.hosts[flight.to.0];
            let start = host.down_free.max(flight.due);
            if start - flight.due > host.access.buffer {
                self.hosts[flight.from.0].counters.overflowed += 1;
                continue;
            }
            host.down_free = start + time_on_link(flight.packet.len(), host.access.down);
            host.down.push_back((host.down_free, flight.packet));
        }
    }

    /// Whom a packet of `from` would reach as things stand.
    fn admit(&self, from: HostId, packet: &[u8]) -> Option<HostId> {
        let header = Header::of(packet)?;
        let sender = &self.hosts[from.0];
        let to = self.hosts.iter().position(|host| host.addresses.contains(&header.destination))?;
        let refused = [sender.refusal, self.hosts[to].refusal].iter().any(|refusal| {
            refusal.everything || (refusal.udp && header.udp) || (refusal.ipv6 && header.source.is_ipv6())
        });
        let cut = self.paths.get(&(from, HostId(to))).is_some_and(|path| path.between.cut);
        (sender.addresses.contains(&header.source) && !refused && !cut).then_some(HostId(to))
    }
}

/// How long `bytes` occupy a link of `rate` bits per second.
fn time_on_link(bytes: usize, rate: u64) -> Duration {
    Duration::from_nanos(bytes as u64 * 8_000_000_000 / rate)
}
