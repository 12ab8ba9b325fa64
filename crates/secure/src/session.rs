//! What the lanes of one session share.

use std::fmt;
use std::num::NonZeroU8;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::kdf::Key;
use crate::lane::Lane;
use crate::ratchet::{Chain, LaneName};
use crate::record::{Opener, Sealer};
use crate::side::Side;
use crate::suite::Suite;

/// The keys of a session that are not one lane's own: from them further lanes are made, and through them the lanes
/// learn what an exchange brought. Cheap to clone.
///
/// It holds the secret of the latest exchange only, until the next replaces it.
#[derive(Clone)]
pub struct SessionKeys(Arc<Shared>);

struct Shared {
    suite: Suite,
    mine: Side,
    /// The exchange whose secret my sealers mix in at their next record; 0 before the first.
    released: AtomicU32,
    latest: Mutex<Option<(u32, Key)>>,
}

impl SessionKeys {
    pub(crate) fn new(suite: Suite, mine: Side) -> Self {
        Self(Arc::new(Shared { suite, mine, released: AtomicU32::new(0), latest: Mutex::new(None) }))
    }

    /// How many exchanges have renewed this session's keys.
    pub fn epoch(&self) -> u32 {
        self.0.released.load(Ordering::Acquire)
    }

    /// The keys of a further lane, from 32 random bytes of each side that both sent over the control lane. `number`
    /// is new in this session and `class` the lane's class, as agreed there.
    pub fn lane(&self, number: u32, class: NonZeroU8, my_nonce: &[u8; 32], their_nonce: &[u8; 32]) -> Lane {
        Lane::derive(self, LaneName { number, class: class.get() }, my_nonce, their_nonce)
    }

    pub(crate) fn side(&self) -> Side {
        self.0.mine
    }

    pub(crate) fn sealer(&self, lane: LaneName, key: Key) -> Sealer {
        Sealer::new(Chain::new(key, self.0.suite, lane, self.0.mine), self.clone())
    }

    pub(crate) fn opener(&self, lane: LaneName, key: Key) -> Opener {
        Opener::new(Chain::new(key, self.0.suite, lane, self.0.mine.other()), self.clone())
    }

    /// From now on the peer's key updates may name exchange `id`.
    pub(crate) fn learn(&self, id: u32, secret: Key) {
        *self.0.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some((id, secret));
    }

    /// From now on my own key updates mix in exchange `id`, which was learned.
    pub(crate) fn release(&self, id: u32) {
        self.0.released.store(id, Ordering::Release);
    }

    /// The secret of exchange `id`, if it is the latest.
    pub(crate) fn secret(&self, id: u32) -> Option<Key> {
        let latest = self.0.latest.lock().unwrap_or_else(PoisonError::into_inner);
        latest.as_ref().filter(|(latest, _)| *latest == id).map(|(_, secret)| secret.clone())
    }
}

impl fmt::Debug for SessionKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionKeys")
            .field("suite", &self.0.suite)
            .field("side", &self.0.mine)
            .field("epoch", &self.epoch())
            .finish_non_exhaustive()
    }
}
