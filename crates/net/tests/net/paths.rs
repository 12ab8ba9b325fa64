//! Which way is taken, and that reads do not notice when it changes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use farhold_net::{Connection, ContactState, NetConfig, Path, SessionState, Transport};
use farhold_wire::LaneClass;
use tokio::time::{sleep, timeout};

use crate::proxy::{Proxy, RelayProxy, Weather};
use crate::support::*;

fn on(path: Path, transport: Transport) -> impl Fn(&ContactState) -> bool {
    move |state| connection(state).is_some_and(|c: &Connection| (c.path, c.transport) == (path, transport))
}

/// Cannot be dialled.
fn closed(config: NetConfig) -> NetConfig {
    NetConfig { announce: Some(Vec::new()), ..config }
}

/// Two programs of which one can be reached through a proxy alone, and that share a relay which passes TCP.
async fn behind_a_proxy() -> (Arc<RelayProxy>, farhold_relay::RunningRelay, Node, Node, Proxy) {
    let relay = relay();
    let relay_proxy = RelayProxy::before(&address(&relay)).await;
    // The port is known only once the program listens, and the proxy before.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let proxy = Proxy::before(SocketAddr::from(([127, 0, 0, 1], port))).await;
    let announce = Some(vec![proxy.address]);
    let reached = NetConfig { port, announce, ..config(&relay_proxy.address()) };
    let (a, b) = pair(closed(config(&relay_proxy.address())), reached).await;
    (relay_proxy, relay, a, b, proxy)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_udp_is_blocked_tcp_carries_all() {
    let (_relay_proxy, _relay, a, b, _proxy) = behind_a_proxy().await;
    a.net.connect(b.id()).unwrap();
    for (from, to) in [(&a, &b), (&b, &a)] {
        from.until(to, "on TCP", on(Path::Lan, Transport::Tcp)).await;
        for class in [LaneClass::Urgent, LaneClass::Bulk] {
            read(&from.peer(to), 5, 1 << 20, class).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_the_relay_passes_only_udp_quic_goes_through_it() {
    let relay = relay();
    let proxy = RelayProxy::before(&address(&relay)).await;
    proxy.bridge.turns(Weather::Silent);
    proxy.bridge.udp_turns(Weather::Fine);
    let (a, b) = pair(relayed(&proxy.address()), relayed(&proxy.address())).await;
    a.net.connect(b.id()).unwrap();
    for (from, to) in [(&a, &b), (&b, &a)] {
        from.until(to, "relayed by QUIC", on(Path::Relayed, Transport::Quic)).await;
        for class in [LaneClass::Urgent, LaneClass::Bulk] {
            read(&from.peer(to), 5, 4 << 20, class).await.unwrap();
        }
    }
    // The flow is kept, and calls wait out a silence on it.
    proxy.bridge.udp_turns(Weather::Silent);
    let peer = a.peer(&b);
    let waiting = tokio::spawn(async move { read(&peer, 5 << 20, 1 << 20, LaneClass::Bulk).await });
    sleep(Duration::from_secs(3)).await;
    proxy.bridge.udp_turns(Weather::Fine);
    timeout(PATIENCE, waiting).await.unwrap().unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_who_cannot_be_dialled_punch_their_way() {
    let relay = relay();
    // What the relay sees is all that is known of either; on one machine what comes of it is called a LAN.
    let make = || closed(config(&address(&relay)));
    for side in 0..2 {
        let (a, b) = pair(make(), make()).await;
        let (one, other) = if side == 0 { (&a, &b) } else { (&b, &a) };
        one.net.connect(other.id()).unwrap();
        for (from, to) in [(&a, &b), (&b, &a)] {
            from.until(to, "punched", on(Path::Lan, Transport::Quic)).await;
            read(&from.peer(to), 5, 1 << 20, LaneClass::Bulk).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_go_on_while_the_session_moves_from_the_relay_to_a_straight_way_and_back() {
    for transport in [Transport::Tcp, Transport::Quic] {
        let (_relay_proxy, _relay, a, b, proxy) = behind_a_proxy().await;
        proxy.turns(Weather::Silent);
        a.net.connect(b.id()).unwrap();
        for (from, to) in [(&a, &b), (&b, &a)] {
            from.until(to, "relayed", on(Path::Relayed, Transport::Tcp)).await;
        }
        let readers: Vec<_> = [LaneClass::Urgent, LaneClass::Bulk]
            .into_iter()
            .flat_map(|class| [(a.peer(&b), class), (b.peer(&a), class)])
            .map(|(peer, class)| {
                tokio::spawn(async move {
                    for index in 0..60 {
                        read(&peer, (index % 15) << 22, 4 << 20, class).await?;
                        sleep(Duration::from_millis(50)).await;
                    }
                    Ok::<_, farhold_net::PeerError>(())
                })
            })
            .collect();
        match transport {
            Transport::Tcp => proxy.turns(Weather::Fine),
            Transport::Quic => proxy.udp_turns(Weather::Fine),
        }
        let mut state = a.net.state(b.id()).unwrap();
        let moved = async {
            loop {
                let now = state.borrow_and_update().clone();
                assert!(!matches!(now.session, SessionState::Interrupted { .. }), "without a pause");
                if on(Path::Lan, transport)(&now) {
                    return;
                }
                state.changed().await.unwrap();
            }
        };
        timeout(PATIENCE * 2, moved).await.expect("moved to the straight way");
        b.until(&a, "moved too", on(Path::Lan, transport)).await;
        // The straight way is lost.
        proxy.turns(Weather::Silent);
        proxy.udp_turns(Weather::Silent);
        proxy.cut();
        for (from, to) in [(&a, &b), (&b, &a)] {
            from.until(to, "relayed again", on(Path::Relayed, Transport::Tcp)).await;
        }
        let missing = connection(&a.state(&b)).unwrap().missing.clone();
        assert!(missing.iter().all(|way| !way.reason.is_empty()), "{missing:?}");
        for reader in readers {
            timeout(PATIENCE * 2, reader).await.unwrap().unwrap().unwrap();
        }
    }
}
