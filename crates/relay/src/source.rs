//! Where calls come from, and how much each source may hold.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use crate::config::Limit;

/// Who is taken for one caller: an IPv4 address, or an IPv6 /64, the smallest network that one customer gets
/// (RFC 6177).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Source {
    V4([u8; 4]),
    V6([u8; 8]),
}

impl From<SocketAddr> for Source {
    fn from(address: SocketAddr) -> Self {
        match address.ip().to_canonical() {
            IpAddr::V4(ip) => Self::V4(ip.octets()),
            IpAddr::V6(ip) => {
                let [a, b, c, d, e, f, g, h, ..] = ip.octets();
                Self::V6([a, b, c, d, e, f, g, h])
            }
        }
    }
}

/// Which bound was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Full {
    Total,
    Source,
}

/// How much of one resource is held, in total and by each source.
#[derive(Debug)]
pub(crate) struct Quota {
    limit: Limit,
    held: usize,
    by_source: HashMap<Source, usize>,
}

impl Quota {
    pub(crate) fn new(limit: Limit) -> Self {
        Self { limit, held: 0, by_source: HashMap::new() }
    }

    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// Whether `source` may hold `amount` more.
    pub(crate) fn check(&self, source: Source, amount: usize) -> Result<(), Full> {
        let of_source = self.by_source.get(&source).copied().unwrap_or(0);
        if amount > self.limit.per_source.saturating_sub(of_source) {
            Err(Full::Source)
        } else if amount > self.limit.total.saturating_sub(self.held) {
            Err(Full::Total)
        } else {
            Ok(())
        }
    }

    /// Takes `amount` for `source`, or nothing.
    pub(crate) fn take(&mut self, source: Source, amount: usize) -> Result<(), Full> {
        self.check(source, amount)?;
        if amount > 0 {
            self.held += amount;
            *self.by_source.entry(source).or_default() += amount;
        }
        Ok(())
    }

    /// Gives back what `source` took. A source that holds nothing is forgotten.
    pub(crate) fn give_back(&mut self, source: Source, amount: usize) {
        let Some(of_source) = self.by_source.get_mut(&source) else { return };
        let amount = amount.min(*of_source);
        *of_source -= amount;
        self.held -= amount;
        if *of_source == 0 {
            self.by_source.remove(&source);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn source(address: &str) -> Source {
        address.parse::<SocketAddr>().unwrap().into()
    }

    #[test]
    fn a_source_is_an_ipv4_address_or_an_ipv6_network() {
        assert_eq!(source("192.0.2.1:1"), source("192.0.2.1:2"));
        assert_ne!(source("192.0.2.1:1"), source("192.0.2.2:1"));
        assert_eq!(source("192.0.2.1:1"), source("[::ffff:192.0.2.1]:1"));
        assert_eq!(source("[2001:db8:0:1::1]:1"), source("[2001:db8:0:1:ffff::2]:9"));
        assert_ne!(source("[2001:db8:0:1::1]:1"), source("[2001:db8:0:2::1]:1"));
    }

    proptest! {
        #[test]
        fn bounds_hold_and_nothing_is_lost(steps in prop::collection::vec((0u8..5, 0usize..8, any::<bool>()), 0..200)) {
            let limit = Limit::new(20, 7);
            let mut quota = Quota::new(limit);
            let mut model = [0usize; 5];
            for (who, amount, take) in steps {
                let source = Source::V4([0, 0, 0, who]);
                let held = &mut model[usize::from(who)];
                if take {
                    if quota.take(source, amount).is_ok() {
                        *held += amount;
                    } else {
                        prop_assert!(*held + amount > limit.per_source || quota.held() + amount > limit.total);
                    }
                } else {
                    let amount = amount.min(*held);
                    quota.give_back(source, amount);
                    *held -= amount;
                }
                prop_assert!(*held <= limit.per_source && quota.held() <= limit.total);
                prop_assert_eq!(quota.held(), model.iter().sum::<usize>());
                prop_assert_eq!(quota.by_source.len(), model.iter().filter(|held| **held > 0).count());
            }
        }
    }
}
