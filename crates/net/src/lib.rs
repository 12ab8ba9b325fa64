//! Reaching a contact: finding it through the relay, racing the paths to it, and the session with its lanes.
//!
//! * [`Net`] is the whole: contacts, pairings, connecting. [`Peer`] calls one contact; [`PeerService`] answers it.
//! * [`state`] says how it stands with each contact.
//!
//! Inside, from the outside in: `rendezvous` posts and watches at the relay; `contact` is the task of one contact and
//! does what `connect`, which has no I/O, decides; `leg` and `bridge` make authenticated connections and `listener`
//! takes them; `session` runs the lanes, each a `stream` of records; `calls` and `bulk` are what lanes carry.
//! `docs/protocol.md` has the formats in one place.

mod activity;
mod bridge;
mod bulk;
mod calls;
mod clock;
pub mod config;
mod connect;
mod contact;
mod control;
pub mod counters;
pub mod error;
pub mod event;
pub mod governor;
mod leg;
mod listener;
mod net;
mod network;
mod pace;
mod pairing;
pub mod peer;
mod quic;
mod rendezvous;
mod roster;
pub mod service;
mod session;
mod shared;
mod socket;
pub mod state;
mod stream;
#[cfg(test)]
mod testing;
mod text;
mod tickets;

pub use config::{NetConfig, RelayAddress, SavedContact};
pub use counters::WireCounter;
pub use error::{NetError, PeerError};
pub use event::NetEvent;
pub use governor::{GovernorMeter, GovernorView, Priority};
pub use net::Net;
pub use peer::{GOVERNED_BYTES, Peer, Reading};
pub use rendezvous::probe::{RelayTestError, test_relay};
pub use service::PeerService;
pub use state::{
    Connection, ContactState, LaneInfo, MissingWay, OfflineReason, Path, RelayState, SessionState, Transport,
};
