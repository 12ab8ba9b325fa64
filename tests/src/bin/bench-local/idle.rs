//! What an engine costs while nothing happens, with three contacts present.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use farhold_tests::peer::{Peer, PeerOptions, Relay};

use crate::table::{Row, Table};

/// After connecting, before it counts.
const SETTLE: Duration = Duration::from_secs(10);
/// How long it counts.
const WATCHED: Duration = Duration::from_secs(60);
/// Part of a core, in percent.
const CPU_TARGET: f64 = 0.5;
/// Resident bytes.
const MEMORY_TARGET: f64 = 60e6;

/// Runs four engines and watches the one that knows the three others.
pub(crate) fn add(table: &mut Table) {
    let relay = Relay::start();
    let mut anna = Peer::start(&relay, PeerOptions { mount: true, ..PeerOptions::default() });
    let names = ["ben", "cleo", "dora"];
    let others: Vec<Peer> = names.iter().map(|_| Peer::start(&relay, PeerOptions::default())).collect();
    for (name, other) in names.into_iter().zip(&others) {
        anna.ask(&["contact", "add", name, &other.code()]);
        other.ask(&["contact", "add", "anna", &anna.code()]);
        anna.ask(&["connect", name, "--wait", "30"]);
    }
    thread::sleep(SETTLE);
    let process = Path::new("/proc").join(anna.program().id().to_string());
    let (before, start) = (Cost::of(&process), Instant::now());
    thread::sleep(WATCHED);
    let (after, seconds) = (Cost::of(&process), start.elapsed().as_secs_f64());
    let cpu = after.cpu.saturating_sub(before.cpu).as_secs_f64() / seconds * 100.0;
    let wakeups = after.wakeups.saturating_sub(before.wakeups) as f64 / seconds;
    table.add(Row {
        number: "P17",
        what: "idle engine with three contacts, CPU".to_owned(),
        target: format!("< {CPU_TARGET} % of a core"),
        figure: format!("{cpu:.2} %, {wakeups:.0} wake-ups a second"),
        limit: "-".to_owned(),
        met: cpu < CPU_TARGET,
    });
    table.add(Row {
        number: "P17",
        what: "the same, memory".to_owned(),
        target: format!("< {:.0} MB", MEMORY_TARGET / 1e6),
        figure: format!("{:.0} MB resident, {:.0} MB of it its own", after.resident / 1e6, after.own / 1e6),
        limit: "-".to_owned(),
        met: after.resident < MEMORY_TARGET,
    });
    for mut peer in others.into_iter().chain([anna]) {
        peer.stop();
    }
}

/// What a process took since its start, and holds now.
#[derive(Debug)]
struct Cost {
    cpu: Duration,
    wakeups: u64,
    /// Bytes, also of what it shares with others such as programs and libraries.
    resident: f64,
    /// Bytes that are its alone, as they are no part of a file.
    own: f64,
}

impl Cost {
    /// See proc(5): `schedstat` begins with nanoseconds on a CPU, and a thread that waits switches voluntarily.
    fn of(process: &Path) -> Self {
        let threads = fs::read_dir(process.join("task")).expect("its threads");
        let mut cost = Self {
            cpu: Duration::ZERO,
            wakeups: 0,
            resident: kilobytes(process, "VmRSS:"),
            own: kilobytes(process, "RssAnon:"),
        };
        for thread in threads {
            let thread = thread.expect("a thread").path();
            // It may have ended meanwhile.
            let Ok(scheduled) = fs::read_to_string(thread.join("schedstat")) else { continue };
            let nanoseconds = scheduled.split(' ').next().and_then(|field| field.parse().ok());
            cost.cpu += Duration::from_nanos(nanoseconds.expect("nanoseconds on a CPU"));
            cost.wakeups += field(&thread, "voluntary_ctxt_switches:").unwrap_or(0);
        }
        cost
    }
}

fn kilobytes(process: &Path, name: &str) -> f64 {
    field(process, name).expect("its memory") as f64 * 1024.0
}

fn field(process: &Path, name: &str) -> Option<u64> {
    let status = fs::read_to_string(process.join("status")).ok()?;
    let value = status.lines().find_map(|line| line.strip_prefix(name))?;
    value.split_whitespace().next()?.parse().ok()
}
