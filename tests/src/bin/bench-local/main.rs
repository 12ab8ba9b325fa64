//! What the programs do on one machine, beside what the machine itself can do in the same run: a bulk pull, reading
//! through the mount, and what an idle engine costs. Prints one table; it asserts only that the bytes are right.
//!
//! Arguments: the output of the record layer's benchmark, to take its figures into the table.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the table is what it is for")]

mod idle;
mod machine;
mod pulling;
mod reading;
mod records;
mod table;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use farhold_tests::peer::{Peer, PeerOptions, Relay, output, pair};
use table::Table;

/// Bytes of the file that is moved and read.
const SIZE: u64 = 1_000_000_000;
/// Each figure is the median of so many runs.
const RUNS: usize = 3;

fn main() {
    let records = std::env::args_os().nth(1).map(PathBuf::from);
    let mut table = Table::default();
    if let Some(path) = &records {
        records::add(&mut table, path);
    }
    moved(&mut table);
    idle::add(&mut table);
    println!("\n{table}");
}

/// Ben has the file, Anna pulls it and reads it through her drive.
fn moved(table: &mut Table) {
    let relay = Relay::start();
    let ben = Peer::start(&relay, PeerOptions::default());
    let anna = Peer::start(&relay, PeerOptions { mount: true, ..PeerOptions::default() });
    let shared = ben.home().join("shared");
    let file = shared.join("file");
    std::fs::create_dir(&shared).expect("a folder to share");
    machine::write_random(&file, SIZE);
    pair(&anna, &ben);
    ben.ask(&["share", path_text(&shared)]);
    let seen = anna.wait_path("ben/shared/file");
    pulling::add(table, &anna, &file);
    reading::add(table, &anna, &seen, &file);
    for mut peer in [anna, ben] {
        peer.stop();
    }
}

/// Bytes per second of `work`, which moves `bytes`; the median of all runs.
fn rate(bytes: u64, mut work: impl FnMut()) -> f64 {
    median(|| {
        let start = Instant::now();
        work();
        bytes as f64 / start.elapsed().as_secs_f64()
    })
}

fn median(mut run: impl FnMut() -> f64) -> f64 {
    let mut figures: Vec<f64> = (0..RUNS).map(|_| run()).collect();
    figures.sort_by(f64::total_cmp);
    figures[RUNS / 2]
}

/// Two files hold the same; compared by another process.
fn assert_equal(one: &Path, other: &Path) {
    output(Command::new("cmp").args([one, other]));
}

fn path_text(path: &Path) -> &str {
    path.to_str().expect("temporary folders have plain names")
}

/// As `1234 MB/s`.
fn megabytes(rate: f64) -> String {
    format!("{:.0} MB/s", rate / 1e6)
}
