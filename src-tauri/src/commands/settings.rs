//! The engine's settings. Where no engine runs, those on disk: they may be why.

use farhold_engine::layout::Layout;
use tauri::State;

use super::Shell;
use crate::dto::{Failure, FailureKind, RelayTest, Settings, SettingsReply};

#[tauri::command]
pub(super) async fn settings(shell: State<'_, Shell>) -> Result<Settings, Failure> {
    match shell.engine() {
        Ok(mut engine) => Ok((&engine.settings().await?.settings).into()),
        Err(_) => {
            let path = Layout::new(&shell.config_dir).settings();
            let found = farhold_engine::settings::Settings::read(&path).map_err(unusable)?;
            Ok((&found.unwrap_or_default()).into())
        }
    }
}

#[tauri::command]
pub(super) async fn set_settings(
    shell: State<'_, Shell>,
    settings: Settings,
) -> Result<SettingsReply, Failure> {
    let wanted = farhold_engine::settings::Settings::from(settings);
    match shell.engine() {
        Ok(mut engine) => Ok(engine.change_settings(wanted).await?.into()),
        Err(_) => {
            wanted.check().map_err(|error| Failure::new(FailureKind::Usage, format!("{error}.")))?;
            wanted.save(&Layout::new(&shell.config_dir).settings()).map_err(unusable)?;
            Ok(SettingsReply { settings: (&wanted).into(), restart_needed: Vec::new() })
        }
    }
}

fn unusable(error: farhold_engine::settings::SettingsError) -> Failure {
    Failure::from(farhold_engine::EngineError::from(error))
}

#[tauri::command]
pub(super) async fn test_relay(shell: State<'_, Shell>, address: String) -> Result<RelayTest, Failure> {
    let round_trip = shell.engine()?.test_relay(address).await?;
    Ok(RelayTest { round_trip_ms: round_trip.as_secs_f64() * 1e3 })
}
