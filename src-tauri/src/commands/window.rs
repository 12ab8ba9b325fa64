//! The window, its state and the demo.

use tauri::State;

use super::Shell;
use crate::controller::{CloseHow, Request};
use crate::desktop;
use crate::dto::{self, Failure, Holder, Preferences};

#[tauri::command]
pub(super) async fn state(shell: State<'_, Shell>) -> Result<dto::State, Failure> {
    shell.ask(Request::State).await
}

#[tauri::command]
pub(super) async fn preferences(shell: State<'_, Shell>) -> Result<Preferences, Failure> {
    shell.ask(Request::Preferences).await
}

#[tauri::command]
pub(super) async fn set_preferences(
    shell: State<'_, Shell>,
    preferences: Preferences,
) -> Result<(), Failure> {
    shell.ask(|reply| Request::SetPreferences(preferences, reply)).await?
}

#[tauri::command]
pub(super) async fn restart_engine(shell: State<'_, Shell>) -> Result<(), Failure> {
    shell.tell(Request::RestartEngine).await
}

#[tauri::command]
pub(super) async fn start_demo(shell: State<'_, Shell>) -> Result<(), Failure> {
    shell.tell(Request::StartDemo).await
}

#[tauri::command]
pub(super) async fn stop_demo(shell: State<'_, Shell>) -> Result<(), Failure> {
    shell.tell(Request::StopDemo).await
}

#[tauri::command]
pub(super) async fn close_window(shell: State<'_, Shell>, how: CloseHow) -> Result<(), Failure> {
    shell.tell(Request::Close(how)).await
}

#[tauri::command]
pub(super) async fn quit(shell: State<'_, Shell>, force: bool) -> Result<Vec<Holder>, Failure> {
    shell.ask(|reply| Request::Quit { force, reply }).await?
}

#[tauri::command]
pub(super) async fn painted(shell: State<'_, Shell>) -> Result<(), Failure> {
    shell.tell(Request::Painted).await
}

#[tauri::command]
pub(super) async fn copy_text(shell: State<'_, Shell>, text: String) -> Result<(), Failure> {
    desktop::copy_text(&shell.app, text).await
}
