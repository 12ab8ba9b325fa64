//! Values for tests.

use super::state::{Pairing, RelayState, Session, SessionState};
use super::transfer::{Direction, TransferState};
use super::{Cache, Contact, Drive, DriveState, EngineInfo, EngineState, Network, Platform, State, Transfer};

/// Of an engine that runs, with a mounted drive and nobody known.
pub(crate) fn state() -> State {
    State {
        engine: EngineInfo { state: EngineState::Running, hosted: true, failure: None },
        version: "0",
        demo: false,
        tray_available: true,
        platform: Platform::Linux,
        identity: None,
        contacts: Vec::new(),
        drive: Some(Drive { point: "/drive".to_owned(), state: DriveState::Mounted, reason: None }),
        cache: Some(Cache {
            limit: 0,
            used: 0,
            hits: 0,
            misses: 0,
            hit_rate: None,
            served: 0,
            fetched: 0,
            disk_free: None,
            disk_low: false,
        }),
        wire: None,
        seek: None,
        first_byte: None,
        network: Some(Network {
            relay: None,
            relay_state: RelayState::Connected,
            relay_reason: None,
            listen: None,
        }),
        shares: Vec::new(),
        pins: Vec::new(),
        transfer_counts: super::TransferCounts::default(),
    }
}

/// Somebody who is paired and away.
pub(crate) fn contact(name: &str) -> Contact {
    Contact {
        name: name.to_owned(),
        code: String::new(),
        pairing: Pairing::Paired,
        present: Some(false),
        wanted: true,
        words: None,
        accept: None,
        session: Session {
            state: SessionState::Offline,
            path: None,
            transport: None,
            rtt_ms: None,
            epoch: None,
            reason: None,
            lanes: Vec::new(),
            ways: Vec::new(),
            governor: None,
        },
    }
}

/// A pull from anna.
pub(crate) fn transfer(id: u64, state: TransferState) -> Transfer {
    Transfer {
        id,
        direction: Direction::Pull,
        contact: "anna".to_owned(),
        name: "Photos".to_owned(),
        state,
        reason: None,
        files_done: 0,
        files: 1,
        bytes_done: 0,
        bytes: 10,
        rate: 0,
        remaining_seconds: None,
        destination: None,
        destination_display: None,
    }
}
