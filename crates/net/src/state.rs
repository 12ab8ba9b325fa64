//! How it stands with a contact and with the relay.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use farhold_wire::LaneClass;
use tokio::time::Instant;

use crate::config::RelayAddress;
use crate::counters::WireCounter;
use crate::governor::GovernorMeter;

/// How the two machines reach each other; better ones are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Path {
    /// Through the relay.
    Relayed,
    /// Straight, through NATs that both sides opened to each other.
    Punched,
    /// Straight, across networks, to an address that is open.
    Direct,
    /// Straight, within one network.
    Lan,
}

impl Path {
    /// Its name, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Relayed => "relayed",
            Self::Punched => "punched",
            Self::Direct => "direct",
            Self::Lan => "lan",
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What carries a leg or lane; the better one is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Transport {
    /// A TCP connection.
    Tcp,
    /// A stream of a QUIC connection.
    Quic,
}

impl Transport {
    /// Its name, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Quic => "quic",
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What is known of a contact now.
#[derive(Debug, Clone)]
pub struct ContactState {
    /// The contact's program runs, as the relay last said or a session shows; `None` before anything is known.
    pub present: Option<bool>,
    /// The session with it.
    pub session: SessionState,
}

/// The session with a contact.
#[derive(Debug, Clone)]
pub enum SessionState {
    /// None; calls fail at once.
    Offline {
        /// Why.
        reason: OfflineReason,
    },
    /// Being made; calls fail at once.
    Connecting,
    /// Calls go through.
    Connected(Connection),
    /// The connection is silent or cut and is being made again; calls wait.
    Interrupted {
        /// Since when.
        since: Instant,
    },
}

/// A session that stands.
#[derive(Debug, Clone)]
pub struct Connection {
    /// How the control lane runs.
    pub path: Path,
    /// What carries the control lane.
    pub transport: Transport,
    /// Better ways that were tried and do not stand, the best first.
    pub missing: Vec<MissingWay>,
    /// What lets reads through.
    pub governor: GovernorMeter,
    /// Round trip on the control lane, as last measured.
    pub rtt: Option<Duration>,
    /// How many key exchanges the session has behind it.
    pub epoch: u32,
    /// The contact's build, as it says itself.
    pub build: Option<String>,
    /// All lanes, also those that are missing.
    pub lanes: Vec<LaneInfo>,
}

/// A way to the contact that does not stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingWay {
    /// How a leg would run.
    pub path: Path,
    /// What would carry it.
    pub transport: Transport,
    /// What the last try met.
    pub reason: String,
}

/// One lane of a session.
#[derive(Debug, Clone)]
pub struct LaneInfo {
    /// Its number in the session; the control lane has none.
    pub id: Option<u32>,
    /// What it is for; `None` is the control lane.
    pub class: Option<LaneClass>,
    /// What carries it.
    pub transport: Transport,
    /// How it runs.
    pub path: Path,
    /// Bytes on its sockets.
    pub wire: Arc<WireCounter>,
    /// Why it is missing; `None` if it stands.
    pub missing: Option<String>,
}

/// Why there is no session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OfflineReason {
    /// Nobody has asked for one.
    #[error("not connected")]
    Idle,
    /// We disconnected.
    #[error("disconnected here")]
    Disconnected,
    /// The contact disconnected.
    #[error("the contact disconnected")]
    PeerDisconnected,
    /// The contact's program was stopped.
    #[error("the contact's program was stopped")]
    PeerStopped,
    /// The contact does not want a session now.
    #[error("the contact refuses for now")]
    Refused,
    /// The relay says that the contact's program does not run.
    #[error("the contact is not there")]
    Absent,
    /// The contact is there, but no way to it was found in time.
    #[error("no way to the contact was found")]
    Unreachable,
    /// Nothing came from the contact for too long.
    #[error("the connection went silent")]
    Silent,
    /// The contact's side closed the connection and did not return.
    #[error("the connection was closed")]
    Closed,
    /// No relay is set, so nobody is found.
    #[error("no relay is set")]
    NoRelay,
    /// The relay has not been reached yet.
    #[error("the relay is not reached")]
    RelayUnreachable,
}

/// The link to the relay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RelayState {
    /// None is set.
    None,
    /// Being reached for the first time.
    Connecting,
    /// Posts and watches go through.
    Connected,
    /// Lost or not found; tried again.
    Unreachable {
        /// What the last attempt met.
        reason: String,
    },
}

impl RelayState {
    /// Before a relay was reached for the first time.
    pub(crate) fn before(relay: Option<&RelayAddress>) -> Self {
        if relay.is_some() { Self::Connecting } else { Self::None }
    }
}
