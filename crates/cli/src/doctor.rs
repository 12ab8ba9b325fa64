//! `farhold doctor`: what works on this machine, and how to mend what does not.

use std::path::Path;

use farhold_control::{ControlClient, ControlError};
use farhold_engine::doctor::{self, Finding, Running, Verdict};
use farhold_engine::layout::Layout;
use farhold_engine::{RelayAddress, diagnostics};
use serde_json::json;

use crate::exit::CommandError;
use crate::output::{Output, printable};

/// Looks at everything; the command succeeds whatever it finds.
pub(crate) async fn run(
    layout: &Layout,
    relay: Option<RelayAddress>,
    output: Output,
) -> Result<(), CommandError> {
    let asked = async { ControlClient::attach(&layout.control_socket()).await?.status().await };
    let asked = asked.await;
    let silent = asked.as_ref().err().map(ToString::to_string).unwrap_or_default();
    let running = match &asked {
        Ok(status) => Running::Yes(status),
        Err(ControlError::NotRunning { .. }) => Running::No,
        Err(ControlError::Failed { .. } | ControlError::TimedOut | ControlError::Answer(_)) => {
            Running::Silent { reason: &silent }
        }
    };
    let findings = doctor::examine(layout, relay, running).await;
    let well = findings.iter().all(|finding| finding.verdict != Verdict::Failed);
    output.say(|| json!({"ok": well, "checks": findings}), || text(&findings))
}

/// Writes the document for whoever looks for a fault.
pub(crate) async fn export(layout: &Layout, file: &Path, output: Output) -> Result<(), CommandError> {
    let document = match ControlClient::attach(&layout.control_socket()).await {
        Ok(mut client) => client.diagnostics().await?,
        Err(_) => diagnostics::without_engine(layout).await,
    };
    std::fs::write(file, document + "\n").map_err(CommandError::io("cannot write the file"))?;
    let file = file.to_string_lossy();
    output.say(
        || json!({"exported": file}),
        || format!("{} is written; look through it before you give it away.", printable(&file)),
    )
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
        let finding = |check: &str, verdict, detail: &str, fix: Option<&str>| Finding {
            check: check.to_owned(),
            verdict,
            detail: detail.to_owned(),
            fix: fix.map(str::to_owned),
        };
        let findings = [
            finding("relay", Verdict::Ok, "answers", None),
            finding("fuse", Verdict::Failed, "no /dev/fuse", Some("modprobe fuse")),
        ];
        assert_eq!(text(&findings), "ok    relay: answers\nBAD   fuse: no /dev/fuse\n      -> modprobe fuse");
        let json = serde_json::to_value(&findings[1]).unwrap();
        assert_eq!((&json["verdict"], &json["fix"]), (&json!("failed"), &json!("modprobe fuse")));
    }
}
