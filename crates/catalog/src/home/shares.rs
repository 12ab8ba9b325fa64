//! What is shared, with whom: given, taken back, told, and restored after a loss.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use farhold_wire::{ContactId, Name, Timestamp};
use rusqlite::Connection;

use super::change::{Change, Found};
use super::core::Core;
use super::disk::{Kind, Origin, Root, Seen};
use super::keeper;
use super::list::{self, Listed};
use super::schema::{GrantRow, Row, Share};
use super::signal::Signal;
use super::types::{Grant, ShareInfo, ShareState, WatchState};
use crate::{CatalogError, ShareError, TreeEvent};

/// A path that may be shared.
struct Candidate {
    path: PathBuf,
    /// Its last part as it was given, which may be a link's.
    name: Option<OsString>,
    root: Root,
    seen: Seen,
    young: bool,
}

/// Looks at a path; blocks.
fn candidate(core: &Core, given: &Path) -> Result<Candidate, ShareError> {
    let missing = |error: io::Error| ShareError::Missing(given.to_owned(), error);
    let path = given.canonicalize().map_err(missing)?;
    if core.refused().iter().any(|refused| path.starts_with(refused)) {
        return Err(ShareError::Own(path));
    }
    let kind = std::fs::symlink_metadata(&path).map_err(missing)?.file_type();
    if !kind.is_dir() && !kind.is_file() {
        return Err(ShareError::Special(path));
    }
    let now = SystemTime::now();
    let root = Root::open(&path, kind.is_dir()).map_err(missing)?;
    let young = root.is_young(&root.meta, now);
    let Some(seen) = root.meta.seen(None) else { return Err(ShareError::Special(path)) };
    let name = given.file_name().or_else(|| path.file_name()).map(ToOwned::to_owned);
    Ok(Candidate { path, name, root, seen, young })
}

pub(crate) async fn share(
    core: &Arc<Core>,
    path: &Path,
    contacts: &[ContactId],
    name: Option<Name>,
    writable: bool,
) -> Result<ShareInfo, ShareError> {
    if contacts.is_empty() {
        return Err(ShareError::NoContact);
    }
    let (looking, given) = (core.clone(), path.to_owned());
    let candidate = core
        .tasks
        .spawn_blocking(move || candidate(&looking, &given))
        .await
        .map_err(|_| CatalogError::Closed)??;
    let name = match name {
        Some(name) => name,
        None => {
            let name = candidate.name.as_ref().map_or(&b""[..], |name| name.as_bytes());
            Name::new(Bytes::copy_from_slice(name))?
        }
    };
    let contacts = contacts.to_owned();
    let folder = core.folder.clone();
    let wanted = candidate.path.clone();
    let given = core
        .change(move |change| match give(change, &candidate, &contacts, &name, writable) {
            Ok(()) => list::write(change.connection, &folder).map(Ok),
            Err(ShareError::Catalog(error)) => Err(error),
            // Nothing was written before it was refused.
            Err(refusal) => Ok(Err(refusal)),
        })
        .await?;
    given?;
    let share = core.store.read(move |connection| Share::by_path(connection, &wanted)).await?;
    let share = share.ok_or(CatalogError::NotFound)?;
    keep(core, &share);
    let core = core.clone();
    Ok(core.clone().store.read(move |connection| info(connection, &core, share)).await?)
}

fn give(
    change: &mut Change<'_>,
    candidate: &Candidate,
    contacts: &[ContactId],
    name: &Name,
    writable: bool,
) -> Result<(), ShareError> {
    let known = Share::by_path(change.connection, &candidate.path)?;
    let mut wanted = Vec::new();
    for contact in contacts {
        let grants = GrantRow::of_contact(change.connection, *contact)?;
        let own = known.as_ref().map(|share| share.share);
        if grants.iter().any(|grant| grant.name == *name && Some(grant.share) != own) {
            return Err(ShareError::NameTaken(name.clone()));
        }
        let old = grants.into_iter().find(|grant| Some(grant.share) == own);
        if !old.as_ref().is_some_and(|old| old.name == *name && old.writable == writable) {
            wanted.push((*contact, old));
        }
    }
    if wanted.is_empty() {
        return Err(ShareError::AlreadyShared);
    }
    let share = match known {
        Some(share) => share,
        None => {
            let seen = candidate.seen.clone();
            let found = Found { parent: None, name: name.clone(), seen, young: candidate.young };
            insert(change, &candidate.path, &found, candidate.root.origin(), true)?
        }
    };
    for (contact, old) in wanted {
        grant(change, &share, contact, name, writable, old.as_ref())?;
    }
    Ok(())
}

