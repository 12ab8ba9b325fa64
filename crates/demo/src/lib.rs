//! Everything on this machine, to try it: a relay, a second peer with something to share, and a fresh engine that is
//! paired with it and mounts its drive. All of it lies in one temporary folder, which goes at the end.
//!
//! `farhold demo` and the window host it; each shows it in its own way.

mod picture;
mod sample;

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use farhold_control::{ControlServer, ServeError};
use farhold_engine::commands::{DrivePath, ShareRequest};
use farhold_engine::error::EngineError;
use farhold_engine::{Engine, EngineConfig, MountChoice, Name, RelayAddress};
use farhold_relay::{RelayConfig, RelayError, RelayServer, RunningRelay};
use tempfile::TempDir;

/// What the second peer is called here.
pub const PEER: &str = "demo";
/// What we are called there.
const US: &str = "you";
/// What the second peer shares.
const SAMPLE: &str = "Sample";
/// Where the second peer takes what is pushed to it.
const RECEIVED: &str = "Received";
/// Folder of the drive, unless another one is named.
const DRIVE: &str = "drive";
/// How long pairing, connecting and the first listing may take on one machine.
const START: Duration = Duration::from_secs(30);

/// Why there is no demo.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// One of the two engines said no.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The control socket cannot be served.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The relay does not start.
    #[error("the demo's relay does not start: {0}")]
    Relay(#[from] RelayError),
    /// A file of the demo failed.
    #[error("{what}: {source}")]
    Io {
        /// What was being done.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl DemoError {
    fn io(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what, source }
    }
}

/// A relay and two engines. [`Demo::end`] must be called: dropping it leaves its folder behind.
#[derive(Debug)]
pub struct Demo {
    stage: Stage,
    folder: TempDir,
    sample: PathBuf,
    engine: Engine,
    peer: Engine,
}

impl Demo {
    /// Starts everything, with the drive at `mount` or in a folder of the demo's own. The two engines do not know each
    /// other yet. To be awaited to its end: what it began could not be ended otherwise.
    ///
    /// # Errors
    /// [`DemoError`]; nothing is left then.
    pub async fn start(mount: Option<PathBuf>) -> Result<Self, DemoError> {
        // What goes wrong must not remove files through a drive that is still mounted in it.
        let folder = tempfile::Builder::new().prefix("farhold-demo-").disable_cleanup(true).tempdir();
        let folder = folder.map_err(DemoError::io("cannot make a temporary folder"))?;
        let sample = folder.path().join(SAMPLE);
        let mut stage = Stage::default();
        match stage.start(&folder, &sample, mount).await {
            Ok((engine, peer)) => Ok(Self { stage, folder, sample, engine, peer }),
            Err(error) => {
                stage.end().await;
                remove(folder).await.map_err(DemoError::io("cannot remove the temporary folder"))?;
                Err(error)
            }
        }
    }

    /// The user's engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// What the second peer shares.
    pub fn sample(&self) -> &Path {
        &self.sample
    }

    /// Pairs and connects the two as two people would, and waits until the sample is seen; at most a minute.
    ///
    /// # Errors
    /// What an engine says.
    pub async fn meet(&self) -> Result<(), EngineError> {
        self.engine.add_contact(PEER, &self.peer.code()).await?;
        self.peer.add_contact(US, &self.engine.code()).await?;
        self.peer.accept_pushes(US, Some(self.folder.path().join(RECEIVED))).await?;
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
            Err(_) => self.engine.list(Some(&path)).await.map(drop),
        }
    }

    /// Stops everything and removes what it made.
    ///
    /// # Errors
    /// [`DemoError::Io`] if its folder stays, as it does while something keeps the drive mounted.
    pub async fn end(self) -> Result<(), DemoError> {
        self.stage.end().await;
        remove(self.folder).await.map_err(DemoError::io("cannot remove the demo's temporary folder"))
    }
}

/// Removes the folder, unless the drive is still there. That may not answer, so a thread of its own asks.
async fn remove(folder: TempDir) -> io::Result<()> {
    tokio::task::spawn_blocking(|| remove_blocking(folder)).await.map_err(io::Error::other).flatten()
}

fn remove_blocking(mut folder: TempDir) -> io::Result<()> {
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
    /// The user's engine and the peer's.
    async fn start(
        &mut self,
        folder: &TempDir,
        sample: &Path,
        mount: Option<PathBuf>,
    ) -> Result<(Engine, Engine), DemoError> {
        let made = {
            let (sample, received) = (sample.to_owned(), folder.path().join(RECEIVED));
            tokio::task::spawn_blocking(move || {
                std::fs::create_dir(received)?;
                sample::make(&sample)
            })
            .await
        };
        made.map_err(io::Error::other).flatten().map_err(DemoError::io("cannot write the sample"))?;
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
        Ok((engine, peer))
    }

    async fn engine(&mut self, config: EngineConfig) -> Result<Engine, EngineError> {
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
