//! What a transfer shows of itself. The field names are what `farhold transfers --json` prints.

use std::fmt;
use std::num::ParseIntError;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::ErrorClass;
use crate::status::lossy_option;

/// Number of a transfer at one engine: counts up from 1, never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TransferId(pub u64);

impl fmt::Display for TransferId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for TransferId {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        text.parse().map(Self)
    }
}

/// Which way a transfer goes, and who asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Asked for here, from a contact's trees.
    Pull,
    /// Asked for here, to a contact.
    Push,
    /// A contact's push, which is received here.
    Receive,
    /// A contact's pull, which is served from here. Lasts as long as this engine runs.
    Serve,
}

/// How it stands with a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransferState {
    /// A contact's push that the user has neither accepted nor declined.
    Offered,
    /// Waits for its turn.
    Queued,
    /// Bytes move.
    Running,
    /// Waits for something that comes back by itself, and goes on then.
    Waiting,
    /// Stopped until somebody resumes it; what was received is kept.
    Paused,
    /// Everything is verified and in its place.
    Done,
    /// Ended before its end; what was received is kept, and `resume` tries again.
    Failed,
    /// Given up; what was not finished is gone.
    Cancelled,
}

impl TransferState {
    /// Its name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Offered => "offered",
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Paused => "paused",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether nothing happens any more until the user acts.
    pub fn rests(self) -> bool {
        match self {
            Self::Queued | Self::Running | Self::Waiting => false,
            Self::Offered | Self::Paused | Self::Done | Self::Failed | Self::Cancelled => true,
        }
    }

    /// Whether it may be taken off the list: nothing happens any more unless `resume` tries again.
    pub fn is_finished(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled)
    }

    /// Whether nothing happens any more at all.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Cancelled)
    }
}

/// One file or folder under way as a whole.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TransferStatus {
    /// Its number.
    pub id: TransferId,
    /// Which way.
    pub direction: Direction,
    /// With whom: the contact's name, or its id if it was removed.
    pub contact: String,
    /// Name of the file or folder.
    pub name: String,
    /// How it stands.
    pub state: TransferState,
    /// Why it waits, is paused or failed; of a finished one, what could not be transferred.
    pub reason: Option<String>,
    /// Of one that failed here: which kind of failure that was.
    pub class: Option<ErrorClass>,
    /// Files in their place.
    pub files_done: u64,
    /// Files in all, as far as known.
    pub files: u64,
    /// Bytes received and kept.
    pub bytes_done: u64,
    /// Bytes in all, as far as known.
    pub bytes: u64,
    /// Bytes per second, lately; 0 unless running.
    pub rate: u64,
    /// Seconds to the end at that rate, if there is one.
    pub remaining_seconds: Option<u64>,
    /// Where it lands on this machine, once that is known.
    #[serde(serialize_with = "lossy_option")]
    pub destination: Option<PathBuf>,
}

/// What has changed of the transfers since a watcher was told last.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct TransferChanges {
    /// New ones, and others as they are now.
    pub changed: Vec<TransferStatus>,
    /// Those that are no more.
    pub removed: Vec<TransferId>,
    /// At first a watcher is told all that there is, in chunks: false of each but the last.
    pub complete: bool,
}
