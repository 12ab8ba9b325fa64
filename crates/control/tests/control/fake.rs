//! A host that only remembers what it was asked, and what it answers.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use farhold_control::Host;
use farhold_engine::commands::{
    ContactAdded, DrivePath, Holder, Listed, ListedKind, RateChange, RateLimits, Share, ShareRequest,
    ShareState, Unmounted,
};
use farhold_engine::contacts::ContactError;
use farhold_engine::doctor::{Finding, Verdict};
use farhold_engine::error::{EngineError, ErrorClass};
use farhold_engine::settings::{Settings, SettingsKey, StoredSettings};
use farhold_engine::status::{
    BlockRun, CacheStatus, ContactStatus, Direction, GovernorStatus, IdentityStatus, LaneStatus,
    LatencySummary, MountStateName, MountStatus, NetworkStatus, OpenFile, PairingState, PathStatus,
    RelayStateName, RunState, SecretStore, SeekStatus, SessionStateName, SessionStatus, Status,
    TransferChanges, TransferId, TransferState, TransferStatus, WireStatus,
};
use farhold_engine::{PinState, PinStatus, RelayAddress};
use farhold_wire::{Name, Timestamp};
use futures_util::stream::{self, BoxStream, StreamExt};

#[derive(Default)]
pub(crate) struct Fake {
    asked: Mutex<Vec<String>>,
    /// How often the status was asked for, and after how many times it changes.
    pub(crate) looked: AtomicU64,
    pub(crate) changes_after: AtomicU64,
}

impl Fake {
    fn note(&self, what: impl Into<String>) {
        self.asked.lock().unwrap().push(what.into());
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

pub(crate) fn unknown(name: &str) -> EngineError {
    EngineError::Contact(ContactError::Unknown { name: name.to_owned() })
}

pub(crate) fn name(text: &str) -> Name {
    Name::new(text.as_bytes().to_vec()).unwrap()
}

pub(crate) fn session() -> SessionStatus {
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

pub(crate) fn transfer() -> TransferStatus {
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

pub(crate) fn status() -> Status {
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
            disk_free: Some(7),
            disk_low: true,
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

pub(crate) fn changes() -> Vec<TransferChanges> {
    vec![
        TransferChanges { changed: vec![transfer(); 2], removed: vec![], complete: false },
        TransferChanges { complete: true, ..TransferChanges::default() },
        TransferChanges { changed: vec![], removed: vec![TransferId(3)], complete: true },
    ]
}

pub(crate) fn open_files() -> Vec<OpenFile> {
    let run = |start, state| BlockRun { start, blocks: 2, state };
    vec![OpenFile {
        path: DrivePath { contact: "ben".into(), below: vec![Name::new(b"a\xff".to_vec()).unwrap()] },
        size: 1 << 20,
        block_bytes: 256 << 10,
        opens: 3,
        runs: vec![run(0, RunState::Cached), run(2, RunState::Demand), run(9, RunState::Ahead)],
        playheads: vec![5, 6],
        hit_rate: Some(0.25),
    }]
}

pub(crate) fn pins() -> Vec<PinStatus> {
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

pub(crate) fn listed(count: usize) -> Vec<Listed> {
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

    async fn accept_offer(&self, id: TransferId, folder: Option<PathBuf>) -> Result<(), EngineError> {
        self.note(format!("accept {id} {folder:?}"));
        Ok(())
    }

    async fn decline_offer(&self, id: TransferId) -> Result<(), EngineError> {
        self.note(format!("decline {id}"));
        Ok(())
    }

    async fn forget_transfers(&self, ids: Option<Vec<TransferId>>) -> Result<Vec<TransferId>, EngineError> {
        self.note(format!("forget {ids:?}"));
        Ok(ids.unwrap_or_else(|| vec![TransferId(8)]))
    }

    fn transfer_changes(&self, interval: Duration) -> BoxStream<'static, TransferChanges> {
        self.note(format!("changes {interval:?}"));
        stream::iter(changes()).chain(stream::pending()).boxed()
    }

    async fn open_files(&self) -> Result<Vec<OpenFile>, EngineError> {
        let looked = self.looked.fetch_add(1, Ordering::Relaxed);
        // None at first, one a little later, and then it stays so.
        Ok(open_files().into_iter().filter(|_| looked >= 2).collect())
    }

    async fn limit_rates(&self, change: RateChange) -> Result<RateLimits, EngineError> {
        self.note(format!("{change:?}"));
        Ok(RateLimits { receive: change.receive.flatten(), send: Some(7) })
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

    async fn settings(&self) -> Result<StoredSettings, EngineError> {
        Ok(StoredSettings { settings: settings(), restart_needed: vec![] })
    }

    async fn change_settings(&self, settings: Settings) -> Result<StoredSettings, EngineError> {
        settings.check()?;
        Ok(StoredSettings { settings, restart_needed: SettingsKey::ALL.to_vec() })
    }

    async fn mount(&self) -> Result<MountStatus, EngineError> {
        Ok(MountStatus { point: "/d".into(), state: MountStateName::Mounted, reason: None })
    }

    async fn unmount(&self, force: bool) -> Result<Unmounted, EngineError> {
        Ok(Unmounted { unmounted: force, holders: holders() })
    }

    async fn holders(&self) -> Result<Vec<Holder>, EngineError> {
        Ok(holders())
    }

    async fn doctor(&self) -> Result<Vec<Finding>, EngineError> {
        Ok(findings())
    }

    async fn test_relay(&self, address: &str) -> Result<Duration, EngineError> {
        address.parse::<RelayAddress>()?;
        Ok(Duration::from_micros(1500))
    }

    async fn diagnostics(&self) -> Result<String, EngineError> {
        Ok("{}".into())
    }
}

pub(crate) fn settings() -> Settings {
    Settings {
        relay: Some("relay:7480".into()),
        drive: Some("/home/u/Farhold".into()),
        mount: false,
        allow_other: true,
        listen_port: 7000,
        lan: false,
        relay_only: true,
        cache_dir: Some("/cache".into()),
        cache_limit: 70_000_000,
        limit_receive: Some(100_001),
        limit_send: Some(100_002),
    }
}

pub(crate) fn holders() -> Vec<Holder> {
    vec![Holder { pid: 7, program: "vim".into(), file: "/d/ben/a".into() }]
}

pub(crate) fn findings() -> Vec<Finding> {
    let finding = |verdict, fix: Option<&str>| Finding {
        check: "fuse".into(),
        verdict,
        detail: "is".into(),
        fix: fix.map(str::to_owned),
    };
    vec![
        finding(Verdict::Ok, None),
        finding(Verdict::Warning, Some("mend it")),
        finding(Verdict::Failed, Some("mend it")),
    ]
}
