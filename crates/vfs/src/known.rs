//! The nodes that the system knows by number, and what they stand for.

use std::collections::{HashMap, HashSet};
use std::time::SystemTime;

use farhold_catalog::{ContactId, EntryId, NodeKey, Object, Version};

use crate::attr::NodeId;

/// What a node stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Target {
    /// The drive's top folder.
    Top,
    /// A contact's folder.
    Contact(ContactId),
    /// A regular file of mine. The object makes the node: another one behind the same entry is another node, and one
    /// behind several entries is one node.
    MyFile { contact: ContactId, entry: EntryId, object: Object },
    /// A folder or link of mine, as it stands in one contact's folder.
    MyEntry { contact: ContactId, entry: EntryId, incarnation: u64 },
    /// Something of a contact's.
    Theirs { contact: ContactId, entry: EntryId, incarnation: u64 },
}

/// An entry, whichever of its incarnations: what changes are told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum EntryRef {
    Mine(EntryId),
    Theirs(ContactId, EntryId),
}

impl Target {
    /// The entry it is, if it is one.
    pub(crate) fn entry(&self) -> Option<EntryRef> {
        match *self {
            Self::Top | Self::Contact(_) => None,
            Self::MyFile { entry, .. } | Self::MyEntry { entry, .. } => Some(EntryRef::Mine(entry)),
            Self::Theirs { contact, entry, .. } => Some(EntryRef::Theirs(contact, entry)),
        }
    }

    /// What its number is kept under; the top folder has its number without being asked for.
    pub(crate) fn key(&self) -> Option<NodeKey> {
        match *self {
            Self::Top => None,
            Self::Contact(contact) => Some(NodeKey::Contact(contact)),
            Self::MyFile { object, .. } => Some(NodeKey::Object(object)),
            Self::MyEntry { contact, entry, incarnation } => {
                Some(NodeKey::Mine { contact, entry, incarnation })
            }
            Self::Theirs { contact, entry, incarnation } => {
                Some(NodeKey::Peer { contact, entry, incarnation })
            }
        }
    }
}

/// A state of a node's content: equal states, equal bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentState {
    /// Of mine: size, and the time of the last change of anything.
    Disk(u64, SystemTime),
    /// Of theirs.
    Version(Version),
}

#[derive(Debug)]
struct Known {
    target: Target,
    /// How often the system was told the number and has not forgotten it.
    references: u64,
    /// The folders that it was told in: where the system may still think that it is.
    parents: Vec<NodeId>,
    /// The content that the last open saw.
    opened: Option<ContentState>,
}

/// The nodes that the system knows. Bounded by what the system keeps.
#[derive(Debug, Default)]
pub(crate) struct KnownNodes {
    nodes: HashMap<NodeId, Known>,
    by_entry: HashMap<EntryRef, Vec<NodeId>>,
}

impl KnownNodes {
    /// What `node` stands for; `None` if the system was not told of it.
    pub(crate) fn target(&self, node: NodeId) -> Option<Target> {
        if node == NodeId::ROOT {
            return Some(Target::Top);
        }
        self.nodes.get(&node).map(|known| known.target)
    }

    /// The known nodes of an entry: of several incarnations, or in several contacts' folders.
    pub(crate) fn of_entry(&self, entry: EntryRef) -> &[NodeId] {
        self.by_entry.get(&entry).map_or(&[], Vec::as_slice)
    }

    /// The number of `target` if the system knows it.
    pub(crate) fn node(&self, target: &Target) -> Option<NodeId> {
        let nodes = self.of_entry(target.entry()?);
        nodes.iter().copied().find(|node| self.nodes.get(node).is_some_and(|known| known.target == *target))
    }

