//! Listing folders.
//!
//! An open folder is listed once, when it is read from its start; its entries keep their places in that listing, so
//! reading on finds each of them once, whatever is made and removed meanwhile.

use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use bytes::Bytes;
use farhold_catalog::{Entry, EntryId, EntryKind, NodeKey, OwnEntry};

use super::lookup::{entry_attr, gone, kind, their_target};
use super::{Drive, Root, local, lock, own_folder};
use crate::attr::{Attr, DirEntry, Handle, NodeId, NodeKind};
use crate::contact::Contact;
use crate::error::VfsError;
use crate::known::Target;

/// An open folder.
#[derive(Debug)]
pub(super) struct OpenedFolder {
    node: NodeId,
    target: Target,
    listing: Mutex<Option<Arc<Listing>>>,
}

/// A folder as it was when it was listed.
#[derive(Debug)]
struct Listing {
    /// Changes of the contact's trees that were told until then.
    changes: u64,
    /// `.` and `..` first. The entry at index n has cookie n + 1.
    items: Vec<Item>,
}

#[derive(Debug)]
struct Item {
    name: Bytes,
    node: NodeId,
    target: Target,
    what: What,
}

#[derive(Debug)]
enum What {
    /// A folder of the drive's own, or the folder itself or its parent, for `.` and `..`.
    Folder(Attr),
    Mine(OwnEntry),
    Theirs(Entry),
}

impl Item {
    fn entry(&self, parent: NodeId, cookie: usize) -> DirEntry {
        let kind = match &self.what {
            What::Folder(_) => NodeKind::Folder,
            What::Mine(own) => kind(&own.entry.kind),
            What::Theirs(entry) => kind(&entry.kind),
        };
        DirEntry {
            name: self.name.clone(),
            node: self.node,
            kind,
            next: cookie as u64 + 1,
            parent,
            target: self.target,
        }
    }
}

impl Drive {
    /// Opens a folder.
    ///
    /// # Errors
    /// [`VfsError`].
    pub async fn opendir(&self, node: NodeId) -> Result<Handle, VfsError> {
        let target = self.target(node)?;
        match target {
            Target::Top | Target::Contact(_) => {}
            Target::MyFile { .. } => return Err(VfsError::NotFolder),
            Target::MyEntry { .. } => {
                if self.getattr(node).await?.kind != NodeKind::Folder {
                    return Err(VfsError::NotFolder);
                }
            }
            Target::Theirs { contact, entry, incarnation } => {
                self.their_folder(&*self.contact(contact)?, entry, incarnation).await?;
            }
        }
        self.folders.insert(OpenedFolder { node, target, listing: Mutex::new(None) })
    }

    /// Up to `count` entries of an open folder from `cookie` on (0: from the start, listed anew); none at the end.
    ///
    /// # Errors
    /// [`VfsError`]. A folder that is not wholly known is an error, never a shorter listing.
    pub async fn readdir(
        &self,
        folder: Handle,
        cookie: u64,
        count: usize,
    ) -> Result<Vec<DirEntry>, VfsError> {
        let folder = self.folders.get(folder)?;
        let listing = self.listing(&folder, cookie).await?;
        Ok(listing.from(cookie).take(count).map(|(index, item)| item.entry(folder.node, index)).collect())
    }

