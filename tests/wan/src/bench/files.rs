//! The files that are read: random bytes, made once.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use farhold_tests::tree;

/// Bytes of the file that bulk rows move.
pub(crate) const BIG: u64 = 1_000_000_000;
/// Bytes of the file that is read front to back as a load.
const LOAD: u64 = 2_000_000_000;
/// Bytes of one jump.
pub(crate) const JUMP: u64 = 2 << 20;
/// Jumps of one pass.
pub(crate) const JUMPS: u64 = 48;
/// Files that are opened cold.
pub(crate) const COLD: usize = 20;
/// Bytes that a player reads per second, for how many seconds.
pub(crate) const PLAYER_RATE: u64 = 3_000_000;
pub(crate) const PLAYER_SECONDS: u64 = 60;
/// Small files, and the bytes of each.
pub(crate) const MANY: usize = 10_000;
pub(crate) const SMALL: usize = 4096;

/// How much is made at once.
const PIECE: usize = 1 << 20;

/// The folder with all of them, below `folder`; makes what is missing.
pub(crate) fn prepare(folder: &Path) -> PathBuf {
    let files = folder.join("files");
    fs::create_dir_all(files.join("many")).expect("the folder of files");
    random(&files.join("big.bin"), 1, BIG);
    random(&files.join("load.bin"), 2, LOAD);
    random(&files.join("jump.bin"), 3, JUMP * JUMPS);
    random(&files.join("player.bin"), 4, PLAYER_RATE * (PLAYER_SECONDS + 5));
    for number in 0..COLD {
        random(&files.join(cold(number)), 100 + number as u64, 4_000_000);
    }
    for number in 0..MANY {
        random(&files.join("many").join(format!("{number:05}")), 1000 + number as u64, SMALL as u64);
    }
    files
}

/// Name of a file that is opened cold.
pub(crate) fn cold(number: usize) -> String {
    format!("cold-{number:02}.bin")
}

/// Makes `path` unless it is there in full: it gets its name when it is complete.
fn random(path: &Path, seed: u64, length: u64) {
    if fs::metadata(path).is_ok_and(|metadata| metadata.len() == length) {
        return;
    }
    let part = path.with_extension("part");
    let mut file = BufWriter::new(File::create(&part).expect("a file"));
    let mut left = length;
    for number in 0.. {
        let piece = left.min(PIECE as u64);
        if piece == 0 {
            break;
        }
        file.write_all(&tree::bytes(seed << 32 | number, piece as usize)).expect("room for the files");
        left -= piece;
    }
    file.into_inner().expect("written").sync_all().expect("room for the files");
    fs::rename(part, path).expect("its name");
}
