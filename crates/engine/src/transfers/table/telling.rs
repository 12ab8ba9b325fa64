//! What the two sides of a transfer tell each other.

use farhold_wire::{
    ContactId, Entry, Offer, OfferAnswer, Report, Standing, TransferKey, TransferState as Told,
};
use tokio::time::Instant;

use super::{Amounts, Item, NOT_OFFERED, New, OFFER_AGAIN, PER_CONTACT, Refused, Table};
use crate::transfers::record::Job;
use crate::transfers::status::{Direction, TransferId, TransferState};

impl Table {
    /// A contact offers a push that is known already. `None` if it is not; whoever may accept it then calls
    /// [`Table::receive`].
    pub(crate) fn offered(&mut self, contact: ContactId, offer: &Offer) -> Option<OfferAnswer> {
        let item = self.find(contact, offer.key)?;
        if item.record.direction() != Direction::Receive {
            return Some(OfferAnswer::NotWanted);
        }
        item.root = Some(offer.root.clone());
        item.tell = true;
        match item.record.state {
            TransferState::Cancelled => return Some(OfferAnswer::Cancelled),
            TransferState::Paused if !item.record.paused_there => {}
            TransferState::Paused | TransferState::Waiting | TransferState::Failed => {
                item.set(TransferState::Queued, None);
            }
            TransferState::Offered | TransferState::Queued | TransferState::Running | TransferState::Done => {
            }
        }
        Some(OfferAnswer::Accepted)
    }

    /// Takes up a push that was accepted, unless an offer that came at the same time did.
    pub(crate) fn receive(
        &mut self,
        new: New,
        root: Entry,
        amounts: Amounts,
        now: Instant,
    ) -> Result<TransferId, Refused> {
        let contact = new.contact;
        if let Some(item) = self.find(contact, new.key) {
            return Ok(item.record.id);
        }
        let theirs = |item: &&Item| {
            item.record.contact() == contact
                && item.record.direction() == Direction::Receive
                && !item.record.state.is_over()
        };
        if self.items.values().filter(theirs).count() >= PER_CONTACT {
            return Err(Refused::TooMany);
        }
        let id = self.add(new, now)?;
        if let Some(item) = self.items.get_mut(&id) {
            item.root = Some(root);
            item.set_amounts(amounts);
        }
        Ok(id)
    }

    /// A contact says how it stands with a transfer.
    pub(crate) fn reported(&mut self, contact: ContactId, report: Report, now: Instant) -> Standing {
        let Some(item) = self.find(contact, report.key) else {
            if report.push {
                return Standing::Ended;
            }
            self.serve(contact, report, now);
            return Standing::Open;
        };
        match item.record.direction() {
            Direction::Push => item.push_reported(report, now),
            Direction::Receive => {
                item.sender_reported(&report);
                Standing::Open
            }
            // Reports may overtake each other: what is over does not begin again.
            Direction::Serve if item.record.state.is_over() => Standing::Open,
            Direction::Serve => {
                item.show(report, now);
                Standing::Open
            }
            Direction::Pull => Standing::Open,
        }
    }

    /// The sender said that there is no such push any more.
    pub(crate) fn withdrawn(&mut self, id: TransferId) {
        if let Some(item) = self.items.get_mut(&id)
            && item.record.direction() == Direction::Receive
            && !item.record.state.is_over()
        {
            item.give_up(Some("the contact gave it up".to_owned()));
            item.tell = false;
        }
    }

    /// What is to be told now, and to whom; with `progress` also how far each is. It counts as told.
    pub(crate) fn take_reports(&mut self, progress: bool) -> Vec<(TransferId, ContactId, Report)> {
        let mut told = Vec::new();
        for item in self.items.values_mut().filter(|item| item.tell || (progress && item.progressed)) {
            (item.tell, item.progressed) = (false, false);
            let orders = matches!(item.record.state, TransferState::Paused | TransferState::Cancelled);
            let tells = match item.record.direction() {
                Direction::Pull => true,
                // Its sender paused it and knows; said late, it would undo that the sender lets it go on.
                Direction::Receive => !item.record.paused_there,
                Direction::Push => orders && !item.record.paused_there,
                Direction::Serve => false,
            };
            if let Some(report) = item.report().filter(|_| tells) {
                told.push((item.record.id, item.record.contact(), report));
            }
        }
        told
    }

