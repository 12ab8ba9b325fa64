//! A bulk pull over loopback: through command, engine, session and disk.

use std::fs;
use std::path::Path;

use farhold_tests::peer::Peer;

use crate::table::{Row, Table};
use crate::{SIZE, assert_equal, machine, megabytes, path_text, rate};

/// Bytes per second.
const TARGET: f64 = 650e6;

/// Pulls the file as often as every figure is measured.
pub(crate) fn add(table: &mut Table, anna: &Peer, file: &Path) {
    let folder = anna.home().join("pulled");
    fs::create_dir(&folder).expect("a folder");
    let pulled = folder.join("file");
    let figure = rate(SIZE, || {
        if pulled.exists() {
            fs::remove_file(&pulled).expect("the pulled file");
        }
        anna.ask(&["pull", "ben/shared/file", path_text(&folder), "--wait"]);
    });
    assert_equal(&pulled, file);
    fs::remove_file(&pulled).expect("the pulled file");
    let limit = format!("TCP {}, cp {}", megabytes(machine::tcp()), megabytes(machine::copy(file, &folder)));
    table.add(Row {
        number: "P14",
        what: "bulk pull of 1 GB, loopback".to_owned(),
        target: format!(">= {}", megabytes(TARGET)),
        figure: megabytes(figure),
        limit,
        met: figure >= TARGET,
    });
}
