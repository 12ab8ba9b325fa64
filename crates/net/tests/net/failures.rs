use std::time::Duration;

use farhold_net::{OfflineReason, PeerError, RelayState, SessionState};
use farhold_relay::{RelayConfig, RelayServer};
use farhold_wire::LaneClass;
use tokio::time::{Instant, sleep, timeout};

use crate::proxy::{RelayProxy, Weather};
use crate::support::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_restarts_is_found_again_within_fifteen_seconds() {
    // With a port of its own a relay takes the two above it as well, so it can return to all three.
    let at = |port| RelayConfig { listen: Some(([127, 0, 0, 1], port).into()), ..RelayConfig::default() };
    let (port, relay) =
        (20_000..).step_by(7).find_map(|port| Some((port, RelayServer::start(at(port)).ok()?))).unwrap();
    let (a, b) = pair(relayed(&address(&relay)), relayed(&address(&relay))).await;
    a.net.connect(b.id()).unwrap();
    a.connected(&b).await;
    relay.stop().await;
    let mut state = a.net.relay();
    timeout(PATIENCE, state.wait_for(|state| matches!(state, RelayState::Unreachable { .. })))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(a.state(&b).present, Some(true), "an error of the relay says nothing of the contact");
    sleep(Duration::from_secs(1)).await;
    let relay = RelayServer::start(at(port)).unwrap();
    let back = Instant::now();
    a.connected(&b).await;
    assert!(back.elapsed() < Duration::from_secs(15));
    read(&a.peer(&b), 0, 1 << 20, LaneClass::Bulk).await.unwrap();
    drop(relay);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_relay_a_direct_session_goes_on() {
    let relay = relay();
    let (a, b) = pair(config(&address(&relay)), config(&address(&relay))).await;
    a.net.connect(b.id()).unwrap();
    a.until(&b, "direct", |state| connection(state).is_some_and(|c| c.path != farhold_net::Path::Relayed))
        .await;
    drop(relay);
    for offset in 0..10 {
        read(&a.peer(&b), offset << 20, 1 << 20, LaneClass::Bulk).await.unwrap();
        sleep(Duration::from_millis(100)).await;
    }
    assert!(connection(&a.state(&b)).is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_wait_out_a_silence_and_go_on() {
    let relay = relay();
    let proxy = RelayProxy::before(&address(&relay)).await;
    let (a, b) = pair(relayed(&address(&relay)), relayed(&proxy.address())).await;
    a.net.connect(b.id()).unwrap();
    a.connected(&b).await;
    let peer = a.peer(&b);
    read(&peer, 0, 1 << 20, LaneClass::Bulk).await.unwrap();
    for (silence, interrupted) in [(2, false), (12, true)] {
        proxy.turns(Weather::Silent);
        let calls = [LaneClass::Urgent, LaneClass::Bulk].map(|class| {
            let peer = peer.clone();
            tokio::spawn(async move { read(&peer, 5 << 20, 1 << 20, class).await })
        });
        sleep(Duration::from_secs(silence)).await;
        assert_eq!(
            matches!(a.state(&b).session, SessionState::Interrupted { .. }),
            interrupted,
            "{silence} s"
        );
        proxy.turns(Weather::Fine);
        let back = Instant::now();
        for call in calls {
            timeout(PATIENCE, call).await.unwrap().unwrap().unwrap();
        }
        a.connected(&b).await;
        assert!(back.elapsed() < Duration::from_secs(5), "{:?}", back.elapsed());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_is_reset_is_made_again_and_reads_go_on_where_they_were() {
    let relay = relay();
    let proxy = RelayProxy::before(&address(&relay)).await;
    let (a, b) = pair(relayed(&address(&relay)), relayed(&proxy.address())).await;
    a.net.connect(b.id()).unwrap();
    a.connected(&b).await;
    let peer = a.peer(&b);
    let reads = tokio::spawn(async move {
        for offset in 0..16 {
            let class = if offset % 2 == 0 { LaneClass::Bulk } else { LaneClass::Urgent };
            read(&peer, offset << 20, 4 << 20, class).await?;
        }
        Ok::<_, PeerError>(())
    });
    for _ in 0..3 {
        sleep(Duration::from_millis(300)).await;
        proxy.bridge.cut();
    }
    timeout(PATIENCE, reads).await.unwrap().unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_contact_that_is_gone_fails_calls_within_ten_seconds() {
    let relay = relay();
    let proxy = RelayProxy::before(&address(&relay)).await;
    let (a, b) = pair(relayed(&address(&relay)), relayed(&proxy.address())).await;
    a.net.connect(b.id()).unwrap();
    a.connected(&b).await;
    // As if its program were killed: its connections are closed, and nothing more comes of it.
    proxy.turns(Weather::Silent);
    proxy.bridge.cut();
    proxy.rendezvous.cut();
    let gone = Instant::now();
    sleep(Duration::from_millis(100)).await;
    let failed = timeout(PATIENCE, read(&a.peer(&b), 0, 1, LaneClass::Urgent)).await.unwrap();
    assert_eq!(failed, Err(PeerError::Offline));
    assert!(gone.elapsed() < Duration::from_secs(10), "{:?}", gone.elapsed());
    a.offline(&b, OfflineReason::Closed).await;
    // And from now on at once.
    let asked = Instant::now();
    assert_eq!(read(&a.peer(&b), 0, 1, LaneClass::Bulk).await, Err(PeerError::Offline));
    assert!(asked.elapsed() < Duration::from_secs(1));
    proxy.turns(Weather::Fine);
    let back = Instant::now();
    a.connected(&b).await;
    assert!(back.elapsed() < Duration::from_secs(7), "{:?}", back.elapsed());
    read(&a.peer(&b), 0, 1, LaneClass::Bulk).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_contact_does_not_hold_up_another() {
    let relay = relay();
    let proxy = RelayProxy::before(&address(&relay)).await;
    let (a, b) = pair(relayed(&address(&relay)), relayed(&proxy.address())).await;
    let c = Node::start(config(&address(&relay))).await;
    a.knows(&c, [6; 32]);
    c.knows(&a, [6; 32]);
    for other in [&b, &c] {
        a.net.connect(other.id()).unwrap();
        a.connected(other).await;
    }
    proxy.turns(Weather::Silent);
    let stuck: Vec<_> = (0..50)
        .map(|index| {
            let peer = a.peer(&b);
            tokio::spawn(async move { read(&peer, index << 20, 1 << 20, LaneClass::Bulk).await })
        })
        .collect();
    sleep(Duration::from_millis(200)).await;
    for offset in 0..20 {
        let asked = Instant::now();
        read(&a.peer(&c), offset << 10, 1 << 10, LaneClass::Urgent).await.unwrap();
        assert!(asked.elapsed() < Duration::from_secs(3), "{:?}", asked.elapsed());
    }
    for task in stuck {
        task.abort();
    }
}
