//! Files and folders moved as a whole: pulls, pushes, and what contacts push here.
//!
//! Everything is asked for by its receiver. A push is an offer (`offers`) that the receiver pulls, so one engine
//! fetches both. `table` decides without I/O what works, waits and is told; `scheduler` does what it says; `fetch`
//! moves the bytes of one transfer into what `destination` keeps at its place; `hashes` are what verifies them.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use farhold_wire::{ContactId, Name, TransferKey};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::contacts::ContactBook;
use crate::controller::blocking;
use crate::error::EngineError;
use crate::layout::Layout;

pub(crate) mod error;
mod progress;
mod record;
pub(crate) mod status;
mod table;

use error::TransferError;
pub(crate) use record::Job;
use record::List;
use status::{TransferId, TransferStatus};
use table::{New, Refused, Table};

/// The transfers of an engine, for whoever commands them, serves them and works on them. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct Transfers {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    table: Mutex<Table>,
    /// Something in the table changed.
    changed: watch::Sender<()>,
    contacts: watch::Receiver<ContactBook>,
    list: PathBuf,
    /// One after the other, so that no older list replaces a newer one.
    saving: tokio::sync::Mutex<()>,
}

impl Transfers {
    /// Reads what the last run left.
    pub(crate) async fn open(
        layout: &Layout,
        contacts: watch::Receiver<ContactBook>,
    ) -> Result<Self, EngineError> {
        let list = layout.transfers();
        let path = list.clone();
        let loaded = blocking(move || List::load(&path).map_err(TransferError::Save)).await?;
        let shared = Shared {
            table: Mutex::new(Table::load(loaded, Instant::now())),
            changed: watch::Sender::new(()),
            contacts,
            list,
            saving: tokio::sync::Mutex::default(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// All of them, by number.
    pub(crate) fn statuses(&self) -> Vec<TransferStatus> {
        let book = self.shared.contacts.borrow();
        self.table().statuses(|id| book.get(id).map(|contact| contact.name.clone()))
    }

    /// Takes one up.
    pub(crate) async fn add(&self, contact: ContactId, name: Name, job: Job) -> Result<TransferId, EngineError> {
        let (mut key, mut tag) = ([0; 16], [0; 8]);
        getrandom::fill(&mut key).and_then(|()| getrandom::fill(&mut tag)).map_err(TransferError::Random)?;
        let new = New { key: TransferKey(key), tag: u64::from_be_bytes(tag), contact, name, job };
        let added = self.table().add(new, Instant::now());
        let id = added.map_err(|_| TransferError::TooMany)?;
        self.save().await?;
        Ok(id)
    }

    /// Changes one as its user wants.
    pub(crate) async fn change(
        &self,
        id: TransferId,
        change: impl FnOnce(&mut Table, TransferId) -> Result<(), Refused>,
    ) -> Result<(), EngineError> {
        change(&mut self.table(), id).map_err(|why| TransferError::refused(id, why))?;
        self.save().await
    }

    /// Waits until nothing happens with one any more unless the user acts.
    pub(crate) async fn rests(&self, id: TransferId) -> Result<TransferStatus, EngineError> {
        let mut changed = self.shared.changed.subscribe();
        loop {
            let status = self.statuses().into_iter().find(|status| status.id == id);
            let status = status.ok_or(TransferError::Unknown { id })?;
            if status.state.rests() {
                return Ok(status);
            }
            changed.changed().await.map_err(|_| EngineError::Stopping)?;
        }
    }

    /// Writes the list, and lets everybody know that it changed.
    async fn save(&self) -> Result<(), EngineError> {
        self.shared.changed.send_replace(());
        let _turn = self.shared.saving.lock().await;
        let list = self.table().list();
        let path = self.shared.list.clone();
        blocking(move || list.save(&path).map_err(TransferError::Save)).await
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.shared.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
