//! What an engine is started with.

use std::path::PathBuf;

use farhold_mount::MountOptions;
use farhold_net::RelayAddress;

use crate::error::EngineError;
use crate::layout::Layout;
use crate::logs::RecentLogs;
use crate::settings::{Settings, SettingsKey};

/// Options of one run; what is left out is taken from the settings.
#[derive(Debug, Clone)]
pub struct EngineConfig {
    /// The folder of everything that this engine keeps.
    pub config_dir: PathBuf,
    /// The relay.
    pub relay: Option<RelayAddress>,
    /// Whether and where the drive is mounted.
    pub mount: MountChoice,
    /// TCP port for direct connections; 0 takes any free one.
    pub listen: Option<u16>,
    /// Contacts are not dialled in the own network.
    pub no_lan: bool,
    /// Contacts are reached through the relay only.
    pub relay_only: bool,
    /// Listens on this machine's loopback address only: for tests and the demo.
    pub loopback: bool,
    /// What this process logs, for [`Engine::diagnostics`](crate::Engine::diagnostics); the host installs its layer.
    pub logs: RecentLogs,
}

impl EngineConfig {
    /// An engine on `config_dir` as its settings say.
    pub fn new(config_dir: impl Into<PathBuf>) -> Self {
        Self {
            config_dir: config_dir.into(),
            relay: None,
            mount: MountChoice::Settings,
            listen: None,
            no_lan: false,
            relay_only: false,
            loopback: false,
            logs: RecentLogs::default(),
        }
    }
}

/// The options over the settings.
impl EngineConfig {
    /// The relay in use.
    pub(crate) fn relay_with(&self, settings: &Settings) -> Result<Option<RelayAddress>, EngineError> {
        match &self.relay {
            Some(relay) => Ok(Some(relay.clone())),
            None => Ok(settings.relay_address()?),
        }
    }

    /// Whether contacts are dialled in the own network.
    pub(crate) fn lan_with(&self, settings: &Settings) -> bool {
        settings.lan && !self.no_lan
    }

    /// Where and how the drive is mounted once it is.
    pub(crate) fn place_with(&self, settings: &Settings) -> Result<MountOptions, EngineError> {
        let point = match &self.mount {
            MountChoice::At(point) => Some(point.clone()),
            MountChoice::Settings | MountChoice::Off => settings.drive.clone().or_else(Layout::default_drive),
        };
        let point = point.ok_or(EngineError::NoHome { option: "--mount" })?;
        Ok(MountOptions { point, allow_other: settings.allow_other })
    }

    /// The same, if the drive is mounted without being asked for it.
    pub(crate) fn mount_with(&self, settings: &Settings) -> Result<Option<MountOptions>, EngineError> {
        let wanted = match self.mount {
            MountChoice::At(_) => true,
            MountChoice::Settings => settings.mount,
            MountChoice::Off => false,
        };
        wanted.then(|| self.place_with(settings)).transpose()
    }

    /// The keys whose new value waits for the next start, since this run began with `started`.
    pub(crate) fn restart_needed(&self, started: &Settings, now: &Settings) -> Vec<SettingsKey> {
        let waits = |key: &SettingsKey| {
            let has_option = match key {
                SettingsKey::Relay => self.relay.is_some(),
                SettingsKey::Drive => matches!(self.mount, MountChoice::At(_)),
                SettingsKey::Mount => !matches!(self.mount, MountChoice::Settings),
                SettingsKey::Lan => self.no_lan,
                SettingsKey::ListenPort | SettingsKey::RelayOnly | SettingsKey::CacheDir => true,
                SettingsKey::AllowOther
                | SettingsKey::CacheLimit
                | SettingsKey::LimitReceive
                | SettingsKey::LimitSend => false,
            };
            has_option && !key.is_same(started, now)
        };
        SettingsKey::ALL.into_iter().filter(waits).collect()
    }
}

/// Whether and where the drive is mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MountChoice {
    /// As the settings say.
    Settings,
    /// Here.
    At(PathBuf),
    /// Nowhere.
    Off,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_win_over_settings_and_what_cannot_be_taken_over_waits() {
        let started = Settings { relay: Some("a:1".into()), ..Settings::default() };
        let now = Settings {
            relay: Some("b:2".into()),
            drive: Some("/d".into()),
            mount: false,
            lan: false,
            listen_port: 7,
            cache_dir: Some("/c".into()),
            cache_limit: started.cache_limit + 1,
            allow_other: true,
            ..Settings::default()
        };
        let plain = EngineConfig::new("/config");
        assert_eq!(plain.relay_with(&now).unwrap().unwrap().to_string(), "b:2");
        assert_eq!(plain.mount_with(&now).unwrap(), None);
        assert!(!plain.lan_with(&now) && plain.lan_with(&started));
        let place = MountOptions { point: "/d".into(), allow_other: true };
        assert_eq!(plain.place_with(&now).unwrap(), place);
        use SettingsKey::{CacheDir, Drive, Lan, ListenPort, Mount, Relay};
        assert_eq!(plain.restart_needed(&started, &now), [ListenPort, CacheDir]);
        assert_eq!(plain.restart_needed(&now, &now), []);

        let options = EngineConfig {
            relay: Some("r:3".parse().unwrap()),
            mount: MountChoice::At("/elsewhere".into()),
            no_lan: true,
            ..EngineConfig::new("/config")
        };
        assert_eq!(options.relay_with(&now).unwrap().unwrap().to_string(), "r:3");
        assert_eq!(options.mount_with(&now).unwrap().unwrap().point, PathBuf::from("/elsewhere"));
        assert!(!options.lan_with(&started));
        assert_eq!(options.restart_needed(&started, &now), [Relay, Drive, Mount, ListenPort, Lan, CacheDir]);

        let off = EngineConfig { mount: MountChoice::Off, ..EngineConfig::new("/config") };
        assert_eq!(off.mount_with(&started).unwrap(), None);
        assert_eq!(off.place_with(&now).unwrap(), place);
    }
}
