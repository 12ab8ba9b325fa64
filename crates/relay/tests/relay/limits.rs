//! Floods and slow callers: they meet their limits, and somebody else is served all the same.

use std::time::Duration;

use farhold_relay::{Limit, Rate};
use farhold_wire::bridge::BridgeSide::{One, Zero};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tonic::Code;

use crate::support::*;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const EMPTY_SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
const PING: u8 = 6;

#[tokio::test]
async fn a_source_that_floods_with_posts_leaves_room_for_others() {
    let relay = start(|config| config.limits.posts = Limit::new(20, 10));
    let (mut flooder, mut good) = (client(HOME, &relay).await, client(AWAY, &relay).await);
    let mut refused = 0;
    for token in 0..30 {
        refused += usize::from(code(flooder.post(post(token, 1, b"x", 60)).await) == Code::ResourceExhausted);
    }
    assert_eq!(refused, 20);
    good.post(post(100, 1, b"good", 60)).await.unwrap();
    assert_eq!(metric(&relay, "posts").await, 11);
    assert_eq!(metric(&relay, "calls_refused_total{cause=\"source_full\"}").await, 20);
    relay.stop().await;
}

#[tokio::test]
async fn a_source_that_floods_with_bytes_leaves_room_for_others() {
    let relay = start(|config| config.limits.post_bytes = Limit::new(20_000, 10_000));
    let (mut flooder, mut good) = (client(HOME, &relay).await, client(AWAY, &relay).await);
    for token in 0..2 {
        flooder.post(post(token, 1, &[1; 4096], 60)).await.unwrap();
    }
    assert_eq!(code(flooder.post(post(3, 1, &[1; 4096], 60)).await), Code::ResourceExhausted);
    good.post(post(100, 1, &[1; 4096], 60)).await.unwrap();
    assert_eq!(metric(&relay, "post_bytes").await, 3 * 4096);
    relay.stop().await;
}

#[tokio::test]
async fn a_source_that_posts_too_often_is_refused_and_others_are_not() {
    let relay = start(|config| config.limits.post_rate = Rate { every: Duration::from_secs(600), burst: 5 });
    let (mut flooder, mut good) = (client(HOME, &relay).await, client(AWAY, &relay).await);
    let mut refused = 0;
    for number in 0..8 {
        refused +=
            usize::from(code(flooder.post(post(1, 1, &[number], 60)).await) == Code::ResourceExhausted);
    }
    assert_eq!(refused, 3);
    good.post(post(1, 2, b"good", 60)).await.unwrap();
    assert_eq!(metric(&relay, "calls_refused_total{cause=\"too_fast\"}").await, 3);
    relay.stop().await;
}

#[tokio::test]
async fn a_token_has_so_many_watches_and_those_that_end_make_room() {
    let relay = start(|config| config.limits.token_watches = Limit::new(3, 2));
    let (mut flooder, mut good) = (client(HOME, &relay).await, client(AWAY, &relay).await);
    let first = flooder.watch(watch(&[1, 2])).await.unwrap();
    let _second = flooder.watch(watch(&[1])).await.unwrap();
    assert_eq!(code(flooder.watch(watch(&[3, 1])).await), Code::ResourceExhausted);
    let _third = good.watch(watch(&[1])).await.unwrap();
    assert_eq!(code(good.watch(watch(&[1])).await), Code::ResourceExhausted);
    let _other = flooder.watch(watch(&[2, 3])).await.unwrap();
    assert_eq!(metric(&relay, "calls_refused_total{cause=\"watches_taken\"}").await, 2);

    drop(first);
    until(|| {
        let mut good = good.clone();
        async move { good.watch(watch(&[1])).await.is_ok() }
    })
    .await;
    relay.stop().await;
}

#[tokio::test]
async fn a_source_has_so_many_watches_and_those_that_end_make_room() {
    let relay = start(|config| {
        config.limits.watches = Limit::new(10, 2);
        config.limits.watched_tokens = Limit::new(20, 6);
    });
    let (mut flooder, mut good) = (client(HOME, &relay).await, client(AWAY, &relay).await);
    let first = flooder.watch(watch(&[1, 2, 3])).await.unwrap();
    assert_eq!(code(flooder.watch(watch(&[1, 2, 3, 4])).await), Code::ResourceExhausted);
    let _second = flooder.watch(watch(&[1, 2, 3])).await.unwrap();
    assert_eq!(code(flooder.watch(watch(&[])).await), Code::ResourceExhausted);
    good.watch(watch(&[1, 2, 3])).await.unwrap();

    drop(first);
    until(|| {
        let mut flooder = flooder.clone();
        async move { flooder.watch(watch(&[1])).await.is_ok() }
    })
    .await;
    relay.stop().await;
}

#[tokio::test]
async fn a_source_that_floods_with_connections_leaves_room_for_others() {
    let relay = start(|config| {
        config.limits.rendezvous_connections = Limit::new(100, 8);
        config.limits.bridge_connections = Limit::new(100, 8);
        config.limits.http_connections = Limit::new(100, 8);
    });
    let at = relay.addresses();
    let mut held = Vec::new();
    for address in [at.grpc, at.bridge] {
        for _ in 0..8 {
            held.push(connect(HOME, address).await);
        }
        for _ in 0..20 {
            closed(&mut connect(HOME, address).await).await;
        }
    }
    let mut good = client(AWAY, &relay).await;
    good.post(post(1, 1, b"good", 60)).await.unwrap();
    let mut a = dial(AWAY, &relay, &call(1, Zero)).await;
    let mut b = dial(AWAY, &relay, &call(1, One)).await;
    paired(&mut a).await;
    paired(&mut b).await;
    assert_eq!(metric(&relay, "connections_refused_total{port=\"rendezvous\"}").await, 20);
    assert_eq!(metric(&relay, "connections_refused_total{port=\"bridge\"}").await, 20);

    // A closed connection makes room.
    held.clear();
    until(|| async { metric(&relay, "connections{port=\"bridge\"}").await == 2 }).await;
    let mut c = dial(HOME, &relay, &call(2, Zero)).await;
    let mut d = dial(HOME, &relay, &call(2, One)).await;
    paired(&mut c).await;
    paired(&mut d).await;
    relay.stop().await;
}

