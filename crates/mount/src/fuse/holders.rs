//! Who keeps a mount busy.

use std::fs;
use std::path::{Path, PathBuf};

/// A program that has something of the drive open, or works in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Its process number.
    pub pid: u32,
    /// Its name, as the kernel tells it (15 bytes at most).
    pub program: String,
    /// What it has open, or the folder that it works in; the first of several.
    pub file: PathBuf,
}

/// Most holders that are told: enough to see what to close.
const MOST: usize = 16;

/// Programs, as far as this user may see them, with an open file, working folder or root below `point`, which is
/// absolute and without links. Only links of `/proc` are read, never the mount itself, so this does not wait for the
/// drive. It blocks, but not for long.
pub fn holders(point: &Path) -> Vec<Holder> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    processes
        .flatten()
        .filter_map(|process| {
            let pid: u32 = process.file_name().to_str()?.parse().ok()?;
            let process = process.path();
            let file = held(&process, point)?;
            Some(Holder { pid, program: name(&process), file })
        })
        .take(MOST)
        .collect()
}

/// What a process has of what is below `point`. Open files come first: they say more than the folder it works in.
fn held(process: &Path, point: &Path) -> Option<PathBuf> {
    let open = fs::read_dir(process.join("fd")).into_iter().flatten().flatten().map(|entry| entry.path());
    let others = ["cwd", "root", "exe"].map(|link| process.join(link));
    open.chain(others).filter_map(|link| fs::read_link(link).ok()).find(|target| target.starts_with(point))
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
        assert!(holders(&point).is_empty());
        let _open = fs::File::create(point.join("file")).unwrap();
        let found = holders(&point);
        // A program that another test is just starting has this one's files for a moment.
        let us = found.iter().find(|holder| holder.pid == std::process::id()).unwrap();
        assert_eq!((&us.file, us.program.is_empty()), (&point.join("file"), false));
        // A folder whose name merely begins alike is not below.
        assert!(holders(&point.join("fi")).is_empty());
    }

    #[test]
    fn a_working_folder_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let point = folder.path().canonicalize().unwrap();
        let mut sleeping = std::process::Command::new("sleep").arg("60").current_dir(&point).spawn().unwrap();
        let found = holders(&point);
        sleeping.kill().unwrap();
        sleeping.wait().unwrap();
        let expected = Holder { pid: sleeping.id(), program: "sleep".to_owned(), file: point };
        assert_eq!(found, [expected]);
    }
}
