//! The metrics page, in the Prometheus text format, version 0.0.4.

use std::fmt;
use std::sync::Arc;

use super::{CallRefusal, Counters, DatagramLoss, JOIN_REFUSALS, LegEnd, PairEnd};
use crate::accept::Gate;
use crate::bridge::Bridge;
use crate::hub::Hub;
use crate::udp::UdpRelay;

/// What the metrics are taken from.
#[derive(Debug)]
pub(crate) struct Observed {
    pub(crate) rendezvous_gate: Arc<Gate>,
    pub(crate) bridge_gate: Arc<Gate>,
    pub(crate) http_gate: Arc<Gate>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) bridge: Arc<Bridge>,
    pub(crate) udp: Arc<UdpRelay>,
    pub(crate) counters: Arc<Counters>,
}

/// The page as it is now.
pub(crate) fn page(observed: &Observed) -> String {
    let Observed { rendezvous_gate, bridge_gate, http_gate, hub, bridge, udp, counters } = observed;
    let gates = [("rendezvous", rendezvous_gate), ("bridge", bridge_gate), ("http", http_gate)];
    let size = hub.size();
    let (udp_sides, udp_flows) = udp.held();
    let metrics = [
        Metric::gauge("connections", "Connections open now.")
            .by("port", gates.map(|(port, gate)| (port, gate.held() as u64))),
        Metric::counter("connections_total", "Connections accepted.")
            .by("port", gates.map(|(port, gate)| (port, gate.admitted.get()))),
        Metric::counter("connections_refused_total", "Connections closed at once, being over a limit.")
            .by("port", gates.map(|(port, gate)| (port, gate.refused.get()))),
        Metric::gauge("tokens", "Tokens with posts.").is(size.tokens as u64),
        Metric::gauge("posts", "Posts alive.").is(size.posts as u64),
        Metric::gauge("post_bytes", "Bytes of the posts alive.").is(size.post_bytes as u64),
        Metric::counter("posts_total", "Posts taken.").is(counters.posts.get()),
        Metric::gauge("watches", "Watches under way.").is(size.watches as u64),
        Metric::gauge("watched_tokens", "Tokens of the watches under way.").is(size.watched_tokens as u64),
        Metric::counter("watch_events_total", "States told to watchers.").is(counters.events.get()),
        Metric::counter("calls_refused_total", "Calls of the rendezvous refused.")
            .by("cause", CallRefusal::ALL.map(|(cause, name)| (name, counters.calls_refused(cause).get()))),
        Metric::gauge("parked_legs", "Bridge legs that wait for their partner.").is(bridge.parked() as u64),
        Metric::counter("legs_ended_total", "Bridge legs closed before they were paired.")
            .by("cause", LegEnd::ALL.map(|(cause, name)| (name, counters.legs_ended(cause).get()))),
        Metric::gauge("pairs", "Pairs of bridge legs spliced now.").is(counters.pairs_now()),
        Metric::counter("pairs_total", "Pairs of bridge legs spliced.").is(counters.pairs.get()),
        Metric::counter("pairs_ended_total", "Pairs of bridge legs ended.")
            .by("cause", PairEnd::ALL.map(|(cause, name)| (name, counters.pairs_ended(cause).get()))),
        Metric::counter("bridge_bytes_total", "Bytes passed on between bridge legs.")
            .is(counters.bridge_bytes.get()),
        Metric::gauge("udp_sides", "Sides of UDP flows joined now.").is(udp_sides as u64),
        Metric::gauge("udp_flows", "UDP flows with both sides now.").is(udp_flows as u64),
        Metric::counter("udp_requests_total", "Requests of UDP callers taken.")
            .is(counters.udp_requests.get()),
        Metric::counter("udp_joins_refused_total", "Sides that could not join a UDP flow.")
            .by("cause", JOIN_REFUSALS.map(|(cause, name)| (name, counters.joins_refused(cause).get()))),
        Metric::counter("udp_datagrams_total", "Datagrams passed on.").is(counters.udp_datagrams.get()),
        Metric::counter("udp_bytes_total", "Bytes of datagrams passed on.").is(counters.udp_bytes.get()),
        Metric::counter("udp_lost_total", "Datagrams neither passed on nor answered.")
            .by("cause", DatagramLoss::ALL.map(|(cause, name)| (name, counters.datagrams_lost(cause).get()))),
    ];
    metrics.iter().map(Metric::to_string).collect()
}

/// One metric with its values.
struct Metric {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    label: Option<&'static str>,
    /// Each with the value of the label.
    values: Vec<(&'static str, u64)>,
}

impl Metric {
    fn gauge(name: &'static str, help: &'static str) -> Self {
        Self { name, kind: "gauge", help, label: None, values: Vec::new() }
    }

    fn counter(name: &'static str, help: &'static str) -> Self {
        Self { name, kind: "counter", help, label: None, values: Vec::new() }
    }

    fn is(self, value: u64) -> Self {
        Self { values: vec![("", value)], ..self }
    }

    fn by<const N: usize>(self, label: &'static str, values: [(&'static str, u64); N]) -> Self {
        Self { label: Some(label), values: values.into(), ..self }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, kind, help, label, values } = self;
        writeln!(f, "# HELP farhold_relay_{name} {help}")?;
        writeln!(f, "# TYPE farhold_relay_{name} {kind}")?;
        values.iter().try_for_each(|(of, value)| match label {
            Some(label) => writeln!(f, "farhold_relay_{name}{{{label}=\"{of}\"}} {value}"),
            None => writeln!(f, "farhold_relay_{name} {value}"),
        })
    }
}
