//! How good a leg is.

use std::time::Duration;

use crate::state::{Path, Transport};

/// With a round trip below this, either transport is as good as the other: what a lost packet costs TCP is little
/// then, and QUIC costs more processor time.
const SHORT: Duration = Duration::from_millis(10);

/// How a leg runs and what carries it; better ones are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Grade {
    pub(crate) path: Path,
    pub(crate) transport: Transport,
}

impl Grade {
    /// There is nothing better.
    pub(crate) const BEST: Self = Self { path: Path::Lan, transport: Transport::Quic };

    /// What a leg must surpass to take the place of one like this, whose round trip is `rtt` if that is known.
    pub(crate) fn to_surpass(self, rtt: Option<Duration>) -> Self {
        match rtt {
            Some(rtt) if rtt < SHORT => Self { transport: Transport::Quic, ..self },
            Some(_) | None => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_comes_first_and_then_the_transport() {
        let paths = [Path::Relayed, Path::Punched, Path::Direct, Path::Lan];
        let grades: Vec<_> = paths
            .into_iter()
            .flat_map(|path| [Transport::Tcp, Transport::Quic].map(|transport| Grade { path, transport }))
            .collect();
        assert!(grades.is_sorted_by(|worse, better| worse < better));
        assert_eq!(grades.last(), Some(&Grade::BEST));
    }

    #[test]
    fn on_short_paths_quic_does_not_replace_tcp() {
        let tcp = Grade { path: Path::Lan, transport: Transport::Tcp };
        for (rtt, surpassed) in [(None, true), (Some(SHORT), true), (Some(SHORT / 2), false)] {
            assert_eq!(Grade::BEST > tcp.to_surpass(rtt), surpassed);
        }
        let relayed = Grade { path: Path::Relayed, ..tcp };
        assert!(tcp > relayed.to_surpass(Some(Duration::ZERO)), "a better path always does");
    }
}
