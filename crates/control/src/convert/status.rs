//! The status.

use farhold_engine::status::{
    CacheStatus, ContactStatus, GovernorStatus, IdentityStatus, LaneStatus, LatencySummary, MountStateName,
    MountStatus, NetworkStatus, PairingState, PathStatus, RelayStateName, SecretStore, SeekStatus,
    SessionStateName, SessionStatus, Status, WireStatus,
};

use super::commands::{path_from, path_to};
use super::{FromProto, Malformed, ToProto, all, pb, required};

impl ToProto for Status {
    type Message = pb::StatusReply;

    fn to_proto(self) -> pb::StatusReply {
        let Status { identity, contacts, mount, cache, wire, seek, first_byte, transfers, network } = self;
        pb::StatusReply {
            identity: Some(identity.to_proto()),
            contacts: contacts.into_iter().map(ToProto::to_proto).collect(),
            mount: mount.map(ToProto::to_proto),
            cache: Some(cache.to_proto()),
            wire: Some(wire.to_proto()),
            seek: Some(pb::Seek { idle: Some(seek.idle.to_proto()), loaded: Some(seek.loaded.to_proto()) }),
            network: Some(network.to_proto()),
            transfers: transfers.into_iter().map(ToProto::to_proto).collect(),
            first_byte: Some(first_byte.to_proto()),
        }
    }
}

impl FromProto for Status {
    type Message = pb::StatusReply;

    fn from_proto(reply: pb::StatusReply) -> Result<Self, Malformed> {
        let seek = reply.seek.ok_or(Malformed("seek"))?;
        Ok(Self {
            identity: required(reply.identity, "identity")?,
            contacts: all(reply.contacts)?,
            mount: reply.mount.map(FromProto::from_proto).transpose()?,
            cache: required(reply.cache, "cache")?,
            wire: required(reply.wire, "wire")?,
            seek: SeekStatus { idle: required(seek.idle, "seek")?, loaded: required(seek.loaded, "seek")? },
            first_byte: required(reply.first_byte, "first byte")?,
            transfers: all(reply.transfers)?,
            network: required(reply.network, "network")?,
        })
    }
}

impl ToProto for WireStatus {
    type Message = pb::Wire;

    fn to_proto(self) -> pb::Wire {
        let WireStatus { received, sent, rate_in, rate_out } = self;
        pb::Wire { received, sent, rate_in, rate_out }
    }
}

impl FromProto for WireStatus {
    type Message = pb::Wire;

    fn from_proto(wire: pb::Wire) -> Result<Self, Malformed> {
        let pb::Wire { received, sent, rate_in, rate_out } = wire;
        Ok(Self { received, sent, rate_in, rate_out })
    }
}

impl ToProto for NetworkStatus {
    type Message = pb::Network;

    fn to_proto(self) -> pb::Network {
        let relay_state = match self.relay_state {
            RelayStateName::None => pb::RelayState::None,
            RelayStateName::Connecting => pb::RelayState::Connecting,
            RelayStateName::Connected => pb::RelayState::Connected,
            RelayStateName::Unreachable => pb::RelayState::Unreachable,
        };
        pb::Network {
            relay: self.relay,
            listen: self.listen.map(Into::into),
            relay_state: relay_state.into(),
            relay_reason: self.relay_reason,
        }
    }
}

impl FromProto for NetworkStatus {
    type Message = pb::Network;

    fn from_proto(network: pb::Network) -> Result<Self, Malformed> {
        let relay_state = match network.relay_state() {
            pb::RelayState::None => RelayStateName::None,
            pb::RelayState::Connecting => RelayStateName::Connecting,
            pb::RelayState::Connected => RelayStateName::Connected,
            pb::RelayState::Unreachable => RelayStateName::Unreachable,
            pb::RelayState::Unspecified => return Err(Malformed("relay state")),
        };
        Ok(Self {
            relay: network.relay,
            relay_state,
            relay_reason: network.relay_reason,
            listen: network.listen.map(u16::try_from).transpose().map_err(|_| Malformed("listen"))?,
        })
    }
}

