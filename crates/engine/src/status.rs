//! What an engine says of itself. The field names are what `farhold status --json` prints.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize, Serializer};

/// The state of everything, at one moment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Status {
    /// Who this is.
    pub identity: IdentityStatus,
    /// Everybody known, by name.
    pub contacts: Vec<ContactStatus>,
    /// The drive; `None` if it is not to be mounted.
    pub mount: Option<MountStatus>,
    /// The block cache.
    pub cache: CacheStatus,
    /// Bytes as written to and read from sockets, since the start.
    pub wire: WireStatus,
    /// How long reads took that jumped and were not cached.
    pub seek: SeekStatus,
    /// How long it took from asking for a content of which nothing had been asked before to its first byte.
    pub first_byte: LatencySummary,
    /// Files under way as a whole.
    pub transfers: Vec<TransferStatus>,
    /// Where this engine can be reached.
    pub network: NetworkStatus,
}

/// Who this is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IdentityStatus {
    /// What a peer needs to add this engine as a contact.
    pub code: String,
    /// What protects the secrets at rest.
    pub secrets: SecretStore,
}

/// Where the master key lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretStore {
    /// In `secret.key`, a file of mode 0600: who can read the disk as this user can read it.
    File,
}

/// How far the pairing with a contact is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairingState {
    /// The peer has not added us yet, or has not been met.
    Pending,
    /// Paired here; the peer has not confirmed that it stored us.
    Provisional,
    /// Paired on both sides.
    Paired,
}

/// One contact.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ContactStatus {
    /// What the user calls the contact, and the name of its folder in the drive.
    pub name: String,
    /// The contact's code.
    pub code: String,
    /// How far the pairing is.
    pub pairing: PairingState,
    /// Whether the contact's engine is up; `None` if the relay was not asked yet.
    pub present: Option<bool>,
    /// Whether a session is wanted: since pairing or `connect`, until `disconnect`.
    pub wanted: bool,
    /// The connection.
    pub session: SessionStatus,
    /// The words that both sides compare after pairing.
    pub words: Option<String>,
    /// Where what the contact pushes goes; `None` if it may not push.
    #[serde(serialize_with = "lossy_option")]
    pub accept: Option<PathBuf>,
}

/// The connection with a contact.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionStatus {
    /// Whether there is one.
    pub state: SessionStateName,
    /// `lan`, `direct`, `punched` or `relayed`, while connected.
    pub path: Option<String>,
    /// `quic` or `tcp`, what carries the control lane, while connected.
    pub transport: Option<String>,
    /// The lanes, while connected.
    pub lanes: Vec<LaneStatus>,
    /// Better paths that were tried and do not stand, the best first, while connected.
    pub paths: Vec<PathStatus>,
    /// How much is under way from the contact, while connected.
    pub governor: Option<GovernorStatus>,
    /// Round trip of the control lane, in milliseconds.
    pub rtt_ms: Option<f64>,
    /// Number of the current keys; rises with every renewal.
    pub epoch: Option<u64>,
    /// Why there is no connection.
    pub reason: Option<String>,
}

/// The states of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionStateName {
    /// None.
    Offline,
    /// Being made.
    Connecting,
    /// Up.
    Connected,
    /// Lost a moment ago and expected back; requests wait.
    Interrupted,
}

/// One lane of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LaneStatus {
    /// Its number; the control lane has none.
    pub id: Option<u32>,
    /// `control`, `urgent` or `bulk`.
    pub class: String,
    /// `quic` or `tcp`.
    pub transport: String,
    /// `lan`, `direct`, `punched` or `relayed`.
    pub path: String,
    /// Bytes received.
    pub bytes_in: u64,
    /// Bytes sent.
    pub bytes_out: u64,
    /// Bytes received in the last second or so, per second.
    pub rate_in: u64,
    /// Bytes sent in the last second or so, per second.
    pub rate_out: u64,
    /// Why it is missing, if it is.
    pub missing: Option<String>,
}

/// A better path than the one in use, which was tried and does not stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PathStatus {
    /// `lan`, `direct`, `punched` or `relayed`.
    pub path: String,
    /// `quic` or `tcp`.
    pub transport: String,
    /// Why it does not stand.
    pub reason: String,
}

