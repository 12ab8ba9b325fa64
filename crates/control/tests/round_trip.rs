//! Client and server over a real socket, with a host that only remembers what it was asked.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use farhold_control::{ControlClient, ControlError, ControlServer, Host};
use farhold_engine::commands::{
    ContactAdded, DrivePath, Listed, ListedKind, Share, ShareRequest, ShareState,
};
use farhold_engine::contacts::ContactError;
use farhold_engine::error::{EngineError, ErrorClass};
use farhold_engine::status::{
    CacheStatus, ContactStatus, Direction, GovernorStatus, IdentityStatus, LaneStatus, LatencySummary,
    MountStateName, MountStatus, NetworkStatus, PairingState, PathStatus, RelayStateName, SecretStore,
    SeekStatus, SessionStateName, SessionStatus, Status, TransferId, TransferState, TransferStatus,
    WireStatus,
};
use farhold_engine::{PinState, PinStatus};
use farhold_wire::{Name, Timestamp};
use futures_util::StreamExt;
use tempfile::TempDir;

#[derive(Default)]
struct Fake {
    asked: Mutex<Vec<String>>,
    /// How often the status was asked for, and after how many times it changes.
    looked: AtomicU64,
    changes_after: AtomicU64,
}

impl Fake {
    fn note(&self, what: impl Into<String>) {
        self.asked.lock().unwrap().push(what.into());
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

fn unknown(name: &str) -> EngineError {
    EngineError::Contact(ContactError::Unknown { name: name.to_owned() })
}

fn name(text: &str) -> Name {
    Name::new(text.as_bytes().to_vec()).unwrap()
}

fn session() -> SessionStatus {
    SessionStatus {
        state: SessionStateName::Connected,
        path: Some("direct".into()),
        transport: Some("quic".into()),
        lanes: vec![LaneStatus {
            id: Some(3),
            class: "bulk".into(),
            transport: "tcp".into(),
            path: "direct".into(),
            bytes_in: 7,
            bytes_out: 8,
            rate_in: 9,
            rate_out: 10,
            missing: Some("refused".into()),
        }],
        paths: vec![PathStatus { path: "lan".into(), transport: "tcp".into(), reason: "no answer".into() }],
        governor: Some(GovernorStatus {
            window: 1,
            outstanding: 2,
            queued: 3,
            rate: 4,
            min_rtt_ms: Some(200.5),
        }),
        rtt_ms: Some(201.5),
        epoch: Some(4),
        reason: None,
    }
}

fn transfer() -> TransferStatus {
    TransferStatus {
        id: TransferId(7),
        direction: Direction::Receive,
        contact: "ben".into(),
        name: "Film".into(),
        state: TransferState::Failed,
        reason: Some("it exists".into()),
        class: Some(ErrorClass::Conflict),
        files_done: 1,
        files: 2,
        bytes_done: 3,
        bytes: 4,
        rate: 5,
        remaining_seconds: Some(6),
        destination: Some("/home/u/Film".into()),
    }
}

fn status() -> Status {
    let latency = LatencySummary { count: 4, p50_ms: 230.0, p95_ms: 235.5, p99_ms: 239.0, max_ms: 240.0 };
    Status {
        identity: IdentityStatus { code: "code".into(), secrets: SecretStore::File },
        contacts: vec![ContactStatus {
            name: "ben".into(),
            code: "other".into(),
            pairing: PairingState::Provisional,
            present: Some(true),
            wanted: true,
            session: session(),
            words: Some("one two".into()),
            accept: Some("/home/u/From ben".into()),
        }],
        mount: Some(MountStatus {
            point: "/home/u/Farhold".into(),
            state: MountStateName::Failed,
            reason: Some("no FUSE".into()),
        }),
        cache: CacheStatus {
            limit: 1,
            used: 2,
            hits: 3,
            misses: 4,
            hit_rate: Some(0.5),
            served: 5,
            fetched: 6,
        },
        wire: WireStatus { received: 10, sent: 11, rate_in: 12, rate_out: 13 },
        seek: SeekStatus { idle: latency, loaded: LatencySummary::default() },
        first_byte: LatencySummary { count: 9, ..latency },
        transfers: vec![transfer()],
        network: NetworkStatus {
            relay: Some("relay:7480".into()),
            relay_state: RelayStateName::Unreachable,
            relay_reason: Some("refused".into()),
            listen: Some(4000),
        },
    }
}

fn pins() -> Vec<PinStatus> {
    let pin = |state| PinStatus {
        path: "ben/Film".into(),
        state,
        files: 1,
        bytes: 2,
        cached: 3,
        reason: Some("later".into()),
    };
    [PinState::Fetching, PinState::Whole, PinState::Waiting, PinState::NoRoom, PinState::Gone].map(pin).into()
}

fn listed(count: usize) -> Vec<Listed> {
    let one = |index| Listed {
        name: name(&format!("entry {index}")),
        kind: ListedKind::File,
        size: index,
        modified: Timestamp { seconds: 1, nanos: 2 },
        mode: 0o600,
    };
    (0..count as u64).map(one).collect()
}

#[async_trait]
impl Host for Fake {
    async fn status(&self) -> Result<Status, EngineError> {
        let looked = self.looked.fetch_add(1, Ordering::Relaxed);
        let changes = looked.checked_div(self.changes_after.load(Ordering::Relaxed)).unwrap_or(0);
        let network = NetworkStatus { listen: u16::try_from(changes).ok(), ..status().network };
        Ok(Status { network, ..status() })
    }

    async fn stop(&self) {
        self.note("stop");
    }

    fn code(&self) -> String {
        "the code".into()
    }

    async fn add_contact(&self, name: &str, code: &str) -> Result<ContactAdded, EngineError> {
        Ok(ContactAdded { name: name.to_owned(), code: code.to_owned() })
    }

    async fn rename_contact(&self, old: &str, new: &str) -> Result<(), EngineError> {
        self.note(format!("rename {old} {new}"));
        Ok(())
    }

    async fn remove_contact(&self, name: &str) -> Result<(), EngineError> {
        Err(unknown(name))
    }

    async fn connect(&self, name: &str, wait: Option<Duration>) -> Result<SessionStatus, EngineError> {
        self.note(format!("connect {name} {wait:?}"));
        Ok(session())
    }

    async fn disconnect(&self, name: &str) -> Result<(), EngineError> {
        self.note(format!("disconnect {name}"));
        Ok(())
    }

    async fn share(&self, request: ShareRequest) -> Result<Vec<Share>, EngineError> {
        self.note(format!("{request:?}"));
        self.shares().await
    }

    async fn unshare(&self, path: PathBuf, with: Option<&str>) -> Result<Vec<Share>, EngineError> {
        self.note(format!("unshare {} {with:?}", path.display()));
        Ok(vec![])
    }

    async fn shares(&self) -> Result<Vec<Share>, EngineError> {
        let path = PathBuf::from("/data/Pictures");
        let share = Share {
            path,
            with: "ben".into(),
            name: name("Pictures"),
            writable: true,
            state: ShareState::Unavailable,
            entries: 12,
        };
        Ok(vec![share])
    }

    async fn list(&self, path: Option<DrivePath>) -> Result<Vec<Listed>, EngineError> {
        match path {
            None => Ok(vec![]),
            Some(path) => Ok(listed(path.below.len() * 5000)),
        }
    }

    async fn pull(&self, source: DrivePath, destination: Option<PathBuf>) -> Result<TransferId, EngineError> {
        self.note(format!("pull {source} {destination:?}"));
        Ok(TransferId(1))
    }

    async fn push(&self, path: PathBuf, contact: &str) -> Result<TransferId, EngineError> {
        self.note(format!("push {} {contact}", path.display()));
        Ok(TransferId(2))
    }

    async fn pause_transfer(&self, id: TransferId) -> Result<(), EngineError> {
        self.note(format!("pause {id}"));
        Ok(())
    }

    async fn resume_transfer(&self, id: TransferId) -> Result<(), EngineError> {
        self.note(format!("resume {id}"));
        Ok(())
    }

    async fn cancel_transfer(&self, id: TransferId) -> Result<(), EngineError> {
        self.note(format!("cancel {id}"));
        Ok(())
    }

    async fn wait_transfer(&self, id: TransferId) -> Result<TransferStatus, EngineError> {
        Ok(TransferStatus { id, ..transfer() })
    }

    async fn accept_pushes(&self, contact: &str, folder: Option<PathBuf>) -> Result<(), EngineError> {
        self.note(format!("accept {contact} {folder:?}"));
        Ok(())
    }

    async fn drop_cache(&self, path: Option<DrivePath>) -> Result<CacheStatus, EngineError> {
        self.note(format!("drop {}", path.map_or("all".into(), |path| path.to_string())));
        Ok(status().cache)
    }

    async fn limit_cache(&self, bytes: u64) -> Result<CacheStatus, EngineError> {
        Ok(CacheStatus { limit: bytes, ..status().cache })
    }

    async fn pin(&self, path: DrivePath) -> Result<PinStatus, EngineError> {
        self.note(format!("pin {path}"));
        Ok(pins().remove(0))
    }

    async fn unpin(&self, path: DrivePath) -> Result<(), EngineError> {
        self.note(format!("unpin {path}"));
        Ok(())
    }

    async fn pins(&self) -> Result<Vec<PinStatus>, EngineError> {
        Ok(pins())
    }
}

struct Fixture {
    temp: TempDir,
    fake: Arc<Fake>,
    server: ControlServer,
}

impl Fixture {
    fn start() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let fake = Arc::new(Fake::default());
        let server = ControlServer::start(&temp.path().join("control.sock"), fake.clone()).unwrap();
        Self { temp, fake, server }
    }

    fn socket(&self) -> PathBuf {
        self.temp.path().join("control.sock")
    }

    async fn client(&self) -> ControlClient {
        ControlClient::attach(&self.socket()).await.unwrap()
    }
}

#[tokio::test]
async fn every_command_takes_and_answers_what_the_host_does() {
    let fixture = Fixture::start();
    let mut client = fixture.client().await;
    let network = NetworkStatus { listen: Some(0), ..status().network };
    assert_eq!(client.status().await.unwrap(), Status { network, ..status() });
    assert_eq!(client.code().await.unwrap(), "the code");
    let added = client.add_contact("ben".into(), "xyz".into()).await.unwrap();
    assert_eq!((added.name.as_str(), added.code.as_str()), ("ben", "xyz"));
    client.rename_contact("ben".into(), "Ben".into()).await.unwrap();
    assert_eq!(client.connect("ben".into(), Some(Duration::from_secs(3))).await.unwrap(), session());
    client.connect("ben".into(), None).await.unwrap();
    client.disconnect("ben".into()).await.unwrap();
    client.drop_cache(Some(&DrivePath { contact: "ben".into(), below: vec![name("a")] })).await.unwrap();
    client.drop_cache(None).await.unwrap();
    client.unshare("/x".as_ref(), None).await.unwrap();
    client.stop().await.unwrap();
    assert_eq!(
        fixture.fake.asked(),
        [
            "rename ben Ben",
            "connect ben Some(3s)",
            "connect ben None",
            "disconnect ben",
            "drop ben/a",
            "drop all",
            "unshare /x None",
            "stop"
        ]
    );
    assert_eq!(client.limit_cache(9).await.unwrap().limit, 9);
    let request =
        ShareRequest { paths: vec!["/a".into(), "/b".into()], with: None, name: None, writable: true };
    assert_eq!(client.share(request.clone()).await.unwrap(), client.shares().await.unwrap());
    assert_eq!(fixture.fake.asked(), [format!("{request:?}")]);
    fixture.server.stop().await;
}

#[tokio::test]
async fn pins_come_and_go() {
    let fixture = Fixture::start();
    let mut client = fixture.client().await;
    let path = DrivePath { contact: "ben".into(), below: vec![name("Film")] };
    assert_eq!(client.pin(&path).await.unwrap(), pins()[0]);
    client.unpin(&path).await.unwrap();
    assert_eq!(fixture.fake.asked(), ["pin ben/Film", "unpin ben/Film"]);
    assert_eq!(client.pins().await.unwrap(), pins());
    fixture.server.stop().await;
}

#[tokio::test]
async fn long_listings_come_whole_and_in_order() {
    let fixture = Fixture::start();
    let mut client = fixture.client().await;
    assert_eq!(client.list(None).await.unwrap(), []);
    let path = DrivePath { contact: "ben".into(), below: vec![name("a"), name("b")] };
    assert_eq!(client.list(Some(&path)).await.unwrap(), listed(10_000));
    fixture.server.stop().await;
}

#[tokio::test]
async fn errors_keep_their_class_and_words() {
    let fixture = Fixture::start();
    let mut client = fixture.client().await;
    let error = client.remove_contact("nobody".into()).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::NotFound);
    assert_eq!(error.to_string(), unknown("nobody").to_string());
    let relative = ShareRequest { paths: vec!["a".into()], with: None, name: None, writable: false };
    assert_eq!(client.share(relative).await.unwrap_err().class(), ErrorClass::Usage);
    fixture.server.stop().await;
}

