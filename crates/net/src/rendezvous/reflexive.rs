//! From where the relay sees our UDP port: NATs give it another address and port, and forget that when nothing is said.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use farhold_secure::random;
use farhold_wire::datagram::{Datagram, RequestNonce};
use tokio::sync::{broadcast, watch};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::Relay;
use crate::config::RelayAddress;
use crate::contact::canonical;
use crate::network::Addresses;
use crate::quic::Endpoint;

/// NATs keep a flow for 30 s or longer (RFC 4787, section 4.3).
const EVERY: Duration = Duration::from_secs(20);
/// Before a question that was not answered is repeated, and how often it is asked.
const AGAIN: Duration = Duration::from_millis(500);
const TRIES: u32 = 4;
/// How long the name service may take.
const FOUND_WITHIN: Duration = Duration::from_secs(4);

/// Keeps `outer` up to date until cancelled, and lets QUIC know when our addresses change.
pub(crate) async fn follow(
    endpoint: Endpoint,
    relay: Arc<Relay>,
    mut addresses: watch::Receiver<Addresses>,
    outer: watch::Sender<Vec<SocketAddr>>,
    cancel: CancellationToken,
) {
    let following = async {
        let mut datagrams = endpoint.datagrams();
        let mut wanted = relay.address.subscribe();
        loop {
            let address = wanted.borrow_and_update().clone();
            let found = match &address {
                Some(address) => find(address).await,
                None => Vec::new(),
            };
            let now = ask(&endpoint, &mut datagrams, &found).await;
            outer.send_if_modified(|before| {
                let changed = *before != now;
                *before = now;
                changed
            });
            tokio::select! {
                () = sleep(EVERY) => {}
                Ok(()) = wanted.changed() => {}
                Ok(()) = addresses.changed() => endpoint.network_changed(),
            }
        }
    };
    cancel.run_until_cancelled(following).await;
}

/// The relay's UDP port, of each address family at one address.
async fn find(relay: &RelayAddress) -> Vec<SocketAddr> {
    let lookup = tokio::net::lookup_host((relay.host.as_str(), relay.bridge_port));
    let Ok(Ok(found)) = timeout(FOUND_WITHIN, lookup).await else { return Vec::new() };
    let (v6, v4): (Vec<_>, Vec<_>) = found.map(canonical).partition(SocketAddr::is_ipv6);
    v6.into_iter().take(1).chain(v4.into_iter().take(1)).collect()
}

/// What the relay answers at each of its addresses.
async fn ask(
    endpoint: &Endpoint,
    datagrams: &mut broadcast::Receiver<(SocketAddr, Bytes)>,
    relays: &[SocketAddr],
) -> Vec<SocketAddr> {
    // Without random numbers the next round asks.
    let Ok(nonce) = random::array() else { return Vec::new() };
    let question = Datagram::Where { nonce }.encode();
    let mut answers = vec![None; relays.len()];
    for _ in 0..TRIES {
        for (relay, _) in relays.iter().zip(&answers).filter(|(_, answer)| answer.is_none()) {
            endpoint.send(&question, *relay);
        }
        let until = Instant::now() + AGAIN;
        while answers.contains(&None) {
            let Ok((relay, address)) = timeout_at(until, answer(datagrams, nonce)).await else { break };
            for (_, answer) in relays.iter().zip(&mut answers).filter(|(asked, _)| **asked == relay) {
                *answer = Some(address);
            }
        }
    }
    answers.into_iter().flatten().collect()
}

/// The next answer, and who gave it.
async fn answer(
    datagrams: &mut broadcast::Receiver<(SocketAddr, Bytes)>,
    asked: RequestNonce,
) -> (SocketAddr, SocketAddr) {
    loop {
        match datagrams.recv().await {
            Ok((from, bytes)) => {
                if let Ok(Datagram::Here { nonce, address }) = Datagram::decode(&bytes)
                    && nonce == asked
                {
                    return (canonical(from), canonical(address));
                }
            }
            Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
        }
    }
}
