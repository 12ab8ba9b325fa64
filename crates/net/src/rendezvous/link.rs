//! The connection to the relay.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::Relay;
use super::rpc::{CallError, RelayClient};
use crate::config::RelayAddress;
use crate::network::Addresses;
use crate::state::RelayState;

/// Before the connection is tried again; doubles up to [`RETRY_MOST`], and starts over when the network changes or
/// after a connection that held.
const RETRY: Duration = Duration::from_millis(200);
const RETRY_MOST: Duration = Duration::from_secs(5);
/// What a connection has to last for the next loss to be a new one.
const HELD: Duration = Duration::from_secs(10);
/// How long one call may take.
pub(super) const CALL_WITHIN: Duration = Duration::from_secs(3);
/// How long a connection may take: name, TCP and the first call.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// A connection that stands until `broken`.
#[derive(Debug, Clone)]
pub(super) struct Link {
    pub(super) client: RelayClient,
    pub(super) broken: CancellationToken,
}

impl Link {
    /// Waits for the answer to a call; one that does not come breaks the link.
    pub(super) async fn call<T>(
        &self,
        call: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, CallError> {
        let result = match timeout(CALL_WITHIN, call).await {
            Ok(result) => result,
            Err(_) => Err(CallError::Broken("no answer".to_owned())),
        };
        if let Err(CallError::Broken(_)) = &result {
            self.broken.cancel();
        }
        result
    }
}

/// Connects, and connects again, until cancelled; to another relay once that is set.
pub(super) async fn keep(relay: Arc<Relay>, mut addresses: watch::Receiver<Addresses>) {
    let cancel = relay.cancel.clone();
    cancel.run_until_cancelled(follow(&relay, &mut addresses)).await;
    // Heartbeats take their posts back with the last link, so it stays.
}

async fn follow(relay: &Relay, addresses: &mut watch::Receiver<Addresses>) {
    let mut wanted = relay.address.subscribe();
    let mut address = wanted.borrow_and_update().clone();
    loop {
        let keeping = async {
            match &address {
                Some(address) => keep_on(address, relay, addresses).await,
                None => std::future::pending().await,
            }
        };
        // The sender is `relay`'s own.
        tokio::select! {
            () = keeping => {}
            _ = wanted.changed() => {}
        }
        address = wanted.borrow_and_update().clone();
        relay.forget(address.as_ref());
    }
}

async fn keep_on(address: &RelayAddress, relay: &Relay, addresses: &mut watch::Receiver<Addresses>) {
    let mut retry = RETRY;
    loop {
        let begun = Instant::now();
        let reason = match connect(address).await {
            Ok((link, Found { at, seen_as })) => {
                tracing::info!("the relay is reached");
                let broken = link.broken.clone();
                relay.reflexive.send_replace(Some(seen_as));
                *relay.lock_udp() = Some(SocketAddr::new(at, address.bridge_port));
                relay.links.send_replace(Some(link));
                relay.state.send_replace(RelayState::Connected);
                broken.cancelled().await;
                tracing::info!("the link to the relay is lost");
                "the connection was lost".to_owned()
            }
            Err(error) => error.to_string(),
        };
        relay.links.send_replace(None);
        relay.state.send_replace(RelayState::Unreachable { reason });
        let lasted = begun.elapsed();
        if lasted > HELD {
            retry = RETRY;
        }
        // An attempt that took its time has waited already.
        let pause = retry.saturating_sub(lasted);
        tokio::select! {
            () = sleep(pause) => retry = (retry * 2).min(RETRY_MOST),
            Ok(()) = addresses.changed() => retry = RETRY,
        }
    }
}

/// Where the relay was reached, and from where it sees us.
struct Found {
    at: IpAddr,
    seen_as: IpAddr,
}

/// The first call shows that a relay is there, and how it sees us.
async fn connect(address: &RelayAddress) -> Result<(Link, Found), CallError> {
    let connected = timeout(CONNECT_WITHIN, async {
        let (client, at) = RelayClient::connect(address).await?;
        let seen_as = client.reflexive().await?.ip();
        Ok::<_, CallError>((client, Found { at, seen_as }))
    });
    let (client, found) = connected.await.map_err(|_| CallError::Broken("no answer".to_owned()))??;
    Ok((Link { client, broken: CancellationToken::new() }, found))
}
