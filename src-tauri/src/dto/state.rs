//! How everything stands.

use serde::Serialize;
use ts_rs::TS;

use super::{Failure, Path};

mod convert;

/// What the page shows.
#[derive(Debug, Clone, PartialEq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) struct State {
    pub(crate) engine: EngineInfo,
    pub(crate) version: &'static str,
    pub(crate) demo: bool,
    pub(crate) tray_available: bool,
    pub(crate) platform: Platform,
    pub(crate) identity: Option<Identity>,
    pub(crate) contacts: Vec<Contact>,
    pub(crate) drive: Option<Drive>,
    pub(crate) cache: Option<Cache>,
    pub(crate) wire: Option<Wire>,
    pub(crate) seek: Option<Seek>,
    pub(crate) first_byte: Option<Latency>,
    pub(crate) network: Option<Network>,
    pub(crate) shares: Vec<Share>,
    pub(crate) pins: Vec<Pin>,
    pub(crate) transfer_counts: TransferCounts,
}

/// The engine that the window shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
pub(crate) struct EngineInfo {
    pub(crate) state: EngineState,
    /// Whether it runs in this process.
    pub(crate) hosted: bool,
    pub(crate) failure: Option<Failure>,
}

/// Whether the engine runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) enum EngineState {
    Starting,
    Running,
    Failed,
    Stopping,
}

/// The system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Platform {
    Linux,
    Macos,
    Windows,
}

impl Platform {
    pub(crate) fn this() -> Self {
        match std::env::consts::OS {
            "macos" => Self::Macos,
            "windows" => Self::Windows,
            _ => Self::Linux,
        }
    }
}

/// Who this is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
pub(crate) struct Identity {
    pub(crate) code: String,
    #[ts(type = "\"file\" | \"keychain\"")]
    pub(crate) secrets: Secrets,
}

/// What protects the secrets at rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Secrets {
    File,
}

/// A contact.
#[derive(Debug, Clone, PartialEq, Serialize, TS)]
pub(crate) struct Contact {
    pub(crate) name: String,
    pub(crate) code: String,
    pub(crate) pairing: Pairing,
    pub(crate) present: Option<bool>,
    pub(crate) wanted: bool,
    pub(crate) words: Option<String>,
    pub(crate) accept: Option<ShownPath>,
    pub(crate) session: Session,
}

/// How far the pairing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Pairing {
    Pending,
    Provisional,
    Paired,
}

/// A path, and how it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
pub(crate) struct ShownPath {
    pub(crate) path: Path,
    pub(crate) display: String,
}

/// The connection with a contact.
#[derive(Debug, Clone, PartialEq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Session {
    pub(crate) state: SessionState,
    pub(crate) path: Option<PathKind>,
    pub(crate) transport: Option<Transport>,
    pub(crate) rtt_ms: Option<f64>,
    pub(crate) epoch: Option<u64>,
    pub(crate) reason: Option<String>,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) ways: Vec<Way>,
    pub(crate) governor: Option<Governor>,
}

/// Whether there is a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) enum SessionState {
    Offline,
    Connecting,
    Connected,
    Interrupted,
}

/// How two machines reach each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) enum PathKind {
    Lan,
    Direct,
    Punched,
    Relayed,
}

/// What carries a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Transport {
    Quic,
    Tcp,
}

/// A lane of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Lane {
    pub(crate) id: Option<u32>,
    pub(crate) class: LaneClass,
    pub(crate) transport: String,
    pub(crate) path: String,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    pub(crate) rate_in: u64,
    pub(crate) rate_out: u64,
    pub(crate) missing: Option<String>,
}

/// What a lane carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) enum LaneClass {
    Control,
    Urgent,
    Bulk,
}

/// A better way that was tried and does not stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
pub(crate) struct Way {
    pub(crate) path: String,
    pub(crate) transport: String,
    pub(crate) reason: String,
}

/// Bytes; `rate` in bytes per second.
#[derive(Debug, Clone, PartialEq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Governor {
    pub(crate) window: u64,
    pub(crate) outstanding: u64,
    pub(crate) queued: u64,
    pub(crate) rate: u64,
    pub(crate) min_rtt_ms: Option<f64>,
}

/// The drive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
pub(crate) struct Drive {
    pub(crate) point: String,
    pub(crate) state: DriveState,
    pub(crate) reason: Option<String>,
}

/// Whether the drive is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) enum DriveState {
    Mounted,
    Failed,
    Unmounted,
}

/// The block cache, in bytes; `hits` and `misses` in blocks.
#[derive(Debug, Clone, PartialEq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Cache {
    pub(crate) limit: u64,
    pub(crate) used: u64,
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    pub(crate) hit_rate: Option<f64>,
    pub(crate) served: u64,
    pub(crate) fetched: u64,
    pub(crate) disk_free: Option<u64>,
    pub(crate) disk_low: bool,
}

/// Bytes on the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Wire {
    pub(crate) received: u64,
    pub(crate) sent: u64,
    pub(crate) rate_in: u64,
    pub(crate) rate_out: u64,
}

/// Latency of jumps, with and without other traffic.
#[derive(Debug, Clone, PartialEq, Serialize, TS)]
pub(crate) struct Seek {
    pub(crate) idle: Latency,
    pub(crate) loaded: Latency,
}

/// The latest latencies of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Latency {
    pub(crate) count: u64,
    pub(crate) p50_ms: f64,
    pub(crate) p95_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) max_ms: f64,
}

/// Where this engine can be reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Network {
    pub(crate) relay: Option<String>,
    pub(crate) relay_state: RelayState,
    pub(crate) relay_reason: Option<String>,
    pub(crate) listen: Option<u16>,
}

/// Whether the relay is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) enum RelayState {
    None,
    Connecting,
    Connected,
    Unreachable,
}

/// Something shared from here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
pub(crate) struct Share {
    pub(crate) path: Path,
    pub(crate) display: String,
    pub(crate) with: String,
    pub(crate) name: String,
    pub(crate) writable: bool,
    pub(crate) state: ShareState,
    pub(crate) entries: u64,
}

/// Whether a share can be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ShareState {
    Scanning,
    Ready,
    Unavailable,
}

/// Something kept whole in the cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
pub(crate) struct Pin {
    pub(crate) path: Path,
    pub(crate) display: String,
    pub(crate) state: PinState,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    pub(crate) cached: u64,
    pub(crate) reason: Option<String>,
}

/// How something pinned stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) enum PinState {
    Fetching,
    Whole,
    Waiting,
    NoRoom,
    Gone,
}

/// How many transfers are in which state, and the sum of their rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TransferCounts {
    pub(crate) running: usize,
    pub(crate) queued: usize,
    pub(crate) waiting: usize,
    pub(crate) paused: usize,
    pub(crate) failed: usize,
    pub(crate) offered: usize,
    pub(crate) done: usize,
    pub(crate) rate_in: u64,
    pub(crate) rate_out: u64,
}
