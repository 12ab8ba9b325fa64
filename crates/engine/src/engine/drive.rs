//! The drive and its cache, for commands.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use farhold_catalog::{Lookup, Replica};
use farhold_vfs::{Attr, Drive, Handle, NodeId, NodeKind, VfsError};
use farhold_wire::{ContactId, Entry, EntryId, EntryKind, Name, Timestamp};

use super::Engine;
use crate::commands::{DrivePath, DrivePathError, Listed, ListedKind};
use crate::controller::Order;
use crate::error::EngineError;
use crate::open_files::{OPEN_FILES, OpenFile};
use crate::settings::LEAST_CACHE_BYTES;
use crate::status::CacheStatus;
use crate::storage::{Storage, mark};

/// Entries that are taken from a listing at once.
const LISTED_AT_ONCE: usize = 1024;

impl Engine {
    /// Contacts' files that are open through the drive, the latest read first, with the blocks of them that are here.
    ///
    /// # Errors
    /// [`EngineError::Stopping`].
    pub async fn open_files(&self) -> Result<Vec<OpenFile>, EngineError> {
        if self.inner.tasks.work.is_cancelled() {
            return Err(EngineError::Stopping);
        }
        let Storage { drive, cache, .. } = &self.inner.storage;
        let files = drive.files_in_use(OPEN_FILES).await;
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let cache = cache.clone();
        // Of a huge file that takes some milliseconds.
        let told = move || files.into_iter().map(|file| OpenFile::new(file, &cache)).collect();
        tokio::task::spawn_blocking(told).await.map_err(EngineError::Task)
    }

    /// What a folder of the drive holds, or the one file that the path leads to; the drive's top without a path.
    ///
    /// # Errors
    /// [`EngineError`].
    pub async fn list(&self, path: Option<&DrivePath>) -> Result<Vec<Listed>, EngineError> {
        let drive = &self.inner.storage.drive;
        let Some(path) = path else {
            let top = list_folder(drive, NodeId::ROOT).await;
            return top.map_err(|source| EngineError::Drive { path: "the drive".to_owned(), source });
        };
        // Nobody of that name, or nothing there yet: two different answers.
        self.book().named(&path.contact)?;
        let contact = Name::new(path.contact.as_bytes().to_vec()).map_err(DrivePathError::Name)?;
        let listed = list_path(drive, contact, &path.below).await;
        listed.map_err(|source| EngineError::Drive { path: path.to_string(), source })
    }

    /// Empties the cache, or drops what it has of a contact, folder or file. Works while the drive is in use.
    ///
    /// # Errors
    /// [`EngineError`].
    pub async fn drop_cache(&self, path: Option<&DrivePath>) -> Result<CacheStatus, EngineError> {
        let cache = &self.inner.storage.cache;
        match path {
            None => cache.drop_all().await,
            Some(path) => {
                let id = self.book().named(&path.contact)?.id();
                if path.below.is_empty() {
                    cache.drop_contact(id.0).await;
                } else {
                    self.drop_below(id, path).await?;
                }
            }
        }
        Ok(self.cache_status())
    }

    /// Sets and keeps the cache's limit, in bytes.
    ///
    /// # Errors
    /// [`EngineError::CacheLimit`].
    pub async fn limit_cache(&self, bytes: u64) -> Result<CacheStatus, EngineError> {
        if bytes < LEAST_CACHE_BYTES {
            return Err(EngineError::CacheLimit { least: LEAST_CACHE_BYTES });
        }
        self.order(|reply| Order::LimitCache { bytes, reply }).await?;
        Ok(self.cache_status())
    }
}

impl Engine {
    /// Drops everything below a path of a contact's trees. What the replica does not know is not cached either.
    async fn drop_below(&self, id: ContactId, path: &DrivePath) -> Result<(), EngineError> {
        let missing = || EngineError::NoSuchPath { path: path.to_string() };
        let replica = self.order(|reply| Order::Replica { id, reply }).await?.ok_or_else(missing)?;
        let mark = self.book().get(id).map(|contact| mark(&contact.code)).unwrap_or_default();
        let mut todo = vec![find(&replica, &path.below, &mark).await?.ok_or_else(missing)?];
        while let Some(entry) = todo.pop() {
            match entry.kind {
                EntryKind::Folder => todo.extend(replica.children(entry.id).await?.entries),
                EntryKind::File { .. } => self.inner.storage.cache.drop_entry(id.0, entry.id.0).await,
                EntryKind::Symlink { .. } => {}
            }
        }
        Ok(())
    }
}

