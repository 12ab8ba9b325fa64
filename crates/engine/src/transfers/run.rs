//! One transfer at work: what is to be fetched is found and listed, its place is made, then the bytes move.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use farhold_catalog::{Lookup, Replica};
use farhold_net::{Peer, PeerError};
use farhold_wire::limits::GROUP_BYTES;
use farhold_wire::{Entry, EntryKind, Name, Offer, OfferAnswer, ReadFailure};
use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::destination::{Destination, Existing, LocalError};
use super::error::{Problem, Problems};
use super::fetch::{Fetch, Progress, RETRY, local_end, peer_end, peer_problem, wait};
use super::hashes::size_of;
use super::offers::Push;
use super::plan::{Plan, PlanError, Planned};
use super::record::{Hex, Job, Record};
use super::table::{Amounts, End};
use super::{FREE_BYTES, RECEIVED_BYTES, Transfers};
use crate::error::ErrorClass;

/// Names tried for what is received, `NAME (2)` and so on.
const NAMES: u32 = 1000;

/// What a worker has.
pub(crate) struct Worker {
    pub(crate) transfers: Transfers,
    pub(crate) record: Record,
    pub(crate) peer: Peer,
    /// What the contact shares.
    pub(crate) replica: Option<Replica>,
    /// The six characters behind a tree's name that is called like one of mine.
    pub(crate) mark: String,
    pub(crate) progress: Arc<Progress>,
    pub(crate) writes: TaskTracker,
    pub(crate) journals: PathBuf,
}

impl Worker {
    /// Fetches; `root` is what to fetch of what is received.
    pub(crate) async fn fetch(&self, root: Option<Entry>) -> End {
        let fetched = match self.root(root).await {
            Ok(root) => self.fetch_root(root).await,
            Err(end) => Err(end),
        };
        fetched.unwrap_or_else(|end| end)
    }

    /// Offers a push to its receiver.
    pub(crate) async fn offer(&self) -> End {
        self.make_offer().await.unwrap_or_else(|end| end)
    }

    async fn make_offer(&self) -> Result<End, End> {
        let (record, offers) = (&self.record, self.transfers.offers());
        let Job::Push { path } = &record.job else { return Err(damaged()) };
        let push = match offers.get(record.contact(), record.key()) {
            Some(push) => push,
            None => {
                let (path, key, tag) = (path.path(), record.key(), record.tag);
                let name = record.name.name().ok_or_else(damaged)?;
                // The walk ends when nobody waits for it any more, and whoever stops it waits for that.
                let stop = CancellationToken::new();
                let _stopped = stop.clone().drop_guard();
                let walk = move || Push::open(&path, &name, key, tag, &stop);
                let opened = self.writes.spawn_blocking(walk).await;
                let opened = opened.map_err(|_| End::Fail(Problem::task()))?;
                let push = Arc::new(opened.map_err(|error| match error.class() {
                    Some(class) => End::Fail(Problem::new(class, error.to_string())),
                    None => End::Stopped,
                })?);
                offers.insert(record.contact(), record.key(), Arc::clone(&push));
                push
            }
        };
        self.progress.expect(push.files, push.bytes);
        let sequence = self.transfers.table().sequence();
        let (key, root) = (record.key(), push.root.clone());
        let offer = Offer { key, root, files: push.files, bytes: push.bytes, sequence };
        let answer = self.peer.offer(offer).await.map_err(|error| self.peer_end(&error))?;
        let fail = |reason: &str| End::Fail(Problem::new(ErrorClass::Refused, reason));
        Ok(match answer {
            OfferAnswer::Accepted => End::Offered { accepted: true },
            OfferAnswer::Pending => End::Offered { accepted: false },
            OfferAnswer::Received => End::Received,
            OfferAnswer::NotWanted => fail("the contact does not accept pushes"),
            OfferAnswer::TooLarge => fail("the contact has no room for it"),
            OfferAnswer::TooMany => fail("the contact has too many unfinished pushes"),
            OfferAnswer::Cancelled => End::Cancel { reason: "the contact gave it up".to_owned() },
        })
    }

    /// What is to be fetched, as it is now.
    async fn root(&self, offered: Option<Entry>) -> Result<Entry, End> {
        let below = match (&self.record.job, offered) {
            (Job::Receive { .. }, Some(root)) => return Ok(root),
            (Job::Pull { below, .. }, _) => below,
            (Job::Receive { .. } | Job::Offered | Job::Push { .. } | Job::Serve, _) => return Err(damaged()),
        };
        let names =
            below.iter().map(|name| name.name().ok_or_else(damaged)).collect::<Result<Vec<_>, _>>()?;
        if let Some(entry) = self.expected(&names).await {
            return Ok(entry);
        }
        let mut found: Option<Entry> = None;
        for name in &names {
            let next = self.child(found.as_ref(), name).await?;
            if next.unavailable {
                return Err(self.peer_end(&PeerError::Failed(ReadFailure::Unavailable)));
            }
            found = Some(next);
        }
        found.ok_or_else(damaged)
    }

