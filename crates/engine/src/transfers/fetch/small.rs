//! Files of one group at most: many in one round trip, written and verified together.

use farhold_net::PeerError;
use farhold_wire::limits::GROUP_BYTES;
use farhold_wire::{Entry, ReadFailure};
use futures_util::StreamExt;
use futures_util::stream;

use super::{ATTEMPTS, Fetch, Trouble, failure_trouble, file_problem, local_trouble, peer_trouble};
use crate::transfers::hashes::{group_length, hash, size_of};
use crate::transfers::plan::{Plan, Planned};
use crate::transfers::table::End;

/// Reads of one batch that are asked for at once.
const AT_ONCE: usize = 64;

/// What came of one file of a batch.
enum Came {
    Whole(Vec<u8>),
    /// It is another version now.
    Newer(Box<Entry>),
    Changed,
}

impl Fetch {
    /// Fetches a batch of files into their places.
    pub(super) async fn small(&self, plan: &Plan, mut batch: Vec<Planned>) -> Result<(), End> {
        for _ in 0..ATTEMPTS {
            if batch.is_empty() {
                return Ok(());
            }
            batch = self.attempt(plan, batch).await?;
        }
        for file in batch {
            let why = Trouble::File(file_problem(ReadFailure::Changed));
            self.settle(&plan.path(&file), why)?;
        }
        Ok(())
    }

    /// Fetches what can be had; answers what changed meanwhile.
    async fn attempt(&self, plan: &Plan, batch: Vec<Planned>) -> Result<Vec<Planned>, End> {
        let entries: Vec<Entry> = batch.iter().map(|file| file.entry.clone()).collect();
        let reads = stream::iter(entries.clone())
            .map(|entry| async move { self.small_file(&entry).await })
            .buffered(AT_ONCE);
        // Both at once: a file takes one round trip.
        let (hashes, came) = tokio::join!(self.digest(&entries), reads.collect::<Vec<_>>());
        let hashes = match hashes {
            Ok(hashes) => hashes,
            Err(Trouble::All(end)) => return Err(end),
            Err(Trouble::File(problem)) => return Err(End::Fail(problem)),
        };
        let (mut again, mut whole) = (Vec::new(), Vec::new());
        for ((mut file, came), hashes) in batch.into_iter().zip(came).zip(hashes) {
            let trouble = match (came, hashes) {
                (Ok(Came::Whole(bytes)), Ok(hashes)) => {
                    let expected = hashes.first().copied();
                    if bytes.is_empty() || expected == Some(hash(&bytes)) {
                        whole.push((file, bytes));
                    } else {
                        again.push(file);
                    }
                    continue;
                }
                (Ok(Came::Newer(entry)), _) => {
                    let (before, now) = (size_of(&file.entry).unwrap_or(0), size_of(&entry).unwrap_or(0));
                    self.progress.resize(before, now);
                    file.entry = *entry;
                    match now {
                        0..=GROUP_BYTES => again.push(file),
                        _ => self.large(plan, file).await?,
                    }
                    continue;
                }
                (Ok(Came::Changed), _) | (Ok(Came::Whole(_)), Err(ReadFailure::Changed)) => {
                    again.push(file);
                    continue;
                }
                (Ok(Came::Whole(_)), Err(failure)) => failure_trouble(failure),
                (Err(trouble), _) => trouble,
            };
            self.settle(&plan.path(&file), trouble)?;
        }
        self.place(plan, whole).await?;
        Ok(again)
    }

    async fn small_file(&self, entry: &Entry) -> Result<Came, Trouble> {
        let length = group_length(size_of(entry).unwrap_or(0), 0);
        // An empty file is asked for too: it may be another version by now, which only its home can tell.
        match self.read(entry, 0, length.max(1)).await {
            Ok((now, _)) if now.version != entry.version => Ok(Came::Newer(Box::new(now))),
            Ok((_, bytes)) if bytes.len() == length as usize => Ok(Came::Whole(bytes)),
            Ok(_) => Err(Trouble::All(super::broken())),
            Err(PeerError::Failed(ReadFailure::Changed)) => Ok(Came::Changed),
            Err(error) => Err(peer_trouble(error)),
        }
    }

    /// Writes verified files, and gives them their names once all are on the disk.
    async fn place(&self, plan: &Plan, files: Vec<(Planned, Vec<u8>)>) -> Result<(), End> {
        if files.is_empty() {
            return Ok(());
        }
        let work: Vec<_> =
            files.into_iter().map(|(file, bytes)| (plan.path(&file), file.entry, bytes)).collect();
        let placed = self.blocking(move |destination| {
            let mut placed = Vec::with_capacity(work.len());
            for (names, entry, bytes) in work {
                let written = destination.place_small(&names, &entry, &bytes);
                placed.push((names, entry, bytes.len() as u64, written));
            }
            destination.sync()?;
            let mut named = Vec::with_capacity(placed.len());
            for (names, entry, bytes, written) in placed {
                let outcome = written.and_then(|()| destination.name_small(&names, &entry));
                named.push((names, bytes, outcome));
            }
            Ok(named)
        });
        let placed = match placed.await {
            Ok(placed) => placed,
            Err(trouble) => return self.settle(&[], trouble),
        };
        for (names, bytes, named) in placed {
            match named {
                Ok(()) => {
                    self.progress.add(bytes, bytes);
                    self.progress.file_done();
                }
                Err(error) => self.settle(&names, local_trouble(error))?,
            }
        }
        Ok(())
    }
}