#[tokio::test]
async fn transfers_are_begun_changed_and_waited_for() {
    let fixture = Fixture::start();
    let mut client = fixture.client().await;
    let source = DrivePath { contact: "ben".into(), below: vec![Name::new(b"a\xff".to_vec()).unwrap()] };
    assert_eq!(client.pull(&source, Some("/d".as_ref())).await.unwrap(), TransferId(1));
    assert_eq!(client.pull(&source, None).await.unwrap(), TransferId(1));
    assert_eq!(client.push("/f".as_ref(), "ben".into()).await.unwrap(), TransferId(2));
    client.pause_transfer(TransferId(3)).await.unwrap();
    client.resume_transfer(TransferId(4)).await.unwrap();
    client.cancel_transfer(TransferId(5)).await.unwrap();
    client.accept_pushes("ben".into(), Some("/in".as_ref())).await.unwrap();
    client.accept_pushes("ben".into(), None).await.unwrap();
    assert_eq!(
        fixture.fake.asked(),
        [
            "pull ben/a\u{fffd} Some(\"/d\")",
            "pull ben/a\u{fffd} None",
            "push /f ben",
            "pause 3",
            "resume 4",
            "cancel 5",
            "accept ben Some(\"/in\")",
            "accept ben None"
        ]
    );
    assert_eq!(client.wait_transfer(TransferId(7)).await.unwrap(), transfer());
    let relative = client.push("f".as_ref(), "ben".into()).await.unwrap_err();
    assert_eq!(relative.class(), ErrorClass::Usage);
    fixture.server.stop().await;
}

