use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use farhold_relay::RelayServer;
use farhold_wire::limits;
use farhold_wire::proto::relay as pb;
use tonic::Code;

use crate::support::*;

#[tokio::test]
async fn changes_are_pushed_to_whoever_watches() {
    let relay = start(|_| {});
    let (mut anna, mut ben) = (client(HOME, &relay).await, client(AWAY, &relay).await);
    anna.post(post(1, 1, b"here", 60)).await.unwrap();
    let mut events = ben.watch(watch(&[1, 2])).await.unwrap().into_inner();
    assert_eq!(event(&mut events).await, (1, vec!["here".into()]));
    assert_eq!(event(&mut events).await, (2, vec![]));

    anna.post(post(2, 1, b"new", 60)).await.unwrap();
    assert_eq!(event(&mut events).await, (2, vec!["new".into()]));
    anna.post(post(1, 1, b"moved", 60)).await.unwrap();
    assert_eq!(event(&mut events).await, (1, vec!["moved".into()]));
    anna.post(post(1, 1, b"", 0)).await.unwrap();
    assert_eq!(event(&mut events).await, (1, vec![]));
    relay.stop().await;
}

#[tokio::test]
async fn a_post_ends_with_its_life() {
    let relay = start(|_| {});
    let mut client = client(HOME, &relay).await;
    let mut events = client.watch(watch(&[1])).await.unwrap().into_inner();
    assert_eq!(event(&mut events).await, (1, vec![]));
    client.post(post(1, 1, b"for a second", 1)).await.unwrap();
    assert_eq!(event(&mut events).await, (1, vec!["for a second".into()]));
    assert_eq!(event(&mut events).await, (1, vec![]));
    assert_eq!(metric(&relay, "posts").await, 0);
    relay.stop().await;
}

#[tokio::test]
async fn a_watch_after_a_reconnect_tells_the_state_of_every_token_again() {
    let relay = start(|_| {});
    let mut poster = client(HOME, &relay).await;
    poster.post(post(1, 1, b"one", 60)).await.unwrap();
    for _ in 0..2 {
        let mut again = client(AWAY, &relay).await;
        let mut events = again.watch(watch(&[3, 1, 2])).await.unwrap().into_inner();
        let states = [event(&mut events).await, event(&mut events).await, event(&mut events).await];
        assert_eq!(states, [(3, vec![]), (1, vec!["one".into()]), (2, vec![])]);
    }
    until(|| async { metric(&relay, "watches").await == 0 }).await;
    assert_eq!(metric(&relay, "watched_tokens").await, 0);
    relay.stop().await;
}

#[tokio::test]
async fn only_its_own_key_replaces_a_slot_and_a_token_has_four() {
    let relay = start(|_| {});
    let (mut owner, mut stranger) = (client(HOME, &relay).await, client(AWAY, &relay).await);
    owner.post(post(1, 1, b"mine", 60)).await.unwrap();
    for key in 2..=4 {
        stranger.post(post(1, key, b"noise", 60)).await.unwrap();
    }
    assert_eq!(code(stranger.post(post(1, 5, b"noise", 60)).await), Code::ResourceExhausted);
    stranger.post(post(1, 5, b"", 0)).await.unwrap();
    owner.post(post(1, 1, b"still mine", 60)).await.unwrap();
    let mut events = owner.watch(watch(&[1])).await.unwrap().into_inner();
    let (_, mut blobs) = event(&mut events).await;
    blobs.sort();
    assert_eq!(blobs, ["noise", "noise", "noise", "still mine"]);
    assert_eq!(metric(&relay, "calls_refused_total{cause=\"slots_taken\"}").await, 1);
    relay.stop().await;
}

