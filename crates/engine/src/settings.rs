//! What the user chose, in `settings.json`: written whole, read strictly. A file that cannot be understood is an
//! error and stays as it is.

use std::io;
use std::path::{Path, PathBuf};

use farhold_net::{NetError, RelayAddress};
use serde::{Deserialize, Serialize};

use crate::files;

pub use key::SettingsKey;

mod key;

/// The schema that this build reads and writes.
const VERSION: u32 = 1;
/// Largest settings file that is read, in bytes.
const FILE_BYTES: u64 = 64 << 10;
/// Smallest useful cache, in bytes: a few read-ahead windows of a long link.
pub const LEAST_CACHE_BYTES: u64 = 64_000_000;
/// Room that the block cache may take unless the user says otherwise, in bytes.
pub const DEFAULT_CACHE_BYTES: u64 = 10_000_000_000;

/// Smallest limit of a rate, in bytes per second: with less, what a jump asks for takes longer than a program waits.
pub const LEAST_RATE: u64 = 100_000;

/// The user's settings. Options of the command line win over them for one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The relay, `HOST:PORT`; without one, contacts cannot find each other.
    pub relay: Option<String>,
    /// Where the drive is mounted; `null` for `~/Farhold`.
    pub drive: Option<PathBuf>,
    /// Whether the drive is mounted at all.
    pub mount: bool,
    /// Whether other users of this machine may use the drive, as far as the modes of its files allow. For an ordinary
    /// user the system must allow it too: `user_allow_other` in `/etc/fuse.conf`.
    pub allow_other: bool,
    /// Port for direct connections; 0 takes any free one.
    pub listen_port: u16,
    /// Whether contacts are dialled in the own network.
    pub lan: bool,
    /// Whether every connection goes through the relay.
    pub relay_only: bool,
    /// Folder of the block cache; `null` for `cache` in the config directory.
    pub cache_dir: Option<PathBuf>,
    /// Room for the block cache, in bytes.
    pub cache_limit: u64,
    /// Most bytes received per second; `null` for as many as come.
    pub limit_receive: Option<u64>,
    /// Most bytes sent per second; `null` for as many as can be.
    pub limit_send: Option<u64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            relay: None,
            drive: None,
            mount: true,
            allow_other: false,
            listen_port: 0,
            lan: true,
            relay_only: false,
            cache_dir: None,
            cache_limit: DEFAULT_CACHE_BYTES,
            limit_receive: None,
            limit_send: None,
        }
    }
}

/// The settings as they are on disk, and what of them waits for the next start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoredSettings {
    /// What the next start takes.
    pub settings: Settings,
    /// Keys that were changed since the start, and that this run cannot take over or has an option for.
    pub restart_needed: Vec<SettingsKey>,
}

/// The file: the settings, and the schema that they are written in.
#[derive(Serialize)]
struct File<'a> {
    version: u32,
    #[serde(flatten)]
    settings: &'a Settings,
}

/// Why a value cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InvalidSetting {
    /// The relay is no address.
    #[error("relay: {0}")]
    Relay(#[source] NetError),
    /// A folder would depend on where a program was started.
    #[error("{}: {} does not begin with /; write the whole path", key.name(), path.display())]
    Relative {
        /// Which setting.
        key: SettingsKey,
        /// Its value.
        path: PathBuf,
    },
    /// The cache would be of no use.
    #[error("cache_limit must be at least {LEAST_CACHE_BYTES} bytes")]
    CacheLimit,
    /// A read of one block would take too long.
    #[error("{} must be at least {LEAST_RATE} bytes per second, or null for no limit", .0.name())]
    Rate(SettingsKey),
}

/// Why there are no settings.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file system would not.
    #[error("cannot read or write {}: {source}", path.display())]
    Io {
        /// The settings file.
        path: PathBuf,
        /// What the file system said.
        source: io::Error,
    },
    /// The file is no settings file, or has a key that nobody knows.
    #[error("{} is damaged ({source}); it was left as it is. Correct it or move it away", path.display())]
    Damaged {
        /// The settings file.
        path: PathBuf,
        /// Where it went wrong.
        source: serde_json::Error,
    },
    /// Another version of Farhold wrote it.
    #[error("{} has schema version {version}, this build knows {VERSION}; it was left as it is", path.display())]
    Version {
        /// The settings file.
        path: PathBuf,
        /// What it says.
        version: u64,
    },
    /// A value that cannot be used.
    #[error("{}: {source}; the file was left as it is", path.display())]
    Invalid {
        /// The settings file.
        path: PathBuf,
        /// What is wrong.
        source: InvalidSetting,
    },
}

impl Settings {
    /// Reads the settings, or writes the defaults where there are none yet.
    ///
    /// # Errors
    /// [`SettingsError`]; the file stays as it is.
    pub fn load(path: &Path) -> Result<Self, SettingsError> {
        if let Some(settings) = Self::read(path)? {
            return Ok(settings);
        }
        let settings = Self::default();
        settings.save(path)?;
        Ok(settings)
    }

