//! The transfers, and what of them the page does not know yet.

use std::collections::{BTreeMap, BTreeSet};

use farhold_engine::status::{self, TransferId};

use crate::dto::{Direction, Transfer, TransferChanges, TransferCounts, TransferState};

/// All transfers of the engine that is shown.
#[derive(Debug, Default)]
pub(super) struct TransferBook {
    all: BTreeMap<u64, Transfer>,
    changed: BTreeSet<u64>,
    removed: BTreeSet<u64>,
    complete: bool,
}

impl TransferBook {
    /// Takes what the engine tells.
    pub(super) fn take(&mut self, changes: status::TransferChanges) {
        for transfer in &changes.changed {
            self.changed.insert(transfer.id.0);
            self.removed.remove(&transfer.id.0);
            self.all.insert(transfer.id.0, transfer.into());
        }
        for TransferId(id) in changes.removed {
            self.remove(id);
        }
        self.complete |= changes.complete;
    }

    fn remove(&mut self, id: u64) {
        if self.all.remove(&id).is_some() {
            self.changed.remove(&id);
            self.removed.insert(id);
        }
    }

    /// Another engine is shown, or none.
    pub(super) fn clear(&mut self) {
        for id in self.all.keys().copied().collect::<Vec<_>>() {
            self.remove(id);
        }
        self.complete = false;
    }

    /// Whether the engine has told all that there are.
    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }

    pub(super) fn all(&self) -> &BTreeMap<u64, Transfer> {
        &self.all
    }

    /// What changed since this was asked last.
    pub(super) fn changes(&mut self) -> Option<TransferChanges> {
        let changed = std::mem::take(&mut self.changed);
        let removed = std::mem::take(&mut self.removed);
        if changed.is_empty() && removed.is_empty() {
            return None;
        }
        let changed = changed.iter().filter_map(|id| self.all.get(id)).cloned().collect();
        Some(TransferChanges { changed, removed: removed.into_iter().collect() })
    }

    /// Those that can be paused.
    pub(super) fn moving(&self) -> Vec<TransferId> {
        self.ids(|state| {
            matches!(state, TransferState::Running | TransferState::Queued | TransferState::Waiting)
        })
    }

    /// Those that can go on.
    pub(super) fn paused(&self) -> Vec<TransferId> {
        self.ids(|state| state == TransferState::Paused)
    }

    /// What others fetch from here is theirs to pause.
    fn ids(&self, of: impl Fn(TransferState) -> bool) -> Vec<TransferId> {
        let ours = self.all.values().filter(|transfer| transfer.direction != Direction::Serve);
        ours.filter(|transfer| of(transfer.state)).map(|transfer| TransferId(transfer.id)).collect()
    }

    pub(super) fn counts(&self) -> TransferCounts {
        let mut counts = TransferCounts::default();
        for transfer in self.all.values() {
            match transfer.state {
                TransferState::Offered => counts.offered += 1,
                TransferState::Queued => counts.queued += 1,
                TransferState::Running => counts.running += 1,
                TransferState::Waiting => counts.waiting += 1,
                TransferState::Paused => counts.paused += 1,
                TransferState::Done => counts.done += 1,
                TransferState::Failed => counts.failed += 1,
                TransferState::Cancelled => {}
            }
            let rate = match transfer.direction {
                Direction::Pull | Direction::Receive => &mut counts.rate_in,
                Direction::Push | Direction::Serve => &mut counts.rate_out,
            };
            *rate = rate.saturating_add(transfer.rate);
        }
        counts
    }
}
