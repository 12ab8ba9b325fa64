//! What contacts ask about single entries and folders.

use std::sync::Arc;

use farhold_wire::{ContactId, Entry, EntryId, Name, ReadFailure, limits};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use rusqlite::Connection;

use super::core::Core;
use super::disk::Kind;
use super::schema::{GrantRow, Row, Share};
use crate::CatalogError;

/// Estimated bytes of one answer or batch, so that its message stays below [`limits::PEER_MESSAGE_BYTES`].
pub(crate) const ANSWER_BYTES: usize = limits::PEER_MESSAGE_BYTES / 2;

/// Estimated bytes of an entry in a message.
pub(crate) fn message_bytes(row: &Row) -> usize {
    128 + row.name.as_bytes().len() + row.seen.target.as_ref().map_or(0, bytes::Bytes::len)
}

/// An entry, if `contact` may see it.
pub(crate) fn visible(
    connection: &Connection,
    contact: ContactId,
    id: EntryId,
) -> Result<Option<(Row, Share, GrantRow)>, CatalogError> {
    let Some(row) = Row::find(connection, id)?.filter(|row| row.announced) else { return Ok(None) };
    let Some(grant) = GrantRow::find(connection, row.share, contact)? else { return Ok(None) };
    Ok(Share::find(connection, row.share)?.map(|share| (row, share, grant)))
}

pub(crate) fn failure(error: CatalogError) -> ReadFailure {
    match error {
        CatalogError::NotFound => ReadFailure::NotFound,
        CatalogError::Unavailable => ReadFailure::Unavailable,
        CatalogError::Denied => ReadFailure::Denied,
        CatalogError::Disk(_)
        | CatalogError::Database(_)
        | CatalogError::Damaged
        | CatalogError::Newer { .. }
        | CatalogError::Closed => {
            tracing::debug!(%error, "a contact's request failed");
            ReadFailure::Internal
        }
    }
}

/// A folder that `contact` may list.
fn folder(
    connection: &Connection,
    contact: ContactId,
    id: EntryId,
) -> Result<(Row, Share, GrantRow), CatalogError> {
    let (row, share, grant) = visible(connection, contact, id)?.ok_or(CatalogError::NotFound)?;
    if row.seen.kind != Kind::Folder {
        return Err(CatalogError::NotFound);
    }
    if !share.available {
        return Err(CatalogError::Unavailable);
    }
    if row.unreadable {
        return Err(CatalogError::Denied);
    }
    Ok((row, share, grant))
}

pub(crate) async fn lookup(
    core: &Core,
    contact: ContactId,
    parent: Option<EntryId>,
    name: Name,
) -> Result<Option<Entry>, ReadFailure> {
    let epoch = core.epoch;
    let find = move |connection: &Connection| {
        let Some(parent) = parent else {
            let grants = GrantRow::of_contact(connection, contact)?;
            let Some(grant) = grants.iter().find(|grant| grant.name == name) else { return Ok(None) };
            let Some(share) = Share::find(connection, grant.share)? else { return Ok(None) };
            let root = Row::at(connection, share.root)?.filter(|row| row.announced);
            return Ok(root.map(|row| row.entry(epoch, &share, Some(grant))));
        };
        let (folder, share, _) = folder(connection, contact, parent)?;
        Ok(Row::named(connection, folder.row, &name)?.map(|row| row.entry(epoch, &share, None)))
    };
    core.store.read(find).await.map_err(failure)
}

/// The entries of a folder in pages.
pub(crate) fn list(
    core: Arc<Core>,
    contact: ContactId,
    parent: EntryId,
) -> BoxStream<'static, Result<Vec<Entry>, ReadFailure>> {
    let after: Option<Vec<u8>> = Some(Vec::new());
    stream::unfold((core, after), move |(core, after)| async move {
        let after = after?;
        let epoch = core.epoch;
        let page = core.store.read(move |connection| {
            let (folder, share, _) = folder(connection, contact, parent)?;
            let rows = page(connection, folder.row, after)?;
            let next = rows.last().map(|row| row.name.as_bytes().to_vec());
            let entries: Vec<Entry> = rows.iter().map(|row| row.entry(epoch, &share, None)).collect();
            Ok((entries, next))
        });
        match page.await {
            Ok((entries, Some(next))) => Some((Ok(entries), (core, Some(next)))),
            Ok((_, None)) => None,
            Err(error) => Some((Err(failure(error)), (core, None))),
        }
    })
    .boxed()
}

/// Announced entries of a folder with names after `after`, ordered by name, each name once.
fn page(connection: &Connection, folder: i64, after: Vec<u8>) -> Result<Vec<Row>, CatalogError> {
    let rows = Row::select(
        connection,
        "e.parent = ?1 AND e.name > ?2 AND e.announced = 1 AND NOT EXISTS
            (SELECT 1 FROM entries later WHERE later.parent = e.parent AND later.name = e.name
             AND later.announced = 1 AND later.sequence > e.sequence)
         ORDER BY e.name LIMIT ?3",
        (folder, after, limits::BATCH_CHANGES as i64),
    )?;
    let mut bytes = 0;
    Ok(rows
        .into_iter()
        .enumerate()
        .take_while(|(index, row)| {
            bytes += message_bytes(row);
            *index == 0 || bytes <= ANSWER_BYTES
        })
        .map(|(_, row)| row)
        .collect())
}