    /// Reads the settings; `None` where there are none yet.
    ///
    /// # Errors
    /// [`SettingsError`].
    pub fn read(path: &Path) -> Result<Option<Self>, SettingsError> {
        let io = |source| SettingsError::Io { path: path.to_owned(), source };
        let Some(content) = files::read(path, FILE_BYTES).map_err(io)? else {
            return Ok(None);
        };
        let damaged = |source| SettingsError::Damaged { path: path.to_owned(), source };
        let mut keys: serde_json::Map<String, serde_json::Value> =
            serde_json::from_slice(&content).map_err(damaged)?;
        // The version is looked at first: another one may have other keys.
        match keys.remove("version").and_then(|version| version.as_u64()) {
            Some(version) if version == u64::from(VERSION) => {}
            Some(version) => return Err(SettingsError::Version { path: path.to_owned(), version }),
            None => return Err(damaged(serde::de::Error::missing_field("version"))),
        }
        let settings: Self = serde_json::from_value(keys.into()).map_err(damaged)?;
        match settings.check() {
            Ok(()) => Ok(Some(settings)),
            Err(source) => Err(SettingsError::Invalid { path: path.to_owned(), source }),
        }
    }

    /// Whether every value can be used.
    ///
    /// # Errors
    /// [`InvalidSetting`], of the first that cannot.
    pub fn check(&self) -> Result<(), InvalidSetting> {
        self.relay_address()?;
        for (key, path) in [(SettingsKey::Drive, &self.drive), (SettingsKey::CacheDir, &self.cache_dir)] {
            if let Some(path) = path.as_ref().filter(|path| !path.is_absolute()) {
                return Err(InvalidSetting::Relative { key, path: path.clone() });
            }
        }
        if self.cache_limit < LEAST_CACHE_BYTES {
            return Err(InvalidSetting::CacheLimit);
        }
        for (key, rate) in
            [(SettingsKey::LimitReceive, self.limit_receive), (SettingsKey::LimitSend, self.limit_send)]
        {
            if rate.is_some_and(|rate| rate < LEAST_RATE) {
                return Err(InvalidSetting::Rate(key));
            }
        }
        Ok(())
    }

    /// The relay.
    ///
    /// # Errors
    /// [`InvalidSetting::Relay`].
    pub fn relay_address(&self) -> Result<Option<RelayAddress>, InvalidSetting> {
        self.relay.as_deref().map(str::parse).transpose().map_err(InvalidSetting::Relay)
    }

    /// Replaces the file as a whole.
    ///
    /// # Errors
    /// [`SettingsError::Io`]; the file holds what it held.
    pub fn save(&self, path: &Path) -> Result<(), SettingsError> {
        let mut content = serde_json::to_vec_pretty(&File { version: VERSION, settings: self })
            .map_err(|source| SettingsError::Damaged { path: path.to_owned(), source })?;
        content.push(b'\n');
        files::replace(path, &content).map_err(|source| SettingsError::Io { path: path.to_owned(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(content: &str) -> (Result<Settings, SettingsError>, String) {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("settings.json");
        std::fs::write(&path, content).unwrap();
        let loaded = Settings::load(&path);
        (loaded, std::fs::read_to_string(&path).unwrap())
    }

    #[test]
    fn the_first_start_writes_defaults_and_saving_is_identity() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("settings.json");
        assert_eq!(Settings::load(&path).unwrap(), Settings::default());
        let changed = Settings {
            relay: Some("relay.example:7480".into()),
            drive: Some("/mnt/d".into()),
            mount: false,
            allow_other: true,
            listen_port: 7000,
            lan: false,
            relay_only: true,
            cache_dir: Some("/var/cache/f".into()),
            cache_limit: LEAST_CACHE_BYTES,
            ..Settings::default()
        };
        changed.save(&path).unwrap();
        assert_eq!(Settings::load(&path).unwrap(), changed);
    }

    #[test]
    fn what_cannot_be_understood_is_an_error_and_is_kept() {
        let defaults = File { version: VERSION, settings: &Settings::default() };
        let whole = serde_json::to_string(&defaults).unwrap();
        let cases = [
            ("", "damaged"),
            (&whole[..whole.len() / 2], "damaged"),
            ("[]", "damaged"),
            (&whole.replacen("\"relay\"", "\"realy\"", 1), "damaged"),
            (&whole.replacen("\"version\":1", "\"version\":2", 1), "schema version 2"),
            (&whole.replacen("\"cache_limit\":10000000000", "\"cache_limit\":5", 1), "cache_limit"),
            (&whole.replacen("\"limit_send\":null", "\"limit_send\":5", 1), "limit_send"),
        ];
        for (content, says) in cases {
            let (loaded, left) = load(content);
            let error = loaded.expect_err(content).to_string();
            assert!(error.contains(says), "{error}");
            assert_eq!(left, content);
        }
    }

    #[test]
    fn every_key_and_its_default_is_documented() {
        let page = include_str!("../../../docs/command-line.md");
        let defaults = serde_json::to_value(Settings::default()).unwrap();
        for (key, default) in defaults.as_object().unwrap() {
            assert!(page.contains(&format!("| `{key}` | {default} | ")), "{key}");
        }
        for least in [LEAST_CACHE_BYTES, LEAST_RATE] {
            assert!(page.contains(&format!("at least {least}")));
        }
    }
}