impl ToProto for IdentityStatus {
    type Message = pb::Identity;

    fn to_proto(self) -> pb::Identity {
        let secrets = match self.secrets {
            SecretStore::File => pb::SecretStore::File,
        };
        pb::Identity { code: self.code, secrets: secrets.into() }
    }
}

impl FromProto for IdentityStatus {
    type Message = pb::Identity;

    fn from_proto(identity: pb::Identity) -> Result<Self, Malformed> {
        let secrets = match identity.secrets() {
            pb::SecretStore::File => SecretStore::File,
            pb::SecretStore::Unspecified => return Err(Malformed("secret store")),
        };
        Ok(Self { code: identity.code, secrets })
    }
}

impl ToProto for ContactStatus {
    type Message = pb::Contact;

    fn to_proto(self) -> pb::Contact {
        let pairing = match self.pairing {
            PairingState::Pending => pb::Pairing::Pending,
            PairingState::Provisional => pb::Pairing::Provisional,
            PairingState::Paired => pb::Pairing::Paired,
        };
        pb::Contact {
            name: self.name,
            code: self.code,
            pairing: pairing.into(),
            present: self.present,
            wanted: self.wanted,
            session: Some(self.session.to_proto()),
            words: self.words,
            accept: self.accept.as_deref().map(path_to),
        }
    }
}

impl FromProto for ContactStatus {
    type Message = pb::Contact;

    fn from_proto(contact: pb::Contact) -> Result<Self, Malformed> {
        let pairing = match contact.pairing() {
            pb::Pairing::Pending => PairingState::Pending,
            pb::Pairing::Provisional => PairingState::Provisional,
            pb::Pairing::Paired => PairingState::Paired,
            pb::Pairing::Unspecified => return Err(Malformed("pairing")),
        };
        Ok(Self {
            name: contact.name,
            code: contact.code,
            pairing,
            present: contact.present,
            wanted: contact.wanted,
            session: required(contact.session, "session")?,
            words: contact.words,
            accept: contact.accept.map(path_from).transpose()?,
        })
    }
}

impl ToProto for SessionStatus {
    type Message = pb::Session;

    fn to_proto(self) -> pb::Session {
        let state = match self.state {
            SessionStateName::Offline => pb::SessionState::Offline,
            SessionStateName::Connecting => pb::SessionState::Connecting,
            SessionStateName::Connected => pb::SessionState::Connected,
            SessionStateName::Interrupted => pb::SessionState::Interrupted,
        };
        pb::Session {
            state: state.into(),
            path: self.path,
            transport: self.transport,
            lanes: self.lanes.into_iter().map(ToProto::to_proto).collect(),
            paths: self.paths.into_iter().map(ToProto::to_proto).collect(),
            governor: self.governor.map(ToProto::to_proto),
            rtt_ms: self.rtt_ms,
            epoch: self.epoch,
            reason: self.reason,
        }
    }
}

impl FromProto for SessionStatus {
    type Message = pb::Session;

    fn from_proto(session: pb::Session) -> Result<Self, Malformed> {
        let state = match session.state() {
            pb::SessionState::Offline => SessionStateName::Offline,
            pb::SessionState::Connecting => SessionStateName::Connecting,
            pb::SessionState::Connected => SessionStateName::Connected,
            pb::SessionState::Interrupted => SessionStateName::Interrupted,
            pb::SessionState::Unspecified => return Err(Malformed("session state")),
        };
        Ok(Self {
            state,
            path: session.path,
            transport: session.transport,
            lanes: all(session.lanes)?,
            paths: all(session.paths)?,
            governor: session.governor.map(FromProto::from_proto).transpose()?,
            rtt_ms: session.rtt_ms,
            epoch: session.epoch,
            reason: session.reason,
        })
    }
}

impl ToProto for PathStatus {
    type Message = pb::Way;

    fn to_proto(self) -> pb::Way {
        let PathStatus { path, transport, reason } = self;
        pb::Way { path, transport, reason }
    }
}

