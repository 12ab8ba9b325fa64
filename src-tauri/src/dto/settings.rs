//! The engine's settings.

use std::path::PathBuf;

use farhold_engine::settings::{self, SettingsKey, StoredSettings};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Limits are bytes per second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Settings {
    pub(crate) relay: Option<String>,
    pub(crate) drive: Option<String>,
    pub(crate) mount: bool,
    pub(crate) allow_other: bool,
    pub(crate) listen_port: u16,
    pub(crate) lan: bool,
    pub(crate) relay_only: bool,
    pub(crate) cache_dir: Option<String>,
    pub(crate) cache_limit: u64,
    pub(crate) limit_receive: Option<u64>,
    pub(crate) limit_send: Option<u64>,
}

/// `restartNeeded`: what was stored and applies when the engine starts again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SettingsReply {
    pub(crate) settings: Settings,
    #[ts(type = "(keyof Settings)[]")]
    pub(crate) restart_needed: Vec<&'static str>,
}

impl From<&settings::Settings> for Settings {
    fn from(settings: &settings::Settings) -> Self {
        let shown = |path: &Option<PathBuf>| path.as_ref().map(|path| path.to_string_lossy().into_owned());
        Self {
            relay: settings.relay.clone(),
            drive: shown(&settings.drive),
            mount: settings.mount,
            allow_other: settings.allow_other,
            listen_port: settings.listen_port,
            lan: settings.lan,
            relay_only: settings.relay_only,
            cache_dir: shown(&settings.cache_dir),
            cache_limit: settings.cache_limit,
            limit_receive: settings.limit_receive,
            limit_send: settings.limit_send,
        }
    }
}

impl From<Settings> for settings::Settings {
    fn from(settings: Settings) -> Self {
        Self {
            relay: settings.relay,
            drive: settings.drive.map(PathBuf::from),
            mount: settings.mount,
            allow_other: settings.allow_other,
            listen_port: settings.listen_port,
            lan: settings.lan,
            relay_only: settings.relay_only,
            cache_dir: settings.cache_dir.map(PathBuf::from),
            cache_limit: settings.cache_limit,
            limit_receive: settings.limit_receive,
            limit_send: settings.limit_send,
        }
    }
}

impl From<StoredSettings> for SettingsReply {
    fn from(stored: StoredSettings) -> Self {
        Self {
            settings: (&stored.settings).into(),
            restart_needed: stored.restart_needed.into_iter().map(key).collect(),
        }
    }
}

fn key(key: SettingsKey) -> &'static str {
    match key {
        SettingsKey::Relay => "relay",
        SettingsKey::Drive => "drive",
        SettingsKey::Mount => "mount",
        SettingsKey::AllowOther => "allowOther",
        SettingsKey::ListenPort => "listenPort",
        SettingsKey::Lan => "lan",
        SettingsKey::RelayOnly => "relayOnly",
        SettingsKey::CacheDir => "cacheDir",
        SettingsKey::CacheLimit => "cacheLimit",
        SettingsKey::LimitReceive => "limitReceive",
        SettingsKey::LimitSend => "limitSend",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_come_back_and_their_keys_are_those_of_the_page() {
        let settings = settings::Settings { relay: Some("relay.example".to_owned()), ..Default::default() };
        let sent = Settings::from(&settings);
        assert_eq!(settings::Settings::from(sent.clone()), settings);
        let value = serde_json::to_value(sent).unwrap();
        for known in SettingsKey::ALL {
            assert!(value.get(key(known)).is_some(), "{known}");
        }
    }
}
