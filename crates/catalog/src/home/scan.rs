//! Scans of a share: some folders at a time are listed, compared with what is recorded, and the difference is
//! written. Blocks; the keeper calls it on threads for that.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use farhold_wire::Name;
use rusqlite::Connection;

use super::change::{Change, Found};
use super::core::Core;
use super::disk::{Cause, Child, Kind, Root, Seen, cause};
use super::merge::{Fate, Identity, Known, Slot, assign};
use super::round::{Round, Work};
use super::schema::{Row, Share, place};
use crate::CatalogError;

/// Folders and entries of one transaction: large enough that its cost does not count, small enough that what
/// changes meanwhile is not kept waiting.
const CHUNK_FOLDERS: usize = 256;
const CHUNK_ENTRIES: usize = 8192;

/// What a step did.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// The share is no more.
    pub(crate) ended: bool,
    /// Let marks come before the next step: an entry is missing and may have turned up elsewhere.
    pub(crate) rest: bool,
    /// Something changed so lately that it has to be looked at again, after this long.
    pub(crate) again_after: Option<Duration>,
}

/// Does a part of what is waiting: looks at the root, and scans some folders.
pub(crate) fn step(core: &Core, share: i64, work: &mut Work) -> Result<Outcome, CatalogError> {
    let Some(mut share) = core.store.read_blocking(|connection| Share::find(connection, share))? else {
        return Ok(Outcome { ended: true, ..Outcome::default() });
    };
    let Some(root) = find_root(core, &mut share, work)? else {
        work.clear();
        return Ok(Outcome::default());
    };
    let mut scan = Scan { core, share: &share, root: &root, young: false, rest: false };
    if share.folder {
        scan.some_folders(work)?;
    } else {
        scan.file()?;
        work.clear();
    }
    let again_after = scan.young.then_some(root.granularity);
    Ok(Outcome { ended: false, rest: scan.rest, again_after })
}

/// Opens the root if it is the one that was shared.
fn find_root(core: &Core, share: &mut Share, work: &mut Work) -> Result<Option<Root>, CatalogError> {
    let found = Root::open(&share.path, share.folder).ok();
    let Some(root) = found.filter(|root| root.follows(&share.origin)) else {
        if share.available {
            let share = share.share;
            core.watcher.unwatch(share);
            core.change_blocking(move |change| change.set_available(share, false))?;
        }
        return Ok(None);
    };
    let origin = root.origin();
    if origin != share.origin {
        let number = share.share;
        core.change_blocking(move |change| change.set_origin(number, origin))?;
        share.origin = origin;
        // Nothing tells of a folder above the root that went with what was watched.
        core.watcher.unwatch(number);
        work.scan_everything(share.root);
    }
    // It counts as available once it is known again.
    if !share.available && work.whole.is_none() {
        work.scan_everything(share.root);
    }
    Ok(Some(root))
}

struct Scan<'a> {
    core: &'a Core,
    share: &'a Share,
    root: &'a Root,
    /// Something was young.
    young: bool,
    /// A round is to wait before it ends.
    rest: bool,
}

/// A folder that was listed.
struct Listed {
    row: Row,
    own: Seen,
    children: Vec<Child>,
    skipped: u64,
    deep: bool,
}

/// A difference to be written.
enum Step {
    Insert(Found),
    /// As it was, as it is, and whether another object took its place.
    Update(Box<Row>, Found, bool),
    Folder {
        row: i64,
        own: Seen,
        skipped: u64,
    },
    Unreadable(i64),
}

