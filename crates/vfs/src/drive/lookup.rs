//! Names, attributes and links.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use farhold_catalog::{
    Attributes, CatalogError, ContactId, Entry, EntryId, EntryKind, Lookup, Name, NameError, OwnEntry,
    Timestamp,
};

use super::{Drive, Root, local, lock, own_folder};
use crate::attr::{Attr, DiskSpace, NodeId, NodeKind, Owner};
use crate::contact::Contact;
use crate::error::VfsError;
use crate::known::Target;

impl Drive {
    /// The entry `name` in `parent`. The system is told its node once more.
    ///
    /// # Errors
    /// [`VfsError`]; [`VfsError::NotFound`] only if it is known that there is no such entry.
    pub async fn lookup(&self, parent: NodeId, name: &[u8]) -> Result<Attr, VfsError> {
        let name = Name::new(Bytes::copy_from_slice(name)).map_err(|error| match error {
            NameError::TooLong => VfsError::NameTooLong,
            NameError::Empty | NameError::Separator | NameError::Dots => VfsError::NotFound,
        })?;
        let (target, attr) = match self.target(parent)? {
            Target::Top => self.contact_named(&name)?,
            Target::Contact(contact) => self.tree_named(contact, &name).await?,
            Target::MyFile { .. } => return Err(VfsError::NotFolder),
            Target::MyEntry { contact, entry, .. } => {
                let own = self.home.child(entry, name).await.map_err(local)?.ok_or(VfsError::NotFound)?;
                self.mine(contact, &own).await?
            }
            Target::Theirs { contact, entry, incarnation } => {
                let contact = self.contact(contact)?;
                let folder = self.their_folder(&contact, entry, incarnation).await?;
                let entry = self.their_child(&contact, folder.id, name).await?;
                self.theirs(&contact, &entry).await?
            }
        };
        lock(&self.known).refer(attr.node, parent, target);
        Ok(attr)
    }

    /// Attributes of `node`.
    ///
    /// # Errors
    /// [`VfsError::Stale`] if it is gone and not open; other [`VfsError`]s.
    pub async fn getattr(&self, node: NodeId) -> Result<Attr, VfsError> {
        match self.current(node).await {
            // What is open is still there for those who opened it.
            Err(VfsError::Stale) => self.open_attr(node).ok_or(VfsError::Stale),
            outcome => outcome,
        }
    }

    /// Attributes of `node` as long as it is what its entry leads to.
    pub(super) async fn current(&self, node: NodeId) -> Result<Attr, VfsError> {
        let target = self.target(node)?;
        let (now, attr) = match target {
            Target::Top => (target, self.top_attr()),
            Target::Contact(contact) => {
                let contact = self.contact(contact)?;
                (target, own_folder(contact.node, contact.touched()))
            }
            Target::MyFile { contact, entry, .. } | Target::MyEntry { contact, entry, .. } => {
                let own = self.home.entry(contact, entry).await.map_err(local)?.ok_or(VfsError::Stale)?;
                self.mine(contact, &own).await.map_err(gone)?
            }
            Target::Theirs { contact, entry, .. } => {
                let contact = self.contact(contact)?;
                let entry = contact.view.replica.entry(entry).await.map_err(local)?.ok_or(VfsError::Stale)?;
                self.theirs(&contact, &entry).await?
            }
        };
        if now == target { Ok(attr) } else { Err(VfsError::Stale) }
    }

    /// The target of a symbolic link: never one that leads out of the tree that the link is in. The catalog keeps
    /// such targets to itself, mine as those of a home that tells them against the rules. But it goes by where the
    /// link is now, and the system by where it was told that the link is: theirs must stay inside from both.
    ///
    /// # Errors
    /// [`VfsError::Denied`] of such a link; other [`VfsError`]s.
    pub async fn readlink(&self, node: NodeId) -> Result<Bytes, VfsError> {
        match self.target(node)? {
            Target::Top | Target::Contact(_) | Target::MyFile { .. } => Err(VfsError::NotLink),
            Target::MyEntry { contact, entry, incarnation } => {
                let own = self.home.entry(contact, entry).await.map_err(local)?.ok_or(VfsError::Stale)?;
                if own.entry.incarnation != incarnation {
                    return Err(VfsError::Stale);
                }
                link_target(own.entry.kind)
            }
            Target::Theirs { contact, entry, incarnation } => {
                let contact = self.contact(contact)?;
                let target = link_target(self.their_entry(&contact, entry, incarnation).await?.kind)?;
                let depth = lock(&self.known).depth(node).ok_or(VfsError::Stale)?;
                // A tree's root is no folder to go up to from it.
                if steps_up(&target) > depth.saturating_sub(1) { Err(VfsError::Denied) } else { Ok(target) }
            }
        }
    }

