//! My own view of what I share: from the catalog, with content and attributes from the disk itself.

use std::time::Duration;

use farhold_wire::{ContactId, EntryId, Name, Space};
use rusqlite::Connection;

use super::core::Core;
use super::disk::{Cause, Meta, cause};
use super::read::open_root;
use super::schema::{GrantRow, Row, Share, place};
use super::types::{Attributes, Object, OwnEntry};
use crate::CatalogError;

/// How long a name that the catalog does not know waits for the scan of its folder.
const SCAN: Duration = Duration::from_secs(2);

/// In place of a share's number: the catalog's own folder. Numbers of shares begin with 1.
const OWN: i64 = 0;

fn located(connection: &Connection, id: EntryId) -> Result<(Row, Share, Vec<Name>), CatalogError> {
    let row = Row::find(connection, id)?.ok_or(CatalogError::NotFound)?;
    let share = Share::find(connection, row.share)?.ok_or(CatalogError::NotFound)?;
    let names = place(connection, row.row)?.ok_or(CatalogError::NotFound)?;
    Ok((row, share, names))
}

pub(crate) async fn roots(core: &Core, contact: ContactId) -> Result<Vec<OwnEntry>, CatalogError> {
    let epoch = core.epoch;
    core.store
        .read(move |connection| {
            let mut roots = Vec::new();
            for grant in GrantRow::of_contact(connection, contact)? {
                let Some(share) = Share::find(connection, grant.share)? else { continue };
                if let Some(row) = Row::at(connection, share.root)?.filter(|row| row.announced) {
                    roots.push(row.own(epoch, &share, Some(&grant)));
                }
            }
            Ok(roots)
        })
        .await
}

pub(crate) async fn children(core: &Core, folder: EntryId) -> Result<Vec<OwnEntry>, CatalogError> {
    let epoch = core.epoch;
    core.store
        .read(move |connection| {
            let row = Row::find(connection, folder)?.ok_or(CatalogError::NotFound)?;
            let share = Share::find(connection, row.share)?.ok_or(CatalogError::NotFound)?;
            check(&row, &share)?;
            let rows = Row::select(
                connection,
                "e.parent = ?1 AND e.announced = 1 ORDER BY e.name, e.sequence",
                [row.row],
            )?;
            let mut entries: Vec<OwnEntry> = Vec::with_capacity(rows.len());
            for row in rows {
                let own = row.own(epoch, &share, None);
                match entries.last_mut() {
                    Some(last) if last.entry.name == own.entry.name => *last = own,
                    _ => entries.push(own),
                }
            }
            Ok(entries)
        })
        .await
}

fn check(folder: &Row, share: &Share) -> Result<(), CatalogError> {
    if !share.available {
        return Err(CatalogError::Unavailable);
    }
    if folder.unreadable {
        return Err(CatalogError::Denied);
    }
    Ok(())
}

pub(crate) async fn child(
    core: &Core,
    folder: EntryId,
    name: Name,
) -> Result<Option<OwnEntry>, CatalogError> {
    let epoch = core.epoch;
    let wanted = name.clone();
    let find = move |connection: &Connection| {
        let (row, share, mut names) = located(connection, folder)?;
        check(&row, &share)?;
        let child = Row::named(connection, row.row, &name)?.map(|row| row.own(epoch, &share, None));
        names.push(name);
        Ok((child, row.row, share, names))
    };
    let (child, row, share, names) = core.store.read(find.clone()).await?;
    if child.is_some() {
        return Ok(child);
    }
    let signal = core.signal(share.share);
    let on_disk =
        blocking(core, share.share, move || open_root(&share).is_some_and(|root| root.stat(&names).is_ok()));
    if !on_disk.await? {
        return Ok(None);
    }
    tracing::debug!(name = %wanted, "a name is on the disk before its folder was scanned");
    if let Some(signal) = signal {
        // Late is as good as never here: the scan will tell of it.
        let _ = tokio::time::timeout(SCAN, signal.scan_now(row)).await;
    }
    Ok(core.store.read(find).await?.0)
}

pub(crate) async fn entry(
    core: &Core,
    contact: ContactId,
    id: EntryId,
) -> Result<Option<OwnEntry>, CatalogError> {
    let epoch = core.epoch;
    core.store
        .read(move |connection| {
            let found = super::serve::visible(connection, contact, id)?;
            Ok(found.map(|(row, share, grant)| row.own(epoch, &share, Some(&grant))))
        })
        .await
}

pub(crate) async fn attributes(core: &Core, id: EntryId) -> Result<Attributes, CatalogError> {
    on_disk(core, id, |root, _, names| root.stat(names).map(|meta| attributes_of(&meta))).await
}

pub(crate) async fn open_file(core: &Core, id: EntryId) -> Result<std::fs::File, CatalogError> {
    on_disk(core, id, |root, row, names| root.open_file(names, |meta| meta.is(&row.seen))).await
}

async fn on_disk<R: Send + 'static>(
    core: &Core,
    id: EntryId,
    look: impl FnOnce(&super::disk::Root, &Row, &[Name]) -> std::io::Result<R> + Send + 'static,
) -> Result<R, CatalogError> {
    let (row, share, names) = core.store.read(move |connection| located(connection, id)).await?;
    let work = blocking(core, share.share, move || {
        let root = open_root(&share).ok_or(CatalogError::Unavailable)?;
        look(&root, &row, &names).map_err(|error| match cause(&error) {
            Cause::Gone => CatalogError::NotFound,
            Cause::Denied => CatalogError::Denied,
            Cause::Failed => CatalogError::Disk(error),
        })
    });
    work.await?
}

/// Looks at a share's disk on a thread for that. A disk that does not answer holds some threads, never all.
async fn blocking<R: Send + 'static>(
    core: &Core,
    share: i64,
    look: impl FnOnce() -> R + Send + 'static,
) -> Result<R, CatalogError> {
    let turn = core.files.own_turn(share).await?;
    let work = core.tasks.spawn_blocking(move || {
        let _turn = turn;
        look()
    });
    work.await.map_err(|_| CatalogError::Closed)
}

fn attributes_of(meta: &Meta) -> Attributes {
    Attributes {
        object: Object { device: meta.device, inode: meta.inode, born: meta.born },
        size: meta.size,
        mode: meta.mode,
        user: meta.user,
        group: meta.group,
        links: meta.links,
        blocks: meta.blocks,
        accessed: meta.accessed,
        modified: meta.modified,
        changed: meta.changed,
    }
}

pub(crate) async fn space(core: &Core, contact: ContactId) -> Result<Space, CatalogError> {
    let first = core
        .store
        .read(move |connection| {
            let grants = GrantRow::of_contact(connection, contact)?;
            match grants.first() {
                Some(grant) => Share::find(connection, grant.share),
                None => Ok(None),
            }
        })
        .await?;
    let (share, path) = first.map_or_else(|| (OWN, core.folder.clone()), |share| (share.share, share.path));
    let room = blocking(core, share, move || rustix::fs::statvfs(&path)).await?;
    let room = room.map_err(|error| CatalogError::Disk(error.into()))?;
    Ok(Space {
        total_bytes: room.f_blocks.saturating_mul(room.f_frsize),
        free_bytes: room.f_bavail.saturating_mul(room.f_frsize),
    })
}
