//! What [`Net`](crate::Net) is told at its start.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use farhold_secure::{PairSecret, PublicKeys};
use farhold_wire::ContactId;

use crate::error::NetError;

/// Where the relay listens if nothing else is said.
pub const RELAY_PORT: u16 = 7480;

/// Where a relay is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelayAddress {
    /// Name or address, an IPv6 address without brackets.
    pub host: String,
    /// Its gRPC port.
    pub port: u16,
    /// Its bridge port: the gRPC port + 1 unless said otherwise.
    pub bridge_port: u16,
}

impl FromStr for RelayAddress {
    type Err = NetError;

    /// `HOST`, `HOST:PORT`, `[V6]` or `[V6]:PORT`.
    fn from_str(text: &str) -> Result<Self, NetError> {
        let bad = || NetError::RelayAddress(text.to_owned());
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, rest) = rest.split_once(']').ok_or_else(bad)?;
                host.parse::<std::net::Ipv6Addr>().map_err(|_| bad())?;
                (host, rest.strip_prefix(':').or(rest.is_empty().then_some("")).ok_or_else(bad)?)
            }
            None if text.matches(':').count() > 1 => return Err(bad()),
            None => text.split_once(':').unwrap_or((text, "")),
        };
        let port = match port {
            "" => RELAY_PORT,
            port => port.parse().map_err(|_| bad())?,
        };
        let bridge_port = port.checked_add(1).ok_or_else(bad)?;
        if host.is_empty() || host.chars().any(|c| c.is_whitespace() || matches!(c, '/' | '@' | '?' | '#')) {
            return Err(bad());
        }
        Ok(Self { host: host.to_owned(), port, bridge_port })
    }
}

impl fmt::Display for RelayAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// Settings of [`Net`](crate::Net).
#[derive(Debug, Clone, Default)]
pub struct NetConfig {
    /// The relay through which contacts find each other; none means that nobody is found.
    pub relay: Option<RelayAddress>,
    /// The address to listen at; none is every address of this machine.
    pub bind: Option<IpAddr>,
    /// The TCP port to listen at; 0 is any free one.
    pub port: u16,
    /// The addresses announced to contacts instead of those that the network interfaces have.
    pub announce: Option<Vec<SocketAddr>>,
    /// Reach contacts through the relay alone: no direct leg is dialled, announced or accepted.
    pub relay_only: bool,
    /// Do not dial contacts at addresses of our own networks; they may still dial us.
    pub no_lan: bool,
    /// Whether to count on AES in hardware; none asks the processor.
    pub hardware_aes: Option<bool>,
}

/// A contact as it is kept on disk.
#[derive(Clone)]
pub struct SavedContact {
    /// Our name for it: the first 16 bytes of its code.
    pub id: ContactId,
    /// Its identity.
    pub keys: PublicKeys,
    /// Known to the two of us only.
    pub secret: PairSecret,
    /// The contact has not yet confirmed that it stored the secret too.
    pub provisional: bool,
}

impl fmt::Debug for SavedContact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SavedContact")
            .field("id", &self.id)
            .field("provisional", &self.provisional)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relay_addresses() {
        let parsed = |text: &str| text.parse::<RelayAddress>().map(|relay| relay.to_string()).ok();
        assert_eq!(parsed("relay.example").as_deref(), Some("relay.example:7480"));
        assert_eq!(parsed("10.0.0.1:99").as_deref(), Some("10.0.0.1:99"));
        assert_eq!(parsed("[::1]").as_deref(), Some("[::1]:7480"));
        assert_eq!(parsed("[::1]:99").as_deref(), Some("[::1]:99"));
        for bad in ["", ":1", "::1", "[::1", "[x]:1", "[::1]x", "a:b", "a:65535", "a:65536", "a/b", "u@h:1"] {
            assert_eq!(parsed(bad), None, "{bad}");
        }
        assert_eq!("r:5".parse::<RelayAddress>().unwrap().bridge_port, 6);
    }
}
