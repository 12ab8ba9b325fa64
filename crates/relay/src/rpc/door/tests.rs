use std::sync::Arc;

use bytes::Bytes;
use tokio::io::{AsyncWriteExt, DuplexStream};

use super::*;
use crate::board::Post;
use crate::config::Limits;
use crate::hub::Hub;
use crate::metrics::Counters;

const CALLER: &str = "192.0.2.1:1";
const TOKEN: [u8; limits::TOKEN_BYTES] = [1; limits::TOKEN_BYTES];
const BLOB_BYTES: usize = 4000;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Calls `Watch` with windows as large as there are (RFC 9113, 6.9), and then reads nothing.
async fn call_watch(connection: &mut DuplexStream) {
    let window = i32::MAX.to_be_bytes();
    let increment = (i32::MAX - 65_535).to_be_bytes();
    // Literal headers without indexing (RFC 7541, 6.2.2).
    let headers = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/farhold.relay.v1.Relay/Watch"),
        (":authority", "relay"),
        ("te", "trailers"),
        ("content-type", "application/grpc"),
    ]
    .map(|(name, value)| {
        let length = |text: &str| u8::try_from(text.len()).unwrap();
        [&[0, length(name)], name.as_bytes(), &[length(value)], value.as_bytes()].concat()
    });
    // A gRPC message: not compressed, its length, and field 1 with the token.
    let message = [&[0, 0, 0, 0, 34, 0x0a, 32][..], &TOKEN].concat();
    let bytes = [
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        frame(4, 0, 0, &[&[0, 4], &window[..]].concat()),
        frame(8, 0, 0, &increment),
        frame(1, 4, 1, &headers.concat()),
        frame(0, 1, 1, &message),
    ]
    .concat();
    connection.write_all(&bytes).await.unwrap();
}

/// Lets every task do what it can.
async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_watcher_that_takes_nothing_holds_little() {
    let (hub, counters) = (Hub::new(&Limits::default()), Arc::new(Counters::default()));
    let stopping = CancellationToken::new();
    let rendezvous =
        Rendezvous { hub: Arc::clone(&hub), counters: Arc::clone(&counters), stopping: stopping.clone() };
    let door = Door::new(rendezvous, &Timings::default(), TaskTracker::new());
    let caller: SocketAddr = CALLER.parse().unwrap();
    let (mut theirs, ours) = tokio::io::duplex(4 << 10);
    let serving = tokio::spawn(door.serve(ours, caller, stopping.clone()));
    call_watch(&mut theirs).await;
    settle().await;
    assert_eq!(hub.size().watches, 1);

    for number in 0..200 {
        let post = Post {
            token: TOKEN,
            slot_key: [1; limits::SLOT_KEY_BYTES],
            blob: Bytes::from(vec![number; BLOB_BYTES]),
            ttl: Duration::from_secs(60),
        };
        hub.post(post, caller.into()).unwrap();
        settle().await;
    }
    let told = usize::try_from(counters.events.get()).unwrap() * BLOB_BYTES;
    assert!(told > UNSENT_BYTES / 2, "{told} bytes: it was told nothing");
    // What the connection itself holds, and what was told at once, may be more.
    assert!(told < 2 * UNSENT_BYTES, "{told} bytes are kept for a caller that takes none");
    serving.abort();
}
