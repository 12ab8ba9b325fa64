//! Whether a relay answers.

use std::io;
use std::time::Duration;

use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, timeout};

use super::rpc::{CallError, RelayClient};
use crate::config::RelayAddress;

/// How long the whole call may take: name, connection and answer.
const WITHIN: Duration = Duration::from_secs(5);

/// Why a relay cannot be used. The texts say what to do.
#[derive(Debug, thiserror::Error)]
pub enum RelayTestError {
    /// The name has no address.
    #[error("{host} is not found ({source}): check the spelling, and whether this machine is online")]
    NotFound {
        /// The relay's name.
        host: String,
        /// What the system says.
        source: io::Error,
    },
    /// Nothing listens there.
    #[error("nothing listens at {relay}: check the port, and whether farhold-relay runs there")]
    Refused {
        /// The relay.
        relay: RelayAddress,
    },
    /// There is no way there.
    #[error("{relay} cannot be reached ({source}): check whether this machine is online, and firewalls")]
    Unreachable {
        /// The relay.
        relay: RelayAddress,
        /// What the system says.
        source: io::Error,
    },
    /// Nothing came back.
    #[error(
        "{relay} did not answer within {} s: check the address, and whether firewalls let TCP {} through",
        WITHIN.as_secs(), relay.port
    )]
    NoAnswer {
        /// The relay.
        relay: RelayAddress,
    },
    /// Something else answers.
    #[error("what answers at {relay} is no relay ({reason}): check the port, which is usually 7480")]
    NoRelay {
        /// The relay.
        relay: RelayAddress,
        /// What it said.
        reason: String,
    },
}

/// Calls a relay as one that is used is called first, and tells how long its answer took.
///
/// # Errors
/// [`RelayTestError`].
pub async fn test_relay(relay: &RelayAddress) -> Result<Duration, RelayTestError> {
    let answered = timeout(WITHIN, call(relay)).await;
    answered.unwrap_or_else(|_| Err(RelayTestError::NoAnswer { relay: relay.clone() }))
}

async fn call(relay: &RelayAddress) -> Result<Duration, RelayTestError> {
    let not_found = |source| RelayTestError::NotFound { host: relay.host.clone(), source };
    let found: Vec<_> = lookup_host((relay.host.as_str(), relay.port)).await.map_err(not_found)?.collect();
    // Only for its error, which the client of the relay does not tell apart.
    TcpStream::connect(found.as_slice()).await.map_err(|source| {
        let relay = relay.clone();
        if source.kind() == io::ErrorKind::ConnectionRefused {
            RelayTestError::Refused { relay }
        } else {
            RelayTestError::Unreachable { relay, source }
        }
    })?;
    let no_relay =
        |error: CallError| RelayTestError::NoRelay { relay: relay.clone(), reason: error.to_string() };
    let (client, _) = RelayClient::connect(relay).await.map_err(no_relay)?;
    let asked = Instant::now();
    client.reflexive().await.map_err(no_relay)?;
    Ok(asked.elapsed())
}
