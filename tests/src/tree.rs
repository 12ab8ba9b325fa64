//! Folders to share, and their comparison through other processes.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::peer::output;

/// Bytes that look random and depend on `seed` only.
pub fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    let mut content = vec![0; length];
    hasher.finalize_xof().fill(&mut content);
    content
}

/// Writes a file with such bytes, making its folder.
pub fn write(path: &Path, seed: u64, length: usize) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("the folder");
    fs::write(path, bytes(seed, length)).expect("the file");
}

/// Every folder, file and symlink below `root` with size, content hash and target, sorted: equal for equal trees.
pub fn listing(root: &Path) -> String {
    let script = r"
        { find . -type d -printf 'd %p\0'; find . -type l -printf 'l %p -> %l\0'; find . -type f -printf 'f %s %p\0'; } | sort -z
        find . -type f -print0 | sort -z | xargs -0 -r sha256sum -z
    ";
    output(Command::new("bash").args(["-ec", script]).current_dir(root))
}

/// SHA-256 of one file, read by another process.
pub fn hash(path: &Path) -> String {
    output(Command::new("sha256sum").arg("-z").arg(path)).split(' ').next().expect("a hash").to_owned()
}
