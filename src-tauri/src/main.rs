//! `farhold-app`: the window and the tray.
//!
//! `controller` decides everything and knows neither Tauri nor the bus; `host` runs the engine, `app` puts the parts
//! together, `commands` is what the page may call and `dto` what it is told. docs/window.md tells more.

mod app;
mod arguments;
mod autostart;
mod commands;
mod controller;
mod desktop;
mod dto;
mod host;
mod instance;
mod integration;
mod link;
mod notifications;
mod preferences;
mod texts;
mod tray;

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use crate::arguments::Arguments;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    log();
    match app::run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // A closed terminal is no reason to panic.
            let _ = writeln!(std::io::stderr(), "farhold-app: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Log messages go to standard error; FARHOLD_LOG chooses them.
fn log() {
    let mut filter = EnvFilter::try_from_env("FARHOLD_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    // This crate names watched paths in warnings; ours belong into DEBUG alone.
    let personal = filter.max_level_hint().is_some_and(|most| most >= LevelFilter::DEBUG);
    if !personal && let Ok(quiet) = "notify=off".parse() {
        filter = filter.add_directive(quiet);
    }
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .log_internal_errors(false)
        .init();
}
