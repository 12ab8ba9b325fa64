//! What I share ([`Home`]), what a peer shares ([`Replica`]), and the numbers that the drive gives to both ([`Nodes`]).
//!
//! A home scans and watches the shared paths, gives ids and versions, announces changes to its contacts and serves
//! reads. A replica keeps on disk what one peer announced. Both live in `SQLite` databases whose formats
//! `docs/catalog.md` describes. Everything here may be called from async code: whatever blocks runs on threads of
//! its own.

mod error;
mod event;
mod home;
mod link;
mod memory;
mod nodes;
mod replica;
mod store;

pub use error::{CatalogError, ReplicaError, ShareError};
pub use event::{HomeEvent, TreeEvent};
pub use home::{Attributes, Grant, Home, HomeConfig, Object, OwnEntry, ShareInfo, ShareState, WatchState};
pub use link::stays_inside;
pub use nodes::{NodeKey, Nodes};
pub use replica::{Children, Lookup, Replica};

/// The words of entries, for rooms that know a peer only through the catalog.
pub use farhold_wire::{ContactId, Entry, EntryId, EntryKind, Name, NameError, Space, Timestamp, Version};
