//! Contents that never go.

use std::collections::HashMap;

use super::{Geometry, Index};
use crate::key::ContentKey;

/// More is pinned than the limit allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("what is pinned takes up {needed} bytes, and the limit is {limit}")]
pub struct PinError {
    /// Bytes of disk that all pinned contents take up when they are whole.
    pub needed: u64,
    /// The limit.
    pub limit: u64,
}

/// What is pinned.
#[derive(Debug, Default)]
pub(super) struct Pins {
    /// Sizes of the contents.
    sizes: HashMap<ContentKey, u64>,
    /// What they take up when they are whole.
    charge: u64,
}

impl Pins {
    pub(super) fn contains(&self, key: &ContentKey) -> bool {
        self.sizes.contains_key(key)
    }

    /// What all pins take up, if that is within `limit`.
    pub(super) fn check(&self, more: u64, limit: u64) -> Result<u64, PinError> {
        let needed = self.charge.saturating_add(more);
        if needed > limit { Err(PinError { needed, limit }) } else { Ok(needed) }
    }

    pub(super) fn set_geometry(&mut self, geometry: Geometry) {
        self.charge = self.sizes.values().map(|size| geometry.content_charge(*size)).sum();
    }
}

impl Index {
    /// From now on the blocks of `key`, a content of `size` bytes, never go.
    pub(crate) fn pin(&mut self, key: ContentKey, size: u64) -> Result<(), PinError> {
        if !self.pins.contains(&key) {
            self.pins.charge = self.pins.check(self.geometry.content_charge(size), self.limit)?;
            self.pins.sizes.insert(key, size);
            self.reorder(key);
        }
        Ok(())
    }

    /// Whether `contents` could be pinned besides what is.
    pub(crate) fn check_pins(
        &self,
        contents: impl IntoIterator<Item = (ContentKey, u64)>,
    ) -> Result<(), PinError> {
        let others = contents.into_iter().filter(|(key, _)| !self.pins.contains(key));
        let more = others.map(|(_, size)| self.geometry.content_charge(size)).fold(0, u64::saturating_add);
        self.pins.check(more, self.limit).map(drop)
    }

    pub(crate) fn unpin(&mut self, key: &ContentKey) {
        if let Some(size) = self.pins.sizes.remove(key) {
            self.pins.charge = self.pins.charge.saturating_sub(self.geometry.content_charge(size));
            self.reorder(*key);
        }
    }
}
