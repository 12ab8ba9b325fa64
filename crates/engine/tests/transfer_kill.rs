//! An engine that is killed at random moments of a pull goes on from where it was, and what arrives is what was sent.
//! The killed engine is this program itself, started again with its part in the environment.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use farhold_engine::commands::{DrivePath, ShareRequest};
use farhold_engine::status::TransferState;
use farhold_engine::{Engine, EngineConfig, MountChoice, RelayAddress};
use farhold_relay::{RelayConfig, RelayServer};

const PART: &str = "FARHOLD_TEST_KILLED";
/// How long anything of this may take on a loaded machine.
const WITHIN: Duration = Duration::from_secs(120);
const KILLS: u64 = 5;

fn config(folder: &Path, relay: (u16, u16)) -> EngineConfig {
    let (port, bridge_port) = relay;
    EngineConfig {
        relay: Some(RelayAddress { host: "127.0.0.1".to_owned(), port, bridge_port }),
        mount: MountChoice::Off,
        loopback: true,
        ..EngineConfig::new(folder)
    }
}

fn random(length: usize, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; length];
    let key = *blake3::hash(&seed.to_be_bytes()).as_bytes();
    blake3::Hasher::new_keyed(&key).finalize_xof().fill(&mut bytes);
    bytes
}

/// Runs an engine until it is killed, or its transfers rest.
async fn be_killed(part: &str) {
    let parts: Vec<&str> = part.split('\n').collect();
    let [folder, port, bridge_port] = parts[..] else { panic!("three parts") };
    let relay = (port.parse().unwrap(), bridge_port.parse().unwrap());
    let engine = Engine::start(config(Path::new(folder), relay)).await.unwrap();
    for transfer in engine.transfers() {
        engine.transfer_done(transfer.id).await.unwrap();
    }
    engine.stop().await;
}

fn start(part: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "a_kill_loses_nothing_and_spoils_nothing"]).env(PART, part);
    command.spawn().unwrap()
}

/// Groups that the journals of files under way note.
fn noted(config_dir: &Path) -> u64 {
    let journals = std::fs::read_dir(config_dir.join("transfers")).unwrap();
    journals.map(|journal| journal.unwrap().metadata().map_or(0, |meta| meta.len() / 40)).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_loses_nothing_and_spoils_nothing() {
    if let Ok(part) = std::env::var(PART) {
        return be_killed(&part).await;
    }
    let temp = tempfile::tempdir().unwrap();
    let relay = RelayServer::start(RelayConfig::loopback()).unwrap();
    let ports = (relay.addresses().grpc.port(), relay.addresses().bridge.port());
    let source = temp.path().join("tree");
    std::fs::create_dir(&source).unwrap();
    for (index, size) in [96 << 20, 3 << 20, 0, 1 << 20, 64 << 20].into_iter().enumerate() {
        std::fs::write(source.join(index.to_string()), random(size, index as u64)).unwrap();
    }
    for index in 100..300 {
        std::fs::write(source.join(index.to_string()), random(index, index as u64)).unwrap();
    }
    let folder = |name: &str| -> PathBuf { temp.path().join(name) };
    let ben = Engine::start(config(&folder("ben"), ports)).await.unwrap();
    let anna = Engine::start(config(&folder("anna"), ports)).await.unwrap();
    anna.add_contact("ben", &ben.code()).await.unwrap();
    ben.add_contact("anna", &anna.code()).await.unwrap();
    anna.connect("ben", Some(WITHIN)).await.unwrap();
    let share = ShareRequest { paths: vec![source.clone()], with: None, name: None, writable: false };
    ben.share(share).await.unwrap();
    let target = folder("target");
    std::fs::create_dir(&target).unwrap();
    let path = DrivePath::parse("ben/tree".as_ref()).unwrap();
    let begun = std::time::Instant::now();
    while anna.list(Some(&path)).await.is_err() {
        assert!(begun.elapsed() < WITHIN, "the tree is seen");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let id = anna.pull(&path, Some(target.clone())).await.unwrap();
    anna.pause_transfer(id).await.unwrap();
    anna.resume_transfer(id).await.unwrap();
    anna.stop().await;

    let part = format!("{}\n{}\n{}", folder("anna").display(), ports.0, ports.1);
    let seed = u64::from(std::process::id());
    println!("seed {seed}");
    let mut killed_under_way = 0;
    for kill in 0..KILLS {
        let before = noted(&folder("anna"));
        let mut child = start(&part);
        let end = std::time::Instant::now() + WITHIN;
        // It has come further than last time, and some random moment more.
        while noted(&folder("anna")) <= before && child.try_wait().unwrap().is_none() {
            assert!(std::time::Instant::now() < end, "nothing comes");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let moment = random(8, seed + kill)[0];
        tokio::time::sleep(Duration::from_millis(u64::from(moment) / 4)).await;
        if child.try_wait().unwrap().is_none() {
            killed_under_way += 1;
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(killed_under_way > 0, "it was done before anybody killed it");
    let kept = noted(&folder("anna"));

    let anna = Engine::start(config(&folder("anna"), ports)).await.unwrap();
    let status = tokio::time::timeout(WITHIN, anna.transfer_done(id)).await.unwrap().unwrap();
    assert_eq!(status.state, TransferState::Done, "{status:?}");
    assert!(kept > 0 || status.files_done > 0, "nothing was transferred before the kills");
    for entry in std::fs::read_dir(&source).unwrap() {
        let entry = entry.unwrap();
        let arrived = std::fs::read(target.join("tree").join(entry.file_name())).unwrap();
        assert!(arrived == std::fs::read(entry.path()).unwrap(), "{:?}", entry.file_name());
    }
    let arrived = std::fs::read_dir(target.join("tree")).unwrap().count();
    assert_eq!(arrived, 205, "nothing of it is left beside the files");
    anna.stop().await;
    ben.stop().await;
    relay.stop().await;
}
