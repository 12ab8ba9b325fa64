//! The cache, and what is pinned in it.

use farhold_engine::status::CacheStatus;
use farhold_engine::{PinState, PinStatus};

use super::printable;
use super::table::table;
use crate::size;

/// The cache, in two sentences, and a third if its disk is nearly full.
pub(crate) fn text(cache: &CacheStatus) -> String {
    let low = match (cache.disk_low, cache.disk_free) {
        (false, _) => String::new(),
        (true, free) => format!(
            "\nIts disk is nearly full{}: what is new is kept instead of what is old, or not at all. Make room there.",
            free.map(|free| format!(" ({} free)", size::show(free))).unwrap_or_default()
        ),
    };
    format!("{} of {}. {}{low}", size::show(cache.used), size::show(cache.limit), saved(cache))
}

/// The cache with its pins.
pub(crate) fn whole(cache: &CacheStatus, pins: &[PinStatus]) -> String {
    if pins.is_empty() {
        return text(cache);
    }
    let mut rows = vec![["PINNED", "STATE", "HERE", "FILES", "NOTE"].map(str::to_owned).to_vec()];
    rows.extend(pins.iter().map(|pin| {
        let state = match pin.state {
            PinState::Fetching => "fetching",
            PinState::Whole => "whole",
            PinState::Waiting => "waiting",
            PinState::NoRoom => "no room: farhold limit SIZE",
            PinState::Gone => "gone",
        };
        vec![
            printable(&pin.path),
            state.to_owned(),
            format!("{} of {}", size::show(pin.cached), size::show(pin.bytes)),
            pin.files.to_string(),
            pin.reason.as_deref().map(printable).unwrap_or_default(),
        ]
    }));
    format!("{}\n\n{}", text(cache), table(&rows))
}

/// What was just pinned.
pub(crate) fn pinned(pin: &PinStatus) -> String {
    format!("{} is kept whole from now on. See how far it is with: farhold cache", printable(&pin.path))
}

/// How much the cache spared the network.
fn saved(cache: &CacheStatus) -> String {
    match cache.percent_saved() {
        None => "Nothing was read yet.".to_owned(),
        Some(percent) => format!(
            "{} were read, {} of it fetched: {percent} % came from here.",
            size::show(cache.served),
            size::show(cache.fetched)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_follow_the_cache() {
        let cache = CacheStatus { limit: 1000, used: 10, ..CacheStatus::default() };
        assert_eq!(whole(&cache, &[]), "10 B of 1.00 kB. Nothing was read yet.");
        let full = CacheStatus { disk_free: Some(400_000_000), disk_low: true, ..cache };
        assert!(text(&full).contains("nearly full (400 MB free)"), "{}", text(&full));
        let pin = PinStatus {
            path: "ben/Film".to_owned(),
            state: PinState::NoRoom,
            files: 2,
            bytes: 5000,
            cached: 900,
            reason: None,
        };
        let shown = whole(&cache, &[pin]);
        assert!(shown.ends_with("ben/Film  no room: farhold limit SIZE  900 B of 5.00 kB  2"), "{shown}");
    }
}
