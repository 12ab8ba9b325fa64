//! BLAKE3 of files, by groups of 1 MiB. The list of a file's group hashes tells whether it arrived as it is at its
//! home, which groups did not, and which a new version still has. A home hashes what it serves as it passes by, and
//! reads again only what it is asked for and did not serve.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use farhold_wire::limits::{DIGEST_HASHES, GROUP_BYTES};
use farhold_wire::{
    DigestItem, DigestPart, Entry, EntryId, EntryKind, GroupHash, ReadFailure, ReadPart, ReadRequest, Version,
};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use tokio::time::Instant;

/// Hashes kept of what was served: those of 512 GB.
const KEPT: usize = 512 << 10;
/// Longest silence while files are hashed: far below what a caller waits for.
const SIGN_OF_LIFE: Duration = Duration::from_secs(1);

/// How many groups a file has.
pub(crate) fn groups(size: u64) -> u64 {
    size.div_ceil(GROUP_BYTES)
}

/// How many bytes a group of a file has.
pub(crate) fn group_length(size: u64, group: u64) -> u32 {
    let length = size.saturating_sub(group * GROUP_BYTES).min(GROUP_BYTES);
    u32::try_from(length).unwrap_or(0)
}

type Key = (EntryId, Version);

/// The hashes of what was served lately.
#[derive(Debug, Default)]
pub(crate) struct Hashes {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    files: HashMap<Key, (u64, BTreeMap<u64, GroupHash>)>,
    /// By when they were used last.
    order: BTreeMap<u64, Key>,
    clock: u64,
    count: usize,
}

impl Known {
    fn touch(&mut self, key: Key) -> &mut BTreeMap<u64, GroupHash> {
        self.clock += 1;
        let (used, hashes) = self.files.entry(key).or_default();
        self.order.remove(used);
        *used = self.clock;
        self.order.insert(self.clock, key);
        hashes
    }

    fn note(&mut self, key: Key, group: u64, hash: GroupHash) {
        if self.touch(key).insert(group, hash).is_none() {
            self.count += 1;
        }
        while self.count > KEPT {
            let Some((_, oldest)) = self.order.pop_first() else { return };
            let gone = self.files.remove(&oldest).map_or(0, |(_, hashes)| hashes.len());
            self.count -= gone;
        }
    }
}

impl Hashes {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, key: Key, group: u64) -> Option<GroupHash> {
        let mut known = self.known();
        known.files.contains_key(&key).then(|| known.touch(key).get(&group).copied()).flatten()
    }

    /// The parts of an answer, hashed on their way if they are one whole group.
    pub(crate) fn follow(
        self: &Arc<Self>,
        request: ReadRequest,
        parts: BoxStream<'static, Result<ReadPart, ReadFailure>>,
    ) -> BoxStream<'static, Result<ReadPart, ReadFailure>> {
        if !request.offset.is_multiple_of(GROUP_BYTES) || request.length == 0 {
            return parts;
        }
        let hashes = Arc::clone(self);
        let group = request.offset / GROUP_BYTES;
        let following: Option<(Key, u32, blake3::Hasher)> = None;
        parts
            .scan(following, move |following, part| {
                match &part {
                    Ok(ReadPart::Head(head)) => {
                        let whole = size_of(&head.entry).map(|size| group_length(size, group));
                        *following = (whole == Some(head.length) && head.length > 0).then(|| {
                            ((head.entry.id, head.entry.version), head.length, blake3::Hasher::new())
                        });
                    }
                    Ok(ReadPart::Data(data)) => {
                        if let Some((key, left, hasher)) = following {
                            hasher.update(data);
                            *left = left.saturating_sub(u32::try_from(data.len()).unwrap_or(u32::MAX));
                            if *left == 0 {
                                hashes.known().note(*key, group, *hasher.finalize().as_bytes());
                                *following = None;
                            }
                        }
                    }
                    Err(_) => *following = None,
                }
                std::future::ready(Some(part))
            })
            .boxed()
    }

    /// Answers a request for digests with what is known, and what `read` reads.
    pub(crate) fn digest(
        self: &Arc<Self>,
        items: Vec<DigestItem>,
        read: impl Fn(ReadRequest) -> BoxStream<'static, Result<ReadPart, ReadFailure>> + Send + Sync + 'static,
    ) -> BoxStream<'static, Result<DigestPart, ReadFailure>> {
        let digesting = Digesting { hashes: Arc::clone(self), items, item: 0, read, size: None, group: 0 };
        stream::unfold(
            digesting,
            |mut digesting| async move { Some((Ok(digesting.next().await?), digesting)) },
        )
        .boxed()
    }
}

