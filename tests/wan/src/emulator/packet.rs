//! What the network sees of an IP packet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Protocol number of UDP.
const UDP: u8 = 17;

/// The parts of an IPv4 or IPv6 header that decide where a packet goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    pub(super) udp: bool,
}

impl Header {
    /// Of a packet; `None` if it is no IP packet.
    pub(super) fn of(packet: &[u8]) -> Option<Self> {
        match packet.first()? >> 4 {
            4 => {
                let address = |at: usize| -> Option<IpAddr> {
                    Some(Ipv4Addr::from(<[u8; 4]>::try_from(packet.get(at..at + 4)?).ok()?).into())
                };
                Some(Self { source: address(12)?, destination: address(16)?, udp: packet[9] == UDP })
            }
            6 => {
                let address = |at: usize| -> Option<IpAddr> {
                    Some(Ipv6Addr::from(<[u8; 16]>::try_from(packet.get(at..at + 16)?).ok()?).into())
                };
                // No program under test sends extension headers.
                Some(Self { source: address(8)?, destination: address(24)?, udp: packet[6] == UDP })
            }
            _ => None,
        }
    }
}
