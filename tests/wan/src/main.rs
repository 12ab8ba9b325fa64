//! `farhold-wan`: checks the lab of long links, and measures Farhold in it.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "its output is its purpose")]

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use farhold_tests::peer::PeerOptions;
use farhold_wan::emulator::Loss;
use farhold_wan::lab::{Lab, Plan};
use farhold_wan::pair::Pair;

mod bench;
mod interrupt;
mod verify;

#[derive(Debug, Parser)]
#[command(name = "farhold-wan", about = "A lab of long links (Linux, root)")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measures what an emulated link carries, beside what was asked for
    Verify(Link),
    /// Measures Farhold on the links of the table of targets, and prints the table
    Bench(bench::Options),
    /// Reads files over a link for long, and sees that the session never breaks
    Endure {
        #[command(flatten)]
        link: Link,
        /// How long
        #[arg(long, value_name = "MINUTES", default_value_t = 10)]
        minutes: u64,
    },
}

/// The link between the far host and the others.
#[derive(Debug, Clone, Copy, Args)]
struct Link {
    /// Round trip, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 200.0)]
    rtt: f64,
    /// Rate of both peers' access each way, in Mbit/s
    #[arg(long, value_name = "MBIT", default_value_t = 600.0)]
    mbit: f64,
    /// What the accesses buffer, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 200.0)]
    buffer: f64,
    /// Packets lost, in per cent
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0)]
    loss: f64,
    /// Loses them in bursts of so many packets on average
    #[arg(long, value_name = "PACKETS")]
    burst: Option<f64>,
}

impl Link {
    fn plan(self) -> Plan {
        let share = self.loss / 100.0;
        Plan {
            rtt: Duration::from_secs_f64(self.rtt / 1000.0),
            rate: (self.mbit * 1e6) as u64,
            buffer: Duration::from_secs_f64(self.buffer / 1000.0),
            loss: match self.burst {
                None if share == 0.0 => Loss::None,
                None => Loss::Random { share },
                Some(length) => Loss::Bursts { share, length },
            },
            ..Plan::default()
        }
    }
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("farhold-wan: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> Result<()> {
    interrupt::handle()?;
    match cli.command {
        Command::Verify(link) => verify::run(link.plan()),
        Command::Bench(options) => bench::run(&options),
        Command::Endure { link, minutes } => endure(link.plan(), Duration::from_secs(minutes * 60)),
    }
}

fn endure(plan: Plan, within: Duration) -> Result<()> {
    let options = PeerOptions { mount: true, ..PeerOptions::default() };
    let pair = Pair::start(Lab::new(plan)?, options);
    pair.endure(within, |files, session| {
        if files % 50 == 0 {
            println!("{files} files, {} {}, {} ms", session["path"], session["transport"], session["rtt_ms"]);
        }
    });
    let (path, transport) = pair.path();
    pair.stop();
    println!("the session stood for {} s, at the end {path} {transport}", within.as_secs());
    Ok(())
}
