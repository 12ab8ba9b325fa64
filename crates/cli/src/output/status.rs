//! The status.

use farhold_engine::status::{
    ContactStatus, LaneStatus, LatencySummary, MountStateName, NetworkStatus, PairingState, RelayStateName,
    SessionStateName, SessionStatus, Status, WireStatus,
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
                (MountStateName::Unmounted, _) => {
                    format!("unmounted, as asked; farhold mount brings it back to {point}")
                }
            }
        }
    };
    let seek = &status.seek;
    let lines = [
        ("Code", status.identity.code.clone()),
        ("Drive", drive),
        ("Relay", relay(&status.network)),
        ("Cache", super::cache::text(&status.cache)),
        ("Network", wire(&status.wire)),
        ("Jumps", format!("idle: {}; loaded: {}", latency(&seek.idle), latency(&seek.loaded))),
        ("First byte", latency(&status.first_byte)),
    ];
    let rows: Vec<_> = lines.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
    let mut parts = vec![table(&rows), sessions(&status.contacts)];
    parts.extend(status.contacts.iter().filter_map(connection));
    if !status.transfers.is_empty() {
        parts.push(super::transfers::list(&status.transfers));
    }
    parts.join("\n\n")
}

fn relay(network: &NetworkStatus) -> String {
    let port = match network.listen {
        Some(port) => format!("direct connections on port {port}"),
        None => "everything through the relay".to_owned(),
    };
    let Some(relay) = &network.relay else { return format!("none, {port}") };
    let state = match (network.relay_state, &network.relay_reason) {
        (RelayStateName::None | RelayStateName::Connecting, _) => "not reached yet".to_owned(),
        (RelayStateName::Connected, _) => "connected".to_owned(),
        (RelayStateName::Unreachable, Some(reason)) => format!("NOT REACHED: {}", printable(reason)),
        (RelayStateName::Unreachable, None) => "NOT REACHED".to_owned(),
    };
    format!("{relay} ({state}), {port}")
}

fn wire(wire: &WireStatus) -> String {
    format!(
        "{} in, {} out; now {} in, {} out",
        size::show(wire.received),
        size::show(wire.sent),
        size::rate(wire.rate_in),
        size::rate(wire.rate_out)
    )
}

/// The sessions with all contacts.
fn sessions(contacts: &[ContactStatus]) -> String {
    if contacts.is_empty() {
        return no_contacts();
    }
    let mut rows = vec![["CONTACT", "SESSION", "PATH", "RTT", "THERE", "NOTE"].map(str::to_owned).to_vec()];
    rows.extend(contacts.iter().map(|contact| {
        let session = &contact.session;
        vec![
            printable(&contact.name),
            state(session.state).to_owned(),
            path(session).unwrap_or_else(|| "-".to_owned()),
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

/// Who the contacts are.
pub(crate) fn contacts(contacts: &[ContactStatus]) -> String {
    if contacts.is_empty() {
        return no_contacts();
    }
    let mut rows = vec![["CONTACT", "PAIRING", "WORDS TO COMPARE", "CODE"].map(str::to_owned).to_vec()];
    rows.extend(contacts.iter().map(|contact| {
        let pairing = match contact.pairing {
            PairingState::Pending => "pending",
            PairingState::Provisional => "provisional",
            PairingState::Paired => "paired",
        };
        vec![
            printable(&contact.name),
            pairing.to_owned(),
            contact.words.clone().unwrap_or_else(|| "-".to_owned()),
            contact.code.clone(),
        ]
    }));
    table(&rows)
}

fn no_contacts() -> String {
    "No contacts yet. Give yours what `farhold code` prints, and add theirs with: farhold contact add NAME CODE"
        .to_owned()
}

fn note(contact: &ContactStatus) -> String {
    let pairing = match (contact.pairing, &contact.words) {
        (PairingState::Provisional, Some(words)) => {
            Some(format!("the contact has not confirmed the pairing yet; compare the words: {words}"))
        }
        (PairingState::Provisional, None) => Some("the contact has not confirmed the pairing yet".to_owned()),
        (PairingState::Pending | PairingState::Paired, _) => None,
    };
    let reason = contact.session.reason.as_deref().map(printable);
    reason.into_iter().chain(pairing).collect::<Vec<_>>().join("; ")
}

/// How a connection runs: its lanes, what is under way, and why it does not run better.
fn connection(contact: &ContactStatus) -> Option<String> {
    let session = &contact.session;
    if session.state != SessionStateName::Connected {
        return None;
    }
    let mut lines = vec![format!("{}:", printable(&contact.name))];
    let lanes: Vec<_> = session.lanes.iter().map(lane).collect();
    lines.extend((!lanes.is_empty()).then(|| indented(&table(&lanes))));
    lines.extend(session.governor.map(|governor| {
        format!(
            "  {} of {} under way, {} waiting; the path carries {}",
            size::show(governor.outstanding),
            size::show(governor.window),
            governor.queued,
            size::rate(governor.rate)
        )
    }));
    lines.extend(session.paths.iter().map(|way| {
        format!("  no {} path over {}: {}", way.path, way.transport.to_uppercase(), printable(&way.reason))
    }));
    Some(lines.join("\n"))
}

fn lane(lane: &LaneStatus) -> Vec<String> {
    let what = format!("{} lane", lane.class);
    let how = format!("{} {}", lane.path, lane.transport);
    match &lane.missing {
        Some(reason) => vec![what, how, format!("MISSING: {}", printable(reason))],
        None => vec![
            what,
            how,
            format!("{} in, {} out", size::show(lane.bytes_in), size::show(lane.bytes_out)),
            format!("now {} in, {} out", size::rate(lane.rate_in), size::rate(lane.rate_out)),
        ],
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

/// Path and transport, such as `direct quic`.
fn path(session: &SessionStatus) -> Option<String> {
    let path = session.path.as_ref()?;
    Some(match &session.transport {
        Some(transport) => format!("{path} {transport}"),
        None => path.clone(),
    })
}

/// One session, in a sentence.
pub(crate) fn session(name: &str, session: &SessionStatus) -> String {
    match session.state {
        SessionStateName::Connected => {
            let path = path(session).unwrap_or_else(|| "unknown".to_owned());
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

/// A few figures of latency.
pub(crate) fn latency(summary: &LatencySummary) -> String {
    match summary.count {
        0 => "none".to_owned(),
        count => format!(
            "{:.0} ms, p95 {:.0} ms, longest {:.0} ms ({count})",
            summary.p50_ms, summary.p95_ms, summary.max_ms
        ),
    }
}

#[cfg(test)]
mod tests;
