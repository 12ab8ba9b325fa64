//! Settings that change while the engine runs.

use super::*;
use crate::settings::{Settings, SettingsKey};
use crate::status::RelayStateName;

/// A relay as settings name one: its bridge is at the port above.
fn relay_of_settings() -> (RunningRelay, String) {
    for _ in 0..50 {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let config = RelayConfig { listen: Some(free), ..RelayConfig::loopback() };
        if let Ok(relay) = RelayServer::start(config) {
            return (relay, free.to_string());
        }
    }
    panic!("no free ports in a row");
}

/// On its settings alone, but for what tests need.
async fn engine(folder: &TempDir, who: &str) -> Engine {
    let config_dir = folder.path().join(who);
    std::fs::create_dir(&config_dir).unwrap();
    Settings { mount: false, ..Settings::default() }.save(&config_dir.join("settings.json")).unwrap();
    Engine::start(EngineConfig { loopback: true, ..EngineConfig::new(config_dir) }).await.unwrap()
}

fn on_disk(engine: &Engine) -> Settings {
    Settings::read(&engine.layout().settings()).unwrap().unwrap()
}

async fn change(engine: &Engine, change: impl Fn(&mut Settings)) -> Vec<SettingsKey> {
    let mut settings = engine.settings().settings;
    change(&mut settings);
    let stored = engine.change_settings(settings.clone()).await.unwrap();
    assert_eq!((&stored.settings, &on_disk(engine)), (&settings, &settings));
    assert_eq!(engine.settings(), stored);
    stored.restart_needed
}

