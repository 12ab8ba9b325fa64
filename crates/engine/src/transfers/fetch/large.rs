//! A file of more than one group: fetched in any order into a part file that survives interruptions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use farhold_net::PeerError;
use farhold_wire::{Entry, GroupHash, ReadFailure};
use futures_util::StreamExt;
use futures_util::stream;
use tokio::sync::Notify;

use super::{AHEAD, ATTEMPTS, Fetch, Trouble, failure_trouble, file_problem, local_trouble, peer_trouble};
use crate::error::ErrorClass;
use crate::transfers::destination::Part;
use crate::transfers::error::Problem;
use crate::transfers::groups::Groups;
use crate::transfers::hashes::size_of;
use crate::transfers::plan::{Plan, Planned};
use crate::transfers::table::End;

/// What came of asking for a group.
enum Came {
    Written(GroupHash),
    /// The home has another version now.
    Newer(Box<Entry>),
    /// It changed while it was read.
    Changed,
}

impl Fetch {
    /// Fetches one file into its place.
    pub(super) async fn large(&self, plan: &Plan, file: Planned) -> Result<(), End> {
        let names = plan.path(&file);
        let (path, entry) = (names.clone(), file.entry.clone());
        let opened = self.blocking(move |destination| destination.part(&path, &entry)).await;
        let (part, mut groups) = match opened {
            Ok(opened) => opened,
            Err(trouble) => return self.settle(&names, trouble),
        };
        self.progress.add(groups.bytes(), 0);
        let part = Arc::new(part);
        match self.whole(&part, &mut groups, file.entry).await {
            Ok(()) => {
                self.progress.file_done();
                Ok(())
            }
            Err(trouble) => {
                if matches!(trouble, Trouble::File(_)) {
                    self.progress.lose(groups.bytes());
                }
                self.settle(&names, trouble)
            }
        }
    }

    async fn whole(&self, part: &Arc<Part>, groups: &mut Groups, mut entry: Entry) -> Result<(), Trouble> {
        for _ in 0..ATTEMPTS {
            // Hashes are asked for while the last groups come, so that nothing is waited for at the end. Not sooner: the
            // home reads again what it has not served yet.
            let (asked, last_asked) = (entry.clone(), Notify::new());
            let filled = async {
                match self.fill(part, groups, &asked, &last_asked).await {
                    Ok(None) => Ok(()),
                    Ok(Some(newer)) => Err(Ok(newer)),
                    Err(trouble) => Err(Err(trouble)),
                }
            };
            let hashes = async {
                last_asked.notified().await;
                Ok(self.digest(std::slice::from_ref(&asked)).await)
            };
            // Only the hashes may be given up: what was asked for comes first.
            let hashes = match tokio::try_join!(filled, hashes) {
                Ok(((), hashes)) => hashes?,
                Err(newer) => {
                    let newer = newer?;
                    self.adapt(part, groups, &newer).await?;
                    entry = newer;
                    continue;
                }
            };
            let hashes = match hashes.into_iter().next() {
                Some(Ok(hashes)) => hashes,
                Some(Err(ReadFailure::Changed)) => {
                    let newer = self.look(&entry).await?;
                    self.adapt(part, groups, &newer).await?;
                    entry = newer;
                    continue;
                }
                Some(Err(failure)) => return Err(failure_trouble(failure)),
                None => continue,
            };
            let before = groups.bytes();
            groups.compare(&hashes);
            self.progress.lose(before - groups.bytes());
            if groups.is_whole() {
                let part = Arc::clone(part);
                return self.blocking(move |_| part.finish(&entry)).await;
            }
        }
        Err(Trouble::File(file_problem(ReadFailure::Changed)))
    }

    /// Asks for every group that is missing, and says when it has asked for the last one. Answers the newer version if
    /// there is one; then not all have come.
    async fn fill(
        &self,
        part: &Arc<Part>,
        groups: &mut Groups,
        entry: &Entry,
        last_asked: &Notify,
    ) -> Result<Option<Entry>, Trouble> {
        let stop = AtomicBool::new(false);
        let ranges: Vec<_> = groups.missing().into_iter().map(|group| (group, groups.range(group))).collect();
        let due = ranges.into_iter().take_while(|_| !stop.load(Ordering::Relaxed));
        let due = due.chain(std::iter::from_fn(|| {
            last_asked.notify_one();
            None
        }));
        let mut flow = stream::iter(due)
            .map(|(group, (offset, length))| async move {
                (group, length, self.group(part, entry, group, offset, length).await)
            })
            .buffer_unordered(AHEAD);
        let (mut newer, mut trouble) = (None, None);
        // What was asked for is waited for, also when it is of no use any more: nothing may write here later.
        while let Some((group, length, came)) = flow.next().await {
            match came {
                Ok(Came::Written(hash)) => {
                    groups.arrived(group, hash);
                    self.progress.add(length.into(), length.into());
                    continue;
                }
                Ok(Came::Newer(entry)) => newer = Some(*entry),
                Ok(Came::Changed) => {}
                Err(error) => trouble = Some(error),
            }
            stop.store(true, Ordering::Relaxed);
        }
        match trouble {
            Some(trouble) => Err(trouble),
            None if newer.is_none() && stop.load(Ordering::Relaxed) => Ok(Some(self.look(entry).await?)),
            None => Ok(newer),
        }
    }

    async fn group(
        &self,
        part: &Arc<Part>,
        entry: &Entry,
        group: u64,
        offset: u64,
        length: u32,
    ) -> Result<Came, Trouble> {
        let _permit = self.permits.acquire().await;
        let (now, bytes) = match self.read(entry, offset, length).await {
            Ok(came) => came,
            Err(PeerError::Failed(ReadFailure::Changed)) => return Ok(Came::Changed),
            Err(error) => return Err(peer_trouble(error)),
        };
        if now.version != entry.version {
            return Ok(Came::Newer(Box::new(now)));
        }
        if bytes.len() != length as usize {
            return Err(Trouble::All(super::broken()));
        }
        let part = Arc::clone(part);
        let hash = self.blocking(move |_| part.write(group, offset, &bytes)).await?;
        Ok(Came::Written(hash))
    }

    /// Goes over to another version. What of it is there already shows when hashes are compared.
    async fn adapt(&self, part: &Arc<Part>, groups: &mut Groups, newer: &Entry) -> Result<(), Trouble> {
        let Some(size) = size_of(newer) else {
            let reason = "it is no file any more at its home";
            return Err(Trouble::File(Problem::new(ErrorClass::Conflict, reason)));
        };
        let more = size.saturating_sub(groups.size());
        self.blocking(move |destination| destination.has_room(more)).await?;
        let (before, there) = (groups.size(), groups.bytes());
        groups.resize(size);
        self.progress.resize(before, size);
        self.progress.lose(there);
        self.progress.add(groups.bytes(), 0);
        let part = Arc::clone(part);
        self.writes.spawn_blocking(move || part.resize(size)).await.unwrap_or(Ok(())).map_err(local_trouble)
    }
}
