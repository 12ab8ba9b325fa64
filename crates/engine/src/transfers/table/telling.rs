//! What the two sides of a transfer tell each other.

use farhold_wire::{ContactId, Report, Sequence, Standing, TransferKey, TransferState as Told};
use tokio::time::Instant;

use super::{Amounts, Item, NOT_ACCEPTED, NOT_BEGUN, NOT_OFFERED, New, OFFER_AGAIN, PER_CONTACT, Table};
use crate::transfers::record::Job;
use crate::transfers::status::{Direction, TransferId, TransferState};

impl Table {
    /// A contact says how it stands with a transfer.
    pub(crate) fn reported(&mut self, contact: ContactId, report: Report, now: Instant) -> Standing {
        let Some(item) = self.find(contact, report.key) else {
            if report.push {
                return Standing::Ended;
            }
            self.serve(contact, report, now);
            return Standing::Open;
        };
        if !item.hears(report.sequence) {
            let ended = report.push && item.record.state == TransferState::Cancelled;
            return if ended { Standing::Ended } else { Standing::Open };
        }
        match item.record.direction() {
            Direction::Push => item.push_reported(report, now),
            Direction::Receive => {
                item.sender_reported(&report);
                Standing::Open
            }
            // What is over does not begin again.
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
        let Self { items, run, said, .. } = self;
        for item in items.values_mut().filter(|item| item.tell || (progress && item.progressed)) {
            (item.tell, item.progressed) = (false, false);
            let orders = matches!(item.record.state, TransferState::Paused | TransferState::Cancelled);
            let tells = match item.record.direction() {
                Direction::Pull => true,
                // Its sender paused it and knows; said late, it would undo that the sender lets it go on.
                Direction::Receive => !item.record.paused_there,
                Direction::Push => orders && !item.record.paused_there,
                Direction::Serve => false,
            };
            let sequence = Sequence { run: *run, number: *said + 1 };
            if let Some(report) = item.report(sequence).filter(|_| tells) {
                *said += 1;
                told.push((item.record.id, item.record.contact(), report));
            }
        }
        self.trim();
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
            item.heard = Some(report.sequence);
            item.show(report, now);
        }
    }
}

impl Item {
    /// Whether this is the latest that the other side said of it; from now on it is.
    pub(super) fn hears(&mut self, sequence: Sequence) -> bool {
        let latest = self.heard.is_none_or(|before| sequence.is_after(before));
        if latest {
            self.heard = Some(sequence);
        }
        latest
    }

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
        if report.state == Told::Offered {
            self.set(TransferState::Waiting, Some(NOT_ACCEPTED.to_owned()));
        } else if report.reason == NOT_OFFERED {
            self.set(TransferState::Waiting, Some(NOT_BEGUN.to_owned()));
        } else {
            self.show(report, now);
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
            Told::Waiting | Told::Offered => TransferState::Waiting,
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

    fn report(&self, sequence: Sequence) -> Option<Report> {
        let record = &self.record;
        let state = match record.state {
            TransferState::Offered => Told::Offered,
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
            sequence,
        })
    }
}
