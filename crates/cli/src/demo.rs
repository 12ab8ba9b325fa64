//! `farhold demo`: everything on this machine. A relay, a second peer with something to share, and an engine that is
//! paired with it and mounts its drive. All of it lies in one temporary folder, which goes at the end.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use farhold_control::ControlServer;
use farhold_engine::commands::{DrivePath, ShareRequest};
use farhold_engine::error::EngineError;
use farhold_engine::{Engine, EngineConfig, MountChoice, Name, RelayAddress};
use farhold_relay::{RelayConfig, RelayServer, RunningRelay};
use serde_json::json;
use tempfile::TempDir;

use crate::args::Demo;
use crate::exit::CommandError;
use crate::output::Output;
use crate::signals::EndSignal;

mod live;
mod picture;
mod sample;

/// What the second peer is called here, and we there.
const PEER: &str = "demo";
const US: &str = "you";
/// What the second peer shares.
const SAMPLE: &str = "Sample";
/// Folder of the drive, unless another one is named.
const DRIVE: &str = "drive";
/// How long pairing, connecting and the first listing may take on one machine.
const START: Duration = Duration::from_secs(30);

/// Runs until Ctrl-C, SIGTERM, `farhold down`, or the end of the time given.
pub(crate) async fn run(options: Demo, output: Output) -> Result<(), CommandError> {
    let mut end = EndSignal::listen()?;
    // What goes wrong must not remove files through a drive that is still mounted in it.
    let folder = tempfile::Builder::new().prefix("farhold-demo-").disable_cleanup(true).tempdir();
    let folder = folder.map_err(CommandError::io("cannot make a temporary folder"))?;
    let mut stage = Stage::default();
    // Starting is not interrupted half way: what it began could not be ended.
    let outcome = match stage.start(&folder, options.mount).await {
        Ok(scene) => tokio::select! {
            outcome = scene.play(options.seconds, output) => outcome,
            () = end.wait() => Ok(()),
            () = scene.engine.stopping() => Ok(()),
        },
        Err(error) => Err(error),
    };
    live::end(output);
    stage.end().await;
    outcome.and(remove(folder).map_err(CommandError::io("cannot remove the temporary folder")))
}

/// Removes the folder, unless the drive is still there.
fn remove(mut folder: TempDir) -> io::Result<()> {
    let device = |path: &Path| path.metadata().map(|found| found.dev());
    match device(&folder.path().join(DRIVE)) {
        Ok(drive) if drive != device(folder.path())? => return Err(io::ErrorKind::ResourceBusy.into()),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        // A mount whose program is gone.
        Err(error) => return Err(error),
    }
    folder.disable_cleanup(false);
    folder.close()
}

/// What was started, for the end.
#[derive(Debug, Default)]
struct Stage {
    relay: Option<RunningRelay>,
    engines: Vec<Engine>,
    control: Option<ControlServer>,
}

impl Stage {
    async fn start(&mut self, folder: &TempDir, mount: Option<PathBuf>) -> Result<Scene, CommandError> {
        let sample = folder.path().join(SAMPLE);
        let made = {
            let sample = sample.clone();
            tokio::task::spawn_blocking(move || sample::make(&sample)).await
        };
        made.map_err(std::io::Error::other).flatten().map_err(CommandError::io("cannot write the sample"))?;
        let relay = self.relay.insert(RelayServer::start(RelayConfig::loopback())?).addresses();
        let relay = RelayAddress {
            host: relay.grpc.ip().to_string(),
            port: relay.grpc.port(),
            bridge_port: relay.bridge.port(),
        };
        let config = |name: &str, mount| EngineConfig {
            relay: Some(relay.clone()),
            mount,
            listen: Some(0),
            loopback: true,
            ..EngineConfig::new(folder.path().join(name))
        };
        let peer = self.engine(config("peer", MountChoice::Off)).await?;
        let point = mount.unwrap_or_else(|| folder.path().join(DRIVE));
        let engine = self.engine(config("config", MountChoice::At(point))).await?;
        let socket = engine.layout().control_socket();
        self.control = Some(ControlServer::start(&socket, Arc::new(engine.clone()))?);
        Ok(Scene { engine, peer, sample })
    }

    async fn engine(&mut self, config: EngineConfig) -> Result<Engine, CommandError> {
        let engine = Engine::start(config).await?;
        self.engines.push(engine.clone());
        Ok(engine)
    }

    async fn end(self) {
        futures_util::future::join_all(self.engines.iter().map(Engine::stop)).await;
        if let Some(control) = self.control {
            control.stop().await;
        }
        if let Some(relay) = self.relay {
            relay.stop().await;
        }
    }
}

/// Two engines that do not know each other yet.
#[derive(Debug)]
struct Scene {
    engine: Engine,
    peer: Engine,
    sample: PathBuf,
}

impl Scene {
    async fn play(&self, seconds: Option<Duration>, output: Output) -> Result<(), CommandError> {
        self.meet().await?;
        self.announce(output)?;
        let show = live::show(&self.engine, PEER, output);
        match seconds {
            Some(seconds) => tokio::time::timeout(seconds, show).await.unwrap_or(Ok(())),
            None => show.await,
        }
    }

    /// Pairs and connects the two as two people would, and waits until the sample is seen.
    async fn meet(&self) -> Result<(), CommandError> {
        self.engine.add_contact(PEER, &self.peer.code()).await?;
        self.peer.add_contact(US, &self.engine.code()).await?;
        let paths = vec![self.sample.clone()];
        self.peer.share(ShareRequest { paths, with: None, name: None, writable: false }).await?;
        self.engine.connect(PEER, Some(START)).await?;
        let name = Name::new(SAMPLE).map_err(|source| EngineError::DrivePath(source.into()))?;
        let path = DrivePath { contact: PEER.to_owned(), below: vec![name] };
        let seen = async {
            while self.engine.list(Some(&path)).await.is_err() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        match tokio::time::timeout(START, seen).await {
            Ok(()) => Ok(()),
            Err(_) => self.engine.list(Some(&path)).await.map(drop).map_err(Into::into),
        }
    }

    fn announce(&self, output: Output) -> Result<(), CommandError> {
        let mount = self.engine.status()?.mount.map(|mount| mount.point).unwrap_or_default();
        output.say(
            || {
                json!({
                    "ready": true,
                    "mount": mount.to_string_lossy(),
                    "source": self.sample.to_string_lossy(),
                    "contact": PEER,
                    "config_dir": self.engine.layout().root().to_string_lossy(),
                })
            },
            || welcome(&mount, self.engine.layout().root()),
        )
    }
}

fn welcome(mount: &Path, config_dir: &Path) -> String {
    format!(
        "A relay and a second peer run on this machine; you are paired with it.\n\
         Look into   {}\n\
         Ask with    farhold --config-dir {} status\n\
         Ctrl-C ends it and leaves nothing behind.",
        mount.join(PEER).join(SAMPLE).display(),
        config_dir.display(),
    )
}
