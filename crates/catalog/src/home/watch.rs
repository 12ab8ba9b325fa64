//! The system's notifications, as marks of folders that may have changed. They are hints: scans are the truth.
//!
//! Each folder is watched by itself, before it is listed, so that no change falls between.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use notify::event::{EventKind, ModifyKind, RenameMode};
use notify::{ErrorKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::signal::Signal;

/// A folder of a share: the share and the folder's row.
type Target = (i64, i64);

#[derive(Debug)]
pub(crate) struct Watcher {
    /// Or why there is none.
    system: Mutex<Result<RecommendedWatcher, String>>,
    watched: Arc<Mutex<Watched>>,
}

#[derive(Debug, Default)]
struct Watched {
    /// Overlapping shares watch the same folder.
    folders: BTreeMap<PathBuf, Vec<Target>>,
    signals: HashMap<i64, Arc<Signal>>,
}

impl Watcher {
    pub(crate) fn new() -> Self {
        let watched = Arc::new(Mutex::new(Watched::default()));
        let handler = {
            let watched = watched.clone();
            move |event| lock(&watched).handle(event)
        };
        let system = notify::recommended_watcher(handler).map_err(|error| reason(&error));
        Self { system: Mutex::new(system), watched }
    }

    /// A share to be told of.
    pub(crate) fn add(&self, share: i64, signal: Arc<Signal>) {
        lock(&self.watched).signals.insert(share, signal);
    }

    /// Watches a folder, unless it is already. Blocks.
    pub(crate) fn watch(&self, path: &Path, share: i64, folder: i64) -> Result<(), String> {
        {
            let mut watched = lock(&self.watched);
            if !watched.signals.contains_key(&share) {
                return Ok(());
            }
            if let Some(targets) = watched.folders.get_mut(path) {
                if !targets.contains(&(share, folder)) {
                    targets.push((share, folder));
                }
                return Ok(());
            }
            // Before the system is asked, whose first event may come before its answer. The lock is not held
            // meanwhile: the thread that answers also takes it.
            watched.folders.insert(path.to_owned(), vec![(share, folder)]);
        }
        let mut system = self.system.lock().unwrap_or_else(PoisonError::into_inner);
        let result = match &mut *system {
            Ok(system) => system.watch(path, RecursiveMode::NonRecursive),
            Err(reason) => Err(notify::Error::generic(reason)),
        };
        drop(system);
        let Err(error) = result else { return Ok(()) };
        lock(&self.watched).folders.remove(path);
        match error.kind {
            // It went meanwhile, which its own folder's scan finds.
            ErrorKind::PathNotFound => Ok(()),
            ErrorKind::Io(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            ErrorKind::Generic(_)
            | ErrorKind::Io(_)
            | ErrorKind::WatchNotFound
            | ErrorKind::InvalidConfig(_)
            | ErrorKind::MaxFilesWatch => Err(reason(&error)),
        }
    }

    /// Ends everything about a share. Blocks.
    pub(crate) fn remove(&self, share: i64) {
        lock(&self.watched).signals.remove(&share);
        self.unwatch(share);
    }

    /// Ends the watches of a share whose paths may lead to other folders by now. They are watched again as they are
    /// scanned. Blocks.
    pub(crate) fn unwatch(&self, share: i64) {
        let mut alone = Vec::new();
        {
            let mut watched = lock(&self.watched);
            watched.folders.retain(|path, targets| {
                targets.retain(|target| target.0 != share);
                if targets.is_empty() {
                    alone.push(path.clone());
                }
                !targets.is_empty()
            });
        }
        if let Ok(system) = &mut *self.system.lock().unwrap_or_else(PoisonError::into_inner) {
            for path in alone {
                // It may have gone already, with its folder.
                let _ = system.unwatch(&path);
            }
        }
    }
}

impl Watched {
    fn handle(&mut self, event: notify::Result<notify::Event>) {
        let event = match event {
            Ok(event) if !event.need_rescan() => event,
            // Notifications were lost.
            Ok(_) => return self.mark_everything(),
            Err(error) => {
                tracing::debug!(%error, "notifications of changes failed");
                return self.mark_everything();
            }
        };
        if matches!(event.kind, EventKind::Access(_)) {
            return;
        }
        for path in &event.paths {
            for place in path.parent().into_iter().chain([path.as_path()]) {
                if let Some(targets) = self.folders.get(place) {
                    mark(&self.signals, targets);
                }
            }
            if leaves(&event.kind) {
                self.forget(path);
            }
        }
    }

    /// The system's watches of `path` and of everything below end when it leaves its place. What they watched is
    /// scanned again where it is now, and watched there.
    fn forget(&mut self, path: &Path) {
        let gone: Vec<PathBuf> = self
            .folders
            .range(path.to_owned()..)
            .map(|(below, _)| below)
            .take_while(|below| below.starts_with(path))
            .cloned()
            .collect();
        for path in gone {
            if let Some(targets) = self.folders.remove(&path) {
                mark(&self.signals, &targets);
            }
        }
    }

    fn mark_everything(&self) {
        for signal in self.signals.values() {
            signal.mark_everything();
        }
    }
}

fn mark(signals: &HashMap<i64, Arc<Signal>>, targets: &[Target]) {
    for (share, folder) in targets {
        if let Some(signal) = signals.get(share) {
            signal.mark(*folder);
        }
    }
}

/// Whether what an event names is no longer at its place.
fn leaves(kind: &EventKind) -> bool {
    match kind {
        EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From)) => true,
        EventKind::Any
        | EventKind::Access(_)
        | EventKind::Create(_)
        | EventKind::Modify(_)
        | EventKind::Other => false,
    }
}

fn reason(error: &notify::Error) -> String {
    match &error.kind {
        ErrorKind::MaxFilesWatch => {
            "the system's limit of watches is reached (fs.inotify.max_user_watches)".to_owned()
        }
        ErrorKind::Generic(reason) => reason.clone(),
        ErrorKind::Io(error) => error.to_string(),
        ErrorKind::PathNotFound | ErrorKind::WatchNotFound => "the folder went".to_owned(),
        ErrorKind::InvalidConfig(_) => "the system refused the configuration".to_owned(),
    }
}

fn lock(watched: &Mutex<Watched>) -> MutexGuard<'_, Watched> {
    watched.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
