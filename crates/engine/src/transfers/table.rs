//! What is decided about transfers: which of them works, what waits for what, what the two sides tell each other.
//! No I/O and no clock of its own. The scheduler does what this says, and tells it what came of it.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use farhold_wire::{ContactId, Entry, Name, Sequence, TransferKey};
use tokio::time::Instant;

use super::error::Problem;
use super::progress::Rate;
use super::record::{Job, List, Record};
use super::status::{Direction, TransferChanges, TransferId, TransferState, TransferStatus};

mod history;
mod offering;
mod telling;

use history::Remembered;

/// Transfers that fetch at once; more would only take the link from each other.
const RUNNING: usize = 2;
/// Transfers that are not over, of all contacts.
const UNFINISHED: usize = 1000;
/// Pulls of one contact that are shown, and pushes of one that are not over.
const PER_CONTACT: usize = 64;
/// Longest reason that is kept: the list and a status hold those of all transfers.
const REASON_BYTES: usize = 2048;
/// Before a push is offered again to a receiver that waits for it.
const OFFER_AGAIN: Duration = Duration::from_secs(3);

const NOT_CONNECTED: &str = "the contact is not connected";
const NOT_BEGUN: &str = "the contact has not begun yet";
const NOT_ACCEPTED: &str = "the contact has not accepted it yet";
const NOT_OFFERED: &str = "the contact has not offered it again yet";

/// All transfers of an engine.
#[derive(Debug)]
pub(crate) struct Table {
    next: u64,
    items: BTreeMap<TransferId, Item>,
    remembered: Remembered,
    /// Of this run, and the number of what it said last.
    run: u64,
    said: u64,
}

#[derive(Debug)]
struct Item {
    record: Record,
    rate: Rate,
    /// A task works on it.
    worker: bool,
    /// Waiting for this moment; otherwise for the contact.
    retry_at: Option<Instant>,
    /// The other side is to be told.
    tell: bool,
    /// It is further than the other side was told.
    progressed: bool,
    /// Of a push: the receiver has taken it on.
    offered: bool,
    /// Of what is received: what to fetch. Comes with every offer.
    root: Option<Entry>,
    /// The latest that the other side said of it.
    heard: Option<Sequence>,
}

/// What a task is to do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Work {
    /// Fetch it; of what is received, the entry is that.
    Fetch(Option<Entry>),
    /// Offer it to the contact.
    Offer,
    /// Remove what it left.
    Clean,
}

/// What came of a task.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum End {
    /// All is in its place, apart from what the note tells.
    Done { note: Option<String> },
    /// The receiver knows of the push; or it has taken it on already.
    Offered { accepted: bool },
    /// The receiver has had the push before.
    Received,
    /// It goes on by itself: after `retry`, or once the contact is connected.
    Wait { reason: String, retry: Option<Duration> },
    /// It goes on when the user wants it to.
    Pause { reason: String },
    /// It cannot be done as things are.
    Fail(Problem),
    /// The other side gave it up.
    Cancel { reason: String },
    /// It was told to stop.
    Stopped,
    /// What it left is removed.
    Cleaned,
}

/// Why a transfer is not taken up, paused, resumed or given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    Unknown,
    Over(TransferState),
    Theirs,
    TooMany,
    /// It is to be accepted or declined.
    Offered,
    NotOffered,
    Unfinished,
}

/// A transfer to be taken up.
#[derive(Debug)]
pub(crate) struct New {
    pub(crate) key: TransferKey,
    pub(crate) tag: u64,
    pub(crate) contact: ContactId,
    pub(crate) name: Name,
    pub(crate) job: Job,
}

/// How far a transfer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Amounts {
    pub(crate) files_done: u64,
    pub(crate) files: u64,
    pub(crate) bytes_done: u64,
    pub(crate) bytes: u64,
}

impl Table {
    /// Takes up what the last run left: pulls and pushes go on, what is received waits to be offered again.
    /// `run` tells this run of the engine from all others.
    pub(crate) fn load(list: List, run: u64, now: Instant) -> Self {
        let mut items = BTreeMap::new();
        for mut record in list.transfers {
            if !record.state.rests() {
                record.state = TransferState::Queued;
                record.reason = None;
            }
            items.insert(record.id, Item::new(record, now));
        }
        let remembered = Remembered::load(list.former);
        let mut table = Self { next: list.next, items, remembered, run, said: 0 };
        table.items.values_mut().for_each(Item::need_root);
        table.trim();
        table
    }

