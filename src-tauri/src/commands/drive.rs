//! The drive and the cache.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use farhold_control::ControlClient;
use farhold_engine::commands::DrivePath;
use tauri::State;
use tauri::ipc::Channel;

use super::Shell;
use crate::desktop;
use crate::dto::{Failure, FailureKind, Holder, OpenFile, Path};

/// How often the page is told of open files, at most.
const OPEN_FILES_EVERY: Duration = Duration::from_millis(200);
/// How long the drive may take to tell whether something is a folder.
const LOOK: Duration = Duration::from_secs(2);

#[tauri::command]
pub(super) async fn mount(shell: State<'_, Shell>) -> Result<(), Failure> {
    Ok(shell.engine()?.mount().await.map(drop)?)
}

#[tauri::command]
pub(super) async fn unmount(shell: State<'_, Shell>, force: bool) -> Result<Vec<Holder>, Failure> {
    let unmounted = shell.engine()?.unmount(force).await?;
    // Who held it when it was unmounted nevertheless is no reason to ask again.
    let holders = if unmounted.unmounted { Vec::new() } else { unmounted.holders };
    Ok(holders.into_iter().map(Into::into).collect())
}

#[tauri::command]
pub(super) async fn open_drive(shell: State<'_, Shell>, path: Option<Path>) -> Result<(), Failure> {
    let path = path.map(|path| path.drive()).transpose()?.flatten();
    let place = place(&mut shell.engine()?, path.as_ref()).await?;
    if path.is_none() {
        return desktop::open_folder(&place).await;
    }
    let looked = {
        let place = place.clone();
        tokio::time::timeout(LOOK, tokio::task::spawn_blocking(move || place.is_dir())).await
    };
    match looked {
        Ok(Ok(true)) => desktop::open_folder(&place).await,
        // Also what is not known to be a folder: to open a contact's file would start a program with it.
        Ok(Ok(false) | Err(_)) | Err(_) => desktop::show_in_folder(&place).await,
    }
}

/// Where something of the drive is for other programs.
async fn place(engine: &mut ControlClient, path: Option<&DrivePath>) -> Result<PathBuf, Failure> {
    let mount = engine.status().await?.mount.ok_or_else(|| {
        Failure::new(FailureKind::NotConnected, "The drive is not mounted; mount it and try again.")
    })?;
    Ok(match path {
        Some(path) => mount.point.join(std::ffi::OsStr::from_bytes(&path.to_bytes())),
        None => mount.point,
    })
}

#[tauri::command]
pub(super) async fn pin(shell: State<'_, Shell>, path: Path) -> Result<(), Failure> {
    Ok(shell.engine()?.pin(&path.drive_entry()?).await.map(drop)?)
}

#[tauri::command]
pub(super) async fn unpin(shell: State<'_, Shell>, path: Path) -> Result<(), Failure> {
    Ok(shell.engine()?.unpin(&path.drive_entry()?).await?)
}

#[tauri::command]
pub(super) async fn drop_cache(shell: State<'_, Shell>, path: Option<Path>) -> Result<(), Failure> {
    let path = path.map(|path| path.drive()).transpose()?.flatten();
    Ok(shell.engine()?.drop_cache(path.as_ref()).await.map(drop)?)
}

/// Tells what is open, of whatever engine is shown, until the page wants it no more.
#[tauri::command]
pub(super) fn watch_open_files(shell: State<'_, Shell>, channel: Channel<Vec<OpenFile>>) {
    let mut client = shell.client.clone();
    let watching = async move {
        loop {
            let Ok(engine) = client.wait_for(Option::is_some).await.map(|engine| engine.clone()) else {
                return;
            };
            if let Some(engine) = engine
                && tell_open_files(engine, &channel).await.is_err()
            {
                return;
            }
            // The engine ended: what it had open is closed.
            if channel.send(Vec::new()).is_err() || client.changed().await.is_err() {
                return;
            }
        }
    };
    shell.watch_with(Some(tokio::spawn(watching).abort_handle()));
}

/// An error means that the page listens no more.
async fn tell_open_files(mut engine: ControlClient, channel: &Channel<Vec<OpenFile>>) -> tauri::Result<()> {
    use futures_util::StreamExt;
    let Ok(mut told) = engine.watch_open_files(OPEN_FILES_EVERY).await else { return Ok(()) };
    while let Some(Ok(files)) = told.next().await {
        channel.send(files.into_iter().map(Into::into).collect())?;
    }
    Ok(())
}

#[tauri::command]
pub(super) fn unwatch_open_files(shell: State<'_, Shell>) {
    shell.watch_with(None);
}
