use std::time::Duration;

use farhold_net::{OfflineReason, Path, RelayState, RelayTestError, test_relay};
use farhold_wire::{Change, LaneClass, Name, Position};
use futures_util::StreamExt;
use tokio::time::{Instant, sleep};

use crate::support::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn saved_contacts_connect_and_call_each_other() {
    let relay = relay();
    for (make, path) in [(config as fn(&_) -> _, Path::Lan), (relayed, Path::Relayed)] {
        let (a, b) = pair(make(&address(&relay)), make(&address(&relay))).await;
        a.net.connect(b.id()).unwrap();
        a.until(&b, "on the best path", |state| connection(state).is_some_and(|c| c.path == path)).await;
        b.connected(&a).await;
        for (from, to) in [(&a, &b), (&b, &a)] {
            let peer = from.peer(to);
            for class in [LaneClass::Urgent, LaneClass::Bulk] {
                read(&peer, 12345, 4 << 20, class).await.unwrap();
                read(&peer, 0, 0, class).await.unwrap();
                read(&peer, 77, 1, class).await.unwrap();
            }
            let name = Name::new("file").unwrap();
            assert_eq!(peer.lookup(None, name.clone()).await, Ok(Some(file())));
            assert_eq!(peer.lookup(None, Name::new("other").unwrap()).await, Ok(None));
            assert_eq!(peer.list(FILE).await.unwrap().len(), 3000);
            let from = Position { epoch: 1, sequence: 41 };
            let batch = peer.changes(Some(from)).await.unwrap().next().await.unwrap().unwrap();
            assert_eq!(batch.position.sequence, 42);
            assert_eq!(batch.changes, [Change::Put(file())]);
        }
        a.net.stop().await;
        b.net.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_pairing_of_machines_with_and_without_aes_works_whoever_connects() {
    let relay = relay();
    for aes in [(true, true), (true, false), (false, true), (false, false)] {
        let config = config(&address(&relay));
        let a = farhold_net::NetConfig { hardware_aes: Some(aes.0), ..config.clone() };
        let b = farhold_net::NetConfig { hardware_aes: Some(aes.1), ..config };
        let (a, b) = pair(a, b).await;
        for (from, to) in [(&a, &b), (&b, &a)] {
            // Whoever disconnected before refuses until it connects too.
            to.net.connect(from.id()).unwrap();
            from.net.connect(to.id()).unwrap();
            from.connected(to).await;
            read(&from.peer(to), 0, 1 << 20, LaneClass::Bulk).await.unwrap();
            from.net.disconnect(to.id()).unwrap();
            to.parted(from).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_may_connect_at_any_offset() {
    let relay = relay();
    for make in [config, relayed] {
        for offset in [0, 1, 3, 10, 30, 100, 300] {
            let (a, b) = pair(make(&address(&relay)), make(&address(&relay))).await;
            a.net.connect(b.id()).unwrap();
            sleep(Duration::from_millis(offset)).await;
            b.net.connect(a.id()).unwrap();
            tokio::join!(a.connected(&b), b.connected(&a));
            let (to_b, to_a) = (a.peer(&b), b.peer(&a));
            let (one, other) =
                tokio::join!(read(&to_b, 0, 99, LaneClass::Urgent), read(&to_a, 0, 99, LaneClass::Bulk));
            one.and(other).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_lanes_of_a_session_stand_and_count_their_bytes() {
    let relay = relay();
    let (a, b) = pair(config(&address(&relay)), config(&address(&relay))).await;
    a.net.connect(b.id()).unwrap();
    let whole = |state: &farhold_net::ContactState| {
        connection(state)
            .is_some_and(|c| c.lanes.len() == 7 && c.lanes.iter().all(|lane| lane.missing.is_none()))
    };
    a.until(&b, "with all lanes", whole).await;
    b.until(&a, "with all lanes", whole).await;
    a.until(&b, "measured", |state| connection(state).is_some_and(|c| c.rtt.is_some())).await;
    let peer = a.peer(&b);
    let before = a.net.counters().received();
    for offset in 0..8 {
        read(&peer, offset << 20, 1 << 20, LaneClass::Bulk).await.unwrap();
    }
    let received = a.net.counters().received() - before;
    assert!(((8 << 20)..=(8 << 20) * 103 / 100).contains(&received), "{received} bytes for 8 MiB");
    let lanes = a.connected(&b).await.lanes;
    let bulk: u64 =
        lanes.iter().filter(|l| l.class == Some(LaneClass::Bulk)).map(|l| l.wire.received()).sum();
    assert!(bulk >= 8 << 20);
    assert!(lanes.iter().all(|lane| lane.wire.sent() > 0), "{lanes:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn disconnecting_keeps_us_present_and_refuses_until_connect() {
    let relay = relay();
    let (a, b) = pair(config(&address(&relay)), config(&address(&relay))).await;
    a.net.connect(b.id()).unwrap();
    a.connected(&b).await;
    b.connected(&a).await;
    b.net.disconnect(a.id()).unwrap();
    b.offline(&a, OfflineReason::Disconnected).await;
    a.offline(&b, OfflineReason::PeerDisconnected).await;
    assert!(matches!(read(&a.peer(&b), 0, 1, LaneClass::Urgent).await, Err(farhold_net::PeerError::Offline)));
    a.net.connect(b.id()).unwrap();
    a.offline(&b, OfflineReason::Refused).await;
    for (one, other) in [(&a, &b), (&b, &a)] {
        one.until(other, "present", |state| state.present == Some(true)).await;
    }
    b.net.connect(a.id()).unwrap();
    a.connected(&b).await;
    read(&a.peer(&b), 0, 1, LaneClass::Urgent).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_stops_says_so_and_is_found_again() {
    let relay = relay();
    let (a, b) = pair(config(&address(&relay)), relayed(&address(&relay))).await;
    a.net.connect(b.id()).unwrap();
    a.connected(&b).await;
    b.connected(&a).await;
    b.net.stop().await;
    a.offline(&b, OfflineReason::PeerStopped).await;
    a.until(&b, "absent", |state| state.present == Some(false)).await;
    let again =
        Node::with(config(&address(&relay)), b.identity.clone(), std::sync::Arc::new(Files::default())).await;
    again.knows(&a, [5; 32]);
    a.connected(&again).await;
    read(&a.peer(&again), 0, 1, LaneClass::Urgent).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_absent_contact_is_told_at_once() {
    let relay = relay();
    let a = Node::start(config(&address(&relay))).await;
    let nobody = Node::start(config(&address(&relay))).await;
    a.knows(&nobody, [5; 32]);
    a.until(&nobody, "known to be absent", |state| state.present == Some(false)).await;
    a.net.connect(nobody.id()).unwrap();
    a.offline(&nobody, OfflineReason::Absent).await;
    // It knows us only now.
    nobody.knows(&a, [5; 32]);
    a.connected(&nobody).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_contacts_at_once() {
    let relay = relay();
    let hub = Node::start(config(&address(&relay))).await;
    let mut others = Vec::new();
    for (index, make) in (0..).zip([config as fn(&_) -> _, relayed, config]) {
        let other = Node::start(make(&address(&relay))).await;
        hub.knows(&other, [index; 32]);
        other.knows(&hub, [index; 32]);
        other.net.connect(hub.id()).unwrap();
        others.push(other);
    }
    for other in &others {
        hub.connected(other).await;
        other.connected(&hub).await;
    }
    let reads = others.iter().flat_map(|other| {
        let (there, back) = (hub.peer(other), other.peer(&hub));
        (0..4).map(move |index| {
            let (there, back) = (there.clone(), back.clone());
            async move {
                read(&there, index << 20, 1 << 20, LaneClass::Bulk).await.unwrap();
                read(&back, index << 20, 1 << 20, LaneClass::Urgent).await.unwrap();
            }
        })
    });
    futures_util::future::join_all(reads).await;
    // One that leaves takes nobody along.
    hub.net.remove(others[0].id());
    others[0].offline(&hub, OfflineReason::PeerDisconnected).await;
    for other in &others[1..] {
        read(&hub.peer(other), 5, 5, LaneClass::Urgent).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_sessions_leave_no_task_behind() {
    let relay = relay();
    let (a, b) = pair(config(&address(&relay)), config(&address(&relay))).await;
    let mut base = 0;
    for cycle in 0..50 {
        a.net.connect(b.id()).unwrap();
        a.connected(&b).await;
        b.connected(&a).await;
        read(&a.peer(&b), 0, 1000, LaneClass::Bulk).await.unwrap();
        let (one, other) = if cycle % 2 == 0 { (&a, &b) } else { (&b, &a) };
        one.net.disconnect(other.id()).unwrap();
        other.parted(one).await;
        one.net.connect(other.id()).unwrap();
        other.connected(one).await;
        one.connected(other).await;
        other.net.disconnect(one.id()).unwrap();
        one.parted(other).await;
        if cycle == 0 {
            // Sessions on different ways have different tasks, so none may stand. Legs that lost the race wait for their
            // end for up to 10 s.
            sleep(Duration::from_secs(11)).await;
            base = tasks();
        }
        other.net.connect(one.id()).unwrap();
        one.connected(other).await;
    }
    a.net.disconnect(b.id()).unwrap();
    b.parted(&a).await;
    // A QUIC connection that was given up before its first packet had left stays at its other end until it has been
    // idle for 45 s.
    let patience = Instant::now() + Duration::from_secs(45) + PATIENCE;
    while tasks() > base {
        assert!(Instant::now() < patience, "{} tasks, more than {base}", tasks());
        sleep(Duration::from_millis(100)).await;
    }
}

fn tasks() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connecting_and_disconnecting_at_random_ends_as_asked() {
    let relay = relay();
    let (a, b) = pair(config(&address(&relay)), relayed(&address(&relay))).await;
    for step in 0..100u64 {
        let (one, other) = if step % 3 == 0 { (&b, &a) } else { (&a, &b) };
        match step % 2 {
            0 => one.net.connect(other.id()).unwrap(),
            _ => one.net.disconnect(other.id()).unwrap(),
        }
        sleep(Duration::from_millis(step * 7 % 40)).await;
    }
    a.net.connect(b.id()).unwrap();
    b.net.connect(a.id()).unwrap();
    a.connected(&b).await;
    b.connected(&a).await;
    read(&a.peer(&b), 0, 1 << 20, LaneClass::Urgent).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_relay_is_taken_over_and_sessions_outlive_the_change() {
    let (first, second) = (relay(), relay());
    let (a, b) = pair(relayed(&address(&first)), relayed(&address(&first))).await;
    a.net.connect(b.id()).unwrap();
    a.connected(&b).await;
    b.connected(&a).await;
    for node in [&a, &b] {
        node.net.set_relay(Some(address(&second)));
        let mut state = node.net.relay();
        state.wait_for(|state| matches!(state, RelayState::Connected)).await.unwrap();
    }
    read(&a.peer(&b), 0, 1 << 20, LaneClass::Bulk).await.unwrap();
    // The session went through the first one to its end; the next can only go through the second.
    first.stop().await;
    // Somebody who waits makes both notice soon.
    read(&a.peer(&b), 0, 1 << 20, LaneClass::Urgent).await.unwrap();
    a.connected(&b).await;
    assert_eq!(a.state(&b).present, Some(true));

    a.net.set_relay(None);
    a.net.relay().wait_for(|state| matches!(state, RelayState::None)).await.unwrap();
    read(&a.peer(&b), 0, 1 << 20, LaneClass::Bulk).await.unwrap();
    a.net.set_relay(Some(address(&second)));
    a.net.relay().wait_for(|state| matches!(state, RelayState::Connected)).await.unwrap();
    a.net.disconnect(b.id()).unwrap();
    a.offline(&b, OfflineReason::Disconnected).await;
    a.net.connect(b.id()).unwrap();
    a.connected(&b).await;
    a.net.stop().await;
    b.net.stop().await;
    second.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_own_network_is_used_once_that_is_allowed() {
    let relay = relay();
    let config = farhold_net::NetConfig { no_lan: true, ..config(&address(&relay)) };
    let (a, b) = pair(config.clone(), config).await;
    a.net.connect(b.id()).unwrap();
    let path = a.connected(&b).await.path;
    assert_eq!(path, Path::Relayed);
    a.net.set_lan(true);
    a.until(&b, "in one network", |state| connection(state).is_some_and(|c| c.path == Path::Lan)).await;
    a.net.stop().await;
    b.net.stop().await;
    relay.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_is_tested_by_a_call() {
    let relay = relay();
    test_relay(&address(&relay)).await.unwrap();
    let bridge = farhold_net::RelayAddress { port: relay.addresses().bridge.port(), ..address(&relay) };
    let error = test_relay(&bridge).await.unwrap_err();
    assert!(matches!(error, RelayTestError::NoRelay { .. } | RelayTestError::NoAnswer { .. }), "{error}");
    let closed = address(&relay);
    relay.stop().await;
    assert!(matches!(test_relay(&closed).await, Err(RelayTestError::Refused { .. })));
    let nowhere = farhold_net::RelayAddress { host: "nowhere.invalid".to_owned(), ..closed };
    let error = test_relay(&nowhere).await.unwrap_err();
    assert!(matches!(error, RelayTestError::NotFound { .. } | RelayTestError::NoAnswer { .. }), "{error}");
}