impl Scan<'_> {
    fn file(&mut self) -> Result<(), CatalogError> {
        let young = self.root.is_young(&self.root.meta, SystemTime::now());
        self.young = young;
        if let Some(folder) = self.share.path.parent() {
            self.watch(folder.to_owned(), self.share.root);
        }
        let Some(seen) = self.root.meta.seen(None) else { return Ok(()) };
        let root = self.share.root;
        let old = self.core.store.read_blocking(|connection| Row::at(connection, root))?;
        self.known_again()?;
        let Some(old) = old.filter(|old| old.seen != seen || (old.provisional && !young)) else {
            return Ok(());
        };
        let replaced = identity(&old.seen) != identity(&seen);
        let found = Found { parent: None, name: old.name.clone(), seen, young };
        self.core.change_blocking(move |change| change.update(&old, &found, replaced))
    }

    fn some_folders(&mut self, work: &mut Work) -> Result<(), CatalogError> {
        if std::mem::take(&mut work.again) {
            let share = self.share.share;
            let folders = self.core.store.read_blocking(|connection| provisional(connection, share))?;
            folders.into_iter().for_each(|folder| work.marked.push(folder, false));
        }
        if !work.marked.is_empty() {
            self.part_of(&mut work.marked)?;
        }
        // Both, so that what changes all the time does not keep the rest waiting.
        if let Some(whole) = &mut work.whole {
            self.part_of(whole)?;
            if whole.is_empty() {
                work.whole = None;
                self.known_again()?;
            }
        }
        Ok(())
    }

    /// Everything was scanned: what was unavailable is no more.
    fn known_again(&self) -> Result<(), CatalogError> {
        if self.share.available {
            return Ok(());
        }
        let share = self.share.share;
        self.core.change_blocking(move |change| change.set_available(share, true))
    }

    /// Scans some folders of a round, and ends the round after its last.
    fn part_of(&mut self, round: &mut Round) -> Result<(), CatalogError> {
        let mut steps = Vec::new();
        let listed = self.list_some(round, &mut steps)?;
        let folders = self.compare(listed, round, &mut steps)?;
        if !steps.is_empty() {
            let share = self.share.share;
            let inserted = self.core.change_blocking(move |change| write(change, share, steps))?;
            for row in inserted {
                round.fresh.push(row);
                round.push(row, true);
            }
        }
        folders.into_iter().for_each(|(row, deep)| round.push(row, deep));
        if !round.has_folders() {
            if !round.missing.is_empty() && !round.rested {
                round.rested = true;
                self.rest = true;
                return Ok(());
            }
            let (ended, waiting) = round.end();
            self.core.change_blocking(move |change| {
                // Deepest first: a folder is seen once everything below it can be.
                ended.fresh.iter().rev().try_for_each(|row| change.announce(*row))?;
                for (row, (parent, name)) in &ended.missing {
                    change.remove_missing(*row, *parent, name)?;
                }
                if ended.missing.is_empty() { Ok(()) } else { change.prune() }
            })?;
            drop(waiting);
        }
        Ok(())
    }

    fn list_some(&mut self, round: &mut Round, steps: &mut Vec<Step>) -> Result<Vec<Listed>, CatalogError> {
        let mut listed = Vec::new();
        let mut again = Vec::new();
        let mut entries = 0;
        while listed.len() < CHUNK_FOLDERS && entries < CHUNK_ENTRIES {
            let Some((folder, deep)) = round.pop() else { break };
            let known = self.core.store.read_blocking(|connection| {
                Ok(Row::at(connection, folder)?.zip(place(connection, folder)?))
            })?;
            let Some((row, names)) = known else { continue };
            if row.share != self.share.share || row.seen.kind != Kind::Folder {
                continue;
            }
            match self.list(row.clone(), &names, deep) {
                Ok(Some(folder)) => {
                    entries += folder.children.len();
                    listed.push(folder);
                }
                Ok(None) => again.push(row.parent),
                Err(error) => match cause(&error) {
                    Cause::Gone => again.push(row.parent),
                    Cause::Denied | Cause::Failed => {
                        tracing::debug!(%error, "a shared folder cannot be read");
                        if !row.unreadable {
                            steps.push(Step::Unreadable(row.row));
                        }
                    }
                },
            }
        }
        // Not before, so that no folder is listed twice in one part.
        again.into_iter().for_each(|folder| round.push_again(folder));
        Ok(listed)
    }

    /// `None` if the place holds another folder than the one recorded.
    fn list(&mut self, row: Row, names: &[Name], deep: bool) -> std::io::Result<Option<Listed>> {
        let path = self.path(names);
        self.watch(path.clone(), row.row);
        let (handle, meta) = self.root.open_folder(names)?;
        if row.parent.is_some() && !meta.is(&row.seen) {
            return Ok(None);
        }
        let Some(own) = meta.seen(None) else { return Ok(None) };
        // Copied, so that nobody waits for a slow disk to have something refused.
        let hidden: Vec<PathBuf> = {
            let refused = self.core.refused();
            refused.iter().filter(|refused| refused.parent() == Some(&path)).cloned().collect()
        };
        let hidden: Vec<&OsStr> = hidden.iter().filter_map(|refused| refused.file_name()).collect();
        let listing = self.root.list(handle, names.len(), &hidden)?;
        Ok(Some(Listed { row, own, children: listing.children, skipped: listing.skipped, deep }))
    }

    fn path(&self, names: &[Name]) -> PathBuf {
        let mut path = self.share.path.clone();
        path.extend(names.iter().map(|name| OsStr::from_bytes(name.as_bytes())));
        path
    }

    fn watch(&self, path: PathBuf, row: i64) {
        if let Err(reason) = self.core.watcher.watch(&path, self.share.share, row)
            && let Some(signal) = self.core.signal(self.share.share)
        {
            signal.fail(reason);
        }
    }

    /// What listed folders hold differently than recorded, and which of their folders are to be scanned as well.
    fn compare(
        &mut self,
        listed: Vec<Listed>,
        round: &mut Round,
        steps: &mut Vec<Step>,
    ) -> Result<Vec<(i64, bool)>, CatalogError> {
        let mut known = HashMap::new();
        let mut slots = Vec::new();
        let mut children = Vec::new();
        for folder in listed {
            let rows = self.core.store.read_blocking(|connection| {
                Row::select(connection, "e.parent = ?1 ORDER BY e.row", [folder.row.row])
            })?;
            known.extend(rows.into_iter().map(|row| (row.row, row)));
            if folder.row.seen != folder.own || folder.row.skipped != folder.skipped || folder.row.unreadable
            {
                steps.push(Step::Folder { row: folder.row.row, own: folder.own, skipped: folder.skipped });
            }
            for child in folder.children {
                self.young |= child.young;
                let parent = folder.row.row;
                slots.push(Slot { parent, name: child.name.clone(), object: identity(&child.seen) });
                children.push((child, folder.deep));
            }
        }
        let mut here: Vec<Known> = known.values().filter_map(as_known).collect();
        here.sort_unstable_by_key(|entry| entry.row);
        let elsewhere = self.gone_elsewhere(&here, &slots, round)?;
        let elsewhere_known: Vec<Known> = elsewhere.iter().filter_map(as_known).collect();
        let assignment = assign(&here, &slots, &elsewhere_known);
        known.extend(elsewhere.into_iter().map(|row| (row.row, row)));

        let mut folders = Vec::new();
        for ((slot, (child, deep)), fate) in slots.into_iter().zip(children).zip(assignment.fates) {
            let is_folder = child.seen.kind == Kind::Folder;
            let found =
                Found { parent: Some(slot.parent), name: slot.name, seen: child.seen, young: child.young };
            let (row, moved, replaced) = match fate {
                Fate::New => {
                    steps.push(Step::Insert(found));
                    continue;
                }
                Fate::Same(row) => (row, false, false),
                Fate::Moved(row) => (row, true, false),
                Fate::Replaced(row) => (row, false, true),
            };
            round.missing.remove(&row);
            let Some(old) = known.remove(&row) else { continue };
            if is_folder {
                // Where it lies now it is not watched, and before it was announced it may not have been scanned.
                if moved || deep {
                    folders.push((row, true));
                } else if old.unreadable || old.seen.mode != found.seen.mode {
                    folders.push((row, false));
                }
                if deep && !old.announced {
                    round.fresh.push(row);
                }
            }
            if moved || replaced || old.seen != found.seen || (old.provisional && !found.young) {
                steps.push(Step::Update(Box::new(old), found, replaced));
            }
        }
        for row in assignment.missing {
            if let Some(Row { parent: Some(parent), name, .. }) = known.remove(&row) {
                round.missing.insert(row, (parent, name));
            }
        }
        Ok(folders)
    }

    /// The entries of other folders whose objects were seen in these, and which are not at their own place any more.
    fn gone_elsewhere(
        &self,
        here: &[Known],
        slots: &[Slot],
        round: &Round,
    ) -> Result<Vec<Row>, CatalogError> {
        let rows: HashSet<i64> = here.iter().map(|entry| entry.row).collect();
        let in_place: HashSet<(i64, &Name, Identity)> =
            here.iter().map(|entry| (entry.parent, &entry.name, entry.object)).collect();
        let wanted = slots.iter().filter(|slot| !in_place.contains(&(slot.parent, &slot.name, slot.object)));
        let candidates = self.core.store.read_blocking(|connection| {
            let mut candidates = Vec::new();
            let mut same_inode =
                connection.prepare_cached("SELECT row FROM entries WHERE share = ?1 AND inode = ?2")?;
            for slot in wanted {
                let found = same_inode
                    .query_map((self.share.share, slot.object.1.cast_signed()), |row| row.get(0))?
                    .collect::<Result<Vec<i64>, _>>()?;
                for row in found.into_iter().filter(|row| !rows.contains(row)) {
                    let Some(row) = Row::at(connection, row)? else { continue };
                    if identity(&row.seen) == slot.object && row.parent.is_some() {
                        let names = place(connection, row.row)?.unwrap_or_default();
                        candidates.push((row, names));
                    }
                }
            }
            Ok(candidates)
        })?;
        Ok(candidates
            .into_iter()
            .filter(|(row, names)| {
                round.missing.contains_key(&row.row)
                    || !self.root.stat(names).is_ok_and(|meta| meta.is(&row.seen))
            })
            .map(|(row, _)| row)
            .collect())
    }
}

