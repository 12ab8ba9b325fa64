//! Ctrl-C and SIGTERM end the engines first, so that no mount is left behind.

use std::fs;
use std::process;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// How long engines may take to end.
const END_WITHIN: Duration = Duration::from_secs(10);
/// Exit code of a program that SIGINT ended.
const INTERRUPTED: i32 = 130;

/// From now on these signals end the children of this process, then the process.
pub(crate) fn handle() -> Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    thread::Builder::new().name("signals".into()).spawn(move || {
        if signals.forever().next().is_some() {
            end_children();
            process::exit(INTERRUPTED);
        }
    })?;
    Ok(())
}

fn end_children() {
    for child in children() {
        // One that has ended meanwhile needs no signal.
        let _ = kill_process(child, Signal::TERM);
    }
    let end = Instant::now() + END_WITHIN;
    while !children().is_empty() && Instant::now() < end {
        thread::sleep(Duration::from_millis(50));
    }
}

/// The children of this process that still run.
fn children() -> Vec<Pid> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let ours = pids.filter(|pid| is_child(*pid).unwrap_or(false));
    ours.filter_map(Pid::from_raw).collect()
}

/// Whether the process is a child that runs: state and parent follow the name, which is in parentheses.
fn is_child(pid: i32) -> Option<bool> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let running = fields.next()? != "Z";
    Some(running && fields.next()?.parse::<u32>().ok()? == process::id())
}