    /// What is kept over restarts.
    pub(crate) fn list(&self) -> List {
        let kept = self.items.values().map(|item| &item.record);
        let kept = kept.filter(|record| record.direction() != Direction::Serve).cloned().collect();
        List::new(self.next, kept, self.remembered.list())
    }

    /// All of them, by number.
    pub(crate) fn statuses(&self, name_of: impl Fn(ContactId) -> Option<String>) -> Vec<TransferStatus> {
        self.shown().map(|item| item.status(&name_of)).collect()
    }

    /// One of them.
    pub(crate) fn status(
        &self,
        id: TransferId,
        name_of: impl Fn(ContactId) -> Option<String>,
    ) -> Option<TransferStatus> {
        self.items.get(&id).filter(|item| !item.record.forgotten).map(|item| item.status(name_of))
    }

    fn shown(&self) -> impl Iterator<Item = &Item> {
        self.items.values().filter(|item| !item.record.forgotten)
    }

    /// What has changed since `told`, which holds all of it afterwards; `names` are the contacts'.
    pub(crate) fn changes(
        &self,
        told: &mut BTreeMap<TransferId, TransferStatus>,
        names: &HashMap<ContactId, String>,
    ) -> TransferChanges {
        let mut changed = Vec::new();
        for item in self.shown() {
            let name = names.get(&item.record.contact());
            if told.get(&item.record.id).is_none_or(|before| !item.is_told(before, name)) {
                let status = item.status(|_| name.cloned());
                told.insert(status.id, status.clone());
                changed.push(status);
            }
        }
        let is_shown = |id| self.items.get(id).is_some_and(|item: &Item| !item.record.forgotten);
        let removed: Vec<_> = told.keys().filter(|id| !is_shown(id)).copied().collect();
        removed.iter().for_each(|id| drop(told.remove(id)));
        TransferChanges { changed, removed, complete: true }
    }

    /// The next thing that is said of any transfer.
    pub(crate) fn sequence(&mut self) -> Sequence {
        self.said += 1;
        Sequence { run: self.run, number: self.said }
    }

    /// Takes a transfer up; it waits for its turn.
    pub(crate) fn add(&mut self, new: New, now: Instant) -> Result<TransferId, Refused> {
        if self.items.values().filter(|item| !item.record.state.is_over()).count() >= UNFINISHED {
            return Err(Refused::TooMany);
        }
        let id = TransferId(self.next);
        self.next += 1;
        let New { key, tag, contact, name, job } = new;
        let record = Record {
            id,
            key: key.0,
            tag,
            contact: contact.0,
            name: (&name).into(),
            job,
            state: TransferState::Queued,
            reason: None,
            class: None,
            paused_there: false,
            accepted: false,
            forgotten: false,
            unclean: false,
            files_done: 0,
            files: 0,
            bytes_done: 0,
            bytes: 0,
        };
        self.items.insert(id, Item { tell: true, ..Item::new(record, now) });
        self.trim();
        Ok(id)
    }

    /// Stops one until it is resumed.
    pub(crate) fn pause(&mut self, id: TransferId) -> Result<(), Refused> {
        let item = self.mine(id)?;
        match item.record.state {
            TransferState::Offered => Err(Refused::Offered),
            TransferState::Queued | TransferState::Running | TransferState::Waiting => {
                item.set(TransferState::Paused, None);
                Ok(())
            }
            TransferState::Paused => {
                item.record.paused_there = false;
                Ok(())
            }
            over @ (TransferState::Done | TransferState::Failed | TransferState::Cancelled) => {
                Err(Refused::Over(over))
            }
        }
    }

    /// Lets one go on that is paused, failed or waits.
    pub(crate) fn resume(&mut self, id: TransferId) -> Result<(), Refused> {
        let item = self.mine(id)?;
        match item.record.state {
            TransferState::Paused | TransferState::Failed | TransferState::Waiting => {
                item.offered = false;
                item.set(TransferState::Queued, None);
                item.need_root();
                Ok(())
            }
            TransferState::Offered => Err(Refused::Offered),
            TransferState::Queued | TransferState::Running => Ok(()),
            over @ (TransferState::Done | TransferState::Cancelled) => Err(Refused::Over(over)),
        }
    }

