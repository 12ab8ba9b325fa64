//! Shares.

use farhold_engine::commands::{Share, ShareState};

use super::printable;
use super::table::table;

/// What was just shared.
pub(crate) fn shared(shares: &[Share]) -> String {
    let line = |share: &Share| {
        let (path, name) = (printable(&share.path.to_string_lossy()), printable(&share.name.to_string()));
        let right = if share.writable { "may read and write" } else { "may read" };
        format!("{} {right} {path}, as {name}.", share.with)
    };
    shares.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// What was just withdrawn.
pub(crate) fn unshared(shares: &[Share]) -> String {
    let line = |share: &Share| {
        format!("{} no longer sees {}.", share.with, printable(&share.path.to_string_lossy()))
    };
    shares.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Everything shared.
pub(crate) fn list(shares: &[Share]) -> String {
    if shares.is_empty() {
        return "Nothing is shared. Share a file or folder with: farhold share PATH".to_owned();
    }
    let mut rows = vec![["WITH", "AS", "RIGHT", "STATE", "ENTRIES", "PATH"].map(str::to_owned).to_vec()];
    rows.extend(shares.iter().map(|share| {
        let state = match share.state {
            ShareState::Scanning => "scanning",
            ShareState::Ready => "ready",
            ShareState::Unavailable => "unavailable",
        };
        vec![
            share.with.clone(),
            printable(&share.name.to_string()),
            if share.writable { "write" } else { "read" }.to_owned(),
            state.to_owned(),
            share.entries.to_string(),
            printable(&share.path.to_string_lossy()),
        ]
    }));
    table(&rows)
}
