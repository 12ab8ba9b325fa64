//! What an engine says of itself, as the page takes it.

use farhold_engine::PinStatus;
use farhold_engine::commands;
use farhold_engine::status;

use super::{
    Cache, Contact, Drive, DriveState, Governor, Identity, Lane, LaneClass, Latency, Network, Pairing,
    PathKind, Pin, PinState, RelayState, Secrets, Seek, Session, SessionState, Share, ShareState, ShownPath,
    Transport, Way, Wire,
};
use crate::dto::Path;

impl From<&status::IdentityStatus> for Identity {
    fn from(identity: &status::IdentityStatus) -> Self {
        let secrets = match identity.secrets {
            status::SecretStore::File => Secrets::File,
        };
        Self { code: identity.code.clone(), secrets }
    }
}

impl From<&status::ContactStatus> for Contact {
    fn from(contact: &status::ContactStatus) -> Self {
        let pairing = match contact.pairing {
            status::PairingState::Pending => Pairing::Pending,
            status::PairingState::Provisional => Pairing::Provisional,
            status::PairingState::Paired => Pairing::Paired,
        };
        let accept = contact
            .accept
            .as_ref()
            .map(|folder| ShownPath { path: Path::new(folder), display: folder.display().to_string() });
        Self {
            name: contact.name.clone(),
            code: contact.code.clone(),
            pairing,
            present: contact.present,
            wanted: contact.wanted,
            words: contact.words.clone(),
            accept,
            session: (&contact.session).into(),
        }
    }
}

impl From<&status::SessionStatus> for Session {
    fn from(session: &status::SessionStatus) -> Self {
        let state = match session.state {
            status::SessionStateName::Offline => SessionState::Offline,
            status::SessionStateName::Connecting => SessionState::Connecting,
            status::SessionStateName::Connected => SessionState::Connected,
            status::SessionStateName::Interrupted => SessionState::Interrupted,
        };
        let way = |way: &status::PathStatus| Way {
            path: way.path.clone(),
            transport: way.transport.clone(),
            reason: way.reason.clone(),
        };
        Self {
            state,
            path: session.path.as_deref().and_then(path_kind),
            transport: session.transport.as_deref().and_then(transport),
            rtt_ms: session.rtt_ms,
            epoch: session.epoch,
            reason: session.reason.clone(),
            lanes: session.lanes.iter().map(Lane::from).collect(),
            ways: session.paths.iter().map(way).collect(),
            governor: session.governor.map(|governor| Governor {
                window: governor.window,
                outstanding: governor.outstanding,
                queued: governor.queued,
                rate: governor.rate,
                min_rtt_ms: governor.min_rtt_ms,
            }),
        }
    }
}

fn path_kind(name: &str) -> Option<PathKind> {
    Some(match name {
        "lan" => PathKind::Lan,
        "direct" => PathKind::Direct,
        "punched" => PathKind::Punched,
        "relayed" => PathKind::Relayed,
        _ => return None,
    })
}

fn transport(name: &str) -> Option<Transport> {
    Some(match name {
        "quic" => Transport::Quic,
        "tcp" => Transport::Tcp,
        _ => return None,
    })
}

impl From<&status::LaneStatus> for Lane {
    fn from(lane: &status::LaneStatus) -> Self {
        let class = match lane.class.as_str() {
            "control" => LaneClass::Control,
            "urgent" => LaneClass::Urgent,
            _ => LaneClass::Bulk,
        };
        Self {
            id: lane.id,
            class,
            transport: lane.transport.clone(),
            path: lane.path.clone(),
            bytes_in: lane.bytes_in,
            bytes_out: lane.bytes_out,
            rate_in: lane.rate_in,
            rate_out: lane.rate_out,
            missing: lane.missing.clone(),
        }
    }
}

impl From<&status::MountStatus> for Drive {
    fn from(mount: &status::MountStatus) -> Self {
        let state = match mount.state {
            status::MountStateName::Mounted => DriveState::Mounted,
            status::MountStateName::Failed => DriveState::Failed,
            status::MountStateName::Unmounted => DriveState::Unmounted,
        };
        Self { point: mount.point.display().to_string(), state, reason: mount.reason.clone() }
    }
}

impl From<&status::CacheStatus> for Cache {
    fn from(cache: &status::CacheStatus) -> Self {
        Self {
            limit: cache.limit,
            used: cache.used,
            hits: cache.hits,
            misses: cache.misses,
            hit_rate: cache.hit_rate,
            served: cache.served,
            fetched: cache.fetched,
            disk_free: cache.disk_free,
            disk_low: cache.disk_low,
        }
    }
}

impl From<&status::WireStatus> for Wire {
    fn from(wire: &status::WireStatus) -> Self {
        Self { received: wire.received, sent: wire.sent, rate_in: wire.rate_in, rate_out: wire.rate_out }
    }
}

impl From<&status::SeekStatus> for Seek {
    fn from(seek: &status::SeekStatus) -> Self {
        Self { idle: (&seek.idle).into(), loaded: (&seek.loaded).into() }
    }
}

impl From<&status::LatencySummary> for Latency {
    fn from(summary: &status::LatencySummary) -> Self {
        Self {
            count: summary.count,
            p50_ms: summary.p50_ms,
            p95_ms: summary.p95_ms,
            p99_ms: summary.p99_ms,
            max_ms: summary.max_ms,
        }
    }
}

impl From<&status::NetworkStatus> for Network {
    fn from(network: &status::NetworkStatus) -> Self {
        let relay_state = match network.relay_state {
            status::RelayStateName::None => RelayState::None,
            status::RelayStateName::Connecting => RelayState::Connecting,
            status::RelayStateName::Connected => RelayState::Connected,
            status::RelayStateName::Unreachable => RelayState::Unreachable,
        };
        Self {
            relay: network.relay.clone(),
            relay_state,
            relay_reason: network.relay_reason.clone(),
            listen: network.listen,
        }
    }
}

impl From<&commands::Share> for Share {
    fn from(share: &commands::Share) -> Self {
        let state = match share.state {
            commands::ShareState::Scanning => ShareState::Scanning,
            commands::ShareState::Ready => ShareState::Ready,
            commands::ShareState::Unavailable => ShareState::Unavailable,
        };
        Self {
            path: Path::new(&share.path),
            display: share.path.display().to_string(),
            with: share.with.clone(),
            name: share.name.to_string(),
            writable: share.writable,
            state,
            entries: share.entries,
        }
    }
}

impl From<&PinStatus> for Pin {
    fn from(pin: &PinStatus) -> Self {
        let state = match pin.state {
            farhold_engine::PinState::Fetching => PinState::Fetching,
            farhold_engine::PinState::Whole => PinState::Whole,
            farhold_engine::PinState::Waiting => PinState::Waiting,
            farhold_engine::PinState::NoRoom => PinState::NoRoom,
            farhold_engine::PinState::Gone => PinState::Gone,
        };
        Self {
            path: Path::new(&pin.path),
            display: pin.path.clone(),
            state,
            files: pin.files,
            bytes: pin.bytes,
            cached: pin.cached,
            reason: pin.reason.clone(),
        }
    }
}
