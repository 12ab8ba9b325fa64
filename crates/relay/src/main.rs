//! `farhold-relay`: runs a relay until it is told to stop.

use std::io::Write;
use std::net::SocketAddr;

use anyhow::{Context, bail};
use clap::Parser;
use farhold_relay::{Addresses, RelayConfig, RelayServer};
use tracing_subscriber::EnvFilter;

/// A blind relay for Farhold: two paired programs find each other here, and their encrypted connections pass through
/// when there is no direct path between them.
///
/// It listens on three ports: PORT for the rendezvous (gRPC), PORT+1 for the bridge (TCP) and the UDP relay, PORT+2
/// for health and metrics (HTTP: /health, /metrics). It keeps nothing on disk, and needs no configuration. Ctrl-C or
/// SIGTERM stops it: connections that pass through it get 5 seconds to finish. It also stops, with exit code 1, if a
/// part of it fails.
///
/// Log messages go to standard error; the environment variable RUST_LOG chooses them. At the default level, info,
/// they name no address, token or nonce.
#[derive(Debug, Parser)]
#[command(name = "farhold-relay", version)]
struct Arguments {
    /// Where the rendezvous listens; bridge and UDP relay are one port above, health and metrics two above. With port 0 the
    /// system picks three free ports. [default: [::]:7480, or 0.0.0.0:7480 where there is no IPv6]
    #[arg(long, value_name = "ADDR:PORT")]
    listen: Option<SocketAddr>,

    /// Says where it listens as one line of JSON: {"ready":true,"grpc":"ADDR:PORT","bridge":"..","http":".."}
    #[arg(long)]
    json: bool,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
    tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colours).with_writer(std::io::stderr).init();
    raise_file_limit();

    let mut stop = StopSignal::listen().context("cannot listen for signals")?;
    let relay = RelayServer::start(RelayConfig { listen: arguments.listen, ..RelayConfig::default() })?;
    announce(relay.addresses(), arguments.json).context("cannot write to standard output")?;
    let failure = tokio::select! {
        () = stop.wait() => None,
        error = relay.failed() => Some(error.to_string()),
    };
    tracing::info!("stopping");
    relay.stop().await;
    match failure {
        Some(reason) => bail!(reason),
        None => Ok(()),
    }
}

fn announce(Addresses { grpc, bridge, http }: Addresses, json: bool) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    if json {
        writeln!(out, r#"{{"ready":true,"grpc":"{grpc}","bridge":"{bridge}","http":"{http}"}}"#)?;
    } else {
        writeln!(out, "Relay ready: rendezvous {grpc}, bridge {bridge}, health and metrics http://{http}")?;
    }
    out.flush()
}

/// Every connection is a file descriptor, and the usual soft limit of 1024 is far below [`farhold_relay::Limits`].
#[cfg(unix)]
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
}

#[cfg(not(unix))]
fn raise_file_limit() {}

/// Ctrl-C, or the system's request to end.
struct StopSignal {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(windows)]
    interrupt: tokio::signal::windows::CtrlC,
    #[cfg(windows)]
    terminate: tokio::signal::windows::CtrlClose,
}

impl StopSignal {
    #[cfg(unix)]
    fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    #[cfg(windows)]
    fn listen() -> std::io::Result<Self> {
        use tokio::signal::windows::{ctrl_c, ctrl_close};
        Ok(Self { interrupt: ctrl_c()?, terminate: ctrl_close()? })
    }

    async fn wait(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
