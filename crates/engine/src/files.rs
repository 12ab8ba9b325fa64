//! Small files that must never be half written.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Replaces `path` with `content` as a whole, readable by this user only, on disk when this returns.
///
/// # Errors
/// What the file system says; then `path` holds what it held before.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let temporary = folder.join(name);
    // A temporary file of an earlier crash may have other rights or be a link: never write through it.
    match std::fs::remove_file(&temporary) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let written = create(&temporary, content).and_then(|()| std::fs::rename(&temporary, path));
    if written.is_err() {
        // The error that counts is the one above.
        let _ = std::fs::remove_file(&temporary);
        return written;
    }
    File::open(folder)?.sync_all()
}

/// Makes a file that must not exist yet, readable by this user only, on disk when this returns.
pub(crate) fn create(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// Removes an `SQLite` database with the files that it may have beside it. None there is no error.
pub(crate) fn remove_database(path: &Path) -> io::Result<()> {
    for suffix in ["", "-wal", "-shm"] {
        let mut file = path.as_os_str().to_owned();
        file.push(suffix);
        match std::fs::remove_file(file) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The whole of a file of at most `limit` bytes; `None` if there is none.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut content = Vec::new();
    file.take(limit + 1).read_to_end(&mut content)?;
    if content.len() as u64 > limit {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the file is too large"));
    }
    Ok(Some(content))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn replaces_whole_and_private_over_an_old_temporary() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        let victim = temp.path().join("victim");
        std::fs::write(&victim, "untouched").unwrap();
        std::os::unix::fs::symlink(&victim, temp.path().join("file.new")).unwrap();
        replace(&path, b"one").unwrap();
        replace(&path, b"two").unwrap();
        assert_eq!(read(&path, 3).unwrap().unwrap(), b"two");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read(&victim).unwrap(), b"untouched");
        assert!(!temp.path().join("file.new").exists());
    }

    #[test]
    fn reading_is_bounded_and_a_missing_file_is_none() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        assert!(read(&path, 8).unwrap().is_none());
        std::fs::write(&path, [0; 9]).unwrap();
        assert!(read(&path, 8).is_err());
    }

    #[test]
    fn a_database_goes_with_what_is_beside_it() {
        let temp = tempfile::tempdir().unwrap();
        for name in ["a.db", "a.db-wal", "a.db-shm", "ab.db"] {
            std::fs::write(temp.path().join(name), "x").unwrap();
        }
        remove_database(&temp.path().join("a.db")).unwrap();
        remove_database(&temp.path().join("a.db")).unwrap();
        let left: Vec<_> =
            std::fs::read_dir(&temp).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["ab.db"]);
    }
}
