//! Fetching the small files of a folder that somebody reads one after the other.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use farhold_catalog::{Entry, EntryId, EntryKind, NodeKey, Nodes};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::time::{Instant, sleep_until};

use super::files::TheirFile;
use super::lookup::their_target;
use super::{Drive, local, lock};
use crate::contact::Contact;
use crate::error::VfsError;
use crate::peer::{PeerError, SMALL_FILE_BYTES, SmallFile};
use crate::warm::{IDLE, Plan};

impl Drive {
    /// Part of a file of theirs was read. If it is the last one of a small file, the rest of its folder may follow.
    pub(super) fn was_read(&self, file: &TheirFile, offset: u64, length: usize) {
        let (Some(folder), size) = (file.folder, file.size()) else { return };
        if size == 0 || size > SMALL_FILE_BYTES {
            return;
        }
        // From its start on, without a gap.
        let end = offset.saturating_add(length as u64);
        let read = file.read_to.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |read_to| {
            (offset <= read_to && end > read_to).then_some(end)
        });
        if read.is_err() || end < size {
            return;
        }
        let contact = Arc::clone(&file.contact);
        let begins = lock(&contact.habits).read_whole(folder, file.entry, size, Instant::now());
        contact.small_reads.send_modify(|reads| *reads += 1);
        if begins {
            let (nodes, cancel, latest) = (self.nodes.clone(), self.cancel.clone(), file.entry);
            self.tasks.spawn(async move {
                let warming = contact.until_detached(warm(&contact, &nodes, folder, latest));
                if let Some(Some(Err(error))) = cancel.run_until_cancelled(warming).await {
                    tracing::debug!(%error, "the small files of a folder are not fetched together");
                    lock(&contact.habits).forget(folder);
                }
            });
        }
    }
}

/// Fetches the small files of a folder, those after `latest` first, until all are here or it is left alone.
async fn warm(contact: &Contact, nodes: &Nodes, folder: EntryId, latest: EntryId) -> Result<(), VfsError> {
    let standing = || lock(&contact.habits).standing(folder, Instant::now());
    let Some(began) = standing() else { return Ok(()) };
    let mut reads = contact.small_reads.subscribe();
    let mut plan = Plan::new(small_files(contact, nodes, folder, latest).await?, began);
    let mut coming = FuturesUnordered::new();
    let is_here = |file: &SmallFile| {
        contact.view.cache.is_here(contact.content_key(file.entry, file.version), file.size)
    };
    while let Some(standing) = standing() {
        while let Some(batch) = plan.next(standing, is_here) {
            coming.push(fetch(contact, batch));
        }
        if plan.is_done() {
            return Ok(());
        }
        tokio::select! {
            Some((batch, fetched)) = coming.next() => {
                plan.came(&batch);
                keep(contact, &batch, fetched?)?;
            }
            _ = reads.changed() => {}
            () = sleep_until(standing.last + IDLE) => {}
        }
    }
    Ok(())
}

/// The files of a folder that are small, as a copying program reads them: by number, from `latest` on and then from the
/// start.
async fn small_files(
    contact: &Contact,
    nodes: &Nodes,
    folder: EntryId,
    latest: EntryId,
) -> Result<Vec<SmallFile>, VfsError> {
    let entries = contact.view.replica.children(folder).await.map_err(local)?.entries;
    let small = |entry: &Entry| match entry.kind {
        EntryKind::File { size } if size <= SMALL_FILE_BYTES => {
            let key = their_target(contact, entry).key()?;
            Some((key, SmallFile { entry: entry.id, version: entry.version, size }))
        }
        EntryKind::File { .. } | EntryKind::Folder | EntryKind::Symlink { .. } => None,
    };
    let (keys, files): (Vec<NodeKey>, Vec<SmallFile>) = entries.iter().filter_map(small).unzip();
    let numbers = nodes.numbers(keys).await.map_err(local)?;
    let mut numbered: Vec<(u64, SmallFile)> = numbers.into_iter().zip(files).collect();
    numbered.sort_unstable_by_key(|(number, _)| *number);
    let mut files: Vec<SmallFile> = numbered.into_iter().map(|(_, file)| file).collect();
    if let Some(at) = files.iter().position(|file| file.entry == latest) {
        files.rotate_left(at);
    }
    Ok(files)
}

async fn fetch(
    contact: &Contact,
    batch: Vec<SmallFile>,
) -> (Vec<SmallFile>, Result<Vec<(Entry, Bytes)>, PeerError>) {
    let fetched = contact.view.tree.small_files(batch.clone()).await;
    (batch, fetched)
}

/// Puts what came into the cache, unless it is of another version than was asked for: the replica does not know that
/// one yet.
fn keep(contact: &Contact, batch: &[SmallFile], fetched: Vec<(Entry, Bytes)>) -> Result<(), VfsError> {
    for (entry, bytes) in fetched {
        let asked = batch.iter().find(|file| file.entry == entry.id).ok_or(VfsError::HomeFailed)?;
        if entry.version != asked.version {
            continue;
        }
        if bytes.len() as u64 != asked.size {
            return Err(VfsError::HomeFailed);
        }
        contact.view.cache.insert(contact.content_key(entry.id, entry.version), asked.size, &bytes);
    }
    Ok(())
}
