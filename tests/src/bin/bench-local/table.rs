//! The table.

use std::fmt;

/// One figure.
#[derive(Debug)]
pub(crate) struct Row {
    /// Its number among the targets.
    pub(crate) number: &'static str,
    /// What was measured.
    pub(crate) what: String,
    /// What it should be.
    pub(crate) target: String,
    /// What it is.
    pub(crate) figure: String,
    /// What the machine itself did in the same run.
    pub(crate) limit: String,
    /// Whether the target is met.
    pub(crate) met: bool,
}

/// All figures, in the order of their measurement.
#[derive(Debug, Default)]
pub(crate) struct Table(Vec<Row>);

impl Table {
    /// Adds a figure, and tells it at once: the rest takes minutes.
    pub(crate) fn add(&mut self, row: Row) {
        eprintln!("{} {}: {} (machine: {})", row.number, row.what, row.figure, row.limit);
        self.0.push(row);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| # | what | target | Farhold | machine, same run | |\n|---|---|---|---|---|---|")?;
        for Row { number, what, target, figure, limit, met } in &self.0 {
            let verdict = if *met { "met" } else { "SHORT" };
            writeln!(f, "| {number} | {what} | {target} | {figure} | {limit} | {verdict} |")?;
        }
        Ok(())
    }
}
