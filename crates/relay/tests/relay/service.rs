//! Health, metrics, starting and stopping.

use std::net::SocketAddr;
use std::time::Duration;

use farhold_relay::{Rate, RelayConfig, RelayError, RelayServer};
use farhold_wire::bridge::BridgeSide::{One, Zero};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tonic::Code;

use crate::support::*;

#[tokio::test]
async fn health_and_metrics() {
    let relay = start(|_| {});
    let http = relay.addresses().http;
    assert_eq!(get(http, "/health").await, ("HTTP/1.1 200 OK".into(), "ok\n".into()));
    assert_eq!(get(http, "/other").await.0, "HTTP/1.1 404 Not Found");

    let mut client = client(HOME, &relay).await;
    client.post(post(1, 1, b"four", 60)).await.unwrap();
    let _events = client.watch(watch(&[1, 2])).await.unwrap();
    let mut a = dial(HOME, &relay, &call(1, Zero)).await;
    let mut b = dial(HOME, &relay, &call(1, One)).await;
    paired(&mut a).await;
    paired(&mut b).await;
    let _parked = dial(HOME, &relay, &call(2, Zero)).await;
    until(|| async { metric(&relay, "parked_legs").await == 1 }).await;
    for (name, value) in [
        ("connections{port=\"rendezvous\"}", 1),
        ("connections{port=\"bridge\"}", 3),
        ("connections_total{port=\"bridge\"}", 3),
        ("tokens", 1),
        ("posts", 1),
        ("posts_total", 1),
        ("post_bytes", 4),
        ("watches", 1),
        ("watched_tokens", 2),
        ("pairs", 1),
        ("pairs_total", 1),
    ] {
        assert_eq!(metric(&relay, name).await, value, "{name}");
    }
    relay.stop().await;
}

#[tokio::test]
async fn metrics_are_well_formed_and_name_nobody() {
    let relay = start(|_| {});
    let mut client = client(HOME, &relay).await;
    client.post(post(0xab, 1, b"blob", 60)).await.unwrap();
    let (_, page) = get(relay.addresses().http, "/metrics").await;
    let mut metrics = 0;
    for line in page.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            assert!(comment.starts_with("HELP farhold_relay_") || comment.starts_with("TYPE farhold_relay_"));
            continue;
        }
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(name.starts_with("farhold_relay_"), "{line}");
        value.parse::<u64>().unwrap();
        metrics += 1;
    }
    assert!(metrics > 20);
    assert!(!page.contains("127.0.0.1") && !page.contains("abab"));
    relay.stop().await;
}

#[tokio::test]
async fn three_ports_in_a_row_and_a_second_relay_is_told_that_they_are_taken() {
    // Some other program may have one of the ports, so several are tried.
    let relay = (0..50).find_map(|attempt| {
        let listen: SocketAddr = ([127, 0, 0, 1], 41_480 + attempt * 3).into();
        RelayServer::start(RelayConfig { listen: Some(listen), ..RelayConfig::default() }).ok()
    });
    let relay = relay.expect("no three free ports");
    let at = relay.addresses();
    assert_eq!((at.bridge.port(), at.http.port()), (at.grpc.port() + 1, at.grpc.port() + 2));

    let second = RelayServer::start(RelayConfig { listen: Some(at.grpc), ..RelayConfig::default() });
    assert!(matches!(second, Err(RelayError::Listen { address, .. }) if address == at.grpc));
    relay.stop().await;
    // Its ports are free again at once.
    RelayServer::start(RelayConfig { listen: Some(at.grpc), ..RelayConfig::default() }).unwrap().stop().await;
}

#[tokio::test]
async fn a_port_without_room_above_is_refused() {
    let listen = Some("127.0.0.1:65534".parse().unwrap());
    let refused = RelayServer::start(RelayConfig { listen, ..RelayConfig::default() });
    assert!(matches!(refused, Err(RelayError::PortTooHigh(65534))));
}

#[tokio::test]
async fn stop_ends_watches_with_a_status_and_parked_legs_at_once() {
    let relay = start(|config| config.timings.drain = Duration::from_secs(60));
    let at = relay.addresses();
    let mut client = client(HOME, &relay).await;
    let mut events = client.watch(watch(&[1])).await.unwrap().into_inner();
    event(&mut events).await;
    let mut parked = dial(HOME, &relay, &call(1, Zero)).await;
    until(|| async { metric(&relay, "parked_legs").await == 1 }).await;

    // Well before the 60 s that spliced pairs would have.
    soon(relay.stop()).await;
    assert_eq!(soon(events.message()).await.unwrap_err().code(), Code::Unavailable);
    closed(&mut parked).await;
    for address in [at.grpc, at.bridge, at.http] {
        assert!(TcpStream::connect(address).await.is_err());
    }
}

