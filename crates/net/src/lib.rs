//! Reaching a contact: finding it through the relay, racing the paths to it, and the session with its lanes.
//!
//! * [`Net`] is the whole: contacts, pairings, connecting. [`Peer`] calls one contact; [`PeerService`] answers it.
//! * [`state`] says how it stands with each contact.
//!
//! `docs/protocol.md` has the formats in one place.

pub mod config;
pub mod counters;
pub mod error;
pub mod event;
mod net;
pub mod peer;
pub mod service;
pub mod state;

pub use config::{NetConfig, RelayAddress, SavedContact};
pub use counters::WireCounter;
pub use error::{NetError, PeerError};
pub use event::NetEvent;
pub use net::Net;
pub use peer::{Peer, Reading};
pub use service::PeerService;
pub use state::{Connection, ContactState, LaneInfo, OfflineReason, Path, RelayState, SessionState};
