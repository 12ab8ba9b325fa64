//! Settings, status and findings without what must not be told. Every field is named, so that a new one is thought of.

use std::path::PathBuf;

use super::redactor::Redactor;
use crate::doctor::Finding;
use crate::settings::Settings;
use crate::status::{
    ContactStatus, IdentityStatus, LaneStatus, MountStatus, NetworkStatus, PathStatus, SessionStatus, Status,
    TransferStatus,
};

/// Instead of what cannot be told even in part.
const LEFT_OUT: &str = "(left out)";

impl Redactor {
    pub(super) fn settings(&mut self, settings: Settings) -> Settings {
        let Settings {
            relay,
            drive,
            mount,
            allow_other,
            listen_port,
            lan,
            relay_only,
            cache_dir,
            cache_limit,
            limit_receive,
            limit_send,
        } = settings;
        Settings {
            relay: relay.map(|relay| self.address(&relay)),
            drive: drive.map(|path| self.folder(path)),
            mount,
            allow_other,
            listen_port,
            lan,
            relay_only,
            cache_dir: cache_dir.map(|path| self.folder(path)),
            cache_limit,
            limit_receive,
            limit_send,
        }
    }

    pub(super) fn status(&mut self, status: Status) -> Status {
        let Status { identity, contacts, mount, cache, wire, seek, first_byte, transfers, network } = status;
        let IdentityStatus { code, secrets } = identity;
        Status {
            identity: IdentityStatus { code: self.code(&code), secrets },
            contacts: contacts.into_iter().map(|contact| self.contact_status(contact)).collect(),
            mount: mount.map(|mount| self.mount(mount)),
            cache,
            wire,
            seek,
            first_byte,
            transfers: transfers.into_iter().map(|transfer| self.transfer(transfer)).collect(),
            network: self.network(network),
        }
    }

    pub(super) fn finding(&mut self, finding: Finding) -> Finding {
        let Finding { check, verdict, detail, fix } = finding;
        Finding { check, verdict, detail: self.text(&detail), fix: fix.map(|fix| self.text(&fix)) }
    }

    fn contact_status(&mut self, contact: ContactStatus) -> ContactStatus {
        let ContactStatus { name, code, pairing, present, wanted, session, words, accept } = contact;
        ContactStatus {
            name: self.contact(&name),
            code: self.code(&code),
            pairing,
            present,
            wanted,
            session: self.session(session),
            words: words.map(|_| LEFT_OUT.to_owned()),
            accept: accept.map(|path| self.folder(path)),
        }
    }

    fn session(&mut self, session: SessionStatus) -> SessionStatus {
        let SessionStatus { state, path, transport, lanes, paths, governor, rtt_ms, epoch, reason } = session;
        SessionStatus {
            state,
            path,
            transport,
            lanes: lanes.into_iter().map(|lane| self.lane(lane)).collect(),
            paths: paths
                .into_iter()
                .map(|PathStatus { path, transport, reason }| PathStatus {
                    path,
                    transport,
                    reason: self.text(&reason),
                })
                .collect(),
            governor,
            rtt_ms,
            epoch,
            reason: reason.map(|reason| self.text(&reason)),
        }
    }

    fn lane(&mut self, lane: LaneStatus) -> LaneStatus {
        let LaneStatus { id, class, transport, path, bytes_in, bytes_out, rate_in, rate_out, missing } = lane;
        let missing = missing.map(|reason| self.text(&reason));
        LaneStatus { id, class, transport, path, bytes_in, bytes_out, rate_in, rate_out, missing }
    }

    fn mount(&mut self, mount: MountStatus) -> MountStatus {
        let MountStatus { point, state, reason } = mount;
        MountStatus { point: self.folder(point), state, reason: reason.map(|reason| self.text(&reason)) }
    }

    fn transfer(&mut self, transfer: TransferStatus) -> TransferStatus {
        let TransferStatus {
            id,
            direction,
            contact,
            name,
            state,
            reason,
            class,
            files_done,
            files,
            bytes_done,
            bytes,
            rate,
            remaining_seconds,
            destination,
        } = transfer;
        TransferStatus {
            id,
            direction,
            contact: self.contact(&contact),
            name: self.name(&name),
            state,
            // May name files that nothing else names, and in any words.
            reason: reason.map(|_| LEFT_OUT.to_owned()),
            class,
            files_done,
            files,
            bytes_done,
            bytes,
            rate,
            remaining_seconds,
            destination: destination.map(|path| self.folder(path)),
        }
    }

    fn network(&mut self, network: NetworkStatus) -> NetworkStatus {
        let NetworkStatus { relay, relay_state, relay_reason, listen } = network;
        NetworkStatus {
            relay: relay.map(|relay| self.address(&relay)),
            relay_state,
            relay_reason: relay_reason.map(|reason| self.text(&reason)),
            listen,
        }
    }

    fn folder(&mut self, path: PathBuf) -> PathBuf {
        self.path(&path).into()
    }
}
