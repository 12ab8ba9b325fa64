//! Two engines in one process, over a relay on loopback, without mounts.

mod open_files;
mod pins;
mod settings;
mod status;
mod transfers;

use std::path::{Path, PathBuf};
use std::time::Duration;

use farhold_relay::{RelayConfig, RelayServer, RunningRelay};
use farhold_vfs::{NodeId, OpenMode, VfsError};
use tempfile::TempDir;

use super::*;
use crate::commands::{DrivePath, ShareRequest};
use crate::config::MountChoice;
use crate::error::ErrorClass;
use crate::settings::LEAST_CACHE_BYTES;
use crate::status::{ContactStatus, PairingState, SessionStateName};

/// How long anything of this may take on a loaded machine.
const WITHIN: Duration = Duration::from_secs(30);

/// A relay, and folders for two engines.
struct World {
    relay: RunningRelay,
    folder: TempDir,
}

impl World {
    fn new() -> Self {
        let relay = RelayServer::start(RelayConfig::loopback()).unwrap();
        Self { relay, folder: tempfile::tempdir().unwrap() }
    }

    fn config(&self, who: &str) -> EngineConfig {
        let addresses = self.relay.addresses();
        let relay = RelayAddress {
            host: "127.0.0.1".to_owned(),
            port: addresses.grpc.port(),
            bridge_port: addresses.bridge.port(),
        };
        EngineConfig {
            relay: Some(relay),
            mount: MountChoice::Off,
            loopback: true,
            ..EngineConfig::new(self.folder.path().join(who))
        }
    }

    async fn engine(&self, who: &str) -> Engine {
        Engine::start(self.config(who)).await.unwrap()
    }

    /// A folder with a file in it, for sharing.
    fn shared(&self) -> PathBuf {
        let path = self.folder.path().join("shared");
        std::fs::create_dir_all(path.join("sub")).unwrap();
        std::fs::write(path.join("sub/file"), content()).unwrap();
        path
    }

    async fn end(self, engines: &[&Engine]) {
        for engine in engines {
            engine.stop().await;
        }
        self.relay.stop().await;
    }
}

/// More than one block, and no block like another.
fn content() -> Vec<u8> {
    (0..700_000u32).flat_map(|index| index.wrapping_mul(2_654_435_761).to_le_bytes()).collect()
}

