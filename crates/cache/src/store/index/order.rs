//! In which order blocks go.

use std::collections::BTreeSet;

/// A block's place: use stamp, content number, block number.
pub(super) type Place = (u64, u64, u64);

/// How a content stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Current,
    /// There is a newer version: goes first.
    Superseded,
    /// Never goes.
    Pinned,
}

#[derive(Debug, Default)]
pub(super) struct Orders {
    pub(super) superseded: BTreeSet<Place>,
    pub(super) current: BTreeSet<Place>,
}

impl Orders {
    pub(super) fn insert(&mut self, standing: Standing, place: Place) {
        if let Some(order) = self.of(standing) {
            order.insert(place);
        }
    }

    pub(super) fn remove(&mut self, standing: Standing, place: &Place) {
        if let Some(order) = self.of(standing) {
            order.remove(place);
        }
    }

    /// What goes first.
    pub(super) fn first(&self) -> Option<&Place> {
        self.superseded.first().or_else(|| self.current.first())
    }

    fn of(&mut self, standing: Standing) -> Option<&mut BTreeSet<Place>> {
        match standing {
            Standing::Current => Some(&mut self.current),
            Standing::Superseded => Some(&mut self.superseded),
            Standing::Pinned => None,
        }
    }
}
