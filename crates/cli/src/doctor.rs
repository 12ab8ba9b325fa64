//! `farhold doctor`: what works on this machine, and how to mend what does not.

use farhold_control::ControlClient;
use farhold_engine::RelayAddress;
use farhold_engine::layout::Layout;
use farhold_engine::settings::Settings;
use serde::Serialize;
use serde_json::json;

use crate::exit::CommandError;
use crate::output::Output;

mod checks;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    Ok,
    /// Works, but not everywhere or not for long.
    Warning,
    Failed,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    check: &'static str,
    verdict: Verdict,
    detail: String,
    /// What to do; `None` if nothing.
    fix: Option<String>,
}

impl Finding {
    fn ok(check: &'static str, detail: impl Into<String>) -> Self {
        Self { check, verdict: Verdict::Ok, detail: detail.into(), fix: None }
    }

    fn bad(check: &'static str, verdict: Verdict, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { check, verdict, detail: detail.into(), fix: Some(fix.into()) }
    }
}

/// Looks at everything; the command succeeds whatever it finds.
pub(crate) async fn run(
    layout: &Layout,
    relay: Option<RelayAddress>,
    output: Output,
) -> Result<(), CommandError> {
    let asked = async { ControlClient::attach(&layout.control_socket()).await?.status().await };
    let asked = asked.await;
    let engine = checks::engine(asked.as_ref().err());
    let running = asked.ok();
    let (settings, read) = match Settings::read(&layout.settings()) {
        Ok(settings) => (settings.unwrap_or_default(), None),
        Err(error) => (Settings::default(), Some(error)),
    };
    let known = running.as_ref().and_then(|status| status.network.relay.clone()).or(settings.relay.clone());
    let relay = relay.or_else(|| known.and_then(|relay| relay.parse().ok()));
    let findings = [
        engine,
        checks::fuse(),
        checks::mount(running.as_ref()),
        checks::settings(read.as_ref()),
        checks::config_rights(layout),
        checks::secrets(layout),
        checks::relay::tcp(relay.as_ref()).await,
        checks::relay::udp(relay.as_ref()).await,
        checks::port(settings.listen_port, running.as_ref()),
        checks::watches(),
    ];
    let well = findings.iter().all(|finding| finding.verdict != Verdict::Failed);
    output.say(|| json!({"ok": well, "checks": findings}), || text(&findings))
}

fn text(findings: &[Finding]) -> String {
    let paragraph = |finding: &Finding| {
        let mark = match finding.verdict {
            Verdict::Ok => "ok  ",
            Verdict::Warning => "note",
            Verdict::Failed => "BAD ",
        };
        let fix = finding.fix.as_ref().map(|fix| format!("\n      -> {fix}")).unwrap_or_default();
        format!("{mark}  {}: {}{fix}", finding.check, finding.detail)
    };
    findings.iter().map(paragraph).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fix_follows_what_it_mends() {
        let findings = [
            Finding::ok("relay", "answers"),
            Finding::bad("fuse", Verdict::Failed, "no /dev/fuse", "modprobe fuse"),
        ];
        assert_eq!(text(&findings), "ok    relay: answers\nBAD   fuse: no /dev/fuse\n      -> modprobe fuse");
        let json = serde_json::to_value(&findings[1]).unwrap();
        assert_eq!((&json["verdict"], &json["fix"]), (&json!("failed"), &json!("modprobe fuse")));
    }
}
