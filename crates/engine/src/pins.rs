//! Files and folders of contacts that are kept whole in the cache.
//!
//! What is pinned is an entry, not a version: a [`keeper`] for each contact follows its new versions, and what appears
//! below a pinned folder. The list lies beside the settings; what is there of it is found out anew at every start.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use farhold_cache::{BLOCK_BYTES, Cache, ContentKey};
use farhold_wire::{ContactId, EntryId};
use serde::Serialize;
use tokio::sync::watch;

use crate::controller::blocking;
use crate::error::EngineError;

pub(crate) mod keeper;
mod record;

/// How a pinned file or folder stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PinState {
    /// What is missing is being fetched, or is about to be.
    Fetching,
    /// All of it is here.
    Whole,
    /// What is missing cannot be fetched now.
    Waiting,
    /// The cache has no room for all of it.
    NoRoom,
    /// The contact no longer shares it, or not yet again.
    Gone,
}

/// A pinned file or folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PinStatus {
    /// Where it is in the drive, or was when it was pinned.
    pub path: String,
    /// How it stands.
    pub state: PinState,
    /// Files that it consists of.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How many of these are here.
    pub cached: u64,
    /// Why it is not whole, if more is known than the state says.
    pub reason: Option<String>,
}

/// Something pinned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pin {
    pub(crate) contact: ContactId,
    /// `None`: everything that the contact shares.
    pub(crate) entry: Option<EntryId>,
    /// Where it was below the contact's folder, for people.
    pub(crate) below: String,
}

/// What is known of something pinned.
#[derive(Debug)]
struct Known {
    pin: Pin,
    state: PinState,
    reason: Option<String>,
    /// Size of each file's present version, and whether it is whole.
    files: HashMap<ContentKey, (u64, bool)>,
}

impl Known {
    fn new(pin: Pin) -> Self {
        Self { pin, state: PinState::Fetching, reason: None, files: HashMap::new() }
    }
}

#[derive(Debug, Default)]
struct State {
    pins: Vec<Known>,
    /// What is being fetched now.
    filling: HashSet<ContentKey>,
}

#[derive(Debug)]
struct Inner {
    file: PathBuf,
    state: Mutex<State>,
    /// The list changed.
    changed: watch::Sender<()>,
    /// Held while the list is written.
    saving: tokio::sync::Mutex<()>,
}

/// Everything that is pinned. Clones are the same list.
#[derive(Debug, Clone)]
pub(crate) struct Pins {
    inner: Arc<Inner>,
}

impl Pins {
    /// Reads the list.
    pub(crate) async fn open(file: PathBuf) -> Result<Self, EngineError> {
        let path = file.clone();
        let pins = blocking(move || record::load(&path)).await?;
        let state = State { pins: pins.into_iter().map(Known::new).collect(), filling: HashSet::new() };
        let inner = Inner {
            file,
            state: Mutex::new(state),
            changed: watch::Sender::new(()),
            saving: Default::default(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Adds a pin; one of the same entry is replaced.
    pub(crate) async fn add(&self, pin: Pin) -> Result<(), EngineError> {
        self.change(|pins| {
            pins.retain(|other| (other.contact, other.entry) != (pin.contact, pin.entry));
            pins.push(pin);
        })
        .await
        .map(drop)
    }

    /// Removes the pins that `which` names; false if there is none.
    pub(crate) async fn remove(&self, which: impl Fn(&Pin) -> bool) -> Result<bool, EngineError> {
        if !self.lock().pins.iter().any(|known| which(&known.pin)) {
            return Ok(false);
        }
        self.change(|pins| pins.retain(|pin| !which(pin))).await.map(|()| true)
    }

    /// How everything stands; `name` gives a contact's name.
    pub(crate) fn status(&self, cache: &Cache, name: impl Fn(ContactId) -> String) -> Vec<PinStatus> {
        let state = self.lock();
        let status = |known: &Known| {
            let here = |key: &ContentKey, size: u64, whole: bool| match (whole, state.filling.contains(key)) {
                (true, _) => size,
                (false, true) => size.min(cache.blocks(*key).cached() * BLOCK_BYTES),
                (false, false) => 0,
            };
            let mut path = name(known.pin.contact);
            if !known.pin.below.is_empty() {
                path = format!("{path}/{}", known.pin.below);
            }
            PinStatus {
                path,
                state: known.state,
                files: known.files.len() as u64,
                bytes: known.files.values().map(|(size, _)| *size).fold(0, u64::saturating_add),
                cached: known
                    .files
                    .iter()
                    .map(|(key, (size, whole))| here(key, *size, *whole))
                    .fold(0, u64::saturating_add),
                reason: known.reason.clone(),
            }
        };
        state.pins.iter().map(status).collect()
    }

    /// The list on disk is changed first.
    async fn change(&self, change: impl FnOnce(&mut Vec<Pin>)) -> Result<(), EngineError> {
        let _saving = self.inner.saving.lock().await;
        let mut pins: Vec<Pin> = self.lock().pins.iter().map(|known| known.pin.clone()).collect();
        change(&mut pins);
        let (path, saved) = (self.inner.file.clone(), pins.clone());
        blocking(move || record::save(&path, &saved)).await?;
        let mut state = self.lock();
        let former = std::mem::take(&mut state.pins);
        let mut former: HashMap<_, _> =
            former.into_iter().map(|known| ((known.pin.contact, known.pin.entry), known)).collect();
        state.pins = pins
            .into_iter()
            .map(|pin| match former.remove(&(pin.contact, pin.entry)) {
                Some(known) => Known { pin, ..known },
                None => Known::new(pin),
            })
            .collect();
        drop(state);
        self.inner.changed.send_replace(());
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Whole between any two statements, so a panic elsewhere does not spoil it.
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a keeper tells and asks.
impl Pins {
    fn changes(&self) -> watch::Receiver<()> {
        self.inner.changed.subscribe()
    }

    fn of(&self, contact: ContactId) -> Vec<Option<EntryId>> {
        let state = self.lock();
        state.pins.iter().filter(|known| known.pin.contact == contact).map(|known| known.pin.entry).collect()
    }

    fn tell(&self, contact: ContactId, entry: Option<EntryId>, tell: impl FnOnce(&mut Known)) {
        let mut state = self.lock();
        let mut pins = state.pins.iter_mut();
        if let Some(known) = pins.find(|known| (known.pin.contact, known.pin.entry) == (contact, entry)) {
            tell(known);
        }
    }

    fn filling_nothing(&self, contact: ContactId) {
        self.lock().filling.retain(|key| key.contact != contact.0);
    }

    fn filling(&self, key: ContentKey) {
        self.lock().filling.insert(key);
    }

    fn filled(&self, key: ContentKey, whole: bool) {
        let mut state = self.lock();
        state.filling.remove(&key);
        for known in &mut state.pins {
            if let Some((_, here)) = known.files.get_mut(&key) {
                *here = whole;
            }
            if known.state == PinState::Fetching && known.files.values().all(|(_, whole)| *whole) {
                known.state = PinState::Whole;
            }
        }
    }
}