    /// Gives one up.
    pub(crate) fn cancel(&mut self, id: TransferId) -> Result<(), Refused> {
        let item = self.mine(id)?;
        match item.record.state {
            TransferState::Done => Err(Refused::Over(TransferState::Done)),
            TransferState::Cancelled => Ok(()),
            TransferState::Offered
            | TransferState::Queued
            | TransferState::Running
            | TransferState::Waiting
            | TransferState::Paused
            | TransferState::Failed => {
                item.give_up(None);
                Ok(())
            }
        }
    }

    /// Gives up everything with a contact that is no more.
    pub(crate) fn forget(&mut self, known: impl Fn(ContactId) -> bool) {
        for item in self.items.values_mut().filter(|item| !known(item.record.contact())) {
            if !item.record.state.is_over() {
                item.give_up(Some("the contact was removed".to_owned()));
            }
            item.tell = false;
        }
        self.remembered.retain(known);
    }

    /// Whether a contact is connected; said again and again, also when nothing changed.
    pub(crate) fn connection(&mut self, contact: ContactId, up: bool) {
        for item in self.items.values_mut().filter(|item| item.record.contact() == contact) {
            let state = item.record.state;
            let waits = state == TransferState::Waiting && item.retry_at.is_none() && !item.worker;
            match (up, item.record.direction()) {
                (true, Direction::Pull) if waits => item.set(TransferState::Queued, None),
                (true, Direction::Push) if waits && !item.offered => item.set(TransferState::Queued, None),
                (true, Direction::Receive) if waits && item.root.is_some() => {
                    item.set(TransferState::Queued, None);
                }
                (false, Direction::Push) if item.offered && !state.rests() => {
                    item.offered = false;
                    item.set(TransferState::Waiting, Some(NOT_CONNECTED.to_owned()));
                }
                (false, Direction::Serve) if !state.rests() => {
                    item.set(TransferState::Waiting, Some(NOT_CONNECTED.to_owned()));
                }
                (true | false, _) => {}
            }
        }
    }

    /// The contact has just been connected: what it missed is told again.
    pub(crate) fn tell_again(&mut self, contact: ContactId) {
        for item in self.items.values_mut().filter(|item| item.record.contact() == contact) {
            item.tell |= !item.record.state.is_over();
        }
    }

    /// What waited until now is queued again.
    pub(crate) fn due(&mut self, now: Instant) {
        for item in self.items.values_mut() {
            let due = item.retry_at.is_some_and(|at| at <= now);
            if due && item.record.state == TransferState::Waiting && !item.worker {
                item.set(TransferState::Queued, None);
                item.need_root();
            }
        }
    }

