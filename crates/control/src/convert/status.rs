//! The status.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use bytes::Bytes;
use farhold_engine::status::{
    CacheStatus, ContactStatus, IdentityStatus, LaneStatus, LatencySummary, MountStateName, MountStatus,
    NetworkStatus, PairingState, SecretStore, SeekStatus, SessionStateName, SessionStatus, Status,
    WireStatus,
};

use super::{FromProto, Malformed, ToProto, all, pb, required};

impl ToProto for Status {
    type Message = pb::StatusReply;

    fn to_proto(self) -> pb::StatusReply {
        let Status { identity, contacts, mount, cache, wire, seek, transfers: _, network } = self;
        pb::StatusReply {
            identity: Some(identity.to_proto()),
            contacts: contacts.into_iter().map(ToProto::to_proto).collect(),
            mount: mount.map(ToProto::to_proto),
            cache: Some(cache.to_proto()),
            wire: Some(pb::Wire { received: wire.received, sent: wire.sent }),
            seek: Some(pb::Seek { idle: Some(seek.idle.to_proto()), loaded: Some(seek.loaded.to_proto()) }),
            network: Some(pb::Network { relay: network.relay, listen: network.listen.map(Into::into) }),
        }
    }
}

impl FromProto for Status {
    type Message = pb::StatusReply;

    fn from_proto(reply: pb::StatusReply) -> Result<Self, Malformed> {
        let wire = reply.wire.ok_or(Malformed("wire"))?;
        let seek = reply.seek.ok_or(Malformed("seek"))?;
        let network = reply.network.ok_or(Malformed("network"))?;
        let listen = network.listen.map(u16::try_from).transpose().map_err(|_| Malformed("listen"))?;
        Ok(Self {
            identity: required(reply.identity, "identity")?,
            contacts: all(reply.contacts)?,
            mount: reply.mount.map(FromProto::from_proto).transpose()?,
            cache: required(reply.cache, "cache")?,
            wire: WireStatus { received: wire.received, sent: wire.sent },
            seek: SeekStatus { idle: required(seek.idle, "seek")?, loaded: required(seek.loaded, "seek")? },
            transfers: Vec::new(),
            network: NetworkStatus { relay: network.relay, listen },
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
            lanes: self.lanes.into_iter().map(ToProto::to_proto).collect(),
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
            lanes: all(session.lanes)?,
            rtt_ms: session.rtt_ms,
            epoch: session.epoch,
            reason: session.reason,
        })
    }
}

impl ToProto for LaneStatus {
    type Message = pb::Lane;

    fn to_proto(self) -> pb::Lane {
        let LaneStatus { id, class, transport, path, bytes_in, bytes_out, missing } = self;
        pb::Lane { id, class, transport, path, bytes_in, bytes_out, missing }
    }
}

impl FromProto for LaneStatus {
    type Message = pb::Lane;

    fn from_proto(lane: pb::Lane) -> Result<Self, Malformed> {
        let pb::Lane { id, class, transport, path, bytes_in, bytes_out, missing } = lane;
        Ok(Self { id, class, transport, path, bytes_in, bytes_out, missing })
    }
}

impl ToProto for MountStatus {
    type Message = pb::Mount;

    fn to_proto(self) -> pb::Mount {
        let state = match self.state {
            MountStateName::Mounted => pb::MountState::Mounted,
            MountStateName::Failed => pb::MountState::Failed,
        };
        let point = Bytes::copy_from_slice(self.point.as_os_str().as_bytes());
        pb::Mount { point, state: state.into(), reason: self.reason }
    }
}

impl FromProto for MountStatus {
    type Message = pb::Mount;

    fn from_proto(mount: pb::Mount) -> Result<Self, Malformed> {
        let state = match mount.state() {
            pb::MountState::Mounted => MountStateName::Mounted,
            pb::MountState::Failed => MountStateName::Failed,
            pb::MountState::Unspecified => return Err(Malformed("mount state")),
        };
        Ok(Self { point: OsString::from_vec(mount.point.into()).into(), state, reason: mount.reason })
    }
}

impl ToProto for CacheStatus {
    type Message = pb::Cache;

    fn to_proto(self) -> pb::Cache {
        let CacheStatus { limit, used, hits, misses, served, fetched } = self;
        pb::Cache { limit, used, hits, misses, served, fetched }
    }
}

impl FromProto for CacheStatus {
    type Message = pb::Cache;

    fn from_proto(cache: pb::Cache) -> Result<Self, Malformed> {
        let pb::Cache { limit, used, hits, misses, served, fetched } = cache;
        Ok(Self { limit, used, hits, misses, served, fetched })
    }
}

impl ToProto for LatencySummary {
    type Message = pb::Latency;

    fn to_proto(self) -> pb::Latency {
        let LatencySummary { count, p50_ms, p95_ms, max_ms } = self;
        pb::Latency { count, p50_ms, p95_ms, max_ms }
    }
}

impl FromProto for LatencySummary {
    type Message = pb::Latency;

    fn from_proto(latency: pb::Latency) -> Result<Self, Malformed> {
        let pb::Latency { count, p50_ms, p95_ms, max_ms } = latency;
        Ok(Self { count, p50_ms, p95_ms, max_ms })
    }
}
