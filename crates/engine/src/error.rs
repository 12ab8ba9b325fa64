//! Why a command failed, and of which kind that is for whoever scripts it.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use farhold_cache::PinError;
use farhold_catalog::{CatalogError, ShareError};
use farhold_mount::{Holder, MountError};
use farhold_net::{NetError, RelayTestError};
use farhold_vfs::{DriveError, VfsError};
use serde::{Deserialize, Serialize};

use crate::commands::DrivePathError;
use crate::contacts::ContactError;
use crate::secrets::SecretsError;
use crate::settings::{InvalidSetting, SettingsError};
use crate::transfers::error::TransferError;

/// Kinds of failure, as far as a caller can act on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    /// A setting cannot have that value.
    #[error("{0}; nothing was changed")]
    Setting(#[from] InvalidSetting),
    /// A relay that was tested cannot be used.
    #[error(transparent)]
    RelayTest(#[from] RelayTestError),
    /// The secrets cannot be used.
    #[error(transparent)]
    Secrets(#[from] SecretsError),
    /// A contact cannot be had or saved so.
    #[error(transparent)]
    Contact(#[from] ContactError),
    /// A transfer cannot be had or changed so.
    #[error(transparent)]
    Transfer(#[from] TransferError),
    /// A text is no path in the drive.
    #[error(transparent)]
    DrivePath(#[from] DrivePathError),
    /// The network part cannot do it.
    #[error("{}", with_causes(.0))]
    Net(#[from] NetError),
    /// The drive cannot be mounted.
    #[error(
        "{0}. Mend that, name another folder with --mount, or start with --no-mount; `farhold doctor` says more"
    )]
    Mount(#[from] MountError),
    /// The running engine cannot mount or unmount the drive.
    #[error("{}", remount_text(.0))]
    Remount(#[source] MountError),
    /// The drive cannot be made.
    #[error("{}", with_causes(.0))]
    DriveState(#[from] DriveError),
    /// A path of the drive cannot be used.
    #[error("{path}: {source}")]
    Drive {
        /// Which path.
        path: String,
        /// What is wrong with it.
        source: VfsError,
    },
    /// Something cannot be shared or withdrawn so.
    #[error("{}", share_text(path, source))]
    Share {
        /// Which path.
        path: PathBuf,
        /// What is wrong with it.
        source: ShareError,
    },
    /// What is to be shared is not there.
    #[error("cannot share {}: {source}", path.display())]
    NoSuchFile {
        /// Which path.
        path: PathBuf,
        /// What the file system says.
        source: io::Error,
    },
    /// A catalog failed.
    #[error("{}", with_causes(.0))]
    Catalog(#[from] CatalogError),
    /// A task that worked on a command ended early.
    #[error("a task of the engine failed: {0}")]
    Task(tokio::task::JoinError),
    /// No relay is known, but one is needed.
    #[error("no relay is set; set it with: farhold settings relay HOST:PORT")]
    NoRelay,
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
    /// `--with` is missing and there is more than one contact.
    #[error("there are {count} contacts; say with whom: --with NAME")]
    ContactNeeded {
        /// How many there are.
        count: usize,
    },
    /// There is nobody to share with.
    #[error("there is no contact to share with; add one with: farhold contact add NAME CODE")]
    NoContacts,
    /// Several paths cannot all have one name.
    #[error("--as names one path; share the others on their own")]
    OneNameManyPaths,
    /// The cache may not be so small.
    #[error("the cache needs at least {} MB", least / 1_000_000)]
    CacheLimit {
        /// Smallest allowed, in bytes.
        least: u64,
    },
    /// More is pinned, or would be, than the cache may hold.
    #[error("{0}; unpin something, or raise the limit: farhold limit SIZE")]
    Pinned(#[from] PinError),
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
            Self::ConfigDir { .. }
            | Self::Settings(_)
            | Self::Secrets(_)
            | Self::DriveState(_)
            | Self::Catalog(_)
            | Self::Task(_) => ErrorClass::Internal,
            Self::NoHome { .. }
            | Self::DrivePath(_)
            | Self::Setting(_)
            | Self::ContactNeeded { .. }
            | Self::OneNameManyPaths
            | Self::CacheLimit { .. } => ErrorClass::Usage,
            Self::Contact(error) => error.class(),
            Self::Transfer(error) => error.class(),
            Self::Net(error) => net(error),
            Self::RelayTest(error) => relay_test(error),
            Self::Mount(error) | Self::Remount(error) => mount(error),
            Self::Drive { source, .. } => drive(*source),
            Self::Share { source, .. } => share(source),
            Self::Pinned(_) => ErrorClass::Refused,
            Self::NoRelay => ErrorClass::NotConnected,
            Self::ConnectTimedOut { .. } => ErrorClass::TimedOut,
            Self::NoSuchPath { .. } | Self::NoSuchFile { .. } | Self::NoContacts => ErrorClass::NotFound,
        }
    }
}

/// An error in its own words, and after them the causes that it does not tell itself.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

fn remount_text(error: &MountError) -> String {
    match error {
        MountError::Held { point, holders } if holders.is_empty() => {
            format!(
                "{} is in use, by programs that this user cannot see: close what is open there first",
                point.display()
            )
        }
        MountError::Held { point, holders } => {
            let holder = |holder: &Holder| {
                format!("{} ({}, process {})", holder.file.display(), holder.program, holder.pid)
            };
            let held = holders.iter().map(holder).collect::<Vec<_>>().join(", ");
            format!("{} is in use; close this first: {held}", point.display())
        }
        MountError::NotEmpty { .. }
        | MountError::NotFolder { .. }
        | MountError::InUse { .. }
        | MountError::Foreign { .. }
        | MountError::Point { .. }
        | MountError::NoFuse { .. }
        | MountError::NoHelper { .. }
        | MountError::Refused { .. }
        | MountError::Kernel { .. }
        | MountError::StillMounted { .. } => {
            format!(
                "{error}. Mend that and try again, or choose another folder for the drive; `farhold doctor` says more"
            )
        }
    }
}

fn share_text(path: &Path, error: &ShareError) -> String {
    let text = with_causes(error);
    match error {
        // These name the path themselves.
        ShareError::Missing(..) | ShareError::Special(_) | ShareError::Own(_) => text,
        ShareError::NameTaken(_) | ShareError::Name(_) => {
            format!("{}: {text}; give it another name with --as NAME", path.display())
        }
        ShareError::NotShared => format!("{}: {text}; see: farhold shares", path.display()),
        ShareError::AlreadyShared | ShareError::NoContact | ShareError::Catalog(_) => {
            format!("{}: {text}", path.display())
        }
    }
}

fn net(error: &NetError) -> ErrorClass {
    match error {
        NetError::RelayAddress(_) | NetError::OwnCode => ErrorClass::Usage,
        NetError::Listen { .. } | NetError::AlreadyPaired(_) => ErrorClass::Conflict,
        NetError::TooManyContacts => ErrorClass::Refused,
        NetError::UnknownContact(_) => ErrorClass::NotFound,
        NetError::Random(_) | NetError::Quic(_) => ErrorClass::Internal,
    }
}

fn relay_test(error: &RelayTestError) -> ErrorClass {
    match error {
        RelayTestError::NotFound { .. } => ErrorClass::NotFound,
        RelayTestError::Refused { .. } | RelayTestError::Unreachable { .. } => ErrorClass::NotConnected,
        RelayTestError::NoAnswer { .. } => ErrorClass::TimedOut,
        RelayTestError::NoRelay { .. } => ErrorClass::Refused,
    }
}

fn mount(error: &MountError) -> ErrorClass {
    match error {
        MountError::NotEmpty { .. } | MountError::InUse { .. } | MountError::Foreign { .. } => {
            ErrorClass::Conflict
        }
        MountError::NotFolder { .. } => ErrorClass::Usage,
        MountError::Point { .. }
        | MountError::NoFuse { .. }
        | MountError::NoHelper { .. }
        | MountError::Refused { .. }
        | MountError::Held { .. }
        | MountError::Kernel { .. } => ErrorClass::Refused,
        MountError::StillMounted { .. } => ErrorClass::Internal,
    }
}

fn drive(error: VfsError) -> ErrorClass {
    match error {
        VfsError::NotFound | VfsError::Stale | VfsError::NotFolder | VfsError::NameTooLong => {
            ErrorClass::NotFound
        }
        VfsError::Offline => ErrorClass::NotConnected,
        VfsError::TimedOut => ErrorClass::TimedOut,
        VfsError::Busy
        | VfsError::Unavailable
        | VfsError::Denied
        | VfsError::ReadOnly
        | VfsError::NotPermitted
        | VfsError::Shared
        | VfsError::TooManyOpen => ErrorClass::Refused,
        VfsError::IsFolder
        | VfsError::NotLink
        | VfsError::BadHandle
        | VfsError::HomeFailed
        | VfsError::LocalFailed => ErrorClass::Internal,
    }
}

fn share(error: &ShareError) -> ErrorClass {
    match error {
        ShareError::Missing(..) | ShareError::NotShared | ShareError::NoContact => ErrorClass::NotFound,
        ShareError::Special(_) | ShareError::Own(_) => ErrorClass::Refused,
        ShareError::AlreadyShared | ShareError::NameTaken(_) => ErrorClass::Conflict,
        ShareError::Name(_) => ErrorClass::Usage,
        ShareError::Catalog(_) => ErrorClass::Internal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_told_once() {
        let denied = || io::Error::other("it is locked");
        let text = EngineError::Catalog(CatalogError::Disk(denied())).to_string();
        assert_eq!(text, "the disk failed: it is locked");
        let share = |source| EngineError::Share { path: "/a".into(), source }.to_string();
        assert_eq!(share(ShareError::Missing("/a".into(), denied())), "/a cannot be opened: it is locked");
        assert_eq!(share(ShareError::NotShared), "/a: not shared; see: farhold shares");
        let listen = NetError::Listen { port: 7, source: denied() };
        assert_eq!(EngineError::Net(listen).to_string(), "cannot listen at port 7: it is locked");
    }
}
