//! Client and server over a real socket, with a host that only remembers what it was asked.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod fake;

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use farhold_control::{ControlClient, ControlError, ControlServer};
use farhold_engine::commands::{DrivePath, RateChange, RateLimits, ShareRequest, Unmounted};
use farhold_engine::error::ErrorClass;
use farhold_engine::settings::{Settings, SettingsKey, StoredSettings};
use farhold_engine::status::{MountStateName, NetworkStatus, Status, TransferId};
use farhold_wire::Name;
use futures_util::StreamExt;
use tempfile::TempDir;

use fake::{
    Fake, changes, findings, holders, listed, name, open_files, pins, session, settings, status, transfer,
    unknown,
};

struct Fixture {
    temp: TempDir,
    fake: Arc<Fake>,
    server: ControlServer,
}

impl Fixture {
    fn start() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let fake = Arc::new(Fake::default());
        let server = ControlServer::start(&temp.path().join("control.sock"), fake.clone()).unwrap();
        Self { temp, fake, server }
    }

    fn socket(&self) -> PathBuf {
        self.temp.path().join("control.sock")
    }

    async fn client(&self) -> ControlClient {
        ControlClient::attach(&self.socket()).await.unwrap()
    }
}

#[tokio::test]
async fn every_command_takes_and_answers_what_the_host_does() {
    let fixture = Fixture::start();
    let mut client = fixture.client().await;
    let network = NetworkStatus { listen: Some(0), ..status().network };
    assert_eq!(client.status().await.unwrap(), Status { network, ..status() });
    assert_eq!(client.code().await.unwrap(), "the code");
    let added = client.add_contact("ben".into(), "xyz".into()).await.unwrap();
    assert_eq!((added.name.as_str(), added.code.as_str()), ("ben", "xyz"));
    client.rename_contact("ben".into(), "Ben".into()).await.unwrap();
    assert_eq!(client.connect("ben".into(), Some(Duration::from_secs(3))).await.unwrap(), session());
    client.connect("ben".into(), None).await.unwrap();
    client.disconnect("ben".into()).await.unwrap();
    client.drop_cache(Some(&DrivePath { contact: "ben".into(), below: vec![name("a")] })).await.unwrap();
    client.drop_cache(None).await.unwrap();
    client.unshare("/x".as_ref(), None).await.unwrap();
    client.stop().await.unwrap();
    assert_eq!(
        fixture.fake.asked(),
        [
            "rename ben Ben",
            "connect ben Some(3s)",
            "connect ben None",
            "disconnect ben",
            "drop ben/a",
            "drop all",
            "unshare /x None",
            "stop"
        ]
    );
    assert_eq!(client.limit_cache(9).await.unwrap().limit, 9);
    let request =
        ShareRequest { paths: vec!["/a".into(), "/b".into()], with: None, name: None, writable: true };
    assert_eq!(client.share(request.clone()).await.unwrap(), client.shares().await.unwrap());
    assert_eq!(fixture.fake.asked(), [format!("{request:?}")]);
    fixture.server.stop().await;
}

#[tokio::test]
async fn pins_come_and_go() {
    let fixture = Fixture::start();
    let mut client = fixture.client().await;
    let path = DrivePath { contact: "ben".into(), below: vec![name("Film")] };
    assert_eq!(client.pin(&path).await.unwrap(), pins()[0]);
    client.unpin(&path).await.unwrap();
    assert_eq!(fixture.fake.asked(), ["pin ben/Film", "unpin ben/Film"]);
    assert_eq!(client.pins().await.unwrap(), pins());
    fixture.server.stop().await;
}

#[tokio::test]
async fn settings_are_read_and_changed() {
    let fixture = Fixture::start();
    let mut client = fixture.client().await;
    let stored = StoredSettings { settings: settings(), restart_needed: vec![] };
    assert_eq!(client.settings().await.unwrap(), stored);
    for changed in [settings(), Settings::default()] {
        let stored = client.change_settings(changed.clone()).await.unwrap();
        let restart_needed = SettingsKey::ALL.to_vec();
        assert_eq!(stored, StoredSettings { settings: changed, restart_needed });
    }
    let bad = Settings { relay: Some("a:b:c".into()), ..Settings::default() };
    let refused = client.change_settings(bad).await.unwrap_err();
    assert_eq!(refused.class(), ErrorClass::Usage);
    assert!(refused.to_string().contains("a:b:c"), "{refused}");
    fixture.server.stop().await;
}

