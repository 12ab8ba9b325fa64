//! What goes off the list, and what is remembered of it.

use std::collections::{BTreeMap, VecDeque};

use farhold_wire::{ContactId, TransferKey};

use super::{Item, Refused, Table};
use crate::transfers::record::Former;
use crate::transfers::status::{Direction, TransferId, TransferState};

/// Transfers that are over and still shown.
pub(super) const HISTORY: usize = 100;
/// Pushes of one contact that are remembered: far more than it has under way at once.
pub(super) const REMEMBERED: usize = 512;

/// Pushes that were received or given up, and are on the list no more. Their senders may offer them again, if they were
/// never told how it ended.
#[derive(Debug, Default)]
pub(super) struct Remembered(BTreeMap<ContactId, VecDeque<(TransferKey, bool)>>);

impl Remembered {
    pub(super) fn load(former: Vec<Former>) -> Self {
        let mut remembered = Self::default();
        for Former { contact, key, done } in former {
            remembered.note(ContactId(contact), TransferKey(key), done);
        }
        remembered
    }

    pub(super) fn list(&self) -> Vec<Former> {
        let former = |contact: ContactId, (key, done): &(TransferKey, bool)| Former {
            contact: contact.0,
            key: key.0,
            done: *done,
        };
        let contacts = self.0.iter();
        contacts.flat_map(|(contact, keys)| keys.iter().map(|key| former(*contact, key))).collect()
    }

    /// Remembers a push; instead of the one that is known longest, if there are too many.
    pub(super) fn note(&mut self, contact: ContactId, key: TransferKey, done: bool) {
        let keys = self.0.entry(contact).or_default();
        keys.retain(|(known, _)| *known != key);
        if keys.len() >= REMEMBERED {
            keys.pop_front();
        }
        keys.push_back((key, done));
    }

    /// Whether a push is in its place; `None` if it is not remembered.
    pub(super) fn is_done(&self, contact: ContactId, key: TransferKey) -> Option<bool> {
        let keys = self.0.get(&contact)?;
        keys.iter().find(|(known, _)| *known == key).map(|(_, done)| *done)
    }

    pub(super) fn retain(&mut self, known: impl Fn(ContactId) -> bool) {
        self.0.retain(|contact, _| known(*contact));
    }
}

impl Table {
    /// Takes transfers off the list, with what they left unfinished: these, or all that are finished. Gives which.
    pub(crate) fn discard(
        &mut self,
        ids: Option<Vec<TransferId>>,
    ) -> Result<Vec<TransferId>, (TransferId, Refused)> {
        let ids = match ids {
            Some(ids) => ids,
            None => {
                let finished = self.shown().filter(|item| item.record.state.is_finished());
                finished.map(|item| item.record.id).collect()
            }
        };
        for id in &ids {
            let item = self.items.get(id).filter(|item| !item.record.forgotten);
            let item = item.ok_or((*id, Refused::Unknown))?;
            if !item.record.state.is_finished() {
                return Err((*id, Refused::Unfinished));
            }
        }
        for id in &ids {
            if let Some(item) = self.items.get_mut(id) {
                item.record.forgotten = true;
                if item.record.state == TransferState::Failed {
                    item.give_up(None);
                }
            }
        }
        self.trim();
        Ok(ids)
    }

    /// Lets go of what is forgotten and clean, and of the oldest of what is over.
    pub(super) fn trim(&mut self) {
        let gone = |item: &Item| item.record.state.is_over() && !item.worker && !item.record.unclean;
        let (forgotten, over): (Vec<&Item>, Vec<&Item>) =
            self.items.values().filter(|item| gone(item)).partition(|item| item.record.forgotten);
        let surplus = over.len().saturating_sub(HISTORY);
        // The other side hears first that what was forgotten is given up.
        let forgotten = forgotten.into_iter().filter(|item| !item.tell);
        let ids = over.into_iter().take(surplus).chain(forgotten).map(|item| item.record.id);
        for id in ids.collect::<Vec<_>>() {
            self.remove(id);
        }
    }

    fn remove(&mut self, id: TransferId) {
        let Some(Item { record, .. }) = self.items.remove(&id) else { return };
        if record.direction() == Direction::Receive {
            self.remembered.note(record.contact(), record.key(), record.state == TransferState::Done);
        }
    }
}
