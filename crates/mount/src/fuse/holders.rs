//! Who keeps a mount busy.

use std::fs;
use std::path::{Path, PathBuf};

/// A program that has something of the drive open, or works in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Its process number.
    pub pid: u32,
    /// Its name, as the kernel tells it (15 bytes at most).
    pub name: String,
}

/// Most holders that are told: enough to see what to close.
const MOST: usize = 16;

/// Programs, as far as this user may see them, with an open file, working folder or root below `point`.
/// Only links of `/proc` are read, never the mount itself, so this does not wait for the drive.
pub(super) fn find(point: &Path) -> Vec<Holder> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    processes
        .flatten()
        .filter_map(|process| {
            process.file_name().to_str()?.parse().ok().map(|pid: u32| (pid, process.path()))
        })
        .filter(|(_, process)| holds(process, point))
        .map(|(pid, process)| Holder { pid, name: name(&process) })
        .take(MOST)
        .collect()
}

fn holds(process: &Path, point: &Path) -> bool {
    let below = |link: PathBuf| fs::read_link(link).is_ok_and(|target| target.starts_with(point));
    let open = fs::read_dir(process.join("fd")).into_iter().flatten().flatten().map(|entry| entry.path());
    ["cwd", "root", "exe"].map(|link| process.join(link)).into_iter().chain(open).any(below)
}

fn name(process: &Path) -> String {
    let name = fs::read(process.join("comm")).unwrap_or_default();
    String::from_utf8_lossy(name.trim_ascii_end()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_file_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let point = folder.path().canonicalize().unwrap();
        assert!(find(&point).is_empty());
        let _open = fs::File::create(point.join("file")).unwrap();
        assert_eq!(find(&point).iter().map(|holder| holder.pid).collect::<Vec<_>>(), [std::process::id()]);
        // A folder whose name merely begins alike is not below.
        assert!(find(&point.join("fi")).is_empty());
    }
}
