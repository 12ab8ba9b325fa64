//! What is asked of a replica.

use farhold_wire::{Entry, EntryId, EntryKind, Name, limits};
use rusqlite::{Connection, OptionalExtension};

use super::schema::{FOLDER, Held, State, parent_bytes, select};
use super::{Children, Lookup};
use crate::{CatalogError, link};

pub(crate) fn roots(connection: &Connection) -> Result<Children, CatalogError> {
    let entries = named_once(connection, None, None)?;
    Ok(Children { entries, complete: State::load(connection)?.top_complete })
}

pub(crate) fn children(connection: &Connection, folder: EntryId) -> Result<Children, CatalogError> {
    let depth = depth(connection, folder)?.ok_or(CatalogError::NotFound)?;
    let entries = named_once(connection, Some(folder), Some(depth))?;
    Ok(Children { entries, complete: is_complete(connection, Some(folder))? })
}

pub(crate) fn lookup(
    connection: &Connection,
    parent: Option<EntryId>,
    name: &Name,
) -> Result<Lookup, CatalogError> {
    let depth = match parent {
        None => None,
        Some(folder) => match depth(connection, folder)? {
            Some(depth) => Some(depth),
            None => return Ok(Lookup::Absent),
        },
    };
    if let Some(held) = Held::named(connection, parent.as_ref(), name)? {
        return Ok(Lookup::Found(shown(held.entry, depth)));
    }
    Ok(if is_complete(connection, parent)? { Lookup::Absent } else { Lookup::Unknown })
}

pub(crate) fn entry(connection: &Connection, id: EntryId) -> Result<Option<Entry>, CatalogError> {
    let Some(Held { entry, .. }) = Held::find(connection, id)? else { return Ok(None) };
    let Some(folder) = entry.parent else { return Ok(Some(shown(entry, None))) };
    Ok(depth(connection, folder)?.map(|depth| shown(entry, Some(depth))))
}

/// Of a folder that its home cannot read nothing is certain, whatever came before.
fn is_complete(connection: &Connection, folder: Option<EntryId>) -> Result<bool, CatalogError> {
    match folder {
        None => Ok(State::load(connection)?.top_complete),
        Some(id) => {
            Ok(Held::find(connection, id)?.is_none_or(|held| held.complete && !held.entry.unavailable))
        }
    }
}

/// How many folders lie between the top level and what is in `folder`, which counts; `None` if it is no folder, or
/// not reached from the top level through at most [`limits::DEPTH`] folders.
fn depth(connection: &Connection, folder: EntryId) -> Result<Option<usize>, CatalogError> {
    let depth: Option<i64> = connection
        .prepare_cached(
            "WITH RECURSIVE up(parent, depth) AS (
                SELECT parent, 1 FROM entries WHERE id = ?1 AND kind = ?2
                UNION ALL
                SELECT entries.parent, up.depth + 1 FROM up JOIN entries ON entries.id = up.parent
                WHERE entries.kind = ?2 AND up.depth < ?3
             ) SELECT depth FROM up WHERE parent = x''",
        )?
        .query_row((folder.0, FOLDER, limits::DEPTH as i64), |row| row.get(0))
        .optional()?;
    Ok(depth.and_then(|depth| usize::try_from(depth).ok()))
}

/// Each name of a folder once: of several entries that claim it, the one announced last.
fn named_once(
    connection: &Connection,
    folder: Option<EntryId>,
    depth: Option<usize>,
) -> Result<Vec<Entry>, CatalogError> {
    let mut statement = connection.prepare_cached(select!("WHERE parent = ?1 ORDER BY name, rank"))?;
    let mut rows = statement.query([parent_bytes(folder.as_ref())])?;
    let mut entries: Vec<Entry> = Vec::new();
    while let Some(row) = rows.next()? {
        let entry = shown(Held::read(row)?.entry, depth);
        match entries.last_mut() {
            Some(last) if last.name == entry.name => *last = entry,
            _ => entries.push(entry),
        }
    }
    Ok(entries)
}

/// A link that leads out of its tree is shown without its target, whatever its home says of it.
fn shown(mut entry: Entry, depth: Option<usize>) -> Entry {
    if let EntryKind::Symlink { target } = &mut entry.kind {
        let below_root = depth.and_then(|depth| depth.checked_sub(1));
        target.take_if(|target| !below_root.is_some_and(|depth| link::stays_inside(target, depth)));
    }
    entry
}