/// A new share, without grants.
fn insert(
    change: &mut Change<'_>,
    path: &Path,
    found: &Found,
    origin: Origin,
    available: bool,
) -> Result<Share, CatalogError> {
    let folder = found.seen.kind == Kind::Folder;
    change
        .connection
        .prepare_cached(
            "INSERT INTO shares (path, folder, root, device, system, inode, born, available)
             VALUES (?1, ?2, 0, ?3, ?4, ?5, ?6, ?7)",
        )
        .and_then(|mut statement| {
            statement.execute((
                path.as_os_str().as_bytes(),
                folder,
                origin.device.cast_signed(),
                origin.system.cast_signed(),
                origin.inode.cast_signed(),
                origin.born,
                available,
            ))
        })?;
    let share = change.connection.last_insert_rowid();
    let root = change.insert(share, found)?;
    change.connection.execute("UPDATE shares SET root = ?2 WHERE share = ?1", (share, root))?;
    Share::find(change.connection, share)?.ok_or(CatalogError::NotFound)
}

fn grant(
    change: &mut Change<'_>,
    share: &Share,
    contact: ContactId,
    name: &Name,
    writable: bool,
    old: Option<&GrantRow>,
) -> Result<(), CatalogError> {
    let Some(root) = Row::at(change.connection, share.root)? else { return Ok(()) };
    // Who had it once is told of it again, so what was said of its removal must not come after.
    change
        .connection
        .execute("DELETE FROM tombstones WHERE contact = ?1 AND id = ?2", (contact.0, root.id.0))?;
    let granted = match old {
        Some(old) => old.granted,
        None => change.next(),
    };
    change.connection.execute(
        "INSERT OR REPLACE INTO grants (share, contact, name, writable, granted) VALUES (?1, ?2, ?3, ?4, ?5)",
        (share.share, contact.0, name.as_bytes(), writable, granted.cast_signed()),
    )?;
    let id = root.id;
    match old {
        None if root.announced => {
            change.event_for(contact, TreeEvent::Added { id, parent: None, name: name.clone() });
        }
        Some(old) => {
            change.touch(root.row)?;
            if old.name != *name {
                let (from, to) = ((None, old.name.clone()), (None, name.clone()));
                change.event_for(contact, TreeEvent::Moved { id, from, to });
            }
        }
        None => {}
    }
    Ok(())
}

pub(crate) async fn unshare(core: &Core, path: &Path, contact: Option<ContactId>) -> Result<(), ShareError> {
    let given = path.to_owned();
    let paths = core
        .tasks
        .spawn_blocking(move || [given.canonicalize().ok(), std::path::absolute(&given).ok()])
        .await
        .map_err(|_| CatalogError::Closed)?;
    let folder = core.folder.clone();
    let taken = core
        .change(move |change| {
            let mut share = None;
            for path in paths.into_iter().flatten() {
                share = share.or(Share::by_path(change.connection, &path)?);
            }
            let Some(share) = share else { return Ok(None) };
            let mut grants = GrantRow::of_share(change.connection, share.share)?;
            grants.retain(|grant| contact.is_none_or(|contact| contact == grant.contact));
            if grants.is_empty() {
                return Ok(None);
            }
            let ended = take_back(change, &share, grants)?;
            list::write(change.connection, &folder)?;
            Ok(Some((share.share, ended)))
        })
        .await?;
    let (share, ended) = taken.ok_or(ShareError::NotShared)?;
    if ended {
        leave(core, share).await?;
    }
    Ok(())
}

/// Takes every share back from one contact.
pub(crate) async fn forget(core: &Core, contact: ContactId) -> Result<(), CatalogError> {
    let folder = core.folder.clone();
    let ended = core
        .change(move |change| {
            let mut ended = Vec::new();
            for grant in GrantRow::of_contact(change.connection, contact)? {
                if let Some(share) = Share::find(change.connection, grant.share)?
                    && take_back(change, &share, vec![grant])?
                {
                    ended.push(share.share);
                }
            }
            list::write(change.connection, &folder)?;
            Ok(ended)
        })
        .await?;
    for share in ended {
        leave(core, share).await?;
    }
    Ok(())
}

