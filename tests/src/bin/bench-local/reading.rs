//! Reading through the mount.

use std::path::Path;

use farhold_tests::peer::Peer;

use crate::table::{Row, Table};
use crate::{SIZE, machine, median, megabytes};

/// Bytes per second.
const COLD_TARGET: f64 = 500e6;
const BLOCKS_TARGET: f64 = 1.2e9;

/// `seen` is the file in Anna's drive, `file` where it lies.
pub(crate) fn add(table: &mut Table, anna: &Peer, seen: &Path, file: &Path) {
    let read = |path: &Path| {
        let start = std::time::Instant::now();
        machine::read(path);
        SIZE as f64 / start.elapsed().as_secs_f64()
    };
    machine::read(file);
    let plain = median(|| read(file));

    // Nothing of it in the engine's cache or in the kernel's; the home's disk does not count.
    let may_drop = machine::drop_pages();
    let cold = median(|| {
        anna.ask(&["cache", "drop"]);
        machine::drop_pages();
        machine::read(file);
        read(seen)
    });
    row(table, "cold", COLD_TARGET, cold, plain, "in pages");

    let pages = median(|| read(seen));
    row(table, "in the kernel's pages", 0.8 * plain, pages, plain, "in pages");

    if !may_drop {
        eprintln!("reading from the block cache is not measured: only root can drop the kernel's pages");
        return;
    }
    let from_disk = median(|| {
        machine::drop_pages();
        read(file)
    });
    let blocks = median(|| {
        machine::drop_pages();
        read(seen)
    });
    let target = BLOCKS_TARGET.min(0.6 * from_disk);
    row(table, "from the block cache, pages dropped", target, blocks, from_disk, "from disk");
}

fn row(table: &mut Table, what: &str, target: f64, figure: f64, plain: f64, how: &str) {
    table.add(Row {
        number: "P15",
        what: format!("1 GB through the mount, {what}"),
        target: format!(">= {}", megabytes(target)),
        figure: megabytes(figure),
        limit: format!("plain file {how} {}", megabytes(plain)),
        met: figure >= target,
    });
}