#[tokio::test]
async fn a_watch_tells_what_changed_until_the_server_stops() {
    let fixture = Fixture::start();
    fixture.fake.changes_after.store(3, Ordering::Relaxed);
    let mut client = fixture.client().await;
    let mut statuses = client.watch(Duration::from_millis(1)).await.unwrap();
    for change in 0..3 {
        let status = statuses.next().await.unwrap().unwrap();
        assert_eq!(status.network.listen, Some(change));
    }
    // The first three looks found the same, and so did the next three.
    assert!(fixture.fake.looked.load(Ordering::Relaxed) > 6);
    fixture.server.stop().await;
    let rest = tokio::time::timeout(Duration::from_secs(10), statuses.collect::<Vec<_>>());
    rest.await.expect("the stream ends with the server");
}

#[tokio::test]
async fn the_socket_is_private_and_goes_with_the_server() {
    let fixture = Fixture::start();
    let mode = std::fs::metadata(fixture.socket()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let socket = fixture.socket();
    fixture.server.stop().await;
    assert!(!socket.exists());
    let gone = ControlClient::attach(&socket).await.unwrap_err();
    assert!(matches!(gone, ControlError::NotRunning { .. }));
    assert_eq!(gone.class(), ErrorClass::NotRunning);
}

#[tokio::test]
async fn an_engine_that_is_just_ending_leaves_the_next_ones_socket_alone() {
    let fixture = Fixture::start();
    let socket = fixture.socket();
    let next = ControlServer::start(&socket, fixture.fake.clone()).unwrap();
    fixture.server.stop().await;
    ControlClient::attach(&socket).await.unwrap().status().await.unwrap();
    next.stop().await;
    assert!(!socket.exists());
}

#[tokio::test]
async fn a_socket_that_nobody_answers_is_replaced() {
    let temp = tempfile::tempdir().unwrap();
    let socket = temp.path().join("control.sock");
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    assert!(socket.exists());
    assert!(ControlClient::attach(&socket).await.is_err());
    let server = ControlServer::start(&socket, Arc::new(Fake::default())).unwrap();
    ControlClient::attach(&socket).await.unwrap();
    server.stop().await;
}
