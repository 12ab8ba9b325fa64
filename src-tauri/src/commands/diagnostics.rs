//! What helps to find a fault.

use farhold_engine::doctor::{Running, examine};
use farhold_engine::layout::Layout;
use tauri::State;

use super::Shell;
use crate::desktop::{self, Choice};
use crate::dto::{Check, Failure, Path};

/// What the file is called unless the user says otherwise.
const FILE: &str = "farhold-diagnostics.json";

#[tauri::command]
pub(super) async fn doctor(shell: State<'_, Shell>) -> Result<Vec<Check>, Failure> {
    let findings = match shell.engine() {
        Ok(mut engine) => engine.doctor().await?,
        Err(_) => examine(&Layout::new(&shell.config_dir), None, Running::No).await,
    };
    Ok(findings.into_iter().map(Into::into).collect())
}

#[tauri::command]
pub(super) async fn preview_diagnostics(shell: State<'_, Shell>) -> Result<String, Failure> {
    Ok(shell.engine()?.diagnostics().await?)
}

#[tauri::command]
pub(super) async fn export_diagnostics(shell: State<'_, Shell>) -> Result<Option<Path>, Failure> {
    let document = shell.engine()?.diagnostics().await?;
    let texts = *shell.texts.borrow();
    let Some(file) = desktop::choose(&shell.app, Choice::Save(FILE), texts).await?.pop() else {
        return Ok(None);
    };
    tokio::fs::write(&file, document)
        .await
        .map_err(|error| Failure::internal("The diagnostics cannot be saved there", error))?;
    Ok(Some(Path::new(file)))
}
