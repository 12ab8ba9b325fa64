//! The folder that the drive is mounted on.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::error::MountError;
use super::repair;

/// Resolves `point` without touching what may be mounted there, takes dead mounts of ours away, makes the folder
/// if it is missing, and checks that the drive would hide nothing.
pub(super) fn prepare(point: &Path) -> Result<PathBuf, MountError> {
    let point = resolve(point)?;
    let taken = repair::take_away_dead(&point)?;
    if taken > 0 {
        tracing::info!("a dead mount of an earlier run was taken away");
    }
    let unusable = |source| MountError::Point { point: point.clone(), source };
    match fs::metadata(&point) {
        Ok(metadata) if !metadata.is_dir() => return Err(MountError::NotFolder { point }),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => fs::create_dir(&point).map_err(unusable)?,
        Err(error) => return Err(unusable(error)),
    }
    if fs::read_dir(&point).map_err(unusable)?.next().is_some() {
        return Err(MountError::NotEmpty { point });
    }
    Ok(point)
}

/// The absolute path of `point` without links; folders above it are made if they are missing. The last step is not
/// followed by the system's resolver, which fails on a dead mount.
pub(super) fn resolve(point: &Path) -> Result<PathBuf, MountError> {
    let unusable = |source| MountError::Point { point: point.to_owned(), source };
    let absolute = std::path::absolute(point).map_err(unusable)?;
    let (Some(parent), Some(name)) = (absolute.parent(), absolute.file_name()) else {
        return Err(unusable(io::Error::from(io::ErrorKind::InvalidInput)));
    };
    fs::create_dir_all(parent).map_err(unusable)?;
    let resolved = parent.canonicalize().map_err(unusable)?.join(name);
    match fs::read_link(&resolved) {
        Ok(_) => resolved.canonicalize().map_err(unusable),
        Err(_) => Ok(resolved),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_point_is_made_and_links_are_followed() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let point = base.join("new/drive");
        assert_eq!(prepare(&point).unwrap(), point);
        assert!(point.is_dir());
        std::os::unix::fs::symlink(&point, base.join("link")).unwrap();
        assert_eq!(prepare(&base.join("link")).unwrap(), point);
        assert_eq!(prepare(&base.join("new/../link")).unwrap(), point);
    }

    #[test]
    fn what_would_be_hidden_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "x").unwrap();
        let error = prepare(folder.path()).unwrap_err();
        assert!(matches!(&error, MountError::NotEmpty { .. }), "{error}");
        assert!(error.to_string().contains(&*folder.path().canonicalize().unwrap().to_string_lossy()));
        assert!(matches!(prepare(&folder.path().join("file")), Err(MountError::NotFolder { .. })));
        assert_eq!(fs::read(folder.path().join("file")).unwrap(), b"x");
        // Another file system is somebody else's.
        assert!(matches!(prepare(Path::new("/proc")), Err(MountError::Foreign { .. })));
    }
}
