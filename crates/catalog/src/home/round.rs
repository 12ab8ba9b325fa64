//! What is waiting to be scanned in a share, and what scanning has left to do at its end.

use std::collections::{HashMap, HashSet, VecDeque};

use farhold_wire::Name;
use tokio::sync::oneshot;

use super::signal::Marks;

/// Everything a keeper has to do.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// Folders that may have changed.
    pub(crate) marked: Round,
    /// The whole share, folder by folder.
    pub(crate) whole: Option<Round>,
    /// Also what was young when it was last seen.
    pub(crate) again: bool,
}

impl Work {
    pub(crate) fn is_empty(&self) -> bool {
        self.marked.is_empty() && self.whole.is_none() && !self.again
    }

    pub(crate) fn scan_everything(&mut self, root: i64) {
        let mut round = Round::default();
        round.push(root, true);
        round.fresh.push(root);
        self.whole = Some(round);
    }

    pub(crate) fn take(&mut self, marks: Marks, root: i64) {
        if marks.everything {
            self.scan_everything(root);
        }
        marks.folders.into_iter().for_each(|folder| self.marked.push(folder, false));
        self.marked.waiting.extend(marks.waiting);
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Folders scanned together. What vanished from one of them may have turned up in another, so removals come at the
/// end; so does the announcement of new folders, when everything below them is known.
#[derive(Debug, Default)]
pub(crate) struct Round {
    queue: VecDeque<i64>,
    /// What is in the queue, and whether everything below it is to be scanned as well.
    deep: HashMap<i64, bool>,
    /// Folders that were scanned a second time because something below them was not where it should be.
    again: HashSet<i64>,
    /// New folders, those above before those below.
    pub(crate) fresh: Vec<i64>,
    /// Entries that are not at this place any more.
    pub(crate) missing: HashMap<i64, (i64, Name)>,
    /// It waited for what might tell where its missing entries went.
    pub(crate) rested: bool,
    /// Told by being dropped at the end.
    waiting: Vec<oneshot::Sender<()>>,
}

/// What is left to do when a round ends.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) fresh: Vec<i64>,
    pub(crate) missing: HashMap<i64, (i64, Name)>,
}

impl Round {
    pub(crate) fn push(&mut self, folder: i64, deep: bool) {
        if let Some(known) = self.deep.get_mut(&folder) {
            *known |= deep;
        } else {
            self.deep.insert(folder, deep);
            self.queue.push_back(folder);
        }
    }

    /// A folder below which something is not as recorded. Once in a round is enough: what changes later is marked.
    pub(crate) fn push_again(&mut self, folder: Option<i64>) {
        if let Some(folder) = folder
            && self.again.insert(folder)
        {
            self.push(folder, false);
        }
    }

    pub(crate) fn pop(&mut self) -> Option<(i64, bool)> {
        let folder = self.queue.pop_front()?;
        let deep = self.deep.remove(&folder).unwrap_or(false);
        Some((folder, deep))
    }

    pub(crate) fn has_folders(&self) -> bool {
        !self.queue.is_empty()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.waiting.is_empty() && self.fresh.is_empty() && self.missing.is_empty()
    }

    /// Begins anew. Whoever waited is told when the second part of the result is dropped.
    pub(crate) fn end(&mut self) -> (Ended, Vec<oneshot::Sender<()>>) {
        let ended = std::mem::take(self);
        (Ended { fresh: ended.fresh, missing: ended.missing }, ended.waiting)
    }
}
