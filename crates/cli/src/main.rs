//! `farhold`: the command line of a shared drive.
//!
//! `up` and `demo` host engines; everything else attaches to a running one over its control socket and prints what
//! it answers. Exit codes are in `exit`, the words for people in `output`.

mod args;
mod commands;
mod demo;
mod doctor;
mod exit;
mod output;
mod signals;
mod size;
mod up;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use farhold_control::ControlClient;
use farhold_engine::layout::Layout;
use farhold_engine::logs::RecentLogs;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use crate::args::{Cli, Command};
use crate::exit::CommandError;
use crate::output::Output;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let output = Output::new(cli.json);
    let logs = log(if matches!(cli.command, Command::Up(_)) { "info" } else { "warn" });
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return output.fail(&CommandError::io("cannot start threads")(error)),
    };
    let done = runtime.block_on(run(cli, logs, output));
    // A thread that still waits for a disk must not keep the process.
    runtime.shutdown_background();
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => output.fail(&error),
    }
}

/// Shows log messages on standard error, and keeps the latest.
fn log(default: &str) -> RecentLogs {
    let mut filter = EnvFilter::try_from_env("FARHOLD_LOG").unwrap_or_else(|_| EnvFilter::new(default));
    // This crate names watched paths in warnings; ours belong into DEBUG alone.
    let personal = filter.max_level_hint().is_some_and(|most| most >= LevelFilter::DEBUG);
    if !personal && let Ok(quiet) = "notify=off".parse() {
        filter = filter.add_directive(quiet);
    }
    let colours = std::io::stderr().is_terminal();
    let shown = tracing_subscriber::fmt::layer()
        .with_ansi(colours)
        .with_writer(std::io::stderr)
        // Told on standard error again, which panics: a closed terminal would end whatever task logs something.
        .log_internal_errors(false)
        .with_filter(filter);
    let logs = RecentLogs::default();
    tracing_subscriber::registry().with(shown).with(logs.layer()).init();
    logs
}

async fn run(cli: Cli, logs: RecentLogs, output: Output) -> Result<(), CommandError> {
    let config_dir =
        || cli.config_dir.clone().or_else(Layout::default_config_dir).ok_or(CommandError::NoHome);
    match cli.command {
        Command::Up(options) => up::run(config_dir()?, options, logs, output).await,
        Command::Ask(ask) => {
            let client = ControlClient::attach(&Layout::new(config_dir()?).control_socket()).await?;
            commands::run(ask, client, output).await
        }
        Command::Doctor { export: Some(file), .. } => {
            doctor::export(&Layout::new(config_dir()?), &file, output).await
        }
        Command::Doctor { relay, export: None } => {
            doctor::run(&Layout::new(config_dir()?), relay, output).await
        }
        Command::Demo(options) => demo::run(options, output).await,
        Command::Completions { shell } => {
            // Not at once to standard output: that panics when nobody reads it to the end.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "farhold", &mut script);
            output.print(&String::from_utf8_lossy(&script))
        }
    }
}
