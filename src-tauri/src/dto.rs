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

pub(crate) use event::*;
pub(crate) use failure::{Failure, FailureKind};
pub(crate) use files::*;
pub(crate) use path::{Path, of_file_url};
pub(crate) use preferences::{NotificationSwitches, Preferences};
pub(crate) use settings::{Settings, SettingsReply};
pub(crate) use state::*;
pub(crate) use transfer::{Direction, Transfer, TransferChanges, TransferState};

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
