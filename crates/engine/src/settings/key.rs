//! The names of the settings.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use super::Settings;

/// One of the [`Settings`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SettingsKey {
    /// `relay`
    Relay,
    /// `drive`
    Drive,
    /// `mount`
    Mount,
    /// `allow_other`
    AllowOther,
    /// `listen_port`
    ListenPort,
    /// `lan`
    Lan,
    /// `relay_only`
    RelayOnly,
    /// `cache_dir`
    CacheDir,
    /// `cache_limit`
    CacheLimit,
    /// `limit_receive`
    LimitReceive,
    /// `limit_send`
    LimitSend,
}

/// No setting is called so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no setting {0}; see: farhold settings")]
pub struct UnknownSetting(String);

impl SettingsKey {
    /// All of them, in the order of the file.
    pub const ALL: [Self; 11] = [
        Self::Relay,
        Self::Drive,
        Self::Mount,
        Self::AllowOther,
        Self::ListenPort,
        Self::Lan,
        Self::RelayOnly,
        Self::CacheDir,
        Self::CacheLimit,
        Self::LimitReceive,
        Self::LimitSend,
    ];

    /// Its name in the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Relay => "relay",
            Self::Drive => "drive",
            Self::Mount => "mount",
            Self::AllowOther => "allow_other",
            Self::ListenPort => "listen_port",
            Self::Lan => "lan",
            Self::RelayOnly => "relay_only",
            Self::CacheDir => "cache_dir",
            Self::CacheLimit => "cache_limit",
            Self::LimitReceive => "limit_receive",
            Self::LimitSend => "limit_send",
        }
    }

    /// Whether two settings have the same value under it.
    pub(crate) fn is_same(self, a: &Settings, b: &Settings) -> bool {
        match self {
            Self::Relay => a.relay == b.relay,
            Self::Drive => a.drive == b.drive,
            Self::Mount => a.mount == b.mount,
            Self::AllowOther => a.allow_other == b.allow_other,
            Self::ListenPort => a.listen_port == b.listen_port,
            Self::Lan => a.lan == b.lan,
            Self::RelayOnly => a.relay_only == b.relay_only,
            Self::CacheDir => a.cache_dir == b.cache_dir,
            Self::CacheLimit => a.cache_limit == b.cache_limit,
            Self::LimitReceive => a.limit_receive == b.limit_receive,
            Self::LimitSend => a.limit_send == b.limit_send,
        }
    }
}

impl fmt::Display for SettingsKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for SettingsKey {
    type Err = UnknownSetting;

    fn from_str(text: &str) -> Result<Self, UnknownSetting> {
        Self::ALL.into_iter().find(|key| key.name() == text).ok_or_else(|| UnknownSetting(text.to_owned()))
    }
}

impl Serialize for SettingsKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
