//! Files and folders moved as a whole: pulls, pushes, and what contacts push here.
//!
//! Everything is asked for by its receiver. A push is an offer (`offers`) that the receiver pulls, so one engine
//! fetches both. `table` decides without I/O what works, waits and is told; `scheduler` does what it says; `fetch`
//! moves the bytes of one transfer into what `destination` keeps at its place; `hashes` are what verifies them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use farhold_wire::{ContactId, EntryKind, Name, Offer, OfferAnswer, Report, Standing, TransferKey};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::contacts::ContactBook;
use crate::controller::blocking;
use crate::error::EngineError;
use crate::layout::Layout;

mod beneath;
mod changes;
mod destination;
pub(crate) mod error;
mod fetch;
mod groups;
mod hashes;
mod offers;
mod plan;
mod progress;
mod record;
mod run;
mod scheduler;
pub(crate) mod status;
mod table;

use destination::Destination;
use error::{Problem, TransferError};
use hashes::Hashes;
use offers::Offers;
pub(crate) use record::Job;
use record::List;
pub(crate) use scheduler::Scheduler;
use status::{TransferId, TransferStatus};
use table::{Amounts, End, New, Refused, Table};

/// Most files and folders of one transfer: they are held in memory while it is under way.
const MOST_ENTRIES: usize = 1 << 20;
/// Most bytes that a contact may push at once.
const RECEIVED_BYTES: u64 = 1 << 40;
/// Room that a transfer leaves free on the disk: a full disk is in everybody's way.
const FREE_BYTES: u64 = 64 << 20;

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
    /// Bytes moved, or something changed: what only is shown.
    moved: watch::Sender<()>,
    contacts: watch::Receiver<ContactBook>,
    offers: Offers,
    hashes: Arc<Hashes>,
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
        let run = getrandom::u64().map_err(TransferError::Random)?;
        let shared = Shared {
            table: Mutex::new(Table::load(loaded, run, Instant::now())),
            changed: watch::Sender::new(()),
            moved: watch::Sender::new(()),
            contacts,
            offers: Offers::default(),
            hashes: Arc::default(),
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

    fn status(&self, id: TransferId) -> Option<TransferStatus> {
        let book = self.shared.contacts.borrow();
        self.table().status(id, |id| book.get(id).map(|contact| contact.name.clone()))
    }

    /// Takes one up.
    pub(crate) async fn add(
        &self,
        contact: ContactId,
        name: Name,
        job: Job,
    ) -> Result<TransferId, EngineError> {
        let mut key = [0; 16];
        getrandom::fill(&mut key).map_err(TransferError::Random)?;
        let new = New { key: TransferKey(key), tag: tag()?, contact, name, job };
        let added = self.table().add(new, Instant::now());
        let id = added.map_err(|_| TransferError::TooMany)?;
        self.save().await?;
        Ok(id)
    }

    /// A contact offers a push.
    pub(crate) async fn offered(&self, contact: ContactId, offer: Offer) -> OfferAnswer {
        let accept = self.contacts().get(contact).and_then(|contact| contact.accept.clone());
        if !matches!(offer.root.kind, EntryKind::Folder | EntryKind::File { .. }) {
            return OfferAnswer::NotWanted;
        }
        let known = self.table().offered(contact, &offer, accept.as_deref());
        self.notify();
        if let Some(answer) = known {
            return answer;
        }
        if offer.bytes > RECEIVED_BYTES {
            return OfferAnswer::TooLarge;
        }
        let (job, answer) = match accept {
            Some(folder) if !has_room(&folder, &offer).await => return OfferAnswer::TooLarge,
            Some(folder) => {
                (Job::Receive { folder: folder.as_path().into(), name: None }, OfferAnswer::Accepted)
            }
            None => (Job::Offered, OfferAnswer::Pending),
        };
        let Ok(tag) = tag() else { return OfferAnswer::TooMany };
        let Offer { key, root, files, bytes, sequence: _ } = offer;
        let new = New { key, tag, contact, name: root.name.clone(), job };
        let amounts = Amounts { files, bytes, ..Amounts::default() };
        let received = self.table().receive(new, root, amounts, Instant::now());
        if received.is_err() {
            return OfferAnswer::TooMany;
        }
        self.save_quietly().await;
        answer
    }

    /// A contact says how it stands with a transfer.
    pub(crate) fn reported(&self, contact: ContactId, report: Report) -> Standing {
        let standing = self.table().reported(contact, report, Instant::now());
        self.notify();
        standing
    }

    /// What is pushed from here.
    pub(crate) fn offers(&self) -> &Offers {
        &self.shared.offers
    }

    /// Hashes of what is served.
    pub(crate) fn hashes(&self) -> &Arc<Hashes> {
        &self.shared.hashes
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

    /// Takes all that a contact has offered into a folder.
    pub(crate) async fn accept_all(&self, contact: ContactId, folder: &Path) -> Result<(), EngineError> {
        self.table().accept_all(contact, folder);
        self.save().await
    }

    /// Takes finished ones off the list, or these of them; gives which.
    pub(crate) async fn discard(&self, ids: Option<Vec<TransferId>>) -> Result<Vec<TransferId>, EngineError> {
        let discarded = self.table().discard(ids);
        let discarded = discarded.map_err(|(id, why)| TransferError::refused(id, why))?;
        self.save().await?;
        Ok(discarded)
    }

    /// Waits until nothing happens with one any more unless the user acts.
    pub(crate) async fn rests(&self, id: TransferId) -> Result<TransferStatus, EngineError> {
        let mut changed = self.shared.changed.subscribe();
        loop {
            let status = self.status(id).ok_or(TransferError::Unknown { id })?;
            if status.state.rests() {
                return Ok(status);
            }
            changed.changed().await.map_err(|_| EngineError::Stopping)?;
        }
    }

    /// From now on something may be at the place of a transfer: kept before it is made.
    async fn begun(&self, id: TransferId, name: Option<&Name>) -> Result<(), End> {
        self.table().begun(id, name);
        self.save().await.map_err(|error| End::Fail(Problem::new(error.class(), error.to_string())))
    }

    /// Writes the list, and lets everybody know that it changed.
    async fn save(&self) -> Result<(), EngineError> {
        self.notify();
        let _turn = self.shared.saving.lock().await;
        let list = self.table().list();
        let path = self.shared.list.clone();
        blocking(move || list.save(&path).map_err(TransferError::Save)).await
    }

    /// The same where nobody waits: what is not written now is written with the next change.
    async fn save_quietly(&self) {
        if let Err(error) = self.save().await {
            tracing::error!("{error}");
        }
    }

    fn notify(&self) {
        self.shared.changed.send_replace(());
        self.shared.moved.send_replace(());
    }

    /// Something is further than it was.
    fn notify_moved(&self) {
        self.shared.moved.send_replace(());
    }

    fn changed(&self) -> watch::Receiver<()> {
        self.shared.changed.subscribe()
    }

    fn contacts(&self) -> watch::Ref<'_, ContactBook> {
        self.shared.contacts.borrow()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.shared.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a folder has room for what is offered.
async fn has_room(folder: &Path, offer: &Offer) -> bool {
    let (place, name) = (folder.to_owned(), offer.root.name.clone());
    let free =
        tokio::task::spawn_blocking(move || Destination::open(&place, name, 0, PathBuf::new())?.free_bytes());
    matches!(free.await, Ok(Ok(free)) if offer.bytes.saturating_add(FREE_BYTES) <= free)
}

#[cfg(test)]
impl Transfers {
    /// As if the end of a transfer had never been heard of.
    pub(crate) fn undo(&self, id: TransferId) {
        self.table().undo(id);
    }
}

fn tag() -> Result<u64, TransferError> {
    getrandom::u64().map_err(TransferError::Random)
}