    /// What the home has under these names, asked for at once for all of them, if the folders on the way are those that
    /// the replica knows: one round trip, however deep it lies.
    async fn expected(&self, names: &[Name]) -> Option<Entry> {
        let (_, folders) = names.split_last()?;
        let known = self.known(folders).await?;
        let parents = std::iter::once(None).chain(known.iter().map(Some));
        let asked = parents.zip(names).map(|(parent, name)| self.child(parent, name));
        let entries = join_all(asked).await.into_iter().collect::<Result<Vec<_>, _>>().ok()?;
        let same = entries.iter().zip(&known).all(|(entry, known)| entry.id == known.id);
        let available = entries.iter().all(|entry| !entry.unavailable);
        entries.into_iter().next_back().filter(|_| same && available)
    }

    /// The folders that the replica knows under these names, each in the one before.
    async fn known(&self, folders: &[Name]) -> Option<Vec<Entry>> {
        let replica = self.replica.as_ref()?;
        let mut found: Vec<Entry> = Vec::new();
        for name in folders {
            let parent = found.last().map(|entry| entry.id);
            let Ok(Lookup::Found(entry)) = replica.lookup(parent, name.clone()).await else { return None };
            found.push(entry);
        }
        Some(found)
    }

    /// A child by the name that the drive shows. Asked at home, who knows best; of the replica only which name the
    /// home uses itself for a tree that is called like one of mine.
    async fn child(&self, parent: Option<&Entry>, name: &Name) -> Result<Entry, End> {
        let id = parent.map(|entry| entry.id);
        let asked = self.peer.lookup(id, name.clone()).await.map_err(|error| self.peer_end(&error))?;
        if let Some(entry) = asked {
            return Ok(entry);
        }
        let suffix = format!(" ({})", self.mark);
        let plain = name.as_bytes().strip_suffix(suffix.as_bytes());
        let plain = plain.and_then(|plain| Name::new(plain.to_vec()).ok());
        if let (None, Some(plain), Some(replica)) = (parent, plain, &self.replica)
            && let Ok(Lookup::Found(entry)) = replica.lookup(None, plain).await
        {
            return Ok(entry);
        }
        Err(End::Fail(Problem::new(ErrorClass::NotFound, format!("there is no {name} at its home"))))
    }

    async fn fetch_root(&self, root: Entry) -> Result<End, End> {
        let listed = Plan::list(root, &self.peer).await;
        let mut plan = listed.map_err(|error| match error {
            PlanError::TooMany => {
                End::Fail(Problem::new(ErrorClass::Refused, "it has too many files and folders"))
            }
            PlanError::Peer(error) => self.peer_end(&error),
        })?;
        let received = matches!(self.record.job, Job::Receive { .. });
        if received && plan.bytes() > RECEIVED_BYTES {
            let reason = "it is larger than the contact may push";
            return Err(End::Fail(Problem::new(ErrorClass::Refused, reason)));
        }
        let mut problems = std::mem::take(&mut plan.problems);
        let plan = Arc::new(plan);
        self.progress.expect(plan.files.len() as u64, plan.bytes());
        let destination = Arc::new(self.begin(&plan).await?);
        let (due, more) = {
            let (destination, plan) = (Arc::clone(&destination), Arc::clone(&plan));
            self.blocking(move || prepare(&destination, &plan)).await?
        };
        let missing = due.iter().filter_map(|file| size_of(&file.entry)).fold(0, u64::saturating_add);
        self.progress.already(plan.files.len() as u64 - due.len() as u64, plan.bytes() - missing);
        problems.append(more);
        let fetch = Fetch::new(
            self.peer.clone(),
            Arc::clone(&destination),
            Arc::clone(&self.progress),
            self.writes.clone(),
            problems,
        );
        self.has_room(&destination, &plan, &due).await?;
        let end = fetch.run(&plan, due).await;
        if matches!(end, End::Done { .. }) {
            self.blocking(move || finish(&destination, &plan)).await?;
        }
        Ok(self.with_need(end))
    }

