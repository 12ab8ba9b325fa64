//! The chain of keys of one direction of one lane.
//!
//! A record key comes from the chain key; at a key update the chain key is replaced by one from which it cannot be
//! computed, so that old records stay secret, and the secret of a fresh exchange may be mixed in, so that later ones
//! are secret again after a compromise.

use crate::kdf::Key;
use crate::side::Side;
use crate::suite::{Aead, Suite};

/// What tells the lanes of a session apart. The control lane has class 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LaneName {
    pub(crate) number: u32,
    pub(crate) class: u8,
}

impl LaneName {
    pub(crate) const CONTROL: Self = Self { number: 0, class: 0 };
}

pub(crate) struct Chain {
    key: Key,
    suite: Suite,
    lane: LaneName,
    sender: Side,
}

impl Chain {
    pub(crate) fn new(key: Key, suite: Suite, lane: LaneName, sender: Side) -> Self {
        Self { key, suite, lane, sender }
    }

    /// The record key of this link.
    pub(crate) fn aead(&self) -> Aead {
        Aead::new(self.suite, &self.key.expand("record key", &[]))
    }

    /// Goes to the next link.
    pub(crate) fn advance(&mut self) {
        self.key = self.key.derive("next chain key", &[]);
    }

    /// Goes to the next link and mixes in the secret of exchange `id`.
    pub(crate) fn advance_with(&mut self, id: u32, secret: &Key) {
        let mixed = secret.derive(
            "mix",
            &[
                &id.to_be_bytes(),
                &self.lane.number.to_be_bytes(),
                &[self.lane.class],
                &[self.sender.number()],
            ],
        );
        self.key = self.key.mix(&mixed).derive("next chain key", &[]);
    }
}