    /// When [`Table::due`] has something to do.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        let waiting = self.items.values().filter(|item| item.record.state == TransferState::Waiting);
        waiting.filter_map(|item| item.retry_at).min()
    }

    /// What is to be worked on now, and by what.
    pub(crate) fn begin(
        &mut self,
        connected: impl Fn(ContactId) -> bool,
        now: Instant,
    ) -> Vec<(Record, Work)> {
        let fetching = |item: &&Item| item.worker && item.record.state == TransferState::Running;
        let mut running = self.items.values().filter(fetching).count();
        let mut begun = Vec::new();
        for item in self.items.values_mut().filter(|item| !item.worker) {
            let work = match (item.record.state, item.record.direction()) {
                (TransferState::Cancelled, _) if item.record.unclean => Work::Clean,
                (TransferState::Queued, Direction::Serve) => continue,
                (TransferState::Queued, Direction::Push) if item.offered => continue,
                (TransferState::Queued, _) if !connected(item.record.contact()) => {
                    item.set(TransferState::Waiting, Some(NOT_CONNECTED.to_owned()));
                    continue;
                }
                (TransferState::Queued, Direction::Push) => {
                    item.set(TransferState::Waiting, Some("it is being offered".to_owned()));
                    Work::Offer
                }
                (TransferState::Queued, Direction::Pull | Direction::Receive) if running < RUNNING => {
                    running += 1;
                    item.set(TransferState::Running, None);
                    item.rate = Rate::new(now);
                    Work::Fetch(item.root.clone())
                }
                _ => continue,
            };
            item.worker = true;
            begun.push((item.record.clone(), work));
        }
        begun
    }

    /// Whether what fetches or offers it is to stop.
    pub(crate) fn is_stopped(&self, id: TransferId) -> bool {
        self.items.get(&id).is_none_or(|item| item.record.state.rests())
    }

    /// Whether a push is to be served to its receiver.
    pub(crate) fn is_offered(&self, contact: ContactId, key: TransferKey) -> bool {
        self.items.values().any(|item| {
            let record = &item.record;
            (record.contact(), record.key(), record.direction()) == (contact, key, Direction::Push)
                && !record.state.rests()
        })
    }

    /// Contacts with whom something is not over.
    pub(crate) fn contacts(&self) -> std::collections::BTreeSet<ContactId> {
        let open = self.items.values().filter(|item| !item.record.state.is_over() || item.tell);
        open.map(|item| item.record.contact()).collect()
    }

    /// How far it is, and how many bytes came since this was said last.
    pub(crate) fn progress(&mut self, id: TransferId, amounts: Amounts, arrived: u64, now: Instant) {
        let Some(item) = self.items.get_mut(&id) else { return };
        item.progressed |= item.amounts() != amounts;
        item.set_amounts(amounts);
        item.rate.add(arrived, now);
    }

    /// From now on something may be at its place; of what is received, under the name that was chosen.
    pub(crate) fn begun(&mut self, id: TransferId, chosen: Option<&Name>) {
        match self.items.get_mut(&id).map(|item| &mut item.record.job) {
            Some(Job::Receive { name, .. }) => *name = chosen.map(Into::into),
            Some(Job::Pull { begun, .. }) => *begun = true,
            Some(Job::Push { .. } | Job::Offered | Job::Serve) | None => {}
        }
    }

    /// What is worth writing to disk at once: not what a contact pulls, which it could have written as often as it likes.
    pub(crate) fn states(&self) -> Vec<(TransferId, TransferState, Option<String>)> {
        let records = self.items.values().map(|item| &item.record);
        let kept = records.filter(|record| record.direction() != Direction::Serve);
        kept.map(|record| (record.id, record.state, record.reason.clone())).collect()
    }

    /// The task on it has ended.
    pub(crate) fn ended(&mut self, id: TransferId, end: End, now: Instant) {
        let Some(item) = self.items.get_mut(&id) else { return };
        item.worker = false;
        // What the user or the other side wanted meanwhile holds, unless it is done already.
        let unchanged = matches!(item.record.state, TransferState::Running | TransferState::Waiting);
        match end {
            End::Done { note } => {
                item.record.unclean = false;
                item.set(TransferState::Done, note);
            }
            End::Cleaned => item.record.unclean = false,
            // It was paused and resumed before the task had ended; or the engine stops.
            End::Stopped => {}
            _ if !unchanged => {}
            End::Offered { accepted } => {
                item.offered = true;
                let reason = if accepted { NOT_BEGUN } else { NOT_ACCEPTED };
                item.set(TransferState::Waiting, Some(reason.to_owned()));
            }
            End::Received => {
                let all = item.amounts();
                item.set_amounts(Amounts { files_done: all.files, bytes_done: all.bytes, ..all });
                item.set(TransferState::Done, None);
            }
            End::Wait { reason, retry } => {
                item.set(TransferState::Waiting, Some(reason));
                item.retry_at = retry.map(|retry| now + retry);
            }
            End::Pause { reason } => item.set(TransferState::Paused, Some(reason)),
            End::Fail(Problem { class, reason }) => {
                item.set(TransferState::Failed, Some(reason));
                item.record.class = Some(class);
            }
            End::Cancel { reason } => item.give_up(Some(reason)),
        }
        self.trim();
    }

    /// One that the user may act on: what a contact pulls is its own affair.
    fn mine(&mut self, id: TransferId) -> Result<&mut Item, Refused> {
        let item = self.items.get_mut(&id).filter(|item| !item.record.forgotten).ok_or(Refused::Unknown)?;
        if item.record.direction() == Direction::Serve { Err(Refused::Theirs) } else { Ok(item) }
    }

    fn find(&mut self, contact: ContactId, key: TransferKey) -> Option<&mut Item> {
        self.items.values_mut().find(|item| item.record.contact() == contact && item.record.key() == key)
    }
}