#[tokio::test]
async fn stop_leaves_spliced_pairs_time_to_finish() {
    let relay = start(|config| config.timings.drain = Duration::from_secs(60));
    let mut a = dial(HOME, &relay, &call(1, Zero)).await;
    let mut b = dial(HOME, &relay, &call(1, One)).await;
    paired(&mut a).await;
    paired(&mut b).await;
    let stopping = tokio::spawn(relay.stop());
    tokio::time::sleep(Duration::from_millis(200)).await;
    talk(&mut a, &mut b).await;
    assert!(!stopping.is_finished());
    a.shutdown().await.unwrap();
    b.shutdown().await.unwrap();
    soon(stopping).await.unwrap();
}

#[tokio::test]
async fn stop_cuts_what_does_not_end_by_itself() {
    let relay = start(|config| config.timings.drain = Duration::from_millis(300));
    let mut a = dial(HOME, &relay, &call(1, Zero)).await;
    let mut b = dial(HOME, &relay, &call(1, One)).await;
    paired(&mut a).await;
    paired(&mut b).await;
    let mut silent_grpc = connect(HOME, relay.addresses().grpc).await;
    let mut silent_http = connect(HOME, relay.addresses().http).await;
    until(|| async { metric(&relay, "connections{port=\"rendezvous\"}").await == 1 }).await;

    soon(relay.stop()).await;
    closed(&mut a).await;
    closed(&mut b).await;
    // A server may still say goodbye in its own protocol.
    let mut heard = Vec::new();
    let _ = soon(silent_grpc.read_to_end(&mut heard)).await;
    let _ = soon(silent_http.read_to_end(&mut heard)).await;
}

#[tokio::test]
async fn a_dropped_relay_is_gone() {
    let relay = start(|_| {});
    let at = relay.addresses();
    let mut parked = dial(HOME, &relay, &call(1, Zero)).await;
    drop(relay);
    closed(&mut parked).await;
    until(|| async { TcpStream::connect(at.bridge).await.is_err() }).await;
}

/// The manual says what is so.
#[tokio::test]
async fn the_manual_names_every_metric_and_the_default_limits() {
    let manual = include_str!("../../../../docs/relay.md");
    let relay = start(|_| {});
    let (_, page) = get(relay.addresses().http, "/metrics").await;
    for line in page.lines().filter(|line| !line.starts_with('#')) {
        let name = line.trim_start_matches("farhold_relay_").split([' ', '{']).next().unwrap();
        assert!(manual.contains(&format!("`{name}`")), "{name} is not in the manual");
        if let Some((_, cause)) = line.split_once("cause=\"") {
            let cause = cause.split('"').next().unwrap();
            assert!(manual.contains(&format!("`{cause}`")), "the cause {cause} is not in the manual");
        }
    }
    relay.stop().await;

    let RelayConfig { limits, timings, .. } = RelayConfig::default();
    for (what, limit) in [
        ("connections to the rendezvous", limits.rendezvous_connections),
        ("connections to the bridge, spliced ones included", limits.bridge_connections),
        ("parked legs", limits.parked_legs),
        ("connections to health and metrics", limits.http_connections),
        ("posts", limits.posts),
        ("bytes of posts", limits.post_bytes),
        ("watches", limits.watches),
        ("watched tokens", limits.watched_tokens),
        ("watches of one token", limits.token_watches),
        ("sides of UDP flows", limits.udp_sides),
    ] {
        let row = format!("| {what} | {} | {} |\n", limit.total, limit.per_source);
        assert!(manual.contains(&row), "{row} is not in the manual");
    }
    let Rate { every, burst } = limits.post_rate;
    let rate = format!("posts {} times a second, and up to {burst} times at once", 1000 / every.as_millis());
    assert!(manual.contains(&rate), "{rate} is not in the manual");
    let Rate { every, burst } = limits.udp_request_rate;
    let rate =
        format!("asks {} times a second over UDP, and up to {burst} times at once", 1000 / every.as_millis());
    assert!(manual.contains(&rate), "{rate} is not in the manual");
    let rate = format!("A source sends at most {} MB a second", limits.source_bytes_per_second / 1_000_000);
    assert!(manual.contains(&rate), "{rate} is not in the manual");
    for (what, time) in [
        ("for the HTTP/2 preface or the bridge call", timings.opening),
        ("for a whole call, or a whole connection to health and metrics", timings.call),
        ("between two pings of the rendezvous, and for the answer to one", timings.keepalive),
        ("for the partner of a leg", timings.parked),
        ("for a byte in either direction of a spliced pair", timings.idle),
        ("for a side of a UDP flow to join again", timings.udp_side),
    ] {
        let row = format!("| {what} | {} s |\n", time.as_secs());
        assert!(manual.contains(&row), "{row} is not in the manual");
    }
}
