//! Real mounts, served by another process than the one that uses them: a thread that waits for a mount of its own
//! process could keep it from being served.
//!
//! Every test starts this program once more as the host of a mount, with a contact in memory, and tells it what to do.

// A test fails by panicking, wherever in here, and the host answers on its standard output.
#![allow(clippy::unwrap_used, clippy::unwrap_in_result, clippy::print_stdout)]

mod ending;
mod errors;
mod host;
mod living;
#[allow(dead_code, reason = "the drive's own tests use more of it")]
#[path = "../../../vfs/tests/drive/peer.rs"]
mod peer;
mod reading;
mod user;
mod using;

use std::fmt::Write;

/// Bytes that differ everywhere and with `seed`.
fn content(seed: u8, length: usize) -> Vec<u8> {
    (0..length).map(|at| (at as u32).wrapping_mul(2_654_435_761).to_be_bytes()[0] ^ seed).collect()
}

/// A name as it goes through the pipe to the host.
fn hex(name: &[u8]) -> String {
    name.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}
