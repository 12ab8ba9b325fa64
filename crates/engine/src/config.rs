//! What an engine is started with.

use std::path::PathBuf;

use farhold_net::RelayAddress;

/// Options of one run; what is left out is taken from the settings.
#[derive(Debug, Clone)]
pub struct EngineConfig {
    /// The folder of everything that this engine keeps.
    pub config_dir: PathBuf,
    /// The relay.
    pub relay: Option<RelayAddress>,
    /// Whether and where the drive is mounted.
    pub mount: MountChoice,
    /// TCP port for direct connections; 0 takes any free one.
    pub listen: Option<u16>,
    /// Contacts are not dialled in the own network.
    pub no_lan: bool,
    /// Contacts are reached through the relay only.
    pub relay_only: bool,
    /// Listens on this machine's loopback address only: for tests and the demo.
    pub loopback: bool,
}

impl EngineConfig {
    /// An engine on `config_dir` as its settings say.
    pub fn new(config_dir: impl Into<PathBuf>) -> Self {
        Self {
            config_dir: config_dir.into(),
            relay: None,
            mount: MountChoice::Settings,
            listen: None,
            no_lan: false,
            relay_only: false,
            loopback: false,
        }
    }
}

/// Whether and where the drive is mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MountChoice {
    /// As the settings say.
    Settings,
    /// Here.
    At(PathBuf),
    /// Nowhere.
    Off,
}