    /// Chooses the place, or takes the one that was chosen before.
    async fn begin(&self, plan: &Plan) -> Result<Destination, End> {
        let record = &self.record;
        match &record.job {
            Job::Receive { folder, name: None } => {
                let (place, wanted) = (folder.path(), record.name.name().ok_or_else(damaged)?);
                let name = self.blocking(move || free_name(&place, &wanted)).await?;
                self.transfers.begun(record.id, Some(&name)).await?;
                self.destination_at(folder, name).await
            }
            Job::Pull { folder, name, begun: false, .. } => {
                let name = name.name().ok_or_else(damaged)?;
                let destination = self.destination_at(folder, name).await?;
                let root = plan.root().ok_or_else(damaged)?.clone();
                let destination = self
                    .blocking(move || match destination.existing(&[], &root)? {
                        Existing::Nothing => Ok(destination),
                        Existing::Same | Existing::Other => Err(LocalError::Exists),
                    })
                    .await?;
                self.transfers.begun(record.id, None).await?;
                Ok(destination)
            }
            Job::Pull { folder, name, begun: true, .. } | Job::Receive { folder, name: Some(name) } => {
                self.destination_at(folder, name.name().ok_or_else(damaged)?).await
            }
            Job::Push { .. } | Job::Offered | Job::Serve => Err(damaged()),
        }
    }

    async fn destination_at(&self, folder: &Hex, name: Name) -> Result<Destination, End> {
        let (folder, tag, journals) = (folder.path(), self.record.tag, self.journals.clone());
        self.blocking(move || Destination::open(&folder, name, tag, journals)).await
    }

    /// A disk that is too small is better said before than after hours.
    async fn has_room(
        &self,
        destination: &Arc<Destination>,
        plan: &Arc<Plan>,
        due: &[Planned],
    ) -> Result<(), End> {
        let (destination, plan, due) = (Arc::clone(destination), Arc::clone(plan), due.to_vec());
        let room = self.blocking(move || {
            let mut need = 0u64;
            for file in &due {
                let size = size_of(&file.entry).unwrap_or(0);
                let there = match size {
                    0..=GROUP_BYTES => 0,
                    _ => destination.part_bytes(&plan.path(file), &file.entry)?,
                };
                need = need.saturating_add(size.saturating_sub(there));
            }
            Ok((need, destination.free_bytes()?))
        });
        match room.await? {
            (0, _) => Ok(()),
            (need, free) if need.saturating_add(FREE_BYTES) > free => Err(full(need)),
            _ => Ok(()),
        }
    }

    /// A full disk is told with what is needed.
    fn with_need(&self, end: End) -> End {
        if !matches!(end, End::Pause { .. }) {
            return end;
        }
        let (Amounts { bytes, bytes_done, .. }, _) = self.progress.take();
        full(bytes.saturating_sub(bytes_done))
    }

    fn peer_end(&self, error: &PeerError) -> End {
        peer_end(error).unwrap_or_else(|| {
            let problem = peer_problem(error);
            let gone = matches!(error, PeerError::Failed(ReadFailure::NotFound));
            match self.record.job {
                // Its sender offers it again, or says that it is no more.
                Job::Receive { .. } if gone => wait(&problem.reason, RETRY),
                Job::Receive { .. } | Job::Offered | Job::Pull { .. } | Job::Push { .. } | Job::Serve => {
                    End::Fail(problem)
                }
            }
        })
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, LocalError> + Send + 'static,
    ) -> Result<T, End> {
        match self.writes.spawn_blocking(work).await {
            Ok(done) => done.map_err(|error| local_end(&error)),
            Err(_) => Err(End::Fail(Problem::task())),
        }
    }
}

/// Removes what is not finished of one that was given up. Blocks.
pub(crate) fn clean(record: &Record, journals: PathBuf) {
    let (folder, name) = match &record.job {
        Job::Pull { folder, name, begun: true, .. } | Job::Receive { folder, name: Some(name) } => {
            (folder, name)
        }
        // Nothing was begun.
        Job::Pull { .. } | Job::Offered | Job::Receive { .. } | Job::Push { .. } | Job::Serve => return,
    };
    let Some(name) = name.name() else { return };
    let cleaned = Destination::open(&folder.path(), name, record.tag, journals)
        .and_then(|destination| destination.clean());
    match cleaned {
        Ok(()) | Err(LocalError::Gone) => {}
        Err(error) => tracing::warn!("a transfer that was given up leaves part files behind: {error}"),
    }
}