fn write(change: &mut Change<'_>, share: i64, steps: Vec<Step>) -> Result<Vec<i64>, CatalogError> {
    let mut folders = Vec::new();
    // It may have been taken back meanwhile.
    if Share::find(change.connection, share)?.is_none() {
        return Ok(folders);
    }
    for step in steps {
        match step {
            Step::Insert(found) => {
                let row = change.insert(share, &found)?;
                if found.seen.kind == Kind::Folder {
                    folders.push(row);
                }
            }
            Step::Update(old, found, replaced) => change.update(&old, &found, replaced)?,
            Step::Folder { row, own, skipped } => {
                // As it is by now: its own folder may have been compared in the same part.
                let Some(old) = Row::at(change.connection, row)? else { continue };
                let replaced = identity(&old.seen) != identity(&own);
                let found = Found { parent: old.parent, name: old.name.clone(), seen: own, young: false };
                change.update(&old, &found, replaced)?;
                change.scanned(&old, skipped, false)?;
            }
            Step::Unreadable(row) => {
                if let Some(row) = Row::at(change.connection, row)? {
                    change.scanned(&row, 0, true)?;
                }
            }
        }
    }
    Ok(folders)
}

pub(crate) fn identity(seen: &Seen) -> Identity {
    (seen.kind, seen.inode, seen.born)
}

fn as_known(row: &Row) -> Option<Known> {
    Some(Known { row: row.row, parent: row.parent?, name: row.name.clone(), object: identity(&row.seen) })
}

/// Folders that hold something that was young when it was last seen.
fn provisional(connection: &Connection, share: i64) -> Result<Vec<i64>, CatalogError> {
    let mut statement = connection.prepare_cached(
        "SELECT DISTINCT parent FROM entries WHERE share = ?1 AND provisional = 1 AND parent IS NOT NULL",
    )?;
    let folders = statement.query_map([share], |row| row.get(0))?;
    Ok(folders.collect::<Result<_, _>>()?)
}