    /// Room on the disk that `node` is on, as last told: mine now, theirs by their homes.
    ///
    /// # Errors
    /// [`VfsError::LocalFailed`], [`VfsError::Stale`].
    pub async fn statfs(&self, node: NodeId) -> Result<DiskSpace, VfsError> {
        let space = match self.target(node)? {
            // Nobody is shown anything there, which leaves the disk that the catalog itself is on.
            Target::Top => self.home.space(ContactId([0; 16])).await.map_err(local)?,
            Target::Contact(contact) | Target::MyFile { contact, .. } | Target::MyEntry { contact, .. } => {
                self.home.space(contact).await.map_err(local)?
            }
            Target::Theirs { contact, .. } => self.contact(contact)?.view.replica.space().unwrap_or_default(),
        };
        Ok(DiskSpace { total: space.total_bytes, free: space.free_bytes })
    }

    fn contact_named(&self, name: &Name) -> Result<(Target, Attr), VfsError> {
        let contacts = self.all_contacts();
        let contact = contacts.iter().find(|contact| contact.name() == *name).ok_or(VfsError::NotFound)?;
        Ok((Target::Contact(contact.id()), own_folder(contact.node, contact.touched())))
    }

    async fn tree_named(&self, contact: ContactId, name: &Name) -> Result<(Target, Attr), VfsError> {
        let contact = self.contact(contact)?;
        let find = |trees: Vec<super::Tree>| trees.into_iter().find(|tree| tree.name == *name.as_bytes());
        let tree = match find(self.trees(&contact).await?) {
            Some(tree) => tree,
            None => {
                self.ask_for_tree(&contact, name).await?;
                find(self.trees(&contact).await?).ok_or(VfsError::NotFound)?
            }
        };
        match tree.root {
            Root::Mine(own) => self.mine(contact.id(), &own).await,
            Root::Theirs(entry) => self.theirs(&contact, &entry).await,
        }
    }

    /// Asks the contact for its tree `name` unless its trees are all known.
    async fn ask_for_tree(&self, contact: &Contact, name: &Name) -> Result<(), VfsError> {
        match contact.view.replica.lookup(None, name.clone()).await.map_err(local)? {
            Lookup::Found(_) | Lookup::Absent => Ok(()),
            Lookup::Unknown => self.ask_for(contact, None, name).await.map(|_| ()),
        }
    }

    /// The entry `name` in a folder of theirs.
    async fn their_child(&self, contact: &Contact, folder: EntryId, name: Name) -> Result<Entry, VfsError> {
        let replica = &contact.view.replica;
        match replica.lookup(Some(folder), name.clone()).await.map_err(local)? {
            Lookup::Found(entry) => Ok(entry),
            Lookup::Absent => Err(VfsError::NotFound),
            Lookup::Unknown => {
                let answer = self.ask_for(contact, Some(folder), &name).await?.ok_or(VfsError::NotFound)?;
                match replica.lookup(Some(folder), name).await.map_err(local)? {
                    Lookup::Found(entry) => Ok(entry),
                    Lookup::Absent => Err(VfsError::NotFound),
                    // The replica had no place for it; it is true nevertheless.
                    Lookup::Unknown => Ok(answer),
                }
            }
        }
    }

    /// Asks the home for an entry and puts it into the replica.
    async fn ask_for(
        &self,
        contact: &Contact,
        parent: Option<EntryId>,
        name: &Name,
    ) -> Result<Option<Entry>, VfsError> {
        let asked = async { contact.view.tree.lookup(parent, name.clone()).await.map_err(VfsError::from) };
        let Some(entry) = contact.wait(asked).await? else { return Ok(None) };
        if entry.parent != parent || entry.name != *name {
            return Err(VfsError::HomeFailed);
        }
        let events = contact.view.replica.absorb(entry.clone()).await.map_err(|error| {
            tracing::debug!(%error, "an entry was not taken into the replica");
            VfsError::HomeFailed
        })?;
        self.tree_changed(contact.id(), events).await;
        Ok(Some(entry))
    }

    /// An entry of theirs, if it is still in that incarnation.
    pub(super) async fn their_entry(
        &self,
        contact: &Contact,
        id: EntryId,
        incarnation: u64,
    ) -> Result<Entry, VfsError> {
        let entry = contact.view.replica.entry(id).await.map_err(local)?;
        entry.filter(|entry| entry.incarnation == incarnation).ok_or(VfsError::Stale)
    }

    /// A folder of theirs that may be looked into.
    pub(super) async fn their_folder(
        &self,
        contact: &Contact,
        id: EntryId,
        incarnation: u64,
    ) -> Result<Entry, VfsError> {
        let entry = self.their_entry(contact, id, incarnation).await?;
        match entry.kind {
            // Told of a tree's root alone; whoever comes by a path comes through it.
            EntryKind::Folder if entry.unavailable => Err(VfsError::Unavailable),
            EntryKind::Folder => Ok(entry),
            EntryKind::File { .. } | EntryKind::Symlink { .. } => Err(VfsError::NotFolder),
        }
    }