#[tokio::test]
async fn the_drive_is_mounted_and_unmounted_and_its_users_are_told() {
    let fixture = Fixture::start();
    let mut client = fixture.client().await;
    assert_eq!(client.mount().await.unwrap().state, MountStateName::Mounted);
    for force in [false, true] {
        let unmounted = client.unmount(force).await.unwrap();
        assert_eq!(unmounted, Unmounted { unmounted: force, holders: holders() });
    }
    assert_eq!(client.holders().await.unwrap(), holders());
    fixture.server.stop().await;
}

#[tokio::test]
async fn faults_are_looked_for() {
    let fixture = Fixture::start();
    let mut client = fixture.client().await;
    assert_eq!(client.doctor().await.unwrap(), findings());
    assert_eq!(client.test_relay("relay:7480".into()).await.unwrap(), Duration::from_micros(1500));
    assert_eq!(client.test_relay("::".into()).await.unwrap_err().class(), ErrorClass::Usage);
    assert_eq!(client.diagnostics().await.unwrap(), "{}");
    fixture.server.stop().await;
}

#[tokio::test]
async fn long_listings_come_whole_and_in_order() {
    let fixture = Fixture::start();
    let mut client = fixture.client().await;
    assert_eq!(client.list(None).await.unwrap(), []);
    let path = DrivePath { contact: "ben".into(), below: vec![name("a"), name("b")] };
    assert_eq!(client.list(Some(&path)).await.unwrap(), listed(10_000));
    fixture.server.stop().await;
}

#[tokio::test]
async fn errors_keep_their_class_and_words() {
    let fixture = Fixture::start();
    let mut client = fixture.client().await;
    let error = client.remove_contact("nobody".into()).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::NotFound);
    assert_eq!(error.to_string(), unknown("nobody").to_string());
    let relative = ShareRequest { paths: vec!["a".into()], with: None, name: None, writable: false };
    assert_eq!(client.share(relative).await.unwrap_err().class(), ErrorClass::Usage);
    fixture.server.stop().await;
}

#[tokio::test]
async fn transfers_are_begun_changed_and_waited_for() {
    let fixture = Fixture::start();
    let mut client = fixture.client().await;
    let source = DrivePath { contact: "ben".into(), below: vec![Name::new(b"a\xff".to_vec()).unwrap()] };
    assert_eq!(client.pull(&source, Some("/d".as_ref())).await.unwrap(), TransferId(1));
    assert_eq!(client.pull(&source, None).await.unwrap(), TransferId(1));
    assert_eq!(client.push("/f".as_ref(), "ben".into()).await.unwrap(), TransferId(2));
    client.pause_transfer(TransferId(3)).await.unwrap();
    client.resume_transfer(TransferId(4)).await.unwrap();
    client.cancel_transfer(TransferId(5)).await.unwrap();
    client.accept_pushes("ben".into(), Some("/in".as_ref())).await.unwrap();
    client.accept_pushes("ben".into(), None).await.unwrap();
    assert_eq!(
        fixture.fake.asked(),
        [
            "pull ben/a\u{fffd} Some(\"/d\")",
            "pull ben/a\u{fffd} None",
            "push /f ben",
            "pause 3",
            "resume 4",
            "cancel 5",
            "accept ben Some(\"/in\")",
            "accept ben None"
        ]
    );
    client.accept_offer(TransferId(6), Some("/in".as_ref())).await.unwrap();
    client.accept_offer(TransferId(6), None).await.unwrap();
    client.decline_offer(TransferId(7)).await.unwrap();
    assert_eq!(client.forget_transfers(None).await.unwrap(), [TransferId(8)]);
    assert_eq!(client.forget_transfers(Some(&[TransferId(9)])).await.unwrap(), [TransferId(9)]);
    // Those of an empty list are not all.
    assert_eq!(client.forget_transfers(Some(&[])).await.unwrap(), []);
    assert_eq!(
        fixture.fake.asked(),
        [
            "accept 6 Some(\"/in\")",
            "accept 6 None",
            "decline 7",
            "forget None",
            "forget Some([TransferId(9)])"
        ]
    );
    assert_eq!(client.wait_transfer(TransferId(7)).await.unwrap(), transfer());
    let relative = client.push("f".as_ref(), "ben".into()).await.unwrap_err();
    assert_eq!(relative.class(), ErrorClass::Usage);
    fixture.server.stop().await;
}