async fn wait_relay(engine: &Engine, state: RelayStateName) {
    let what = format!("the relay is {state:?}");
    wait(&what, async || (engine.status().unwrap().network.relay_state == state).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_relay_finds_contacts_and_sessions_outlive_the_change() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (relay_of_settings(), relay_of_settings());
    let (anna, ben) = (engine(&folder, "anna").await, engine(&folder, "ben").await);
    assert!(matches!(anna.connect("ben", None).await, Err(EngineError::NoRelay)));
    for engine in [&anna, &ben] {
        assert_eq!(engine.status().unwrap().network.relay_state, RelayStateName::None);
        assert_eq!(change(engine, |settings| settings.relay = Some(first.1.clone())).await, []);
        wait_relay(engine, RelayStateName::Connected).await;
    }
    pair(&anna, &ben).await;

    first.0.stop().await;
    for engine in [&anna, &ben] {
        change(engine, |settings| settings.relay = Some(second.1.clone())).await;
        assert_eq!(engine.status().unwrap().network.relay.as_deref(), Some(second.1.as_str()));
        wait_relay(engine, RelayStateName::Connected).await;
    }
    assert_eq!(contact(&anna, "ben").session.state, SessionStateName::Connected);
    // Only the second relay can bring them together again.
    anna.disconnect("ben").await.unwrap();
    wait_session(&ben, "anna", SessionStateName::Offline).await;
    anna.connect("ben", Some(WITHIN)).await.unwrap();
    wait("present", async || contact(&anna, "ben").present.unwrap_or(false).then_some(())).await;

    change(&anna, |settings| settings.relay = None).await;
    assert_eq!(anna.status().unwrap().network.relay, None);
    wait_relay(&anna, RelayStateName::None).await;
    for engine in [&anna, &ben] {
        engine.stop().await;
    }
    second.0.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_running_engine_cannot_take_over_waits_for_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let anna = engine(&folder, "anna").await;
    use SettingsKey::{CacheDir, ListenPort};
    let waits = change(&anna, |settings| {
        settings.listen_port = 7;
        settings.cache_dir = Some(folder.path().join("cache"));
        settings.cache_limit = LEAST_CACHE_BYTES;
        settings.lan = false;
    })
    .await;
    assert_eq!(waits, [ListenPort, CacheDir]);
    assert_eq!(anna.status().unwrap().cache.limit, LEAST_CACHE_BYTES);
    // Still so after a change of something else, and no more once it is as at the start.
    assert_eq!(change(&anna, |settings| settings.lan = true).await, [ListenPort, CacheDir]);
    assert_eq!(change(&anna, |settings| settings.listen_port = 0).await, [CacheDir]);
    anna.limit_cache(2 * LEAST_CACHE_BYTES).await.unwrap();
    assert_eq!(on_disk(&anna).cache_limit, 2 * LEAST_CACHE_BYTES);
    anna.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_refused_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let anna = engine(&folder, "anna").await;
    let before = anna.settings();
    let file = folder.path().join("file");
    std::fs::write(&file, "x").unwrap();
    type Change = fn(&mut Settings);
    let cases: [(&str, Change); 4] = [
        ("relay: `a:b`", |settings| settings.relay = Some("a:b".into())),
        ("drive: d does not begin with /", |settings| settings.drive = Some("d".into())),
        ("cache_limit must be", |settings| settings.cache_limit = 1),
        ("limit_send must be", |settings| settings.limit_send = Some(0)),
    ];
    for (says, change) in cases {
        let mut settings = before.settings.clone();
        settings.cache_limit *= 2;
        change(&mut settings);
        let refused = anna.change_settings(settings).await.unwrap_err();
        assert!(refused.to_string().contains(says), "{refused}");
        assert_eq!(refused.class(), ErrorClass::Usage);
    }
    // Of a drive that cannot be there, and of a disk that takes no file, too.
    let elsewhere = Settings {
        mount: true,
        drive: Some(file.clone()),
        cache_limit: 2 * LEAST_CACHE_BYTES,
        ..before.settings.clone()
    };
    let refused = anna.change_settings(elsewhere).await.unwrap_err();
    assert!(refused.to_string().contains("is not a folder"), "{refused}");
    std::fs::remove_file(anna.layout().settings()).unwrap();
    std::fs::create_dir_all(anna.layout().settings().join("in the way")).unwrap();
    let other = Settings { cache_limit: 2 * LEAST_CACHE_BYTES, ..before.settings.clone() };
    assert!(matches!(anna.change_settings(other).await, Err(EngineError::Settings(_))));
    assert_eq!(anna.settings(), before);
    let status = anna.status().unwrap();
    assert_eq!((status.cache.limit, status.mount), (before.settings.cache_limit, None));
    anna.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_option_of_this_run_wins() {
    let world = World::new();
    let anna = world.engine("anna").await;
    wait_relay(&anna, RelayStateName::Connected).await;
    let used = anna.status().unwrap().network.relay;
    let waits = change(&anna, |settings| {
        settings.relay = Some("127.0.0.1:1".into());
        settings.drive = Some("/nowhere".into());
        settings.mount = true;
        settings.allow_other = true;
    })
    .await;
    assert_eq!(waits, [SettingsKey::Relay]);
    let status = anna.status().unwrap();
    assert_eq!((status.network.relay, status.mount), (used, None));
    assert_eq!(status.network.relay_state, RelayStateName::Connected);
    world.end(&[&anna]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_is_tested_without_being_used() {
    let world = World::new();
    let anna = world.engine("anna").await;
    let relay = world.relay.addresses();
    let round_trip = anna.test_relay(&relay.grpc.to_string()).await.unwrap();
    assert!(round_trip < Duration::from_secs(5));

    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (address, class, says) in [
        (closed.to_string(), ErrorClass::NotConnected, "nothing listens at"),
        (silent.local_addr().unwrap().to_string(), ErrorClass::TimedOut, "did not answer within 5 s"),
        (relay.http.to_string(), ErrorClass::Refused, "is no relay"),
        ("no such host.invalid".to_owned(), ErrorClass::Usage, "no relay address"),
    ] {
        let error = anna.test_relay(&address).await.unwrap_err();
        assert_eq!(error.class(), class, "{error}");
        assert!(error.to_string().contains(says), "{error}");
    }
    world.end(&[&anna]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_engine_writes_its_diagnostics() {
    let world = World::new();
    let (anna, ben) = (world.engine("anna").await, world.engine("ben").await);
    pair(&anna, &ben).await;
    let document = anna.diagnostics().await.unwrap();
    let value: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(value["status"]["contacts"][0]["session"]["state"], "connected");
    let checks = anna.doctor().await.unwrap();
    assert_eq!(value["doctor"].as_array().map(Vec::len), Some(checks.len()));
    for secret in [&ben.code(), &anna.code(), &world.folder.path().to_string_lossy().into_owned()] {
        assert!(!document.contains(secret.as_str()), "{secret}");
    }
    world.end(&[&anna, &ben]).await;
}
