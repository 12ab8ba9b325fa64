//! The two clocks, where they are read.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970 by this machine's clock.
pub(crate) fn unix_milliseconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The monotonic clock of the record layer, which follows tokio's so that tests can stop it.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
