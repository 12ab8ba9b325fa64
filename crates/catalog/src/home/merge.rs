//! Which entry is which, after folders were listed: pure, from what was known and what was seen.
//!
//! An id follows its object through renames. A file or link that another object was renamed over keeps its id, as a
//! new incarnation, if its own object is gone; whatever entry the other object had before ends with that. So a swap
//! exchanges two entries, and an editor that writes beside and renames over keeps the entry that it edits.

use std::collections::{HashMap, HashSet};

use farhold_wire::Name;

use super::disk::Kind;

/// What tells one object from all others of its share, for as long as it exists.
pub(crate) type Identity = (Kind, u64, i64);

/// An entry as it was known.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) row: i64,
    pub(crate) parent: i64,
    pub(crate) name: Name,
    pub(crate) object: Identity,
}

/// A name of a listed folder, and the object seen there.
#[derive(Debug, Clone)]
pub(crate) struct Slot {
    pub(crate) parent: i64,
    pub(crate) name: Name,
    pub(crate) object: Identity,
}

/// Which entry a slot holds now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The one it held, the same object.
    Same(i64),
    /// One that was elsewhere.
    Moved(i64),
    /// The one it held, whose object was replaced by this one.
    Replaced(i64),
    /// A new one.
    New,
}

/// The outcome for all listed folders.
#[derive(Debug)]
pub(crate) struct Assignment {
    /// One for each slot, in their order.
    pub(crate) fates: Vec<Fate>,
    /// Entries of the listed folders that are not there any more.
    pub(crate) missing: Vec<i64>,
}

/// Assigns an entry to each slot. `known` are the entries of the listed folders; `elsewhere` are entries of other
/// folders that are no longer at their place.
pub(crate) fn assign(known: &[Known], slots: &[Slot], elsewhere: &[Known]) -> Assignment {
    let mut fates: Vec<Option<Fate>> = vec![None; slots.len()];
    let mut placed = HashSet::new();
    let slot_at: HashMap<(i64, &Name), usize> =
        slots.iter().enumerate().map(|(index, slot)| ((slot.parent, &slot.name), index)).collect();

    // What is where it was. Of two entries of one place, the first that fits.
    for entry in known {
        if let Some(&index) = slot_at.get(&(entry.parent, &entry.name))
            && slots[index].object == entry.object
            && fates[index].is_none()
        {
            fates[index] = Some(Fate::Same(entry.row));
            placed.insert(entry.row);
        }
    }

    // What is elsewhere than it was, by its object. Each entry goes to one slot: further names are hard links.
    let mut by_object: HashMap<Identity, Vec<&Known>> = HashMap::new();
    for entry in known.iter().chain(elsewhere).filter(|entry| !placed.contains(&entry.row)) {
        by_object.entry(entry.object).or_default().push(entry);
    }
    let mut movers: Vec<Option<&Known>> = vec![None; slots.len()];
    for (index, slot) in slots.iter().enumerate() {
        if fates[index].is_none() {
            movers[index] = by_object.get_mut(&slot.object).and_then(Vec::pop);
        }
    }
    let moving: HashSet<i64> = movers.iter().flatten().map(|entry| entry.row).collect();

    let mut occupants: HashMap<(i64, &Name), &Known> = HashMap::new();
    for entry in known.iter().filter(|entry| !placed.contains(&entry.row) && entry.object.0 != Kind::Folder) {
        occupants.insert((entry.parent, &entry.name), entry);
    }
    let mut displaced = Vec::new();
    for (index, slot) in slots.iter().enumerate() {
        if fates[index].is_some() {
            continue;
        }
        let occupant = occupants
            .get(&(slot.parent, &slot.name))
            .filter(|entry| entry.object.0 == slot.object.0 && !moving.contains(&entry.row));
        let fate = match (occupant, movers[index]) {
            (Some(occupant), mover) => {
                displaced.extend(mover);
                Fate::Replaced(occupant.row)
            }
            (None, Some(mover)) => Fate::Moved(mover.row),
            (None, None) => Fate::New,
        };
        if let Fate::Replaced(row) | Fate::Moved(row) = fate {
            placed.insert(row);
        }
        fates[index] = Some(fate);
    }

    // An entry whose object went over another's may have a new object at its own place.
    for entry in displaced {
        if let Some(&index) = slot_at.get(&(entry.parent, &entry.name))
            && fates[index] == Some(Fate::New)
            && slots[index].object.0 == entry.object.0
            && entry.object.0 != Kind::Folder
        {
            fates[index] = Some(Fate::Replaced(entry.row));
            placed.insert(entry.row);
        }
    }

    Assignment {
        fates: fates.into_iter().map(|fate| fate.unwrap_or(Fate::New)).collect(),
        missing: known.iter().map(|entry| entry.row).filter(|row| !placed.contains(row)).collect(),
    }
}

#[cfg(test)]
mod tests;
