//! A stretch of network that can go silent or break.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::SocketAddr;
use std::sync::Arc;

use farhold_net::RelayAddress;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

/// What becomes of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weather {
    Fine,
    /// Nothing gets through, and nobody is told.
    Silent,
}

/// Passes connections on to an address, and datagrams once it is told to.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    weather: watch::Sender<Weather>,
    udp: watch::Sender<Weather>,
    cut: watch::Sender<CancellationToken>,
    _tasks: [AbortOnDropHandle<()>; 2],
}

impl Proxy {
    pub(crate) async fn before(target: SocketAddr) -> Self {
        let (listener, socket) = loop {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            // Another program may have the UDP port of that number.
            if let Ok(socket) = UdpSocket::bind(listener.local_addr().unwrap()).await {
                break (listener, socket);
            }
        };
        let address = listener.local_addr().unwrap();
        let (weather, udp) = (watch::Sender::new(Weather::Fine), watch::Sender::new(Weather::Silent));
        let cut = watch::Sender::new(CancellationToken::new());
        let tasks = [
            tokio::spawn(serve(listener, target, weather.subscribe(), cut.subscribe())),
            tokio::spawn(serve_udp(socket, target, udp.subscribe())),
        ];
        Self { address, weather, udp, cut, _tasks: tasks.map(AbortOnDropHandle::new) }
    }

    /// For connections.
    pub(crate) fn turns(&self, weather: Weather) {
        self.weather.send_replace(weather);
    }

    /// For datagrams.
    pub(crate) fn udp_turns(&self, weather: Weather) {
        self.udp.send_replace(weather);
    }

    /// Closes every connection; new ones are passed on.
    pub(crate) fn cut(&self) {
        self.cut.send_replace(CancellationToken::new()).cancel();
    }
}

async fn serve(
    listener: TcpListener,
    target: SocketAddr,
    weather: watch::Receiver<Weather>,
    cut: watch::Receiver<CancellationToken>,
) {
    let mut pairs = JoinSet::new();
    loop {
        let Ok((near, _)) = listener.accept().await else { return };
        let (weather, cut) = (weather.clone(), cut.borrow().clone());
        pairs.spawn(async move {
            cut.run_until_cancelled(pass(near, target, weather)).await;
        });
    }
}

async fn pass(near: TcpStream, target: SocketAddr, mut weather: watch::Receiver<Weather>) {
    let fine = |weather: &Weather| *weather == Weather::Fine;
    // A connection that is made in silence comes about when the silence is over, as a repeated SYN would.
    if weather.wait_for(fine).await.is_err() {
        return;
    }
    let Ok(far) = TcpStream::connect(target).await else { return };
    let (near, far) = (near.into_split(), far.into_split());
    tokio::join!(half(near.0, far.1, weather.clone()), half(far.0, near.1, weather));
}

async fn half(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    mut weather: watch::Receiver<Weather>,
) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = match from.read(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(read) => read,
        };
        if weather.wait_for(|weather| *weather == Weather::Fine).await.is_err() {
            return;
        }
        if to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
    let _ = to.shutdown().await;
}

/// As a NAT does: each caller has a port of its own towards the target.
async fn serve_udp(socket: UdpSocket, target: SocketAddr, weather: watch::Receiver<Weather>) {
    let socket = Arc::new(socket);
    let mut callers = HashMap::<SocketAddr, (Arc<UdpSocket>, AbortOnDropHandle<()>)>::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let Ok((length, caller)) = socket.recv_from(&mut buffer).await else { continue };
        if *weather.borrow() != Weather::Fine {
            continue;
        }
        if let Entry::Vacant(place) = callers.entry(caller) {
            let out = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
            out.connect(target).await.unwrap();
            let back =
                tokio::spawn(pass_back(Arc::clone(&out), Arc::clone(&socket), caller, weather.clone()));
            place.insert((out, AbortOnDropHandle::new(back)));
        }
        let _ = callers[&caller].0.send(&buffer[..length]).await;
    }
}

async fn pass_back(
    out: Arc<UdpSocket>,
    socket: Arc<UdpSocket>,
    caller: SocketAddr,
    weather: watch::Receiver<Weather>,
) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let Ok(length) = out.recv(&mut buffer).await else { continue };
        if *weather.borrow() == Weather::Fine {
            let _ = socket.send_to(&buffer[..length], caller).await;
        }
    }
}

/// Both ports of a relay, behind proxies.
pub(crate) struct RelayProxy {
    pub(crate) rendezvous: Proxy,
    pub(crate) bridge: Proxy,
}

impl RelayProxy {
    pub(crate) async fn before(relay: &RelayAddress) -> Arc<Self> {
        let at = |port| SocketAddr::new(relay.host.parse().unwrap(), port);
        let (rendezvous, bridge) =
            (Proxy::before(at(relay.port)).await, Proxy::before(at(relay.bridge_port)).await);
        Arc::new(Self { rendezvous, bridge })
    }

    pub(crate) fn address(&self) -> RelayAddress {
        RelayAddress {
            host: "127.0.0.1".to_owned(),
            port: self.rendezvous.address.port(),
            bridge_port: self.bridge.address.port(),
        }
    }

    pub(crate) fn turns(&self, weather: Weather) {
        self.rendezvous.turns(weather);
        self.bridge.turns(weather);
    }
}
