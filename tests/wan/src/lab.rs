//! The lab's topology: a far peer, a near peer, and a relay beside the near one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use anyhow::Result;

use crate::emulator::{Access, Between, Emulator, HostId, Loss, Refusal};
use crate::nat::{self, Nat};
use crate::network::{self, DEVICE, Network};
use crate::space::Space;

/// Bits per second of a relay's access, which is never what limits.
const RELAY_RATE: u64 = 10_000_000_000;
/// One-way delay between the near peer and the relay.
const NEAR_DELAY: Duration = Duration::from_micros(500);

/// A host of the lab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Site {
    /// The peer far from everything.
    Far,
    /// The peer beside the relay.
    Near,
    /// The relay.
    Relay,
}

impl Site {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Far, Self::Near, Self::Relay];

    fn number(self) -> u8 {
        match self {
            Self::Far => 1,
            Self::Near => 2,
            Self::Relay => 3,
        }
    }

    /// Its IPv4 address, in the range for benchmarks (RFC 2544); with `moved`, the one it changes to.
    fn v4(self, moved: bool) -> Ipv4Addr {
        Ipv4Addr::new(198, 18, self.number(), if moved { 2 } else { 1 })
    }

    /// Its IPv6 address, in the range for documentation (RFC 3849).
    fn v6(self, moved: bool) -> Ipv6Addr {
        Ipv6Addr::new(0x2001, 0xdb8, 0, self.number().into(), 0, 0, 0, if moved { 2 } else { 1 })
    }
}

/// What a lab is like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// Round trip between the far host and the two others.
    pub rtt: Duration,
    /// Bits per second of both peers' access, each way.
    pub rate: u64,
    /// What a peer's access buffers, each way.
    pub buffer: Duration,
    /// Loss between the far host and the two others, each way.
    pub loss: Loss,
    /// What the far peer is behind.
    pub far: Option<Nat>,
    /// What the near peer is behind.
    pub near: Option<Nat>,
}

impl Default for Plan {
    /// The link of the targets: 200 ms, 600 Mbit/s, 200 ms of buffer, no loss, no translators.
    fn default() -> Self {
        Self {
            rtt: Duration::from_millis(200),
            rate: 600_000_000,
            buffer: Duration::from_millis(200),
            loss: Loss::None,
            far: None,
            near: None,
        }
    }
}

#[derive(Debug)]
struct Host {
    id: HostId,
    /// Has the device on the network.
    outer: Space,
    /// Behind the translator, if there is one.
    inner: Option<Space>,
    moved: bool,
}

/// A running lab; everything of it ends with this value.
#[derive(Debug)]
pub struct Lab {
    network: Network,
    hosts: [Host; 3],
}

impl Lab {
    /// Builds and starts it. Needs root.
    pub fn new(plan: Plan) -> Result<Self> {
        let mut emulator = Emulator::new(0);
        let mut devices = Vec::new();
        let access = Access { up: plan.rate, down: plan.rate, buffer: plan.buffer };
        let relay_access = Access { up: RELAY_RATE, down: RELAY_RATE, buffer: plan.buffer };
        let mut host = |site: Site, access, nat: Option<Nat>| -> Result<Host> {
            let outer = Space::new()?;
            // Translators carry no IPv6, so their hosts have none.
            let mut addresses = vec![site.v4(false).into()];
            if nat.is_none() {
                addresses.push(site.v6(false).into());
            }
            let id = emulator.add(access, &addresses);
            devices.push((id, network::device(&outer)?));
            for address in addresses {
                add_address(&outer, address)?;
            }
            let inner = nat.map(|nat| -> Result<Space> {
                let inner = Space::new()?;
                nat::put_behind(&outer, &inner, 10 + site.number(), nat)?;
                Ok(inner)
            });
            Ok(Host { id, outer, inner: inner.transpose()?, moved: false })
        };
        let hosts = [
            host(Site::Far, access, plan.far)?,
            host(Site::Near, access, plan.near)?,
            host(Site::Relay, relay_access, None)?,
        ];
        let [far, near, relay] = hosts.each_ref().map(|host| host.id);
        let long = Between { delay: plan.rtt / 2, loss: plan.loss, cut: false };
        emulator.set_between(far, near, long);
        emulator.set_between(far, relay, long);
        emulator.set_between(near, relay, Between { delay: NEAR_DELAY, ..Between::default() });
        let network = Network::start(emulator, devices)?;
        Ok(Self { network, hosts })
    }

    fn host(&self, site: Site) -> &Host {
        &self.hosts[usize::from(site.number()) - 1]
    }

    /// Where programs of a host run: behind its translator, if it has one.
    pub fn space(&self, site: Site) -> &Space {
        let host = self.host(site);
        host.inner.as_ref().unwrap_or(&host.outer)
    }

    /// Its number in the network.
    pub fn id(&self, site: Site) -> HostId {
        self.host(site).id
    }

    /// Its IPv4 address on the network.
    pub fn v4(&self, site: Site) -> IpAddr {
        site.v4(self.host(site).moved).into()
    }

    /// Its IPv6 address on the network; a host behind a translator has none.
    pub fn v6(&self, site: Site) -> IpAddr {
        site.v6(self.host(site).moved).into()
    }

    /// The network, to look at or to change.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// From now on the network of `site` refuses this.
    pub fn refuse(&self, site: Site, refusal: Refusal) {
        self.network.with(|emulator| emulator.refuse(self.id(site), refusal));
    }

    /// From now on nothing passes between the two, or again.
    pub fn cut(&self, a: Site, b: Site, cut: bool) {
        let (a, b) = (self.id(a), self.id(b));
        self.network.with(|emulator| {
            let between = Between { cut, ..emulator.between(a, b) };
            emulator.set_between(a, b, between);
        });
    }

    /// Gives `site` other addresses, as a new lease or another network does: the old ones are gone at once.
    pub fn change_addresses(&mut self, site: Site) -> Result<()> {
        let host = &mut self.hosts[usize::from(site.number()) - 1];
        let old = [IpAddr::from(site.v4(host.moved)), site.v6(host.moved).into()];
        host.moved = !host.moved;
        let new = [IpAddr::from(site.v4(host.moved)), site.v6(host.moved).into()];
        let kept = if host.inner.is_some() { 1 } else { 2 };
        for address in &old[..kept] {
            host.outer.ip(&format!("addr del {address} dev {DEVICE}"))?;
        }
        for address in &new[..kept] {
            add_address(&host.outer, *address)?;
        }
        let id = host.id;
        self.network.with(|emulator| emulator.set_addresses(id, &new[..kept]));
        Ok(())
    }
}

/// Gives a host an address without a network around it: everybody else is beyond the device.
fn add_address(space: &Space, address: IpAddr) -> Result<()> {
    let (bits, family, source) = match address {
        IpAddr::V4(_) => (32, "-4", format!(" src {address}")),
        // Without duplicate address detection it can be used at once.
        IpAddr::V6(_) => (128, "-6", String::new()),
    };
    let nodad = if address.is_ipv6() { " nodad" } else { "" };
    space.ip(&format!("addr add {address}/{bits} dev {DEVICE}{nodad}"))?;
    space.ip(&format!("{family} route replace default dev {DEVICE}{source}"))
}
