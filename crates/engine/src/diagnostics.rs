//! One document for whoever looks for a fault: what runs here, how it is set and how it stands, without anything that
//! tells who and what it is about. Names, codes, paths and addresses are numbered instead, each always alike.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use self::redactor::Redactor;
use crate::doctor::{self, Finding, Running};
use crate::layout::Layout;
use crate::settings::Settings;
use crate::status::Status;

mod redact;
mod redactor;

/// Transfers that are told, the latest.
const TRANSFERS: usize = 100;

/// What goes into the document, as it is.
pub(crate) struct Facts<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) settings: Settings,
    /// `None` if no engine runs.
    pub(crate) status: Option<Status>,
    pub(crate) findings: Vec<Finding>,
    /// The latest log messages.
    pub(crate) log: Vec<String>,
}

#[derive(Serialize)]
struct Document {
    farhold: &'static str,
    /// Seconds since 1970.
    written: u64,
    system: System,
    settings: Settings,
    status: Option<Status>,
    /// How many there are; the status has the latest.
    transfers: usize,
    doctor: Vec<Finding>,
    log: Vec<String>,
}

#[derive(Serialize)]
struct System {
    name: Option<String>,
    kernel: Option<String>,
    processor: &'static str,
}

impl System {
    fn here() -> Self {
        let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
        let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
        Self {
            name: name.map(|name| name.trim_matches('"').to_owned()),
            kernel: of_kernel("osrelease"),
            processor: std::env::consts::ARCH,
        }
    }
}

/// What Linux says of itself (proc_sys_kernel(5)); nothing elsewhere.
fn of_kernel(what: &str) -> Option<String> {
    let told = std::fs::read_to_string(Path::new("/proc/sys/kernel").join(what)).ok()?;
    Some(told.trim().to_owned())
}

/// The document about a config directory that no engine runs on.
pub async fn without_engine(layout: &Layout) -> String {
    let findings = doctor::examine(layout, None, Running::No).await;
    let settings = Settings::read(&layout.settings()).ok().flatten().unwrap_or_default();
    document(Facts { layout, settings, status: None, findings, log: Vec::new() })
}

/// The document, as JSON.
pub(crate) fn document(facts: Facts<'_>) -> String {
    let Facts { layout, settings, mut status, findings, log } = facts;
    let transfers = status.as_ref().map_or(0, |status| status.transfers.len());
    if let Some(status) = &mut status {
        status.transfers.drain(..transfers.saturating_sub(TRANSFERS));
    }
    let mut redactor = Redactor::default();
    know_this_machine(&mut redactor, layout.root());
    // First of all once for nothing: a text may name what is told after it.
    redactor.settings(settings.clone());
    if let Some(status) = &status {
        redactor.status(status.clone());
    }
    let document = Document {
        farhold: env!("CARGO_PKG_VERSION"),
        written: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
        system: System::here(),
        settings: redactor.settings(settings),
        status: status.map(|status| redactor.status(status)),
        transfers,
        doctor: findings.into_iter().map(|finding| redactor.finding(finding)).collect(),
        log: log.iter().map(|line| redactor.text(line)).collect(),
    };
    // Strings, numbers and lists of them: all of it can be written.
    serde_json::to_string_pretty(&document).unwrap_or_default()
}

fn know_this_machine(redactor: &mut Redactor, config_dir: &Path) {
    redactor.path(config_dir);
    let home: Option<PathBuf> = std::env::home_dir();
    if let Some(home) = home.filter(|home| home.parent().is_some()) {
        redactor.path(&home);
        if let Some(user) = home.file_name() {
            redactor.name(&user.to_string_lossy());
        }
    }
    if let Some(host) = of_kernel("hostname") {
        redactor.name(&host);
    }
}

#[cfg(test)]
mod tests;