    /// Shows what a contact pulls, as long as it does not pull too much at once.
    fn serve(&mut self, contact: ContactId, report: Report, now: Instant) {
        let theirs: Vec<_> = self
            .items
            .values()
            .filter(|item| item.record.contact() == contact && item.record.direction() == Direction::Serve)
            .map(|item| item.record.id)
            .collect();
        if let (Some(oldest), true) = (theirs.first(), theirs.len() >= PER_CONTACT) {
            self.items.remove(oldest);
        }
        let new = New { key: report.key, tag: 0, contact, name: report.name.clone(), job: Job::Serve };
        if let Ok(id) = self.add(new, now)
            && let Some(item) = self.items.get_mut(&id)
        {
            item.show(report, now);
        }
    }
}

impl Item {
    /// The receiver of a push says how far it is.
    fn push_reported(&mut self, report: Report, now: Instant) -> Standing {
        match self.record.state {
            TransferState::Cancelled => return Standing::Ended,
            TransferState::Paused if !self.record.paused_there => {
                // It does not know yet.
                self.tell = !matches!(report.state, Told::Paused | Told::Done | Told::Cancelled);
                if report.state != Told::Done {
                    return Standing::Open;
                }
            }
            TransferState::Done => return Standing::Open,
            TransferState::Offered
            | TransferState::Queued
            | TransferState::Running
            | TransferState::Waiting
            | TransferState::Paused
            | TransferState::Failed => {}
        }
        let again = report.state == Told::Waiting;
        let paused = report.state == Told::Paused;
        let has_begun = report.reason != NOT_OFFERED;
        if has_begun {
            self.show(report, now);
        } else {
            self.set(TransferState::Waiting, Some("the contact has not begun yet".to_owned()));
        }
        self.record.paused_there = paused;
        self.offered = !again;
        self.retry_at = again.then(|| now + OFFER_AGAIN);
        self.tell = false;
        Standing::Open
    }

    /// The sender of what is received orders something.
    fn sender_reported(&mut self, report: &Report) {
        match (report.state, self.record.state) {
            (Told::Cancelled, state) if !state.is_over() => {
                self.give_up(Some("the contact gave it up".to_owned()));
            }
            (Told::Paused, state) if !state.rests() => {
                self.set(TransferState::Paused, Some("the contact paused it".to_owned()));
                self.record.paused_there = true;
            }
            _ => {}
        }
    }

    /// Takes over what the other side says of itself.
    fn show(&mut self, report: Report, now: Instant) {
        let before = self.record.bytes_done;
        self.set_amounts(Amounts {
            files_done: report.files_done,
            files: report.files,
            bytes_done: report.bytes_done,
            bytes: report.bytes,
        });
        let state = match report.state {
            Told::Queued => TransferState::Queued,
            Told::Running => TransferState::Running,
            Told::Waiting => TransferState::Waiting,
            Told::Paused => TransferState::Paused,
            Told::Done => TransferState::Done,
            Told::Failed => TransferState::Failed,
            Told::Cancelled => TransferState::Cancelled,
        };
        let reason = (!report.reason.is_empty()).then_some(report.reason);
        self.set(state, reason);
        self.tell = false;
        self.rate.add(self.record.bytes_done.saturating_sub(before), now);
    }

    fn report(&self) -> Option<Report> {
        let record = &self.record;
        let state = match record.state {
            TransferState::Offered => Told::Waiting,
            TransferState::Queued => Told::Queued,
            TransferState::Running => Told::Running,
            TransferState::Waiting => Told::Waiting,
            TransferState::Paused => Told::Paused,
            TransferState::Done => Told::Done,
            TransferState::Failed => Told::Failed,
            TransferState::Cancelled => Told::Cancelled,
        };
        let clean = |text: &String| text.chars().filter(|c| !c.is_control()).collect();
        Some(Report {
            key: TransferKey(record.key),
            push: matches!(record.direction(), Direction::Push | Direction::Receive),
            name: record.name.name()?,
            state,
            reason: record.reason.as_ref().map(clean).unwrap_or_default(),
            files_done: record.files_done,
            files: record.files,
            bytes_done: record.bytes_done,
            bytes: record.bytes,
        })
    }
}
