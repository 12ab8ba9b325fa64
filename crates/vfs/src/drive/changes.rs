//! What changed, and what the system must forget because of it.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use farhold_catalog::{ContactId, EntryId, HomeEvent, Name, TreeEvent};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

use super::{Drive, lock};
use crate::attr::NodeId;
use crate::contact::Contact;
use crate::invalidation::Invalidation;
use crate::known::EntryRef;
use crate::shown::Side;

/// Tells the drive what changes at home, until `cancel`.
pub(super) async fn follow_home(
    drive: Arc<Drive>,
    mut events: Receiver<Arc<[HomeEvent]>>,
    cancel: CancellationToken,
) {
    while let Some(received) = cancel.run_until_cancelled(events.recv()).await {
        match received {
            Ok(events) => drive.home_changed(&events).await,
            Err(RecvError::Lagged(_)) => drive.home_changed_somehow(),
            Err(RecvError::Closed) => return,
        }
    }
}

/// Whose tree changed, and in whose folder that is seen.
#[derive(Clone, Copy)]
struct Place<'a> {
    side: Side,
    contacts: &'a [Arc<Contact>],
}

impl Place<'_> {
    fn entry(&self, contact: &Contact, id: EntryId) -> EntryRef {
        match self.side {
            Side::Mine => EntryRef::Mine(id),
            Side::Theirs => EntryRef::Theirs(contact.id(), id),
        }
    }
}

impl Drive {
    /// Tells what [`Replica::apply`](farhold_catalog::Replica::apply) or `absorb` changed, in that order.
    pub async fn tree_changed(&self, contact: ContactId, events: Vec<TreeEvent>) {
        let Ok(contact) = self.contact(contact) else { return };
        if events.is_empty() {
            return;
        }
        contact.count_change();
        // First open files show the new state; only then is the system told to forget the old one.
        let in_place: HashSet<EntryId> = events.iter().filter_map(changed_in_place).collect();
        self.follow_open(&contact, &in_place).await;
        let contacts = [contact];
        for event in &events {
            self.changed(Place { side: Side::Theirs, contacts: &contacts }, event).await;
        }
    }

    async fn home_changed(&self, events: &[HomeEvent]) {
        let all = self.all_contacts();
        for HomeEvent { contact, event } in events {
            let one: Vec<Arc<Contact>>;
            let contacts = match contact {
                None => &all,
                Some(contact) => {
                    one = all.iter().filter(|other| other.id() == *contact).cloned().collect();
                    &one
                }
            };
            self.changed(Place { side: Side::Mine, contacts }, event).await;
        }
    }

    /// Events were missed: everything of mine may have changed.
    fn home_changed_somehow(&self) {
        let nodes: Vec<NodeId> = lock(&self.known)
            .iter()
            .filter(|(_, target)| matches!(target.entry(), Some(EntryRef::Mine(_))))
            .map(|(node, _)| node)
            .collect();
        for node in nodes {
            self.invalidate(Invalidation::Content(node));
        }
    }

    async fn changed(&self, place: Place<'_>, event: &TreeEvent) {
        match event {
            TreeEvent::Added { parent, .. } => self.folder_changed(place, *parent),
            TreeEvent::Removed { id, parent, name } => self.name_gone(place, *parent, *id, name, true),
            TreeEvent::Moved { id, from, to } => {
                self.name_gone(place, from.0, *id, &from.1, false);
                self.name_gone(place, to.0, *id, &to.1, false);
            }
            TreeEvent::Content { id, replaced: false } => {
                self.each_node(place, *id, |node| self.invalidate(Invalidation::Content(node)));
            }
            TreeEvent::Content { id, replaced: true } => self.replaced(place, *id).await,
            TreeEvent::Attributes { id } => {
                self.each_node(place, *id, |node| self.invalidate(Invalidation::Attributes(node)));
            }
        }
    }

    fn each_node(&self, place: Place<'_>, id: EntryId, tell: impl Fn(NodeId)) {
        for contact in place.contacts {
            let nodes = lock(&self.known).of_entry(place.entry(contact, id)).to_vec();
            nodes.into_iter().for_each(&tell);
        }
    }

    /// A folder has other entries than before. What it did not have the system does not remember.
    fn folder_changed(&self, place: Place<'_>, folder: Option<EntryId>) {
        for contact in place.contacts {
            for node in self.folder_nodes(place, contact, folder) {
                self.invalidate(Invalidation::Attributes(node));
            }
        }
    }

    /// A name in a folder no longer leads to an entry; if `removed`, nothing else does either.
    fn name_gone(&self, place: Place<'_>, folder: Option<EntryId>, id: EntryId, name: &Name, removed: bool) {
        for contact in place.contacts {
            // A tree may have been shown by another name than its home's.
            let names = match folder {
                None => self.names.possible(contact.id(), place.side, id, name.as_bytes()),
                Some(_) => vec![name.as_bytes().to_vec()],
            };
            let node = lock(&self.known).of_entry(place.entry(contact, id)).first().copied();
            for parent in self.folder_nodes(place, contact, folder) {
                for name in &names {
                    let name = Bytes::copy_from_slice(name);
                    self.invalidate(match node {
                        Some(node) if removed => Invalidation::Removed { parent, node, name },
                        Some(_) | None => Invalidation::Entry { parent, name },
                    });
                }
            }
        }
    }

    /// The nodes of a folder that the system knows; of the top level, the contact's folder.
    fn folder_nodes(&self, place: Place<'_>, contact: &Contact, folder: Option<EntryId>) -> Vec<NodeId> {
        match folder {
            Some(folder) => lock(&self.known).of_entry(place.entry(contact, folder)).to_vec(),
            None => {
                contact.touch();
                vec![contact.node]
            }
        }
    }

    /// Another object has taken an entry's place: its name leads to another node now. What the system has of the old
    /// one is left to those who have it open.
    async fn replaced(&self, place: Place<'_>, id: EntryId) {
        self.each_node(place, id, |node| self.invalidate(Invalidation::Attributes(node)));
        for contact in place.contacts {
            let entry = match place.side {
                Side::Mine => self.home.entry(contact.id(), id).await.map(|own| own.map(|own| own.entry)),
                Side::Theirs => contact.view.replica.entry(id).await,
            };
            match entry {
                Ok(Some(entry)) => {
                    let place = Place { contacts: std::slice::from_ref(contact), ..place };
                    self.name_gone(place, entry.parent, id, &entry.name, false);
                }
                // Its removal is told for itself.
                Ok(None) => {}
                Err(error) => tracing::debug!(%error, "a replaced entry is left to its time to live"),
            }
        }
    }
}

fn changed_in_place(event: &TreeEvent) -> Option<EntryId> {
    match event {
        TreeEvent::Content { id, replaced: false } => Some(*id),
        TreeEvent::Content { .. }
        | TreeEvent::Added { .. }
        | TreeEvent::Removed { .. }
        | TreeEvent::Moved { .. }
        | TreeEvent::Attributes { .. } => None,
    }
}
