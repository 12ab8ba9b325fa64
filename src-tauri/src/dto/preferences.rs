//! What the user chose of the window and the tray.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Colours of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Theme {
    System,
    Light,
    Dark,
}

/// What is worth a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NotificationSwitches {
    pub(crate) present: bool,
    pub(crate) offered: bool,
    pub(crate) transfer_done: bool,
    pub(crate) transfer_failed: bool,
    pub(crate) conflict: bool,
    pub(crate) disk_low: bool,
}

/// `language` null is the system's; `scale` is percent, 100 to 200.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Preferences {
    pub(crate) theme: Theme,
    pub(crate) language: Option<String>,
    pub(crate) scale: u16,
    pub(crate) notifications: NotificationSwitches,
    pub(crate) autostart: bool,
    pub(crate) close_to_tray: bool,
    pub(crate) first_run_done: bool,
}

impl Default for Preferences {
    fn default() -> Self {
        Self {
            theme: Theme::System,
            language: None,
            scale: 100,
            notifications: NotificationSwitches {
                present: false,
                offered: true,
                transfer_done: true,
                transfer_failed: true,
                conflict: true,
                disk_low: true,
            },
            autostart: false,
            close_to_tray: true,
            first_run_done: false,
        }
    }
}

impl Preferences {
    /// What cannot be used; `None` if everything can.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        if !(100..=200).contains(&self.scale) {
            return Some("The scale must be between 100 and 200 percent.");
        }
        let tag =
            |tag: &String| tag.len() <= 35 && tag.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        if !self.language.as_ref().is_none_or(tag) {
            return Some("The language must be a language tag such as en or de-AT.");
        }
        None
    }
}
