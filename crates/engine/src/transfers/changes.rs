//! What changes of the transfers, for whoever shows them.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use farhold_wire::ContactId;
use futures_util::stream::{self, BoxStream, StreamExt};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::Transfers;
use super::status::{TransferChanges, TransferId, TransferStatus};
use crate::contacts::ContactBook;

/// Transfers in one message.
const AT_ONCE: usize = 256;

/// Somebody who is told what changes. While nothing does, it does nothing.
struct Watcher {
    transfers: Transfers,
    moved: watch::Receiver<()>,
    contacts: watch::Receiver<ContactBook>,
    interval: Duration,
    next: Instant,
    told: BTreeMap<TransferId, TransferStatus>,
    begun: bool,
}

impl Transfers {
    /// All transfers, in chunks up to the first that is `complete`, and then what changes, once in `interval` at most.
    pub(crate) fn changes(&self, interval: Duration) -> BoxStream<'static, TransferChanges> {
        let watcher = Watcher {
            transfers: self.clone(),
            moved: self.shared.moved.subscribe(),
            contacts: self.shared.contacts.clone(),
            interval,
            next: Instant::now(),
            told: BTreeMap::new(),
            begun: false,
        };
        let changes = stream::unfold(watcher, |mut watcher| async {
            let changes = watcher.next().await?;
            Some((stream::iter(chunks(changes, AT_ONCE)), watcher))
        });
        changes.flatten().boxed()
    }
}

impl Watcher {
    /// `None` once nothing changes any more.
    async fn next(&mut self) -> Option<TransferChanges> {
        if !std::mem::replace(&mut self.begun, true) {
            return Some(self.look());
        }
        loop {
            tokio::select! {
                changed = self.moved.changed() => changed.ok()?,
                changed = self.contacts.changed() => changed.ok()?,
            }
            sleep_until(self.next).await;
            let changes = self.look();
            if !(changes.changed.is_empty() && changes.removed.is_empty()) {
                return Some(changes);
            }
        }
    }

    fn look(&mut self) -> TransferChanges {
        self.next = Instant::now() + self.interval;
        // Seen from here on: what changes during the look is looked at again.
        self.moved.mark_unchanged();
        let names: HashMap<ContactId, String> = {
            let book = self.contacts.borrow_and_update();
            book.iter().map(|contact| (contact.id(), contact.name.clone())).collect()
        };
        self.transfers.table().changes(&mut self.told, &names)
    }
}

/// Changes in messages of a fit size.
fn chunks(changes: TransferChanges, most: usize) -> Vec<TransferChanges> {
    let TransferChanges { changed, removed, complete } = changes;
    let mut changed = changed.into_iter().peekable();
    let mut messages = Vec::new();
    while changed.peek().is_some() {
        let changed = changed.by_ref().take(most).collect();
        messages.push(TransferChanges { changed, removed: Vec::new(), complete: false });
    }
    match messages.last_mut() {
        Some(last) => (last.removed, last.complete) = (removed, complete),
        None => messages.push(TransferChanges { changed: Vec::new(), removed, complete }),
    }
    messages
}

#[cfg(test)]
mod tests {
    use farhold_wire::{Name, TransferKey};
    use futures_util::FutureExt;

    use super::super::record::{Hex, Job, List};
    use super::super::table::{New, Table};
    use super::super::{Hashes, Offers, Shared};
    use super::*;
    use crate::status::TransferState;

    const SECOND: Duration = Duration::from_secs(1);

    fn transfers(list: List) -> (Transfers, watch::Sender<ContactBook>) {
        let (sender, contacts) = watch::channel(ContactBook::default());
        let shared = Shared {
            table: std::sync::Mutex::new(Table::load(list, 1, Instant::now())),
            changed: watch::Sender::new(()),
            moved: watch::Sender::new(()),
            contacts,
            offers: Offers::default(),
            hashes: std::sync::Arc::<Hashes>::default(),
            list: "nowhere".into(),
            saving: tokio::sync::Mutex::default(),
        };
        (Transfers { shared: std::sync::Arc::new(shared) }, sender)
    }

    fn add(transfers: &Transfers, key: u16) -> TransferId {
        let mut bytes = [0; 16];
        bytes[..2].copy_from_slice(&key.to_be_bytes());
        let new = New {
            key: TransferKey(bytes),
            tag: 1,
            contact: ContactId([1; 16]),
            name: Name::new("a").unwrap(),
            job: Job::Push { path: Hex(b"/a".to_vec()) },
        };
        transfers.table().add(new, Instant::now()).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn first_all_is_told_and_then_what_changes_and_at_rest_nothing() {
        let (transfers, _contacts) = transfers(List::new(1, vec![], vec![]));
        let ids: Vec<_> = (0..600).map(|key| add(&transfers, key)).collect();
        let mut changes = transfers.changes(SECOND);
        let mut told = Vec::new();
        for complete in [false, false, true] {
            let chunk = changes.next().await.unwrap();
            assert_eq!((chunk.complete, chunk.removed.len()), (complete, 0));
            told.extend(chunk.changed.into_iter().map(|status| status.id));
        }
        assert_eq!(told, ids);
        transfers.notify();
        assert!(changes.next().now_or_never().is_none(), "nothing has changed");

        transfers.table().pause(ids[3]).unwrap();
        transfers.table().cancel(ids[5]).unwrap();
        transfers.table().discard(Some(vec![ids[5]])).unwrap();
        let _ = transfers.table().take_reports(false);
        transfers.notify();
        let delta = changes.next().await.unwrap();
        let states: Vec<_> = delta.changed.iter().map(|status| (status.id, status.state)).collect();
        assert_eq!(states, [(ids[3], TransferState::Paused)]);
        assert_eq!((delta.removed, delta.complete), (vec![ids[5]], true));
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_told_more_often_than_asked_for() {
        let (transfers, _contacts) = transfers(List::new(1, vec![], vec![]));
        let id = add(&transfers, 1);
        let mut changes = transfers.changes(SECOND);
        let begin = Instant::now();
        changes.next().await.unwrap();
        for round in 1..4u32 {
            transfers.table().pause(id).unwrap();
            transfers.notify();
            assert_eq!(changes.next().await.unwrap().changed[0].state, TransferState::Paused);
            assert_eq!(begin.elapsed(), SECOND * (2 * round - 1));
            transfers.table().resume(id).unwrap();
            transfers.notify();
            assert_eq!(changes.next().await.unwrap().changed[0].state, TransferState::Queued);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_empty_list_is_complete_at_once() {
        let (transfers, _contacts) = transfers(List::new(1, vec![], vec![]));
        let first = transfers.changes(SECOND).next().await.unwrap();
        assert_eq!(first, TransferChanges { complete: true, ..TransferChanges::default() });
    }
}
