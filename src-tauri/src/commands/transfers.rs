//! Files and folders under way as a whole.

use farhold_engine::status::TransferId;
use tauri::State;

use super::Shell;
use crate::controller::Request;
use crate::dto::{Failure, Path, Transfer};

#[tauri::command]
pub(super) async fn transfers(shell: State<'_, Shell>) -> Result<Vec<Transfer>, Failure> {
    shell.ask(Request::Transfers).await
}

#[tauri::command]
pub(super) async fn push(shell: State<'_, Shell>, paths: Vec<Path>, contact: String) -> Result<(), Failure> {
    // All of them first: nothing is offered twice when the user tries again without a wrong one.
    let paths = paths.iter().map(Path::local).collect::<Result<Vec<_>, _>>()?;
    let mut engine = shell.engine()?;
    for path in paths {
        engine.push(&path, contact.clone()).await?;
    }
    Ok(())
}

#[tauri::command]
pub(super) async fn pull(
    shell: State<'_, Shell>,
    path: Path,
    destination: Option<Path>,
) -> Result<(), Failure> {
    let destination = destination.map(|folder| folder.local()).transpose()?;
    Ok(shell.engine()?.pull(&path.drive_entry()?, destination.as_deref()).await.map(drop)?)
}

#[tauri::command]
pub(super) async fn accept_offer(
    shell: State<'_, Shell>,
    id: u64,
    folder: Option<Path>,
) -> Result<(), Failure> {
    let folder = folder.map(|folder| folder.local()).transpose()?;
    Ok(shell.engine()?.accept_offer(TransferId(id), folder.as_deref()).await?)
}

#[tauri::command]
pub(super) async fn decline_offer(shell: State<'_, Shell>, id: u64) -> Result<(), Failure> {
    Ok(shell.engine()?.decline_offer(TransferId(id)).await?)
}

#[tauri::command]
pub(super) async fn pause(shell: State<'_, Shell>, id: u64) -> Result<(), Failure> {
    Ok(shell.engine()?.pause_transfer(TransferId(id)).await?)
}

#[tauri::command]
pub(super) async fn resume(shell: State<'_, Shell>, id: u64) -> Result<(), Failure> {
    Ok(shell.engine()?.resume_transfer(TransferId(id)).await?)
}

#[tauri::command]
pub(super) async fn cancel(shell: State<'_, Shell>, id: u64) -> Result<(), Failure> {
    Ok(shell.engine()?.cancel_transfer(TransferId(id)).await?)
}

#[tauri::command]
pub(super) async fn pause_all(shell: State<'_, Shell>) -> Result<(), Failure> {
    shell.tell(Request::PauseAll).await
}

#[tauri::command]
pub(super) async fn resume_all(shell: State<'_, Shell>) -> Result<(), Failure> {
    shell.tell(Request::ResumeAll).await
}

#[tauri::command]
pub(super) async fn forget_transfers(shell: State<'_, Shell>, ids: Option<Vec<u64>>) -> Result<(), Failure> {
    let ids: Option<Vec<TransferId>> = ids.map(|ids| ids.into_iter().map(TransferId).collect());
    Ok(shell.engine()?.forget_transfers(ids.as_deref()).await.map(drop)?)
}
