//! Listings of the drive.

use farhold_engine::commands::{Listed, ListedKind};

use super::printable;
use super::table::table;
use crate::size;

/// One line for each entry, folders with a slash.
pub(crate) fn text(entries: &[Listed]) -> String {
    let row = |entry: &Listed| {
        let name = printable(&entry.name.to_string());
        match entry.kind {
            ListedKind::Folder => vec![String::new(), format!("{name}/")],
            ListedKind::File => vec![size::show(entry.size), name],
            ListedKind::Symlink => vec!["link".to_owned(), name],
        }
    };
    table(&entries.iter().map(row).collect::<Vec<_>>())
}