impl FromProto for PathStatus {
    type Message = pb::Way;

    fn from_proto(way: pb::Way) -> Result<Self, Malformed> {
        let pb::Way { path, transport, reason } = way;
        Ok(Self { path, transport, reason })
    }
}

impl ToProto for GovernorStatus {
    type Message = pb::Governor;

    fn to_proto(self) -> pb::Governor {
        let GovernorStatus { window, outstanding, queued, rate, min_rtt_ms } = self;
        pb::Governor { window, outstanding, queued, rate, min_rtt_ms }
    }
}

impl FromProto for GovernorStatus {
    type Message = pb::Governor;

    fn from_proto(governor: pb::Governor) -> Result<Self, Malformed> {
        let pb::Governor { window, outstanding, queued, rate, min_rtt_ms } = governor;
        Ok(Self { window, outstanding, queued, rate, min_rtt_ms })
    }
}

impl ToProto for LaneStatus {
    type Message = pb::Lane;

    fn to_proto(self) -> pb::Lane {
        let LaneStatus { id, class, transport, path, bytes_in, bytes_out, rate_in, rate_out, missing } = self;
        pb::Lane { id, class, transport, path, bytes_in, bytes_out, missing, rate_in, rate_out }
    }
}

impl FromProto for LaneStatus {
    type Message = pb::Lane;

    fn from_proto(lane: pb::Lane) -> Result<Self, Malformed> {
        let pb::Lane { id, class, transport, path, bytes_in, bytes_out, missing, rate_in, rate_out } = lane;
        Ok(Self { id, class, transport, path, bytes_in, bytes_out, rate_in, rate_out, missing })
    }
}

impl ToProto for MountStatus {
    type Message = pb::Mount;

    fn to_proto(self) -> pb::Mount {
        let state = match self.state {
            MountStateName::Mounted => pb::MountState::Mounted,
            MountStateName::Failed => pb::MountState::Failed,
            MountStateName::Unmounted => pb::MountState::Unmounted,
        };
        pb::Mount { point: path_to(&self.point), state: state.into(), reason: self.reason }
    }
}

impl FromProto for MountStatus {
    type Message = pb::Mount;

    fn from_proto(mount: pb::Mount) -> Result<Self, Malformed> {
        let state = match mount.state() {
            pb::MountState::Mounted => MountStateName::Mounted,
            pb::MountState::Failed => MountStateName::Failed,
            pb::MountState::Unmounted => MountStateName::Unmounted,
            pb::MountState::Unspecified => return Err(Malformed("mount state")),
        };
        Ok(Self { point: path_from(mount.point)?, state, reason: mount.reason })
    }
}

impl ToProto for CacheStatus {
    type Message = pb::Cache;

    fn to_proto(self) -> pb::Cache {
        let CacheStatus { limit, used, hits, misses, hit_rate, served, fetched, disk_free, disk_low } = self;
        pb::Cache { limit, used, hits, misses, served, fetched, hit_rate, disk_free, disk_low }
    }
}

impl FromProto for CacheStatus {
    type Message = pb::Cache;

    fn from_proto(cache: pb::Cache) -> Result<Self, Malformed> {
        let pb::Cache { limit, used, hits, misses, served, fetched, hit_rate, disk_free, disk_low } = cache;
        Ok(Self { limit, used, hits, misses, hit_rate, served, fetched, disk_free, disk_low })
    }
}

impl ToProto for LatencySummary {
    type Message = pb::Latency;

    fn to_proto(self) -> pb::Latency {
        let LatencySummary { count, p50_ms, p95_ms, p99_ms, max_ms } = self;
        pb::Latency { count, p50_ms, p95_ms, max_ms, p99_ms }
    }
}

impl FromProto for LatencySummary {
    type Message = pb::Latency;

    fn from_proto(latency: pb::Latency) -> Result<Self, Malformed> {
        let pb::Latency { count, p50_ms, p95_ms, p99_ms, max_ms } = latency;
        Ok(Self { count, p50_ms, p95_ms, p99_ms, max_ms })
    }
}
