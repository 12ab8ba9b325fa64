//! Up to INFO, logs name nobody and nothing: they are sent around when somebody asks for help.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use farhold_engine::commands::{DrivePath, ShareRequest};
use farhold_engine::{Engine, EngineConfig, MountChoice, RelayAddress};
use farhold_relay::{RelayConfig, RelayServer};
use tracing_subscriber::fmt::MakeWriter;

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_personal_up_to_info() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_max_level(tracing::Level::INFO).with_writer(log.clone());
    subscriber.with_ansi(false).init();
    let relay = RelayServer::start(RelayConfig::loopback()).unwrap();
    let addresses = relay.addresses();
    let folder = tempfile::Builder::new().prefix("personal-folder").tempdir().unwrap();
    let start = |who: &str| {
        Engine::start(EngineConfig {
            relay: Some(RelayAddress {
                host: "127.0.0.1".to_owned(),
                port: addresses.grpc.port(),
                bridge_port: addresses.bridge.port(),
            }),
            mount: MountChoice::Off,
            loopback: true,
            ..EngineConfig::new(folder.path().join(who))
        })
    };
    let shared = folder.path().join("personal-share");
    std::fs::create_dir(&shared).unwrap();
    std::fs::write(shared.join("personal-file"), "x").unwrap();

    let (anna, ben) = (start("anna").await.unwrap(), start("ben").await.unwrap());
    anna.add_contact("personal-ben", &ben.code()).await.unwrap();
    ben.add_contact("personal-anna", &anna.code()).await.unwrap();
    anna.connect("personal-ben", Some(Duration::from_secs(30))).await.unwrap();
    ben.share(ShareRequest { paths: vec![shared], with: None, name: None, writable: false }).await.unwrap();
    let path = DrivePath::parse("personal-ben/personal-share/personal-file".as_ref()).unwrap();
    let seen = async {
        while anna.list(Some(&path)).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), seen).await.unwrap();
    // Errors and reconnects are logged too.
    ben.stop().await;
    let again = start("ben").await.unwrap();
    anna.connect("personal-ben", Some(Duration::from_secs(30))).await.unwrap();
    relay.stop().await;
    anna.stop().await;
    again.stop().await;

    tracing::info!("the log is written to");
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("the log is written to"));
    let codes = [&anna, &ben].map(|engine| engine.code()[..8].to_owned());
    for personal in ["personal", "127.0.0.1", &codes[0], &codes[1]] {
        let line = log.lines().find(|line| line.contains(personal));
        assert_eq!(line, None, "{personal}");
    }
}
