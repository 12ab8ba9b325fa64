//! What a transfer is to fetch: the tree below its root, as the home lists it.

use std::collections::{HashMap, HashSet};

use farhold_catalog::stays_inside;
use farhold_net::{Peer, PeerError};
use farhold_wire::{Entry, EntryId, EntryKind, Name, ReadFailure, limits};
use futures_util::StreamExt;
use futures_util::stream;

use super::MOST_ENTRIES;
use super::error::{Problem, Problems};
use super::hashes::size_of;
use crate::error::ErrorClass;

/// Folders that are listed at once.
const LISTS_AT_ONCE: usize = 16;

/// Everything to be made at the destination.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    folders: Vec<Folder>,
    pub(crate) files: Vec<Planned>,
    pub(crate) links: Vec<Planned>,
    /// What cannot be made, and why.
    pub(crate) problems: Problems,
    seen: HashSet<EntryId>,
}

#[derive(Debug)]
struct Folder {
    parent: Option<usize>,
    entry: Entry,
    depth: usize,
}

/// An entry, and the index of the folder that holds it; none if it is the root itself.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Planned {
    folder: Option<usize>,
    pub(crate) entry: Entry,
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PlanError {
    TooMany,
    Peer(PeerError),
}

impl Plan {
    /// Begins with the root.
    pub(crate) fn new(root: Entry) -> Self {
        let mut plan = Self::default();
        plan.seen.insert(root.id);
        match root.kind {
            EntryKind::Folder => plan.folders.push(Folder { parent: None, entry: root, depth: 0 }),
            EntryKind::File { .. } => plan.files.push(Planned { folder: None, entry: root }),
            EntryKind::Symlink { .. } => plan.problems.add(|| refused(format!("{} is a link", root.name))),
        }
        plan
    }

    /// Lists the whole tree.
    pub(crate) async fn list(root: Entry, peer: &Peer) -> Result<Self, PlanError> {
        let mut plan = Self::new(root);
        let mut listed = 0;
        while listed < plan.folders.len() {
            let due: Vec<(usize, EntryId)> =
                (listed..plan.folders.len()).map(|index| (index, plan.folders[index].entry.id)).collect();
            listed = plan.folders.len();
            let mut lists = stream::iter(due)
                .map(|(index, id)| async move { (index, peer.list(id).await) })
                .buffer_unordered(LISTS_AT_ONCE);
            while let Some((folder, list)) = lists.next().await {
                match list {
                    Ok(entries) => plan.add(folder, entries)?,
                    Err(PeerError::Failed(ReadFailure::Denied)) => {
                        plan.note(folder, ErrorClass::Refused, "its home may not read it")
                    }
                    Err(PeerError::Failed(ReadFailure::NotFound))
                        if plan.folders[folder].parent.is_some() =>
                    {
                        plan.note(folder, ErrorClass::NotFound, "it is gone at its home");
                    }
                    Err(error) => return Err(PlanError::Peer(error)),
                }
            }
        }
        Ok(plan)
    }

    /// Takes what a folder holds, as far as it can be made here.
    pub(crate) fn add(&mut self, folder: usize, entries: Vec<Entry>) -> Result<(), PlanError> {
        let depth = self.folders[folder].depth;
        let mut names: HashMap<Name, ()> = HashMap::with_capacity(entries.len());
        for entry in entries {
            // Whoever lists an entry twice, or in a circle, gets it once.
            if !self.seen.insert(entry.id) {
                continue;
            }
            if self.seen.len() > MOST_ENTRIES {
                return Err(PlanError::TooMany);
            }
            let name = entry.name.clone();
            if names.insert(name.clone(), ()).is_some() {
                self.refuse(folder, &name, "two things are called so");
                continue;
            }
            match &entry.kind {
                EntryKind::Folder if depth + 1 >= limits::DEPTH => {
                    self.refuse(folder, &name, "too deep");
                }
                EntryKind::Folder => {
                    self.folders.push(Folder { parent: Some(folder), entry, depth: depth + 1 });
                }
                EntryKind::File { .. } => self.files.push(Planned { folder: Some(folder), entry }),
                EntryKind::Symlink { target: Some(target) } if stays_inside(target, depth) => {
                    self.links.push(Planned { folder: Some(folder), entry });
                }
                EntryKind::Symlink { .. } => {
                    self.refuse(folder, &name, "a link that leads elsewhere");
                }
            }
        }
        Ok(())
    }

    /// What the tree begins with.
    pub(crate) fn root(&self) -> Option<&Entry> {
        let folder = self.folders.first().map(|folder| &folder.entry);
        folder.or_else(|| self.files.first().map(|file| &file.entry))
    }

    pub(crate) fn is_folder(&self) -> bool {
        !self.folders.is_empty()
    }

    /// All folders, each after the one that holds it, with the names below the root.
    pub(crate) fn folders(&self) -> impl DoubleEndedIterator<Item = (Vec<Name>, &Entry)> {
        (0..self.folders.len()).map(|index| (self.names(index), &self.folders[index].entry))
    }