#[tokio::test]
async fn a_watch_tells_what_changed_until_the_server_stops() {
    let fixture = Fixture::start();
    fixture.fake.changes_after.store(3, Ordering::Relaxed);
    let mut client = fixture.client().await;
    let mut statuses = client.watch(Duration::from_millis(1)).await.unwrap();
    for change in 0..3 {
        let status = statuses.next().await.unwrap().unwrap();
        assert_eq!(status.network.listen, Some(change));
    }
    // The first three looks found the same, and so did the next three.
    assert!(fixture.fake.looked.load(Ordering::Relaxed) > 6);
    fixture.server.stop().await;
    let rest = tokio::time::timeout(Duration::from_secs(10), statuses.collect::<Vec<_>>());
    rest.await.expect("the stream ends with the server");
}

#[tokio::test]
async fn transfers_are_told_in_chunks_and_then_what_changes() {
    let fixture = Fixture::start();
    let mut client = fixture.client().await;
    let told = client.watch_transfers(Duration::from_secs(1)).await.unwrap();
    let told: Vec<_> = told.take(3).map(Result::unwrap).collect().await;
    assert_eq!(told, changes());
    // Nobody is told more often than ten times a second.
    drop(client.watch_transfers(Duration::ZERO).await.unwrap());
    assert_eq!(fixture.fake.asked(), ["changes 1s", "changes 100ms"]);
    fixture.server.stop().await;
}

#[tokio::test]
async fn open_files_are_told_when_they_change() {
    let fixture = Fixture::start();
    let mut client = fixture.client().await;
    let mut told = client.watch_open_files(Duration::from_millis(1)).await.unwrap();
    assert_eq!(told.next().await.unwrap().unwrap(), []);
    assert_eq!(told.next().await.unwrap().unwrap(), open_files());
    fixture.server.stop().await;
    let rest: Vec<_> = tokio::time::timeout(Duration::from_secs(10), told.collect()).await.unwrap();
    assert!(rest.iter().all(Result::is_err), "it was told again: {rest:?}");
}

#[tokio::test]
async fn one_limit_may_change_and_the_other_stay() {
    let fixture = Fixture::start();
    let mut client = fixture.client().await;
    let change = RateChange { receive: Some(Some(5)), send: None };
    assert_eq!(client.limit_rates(change).await.unwrap(), RateLimits { receive: Some(5), send: Some(7) });
    let off = RateChange { receive: None, send: Some(None) };
    client.limit_rates(off).await.unwrap();
    assert_eq!(fixture.fake.asked(), [format!("{change:?}"), format!("{off:?}")]);
    fixture.server.stop().await;
}

#[tokio::test]
async fn the_socket_is_private_and_goes_with_the_server() {
    let fixture = Fixture::start();
    let mode = std::fs::metadata(fixture.socket()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let socket = fixture.socket();
    fixture.server.stop().await;
    assert!(!socket.exists());
    let gone = ControlClient::attach(&socket).await.unwrap_err();
    assert!(matches!(gone, ControlError::NotRunning { .. }));
    assert_eq!(gone.class(), ErrorClass::NotRunning);
}

#[tokio::test]
async fn an_engine_that_is_just_ending_leaves_the_next_ones_socket_alone() {
    let fixture = Fixture::start();
    let socket = fixture.socket();
    let next = ControlServer::start(&socket, fixture.fake.clone()).unwrap();
    fixture.server.stop().await;
    ControlClient::attach(&socket).await.unwrap().status().await.unwrap();
    next.stop().await;
    assert!(!socket.exists());
}

#[tokio::test]
async fn a_socket_that_nobody_answers_is_replaced() {
    let temp = tempfile::tempdir().unwrap();
    let socket = temp.path().join("control.sock");
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    assert!(socket.exists());
    assert!(ControlClient::attach(&socket).await.is_err());
    let server = ControlServer::start(&socket, Arc::new(Fake::default())).unwrap();
    ControlClient::attach(&socket).await.unwrap();
    server.stop().await;
}
