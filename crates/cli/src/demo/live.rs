//! The line that shows what happens.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use farhold_engine::Engine;
use farhold_engine::status::{Status, WireStatus};

use crate::exit::CommandError;
use crate::output::{Output, status};
use crate::size;

/// On a terminal one line is kept up to date; elsewhere lines follow each other more slowly.
const TERMINAL: Duration = Duration::from_secs(1);
const PLAIN: Duration = Duration::from_secs(5);

/// Shows until the engine is stopped; programs are shown nothing.
pub(super) async fn show(engine: &Engine, contact: &str, output: Output) -> Result<(), CommandError> {
    if output.is_json() {
        engine.stopping().await;
        return Ok(());
    }
    let terminal = io::stdout().is_terminal();
    let interval = if terminal { TERMINAL } else { PLAIN };
    let mut last = engine.status()?.wire;
    loop {
        tokio::time::sleep(interval).await;
        let Ok(now) = engine.status() else { return Ok(()) };
        let line = line(&now, last, interval, contact);
        last = now.wire;
        let mut out = io::stdout().lock();
        let written = if terminal { write!(out, "\r\x1b[2K{line}") } else { writeln!(out, "{line}") };
        written.and_then(|()| out.flush()).map_err(CommandError::io("cannot write to standard output"))?;
    }
}

/// Leaves the line, for whatever comes after it.
pub(super) fn end(output: Output) {
    if !output.is_json() && io::stdout().is_terminal() {
        // Only looks: nothing depends on it.
        let _ = writeln!(io::stdout());
    }
}

fn line(now: &Status, last: WireStatus, interval: Duration, contact: &str) -> String {
    let session = now.contacts.iter().find(|other| other.name == contact).map(|contact| &contact.session);
    let path = session.map_or_else(String::new, |session| {
        session.path.clone().unwrap_or_else(|| status::state(session.state).to_owned())
    });
    let rate = |now: u64, last: u64| {
        size::rate((now.saturating_sub(last) as f64 / interval.as_secs_f64()).round() as u64)
    };
    let cache = &now.cache;
    let saved = cache.percent_saved().unwrap_or(0);
    let jumps = [("", &now.seek.idle), (" loaded", &now.seek.loaded)]
        .into_iter()
        .filter(|(_, summary)| summary.count > 0)
        .map(|(kind, summary)| format!(" | jumps{kind} {:.0}/{:.0} ms", summary.p50_ms, summary.p95_ms))
        .collect::<String>();
    format!(
        "{path} | {} in {} out | cache {}, {saved} % of reads{jumps}",
        rate(now.wire.received, last.received),
        rate(now.wire.sent, last.sent),
        size::show(cache.used),
    )
}

#[cfg(test)]
mod tests {
    use farhold_engine::status::{
        CacheStatus, ContactStatus, IdentityStatus, LatencySummary, NetworkStatus, PairingState,
        RelayStateName, SecretStore, SeekStatus, SessionStateName, SessionStatus,
    };

    use super::*;

    fn status(session: SessionStateName, path: Option<&str>) -> Status {
        Status {
            identity: IdentityStatus { code: String::new(), secrets: SecretStore::File },
            contacts: vec![ContactStatus {
                name: "demo".to_owned(),
                code: String::new(),
                pairing: PairingState::Paired,
                present: Some(true),
                wanted: true,
                session: SessionStatus {
                    state: session,
                    path: path.map(str::to_owned),
                    transport: None,
                    lanes: Vec::new(),
                    paths: Vec::new(),
                    governor: None,
                    rtt_ms: None,
                    epoch: None,
                    reason: None,
                },
                words: None,
                accept: None,
            }],
            mount: None,
            cache: CacheStatus::default(),
            wire: WireStatus::default(),
            seek: SeekStatus::default(),
            first_byte: LatencySummary::default(),
            transfers: Vec::new(),
            network: NetworkStatus {
                relay: None,
                relay_state: RelayStateName::None,
                relay_reason: None,
                listen: None,
            },
        }
    }

    #[test]
    fn it_tells_rates_cache_and_jumps() {
        let mut now = status(SessionStateName::Connected, Some("direct"));
        let last = WireStatus { received: 1_000_000, sent: 500, ..WireStatus::default() };
        now.wire = WireStatus { received: 25_000_000, sent: 500, ..WireStatus::default() };
        now.cache = CacheStatus { used: 24_000_000, served: 400, fetched: 300, ..CacheStatus::default() };
        now.seek.loaded = LatencySummary { count: 4, p50_ms: 2.0, p95_ms: 9.4, p99_ms: 9.9, max_ms: 10.0 };
        assert_eq!(
            line(&now, last, Duration::from_secs(2), "demo"),
            "direct | 12.0 MB/s in 0 B/s out | cache 24.0 MB, 25 % of reads | jumps loaded 2/9 ms"
        );
    }

    #[test]
    fn without_a_connection_it_says_so() {
        let now = status(SessionStateName::Interrupted, None);
        let line = line(
            &now,
            WireStatus { received: 5, sent: 5, ..WireStatus::default() },
            Duration::from_secs(1),
            "demo",
        );
        assert_eq!(line, "interrupted | 0 B/s in 0 B/s out | cache 0 B, 0 % of reads");
    }
}
