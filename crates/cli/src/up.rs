//! `farhold up`: the engine in the foreground.

use std::path::PathBuf;
use std::sync::Arc;

use farhold_control::ControlServer;
use farhold_engine::logs::RecentLogs;
use farhold_engine::status::Status;
use farhold_engine::{Engine, EngineConfig, MountChoice};
use serde_json::json;

use crate::args::Up;
use crate::exit::CommandError;
use crate::output::Output;
use crate::signals::EndSignal;

/// Runs an engine until a signal or `farhold down` ends it.
pub(crate) async fn run(
    config_dir: PathBuf,
    options: Up,
    logs: RecentLogs,
    output: Output,
) -> Result<(), CommandError> {
    let mut end = EndSignal::listen()?;
    let config = EngineConfig {
        relay: options.relay,
        mount: match (options.mount, options.no_mount) {
            (Some(point), _) => MountChoice::At(point),
            (None, true) => MountChoice::Off,
            (None, false) => MountChoice::Settings,
        },
        listen: options.listen,
        no_lan: options.no_lan,
        relay_only: options.relay_only,
        logs,
        ..EngineConfig::new(config_dir)
    };
    let engine = Engine::start(config).await?;
    let served = ControlServer::start(&engine.layout().control_socket(), Arc::new(engine.clone()));
    let control = match served {
        Ok(control) => control,
        Err(error) => {
            engine.stop().await;
            return Err(error.into());
        }
    };
    let announced = announce(&engine, output);
    if announced.is_ok() {
        tokio::select! {
            () = end.wait() => {}
            () = engine.stopping() => {}
        }
    }
    engine.stop().await;
    // After the engine: whoever called `farhold down` is answered when everything is unmounted.
    control.stop().await;
    announced
}

fn announce(engine: &Engine, output: Output) -> Result<(), CommandError> {
    let status = engine.status()?;
    let socket = engine.layout().control_socket();
    output.say(
        || {
            json!({
                "ready": true,
                "code": status.identity.code,
                "control": socket.to_string_lossy(),
                "mount": status.mount.as_ref().map(|mount| mount.point.to_string_lossy()),
                "listen": status.network.listen,
            })
        },
        || welcome(engine, &status),
    )
}

fn welcome(engine: &Engine, status: &Status) -> String {
    let drive = status
        .mount
        .as_ref()
        .map_or_else(|| "not mounted, as asked".to_owned(), |mount| mount.point.display().to_string());
    let relay = status
        .network
        .relay
        .as_deref()
        .unwrap_or("none: contacts cannot be found. Set it with: farhold settings relay HOST:PORT");
    format!(
        "Farhold is up. Ctrl-C stops it.\n\
         Drive    {drive}\n\
         Code     {}\n\
         Relay    {relay}\n\
         Secrets  sealed under {}, which only you can read (no keychain is used)",
        status.identity.code,
        engine.layout().secret_key().display(),
    )
}