    /// The names that lead to an entry from the root; none is the root itself.
    pub(crate) fn path(&self, planned: &Planned) -> Vec<Name> {
        let Some(folder) = planned.folder else { return Vec::new() };
        let mut names = self.names(folder);
        names.push(planned.entry.name.clone());
        names
    }

    /// Bytes of all files.
    pub(crate) fn bytes(&self) -> u64 {
        self.files.iter().filter_map(|file| size_of(&file.entry)).fold(0, u64::saturating_add)
    }

    fn names(&self, folder: usize) -> Vec<Name> {
        names(&self.folders, folder)
    }

    fn note(&mut self, folder: usize, class: ErrorClass, why: &str) {
        let folders = &self.folders;
        self.problems.add(|| Problem::new(class, format!("{}: {why}", show(&names(folders, folder)))));
    }

    fn refuse(&mut self, folder: usize, name: &Name, why: &str) {
        let folders = &self.folders;
        self.problems.add(|| {
            let mut names = names(folders, folder);
            names.push(name.clone());
            refused(format!("{}: {why}", show(&names)))
        });
    }
}

/// The names that lead to a folder from the root.
fn names(folders: &[Folder], mut folder: usize) -> Vec<Name> {
    let mut names = Vec::new();
    while let Some(parent) = folders[folder].parent {
        names.push(folders[folder].entry.name.clone());
        folder = parent;
    }
    names.reverse();
    names
}

fn refused(reason: String) -> Problem {
    Problem::new(ErrorClass::Refused, reason)
}

/// Names as a path that a person reads.
pub(crate) fn show(names: &[Name]) -> String {
    names.iter().map(ToString::to_string).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use farhold_wire::{Timestamp, Version};

    use super::*;

    fn entry(id: u8, name: &[u8], kind: EntryKind) -> Entry {
        Entry {
            id: EntryId([id; 16]),
            parent: None,
            name: Name::new(name.to_vec()).unwrap(),
            kind,
            version: Version { epoch: 1, counter: 1 },
            incarnation: 0,
            modified: Timestamp::default(),
            mode: 0o644,
            writable: false,
            unavailable: false,
        }
    }

    fn link(id: u8, name: &[u8], target: &'static [u8]) -> Entry {
        entry(id, name, EntryKind::Symlink { target: Some(target.into()) })
    }

    #[test]
    fn a_tree_is_taken_once_whatever_its_home_says() {
        let file = EntryKind::File { size: 5 };
        let mut plan = Plan::new(entry(1, b"top", EntryKind::Folder));
        let listed = vec![
            entry(2, b"a", file.clone()),
            entry(3, b"sub", EntryKind::Folder),
            // The folder holds itself, and an entry twice.
            entry(1, b"circle", EntryKind::Folder),
            entry(2, b"again", file.clone()),
            // Two of one name.
            entry(4, b"a", file.clone()),
            link(5, b"inside", b"sub/x"),
            link(6, b"outside", b"../x"),
        ];
        plan.add(0, listed).unwrap();
        plan.add(1, vec![entry(7, b"deep", file), link(8, b"up", b"../a"), link(9, b"far", b"../../a")])
            .unwrap();
        let paths = |all: &[Planned]| all.iter().map(|one| show(&plan.path(one))).collect::<Vec<_>>();
        assert_eq!(paths(&plan.files), ["a", "sub/deep"]);
        assert_eq!(paths(&plan.links), ["inside", "sub/up"]);
        let folders: Vec<_> = plan.folders().map(|(names, _)| show(&names)).collect();
        assert_eq!(folders, ["", "sub"]);
        assert_eq!(plan.bytes(), 10);
        assert_eq!(
            plan.problems.reasons(),
            "a: two things are called so; outside: a link that leads elsewhere; sub/far: a link that leads elsewhere"
        );
    }

    #[test]
    fn of_many_problems_the_first_are_told() {
        let mut plan = Plan::new(entry(0, b"top", EntryKind::Folder));
        plan.add(0, (1..=20).map(|id| link(id, &[b'a' + id], b"../x")).collect()).unwrap();
        let reasons = plan.problems.reasons();
        assert_eq!(reasons.matches("leads elsewhere").count(), 8);
        assert!(reasons.ends_with("; and 12 more"), "{reasons}");
    }

    #[test]
    fn no_tree_is_too_deep() {
        let mut plan = Plan::new(entry(0, b"top", EntryKind::Folder));
        for depth in 0..300u16 {
            let mut folder = entry(0, b"d", EntryKind::Folder);
            folder.id.0[..2].copy_from_slice(&(depth + 1000).to_be_bytes());
            if usize::from(depth) < plan.folders.len() {
                plan.add(depth.into(), vec![folder]).unwrap();
            }
        }
        assert_eq!(plan.folders.len(), limits::DEPTH);
        assert!(plan.problems.reasons().ends_with("d: too deep"));
    }
}