    /// Node and attributes of something of mine, as the disk has it now.
    pub(super) async fn mine(&self, contact: ContactId, own: &OwnEntry) -> Result<(Target, Attr), VfsError> {
        let id = own.entry.id;
        let found = match self.home.attributes(id).await {
            Ok(found) => Some(found),
            // Its last known attributes, so that it is seen; what is below it is not.
            Err(CatalogError::Unavailable) => None,
            Err(error) => return Err(local(error)),
        };
        let target = match own.entry.kind {
            EntryKind::File { .. } => {
                let object = found.as_ref().map_or(own.object, |found| found.object);
                Target::MyFile { contact, entry: id, object }
            }
            EntryKind::Folder | EntryKind::Symlink { .. } => {
                Target::MyEntry { contact, entry: id, incarnation: own.entry.incarnation }
            }
        };
        let node = self.number(&target).await?;
        let attr = match found {
            Some(found) => disk_attr(node, &own.entry.kind, &found),
            None => entry_attr(node, &own.entry),
        };
        Ok((target, attr))
    }

    /// Node and attributes of something of theirs.
    pub(super) async fn theirs(&self, contact: &Contact, entry: &Entry) -> Result<(Target, Attr), VfsError> {
        let target = their_target(contact, entry);
        let node = self.number(&target).await?;
        Ok((target, entry_attr(node, entry)))
    }
}

/// What "there is none" means for a node that there was.
pub(super) fn gone(error: VfsError) -> VfsError {
    if error == VfsError::NotFound { VfsError::Stale } else { error }
}

pub(super) fn their_target(contact: &Contact, entry: &Entry) -> Target {
    Target::Theirs { contact: contact.id(), entry: entry.id, incarnation: entry.incarnation }
}

pub(super) fn kind(kind: &EntryKind) -> NodeKind {
    match kind {
        EntryKind::Folder => NodeKind::Folder,
        EntryKind::File { .. } => NodeKind::File,
        EntryKind::Symlink { .. } => NodeKind::Symlink,
    }
}

fn link_target(kind: EntryKind) -> Result<Bytes, VfsError> {
    match kind {
        EntryKind::Symlink { target } => target.ok_or(VfsError::Denied),
        EntryKind::Folder | EntryKind::File { .. } => Err(VfsError::NotLink),
    }
}

/// How often a target goes to the folder above.
fn steps_up(target: &[u8]) -> usize {
    target.split(|byte| *byte == b'/').filter(|part| *part == b"..").count()
}

/// Attributes of what is known by its entry alone.
pub(super) fn entry_attr(node: NodeId, entry: &Entry) -> Attr {
    let size = match &entry.kind {
        EntryKind::Folder => 0,
        EntryKind::File { size } => *size,
        EntryKind::Symlink { target } => target.as_ref().map_or(0, |target| target.len() as u64),
    };
    let modified = system_time(entry.modified);
    Attr {
        node,
        kind: kind(&entry.kind),
        size,
        allocated: size,
        mode: match entry.kind {
            EntryKind::Symlink { .. } => 0o777,
            // Nothing of theirs is written through the drive.
            EntryKind::Folder | EntryKind::File { .. } => entry.mode & 0o555,
        },
        owner: Owner::Mounter,
        accessed: modified,
        modified,
        changed: modified,
        links: 1,
    }
}

fn disk_attr(node: NodeId, entry: &EntryKind, found: &Attributes) -> Attr {
    let kind = kind(entry);
    Attr {
        node,
        kind,
        size: match entry {
            EntryKind::Folder => 0,
            EntryKind::File { .. } => found.size,
            EntryKind::Symlink { target } => target.as_ref().map_or(0, |target| target.len() as u64),
        },
        allocated: found.blocks.saturating_mul(512),
        mode: found.mode & 0o777,
        owner: Owner::Backing { user: found.user, group: found.group },
        accessed: system_time(found.accessed),
        modified: system_time(found.modified),
        changed: system_time(found.changed),
        links: if kind == NodeKind::Folder { 1 } else { found.links },
    }
}

/// A time that the system cannot express is told as its epoch.
fn system_time(time: Timestamp) -> SystemTime {
    let whole = Duration::from_secs(time.seconds.unsigned_abs());
    let seconds = if time.seconds < 0 {
        SystemTime::UNIX_EPOCH.checked_sub(whole)
    } else {
        SystemTime::UNIX_EPOCH.checked_add(whole)
    };
    seconds
        .and_then(|seconds| seconds.checked_add(Duration::from_nanos(time.nanos.into())))
        .unwrap_or(SystemTime::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_and_beyond() {
        let half = Duration::from_millis(500);
        let before = system_time(Timestamp { seconds: -1, nanos: 500_000_000 });
        assert_eq!(before, SystemTime::UNIX_EPOCH - half);
        let after = system_time(Timestamp { seconds: 1, nanos: 500_000_000 });
        assert_eq!(after, SystemTime::UNIX_EPOCH + Duration::from_secs(1) + half);
        // Whatever a hostile home tells, there is an answer.
        for seconds in [i64::MIN, i64::MAX] {
            let _ = system_time(Timestamp { seconds, nanos: 999_999_999 });
        }
    }
}
