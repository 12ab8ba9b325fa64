//! Settings: shown, and changed one at a time.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use farhold_control::ControlClient;
use farhold_engine::settings::{Settings, SettingsKey, StoredSettings};
use serde_json::json;

use crate::exit::CommandError;
use crate::output::table::table;
use crate::output::{Output, printable};
use crate::size;

/// Instead of a value: the default of what may be left out.
const NULL: &str = "null";

/// Shows all, or changes one.
pub(super) async fn run(
    change: Option<(SettingsKey, OsString)>,
    mut client: ControlClient,
    output: Output,
) -> Result<(), CommandError> {
    let mut stored = client.settings().await?;
    if let Some((key, value)) = change {
        let settings = changed(stored.settings, key, &value)
            .map_err(|reason| CommandError::Value { key, reason: reason.to_owned() })?;
        stored = client.change_settings(settings).await?;
    }
    output.say(|| json!(stored), || text(&stored))
}

fn changed(mut settings: Settings, key: SettingsKey, value: &OsStr) -> Result<Settings, &'static str> {
    match key {
        SettingsKey::Relay => settings.relay = given(value).map(text_of).transpose()?,
        SettingsKey::Drive => settings.drive = given(value).map(folder).transpose()?,
        SettingsKey::Mount => settings.mount = switch(value)?,
        SettingsKey::AllowOther => settings.allow_other = switch(value)?,
        SettingsKey::ListenPort => {
            settings.listen_port = text_of(value)?.parse().map_err(|_| "not a port; 0 takes any free one")?;
        }
        SettingsKey::Lan => settings.lan = switch(value)?,
        SettingsKey::RelayOnly => settings.relay_only = switch(value)?,
        SettingsKey::CacheDir => settings.cache_dir = given(value).map(folder).transpose()?,
        SettingsKey::CacheLimit => settings.cache_limit = amount(value)?,
        SettingsKey::LimitReceive => settings.limit_receive = given(value).map(amount).transpose()?,
        SettingsKey::LimitSend => settings.limit_send = given(value).map(amount).transpose()?,
    }
    Ok(settings)
}

fn given(value: &OsStr) -> Option<&OsStr> {
    (value != NULL).then_some(value)
}

fn text_of(value: &OsStr) -> Result<String, &'static str> {
    value.to_str().map(str::to_owned).ok_or("not a text")
}

/// The engine has another working directory.
fn folder(value: &OsStr) -> Result<PathBuf, &'static str> {
    std::path::absolute(value).map_err(|_| "not a path")
}

fn switch(value: &OsStr) -> Result<bool, &'static str> {
    value.to_str().and_then(|text| text.parse().ok()).ok_or("write true or false")
}

fn amount(value: &OsStr) -> Result<u64, &'static str> {
    value.to_str().and_then(|text| size::parse(text).ok()).ok_or("not an amount; write it like 20GB")
}

fn text(stored: &StoredSettings) -> String {
    let settings = json!(stored.settings);
    let row = |key: SettingsKey| {
        let value = &settings[key.name()];
        let value = value.as_str().map_or_else(|| value.to_string(), printable);
        let waits = stored.restart_needed.contains(&key);
        let note = if waits { "from the next start on" } else { "" };
        vec![key.name().to_owned(), value, note.to_owned()]
    };
    table(&SettingsKey::ALL.map(row))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn set(key: &str, value: &str) -> Result<Value, &'static str> {
        let base = Settings { relay: Some("r:1".into()), limit_send: Some(5), ..Settings::default() };
        let key: SettingsKey = key.parse().map_err(|_| "no such key")?;
        let new = changed(base.clone(), key, value.as_ref())?;
        for other in SettingsKey::ALL.into_iter().filter(|other| *other != key) {
            assert_eq!(json!(new)[other.name()], json!(base)[other.name()], "{other}");
        }
        Ok(json!(new)[key.name()].clone())
    }

    #[test]
    fn one_setting_is_changed() {
        let here = std::env::current_dir().unwrap();
        for (key, value, new) in [
            ("relay", "b:2", json!("b:2")),
            ("relay", "null", json!(null)),
            ("drive", "d", json!(here.join("d"))),
            ("drive", "null", json!(null)),
            ("mount", "false", json!(false)),
            ("allow_other", "true", json!(true)),
            ("listen_port", "7000", json!(7000)),
            ("lan", "false", json!(false)),
            ("relay_only", "true", json!(true)),
            ("cache_dir", "/c", json!("/c")),
            ("cache_limit", "20GB", json!(20_000_000_000u64)),
            ("limit_receive", "1.5 MB", json!(1_500_000)),
            ("limit_send", "null", json!(null)),
        ] {
            assert_eq!(set(key, value), Ok(new), "{key} {value}");
        }
        for (key, value) in [
            ("mount", "yes"),
            ("mount", "null"),
            ("listen_port", "70000"),
            ("cache_limit", "null"),
            ("limit_send", "-1"),
        ] {
            assert!(set(key, value).is_err(), "{key} {value}");
        }
    }

    #[test]
    fn what_waits_is_said() {
        let stored =
            StoredSettings { settings: Settings::default(), restart_needed: vec![SettingsKey::ListenPort] };
        let text = text(&stored);
        assert!(text.contains("\nlisten_port    0            from the next start on\n"), "{text}");
        assert!(text.contains("\nlan            true\n"), "{text}");
    }
}
