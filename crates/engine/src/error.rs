//! Why a command failed, and of which kind that is for whoever scripts it.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::commands::DrivePathError;
use crate::contacts::ContactError;
use crate::secrets::SecretsError;
use crate::settings::SettingsError;

/// Kinds of failure, as far as a caller can act on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorClass {
    /// Something broke here.
    Internal,
    /// The command itself is wrong.
    Usage,
    /// There is no engine to ask.
    NotRunning,
    /// What was named does not exist.
    NotFound,
    /// The contact cannot be reached now.
    NotConnected,
    /// It did not happen in time.
    TimedOut,
    /// The other side or the system does not allow it.
    Refused,
    /// It clashes with what is there.
    Conflict,
}

/// Why an engine did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Another engine runs on the same config directory.
    #[error("an engine already runs on {}; stop it with: farhold down", config_dir.display())]
    AlreadyRunning {
        /// The config directory.
        config_dir: PathBuf,
    },
    /// The engine is stopping.
    #[error("the engine is stopping")]
    Stopping,
    /// The config directory cannot be used.
    #[error("cannot use the config directory {}: {source}", config_dir.display())]
    ConfigDir {
        /// The config directory.
        config_dir: PathBuf,
        /// What the file system said.
        source: io::Error,
    },
    /// The user has no home, so there is no default for a folder.
    #[error("this user has no home directory; name the folder with {option}")]
    NoHome {
        /// The option that names it.
        option: &'static str,
    },
    /// The settings cannot be used.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The secrets cannot be used.
    #[error(transparent)]
    Secrets(#[from] SecretsError),
    /// A contact cannot be had or saved so.
    #[error(transparent)]
    Contact(#[from] ContactError),
    /// A text is no path in the drive.
    #[error(transparent)]
    DrivePath(#[from] DrivePathError),
    /// No relay is known, but one is needed.
    #[error("no relay is set: start with --relay HOST:PORT, or put \"relay\" into settings.json")]
    NoRelay,
    /// The relay's address is none.
    #[error("{address:?} is no relay address; it must be HOST:PORT")]
    RelayAddress {
        /// What was given.
        address: String,
    },
    /// The session did not come up in time.
    #[error("not connected to {name} after {} s: {reason}", waited.as_secs())]
    ConnectTimedOut {
        /// The contact.
        name: String,
        /// How long it was waited for.
        waited: Duration,
        /// What the session says.
        reason: String,
    },
    /// The contact cannot be asked now.
    #[error("not connected to {name}: {reason}")]
    NotConnected {
        /// The contact.
        name: String,
        /// What the session says.
        reason: String,
    },
    /// `--with` is missing and there is more than one contact.
    #[error("there are {count} contacts; say with whom: --with NAME")]
    ContactNeeded {
        /// How many there are.
        count: usize,
    },
    /// Several paths cannot all have one name.
    #[error("--as names one path; share the others on their own")]
    OneNameManyPaths,
    /// The cache may not be so small.
    #[error("the cache needs at least {} MB", least / 1_000_000)]
    CacheLimit {
        /// Smallest allowed, in bytes.
        least: u64,
    },
    /// Nothing there in the drive.
    #[error("there is no {path} in the drive")]
    NoSuchPath {
        /// What was asked for.
        path: String,
    },
}

impl EngineError {
    /// The kind of failure.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::AlreadyRunning { .. } => ErrorClass::Conflict,
            Self::Stopping => ErrorClass::NotRunning,
            Self::ConfigDir { .. } | Self::Settings(_) | Self::Secrets(_) => ErrorClass::Internal,
            Self::NoHome { .. }
            | Self::DrivePath(_)
            | Self::RelayAddress { .. }
            | Self::ContactNeeded { .. }
            | Self::OneNameManyPaths
            | Self::CacheLimit { .. } => ErrorClass::Usage,
            Self::Contact(error) => error.class(),
            Self::NoRelay | Self::NotConnected { .. } => ErrorClass::NotConnected,
            Self::ConnectTimedOut { .. } => ErrorClass::TimedOut,
            Self::NoSuchPath { .. } => ErrorClass::NotFound,
        }
    }
}