/// Takes grants back; says whether the share ended with its last one.
fn take_back(change: &mut Change<'_>, share: &Share, grants: Vec<GrantRow>) -> Result<bool, CatalogError> {
    let root = Row::at(change.connection, share.root)?;
    for grant in grants {
        change.connection.execute(
            "DELETE FROM grants WHERE share = ?1 AND contact = ?2",
            (grant.share, grant.contact.0),
        )?;
        if let Some(root) = &root {
            change.bury(root.id, share.share, Some(grant.contact))?;
            change
                .event_for(grant.contact, TreeEvent::Removed { id: root.id, parent: None, name: grant.name });
        }
    }
    if !GrantRow::of_share(change.connection, share.share)?.is_empty() {
        return Ok(false);
    }
    change.connection.execute("DELETE FROM entries WHERE share = ?1", [share.share])?;
    change.connection.execute("DELETE FROM shares WHERE share = ?1", [share.share])?;
    change
        .connection
        .execute("DELETE FROM tombstones WHERE share = ?1 AND contact IS NULL", [share.share])?;
    Ok(true)
}

/// Starts to keep a share, unless it is kept already.
pub(crate) fn keep(core: &Arc<Core>, share: &Share) {
    let mut signals = core.signals();
    if signals.contains_key(&share.share) {
        return;
    }
    let signal = Arc::new(Signal::new(core.cancel.child_token()));
    signals.insert(share.share, signal.clone());
    drop(signals);
    core.watcher.add(share.share, signal.clone());
    core.tasks.spawn(keeper::keep(core.clone(), share.share, share.root, signal));
}

/// Stops keeping a share that ended.
async fn leave(core: &Core, share: i64) -> Result<(), CatalogError> {
    let signal = core.signals().remove(&share);
    if let Some(signal) = signal {
        signal.cancel.cancel();
        core.files.forget(share);
    }
    let watcher = core.watcher.clone();
    core.tasks.spawn_blocking(move || watcher.remove(share)).await.map_err(|_| CatalogError::Closed)
}

pub(crate) async fn shares(core: &Arc<Core>) -> Result<Vec<ShareInfo>, CatalogError> {
    let looking = core.clone();
    core.store
        .read(move |connection| {
            Share::all(connection)?.into_iter().map(|share| info(connection, &looking, share)).collect()
        })
        .await
}

fn info(connection: &Connection, core: &Core, share: Share) -> Result<ShareInfo, CatalogError> {
    let root = Row::at(connection, share.root)?.ok_or(CatalogError::NotFound)?;
    let (entries, skipped, unreadable): (i64, i64, i64) = connection
        .prepare_cached(
            "SELECT count(*), ifnull(sum(skipped), 0), ifnull(sum(unreadable), 0) FROM entries WHERE share = ?1",
        )?
        .query_row([share.share], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
    let grants = GrantRow::of_share(connection, share.share)?
        .into_iter()
        .map(|grant| Grant { contact: grant.contact, name: grant.name, writable: grant.writable })
        .collect();
    let failure = core.signal(share.share).and_then(|signal| signal.failure());
    Ok(ShareInfo {
        path: share.path,
        root: root.id,
        folder: share.folder,
        grants,
        state: match (share.available, root.announced) {
            (false, _) => ShareState::Unavailable,
            (true, false) => ShareState::Scanning,
            (true, true) => ShareState::Ready,
        },
        watch: failure.map_or(WatchState::Watched, |reason| WatchState::Polled { reason }),
        entries: entries.cast_unsigned(),
        skipped: skipped.cast_unsigned(),
        unreadable: unreadable.cast_unsigned(),
    })
}

/// Puts the shares of the list into a database that was begun anew. They are announced as unavailable until they
/// were scanned.
pub(crate) fn restore(change: &mut Change<'_>, listed: &[Listed]) -> Result<(), CatalogError> {
    for entry in listed {
        let path = entry.path();
        let mut grants = entry.grants().peekable();
        let Some((_, name, _)) = grants.peek() else { continue };
        let seen = Seen {
            kind: if entry.folder { Kind::Folder } else { Kind::File },
            inode: entry.origin().inode,
            born: entry.origin().born,
            size: 0,
            modified: Timestamp::default(),
            changed: 0,
            mode: 0,
            target: None,
        };
        let found = Found { parent: None, name: name.clone(), seen, young: false };
        let share = insert(change, &path, &found, entry.origin(), false)?;
        for (contact, name, writable) in grants {
            grant(change, &share, contact, &name, writable, None)?;
        }
        change.announce(share.root)?;
    }
    Ok(())
}