async fn wait<T>(what: &str, probe: impl AsyncFn() -> Option<T>) -> T {
    let end = tokio::time::Instant::now() + WITHIN;
    loop {
        if let Some(found) = probe().await {
            return found;
        }
        assert!(tokio::time::Instant::now() < end, "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn contact(engine: &Engine, name: &str) -> ContactStatus {
    let contacts = engine.status().unwrap().contacts;
    contacts.into_iter().find(|contact| contact.name == name).unwrap()
}

async fn wait_session(engine: &Engine, name: &str, state: SessionStateName) {
    let what = format!("{name} is {state:?}");
    wait(&what, async || (contact(engine, name).session.state == state).then_some(())).await;
}

async fn pair(anna: &Engine, ben: &Engine) {
    anna.add_contact("ben", &ben.code()).await.unwrap();
    ben.add_contact("anna", &anna.code()).await.unwrap();
    let session = anna.connect("ben", Some(WITHIN)).await.unwrap();
    assert_eq!(session.state, SessionStateName::Connected);
    wait_session(ben, "anna", SessionStateName::Connected).await;
    for (engine, name) in [(anna, "ben"), (ben, "anna")] {
        wait("both have stored it", async || {
            (contact(engine, name).pairing == PairingState::Paired).then_some(())
        })
        .await;
    }
}

fn request(path: &Path) -> ShareRequest {
    ShareRequest { paths: vec![path.to_owned()], with: None, name: None, writable: false }
}

fn drive_path(text: &str) -> DrivePath {
    DrivePath::parse(text.as_ref()).unwrap()
}

async fn names(engine: &Engine, path: &str) -> Vec<String> {
    let listed = engine.list(Some(&drive_path(path))).await.unwrap_or_default();
    listed.iter().map(|entry| entry.name.to_string()).collect()
}

async fn wait_names(engine: &Engine, path: &str, expected: &[&str]) {
    wait(&format!("{path} holds {expected:?}"), async || {
        (names(engine, path).await == expected).then_some(())
    })
    .await;
}

/// Reads a file through the drive, without a mount.
async fn read(engine: &Engine, path: &str) -> Result<Vec<u8>, VfsError> {
    let drive = &engine.inner.storage.drive;
    let mut node = NodeId::ROOT;
    for name in path.split('/') {
        node = drive.lookup(node, name.as_bytes()).await?.node;
    }
    let file = drive.open_file(node, OpenMode::Read).await?.handle;
    let mut all = Vec::new();
    let outcome = loop {
        match drive.read(file, all.len() as u64, 128 << 10).await {
            Ok(piece) if piece.is_empty() => break Ok(()),
            Ok(piece) => all.extend_from_slice(&piece),
            Err(error) => break Err(error),
        }
    };
    drive.release(file);
    outcome.map(|()| all)
}

#[tokio::test(flavor = "multi_thread")]
async fn two_people_pair_share_and_read() {
    let world = World::new();
    let (anna, ben) = (world.engine("anna").await, world.engine("ben").await);
    pair(&anna, &ben).await;
    assert_eq!(contact(&anna, "ben").words, contact(&ben, "anna").words);
    assert!(contact(&anna, "ben").words.is_some());

    let shares = ben.share(request(&world.shared())).await.unwrap();
    assert_eq!((shares.len(), shares[0].with.as_str()), (1, "anna"));
    wait_names(&anna, "ben/shared/sub", &["file"]).await;
    assert_eq!(names(&anna, "ben").await, ["shared"]);
    let file = &anna.list(Some(&drive_path("ben/shared/sub/file"))).await.unwrap()[0];
    assert_eq!(file.size, content().len() as u64);

    // Once over the network, then from the cache; after dropping it over the network again.
    assert_eq!(read(&anna, "ben/shared/sub/file").await.unwrap(), content());
    let fetched = anna.status().unwrap().cache.fetched;
    assert!(fetched >= content().len() as u64);
    assert_eq!(read(&anna, "ben/shared/sub/file").await.unwrap(), content());
    assert_eq!(anna.status().unwrap().cache.fetched, fetched);
    anna.drop_cache(Some(&drive_path("ben/shared"))).await.unwrap();
    assert_eq!(read(&anna, "ben/shared/sub/file").await.unwrap(), content());
    assert!(anna.status().unwrap().cache.fetched > fetched);
    let missing = anna.drop_cache(Some(&drive_path("ben/nothing"))).await.unwrap_err();
    assert_eq!(missing.class(), ErrorClass::NotFound);

    // A new version is seen and read whole.
    std::fs::write(world.shared().join("sub/file"), "shorter").unwrap();
    wait("the new version", async || {
        (read(&anna, "ben/shared/sub/file").await.ok()? == b"shorter").then_some(())
    })
    .await;

    let withdrawn = ben.unshare(&world.shared(), None).await.unwrap();
    assert_eq!(withdrawn.len(), 1);
    wait_names(&anna, "ben", &[]).await;
    world.end(&[&anna, &ben]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disconnect_holds_and_leaves_us_present() {
    let world = World::new();
    let (anna, ben) = (world.engine("anna").await, world.engine("ben").await);
    pair(&anna, &ben).await;
    ben.share(request(&world.shared())).await.unwrap();
    wait_names(&anna, "ben", &["shared"]).await;

    anna.disconnect("ben").await.unwrap();
    wait_session(&ben, "anna", SessionStateName::Offline).await;
    assert_eq!(contact(&ben, "anna").present, Some(true));
    // What was replicated is still listed; what was not fetched cannot be read, and that is said at once.
    assert_eq!(names(&anna, "ben/shared/sub").await, ["file"]);
    assert_eq!(read(&anna, "ben/shared/sub/file").await, Err(VfsError::Offline));

    // Not even a restart connects again.
    anna.stop().await;
    let anna = world.engine("anna").await;
    wait("ben is seen", async || (contact(&anna, "ben").present == Some(true)).then_some(())).await;
    wait("it is refused", async || {
        (contact(&anna, "ben").session.reason.as_deref() == Some("disconnected here")).then_some(())
    })
    .await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(contact(&anna, "ben").session.state, SessionStateName::Offline);
    assert!(!contact(&anna, "ben").wanted);
    anna.connect("ben", Some(WITHIN)).await.unwrap();
    assert_eq!(read(&anna, "ben/shared/sub/file").await.unwrap(), content());
    world.end(&[&anna, &ben]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_goes_on_where_it_was() {
    let world = World::new();
    let (anna, ben) = (world.engine("anna").await, world.engine("ben").await);
    pair(&anna, &ben).await;
    ben.share(request(&world.shared())).await.unwrap();
    wait_names(&anna, "ben/shared/sub", &["file"]).await;
    assert_eq!(read(&anna, "ben/shared/sub/file").await.unwrap(), content());
    let position = |engine: &Engine| {
        let engine = engine.clone();
        async move {
            let id = engine.book().named("ben").unwrap().id();
            engine.order(|reply| Order::Replica { id, reply }).await.unwrap().unwrap().position()
        }
    };
    let before = position(&anna).await;
    assert!(before.is_some());
    let code = anna.code();
    anna.stop().await;
    assert!(matches!(anna.status(), Err(EngineError::Stopping)));
    // Nothing of it is kept by anything else of it.
    let drive = Arc::downgrade(&anna.inner.storage.drive);
    drop(anna);
    assert!(drive.upgrade().is_none());
    ben.stop().await;

    // Before ben is there: the catalog and the cache are.
    let anna = world.engine("anna").await;
    assert_eq!(anna.code(), code);
    assert_eq!(position(&anna).await.map(|position| position.epoch), before.map(|position| position.epoch));
    assert_eq!(names(&anna, "ben/shared/sub").await, ["file"]);
    assert_eq!(read(&anna, "ben/shared/sub/file").await.unwrap(), content());

    let ben = world.engine("ben").await;
    wait_session(&anna, "ben", SessionStateName::Connected).await;
    std::fs::write(world.shared().join("later"), "x").unwrap();
    wait_names(&anna, "ben/shared", &["later", "sub"]).await;
    world.end(&[&anna, &ben]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn through_the_relay_only() {
    let world = World::new();
    let config = |who| EngineConfig { relay_only: true, ..world.config(who) };
    let anna = Engine::start(config("anna")).await.unwrap();
    let ben = Engine::start(config("ben")).await.unwrap();
    pair(&anna, &ben).await;
    let session = contact(&anna, "ben").session;
    assert_eq!(session.path.as_deref(), Some("relayed"));
    assert!(session.lanes.iter().all(|lane| lane.path == "relayed"));
    assert_eq!(anna.status().unwrap().network.listen, None);
    ben.share(request(&world.shared())).await.unwrap();
    wait_names(&anna, "ben/shared/sub", &["file"]).await;
    assert_eq!(read(&anna, "ben/shared/sub/file").await.unwrap(), content());
    world.end(&[&anna, &ben]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_lan_nobody_is_dialled_in_the_own_network() {
    let world = World::new();
    let start = async |who, lan| {
        let config = world.config(who);
        let layout = Layout::new(&config.config_dir);
        layout.create().unwrap();
        let mut settings = Settings::load(&layout.settings()).unwrap();
        settings.lan = lan;
        settings.save(&layout.settings()).unwrap();
        Engine::start(config).await.unwrap()
    };
    let anna = Engine::start(EngineConfig { no_lan: true, ..world.config("anna") }).await.unwrap();
    let ben = start("ben", false).await;
    // Loopback is the own network of both.
    pair(&anna, &ben).await;
    assert_eq!(contact(&anna, "ben").session.path.as_deref(), Some("relayed"));
    ben.stop().await;
    let ben = start("ben", true).await;
    wait("ben dials", async || (contact(&anna, "ben").session.path? == "lan").then_some(())).await;
    world.end(&[&anna, &ben]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_contact_leaves_nothing_and_can_be_added_anew() {
    let world = World::new();
    let (anna, ben) = (world.engine("anna").await, world.engine("ben").await);
    pair(&anna, &ben).await;
    ben.share(request(&world.shared())).await.unwrap();
    anna.share(request(&world.shared())).await.unwrap();
    wait_names(&anna, "ben/shared/sub", &["file"]).await;
    read(&anna, "ben/shared/sub/file").await.unwrap();

    anna.rename_contact("ben", "Benjamin").await.unwrap();
    assert_eq!(names(&anna, "Benjamin/shared/sub").await, ["file"]);
    anna.remove_contact("Benjamin").await.unwrap();
    assert!(anna.status().unwrap().contacts.is_empty());
    assert_eq!(anna.list(None).await.unwrap(), []);
    assert_eq!(anna.shares().await.unwrap(), []);
    assert_eq!(std::fs::read_dir(anna.layout().replicas()).unwrap().count(), 0);
    assert_eq!(anna.status().unwrap().cache.used, 0);
    wait_session(&ben, "anna", SessionStateName::Offline).await;

    // Only an act of both sides pairs them again.
    ben.remove_contact("anna").await.unwrap();
    pair(&anna, &ben).await;
    world.end(&[&anna, &ben]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_engine_per_config_directory() {
    let world = World::new();
    let anna = world.engine("anna").await;
    let second = Engine::start(world.config("anna")).await.unwrap_err();
    assert!(matches!(second, EngineError::AlreadyRunning { .. }));
    assert_eq!(second.class(), ErrorClass::Conflict);
    anna.stop().await;
    anna.stopping().await;
    // Whoever comes late finds it stopped.
    anna.stop().await;
    let refused = anna.add_contact("ben", &anna.code()).await.unwrap_err();
    assert_eq!(refused.class(), ErrorClass::NotRunning);
    let again = world.engine("anna").await;
    world.end(&[&again]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_whose_caller_goes_away_is_taken_up_by_the_next() {
    let world = World::new();
    let anna = world.engine("anna").await;
    let mut begun = Box::pin(anna.stop());
    assert!(futures_util::poll!(&mut begun).is_pending());
    drop(begun);
    // Whoever hosts the engine hears of it, and nobody else has the directory before the end.
    anna.stopping().await;
    assert!(matches!(Engine::start(world.config("anna")).await, Err(EngineError::AlreadyRunning { .. })));
    anna.stop().await;
    let again = world.engine("anna").await;
    world.end(&[&again]).await;
}

#[test]
fn asking_for_the_status_never_keeps_contacts_from_changing() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let changes = async {
        let world = World::new();
        let anna = world.engine("anna").await;
        for name in ["ben", "cleo", "dora"] {
            anna.add_contact(name, &Identity::generate().unwrap().code().to_string()).await.unwrap();
        }
        let asked = anna.clone();
        std::thread::spawn(move || while asked.status().is_ok() {});
        for _ in 0..20 {
            anna.rename_contact("ben", "Benjamin").await.unwrap();
            anna.rename_contact("Benjamin", "ben").await.unwrap();
        }
        world.end(&[&anna]).await;
    };
    let done = runtime.block_on(async { tokio::time::timeout(WITHIN, changes).await });
    // A thread that waits for ever would keep a runtime that is dropped.
    runtime.shutdown_background();
    done.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_stops_a_start_leaves_the_directory_free_and_the_files_as_they_were() {
    let world = World::new();
    let anna = world.engine("anna").await;
    let (code, layout) = (anna.code(), anna.layout().clone());
    anna.stop().await;

    let identity = std::fs::read(layout.identity()).unwrap();
    std::fs::write(layout.identity(), &identity[..40]).unwrap();
    for _ in 0..2 {
        let refused = Engine::start(world.config("anna")).await.unwrap_err();
        assert!(matches!(refused, EngineError::Secrets(_)), "{refused}");
    }
    assert_eq!(std::fs::read(layout.identity()).unwrap(), identity[..40]);
    std::fs::write(layout.identity(), &identity).unwrap();

    // A port that is taken is found out late, when much is open already.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let refused =
        Engine::start(EngineConfig { listen: Some(port), ..world.config("anna") }).await.unwrap_err();
    assert_eq!(refused.class(), ErrorClass::Conflict);

    let anna = world.engine("anna").await;
    assert_eq!(anna.code(), code);
    world.end(&[&anna]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_say_what_is_wrong() {
    let world = World::new();
    let anna = world.engine("anna").await;
    let missing = anna.share(request(Path::new("/does/not/exist"))).await.unwrap_err();
    assert_eq!(missing.class(), ErrorClass::NotFound);
    assert!(matches!(anna.share(request(&world.shared())).await, Err(EngineError::NoContacts)));

    let strangers = ["ben", "cleo"].map(|name| (name, Identity::generate().unwrap().code().to_string()));
    for (name, code) in &strangers {
        anna.add_contact(name, code).await.unwrap();
    }
    assert!(matches!(
        anna.share(request(&world.shared())).await,
        Err(EngineError::ContactNeeded { count: 2 })
    ));
    let with = ShareRequest { with: Some("ben".to_owned()), ..request(&world.shared()) };
    let two = ShareRequest {
        paths: vec![world.shared(), world.shared()],
        name: Some(farhold_wire::Name::new("x").unwrap()),
        ..with.clone()
    };
    assert!(matches!(anna.share(two).await, Err(EngineError::OneNameManyPaths)));
    anna.share(with).await.unwrap();
    assert!(
        anna.share(ShareRequest { with: Some("ben".to_owned()), ..request(anna.layout().root()) })
            .await
            .is_err()
    );
    let other = anna.unshare(&world.shared(), Some("cleo")).await.unwrap_err();
    assert_eq!(other.class(), ErrorClass::NotFound);

    let short = Duration::from_millis(50);
    let late = anna.connect("ben", Some(short)).await.unwrap_err();
    assert_eq!(late.class(), ErrorClass::TimedOut);
    assert_eq!(contact(&anna, "ben").pairing, PairingState::Pending);
    assert_eq!(anna.connect("eve", None).await.unwrap_err().class(), ErrorClass::NotFound);
    assert_eq!(anna.list(Some(&drive_path("eve"))).await.unwrap_err().class(), ErrorClass::NotFound);
    assert_eq!(anna.limit_cache(1).await.unwrap_err().class(), ErrorClass::Usage);

    // The limit is kept.
    anna.limit_cache(LEAST_CACHE_BYTES).await.unwrap();
    anna.stop().await;
    let anna = world.engine("anna").await;
    assert_eq!(anna.status().unwrap().cache.limit, LEAST_CACHE_BYTES);
    assert_eq!(anna.status().unwrap().contacts.len(), 2);
    assert_eq!(anna.shares().await.unwrap().len(), 1);
    world.end(&[&anna]).await;
}