/// The entry at the end of a path of at least one name below a contact's folder.
pub(super) async fn find(
    replica: &Replica,
    below: &[Name],
    mark: &str,
) -> Result<Option<Entry>, EngineError> {
    let mut found: Option<Entry> = None;
    for name in below {
        let parent = found.as_ref().map(|entry| entry.id);
        match child(replica, parent, name, mark).await? {
            None => return Ok(None),
            entry => found = entry,
        }
    }
    Ok(found)
}

/// An entry by the name that the drive shows: a tree called like one of mine has its home's mark behind its name.
async fn child(
    replica: &Replica,
    parent: Option<EntryId>,
    name: &Name,
    mark: &str,
) -> Result<Option<Entry>, EngineError> {
    let found = |lookup| match lookup {
        Lookup::Found(entry) => Some(entry),
        Lookup::Absent | Lookup::Unknown => None,
    };
    let exact = found(replica.lookup(parent, name.clone()).await?);
    let suffix = format!(" ({mark})");
    let plain =
        name.as_bytes().strip_suffix(suffix.as_bytes()).and_then(|plain| Name::new(plain.to_vec()).ok());
    match (exact, parent, plain) {
        (None, None, Some(plain)) => Ok(found(replica.lookup(None, plain).await?)),
        (exact, _, _) => Ok(exact),
    }
}

/// Nodes that were looked up, and are forgotten at the end.
struct Walk<'a> {
    drive: &'a Drive,
    told: Vec<NodeId>,
}

impl Walk<'_> {
    async fn enter(&mut self, parent: NodeId, name: &[u8]) -> Result<Attr, VfsError> {
        let attr = self.drive.lookup(parent, name).await?;
        self.told.push(attr.node);
        Ok(attr)
    }
}

impl Drop for Walk<'_> {
    fn drop(&mut self) {
        for node in &self.told {
            self.drive.forget(*node, 1);
        }
    }
}

async fn list_path(drive: &Drive, contact: Name, below: &[Name]) -> Result<Vec<Listed>, VfsError> {
    let mut walk = Walk { drive, told: Vec::new() };
    let mut last = &contact;
    let mut attr = walk.enter(NodeId::ROOT, last.as_bytes()).await?;
    for name in below {
        last = name;
        attr = walk.enter(attr.node, name.as_bytes()).await?;
    }
    match attr.kind {
        NodeKind::Folder => list_folder(drive, attr.node).await,
        NodeKind::File | NodeKind::Symlink => Ok(vec![listed(last.clone(), &attr)]),
    }
}

async fn list_folder(drive: &Drive, folder: NodeId) -> Result<Vec<Listed>, VfsError> {
    let handle = drive.opendir(folder).await?;
    let listed = list_open(drive, handle).await;
    drive.releasedir(handle);
    listed
}

async fn list_open(drive: &Drive, folder: Handle) -> Result<Vec<Listed>, VfsError> {
    let mut all = Vec::new();
    let mut cookie = 0;
    loop {
        let entries = drive.readdirplus(folder, cookie, LISTED_AT_ONCE).await?;
        let Some((last, _)) = entries.last() else { return Ok(all) };
        cookie = last.next;
        // `.` and `..` are no names.
        let named = entries.into_iter().filter_map(|(entry, attr)| Some((Name::new(entry.name).ok()?, attr)));
        all.extend(named.map(|(name, attr)| listed(name, &attr)));
    }
}

fn listed(name: Name, attr: &Attr) -> Listed {
    let kind = match attr.kind {
        NodeKind::Folder => ListedKind::Folder,
        NodeKind::File => ListedKind::File,
        NodeKind::Symlink => ListedKind::Symlink,
    };
    Listed { name, kind, size: attr.size, modified: timestamp(attr.modified), mode: attr.mode }
}

fn timestamp(time: SystemTime) -> Timestamp {
    let seconds = |duration: Duration| i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => Timestamp { seconds: seconds(after), nanos: after.subsec_nanos() },
        // Nanoseconds count forward, also before 1970.
        Err(before) => match before.duration() {
            whole if whole.subsec_nanos() == 0 => Timestamp { seconds: -seconds(whole), nanos: 0 },
            part => Timestamp { seconds: -seconds(part) - 1, nanos: 1_000_000_000 - part.subsec_nanos() },
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_1970_count_forward() {
        let at = |seconds, nanos| Timestamp { seconds, nanos };
        assert_eq!(timestamp(UNIX_EPOCH + Duration::new(5, 7)), at(5, 7));
        assert_eq!(timestamp(UNIX_EPOCH), at(0, 0));
        assert_eq!(timestamp(UNIX_EPOCH - Duration::new(2, 0)), at(-2, 0));
        assert_eq!(timestamp(UNIX_EPOCH - Duration::new(0, 1)), at(-1, 999_999_999));
    }
}
