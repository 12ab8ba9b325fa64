//! Address translators of the common kinds, by nftables.

use std::net::Ipv4Addr;

use anyhow::Result;

use crate::network::DEVICE;
use crate::space::Space;

/// How the translator in front of a host behaves. None of them carries IPv6.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nat {
    /// Keeps ports, one mapping for all destinations, and lets UDP in from anybody.
    Cone,
    /// Keeps ports, one mapping for all destinations, and lets in only who was sent to, by address and port.
    PortRestricted,
    /// A port of its own, chosen at random, for each destination.
    Symmetric,
}

impl Nat {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Cone, Self::PortRestricted, Self::Symmetric];
}

/// Puts `inner` behind `outer`, which has the device on the network: a private network 192.168.`number`.0/24 between
/// them, on which `inner` is host 2.
pub(crate) fn put_behind(outer: &Space, inner: &Space, number: u8, nat: Nat) -> Result<()> {
    let (gateway, host) = (Ipv4Addr::new(192, 168, number, 1), Ipv4Addr::new(192, 168, number, 2));
    let namespace = inner.path();
    outer.ip(&format!("link add lan0 type veth peer name lan0 netns {}", namespace.display()))?;
    for (space, address) in [(outer, gateway), (inner, host)] {
        space.ip(&format!("addr add {address}/24 dev lan0"))?;
        space.ip("link set lan0 up")?;
    }
    inner.ip(&format!("route add default via {gateway}"))?;
    outer.set("net/ipv4/ip_forward", "1")?;
    outer.nft(&rules(nat, host))
}

fn rules(nat: Nat, host: Ipv4Addr) -> String {
    let random = if nat == Nat::Symmetric { "fully-random" } else { "" };
    // The open filter of a cone: whatever UDP comes is for the only host behind it.
    let (open, accept) = if nat == Nat::Cone {
        (format!("iifname {DEVICE} meta l4proto udp dnat to {host}"), "ct status dnat accept")
    } else {
        (String::new(), "")
    };
    // Unasked packets are dropped, not refused: a refusal would leave a mapping that takes the port from the host.
    format!(
        "table ip translation {{
            chain out {{ type nat hook postrouting priority srcnat; oifname {DEVICE} masquerade {random}; }}
            chain in {{ type nat hook prerouting priority dstnat; {open}; }}
        }}
        table ip guard {{
            chain input {{
                type filter hook input priority filter; policy drop;
                ct state established,related accept
                iifname != {DEVICE} accept
            }}
            chain forward {{
                type filter hook forward priority filter; policy drop;
                ct state established,related accept
                iifname lan0 accept
                {accept}
            }}
        }}"
    )
}