impl Item {
    fn new(record: Record, now: Instant) -> Self {
        Self {
            record,
            rate: Rate::new(now),
            worker: false,
            retry_at: None,
            tell: false,
            progressed: false,
            offered: false,
            root: None,
            heard: None,
        }
    }

    fn set(&mut self, state: TransferState, reason: Option<String>) {
        let reason = reason.map(shorten);
        self.tell |= self.record.state != state || self.record.reason != reason;
        self.record.state = state;
        self.record.reason = reason;
        self.record.class = None;
        self.record.paused_there = false;
        self.retry_at = None;
    }

    fn give_up(&mut self, reason: Option<String>) {
        self.record.unclean = matches!(self.record.direction(), Direction::Pull | Direction::Receive);
        self.set(TransferState::Cancelled, reason);
    }

    /// What is received cannot go on before it is offered.
    fn need_root(&mut self) {
        let received = self.record.direction() == Direction::Receive && self.root.is_none();
        if received && self.record.state == TransferState::Queued {
            self.set(TransferState::Waiting, Some(NOT_OFFERED.to_owned()));
            self.tell = true;
        }
    }

    fn amounts(&self) -> Amounts {
        let Record { files_done, files, bytes_done, bytes, .. } = self.record;
        Amounts { files_done, files, bytes_done, bytes }
    }

    fn set_amounts(&mut self, amounts: Amounts) {
        let Amounts { files_done, files, bytes_done, bytes } = amounts;
        let record = &mut self.record;
        (record.files_done, record.files) = (files_done, files);
        (record.bytes_done, record.bytes) = (bytes_done, bytes);
    }

    /// Whether a status tells all of it; `name` is its contact's.
    fn is_told(&self, status: &TransferStatus, name: Option<&String>) -> bool {
        let record = &self.record;
        let amounts = Amounts {
            files_done: status.files_done,
            files: status.files,
            bytes_done: status.bytes_done,
            bytes: status.bytes,
        };
        (status.state, &status.reason, status.class) == (record.state, &record.reason, record.class)
            && amounts == self.amounts()
            && (status.rate, status.remaining_seconds) == self.pace()
            && status.destination.is_some() == record.job.has_destination()
            && match name {
                Some(name) => *name == status.contact,
                None => record.contact().to_string() == status.contact,
            }
    }

    /// Bytes per second, and seconds to the end.
    fn pace(&self) -> (u64, Option<u64>) {
        if self.record.state != TransferState::Running {
            return (0, None);
        }
        let left = self.record.bytes.saturating_sub(self.record.bytes_done);
        (self.rate.per_second(), self.rate.seconds_for(left))
    }

    fn status(&self, name_of: impl Fn(ContactId) -> Option<String>) -> TransferStatus {
        let record = &self.record;
        let (rate, remaining_seconds) = self.pace();
        TransferStatus {
            id: record.id,
            direction: record.direction(),
            contact: name_of(record.contact()).unwrap_or_else(|| record.contact().to_string()),
            name: record.name.lossy(),
            state: record.state,
            reason: record.reason.clone(),
            class: record.class,
            files_done: record.files_done,
            files: record.files,
            bytes_done: record.bytes_done,
            bytes: record.bytes,
            rate,
            remaining_seconds,
            destination: record.job.destination(),
        }
    }
}

#[cfg(test)]
impl Table {
    /// As if the end of a transfer had never been heard of.
    pub(crate) fn undo(&mut self, id: TransferId) {
        if let Some(item) = self.items.get_mut(&id) {
            item.set(TransferState::Paused, None);
            item.tell = false;
        }
    }
}

/// Names that others chose make a reason as long as they like.
fn shorten(mut reason: String) -> String {
    if reason.len() > REASON_BYTES {
        reason.truncate(reason.floor_char_boundary(REASON_BYTES));
        reason.push('…');
    }
    reason
}

#[cfg(test)]
mod tests;
