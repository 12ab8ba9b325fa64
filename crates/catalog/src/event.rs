//! What changed in a tree, for whoever shows it.

use farhold_wire::{ContactId, EntryId, Name};

/// One change of a tree that somebody may have cached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeEvent {
    /// `name` in `parent` (`None`: the top level) now leads to `id`.
    Added {
        /// Which entry.
        id: EntryId,
        /// The folder.
        parent: Option<EntryId>,
        /// The name in it.
        name: Name,
    },
    /// `name` in `parent` no longer leads to `id`, which is gone. Nothing is said of what was below it, neither
    /// then nor if it comes back.
    Removed {
        /// Which entry.
        id: EntryId,
        /// The folder.
        parent: Option<EntryId>,
        /// The name in it.
        name: Name,
    },
    /// `id` has another folder or name.
    Moved {
        /// Which entry.
        id: EntryId,
        /// Folder and name before.
        from: (Option<EntryId>, Name),
        /// Folder and name now.
        to: (Option<EntryId>, Name),
    },
    /// The content has a new version.
    Content {
        /// Which entry.
        id: EntryId,
        /// Another object took its place: a new incarnation.
        replaced: bool,
    },
    /// Anything else of the entry: times, mode, whether it is available or writable.
    Attributes {
        /// Which entry.
        id: EntryId,
    },
}

/// A change of what I share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HomeEvent {
    /// Of an event about a share's root: the contact who sees it so. Below a root everybody sees the same.
    pub contact: Option<ContactId>,
    /// What changed.
    pub event: TreeEvent,
}