#[tokio::test]
async fn what_is_malformed_is_refused() {
    let relay = start(|_| {});
    let mut client = client(HOME, &relay).await;
    let good = post(1, 1, &[7; limits::BLOB_BYTES], limits::POST_TTL_SECONDS);
    client.post(good.clone()).await.unwrap();
    let short = Bytes::from_static(&[1; 15]);
    let bad = [
        pb::PostRequest { token: short.clone(), ..good.clone() },
        pb::PostRequest { token: Bytes::new(), ..good.clone() },
        pb::PostRequest { slot_key: short.clone(), ..good.clone() },
        pb::PostRequest { blob: vec![7; limits::BLOB_BYTES + 1].into(), ..good.clone() },
        pb::PostRequest { ttl_seconds: 0, ..good.clone() },
        pb::PostRequest { ttl_seconds: limits::POST_TTL_SECONDS + 1, ..good.clone() },
    ];
    for request in bad {
        assert_eq!(code(client.post(request.clone()).await), Code::InvalidArgument, "{request:?}");
    }
    let many = pb::WatchRequest { tokens: vec![token_bytes(1); limits::WATCH_TOKENS + 1] };
    assert_eq!(code(client.watch(many).await), Code::InvalidArgument);
    assert_eq!(code(client.watch(pb::WatchRequest { tokens: vec![short] }).await), Code::InvalidArgument);
    assert_eq!(metric(&relay, "calls_refused_total{cause=\"malformed\"}").await, 8);

    let huge = pb::PostRequest { blob: vec![7; limits::RELAY_MESSAGE_BYTES].into(), ..good };
    assert_eq!(code(client.post(huge).await), Code::OutOfRange);
    assert_eq!(metric(&relay, "posts_total").await, 1);
    relay.stop().await;
}

#[tokio::test]
async fn a_full_watch_fits_one_message() {
    let relay = start(|_| {});
    let mut client = client(HOME, &relay).await;
    let tokens = (0..limits::WATCH_TOKENS).map(|number| {
        let mut token = [0; limits::TOKEN_BYTES];
        token[..8].copy_from_slice(&(number as u64).to_be_bytes());
        Bytes::copy_from_slice(&token)
    });
    let request = pb::WatchRequest { tokens: tokens.collect() };
    let mut events = client.watch(request).await.unwrap().into_inner();
    for _ in 0..limits::WATCH_TOKENS {
        assert!(soon(events.message()).await.unwrap().unwrap().blobs.is_empty());
    }
    relay.stop().await;
}

#[tokio::test]
async fn a_caller_learns_its_own_address() {
    let relay = start(|_| {});
    let mut client = client(AWAY, &relay).await;
    let reply = client.reflexive(pb::ReflexiveRequest {}).await.unwrap().into_inner();
    let address: SocketAddr = reply.address.parse().unwrap();
    assert_eq!(address.ip().to_string(), "127.0.0.2");
    assert_ne!(address.port(), 0);
    relay.stop().await;
}

#[tokio::test]
async fn an_ipv4_caller_of_an_ipv6_socket_is_an_ipv4_caller() {
    let listen = Some("[::ffff:127.0.0.1]:0".parse().unwrap());
    let relay = RelayServer::start(farhold_relay::RelayConfig { listen, ..Default::default() }).unwrap();
    let to = SocketAddr::new("127.0.0.1".parse().unwrap(), relay.addresses().grpc.port());
    let url = format!("http://{to}");
    let mut client = soon(pb::relay_client::RelayClient::connect(url)).await.unwrap();
    let reply = client.reflexive(pb::ReflexiveRequest {}).await.unwrap().into_inner();
    assert!(reply.address.starts_with("127.0.0.1:"), "{}", reply.address);
    relay.stop().await;
}

#[tokio::test]
async fn a_watcher_that_does_not_read_gets_the_latest_state_in_the_end() {
    let relay = start(|config| config.limits.post_rate.burst = 500);
    let (mut poster, mut reader) = (client(HOME, &relay).await, client(AWAY, &relay).await);
    let mut events = reader.watch(watch(&[1])).await.unwrap().into_inner();
    let blob = |number: u32| format!("{number:0>4000}");
    for number in 0..500 {
        poster.post(post(1, 1, blob(number).as_bytes(), 60)).await.unwrap();
    }
    let mut seen = 0;
    soon(async {
        while event(&mut events).await.1 != [blob(499)] {
            seen += 1;
        }
    })
    .await;
    // The windows hold some of them; the rest were never queued.
    assert!(seen < 400, "{seen} states were kept for a watcher that did not read");
    relay.stop().await;
}

#[tokio::test]
async fn a_watch_outlives_the_deadline_of_a_call() {
    let relay = start(|config| config.timings.call = Duration::from_millis(300));
    let mut client = client(HOME, &relay).await;
    let mut events = client.watch(watch(&[1])).await.unwrap().into_inner();
    assert_eq!(event(&mut events).await, (1, vec![]));
    tokio::time::sleep(Duration::from_millis(900)).await;
    client.post(post(1, 1, b"later", 60)).await.unwrap();
    assert_eq!(event(&mut events).await, (1, vec!["later".into()]));
    relay.stop().await;
}
