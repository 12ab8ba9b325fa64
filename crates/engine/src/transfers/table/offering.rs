//! Pushes that contacts offer, and what the user makes of them.

use std::path::Path;

use farhold_wire::{ContactId, Entry, Offer, OfferAnswer};
use tokio::time::Instant;

use super::{Amounts, Item, New, PER_CONTACT, Refused, Table};
use crate::transfers::record::Job;
use crate::transfers::status::{Direction, TransferId, TransferState};

/// Offers of one contact on which the user has not decided.
pub(super) const OFFERED: usize = 16;

impl Table {
    /// A contact offers a push that is known already; what it pushes goes into `accept`. `None` if it is not known;
    /// whoever may take it then calls [`Table::receive`].
    pub(crate) fn offered(
        &mut self,
        contact: ContactId,
        offer: &Offer,
        accept: Option<&Path>,
    ) -> Option<OfferAnswer> {
        if let Some(done) = self.remembered.is_done(contact, offer.key) {
            return Some(if done { OfferAnswer::Received } else { OfferAnswer::Cancelled });
        }
        let item = self.find(contact, offer.key)?;
        if item.record.direction() != Direction::Receive {
            return Some(OfferAnswer::NotWanted);
        }
        let latest = item.hears(offer.sequence);
        if latest {
            item.root = Some(offer.root.clone());
            item.tell = true;
        }
        let mine = item.record.accepted || accept.is_some();
        match (item.record.state, accept) {
            (TransferState::Cancelled, _) => return Some(OfferAnswer::Cancelled),
            (TransferState::Offered, Some(folder)) => item.accept(folder),
            (TransferState::Offered, None) => return Some(OfferAnswer::Pending),
            (TransferState::Done, _) => {}
            _ if !mine => return Some(OfferAnswer::NotWanted),
            (TransferState::Paused, _) if !item.record.paused_there => {}
            (TransferState::Paused | TransferState::Waiting | TransferState::Failed, _) if latest => {
                item.set(TransferState::Queued, None);
            }
            _ => {}
        }
        Some(OfferAnswer::Accepted)
    }

    /// Takes up a push that was accepted, or that the user is to decide on, unless an offer that came at the same time
    /// did.
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
        let is_offer = matches!(new.job, Job::Offered);
        let theirs = |item: &&Item| {
            item.record.contact() == contact
                && item.record.direction() == Direction::Receive
                && matches!(item.record.job, Job::Offered) == is_offer
                && !item.record.state.is_over()
        };
        let most = if is_offer { OFFERED } else { PER_CONTACT };
        if self.items.values().filter(theirs).count() >= most {
            return Err(Refused::TooMany);
        }
        let id = self.add(new, now)?;
        if let Some(item) = self.items.get_mut(&id) {
            item.root = Some(root);
            item.set_amounts(amounts);
            if is_offer {
                item.set(TransferState::Offered, None);
            }
        }
        Ok(id)
    }

    /// The user takes on what is offered, into `folder`.
    pub(crate) fn accept(&mut self, id: TransferId, folder: &Path) -> Result<(), Refused> {
        let item = self.offer(id)?;
        item.accept(folder);
        item.record.accepted = true;
        Ok(())
    }

    /// The user takes on all that a contact offers.
    pub(crate) fn accept_all(&mut self, contact: ContactId, folder: &Path) {
        let theirs = self.items.values_mut().filter(|item| item.record.contact() == contact);
        theirs
            .filter(|item| item.record.state == TransferState::Offered)
            .for_each(|item| item.accept(folder));
    }

    /// The user does not want what is offered.
    pub(crate) fn decline(&mut self, id: TransferId) -> Result<(), Refused> {
        self.offer(id)?.give_up(Some("it was declined".to_owned()));
        Ok(())
    }

    fn offer(&mut self, id: TransferId) -> Result<&mut Item, Refused> {
        let item = self.mine(id)?;
        if item.record.state == TransferState::Offered { Ok(item) } else { Err(Refused::NotOffered) }
    }
}

impl Item {
    fn accept(&mut self, folder: &Path) {
        self.record.job = Job::Receive { folder: folder.into(), name: None };
        self.set(TransferState::Queued, None);
        self.need_root();
    }
}
