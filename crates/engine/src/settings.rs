//! What the user chose, in `settings.json`: written whole, read strictly. A file that cannot be understood is an
//! error and stays as it is.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::files;

/// The schema that this build reads and writes.
const VERSION: u32 = 1;
/// Largest settings file that is read, in bytes.
const FILE_BYTES: u64 = 64 << 10;
/// Smallest useful cache, in bytes: a few read-ahead windows of a long link.
pub const LEAST_CACHE_BYTES: u64 = 64_000_000;
/// Room that the block cache may take unless the user says otherwise, in bytes.
pub const DEFAULT_CACHE_BYTES: u64 = 10_000_000_000;

/// The user's settings. Options of the command line win over them for one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    version: u32,
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
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            version: VERSION,
            relay: None,
            drive: None,
            mount: true,
            allow_other: false,
            listen_port: 0,
            lan: true,
            relay_only: false,
            cache_dir: None,
            cache_limit: DEFAULT_CACHE_BYTES,
        }
    }
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
    /// A value outside its range.
    #[error("{}: cache_limit must be at least {LEAST_CACHE_BYTES} bytes; the file was left as it is", path.display())]
    CacheLimit {
        /// The settings file.
        path: PathBuf,
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
        // The version is looked at first: another one may have other keys.
        let value: serde_json::Value = serde_json::from_slice(&content).map_err(damaged)?;
        match value.get("version").and_then(serde_json::Value::as_u64) {
            Some(version) if version != u64::from(VERSION) => {
                return Err(SettingsError::Version { path: path.to_owned(), version });
            }
            Some(_) | None => {}
        }
        let settings: Self = serde_json::from_value(value).map_err(damaged)?;
        if settings.cache_limit < LEAST_CACHE_BYTES {
            return Err(SettingsError::CacheLimit { path: path.to_owned() });
        }
        Ok(Some(settings))
    }

    /// Replaces the file as a whole.
    ///
    /// # Errors
    /// [`SettingsError::Io`]; the file holds what it held.
    pub fn save(&self, path: &Path) -> Result<(), SettingsError> {
        let mut content = serde_json::to_vec_pretty(self)
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
        let whole = serde_json::to_string(&Settings::default()).unwrap();
        let cases = [
            ("", "damaged"),
            (&whole[..whole.len() / 2], "damaged"),
            ("[]", "damaged"),
            (&whole.replacen("\"relay\"", "\"realy\"", 1), "damaged"),
            (&whole.replacen("\"version\":1", "\"version\":2", 1), "schema version 2"),
            (&whole.replacen("\"cache_limit\":10000000000", "\"cache_limit\":5", 1), "cache_limit"),
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
        assert!(page.contains(&format!("at least {LEAST_CACHE_BYTES}")));
    }
}
