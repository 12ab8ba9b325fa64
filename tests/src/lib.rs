//! Whole-system tests: real programs (relay, engines, command), real mounts, on loopback.
//!
//! The tester is always another process than the mount that it tests, and every wait has a deadline.

#![allow(clippy::print_stderr, reason = "a failing test shows what its programs said")]

pub mod peer;
pub mod program;
pub mod tree;

use std::time::{Duration, Instant};

/// Asks `probe` every 50 ms until it answers, or panics with `what` after `within`.
pub fn wait_for<T>(what: &str, within: Duration, mut probe: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + within;
    loop {
        if let Some(found) = probe() {
            return found;
        }
        assert!(Instant::now() < end, "within {within:?}: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