#[tokio::test]
async fn a_source_that_floods_with_legs_leaves_room_for_others() {
    let relay = start(|config| config.limits.parked_legs = Limit::new(20, 10));
    let mut parked = Vec::new();
    for token in 0..10 {
        parked.push(dial(HOME, &relay, &call(token, Zero)).await);
    }
    until(|| async { metric(&relay, "parked_legs").await == 10 }).await;
    for token in 10..30 {
        closed(&mut dial(HOME, &relay, &call(token, Zero)).await).await;
    }
    let mut a = dial(AWAY, &relay, &call(100, Zero)).await;
    let mut b = dial(AWAY, &relay, &call(100, One)).await;
    paired(&mut a).await;
    paired(&mut b).await;
    assert_eq!(metric(&relay, "legs_ended_total{cause=\"source_full\"}").await, 20);
    relay.stop().await;
}

#[tokio::test]
async fn a_caller_of_the_rendezvous_that_is_silent_or_drips_is_cut() {
    let relay = start(|config| config.timings.opening = Duration::from_millis(500));
    let mut silent = connect(HOME, relay.addresses().grpc).await;
    let mut dripping = connect(HOME, relay.addresses().grpc).await;
    soon(async {
        for byte in &PREFACE[..PREFACE.len() - 1] {
            if dripping.write_all(&[*byte]).await.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    ended(&mut dripping).await;
    ended(&mut silent).await;
    until(|| async { metric(&relay, "connections{port=\"rendezvous\"}").await == 0 }).await;
    relay.stop().await;
}

/// Waits for the end of a connection, whatever is said before.
async fn ended(stream: &mut TcpStream) {
    let mut heard = Vec::new();
    let _ = soon(stream.read_to_end(&mut heard)).await;
}

/// Reads HTTP/2 frames up to the next ping that is no answer, and gives its payload.
async fn next_ping(stream: &mut TcpStream) -> std::io::Result<[u8; 8]> {
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await?;
        let mut body = vec![0; usize::from(head[1]) << 8 | usize::from(head[2])];
        stream.read_exact(&mut body).await?;
        if head[3] == PING && head[4] == 0 {
            return Ok(body.try_into().unwrap());
        }
    }
}

#[tokio::test]
async fn an_idle_caller_is_pinged_and_cut_once_it_stops_answering() {
    let relay = start(|config| config.timings.keepalive = Duration::from_millis(500));
    let mut idle = connect(HOME, relay.addresses().grpc).await;
    idle.write_all(PREFACE).await.unwrap();
    idle.write_all(&EMPTY_SETTINGS).await.unwrap();
    for _ in 0..4 {
        let payload = soon(next_ping(&mut idle)).await.expect("cut although it answers");
        let pong = [&[0, 0, 8, PING, 1, 0, 0, 0, 0][..], &payload].concat();
        idle.write_all(&pong).await.unwrap();
    }
    ended(&mut idle).await;
    until(|| async { metric(&relay, "connections{port=\"rendezvous\"}").await == 0 }).await;
    relay.stop().await;
}

#[tokio::test]
async fn a_call_that_never_ends_is_ended() {
    let relay = start(|config| config.timings.call = Duration::from_millis(300));
    let mut slow = connect(HOME, relay.addresses().grpc).await;
    slow.write_all(PREFACE).await.unwrap();
    slow.write_all(&EMPTY_SETTINGS).await.unwrap();
    // POST /farhold.relay.v1.Relay/Post with `te: trailers`, as literal headers without indexing (RFC 7541), whose
    // body never comes.
    let literal = |name: &str, value: &str| {
        let mut bytes = vec![0, name.len() as u8];
        bytes.extend_from_slice(name.as_bytes());
        bytes.push(value.len() as u8);
        bytes.extend_from_slice(value.as_bytes());
        bytes
    };
    let headers = [
        literal(":method", "POST"),
        literal(":scheme", "http"),
        literal(":path", "/farhold.relay.v1.Relay/Post"),
        literal(":authority", "relay"),
        literal("te", "trailers"),
        literal("content-type", "application/grpc"),
    ]
    .concat();
    let mut frame = vec![0, 0, headers.len() as u8, 1, 4, 0, 0, 0, 1];
    frame.extend_from_slice(&headers);
    slow.write_all(&frame).await.unwrap();
    // The answer's headers come on stream 1: the call is over.
    soon(async {
        loop {
            let mut head = [0; 9];
            slow.read_exact(&mut head).await.unwrap();
            let mut body = vec![0; usize::from(head[1]) << 8 | usize::from(head[2])];
            slow.read_exact(&mut body).await.unwrap();
            if head[3] == 1 && head[8] == 1 {
                break;
            }
        }
    })
    .await;
    relay.stop().await;
}

#[tokio::test]
async fn a_slow_caller_of_the_metrics_is_cut() {
    let relay = start(|config| config.timings.call = Duration::from_millis(500));
    let mut slow = connect(HOME, relay.addresses().http).await;
    slow.write_all(b"GET /metrics HTTP/1.1\r\nHost: ").await.unwrap();
    closed(&mut slow).await;
    assert_eq!(get(relay.addresses().http, "/health").await.0, "HTTP/1.1 200 OK");
    relay.stop().await;
}
