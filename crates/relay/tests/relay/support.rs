//! What the tests call a relay with.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use farhold_relay::{RelayConfig, RelayServer, RunningRelay};
use farhold_wire::bridge::{BridgeCall, BridgeSide, PAIRED};
use farhold_wire::proto::relay as pb;
use farhold_wire::proto::relay::relay_client::RelayClient;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Streaming};

/// Two callers that the relay takes for different sources.
pub(crate) const HOME: &str = "127.0.0.1:0";
pub(crate) const AWAY: &str = "127.0.0.2:0";

pub(crate) type Client = RelayClient<Channel>;

pub(crate) fn start(change: impl FnOnce(&mut RelayConfig)) -> RunningRelay {
    let mut config = RelayConfig::loopback();
    // Most tests still hold connections when they stop it.
    config.timings.drain = Duration::from_millis(200);
    change(&mut config);
    RelayServer::start(config).unwrap()
}

/// Waits for what must come; far longer than it takes, so that a loaded machine fails no test.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), what).await.expect("did not happen")
}

/// Repeats `check` until it holds.
pub(crate) async fn until<F: Future<Output = bool>>(mut check: impl FnMut() -> F) {
    soon(async {
        while !check().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

pub(crate) async fn connect(from: &str, to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_nodelay(true).unwrap();
    socket.bind(from.parse().unwrap()).unwrap();
    socket.connect(to).await.unwrap()
}

// ---- Rendezvous ------------------------------------------------------------------------------------------------

pub(crate) async fn client(from: &'static str, relay: &RunningRelay) -> Client {
    let to = relay.addresses().grpc;
    let connector =
        tower::service_fn(
            move |_| async move { Ok::<_, std::io::Error>(TokioIo::new(connect(from, to).await)) },
        );
    // The least window, so that what a caller does not read stays at the relay.
    let endpoint = Endpoint::from_static("http://relay.invalid").initial_stream_window_size(65_535);
    RelayClient::new(soon(endpoint.connect_with_connector(connector)).await.unwrap())
}

pub(crate) fn post(token: u8, key: u8, blob: &[u8], ttl_seconds: u32) -> pb::PostRequest {
    pb::PostRequest {
        token: token_bytes(token),
        blob: Bytes::copy_from_slice(blob),
        ttl_seconds,
        slot_key: Bytes::copy_from_slice(&[key; 16]),
    }
}

pub(crate) fn token_bytes(token: u8) -> Bytes {
    Bytes::copy_from_slice(&[token; 32])
}

pub(crate) fn watch(tokens: &[u8]) -> pb::WatchRequest {
    pb::WatchRequest { tokens: tokens.iter().map(|token| token_bytes(*token)).collect() }
}

/// The next event: the token's number and its blobs as text.
pub(crate) async fn event(events: &mut Streaming<pb::WatchEvent>) -> (u8, Vec<String>) {
    let event = soon(events.message()).await.unwrap().expect("the watch ended");
    let blobs = event.blobs.iter().map(|blob| String::from_utf8(blob.to_vec()).unwrap());
    (event.token[0], blobs.collect())
}

pub(crate) fn code<T>(result: Result<T, tonic::Status>) -> Code {
    result.map_or_else(|status| status.code(), |_| Code::Ok)
}

// ---- Bridge ----------------------------------------------------------------------------------------------------

pub(crate) fn call(token: u16, side: BridgeSide) -> BridgeCall {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut call = BridgeCall { token: [0; 32], side, nonce: [0; 16] };
    call.token[..2].copy_from_slice(&token.to_be_bytes());
    call.nonce[..8].copy_from_slice(&NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes());
    call
}

/// Calls the bridge, without waiting for an answer.
pub(crate) async fn dial(from: &str, relay: &RunningRelay, call: &BridgeCall) -> TcpStream {
    let mut leg = connect(from, relay.addresses().bridge).await;
    leg.write_all(&call.encode()).await.unwrap();
    leg
}

pub(crate) async fn paired(leg: &mut TcpStream) {
    assert_eq!(soon(leg.read_u8()).await.expect("closed instead of paired"), PAIRED);
}

/// Waits until the relay has closed the connection, having said nothing.
pub(crate) async fn closed(stream: &mut TcpStream) {
    let mut heard = Vec::new();
    // A reset is an end too.
    let _ = soon(stream.read_to_end(&mut heard)).await;
    assert_eq!(heard, []);
}

/// The two are connected to each other, in both directions.
pub(crate) async fn talk(a: &mut TcpStream, b: &mut TcpStream) {
    a.write_all(b"ping").await.unwrap();
    b.write_all(b"pong").await.unwrap();
    for (to, word) in [(b, b"ping"), (a, b"pong")] {
        let mut heard = [0; 4];
        soon(to.read_exact(&mut heard)).await.unwrap();
        assert_eq!(heard, *word);
    }
}

// ---- Health and metrics ----------------------------------------------------------------------------------------

/// Status line and body of a page.
pub(crate) async fn get(address: SocketAddr, path: &str) -> (String, String) {
    let mut stream = connect(HOME, address).await;
    let request = format!("GET {path} HTTP/1.1\r\nHost: relay\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    soon(stream.read_to_string(&mut answer)).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

/// One value of the metrics, named as on the page but for the common prefix.
pub(crate) async fn metric(relay: &RunningRelay, name: &str) -> u64 {
    let (_, page) = get(relay.addresses().http, "/metrics").await;
    let prefix = format!("farhold_relay_{name} ");
    let line = page.lines().find_map(|line| line.strip_prefix(&prefix));
    line.unwrap_or_else(|| panic!("no {name} in {page}")).parse().unwrap()
}
