//! What the shell and the page tell each other. `ui/src/ipc/types.ts` is made of these types by the test
//! `the_page_knows_these_types`; field names and values are camelCase there.

mod event;
mod failure;
mod files;
mod path;
mod preferences;
mod settings;
mod state;
mod transfer;

pub(crate) use event::{Dragging, Held, Link, LinkKind, Nothing, Paths, ShowView};
pub(crate) use failure::{Failure, FailureKind};
pub(crate) use files::{
    Check, CheckState, Crumb, DescribedPath, Entry, EntryKind, Holder, HomeSide, Listing, OpenFile, PathKindOnDisk,
    RelayTest, Run, RunState,
};
pub(crate) use path::Path;
pub(crate) use preferences::{NotificationSwitches, Preferences, Theme};
pub(crate) use settings::{Settings, SettingsReply};
pub(crate) use state::{
    Cache, Contact, Drive, DriveState, EngineInfo, EngineState, Identity, Latency, Network, Pin, Platform, Seek, Share,
    State, TransferCounts, Wire,
};
pub(crate) use transfer::{Transfer, TransferChanges};

#[cfg(test)]
mod tests;
