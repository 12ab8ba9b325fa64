//! What works on this machine, and how to mend what does not.

use farhold_net::RelayAddress;
use serde::Serialize;

use crate::layout::Layout;
use crate::settings::Settings;
use crate::status::Status;

mod checks;
mod relay;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Works.
    Ok,
    /// Works, but not everywhere or not for long.
    Warning,
    /// Does not work.
    Failed,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at, in a word.
    pub check: String,
    /// How it ended.
    pub verdict: Verdict,
    /// What was found.
    pub detail: String,
    /// What to do; `None` if nothing.
    pub fix: Option<String>,
}

impl Finding {
    fn ok(check: &str, detail: impl Into<String>) -> Self {
        Self { check: check.to_owned(), verdict: Verdict::Ok, detail: detail.into(), fix: None }
    }

    fn bad(check: &str, verdict: Verdict, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { check: check.to_owned(), verdict, detail: detail.into(), fix: Some(fix.into()) }
    }
}

/// Whether an engine runs on a config directory.
#[derive(Debug, Clone, Copy)]
pub enum Running<'a> {
    /// None does.
    No,
    /// One does, and this is how it stands.
    Yes(&'a Status),
    /// Something is there that does not answer as it should.
    Silent {
        /// What it does instead.
        reason: &'a str,
    },
}

/// Looks at everything that an engine on `layout` needs. `relay` is looked at instead of the one in use.
pub async fn examine(layout: &Layout, relay: Option<RelayAddress>, running: Running<'_>) -> Vec<Finding> {
    let (settings, unread) = match Settings::read(&layout.settings()) {
        Ok(settings) => (settings.unwrap_or_default(), None),
        Err(error) => (Settings::default(), Some(error)),
    };
    let status = match running {
        Running::Yes(status) => Some(status),
        Running::No | Running::Silent { .. } => None,
    };
    let known = status.and_then(|status| status.network.relay.clone()).or(settings.relay.clone());
    let relay = relay.or_else(|| known.and_then(|relay| relay.parse().ok()));
    vec![
        checks::engine(running),
        checks::fuse(),
        checks::mount(status),
        checks::settings(unread.as_ref()),
        checks::config_rights(layout),
        checks::secrets(layout),
        relay::tcp(relay.as_ref()).await,
        relay::udp(relay.as_ref()).await,
        checks::port(settings.listen_port, status),
        checks::watches(),
    ]
}
