//! What an update changed for whoever looks, as events.

use std::collections::HashMap;
use std::collections::btree_map::{BTreeMap, Entry};

use farhold_wire::{EntryId, Name};
use rusqlite::Connection;

use super::schema::Held;
use crate::{CatalogError, TreeEvent};

type Place = (Option<EntryId>, Name);

/// The places that an update touches, each with the entry that was seen there before.
#[derive(Debug, Default)]
pub(crate) struct Difference {
    before: BTreeMap<Place, Option<farhold_wire::Entry>>,
}

impl Difference {
    /// To be called before a place changes.
    pub(crate) fn touch(
        &mut self,
        connection: &Connection,
        parent: Option<EntryId>,
        name: &Name,
    ) -> Result<(), CatalogError> {
        if let Entry::Vacant(place) = self.before.entry((parent, name.clone())) {
            let seen = Held::named(connection, parent.as_ref(), name)?;
            place.insert(seen.map(|held| held.entry));
        }
        Ok(())
    }

    /// The events of the update, once it is whole.
    pub(crate) fn events(self, connection: &Connection) -> Result<Vec<TreeEvent>, CatalogError> {
        let mut before = Vec::new();
        let mut after = HashMap::new();
        for ((parent, name), entry) in self.before {
            if let Some(now) = Held::named(connection, parent.as_ref(), &name)? {
                after.insert(now.entry.id, now.entry);
            }
            before.extend(entry);
        }
        let mut events = Vec::new();
        for old in before {
            match after.remove(&old.id) {
                None => events.push(TreeEvent::Removed { id: old.id, parent: old.parent, name: old.name }),
                Some(new) => compare(old, new, &mut events),
            }
        }
        events.extend(after.into_values().map(|new| TreeEvent::Added {
            id: new.id,
            parent: new.parent,
            name: new.name,
        }));
        Ok(events)
    }
}

fn compare(old: farhold_wire::Entry, new: farhold_wire::Entry, events: &mut Vec<TreeEvent>) {
    let id = new.id;
    if old.incarnation != new.incarnation || old.version != new.version {
        events.push(TreeEvent::Content { id, replaced: old.incarnation != new.incarnation });
    } else if (&old.kind, old.modified, old.mode, old.writable, old.unavailable)
        != (&new.kind, new.modified, new.mode, new.writable, new.unavailable)
    {
        events.push(TreeEvent::Attributes { id });
    }
    if (old.parent, &old.name) != (new.parent, &new.name) {
        events.push(TreeEvent::Moved { id, from: (old.parent, old.name), to: (new.parent, new.name) });
    }
}
