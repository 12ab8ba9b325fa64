//! The status.

use farhold_engine::status::{
    CacheStatus, ContactStatus, LatencySummary, MountStateName, PairingState, SessionStateName,
    SessionStatus, Status,
};

use super::printable;
use super::table::table;
use crate::size;

/// Everything, for people.
pub(crate) fn text(status: &Status) -> String {
    let drive = match &status.mount {
        None => "not mounted, as asked".to_owned(),
        Some(mount) => {
            let point = printable(&mount.point.to_string_lossy());
            match (mount.state, &mount.reason) {
                (MountStateName::Mounted, _) => point,
                (MountStateName::Failed, Some(reason)) => format!("{point}, NOT MOUNTED: {reason}"),
                (MountStateName::Failed, None) => format!("{point}, NOT MOUNTED"),
            }
        }
    };
    let network = match status.network.listen {
        Some(port) => format!("direct connections on port {port}"),
        None => "through the relay only".to_owned(),
    };
    let lines = [
        ("Code", status.identity.code.clone()),
        ("Drive", drive),
        ("Relay", format!("{}, {network}", status.network.relay.as_deref().unwrap_or("none"))),
        (
            "Cache",
            format!(
                "{} of {}. {}",
                size::show(status.cache.used),
                size::show(status.cache.limit),
                saved(&status.cache)
            ),
        ),
        ("Network", format!("{} in, {} out", size::show(status.wire.received), size::show(status.wire.sent))),
        ("Jumps", format!("idle: {}; loaded: {}", latency(&status.seek.idle), latency(&status.seek.loaded))),
    ];
    let rows: Vec<_> = lines.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
    format!("{}\n\n{}", table(&rows), contacts(&status.contacts))
}

/// All contacts.
pub(crate) fn contacts(contacts: &[ContactStatus]) -> String {
    if contacts.is_empty() {
        return "No contacts yet. Give yours what `farhold code` prints, and add theirs with: \
                farhold contact add NAME CODE"
            .to_owned();
    }
    let mut rows = vec![["CONTACT", "SESSION", "PATH", "RTT", "THERE", "NOTE"].map(str::to_owned).to_vec()];
    rows.extend(contacts.iter().map(|contact| {
        let session = &contact.session;
        vec![
            contact.name.clone(),
            state(session.state).to_owned(),
            session.path.clone().unwrap_or_else(|| "-".to_owned()),
            session.rtt_ms.map_or_else(|| "-".to_owned(), |rtt| format!("{rtt:.1} ms")),
            match contact.present {
                Some(true) => "yes",
                Some(false) => "no",
                None => "?",
            }
            .to_owned(),
            note(contact),
        ]
    }));
    table(&rows)
}

fn note(contact: &ContactStatus) -> String {
    let pairing = match contact.pairing {
        PairingState::Pending => None,
        PairingState::Provisional => Some("the contact has not confirmed the pairing yet"),
        PairingState::Paired => None,
    };
    let missing = contact.session.lanes.iter().find_map(|lane| {
        lane.missing.as_ref().map(|reason| format!("{} lane missing: {reason}", lane.class))
    });
    [contact.session.reason.clone(), pairing.map(str::to_owned), missing]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("; ")
}

/// One session, in a sentence.
pub(crate) fn session(name: &str, session: &SessionStatus) -> String {
    match session.state {
        SessionStateName::Connected => {
            let path = session.path.as_deref().unwrap_or("unknown");
            let rtt = session.rtt_ms.map(|rtt| format!(", {rtt:.1} ms")).unwrap_or_default();
            format!("Connected to {name} ({path}{rtt}).")
        }
        SessionStateName::Connecting => format!("Connecting to {name}."),
        SessionStateName::Interrupted => format!("The connection to {name} is being made again."),
        SessionStateName::Offline => {
            let reason = session.reason.as_deref().unwrap_or("nothing is known yet");
            format!("{name} will be connected as soon as possible; now: {reason}.")
        }
    }
}

/// The name of a state, as in JSON.
pub(crate) fn state(state: SessionStateName) -> &'static str {
    match state {
        SessionStateName::Offline => "offline",
        SessionStateName::Connecting => "connecting",
        SessionStateName::Connected => "connected",
        SessionStateName::Interrupted => "interrupted",
    }
}

/// How much the cache spared the network.
pub(crate) fn saved(cache: &CacheStatus) -> String {
    match cache.percent_saved() {
        None => "Nothing was read yet.".to_owned(),
        Some(percent) => format!("{percent} % of what was read came from here."),
    }
}

/// A few figures of latency.
pub(crate) fn latency(summary: &LatencySummary) -> String {
    match summary.count {
        0 => "none".to_owned(),
        count => format!("{:.0} ms, p95 {:.0} ms ({count})", summary.p50_ms, summary.p95_ms),
    }
}
