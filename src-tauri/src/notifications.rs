//! What is worth telling while nobody looks at the window: a pure function of two moments. `bus` shows it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use crate::dto::{Direction, NotificationSwitches, State, Transfer, TransferState};
use crate::texts::{Texts, fill};

pub(crate) mod bus;

/// Most that are told at once; many transfers may end in the same moment.
const MOST: usize = 5;
/// Most that are told in a while, and how long that is: what a contact does must not flood the desktop.
const MOST_IN_A_WHILE: usize = 10;
const WHILE: Duration = Duration::from_secs(10);

/// A notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notification {
    pub(crate) title: String,
    pub(crate) body: String,
    /// The view that a click on it leads to.
    pub(crate) view: &'static str,
}

/// What of a moment can lead to notifications.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Moment {
    present: BTreeSet<String>,
    known: BTreeSet<String>,
    disk_low: bool,
    transfers: BTreeMap<u64, (TransferState, Direction)>,
}

impl Moment {
    pub(crate) fn new(state: &State, transfers: &BTreeMap<u64, Transfer>) -> Self {
        let names = |of: &dyn Fn(Option<bool>) -> bool| {
            let contacts = state.contacts.iter().filter(|contact| of(contact.present));
            contacts.map(|contact| contact.name.clone()).collect()
        };
        Self {
            present: names(&|present| present == Some(true)),
            known: names(&|present| present.is_some()),
            disk_low: state.cache.as_ref().is_some_and(|cache| cache.disk_low),
            transfers: transfers
                .iter()
                .map(|(id, transfer)| (*id, (transfer.state, transfer.direction)))
                .collect(),
        }
    }
}

/// What is told of the step from one moment to the next. `transfers` are those of the later one.
pub(crate) fn notifications(
    before: &Moment,
    after: &Moment,
    transfers: &BTreeMap<u64, Transfer>,
    switches: NotificationSwitches,
    texts: &Texts,
) -> Vec<Notification> {
    let mut found = Vec::new();
    if switches.present {
        // Whoever was there when the relay was first asked did not just come.
        let came = after.present.difference(&before.present).filter(|name| before.known.contains(*name));
        found.extend(came.map(|name| Notification {
            title: fill(texts.is_present, &[name]),
            body: String::new(),
            view: "contacts",
        }));
    }
    if switches.disk_low && after.disk_low && !before.disk_low {
        found.push(Notification {
            title: texts.disk_low.to_owned(),
            body: texts.disk_low_hint.to_owned(),
            view: "cache",
        });
    }
    let changed = after.transfers.iter().filter(|(id, now)| before.transfers.get(id) != Some(now));
    let changed = changed.filter_map(|(id, _)| transfers.get(id));
    found.extend(changed.filter_map(|transfer| told(transfer, switches, texts)).take(MOST));
    found
}

/// Keeps notifications from becoming too many.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    since: Option<Instant>,
    asked: usize,
}

impl Gate {
    /// Whether one more may be shown; it counts as shown.
    pub(crate) fn admits(&mut self, now: Instant) -> bool {
        if self.since.is_none_or(|since| now >= since + WHILE) {
            *self = Self { since: Some(now), asked: 0 };
        }
        self.asked += 1;
        self.asked <= MOST_IN_A_WHILE
    }
}

fn told(transfer: &Transfer, switches: NotificationSwitches, texts: &Texts) -> Option<Notification> {
    let named = || fill(texts.with_contact, &[&transfer.name, &transfer.contact]);
    let (title, body) = match transfer.state {
        TransferState::Offered if switches.offered => {
            (fill(texts.offers, &[&transfer.contact]), transfer.name.clone())
        }
        // What others fetch from here is their business.
        TransferState::Done if switches.transfer_done && transfer.direction != Direction::Serve => {
            (texts.transfer_done.to_owned(), named())
        }
        TransferState::Failed if switches.transfer_failed && transfer.direction != Direction::Serve => {
            let reason = transfer.reason.as_deref().unwrap_or_default();
            (texts.transfer_failed.to_owned(), format!("{}\n{reason}", named()).trim_end().to_owned())
        }
        TransferState::Offered
        | TransferState::Queued
        | TransferState::Running
        | TransferState::Waiting
        | TransferState::Paused
        | TransferState::Done
        | TransferState::Failed
        | TransferState::Cancelled => return None,
    };
    Some(Notification { title, body, view: "transfers" })
}

#[cfg(test)]
mod tests;