    /// The same with attributes, without entries that are gone since the folder was listed. Whoever passes some of
    /// these on to the system has to [`refer`](Self::refer) to them.
    ///
    /// # Errors
    /// As [`readdir`](Self::readdir).
    pub async fn readdirplus(
        &self,
        folder: Handle,
        cookie: u64,
        count: usize,
    ) -> Result<Vec<(DirEntry, Attr)>, VfsError> {
        let folder = self.folders.get(folder)?;
        let listing = self.listing(&folder, cookie).await?;
        let mut found = Vec::with_capacity(count.min(listing.items.len()));
        for (index, item) in listing.from(cookie) {
            if found.len() == count {
                break;
            }
            match self.item_attr(&listing, item).await.map_err(gone) {
                Ok((target, attr)) => {
                    let entry = item.entry(folder.node, index);
                    found.push((DirEntry { node: attr.node, target, ..entry }, attr));
                }
                Err(VfsError::Stale) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// The system is told the nodes of these entries once more (`.` and `..` do not count).
    pub fn refer<'a>(&self, entries: impl Iterator<Item = &'a DirEntry>) {
        let mut known = lock(&self.known);
        for entry in entries.filter(|entry| !matches!(&entry.name[..], b"." | b"..")) {
            known.refer(entry.node, entry.parent, entry.target);
        }
    }

    /// Closes a folder.
    pub fn releasedir(&self, folder: Handle) {
        self.folders.remove(folder);
    }

    async fn listing(&self, folder: &OpenedFolder, cookie: u64) -> Result<Arc<Listing>, VfsError> {
        let listed = lock(&folder.listing).clone();
        match listed {
            Some(listing) if cookie > 0 => Ok(listing),
            Some(_) | None => {
                let listing = Arc::new(self.list(folder).await?);
                *lock(&folder.listing) = Some(Arc::clone(&listing));
                Ok(listing)
            }
        }
    }

    async fn list(&self, folder: &OpenedFolder) -> Result<Listing, VfsError> {
        let mut changes = 0;
        let mut items = vec![dots(b".", folder.node, folder.target)];
        match folder.target {
            Target::Top => {
                items.push(dots(b"..", NodeId::ROOT, Target::Top));
                items.extend(self.all_contacts().iter().map(|contact| Item {
                    name: Bytes::copy_from_slice(contact.name().as_bytes()),
                    node: contact.node,
                    target: Target::Contact(contact.id()),
                    what: What::Folder(own_folder(contact.node, contact.touched())),
                }));
            }
            Target::Contact(id) => {
                items.push(dots(b"..", NodeId::ROOT, Target::Top));
                let contact = self.contact(id)?;
                changes = contact.changes();
                let trees = self.trees(&contact).await?;
                let named = trees.into_iter().map(|tree| match tree.root {
                    Root::Mine(own) => (tree.name, my_target(&contact, &own), What::Mine(own)),
                    Root::Theirs(entry) => (tree.name, their_target(&contact, &entry), What::Theirs(entry)),
                });
                items.extend(self.numbered(named).await?);
            }
            Target::MyFile { .. } => return Err(VfsError::NotFolder),
            Target::MyEntry { contact, entry, .. } => {
                let contact = self.contact(contact)?;
                let own =
                    self.home.entry(contact.id(), entry).await.map_err(local)?.ok_or(VfsError::Stale)?;
                items.push(self.my_parent(&contact, own.entry.parent).await?);
                let children = self.home.children(entry).await.map_err(local).map_err(gone)?;
                let named = children.into_iter().map(|own| {
                    let name = Bytes::copy_from_slice(own.entry.name.as_bytes());
                    (name, my_target(&contact, &own), What::Mine(own))
                });
                items.extend(self.numbered(named).await?);
            }
            Target::Theirs { contact, entry, incarnation } => {
                let contact = self.contact(contact)?;
                let entry = self.their_folder(&contact, entry, incarnation).await?;
                items.push(self.their_parent(&contact, entry.parent).await?);
                changes = contact.changes();
                let children = self.their_children(&contact, entry.id).await?;
                let named = children.into_iter().map(|entry| {
                    let name = Bytes::copy_from_slice(entry.name.as_bytes());
                    (name, their_target(&contact, &entry), What::Theirs(entry))
                });
                items.extend(self.numbered(named).await?);
            }
        }
        Ok(Listing { changes, items })
    }

    /// Everything in a folder of theirs; asked for if the replica does not know all of it.
    async fn their_children(&self, contact: &Contact, folder: EntryId) -> Result<Vec<Entry>, VfsError> {
        let replica = &contact.view.replica;
        let known = replica.children(folder).await.map_err(local).map_err(gone)?;
        if known.complete {
            return Ok(known.entries);
        }
        let asked = async { contact.view.tree.list(folder).await.map_err(VfsError::from) };
        let entries = contact.wait(asked).await?;
        if entries.iter().any(|entry| entry.parent != Some(folder)) {
            return Err(VfsError::HomeFailed);
        }
        let events = replica.absorb_listing(folder, entries).await.map_err(|error| {
            tracing::debug!(%error, "a listing was not taken into the replica");
            VfsError::HomeFailed
        })?;
        self.tree_changed(contact.id(), events).await;
        let known = replica.children(folder).await.map_err(local).map_err(gone)?;
        if known.complete { Ok(known.entries) } else { Err(VfsError::HomeFailed) }
    }

    /// Gives numbers to all at once.
    async fn numbered(
        &self,
        named: impl Iterator<Item = (Bytes, Target, What)>,
    ) -> Result<Vec<Item>, VfsError> {
        let named: Vec<_> = named.collect();
        let keys: Vec<NodeKey> = named.iter().filter_map(|(_, target, _)| target.key()).collect();
        let numbers = self.nodes.numbers(keys).await.map_err(local)?;
        let items = named.into_iter().zip(numbers);
        Ok(items
            .map(|((name, target, what), number)| Item { name, node: NodeId(number), target, what })
            .collect())
    }

    async fn my_parent(&self, contact: &Contact, parent: Option<EntryId>) -> Result<Item, VfsError> {
        let target = match parent {
            None => Target::Contact(contact.id()),
            Some(parent) => {
                let own = self.home.entry(contact.id(), parent).await.map_err(local)?;
                my_target(contact, &own.ok_or(VfsError::Stale)?)
            }
        };
        Ok(dots(b"..", self.number(&target).await?, target))
    }

    async fn their_parent(&self, contact: &Contact, parent: Option<EntryId>) -> Result<Item, VfsError> {
        let target = match parent {
            None => Target::Contact(contact.id()),
            Some(parent) => {
                let entry = contact.view.replica.entry(parent).await.map_err(local)?;
                their_target(contact, &entry.ok_or(VfsError::Stale)?)
            }
        };
        Ok(dots(b"..", self.number(&target).await?, target))
    }

    /// What an entry is now.
    async fn item_attr(&self, listing: &Listing, item: &Item) -> Result<(Target, Attr), VfsError> {
        match (&item.what, item.target) {
            (What::Mine(own), Target::MyFile { contact, .. } | Target::MyEntry { contact, .. }) => {
                match self.mine(contact, own).await {
                    // One entry that the disk does not tell of is no reason to show none.
                    Err(VfsError::Denied | VfsError::LocalFailed) => {
                        Ok((item.target, entry_attr(item.node, &own.entry)))
                    }
                    outcome => outcome,
                }
            }
            (What::Theirs(entry), Target::Theirs { contact, .. }) => {
                let contact = self.contact(contact)?;
                if contact.changes() == listing.changes {
                    return Ok((item.target, entry_attr(item.node, entry)));
                }
                let entry = contact.view.replica.entry(entry.id).await.map_err(local)?;
                self.theirs(&contact, &entry.ok_or(VfsError::Stale)?).await
            }
            (What::Folder(attr), target) => Ok((target, *attr)),
            (What::Mine(_) | What::Theirs(_), _) => Err(VfsError::Stale),
        }
    }
}

impl Listing {
    /// The entries from `cookie` on, with their indices.
    fn from(&self, cookie: u64) -> impl Iterator<Item = (usize, &Item)> {
        self.items.iter().enumerate().skip(usize::try_from(cookie).unwrap_or(usize::MAX))
    }
}

/// `.` or `..`, of which systems use the number alone.
fn dots(name: &'static [u8], node: NodeId, target: Target) -> Item {
    let what = What::Folder(own_folder(node, SystemTime::UNIX_EPOCH));
    Item { name: Bytes::from_static(name), node, target, what }
}

/// What an entry of mine is, going by the catalog.
fn my_target(contact: &Contact, own: &OwnEntry) -> Target {
    let (contact, entry) = (contact.id(), own.entry.id);
    match own.entry.kind {
        EntryKind::File { .. } => Target::MyFile { contact, entry, object: own.object },
        EntryKind::Folder | EntryKind::Symlink { .. } => {
            Target::MyEntry { contact, entry, incarnation: own.entry.incarnation }
        }
    }
}