pub(crate) fn size_of(entry: &Entry) -> Option<u64> {
    match entry.kind {
        EntryKind::File { size } => Some(size),
        EntryKind::Folder | EntryKind::Symlink { .. } => None,
    }
}

struct Digesting<R> {
    hashes: Arc<Hashes>,
    items: Vec<DigestItem>,
    /// Which item is next, or under way.
    item: usize,
    read: R,
    /// Of the item under way.
    size: Option<u64>,
    group: u64,
}

impl<R> Digesting<R>
where
    R: Fn(ReadRequest) -> BoxStream<'static, Result<ReadPart, ReadFailure>>,
{
    async fn next(&mut self) -> Option<DigestPart> {
        let asked = *self.items.get(self.item)?;
        let end = Instant::now() + SIGN_OF_LIFE;
        let index = self.item;
        let mut found = Vec::new();
        let failed = loop {
            let size = match self.size {
                Some(size) => size,
                None => match self.read(asked, 0, 0).await {
                    Ok((size, _)) => *self.size.insert(size),
                    Err(failure) => break Some(failure),
                },
            };
            if self.group >= groups(size) {
                break None;
            }
            if found.len() >= DIGEST_HASHES || Instant::now() >= end {
                return Some(DigestPart { item: index, hashes: Ok(found) });
            }
            match self.hash(asked, size).await {
                Ok(hash) => found.push(hash),
                Err(failure) => break Some(failure),
            }
            self.group += 1;
        };
        (self.item, self.size, self.group) = (index + 1, None, 0);
        Some(DigestPart { item: index, hashes: failed.map_or(Ok(found), Err) })
    }

    async fn hash(&self, asked: DigestItem, size: u64) -> Result<GroupHash, ReadFailure> {
        let key = (asked.entry, asked.version);
        if let Some(hash) = self.hashes.get(key, self.group) {
            return Ok(hash);
        }
        let length = group_length(size, self.group);
        let (_, hash) = self.read(asked, self.group * GROUP_BYTES, length).await?;
        self.hashes.known().note(key, self.group, hash);
        Ok(hash)
    }

    /// Reads a range of exactly the version asked for; answers the file's size, and the hash of the range.
    async fn read(
        &self,
        asked: DigestItem,
        offset: u64,
        length: u32,
    ) -> Result<(u64, GroupHash), ReadFailure> {
        let DigestItem { entry, version } = asked;
        let mut parts = (self.read)(ReadRequest { entry, version, offset, length });
        let mut hasher = blake3::Hasher::new();
        let mut size = None;
        while let Some(part) = parts.next().await {
            match part? {
                ReadPart::Head(head) if head.entry.version != version => return Err(ReadFailure::Changed),
                ReadPart::Head(head) => size = size_of(&head.entry),
                ReadPart::Data(data) => {
                    hasher.update(&data);
                }
            }
        }
        Ok((size.ok_or(ReadFailure::NotFound)?, *hasher.finalize().as_bytes()))
    }
}

/// The hash of one group's bytes.
pub(crate) fn hash(bytes: &[u8]) -> GroupHash {
    *blake3::hash(bytes).as_bytes()
}

/// All bytes of an answer.
pub(crate) async fn collect<E>(
    length: u32,
    mut data: BoxStream<'static, Result<Bytes, E>>,
) -> Result<Vec<u8>, E> {
    let mut all = Vec::with_capacity(length as usize);
    while let Some(piece) = data.next().await {
        all.extend_from_slice(&piece?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests;