    /// Every known node and what it stands for.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (NodeId, Target)> + '_ {
        self.nodes.iter().map(|(node, known)| (*node, known.target))
    }

    /// The system is told `node` once more, in the folder `parent`. If it is an object with several names, it now
    /// stands for the last one.
    pub(crate) fn refer(&mut self, node: NodeId, parent: NodeId, target: Target) {
        if node == NodeId::ROOT {
            return;
        }
        let before = self.nodes.get_mut(&node).map(|known| {
            known.references = known.references.saturating_add(1);
            if !known.parents.contains(&parent) {
                known.parents.push(parent);
            }
            std::mem::replace(&mut known.target, target)
        });
        if before.is_none() {
            self.nodes.insert(node, Known { target, references: 1, parents: vec![parent], opened: None });
        }
        if before == Some(target) {
            return;
        }
        if let Some(before) = before {
            self.unindex(node, &before);
        }
        if let Some(entry) = target.entry() {
            self.by_entry.entry(entry).or_default().push(node);
        }
    }

    /// The system forgets `count` of the times that it was told `node`.
    pub(crate) fn forget(&mut self, node: NodeId, count: u64) {
        let Some(known) = self.nodes.get_mut(&node) else { return };
        known.references = known.references.saturating_sub(count);
        if known.references == 0
            && let Some(known) = self.nodes.remove(&node)
        {
            self.unindex(node, &known.target);
        }
    }

    /// The system forgets everything.
    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
        self.by_entry.clear();
    }

    /// How many folders lie between a contact's folder and `node`, by the shortest of the ways that the system was
    /// told. Where the system walks from is its own matter: a folder that somebody works in it does not look up again,
    /// wherever its home has moved it since. `None` if no way is known.
    pub(crate) fn depth(&self, node: NodeId) -> Option<usize> {
        let mut level = vec![node];
        let mut seen: HashSet<NodeId> = HashSet::new();
        let mut depth = 0;
        while !level.is_empty() {
            let mut above = Vec::new();
            for known in level.iter().filter_map(|node| self.nodes.get(node)) {
                for parent in &known.parents {
                    if matches!(self.target(*parent), Some(Target::Contact(_))) {
                        return Some(depth);
                    }
                    if seen.insert(*parent) {
                        above.push(*parent);
                    }
                }
            }
            level = above;
            depth += 1;
        }
        None
    }

    /// Notes the content that an open of `node` sees; whether it is the one that the open before saw.
    pub(crate) fn opened(&mut self, node: NodeId, state: ContentState) -> bool {
        self.nodes.get_mut(&node).is_some_and(|known| known.opened.replace(state) == Some(state))
    }

    fn unindex(&mut self, node: NodeId, target: &Target) {
        let Some(entry) = target.entry() else { return };
        if let Some(nodes) = self.by_entry.get_mut(&entry) {
            nodes.retain(|other| *other != node);
            if nodes.is_empty() {
                self.by_entry.remove(&entry);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A contact's folder.
    const FOLDER: NodeId = NodeId(2);

    fn theirs(entry: u8, incarnation: u64) -> Target {
        Target::Theirs { contact: ContactId([1; 16]), entry: EntryId([entry; 16]), incarnation }
    }

    fn reference(entry: u8) -> EntryRef {
        EntryRef::Theirs(ContactId([1; 16]), EntryId([entry; 16]))
    }

    #[test]
    fn a_node_is_known_as_long_as_it_is_referred_to() {
        let mut known = KnownNodes::default();
        known.refer(NodeId(5), FOLDER, theirs(1, 0));
        known.refer(NodeId(5), FOLDER, theirs(1, 0));
        known.forget(NodeId(5), 1);
        assert_eq!(known.target(NodeId(5)), Some(theirs(1, 0)));
        assert_eq!(known.node(&theirs(1, 0)), Some(NodeId(5)));
        known.forget(NodeId(5), 1);
        assert_eq!(known.target(NodeId(5)), None);
        assert_eq!(known.node(&theirs(1, 0)), None);
        assert!(known.nodes.is_empty() && known.by_entry.is_empty());
        // Too much is forgotten without harm.
        known.forget(NodeId(5), 9);
    }

    #[test]
    fn incarnations_of_an_entry_are_apart() {
        let mut known = KnownNodes::default();
        known.refer(NodeId(5), FOLDER, theirs(1, 0));
        known.refer(NodeId(6), FOLDER, theirs(1, 1));
        assert_eq!(known.of_entry(reference(1)), [NodeId(5), NodeId(6)]);
        assert_eq!(known.node(&theirs(1, 1)), Some(NodeId(6)));
        known.forget(NodeId(5), 1);
        assert_eq!(known.of_entry(reference(1)), [NodeId(6)]);
    }

    #[test]
    fn a_node_under_another_name_is_indexed_there() {
        let mut known = KnownNodes::default();
        known.refer(NodeId(5), FOLDER, theirs(1, 0));
        known.refer(NodeId(5), FOLDER, theirs(2, 0));
        assert!(known.of_entry(reference(1)).is_empty());
        assert_eq!(known.of_entry(reference(2)), [NodeId(5)]);
        known.forget(NodeId(5), 2);
        assert!(known.nodes.is_empty() && known.by_entry.is_empty());
    }

    #[test]
    fn only_an_open_of_the_same_content_keeps_the_cache() {
        let mut known = KnownNodes::default();
        known.refer(NodeId(5), FOLDER, theirs(1, 0));
        let version = |counter| ContentState::Version(Version { epoch: 7, counter });
        assert!(!known.opened(NodeId(5), version(1)));
        assert!(known.opened(NodeId(5), version(1)));
        assert!(!known.opened(NodeId(5), version(2)));
        assert!(!known.opened(NodeId(5), version(1)));
        // What the system forgot it has no content of.
        known.forget(NodeId(5), 1);
        known.refer(NodeId(5), FOLDER, theirs(1, 0));
        assert!(!known.opened(NodeId(5), version(1)));
    }

    #[test]
    fn the_top_is_always_known() {
        let mut known = KnownNodes::default();
        known.refer(NodeId::ROOT, NodeId::ROOT, Target::Top);
        known.forget(NodeId::ROOT, 5);
        assert_eq!(known.target(NodeId::ROOT), Some(Target::Top));
    }

    #[test]
    fn the_shortest_way_that_was_told_counts() {
        let mut known = KnownNodes::default();
        known.refer(FOLDER, NodeId::ROOT, Target::Contact(ContactId([1; 16])));
        known.refer(NodeId(3), FOLDER, theirs(3, 0));
        known.refer(NodeId(4), NodeId(3), theirs(4, 0));
        known.refer(NodeId(5), NodeId(4), theirs(5, 0));
        assert_eq!([3, 4, 5].map(|node| known.depth(NodeId(node))), [Some(0), Some(1), Some(2)]);
        // Moved, and told there too: the system may still be at the old place.
        known.refer(NodeId(5), NodeId(3), theirs(5, 0));
        assert_eq!(known.depth(NodeId(5)), Some(1));
        // A home may move folders into each other.
        known.refer(NodeId(3), NodeId(5), theirs(3, 0));
        assert_eq!(known.depth(NodeId(4)), Some(1));
        // A place that the system has forgotten is none.
        known.forget(NodeId(3), 9);
        assert_eq!(known.depth(NodeId(5)), None);
    }
}
