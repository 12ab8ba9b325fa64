//! The controller of Farhold: settings, secrets, contacts, sessions, shares, the drive.
//!
//! [`Engine`] is the handle. One loop (`controller`) owns what changes: contacts and settings. What only reads takes
//! what that loop and the other rooms publish. The adapters between rooms that know a network and rooms that do not
//! are in `adapters`; `replication` keeps what contacts share up to date, `mounting` keeps the drive
//! mounted, as far as that is wanted.

pub mod commands;
pub mod config;
pub mod contacts;
pub mod diagnostics;
pub mod doctor;
pub mod error;
pub mod layout;
pub mod logs;
pub mod secrets;
pub mod settings;
pub mod status;

mod adapters;
mod backoff;
mod controller;
mod engine;
mod files;
mod identity;
mod latency;
mod lock;
mod mounting;
mod open_files;
mod pins;
mod rates;
mod replication;
mod seek;
mod storage;
mod transfers;

pub use config::{EngineConfig, MountChoice};
pub use engine::Engine;
pub use error::{EngineError, ErrorClass};
pub use pins::{PinState, PinStatus};
pub use transfers::error::TransferError;

/// The words of other rooms that whoever runs an engine needs.
pub use farhold_net::RelayAddress;
pub use farhold_wire::{Name, NameError, Timestamp};
