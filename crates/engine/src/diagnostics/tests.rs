use serde_json::Value;

use super::*;
use crate::doctor::Verdict;
use crate::error::ErrorClass;
use crate::status::{
    CacheStatus, ContactStatus, Direction, IdentityStatus, LaneStatus, LatencySummary, MountStateName,
    MountStatus, NetworkStatus, PairingState, PathStatus, RelayStateName, SecretStore, SeekStatus,
    SessionStateName, SessionStatus, TransferId, TransferState, TransferStatus, WireStatus,
};

const MY_CODE: &str = "mYcOdE0123456789abcdefghijklmnopqrstuvwxyzA";
const THEIR_CODE: &str = "tHeIrCoDe0123456789abcdefghijklmnopqrstuvwx";

/// Whatever of these is left in a document is a leak.
const SECRET: [&str; 17] = [
    MY_CODE,
    THEIR_CODE,
    "Zoë",
    "O'Neil",
    "Removed one",
    "wordone",
    "Holiday",
    "Incoming",
    "Anna's",
    "drivefolder",
    "cachefolder",
    "configfolder",
    "relayhost",
    "192.0.2.77",
    "2001:db8::77",
    "192.0.2.99",
    "thesis",
];

fn session() -> SessionStatus {
    SessionStatus {
        state: SessionStateName::Connected,
        path: Some("relayed".into()),
        transport: Some("tcp".into()),
        lanes: vec![LaneStatus {
            id: Some(1),
            class: "bulk".into(),
            transport: "tcp".into(),
            path: "relayed".into(),
            bytes_in: 1,
            bytes_out: 2,
            rate_in: 3,
            rate_out: 4,
            missing: Some("relayhost.example:7481 refused it".into()),
        }],
        paths: vec![PathStatus {
            path: "direct".into(),
            transport: "quic".into(),
            reason: "192.0.2.77:4000 and [2001:db8::77]:4000 do not answer".into(),
        }],
        governor: None,
        rtt_ms: Some(7.5),
        epoch: Some(1),
        reason: Some("Zoë O'Neil said no".into()),
    }
}

fn transfer() -> TransferStatus {
    TransferStatus {
        id: TransferId(7),
        direction: Direction::Pull,
        contact: "Removed one".into(),
        name: "Holiday in May".into(),
        state: TransferState::Failed,
        reason: Some("thesis final.odt exists already".into()),
        class: Some(ErrorClass::Conflict),
        files_done: 1,
        files: 2,
        bytes_done: 3,
        bytes: 4,
        rate: 0,
        remaining_seconds: None,
        destination: Some("/srv/Anna's things/Holiday in May".into()),
    }
}

fn status() -> Status {
    let contact = ContactStatus {
        name: "Zoë O'Neil".into(),
        code: THEIR_CODE.into(),
        pairing: PairingState::Paired,
        present: Some(true),
        wanted: true,
        session: session(),
        words: Some("wordone wordtwo".into()),
        accept: Some("/srv/Incoming files".into()),
    };
    Status {
        identity: IdentityStatus { code: MY_CODE.into(), secrets: SecretStore::File },
        contacts: vec![contact],
        mount: Some(MountStatus {
            point: "/srv/drivefolder".into(),
            state: MountStateName::Failed,
            reason: Some("/srv/drivefolder is not empty".into()),
        }),
        cache: CacheStatus { limit: 5, ..CacheStatus::default() },
        wire: WireStatus::default(),
        seek: SeekStatus::default(),
        first_byte: LatencySummary::default(),
        transfers: vec![transfer()],
        network: NetworkStatus {
            relay: Some("relayhost.example:7480".into()),
            relay_state: RelayStateName::Unreachable,
            relay_reason: Some("relayhost.example: connection refused".into()),
            listen: Some(4711),
        },
    }
}

fn written(status: Option<Status>) -> (String, Value) {
    let settings = Settings {
        relay: Some("relayhost.example:7480".into()),
        drive: Some("/srv/drivefolder".into()),
        cache_dir: Some("/srv/cachefolder".into()),
        limit_send: Some(77_000),
        ..Settings::default()
    };
    let finding = |detail: &str, fix: &str| Finding {
        check: "config".into(),
        verdict: Verdict::Warning,
        detail: detail.into(),
        fix: Some(fix.into()),
    };
    let findings = vec![
        finding("others can look into /srv/configfolder", "chmod 700 /srv/configfolder"),
        finding("reaches the relay, through a NAT that shows you as 192.0.2.99", "open /dev/fuse"),
    ];
    let log = [
        "INFO farhold_net: the relay is reached at=192.0.2.99:7480",
        "WARN farhold_engine: Zoë O'Neil cannot read \"/srv/Anna's things/thesis final.odt\": denied",
        "WARN other: thesis/final.odt is gone",
        &format!("ERROR farhold_engine: the code {THEIR_CODE} is unknown"),
    ];
    let layout = Layout::new("/srv/configfolder");
    let log = log.map(str::to_owned).to_vec();
    let text = document(Facts { layout: &layout, settings, status, findings, log });
    let value = serde_json::from_str(&text).unwrap();
    (text, value)
}

#[test]
fn nothing_tells_who_and_what_it_is_about() {
    let (text, _) = written(Some(status()));
    // What JSON escapes would hide.
    let text = text.replace("\\\"", "\"");
    for secret in SECRET {
        assert!(!text.contains(secret), "{secret} is left in {text}");
    }
    let (text, _) = written(None);
    assert!(!text.contains("configfolder") && !text.contains("relayhost"), "{text}");
}

#[test]
fn what_helps_is_there() {
    let (_, document) = written(Some(status()));
    assert_eq!(document["farhold"], env!("CARGO_PKG_VERSION"));
    assert!(document["system"]["kernel"].as_str().is_some_and(|kernel| !kernel.is_empty()));
    assert_eq!(document["settings"]["limit_send"], 77_000);
    let status = &document["status"];
    let contact = &status["contacts"][0];
    assert_eq!((&contact["pairing"], &contact["session"]["rtt_ms"]), (&"paired".into(), &7.5.into()));
    // The same thing is called the same everywhere.
    assert_eq!(contact["session"]["reason"], format!("{} said no", contact["name"].as_str().unwrap()));
    assert_eq!(status["mount"]["point"], document["settings"]["drive"]);
    let point = status["mount"]["point"].as_str().unwrap();
    assert_eq!(status["mount"]["reason"], format!("{point} is not empty"));
    assert_eq!(status["network"]["relay"], document["settings"]["relay"]);
    let transfer = &status["transfers"][0];
    assert_eq!((&transfer["class"], &transfer["reason"]), (&"conflict".into(), &"(left out)".into()));
    assert_eq!(document["transfers"], 1);
    assert_eq!(document["doctor"][1]["fix"], "open /dev/fuse");
    assert!(
        document["log"][0]
            .as_str()
            .unwrap()
            .starts_with("INFO farhold_net: the relay is reached at=address-")
    );
}

#[test]
fn of_many_transfers_the_latest_are_there() {
    let many = (0..500).map(|id| TransferStatus { id: TransferId(id), ..transfer() }).collect();
    let (_, document) = written(Some(Status { transfers: many, ..status() }));
    let told = document["status"]["transfers"].as_array().unwrap();
    assert_eq!((told.len(), &told[TRANSFERS - 1]["id"]), (TRANSFERS, &499.into()));
    assert_eq!(document["transfers"], 500);
}