/// Makes folders and links, and finds out which files are not in their places yet. What cannot be made is told.
fn prepare(destination: &Destination, plan: &Plan) -> Result<(Vec<Planned>, Problems), LocalError> {
    let mut problems = Problems::default();
    let mut note = |names: &[Name], error: LocalError| {
        if names.is_empty() || !matches!(error, LocalError::Exists | LocalError::Name | LocalError::NoLink) {
            return Err(error);
        }
        problems.add(|| Problem::new(error.class(), format!("{}: {error}", super::plan::show(names))));
        Ok(())
    };
    let mut broken: std::collections::HashSet<Vec<Name>> = std::collections::HashSet::new();
    for (names, _) in plan.folders() {
        let inside = names.split_last().is_some_and(|(_, parent)| broken.contains(parent));
        match if inside { Err(LocalError::Name) } else { destination.make_folder(&names) } {
            Ok(()) => {}
            Err(error) => {
                note(&names, error)?;
                broken.insert(names);
            }
        }
    }
    let lost = |names: &[Name]| names.split_last().is_some_and(|(_, parent)| broken.contains(parent));
    for link in &plan.links {
        let names = plan.path(link);
        if let (EntryKind::Symlink { target: Some(target) }, false) = (&link.entry.kind, lost(&names))
            && let Err(error) = destination.make_link(&names, target)
        {
            // Some file systems have no links.
            note(&names, if matches!(error, LocalError::Denied) { LocalError::NoLink } else { error })?;
        }
    }
    let mut due = Vec::new();
    for file in &plan.files {
        let names = plan.path(file);
        if lost(&names) {
            continue;
        }
        match destination.existing(&names, &file.entry) {
            Ok(Existing::Nothing) => due.push(file.clone()),
            Ok(Existing::Same) => {}
            Ok(Existing::Other) => note(&names, LocalError::Exists)?,
            Err(error) => note(&names, error)?,
        }
    }
    Ok((due, problems))
}

/// Gives folders their modes and times, the innermost first.
fn finish(destination: &Destination, plan: &Plan) -> Result<(), LocalError> {
    for (names, entry) in plan.folders().rev() {
        destination.finish_folder(&names, entry)?;
    }
    // Before it counts as done its names must be on the disk, too.
    destination.sync()
}

/// `NAME`, or `NAME (2)` and so on if that is taken; before a file's extension.
fn free_name(folder: &Path, wanted: &Name) -> Result<Name, LocalError> {
    for number in 1..=NAMES {
        let name = numbered(wanted, number).ok_or(LocalError::Name)?;
        if !Destination::is_taken(folder, &name)? {
            return Ok(name);
        }
    }
    Err(LocalError::Exists)
}

fn numbered(name: &Name, number: u32) -> Option<Name> {
    if number == 1 {
        return Some(name.clone());
    }
    let bytes = name.as_bytes();
    let dot = bytes.iter().rposition(|byte| *byte == b'.').filter(|dot| *dot > 0 && bytes.len() - dot <= 16);
    let (stem, extension) = bytes.split_at(dot.unwrap_or(bytes.len()));
    let number = format!(" ({number})");
    let most = farhold_wire::limits::NAME_BYTES.checked_sub(number.len() + extension.len())?;
    let stem = &stem[..stem.len().min(most)];
    Name::new([stem, number.as_bytes(), extension].concat()).ok()
}

fn full(need: u64) -> End {
    End::Pause { reason: format!("the disk is full: {} needed", amount(need)) }
}

/// Bytes as a person reads them.
fn amount(bytes: u64) -> String {
    match bytes {
        0..1_000_000_000 => format!("{} MB", bytes.div_ceil(1_000_000)),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

/// The list of transfers was changed by somebody else.
fn damaged() -> End {
    End::Fail(Problem::new(ErrorClass::Internal, "its record is damaged"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        Name::new(text.as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn what_is_received_never_takes_a_name_that_is_there() {
        let folder = tempfile::tempdir().unwrap();
        for (expected, file) in
            [("film.mkv", "film.mkv"), ("film (2).mkv", "film.mkv"), ("film (3).mkv", "film.mkv")]
        {
            assert_eq!(free_name(folder.path(), &name(file)).unwrap(), name(expected));
            std::fs::write(folder.path().join(expected), "x").unwrap();
        }
        // A link that leads nowhere is something, too.
        std::os::unix::fs::symlink("/nowhere", folder.path().join(".rc")).unwrap();
        assert_eq!(free_name(folder.path(), &name(".rc")).unwrap(), name(".rc (2)"));
        let long = "ä".repeat(127);
        std::fs::write(folder.path().join(&long), "x").unwrap();
        assert!(free_name(folder.path(), &name(&long)).unwrap().as_bytes().len() <= 255);
    }

    #[test]
    fn amounts_are_told_in_the_usual_units() {
        assert_eq!([amount(1), amount(2_000_000), amount(3_540_000_000)], ["1 MB", "2 MB", "3.5 GB"]);
    }
}
