//! How fast contents may come and go.

use farhold_engine::commands::RateLimits;

use crate::size;

/// Both limits, in a sentence.
pub(crate) fn text(limits: &RateLimits) -> String {
    let shown = |limit: Option<u64>| {
        limit.map_or_else(|| "without a limit".to_owned(), |rate| format!("at most {}", size::rate(rate)))
    };
    format!("Receiving {}, sending {}.", shown(limits.receive), shown(limits.send))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_are_told() {
        let limits = RateLimits { receive: Some(2_000_000), send: None };
        assert_eq!(text(&limits), "Receiving at most 2.00 MB/s, sending without a limit.");
    }
}
