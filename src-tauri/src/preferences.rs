//! What the window remembers, in `window.json` of the config directory: written whole, read strictly. A file that
//! cannot be understood stays as it is; the window then has its defaults and cannot save.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::dto::{Failure, FailureKind, Preferences};

/// The schema that this build reads and writes.
const VERSION: u32 = 1;
/// Largest file that is read, in bytes.
const FILE_BYTES: u64 = 64 << 10;

/// Where the window was, in logical pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Place {
    pub(crate) x: i32,
    pub(crate) y: i32,
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) maximized: bool,
}

/// What is remembered.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Remembered {
    pub(crate) preferences: Preferences,
    pub(crate) place: Option<Place>,
    /// Whether the page was not painted by the fast renderer, here and once.
    pub(crate) safe_renderer: bool,
}

#[derive(Serialize)]
struct Versioned<'a> {
    version: u32,
    #[serde(flatten)]
    remembered: &'a Remembered,
}

/// Why nothing is remembered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RememberError {
    #[error("cannot read or write {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{} is damaged ({source}); it was left as it is. Correct it or move it away", path.display())]
    Damaged { path: PathBuf, source: serde_json::Error },
    #[error("{} has schema version {version}, this build knows {VERSION}; it was left as it is", path.display())]
    Version { path: PathBuf, version: u64 },
    #[error("{}: {problem} The file was left as it is", path.display())]
    Invalid { path: PathBuf, problem: &'static str },
}

impl From<&RememberError> for Failure {
    fn from(error: &RememberError) -> Self {
        Self::new(FailureKind::Internal, format!("The preferences are not kept: {error}."))
    }
}

/// The file.
#[derive(Debug)]
pub(crate) struct Store {
    path: PathBuf,
    /// What could not be understood is not written over.
    broken: Option<RememberError>,
}

impl Store {
    /// The file of a config directory, and what it holds; the defaults if there is none, or none that can be read.
    pub(crate) fn open(config_dir: &Path) -> (Self, Remembered) {
        let path = config_dir.join("window.json");
        match read(&path) {
            Ok(found) => (Self { path, broken: None }, found.unwrap_or_default()),
            Err(error) => {
                tracing::warn!("the window has its default preferences: window.json cannot be used");
                tracing::debug!("{error}");
                (Self { path, broken: Some(error) }, Remembered::default())
            }
        }
    }

    /// Replaces the file as a whole.
    pub(crate) fn save(&self, remembered: &Remembered) -> Result<(), Failure> {
        if let Some(error) = &self.broken {
            return Err(error.into());
        }
        write(&self.path, remembered)
            .map_err(|source| (&RememberError::Io { path: self.path.clone(), source }).into())
    }
}

fn read(path: &Path) -> Result<Option<Remembered>, RememberError> {
    let io = |source| RememberError::Io { path: path.to_owned(), source };
    let damaged = |source| RememberError::Damaged { path: path.to_owned(), source };
    match fs::metadata(path) {
        Ok(found) if found.len() > FILE_BYTES => return Err(io(io::ErrorKind::FileTooLarge.into())),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io(error)),
    }
    let content = fs::read(path).map_err(io)?;
    let mut keys: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(&content).map_err(damaged)?;
    // The version is looked at first: another one may have other keys.
    match keys.remove("version").and_then(|version| version.as_u64()) {
        Some(version) if version == u64::from(VERSION) => {}
        Some(version) => return Err(RememberError::Version { path: path.to_owned(), version }),
        None => return Err(damaged(serde::de::Error::missing_field("version"))),
    }
    let remembered: Remembered = serde_json::from_value(keys.into()).map_err(damaged)?;
    match remembered.preferences.problem() {
        Some(problem) => Err(RememberError::Invalid { path: path.to_owned(), problem }),
        None => Ok(Some(remembered)),
    }
}

fn write(path: &Path, remembered: &Remembered) -> io::Result<()> {
    let mut content = serde_json::to_vec_pretty(&Versioned { version: VERSION, remembered })?;
    content.push(b'\n');
    let new = path.with_extension("json.new");
    let mut file = File::create(&new)?;
    file.write_all(&content)?;
    file.sync_all()?;
    fs::rename(new, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_is_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let (store, remembered) = Store::open(folder.path());
        assert_eq!(remembered, Remembered::default());
        let changed = Remembered {
            preferences: Preferences { scale: 150, language: Some("de".into()), ..Preferences::default() },
            place: Some(Place { x: -5, y: 7, width: 800, height: 600, maximized: true }),
            safe_renderer: true,
        };
        store.save(&changed).unwrap();
        assert_eq!(Store::open(folder.path()).1, changed);
    }

    #[test]
    fn what_cannot_be_understood_is_kept_and_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("window.json");
        write(&path, &Remembered::default()).unwrap();
        let whole = fs::read_to_string(&path).unwrap();
        for content in [
            String::new(),
            whole.replacen("\"scale\"", "\"scal\"", 1),
            whole.replacen("\"scale\": 100", "\"scale\": 20", 1),
            whole.replacen("\"version\": 1", "\"version\": 2", 1),
        ] {
            fs::write(&path, &content).unwrap();
            let (store, remembered) = Store::open(folder.path());
            assert_eq!(remembered, Remembered::default());
            let failure = store.save(&remembered).unwrap_err();
            assert!(failure.message.contains("window.json"), "{}", failure.message);
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
    }
}
