//! Programs, their relay, and what they share.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use farhold_net::{
    ContactState, Net, NetConfig, NetEvent, OfflineReason, Peer, PeerError, PeerService, Priority, Reading,
    RelayAddress, SavedContact, SessionState,
};
use farhold_relay::{RelayConfig, RelayServer, RunningRelay};
use farhold_secure::{Identity, PairSecret};
use farhold_wire::{
    Batch, ContactId, Entry, EntryId, EntryKind, LaneClass, Name, Position, ReadFailure, ReadHead, ReadPart,
    ReadRequest, Timestamp, Version, limits,
};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// Longer than anything here takes; a test that waits for so long has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
/// Size of the one file that everybody shares.
pub(crate) const FILE_BYTES: u64 = 64 << 20;
pub(crate) const VERSION: Version = Version { epoch: 1, counter: 1 };
pub(crate) const FILE: EntryId = EntryId([7; 16]);

pub(crate) fn relay() -> RunningRelay {
    // `RUST_LOG=farhold_net=debug` shows what a failing test did.
    let filter = tracing_subscriber::EnvFilter::from_default_env();
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_test_writer().try_init();
    let mut config = RelayConfig::loopback();
    // All programs here are one source to it.
    config.limits.post_rate.burst = 100_000;
    RelayServer::start(config).unwrap()
}

pub(crate) fn address(relay: &RunningRelay) -> RelayAddress {
    let addresses = relay.addresses();
    RelayAddress {
        host: addresses.grpc.ip().to_string(),
        port: addresses.grpc.port(),
        bridge_port: addresses.bridge.port(),
    }
}

/// What tests run with: loopback only.
pub(crate) fn config(relay: &RelayAddress) -> NetConfig {
    NetConfig {
        relay: Some(relay.clone()),
        bind: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        ..NetConfig::default()
    }
}

pub(crate) fn relayed(relay: &RelayAddress) -> NetConfig {
    NetConfig { relay_only: true, ..config(relay) }
}

/// One program.
pub(crate) struct Node {
    pub(crate) net: Net,
    pub(crate) events: mpsc::Receiver<NetEvent>,
    pub(crate) identity: Arc<Identity>,
}

impl Node {
    pub(crate) async fn start(config: NetConfig) -> Self {
        Self::with(config, Arc::new(Identity::generate().unwrap()), Arc::new(Files::default())).await
    }

    pub(crate) async fn with(
        config: NetConfig,
        identity: Arc<Identity>,
        service: Arc<dyn PeerService>,
    ) -> Self {
        let cancel = CancellationToken::new();
        let (net, events) = Net::start(config, Arc::clone(&identity), service, cancel).await.unwrap();
        Self { net, events, identity }
    }

    pub(crate) fn id(&self) -> ContactId {
        id_of(&self.identity)
    }

    /// Knows `other` as a saved contact.
    pub(crate) fn knows(&self, other: &Self, secret: [u8; 32]) {
        let contact = SavedContact {
            id: other.id(),
            keys: other.identity.public().clone(),
            secret: PairSecret::from_bytes(&secret),
            provisional: false,
        };
        self.net.add(contact).unwrap();
    }

    pub(crate) fn peer(&self, other: &Self) -> Peer {
        self.net.peer(other.id()).unwrap()
    }

    pub(crate) fn state(&self, other: &Self) -> ContactState {
        self.net.state(other.id()).unwrap().borrow().clone()
    }

    /// Waits until the session with `other` is as wanted.
    pub(crate) async fn until(
        &self,
        other: &Self,
        what: &str,
        wanted: impl Fn(&ContactState) -> bool,
    ) -> ContactState {
        let mut state = self.net.state(other.id()).unwrap();
        match timeout(PATIENCE, state.wait_for(|state| wanted(state))).await {
            Ok(state) => state.unwrap().clone(),
            Err(_) => panic!("never {what}: {:?}", self.state(other)),
        }
    }

    pub(crate) async fn connected(&self, other: &Self) -> farhold_net::Connection {
        let state = self.until(other, "connected", |state| connection(state).is_some()).await;
        connection(&state).unwrap().clone()
    }

    pub(crate) async fn offline(&self, other: &Self, reason: OfflineReason) {
        self.until(
            other,
            "offline",
            |state| matches!(state.session, SessionState::Offline { reason: why } if why == reason),
        )
        .await;
    }

    /// Waits until `other` has disconnected. A leg of ours that was on its way then is refused.
    pub(crate) async fn parted(&self, other: &Self) {
        self.until(other, "parted", |state| {
            let SessionState::Offline { reason } = state.session else { return false };
            matches!(reason, OfflineReason::PeerDisconnected | OfflineReason::Refused)
        })
        .await;
    }

    pub(crate) async fn event(&mut self) -> NetEvent {
        timeout(PATIENCE, self.events.recv()).await.expect("an event in time").expect("a program that runs")
    }
}

