//! This machine's addresses: where contacts can reach us, and which addresses are on our own networks.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use farhold_wire::limits;
use if_addrs::IfAddr;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::connect::race::Candidate;
use crate::state::Path;

/// How often the addresses are looked at: a session has to follow a change within 5 s.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// An address of ours, and how many of its first bits it shares with its network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Address {
    ip: IpAddr,
    prefix: u8,
}

/// The addresses of all interfaces, in a fixed order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Addresses(Vec<Address>);

impl Addresses {
    /// As they are now; `None` if the system does not tell.
    pub(crate) fn look() -> Option<Self> {
        let interfaces = if_addrs::get_if_addrs()
            .inspect_err(|error| tracing::warn!(%error, "cannot list the network interfaces"))
            .ok()?;
        let mut addresses: Vec<_> = interfaces
            .into_iter()
            .map(|interface| match interface.addr {
                IfAddr::V4(v4) => Address { ip: v4.ip.into(), prefix: v4.prefixlen },
                IfAddr::V6(v6) => Address { ip: v6.ip.into(), prefix: v6.prefixlen },
            })
            .collect();
        addresses.sort_unstable();
        addresses.dedup();
        Some(Self(addresses))
    }

    /// Whether one of ours is this.
    pub(crate) fn has(&self, ip: IpAddr) -> bool {
        let ip = ip.to_canonical();
        self.0.iter().any(|address| address.ip == ip)
    }

    /// What a straight connection with `ip` is.
    pub(crate) fn path_to(&self, ip: IpAddr) -> Path {
        let ip = ip.to_canonical();
        if ip.is_loopback() || self.0.iter().any(|address| same_network(address.ip, ip, address.prefix)) {
            Path::Lan
        } else {
            Path::Direct
        }
    }

    /// Where we can be reached on `port`. Link-local addresses need an interface to go with them, which the other
    /// side cannot know.
    pub(crate) fn announced(&self, port: u16) -> Vec<SocketAddr> {
        let usable =
            self.0.iter().map(|address| address.ip).filter(|ip| !ip.is_loopback() && !is_link_local(*ip));
        usable.take(limits::CANDIDATES).map(|ip| SocketAddr::new(ip, port)).collect()
    }

    /// The addresses that a contact announces, in the order in which they are dialled: own network first, then IPv6
    /// and IPv4 in turn. `loopback` says that ours is a loopback address too.
    pub(crate) fn candidates(&self, announced: &[SocketAddr], loopback: bool) -> Vec<Candidate> {
        let fit =
            announced.iter().map(|address| SocketAddr::new(address.ip().to_canonical(), address.port()));
        let fit = fit.filter(|address| address.port() != 0 && is_reachable(address.ip(), loopback));
        let candidates: Vec<_> = fit
            .map(|address| Candidate { address, path: self.path_to(address.ip()) })
            .take(limits::CANDIDATES)
            .collect();
        let mut ordered: Vec<Candidate> = Vec::with_capacity(candidates.len());
        for path in [Path::Lan, Path::Direct] {
            let on = candidates.iter().filter(|candidate| candidate.path == path);
            let (v6, v4): (Vec<_>, Vec<_>) = on.partition(|candidate| candidate.address.is_ipv6());
            let longer = v6.len().max(v4.len());
            let turns = (0..longer).flat_map(|index| [v6.get(index), v4.get(index)]).flatten();
            for candidate in turns {
                if !ordered.contains(candidate) {
                    ordered.push(*candidate);
                }
            }
        }
        ordered
    }

    /// Where a contact's NAT or firewall may let our datagrams in: where the relay sees it, and its own addresses on other
    /// networks.
    pub(crate) fn punchable(
        &self,
        reflexive: &[SocketAddr],
        candidates: &[Candidate],
        loopback: bool,
    ) -> Vec<SocketAddr> {
        let outer =
            reflexive.iter().map(|address| SocketAddr::new(address.ip().to_canonical(), address.port()));
        let outer = outer.filter(|address| address.port() != 0 && is_reachable(address.ip(), loopback));
        let own = candidates.iter().filter(|candidate| candidate.path == Path::Direct);
        let mut punchable = Vec::new();
        for address in outer.chain(own.map(|candidate| candidate.address)) {
            if !punchable.contains(&address) {
                punchable.push(address);
            }
        }
        punchable
    }
}

