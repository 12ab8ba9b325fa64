//! What contacts' files are open now.

use std::collections::HashMap;
use std::sync::Arc;

use farhold_cache::{ContentKey, Usage};
use farhold_catalog::{EntryId, Name};
use tokio::time::Instant;

use super::files::{OpenedFile, TheirFile};
use super::{Drive, Root, lock};

/// Readers of one file whose places are told.
const PLAYHEADS: usize = 64;
/// Folders above a file: a replica holds no deeper ones.
const DEPTH: usize = 256;

/// A contact's file that is open, however often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileInUse {
    /// The contact's folder, and the names below it.
    pub path: (Name, Vec<Name>),
    /// The version that is read.
    pub content: ContentKey,
    /// Its size, in bytes.
    pub size: u64,
    /// How often it is open.
    pub opens: usize,
    /// Where its readers' last reads ended, in bytes; in order, each place once, of the latest 64.
    pub playheads: Vec<u64>,
    /// Blocks of reads for which nothing had to be asked.
    pub hits: u64,
    /// Blocks of reads that had to be asked for.
    pub misses: u64,
}

/// Where a file was found in the trees, at which state of them.
pub(super) type Place = Option<(u64, Vec<Name>)>;

/// The opens of one entry, the latest read first.
type Opens = Vec<(Usage, Arc<OpenedFile>)>;

impl Drive {
    /// Contacts' files that are open, the latest read first, `most` at most. One that is in no tree any more is told
    /// where it was.
    pub async fn files_in_use(&self, most: usize) -> Vec<FileInUse> {
        let mut entries: HashMap<_, Opens> = HashMap::new();
        for open in self.files.filter(|file| matches!(file, OpenedFile::Theirs(_))) {
            if let OpenedFile::Theirs(file) = &*open {
                let (entry, usage) = ((file.contact.id(), file.entry), file.usage());
                entries.entry(entry).or_default().push((usage, open));
            }
        }
        let read_at = |opens: &Opens| opens.first().and_then(|(usage, _)| usage.last).map(|(_, at)| at);
        let mut files: Vec<_> = entries.into_iter().collect();
        for (_, opens) in &mut files {
            opens.sort_by_key(|(usage, _)| std::cmp::Reverse(usage.last.map(|(_, at)| at)));
        }
        // By entry, too, so that files that are open and not read keep their order.
        files.sort_by_key(|(entry, opens)| (std::cmp::Reverse(read_at(opens)), *entry));
        let mut told = Vec::new();
        for (_, opens) in files.into_iter().take(most) {
            told.extend(self.in_use(&opens).await);
        }
        told
    }

    async fn in_use(&self, opens: &[(Usage, Arc<OpenedFile>)]) -> Option<FileInUse> {
        let OpenedFile::Theirs(file) = &*opens.first()?.1 else { return None };
        let below = self.place(file).await?;
        let (content, size) = file.shown();
        let last = opens.iter().filter_map(|(usage, _)| usage.last);
        let mut playheads: Vec<u64> = last.map(|(end, _): (u64, Instant)| end).take(PLAYHEADS).collect();
        playheads.sort_unstable();
        playheads.dedup();
        Some(FileInUse {
            path: (file.contact.name(), below),
            content,
            size,
            opens: opens.len(),
            playheads,
            hits: opens.iter().map(|(usage, _)| usage.hits).sum(),
            misses: opens.iter().map(|(usage, _)| usage.misses).sum(),
        })
    }

    /// The names that lead to a file from its contact's folder; looked up anew when the trees have changed.
    async fn place(&self, file: &TheirFile) -> Option<Vec<Name>> {
        let changes = file.contact.changes();
        let known = lock(&file.place).clone();
        if let Some((then, names)) = &known
            && *then == changes
        {
            return Some(names.clone());
        }
        let Some(names) = self.find(file).await else { return known.map(|(_, names)| names) };
        *lock(&file.place) = Some((changes, names.clone()));
        Some(names)
    }

    async fn find(&self, file: &TheirFile) -> Option<Vec<Name>> {
        let mut names = Vec::new();
        let mut id = file.entry;
        for _ in 0..=DEPTH {
            let entry = file.contact.view.replica.entry(id).await.ok()??;
            match entry.parent {
                Some(parent) => {
                    names.push(entry.name);
                    id = parent;
                }
                None => {
                    names.push(self.tree_name(file, id).await?);
                    names.reverse();
                    return Some(names);
                }
            }
        }
        None
    }

    /// What the drive shows a contact's tree as.
    async fn tree_name(&self, file: &TheirFile, tree: EntryId) -> Option<Name> {
        let trees = self.trees(&file.contact).await.ok()?;
        let is_it = |root: &Root| matches!(root, Root::Theirs(entry) if entry.id == tree);
        let shown = trees.into_iter().find(|shown| is_it(&shown.root))?;
        Name::new(shown.name).ok()
    }
}