pub(crate) fn connection(state: &ContactState) -> Option<&farhold_net::Connection> {
    match &state.session {
        SessionState::Connected(connection) => Some(connection),
        SessionState::Offline { .. } | SessionState::Connecting | SessionState::Interrupted { .. } => None,
    }
}

pub(crate) fn id_of(identity: &Identity) -> ContactId {
    let mut id = [0; 16];
    id.copy_from_slice(&identity.code().as_bytes()[..16]);
    ContactId(id)
}

/// Two programs that are saved contacts of each other.
pub(crate) async fn pair(a: NetConfig, b: NetConfig) -> (Node, Node) {
    let (a, b) = (Node::start(a).await, Node::start(b).await);
    a.knows(&b, [5; 32]);
    b.knows(&a, [5; 32]);
    (a, b)
}

pub(crate) fn request(offset: u64, length: u32) -> ReadRequest {
    ReadRequest { entry: FILE, version: VERSION, offset, length }
}

pub(crate) fn file() -> Entry {
    Entry {
        id: FILE,
        parent: None,
        name: Name::new("file").unwrap(),
        kind: EntryKind::File { size: FILE_BYTES },
        version: VERSION,
        incarnation: 0,
        modified: Timestamp::default(),
        mode: 0o644,
        writable: false,
        unavailable: false,
    }
}

/// The file's bytes at any place.
pub(crate) fn content(offset: u64, length: usize) -> Bytes {
    (offset..offset + length as u64).map(|at| (at ^ (at >> 8) ^ (at >> 16)) as u8).collect()
}

/// Asks for a range on lanes of that class.
pub(crate) async fn ask(peer: &Peer, request: ReadRequest, class: LaneClass) -> Result<Reading, PeerError> {
    let priority = match class {
        LaneClass::Urgent => Priority::Demand,
        LaneClass::Bulk => Priority::ReadAhead,
    };
    peer.read(request, priority, CancellationToken::new()).await
}

/// Reads a range and checks every byte of it.
pub(crate) async fn read(peer: &Peer, offset: u64, length: u32, class: LaneClass) -> Result<(), PeerError> {
    let Reading { head, data } = ask(peer, request(offset, length), class).await?;
    assert_eq!(head, ReadHead { entry: file(), length });
    let parts: Vec<Result<Bytes, PeerError>> = data.collect().await;
    let mut bytes = Vec::new();
    for part in parts {
        bytes.extend_from_slice(&part?);
    }
    assert_eq!(bytes.len(), length as usize);
    assert!(bytes == content(offset, length as usize), "bytes of {offset}");
    Ok(())
}

/// Shares one file.
#[derive(Debug, Default)]
pub(crate) struct Files {
    pub(crate) reads: AtomicUsize,
}

#[async_trait]
impl PeerService for Files {
    fn changes(
        &self,
        _: ContactId,
        from: Option<Position>,
    ) -> BoxStream<'static, Result<Batch, ReadFailure>> {
        let batch = Batch {
            position: Position { epoch: 1, sequence: from.map_or(0, |from| from.sequence) + 1 },
            changes: vec![farhold_wire::Change::Put(file())],
            snapshot_begin: from.is_none(),
            snapshot_end: from.is_none(),
            space: None,
        };
        stream::once(async { Ok(batch) }).chain(stream::pending()).boxed()
    }

    async fn lookup(
        &self,
        _: ContactId,
        parent: Option<EntryId>,
        name: Name,
    ) -> Result<Option<Entry>, ReadFailure> {
        Ok(Some(file()).filter(|file| file.parent == parent && file.name == name))
    }

    fn list(&self, _: ContactId, parent: EntryId) -> BoxStream<'static, Result<Vec<Entry>, ReadFailure>> {
        let entry = move |index: u32| Entry {
            parent: Some(parent),
            name: Name::new(format!("entry {index}")).unwrap(),
            ..file()
        };
        let pages = (0..3).map(move |page| Ok((page * 1000..(page + 1) * 1000).map(entry).collect()));
        stream::iter(pages).boxed()
    }

    fn read(&self, _: ContactId, request: ReadRequest) -> BoxStream<'static, Result<ReadPart, ReadFailure>> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        if request.entry != FILE {
            return stream::once(async { Err(ReadFailure::NotFound) }).boxed();
        }
        let length = u64::from(request.length).min(FILE_BYTES.saturating_sub(request.offset));
        let head = ReadHead { entry: file(), length: u32::try_from(length).unwrap() };
        let part = limits::PART_BYTES as u64;
        let parts = (0..length.div_ceil(part)).map(move |index| {
            let start = index * part;
            let bytes = content(request.offset + start, usize::try_from(part.min(length - start)).unwrap());
            Ok(ReadPart::Data(bytes))
        });
        stream::iter(std::iter::once(Ok(ReadPart::Head(head))).chain(parts)).boxed()
    }
}
