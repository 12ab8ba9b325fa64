//! Why a transfer is not taken up, or not changed.

use std::io;
use std::path::PathBuf;

use super::status::{TransferId, TransferState};
use super::table::Refused;
use crate::error::ErrorClass;

/// Why a transfer, or a file of it, cannot be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) class: ErrorClass,
    pub(crate) reason: String,
}

impl Problem {
    pub(crate) fn new(class: ErrorClass, reason: impl Into<String>) -> Self {
        Self { class, reason: reason.into() }
    }

    /// Of a task that panicked.
    pub(crate) fn task() -> Self {
        Self::new(ErrorClass::Internal, "a task of the engine failed")
    }
}

/// Problems whose reasons are kept: a home can name many, and long ones.
const TOLD: usize = 8;

/// What could not be transferred: how much, and why of the first.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    count: usize,
    first: Vec<Problem>,
}

impl Problems {
    /// Adds one, which is made only if it is kept.
    pub(crate) fn add(&mut self, problem: impl FnOnce() -> Problem) {
        self.count += 1;
        if self.first.len() < TOLD {
            self.first.push(problem());
        }
    }

    pub(crate) fn append(&mut self, more: Self) {
        self.count += more.count;
        let room = TOLD - self.first.len();
        self.first.extend(more.first.into_iter().take(room));
    }

    pub(crate) fn first(&self) -> Option<&Problem> {
        self.first.first()
    }

    /// The reasons in one line.
    pub(crate) fn reasons(&self) -> String {
        let reasons: Vec<&str> = self.first.iter().map(|problem| problem.reason.as_str()).collect();
        let more = match self.count - self.first.len() {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        format!("{}{more}", reasons.join("; "))
    }
}

/// Why a command about transfers failed. What befalls a transfer later is in its status.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// None of that number.
    #[error("there is no transfer {id}; see: farhold transfers")]
    Unknown {
        /// The number.
        id: TransferId,
    },
    /// It is too late for that.
    #[error("transfer {id} is {} already", state.name())]
    Over {
        /// Its number.
        id: TransferId,
        /// How it ended.
        state: TransferState,
    },
    /// What a contact pulls is for the contact to change.
    #[error("transfer {id} is your contact's; only the contact can change it")]
    Theirs {
        /// Its number.
        id: TransferId,
    },
    /// What is offered neither pauses nor goes on.
    #[error(
        "transfer {id} is an offer; take it with: farhold accept {id}, or not with: farhold decline {id}"
    )]
    Offered {
        /// Its number.
        id: TransferId,
    },
    /// There is nothing to accept or decline.
    #[error("transfer {id} is not an offer that waits for your answer")]
    NotOffered {
        /// Its number.
        id: TransferId,
    },
    /// It cannot be forgotten.
    #[error("transfer {id} is not finished; give it up first with: farhold cancel {id}")]
    Unfinished {
        /// Its number.
        id: TransferId,
    },
    /// The default folder for what contacts push cannot be made.
    #[error("{} cannot be made: {source}; say where to put it", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the file system says.
        source: io::Error,
    },
    /// As many as there can be.
    #[error("there are too many unfinished transfers; cancel some first")]
    TooMany,
    /// A contact's whole folder cannot be pulled.
    #[error("say which file or folder: {contact}/PATH")]
    NoPath {
        /// Whose.
        contact: String,
    },
    /// The user has no home, so there is no default for where to pull to.
    #[error("this user has no home directory; say where to pull to")]
    NoHome,
    /// Nothing is ever overwritten.
    #[error("{} exists already", path.display())]
    Exists {
        /// What is there.
        path: PathBuf,
    },
    /// A file or folder of this machine cannot be used.
    #[error("{}: {source}", path.display())]
    Local {
        /// Which.
        path: PathBuf,
        /// What the file system says.
        source: io::Error,
    },
    /// What is pushed must have a name that a folder can hold.
    #[error("{} has no name to push it under", path.display())]
    NoName {
        /// Which.
        path: PathBuf,
    },
    /// The list of transfers cannot be kept.
    #[error("the list of transfers cannot be saved: {0}")]
    Save(io::Error),
    /// The system has no random numbers.
    #[error("the system has no random numbers: {0}")]
    Random(getrandom::Error),
}

impl TransferError {
    /// The kind of failure.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Unknown { .. } => ErrorClass::NotFound,
            Self::Over { .. }
            | Self::Offered { .. }
            | Self::NotOffered { .. }
            | Self::Unfinished { .. }
            | Self::Exists { .. } => ErrorClass::Conflict,
            Self::Theirs { .. } | Self::TooMany => ErrorClass::Refused,
            Self::NoPath { .. } | Self::NoHome | Self::NoName { .. } => ErrorClass::Usage,
            Self::Local { source, .. } if source.kind() == io::ErrorKind::NotFound => ErrorClass::NotFound,
            Self::Local { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                ErrorClass::Refused
            }
            Self::Local { .. } | Self::Folder { .. } => ErrorClass::Internal,
            Self::Save(_) | Self::Random(_) => ErrorClass::Internal,
        }
    }

    pub(crate) fn refused(id: TransferId, why: Refused) -> Self {
        match why {
            Refused::Unknown => Self::Unknown { id },
            Refused::Over(state) => Self::Over { id, state },
            Refused::Theirs => Self::Theirs { id },
            Refused::TooMany => Self::TooMany,
            Refused::Offered => Self::Offered { id },
            Refused::NotOffered => Self::NotOffered { id },
            Refused::Unfinished => Self::Unfinished { id },
        }
    }
}
