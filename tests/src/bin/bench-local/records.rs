//! The record layer's figures, out of its own benchmark's output.

use std::path::Path;

use crate::table::{Row, Table};

/// Part of the bare AEAD's speed, in percent.
const TARGET: f64 = 80.0;

/// Takes the lines `SUITE seal|open N KiB: X GB/s of the bare AEAD's Y (Z %)`.
pub(crate) fn add(table: &mut Table, path: &Path) {
    let text = std::fs::read_to_string(path).expect("the record layer's figures");
    let rows: Vec<Row> = text.lines().filter_map(row).collect();
    assert!(!rows.is_empty(), "{} has no figures", path.display());
    rows.into_iter().for_each(|row| table.add(row));
}

fn row(line: &str) -> Option<Row> {
    let (what, figures) = line.split_once(": ")?;
    let (figure, rest) = figures.split_once(" of the bare AEAD's ")?;
    let (bare, percent) = rest.split_once(" (")?;
    let percent: f64 = percent.strip_suffix(" %)")?.trim().parse().ok()?;
    Some(Row {
        number: "P13",
        what: format!("records, {what}"),
        target: format!(">= {TARGET:.0} % of the AEAD"),
        figure: format!("{figure} ({percent:.0} %)"),
        limit: format!("AEAD alone {bare} GB/s"),
        met: percent >= TARGET,
    })
}