/// What the governor of a session lets be under way.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct GovernorStatus {
    /// Bytes that may be outstanding.
    pub window: u64,
    /// Bytes asked for that have not come yet.
    pub outstanding: u64,
    /// Requests that wait for room.
    pub queued: u64,
    /// What the path carries, in bytes per second, as measured.
    pub rate: u64,
    /// Shortest round trip seen lately, in milliseconds.
    pub min_rtt_ms: Option<f64>,
}

/// The drive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MountStatus {
    /// Where it is, or should be.
    #[serde(serialize_with = "lossy_path")]
    pub point: PathBuf,
    /// Whether it is there.
    pub state: MountStateName,
    /// Why it is not.
    pub reason: Option<String>,
}

/// The states of the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MountStateName {
    /// Usable.
    Mounted,
    /// Not there; tried again now and then.
    Failed,
    /// Not there, as the user asked.
    Unmounted,
}

/// The block cache.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct CacheStatus {
    /// Room that it may take, in bytes.
    pub limit: u64,
    /// Room that it takes, in bytes.
    pub used: u64,
    /// Blocks that were there when they were read, also those that read-ahead had just brought.
    pub hits: u64,
    /// Blocks that a reader had to wait for.
    pub misses: u64,
    /// The part of all blocks read that were hits, from 0 to 1; `None` before the first read.
    pub hit_rate: Option<f64>,
    /// Bytes given to readers.
    pub served: u64,
    /// Bytes fetched from contacts.
    pub fetched: u64,
    /// Bytes that are free on its disk; `None` while that is not known.
    pub disk_free: Option<u64>,
    /// Whether the disk is so full that blocks make room for others or are not kept.
    pub disk_low: bool,
}

impl CacheStatus {
    /// How many percent of the bytes given to readers cost no byte on the network; `None` before the first read.
    pub fn percent_saved(&self) -> Option<u64> {
        (self.served.saturating_sub(self.fetched).saturating_mul(100)).checked_div(self.served)
    }
}

/// Bytes on the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct WireStatus {
    /// Received.
    #[serde(rename = "in")]
    pub received: u64,
    /// Sent.
    #[serde(rename = "out")]
    pub sent: u64,
    /// Received in the last second or so, in bytes per second.
    pub rate_in: u64,
    /// Sent in the last second or so, in bytes per second.
    pub rate_out: u64,
}

/// Latency of jumps.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct SeekStatus {
    /// While nothing else was being fetched.
    pub idle: LatencySummary,
    /// While something else was.
    pub loaded: LatencySummary,
}

/// The latest latencies of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct LatencySummary {
    /// How many there were since the start.
    pub count: u64,
    /// Median of the latest, in milliseconds.
    pub p50_ms: f64,
    /// 95th percentile of the latest, in milliseconds.
    pub p95_ms: f64,
    /// 99th percentile of the latest, in milliseconds.
    pub p99_ms: f64,
    /// Longest of the latest, in milliseconds.
    pub max_ms: f64,
}

pub use crate::open_files::{BlockRun, OpenFile, RunState};
pub use crate::transfers::status::{Direction, TransferChanges, TransferId, TransferState, TransferStatus};

/// Where this engine can be reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NetworkStatus {
    /// The relay, `HOST:PORT`.
    pub relay: Option<String>,
    /// Whether the relay is reached.
    pub relay_state: RelayStateName,
    /// Why the relay is not reached.
    pub relay_reason: Option<String>,
    /// Port for direct connections; `None` with `--relay-only`.
    pub listen: Option<u16>,
}

/// The states of the link to the relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RelayStateName {
    /// No relay is set.
    None,
    /// Being reached for the first time.
    Connecting,
    /// Contacts can be found through it.
    Connected,
    /// Lost or not found; tried again now and then.
    Unreachable,
}

/// The part of all that were hits; `None` without any.
pub(crate) fn hit_rate(hits: u64, misses: u64) -> Option<f64> {
    let all = hits.saturating_add(misses);
    (all > 0).then(|| hits as f64 / all as f64)
}

pub(crate) fn lossy_option<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    match path {
        Some(path) => lossy_path(path, serializer),
        None => serializer.serialize_none(),
    }
}

/// JSON has no bytes: what is no UTF-8 in a path is replaced.
pub(crate) fn lossy_path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}
