//! Files of this machine.

use std::path::PathBuf;
use std::time::Duration;

use tauri::State;

use super::Shell;
use crate::desktop::{self, Choice};
use crate::dto::{DescribedPath, Failure, FailureKind, Path, PathKindOnDisk};

/// Most paths that are looked at in one call.
const MOST: usize = 1000;
/// How long a disk may take to tell of them.
const LOOK: Duration = Duration::from_secs(30);

#[tauri::command]
pub(super) async fn show_in_folder(path: Path) -> Result<(), Failure> {
    desktop::show_in_folder(&path.local()?).await
}

#[tauri::command]
pub(super) async fn pick_files(shell: State<'_, Shell>) -> Result<Vec<Path>, Failure> {
    let texts = *shell.texts.borrow();
    Ok(sent(desktop::choose(&shell.app, Choice::Files, texts).await?))
}

#[tauri::command]
pub(super) async fn pick_folder(shell: State<'_, Shell>) -> Result<Option<Path>, Failure> {
    let texts = *shell.texts.borrow();
    Ok(sent(desktop::choose(&shell.app, Choice::Folder, texts).await?).pop())
}

#[tauri::command]
pub(super) async fn paste_paths(shell: State<'_, Shell>) -> Result<Vec<Path>, Failure> {
    Ok(sent(desktop::paste_paths(&shell.app).await?))
}

fn sent(paths: Vec<PathBuf>) -> Vec<Path> {
    paths.into_iter().map(Path::new).collect()
}

#[tauri::command]
pub(super) async fn describe_paths(paths: Vec<Path>) -> Result<Vec<DescribedPath>, Failure> {
    if paths.len() > MOST {
        let text = format!("At most {MOST} files are looked at in one go; choose fewer, or their folder.");
        return Err(Failure::new(FailureKind::Usage, text));
    }
    let paths = paths.iter().map(Path::local).collect::<Result<Vec<_>, _>>()?;
    let described = tokio::task::spawn_blocking(move || paths.into_iter().map(describe).collect());
    let described = tokio::time::timeout(LOOK, described).await.map_err(|_| {
        let text = "The disk that the files are on does not answer; see whether it is still connected.";
        Failure::new(FailureKind::Timeout, text)
    })?;
    described.map_err(|error| Failure::internal("The files cannot be looked at", error))
}

fn describe(path: PathBuf) -> DescribedPath {
    let found = path.metadata();
    let (kind, size) = match &found {
        Ok(found) if found.is_dir() => (PathKindOnDisk::Folder, None),
        Ok(found) if found.is_file() => (PathKindOnDisk::File, Some(found.len())),
        Ok(_) | Err(_) => (PathKindOnDisk::Other, None),
    };
    let display = path.display().to_string();
    let problem = match (&found, kind) {
        // Dropped paths come as text, so a name that is none arrives with its bytes replaced.
        (Err(_), _) if display.contains(char::REPLACEMENT_CHARACTER) => Some(
            "Its name is no readable text, which dropping does not carry; choose it with the button, or share its folder."
                .to_owned(),
        ),
        (Err(error), _) => Some(format!("It cannot be read: {error}.")),
        (Ok(_), PathKindOnDisk::Other) => Some("It is neither a file nor a folder.".to_owned()),
        (Ok(_), PathKindOnDisk::File | PathKindOnDisk::Folder) => None,
    };
    let name = path.file_name().map_or_else(|| display.clone(), |name| name.to_string_lossy().into_owned());
    DescribedPath { path: Path::new(&path), display, name, kind, size, problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_described_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a b");
        std::fs::write(&file, "xyz").unwrap();
        let described = describe(file);
        assert_eq!(
            (described.name.as_str(), described.kind, described.size),
            ("a b", PathKindOnDisk::File, Some(3))
        );
        assert_eq!(described.problem, None);
        assert_eq!(describe(folder.path().to_owned()).kind, PathKindOnDisk::Folder);
        assert!(describe("/dev/null".into()).problem.unwrap().contains("neither"));
        assert!(describe(folder.path().join("gone")).problem.is_some());
        assert!(describe(folder.path().join("caf\u{fffd}")).problem.unwrap().contains("no readable text"));
    }
}
