//! The engine's settings.

use farhold_engine::settings;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::{Failure, FailureKind};

/// Limits are bytes per second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Settings {
    pub(crate) relay: Option<String>,
    pub(crate) drive: Option<String>,
    pub(crate) mount: bool,
    pub(crate) allow_other: bool,
    pub(crate) listen_port: u16,
    pub(crate) lan: bool,
    pub(crate) relay_only: bool,
    pub(crate) cache_dir: Option<String>,
    pub(crate) cache_limit: u64,
    pub(crate) limit_receive: Option<u64>,
    pub(crate) limit_send: Option<u64>,
}

/// `restartNeeded`: what was stored and applies when the engine starts again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SettingsReply {
    pub(crate) settings: Settings,
    #[ts(type = "(keyof Settings)[]")]
    pub(crate) restart_needed: Vec<&'static str>,
}
