use farhold_engine::status::{
    CacheStatus, GovernorStatus, IdentityStatus, MountStatus, PathStatus, SecretStore, SeekStatus,
};

use super::*;

fn lane(class: &str, missing: Option<&str>) -> LaneStatus {
    LaneStatus {
        id: Some(1),
        class: class.to_owned(),
        transport: "quic".to_owned(),
        path: "punched".to_owned(),
        bytes_in: 5_000_000,
        bytes_out: 1000,
        rate_in: 2_000_000,
        rate_out: 10,
        missing: missing.map(str::to_owned),
    }
}

fn contact(pairing: PairingState) -> ContactStatus {
    ContactStatus {
        name: "ben".to_owned(),
        code: "bencode".to_owned(),
        pairing,
        present: Some(true),
        wanted: true,
        session: SessionStatus {
            state: SessionStateName::Connected,
            path: Some("punched".to_owned()),
            transport: Some("quic".to_owned()),
            lanes: vec![lane("control", None), lane("bulk", Some("refused"))],
            paths: vec![PathStatus {
                path: "direct".to_owned(),
                transport: "tcp".to_owned(),
                reason: "no answer".to_owned(),
            }],
            governor: Some(GovernorStatus {
                window: 15_000_000,
                outstanding: 14_000_000,
                queued: 3,
                rate: 72_000_000,
                min_rtt_ms: Some(200.0),
            }),
            rtt_ms: Some(201.53),
            epoch: Some(2),
            reason: None,
        },
        words: Some("lamp river".to_owned()),
        accept: None,
    }
}

fn status(contacts: Vec<ContactStatus>) -> Status {
    Status {
        identity: IdentityStatus { code: "mycode".to_owned(), secrets: SecretStore::File },
        contacts,
        mount: Some(MountStatus {
            point: "/home/u/Farhold".into(),
            state: MountStateName::Failed,
            reason: Some("no FUSE".to_owned()),
        }),
        cache: CacheStatus { limit: 1000, used: 10, served: 200, fetched: 50, ..CacheStatus::default() },
        wire: WireStatus::default(),
        seek: SeekStatus::default(),
        first_byte: LatencySummary { count: 2, p50_ms: 203.0, p95_ms: 210.0, p99_ms: 211.0, max_ms: 211.0 },
        transfers: Vec::new(),
        network: NetworkStatus {
            relay: Some("relay:7480".to_owned()),
            relay_state: RelayStateName::Unreachable,
            relay_reason: Some("refused".to_owned()),
            listen: Some(7000),
        },
    }
}

#[test]
fn it_tells_what_works_and_why_something_does_not() {
    let text = text(&status(vec![contact(PairingState::Paired)]));
    for told in [
        "/home/u/Farhold, NOT MOUNTED: no FUSE",
        "relay:7480 (NOT REACHED: refused), direct connections on port 7000",
        "200 B were read, 50 B of it fetched: 75 % came from here.",
        "203 ms, p95 210 ms, longest 211 ms (2)",
        "punched quic  201.5 ms",
        "control lane  punched quic  5.00 MB in, 1.00 kB out  now 2.00 MB/s in, 10 B/s out",
        "bulk lane     punched quic  MISSING: refused",
        "14.0 MB of 15.0 MB under way, 3 waiting; the path carries 72.0 MB/s",
        "no direct path over TCP: no answer",
    ] {
        assert!(text.contains(told), "{told}:\n{text}");
    }
}

#[test]
fn words_are_shown_until_the_pairing_is_confirmed_and_always_among_contacts() {
    let shown = |pairing| text(&status(vec![contact(pairing)])).contains("lamp river");
    assert!(shown(PairingState::Provisional));
    assert!(!shown(PairingState::Paired));
    assert!(contacts(&[contact(PairingState::Paired)]).contains("lamp river"));
}

#[test]
fn what_a_contact_says_cannot_drive_the_terminal() {
    let mut contact = contact(PairingState::Paired);
    contact.session.reason = Some("\u{1b}[2J".to_owned());
    contact.session.lanes[1].missing = Some("\u{202e}x".to_owned());
    let text = text(&status(vec![contact]));
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
}