/// Keeps `addresses` up to date.
pub(crate) async fn follow(addresses: watch::Sender<Addresses>, cancel: CancellationToken) {
    let mut ticks = tokio::time::interval(LOOK_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while cancel.run_until_cancelled(ticks.tick()).await.is_some() {
        let Some(now) = Addresses::look() else { continue };
        addresses.send_if_modified(|before| {
            let changed = *before != now;
            *before = now;
            changed
        });
    }
}

fn same_network(a: IpAddr, b: IpAddr, prefix: u8) -> bool {
    let differing = match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => return false,
    };
    // A network of all addresses is a default route, not a neighbourhood.
    prefix > 0 && differing >= u32::from(prefix)
}

fn is_link_local(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    }
}

/// Whether it makes sense to dial what a contact announces; a contact must not make us talk to ourselves.
fn is_reachable(ip: IpAddr, loopback: bool) -> bool {
    let broadcast = matches!(ip, IpAddr::V4(ip) if ip.is_broadcast());
    !(ip.is_unspecified() || ip.is_multicast() || broadcast || is_link_local(ip))
        && ip.is_loopback() == loopback
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(list: &[(&str, u8)]) -> Addresses {
        Addresses(
            list.iter().map(|(ip, prefix)| Address { ip: ip.parse().unwrap(), prefix: *prefix }).collect(),
        )
    }

    fn sockets(list: &[&str]) -> Vec<SocketAddr> {
        list.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn what_is_on_our_own_network() {
        let ours = addresses(&[("192.168.1.5", 24), ("2001:db8:1::5", 64), ("10.0.0.1", 32)]);
        for (ip, path) in [
            ("192.168.1.200", Path::Lan),
            ("192.168.2.1", Path::Direct),
            ("::ffff:192.168.1.9", Path::Lan),
            ("2001:db8:1::9", Path::Lan),
            ("2001:db8:2::9", Path::Direct),
            ("10.0.0.1", Path::Lan),
            ("10.0.0.2", Path::Direct),
            ("127.0.0.1", Path::Lan),
        ] {
            assert_eq!(ours.path_to(ip.parse().unwrap()), path, "{ip}");
        }
    }

    #[test]
    fn the_order_in_which_candidates_are_dialled() {
        let ours = addresses(&[("192.168.1.5", 24)]);
        let announced = sockets(&[
            "198.51.100.1:9",
            "198.51.100.2:9",
            "[2001:db8::1]:9",
            "192.168.1.9:9",
            "192.168.1.9:9",
            // None of these is dialled.
            "127.0.0.1:9",
            "0.0.0.0:9",
            "224.0.0.1:9",
            "255.255.255.255:9",
            "169.254.1.1:9",
            "[fe80::1]:9",
            "[::ffff:127.0.0.1]:9",
            "198.51.100.3:0",
        ]);
        let dialled: Vec<_> = ours.candidates(&announced, false).iter().map(|c| c.address).collect();
        assert_eq!(
            dialled,
            sockets(&["192.168.1.9:9", "[2001:db8::1]:9", "198.51.100.1:9", "198.51.100.2:9"])
        );
        let local: Vec<_> = ours.candidates(&announced, true).iter().map(|c| c.address).collect();
        assert_eq!(local, sockets(&["127.0.0.1:9"]));
    }

    #[test]
    fn what_is_punched() {
        let ours = addresses(&[("192.168.1.5", 24)]);
        let candidates = ours.candidates(&sockets(&["192.168.1.9:9", "198.51.100.1:9"]), false);
        let reflexive =
            sockets(&["[::ffff:203.0.113.7]:40000", "198.51.100.1:9", "127.0.0.1:9", "203.0.113.7:0"]);
        assert_eq!(
            ours.punchable(&reflexive, &candidates, false),
            sockets(&["203.0.113.7:40000", "198.51.100.1:9"])
        );
        assert_eq!(ours.punchable(&reflexive, &[], true), sockets(&["127.0.0.1:9"]));
    }

    #[test]
    fn what_we_announce() {
        let ours = addresses(&[
            ("127.0.0.1", 8),
            ("192.168.1.5", 24),
            ("169.254.3.3", 16),
            ("fe80::1", 64),
            ("2001:db8::5", 64),
        ]);
        assert_eq!(ours.announced(7), sockets(&["192.168.1.5:7", "[2001:db8::5]:7"]));
        assert!(ours.has("::ffff:192.168.1.5".parse().unwrap()));
        assert!(!ours.has("192.168.1.6".parse().unwrap()));
    }
}
