//! What each row of the table of targets measures. The far peer reads what the near peer shares, unless said otherwise.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use farhold_tests::peer::Peer;
use farhold_tests::wait_for;
use farhold_wan::emulator::Refusal;
use farhold_wan::lab::Site;
use farhold_wan::pair::{Pair, share};

use super::LinkKind;
use super::figure::{Figure, Target, percentile};
use super::files::{self, BIG, JUMP, JUMPS, MANY};
use super::read;

/// How long the load runs before the jumps begin.
const LOAD_FIRST: Duration = Duration::from_secs(10);
/// Connections made for one figure.
const CONNECTS: usize = 20;
/// What the last of many files may take to appear.
const APPEAR_WITHIN: Duration = Duration::from_secs(180);
/// A read of a player that takes longer is a freeze, in seconds.
const FREEZE: f64 = 0.3;
/// Bytes of a small read.
const SMALL_READ: usize = 16 << 10;

/// A running pair on a link, and what the link allows.
#[derive(Debug)]
pub(super) struct Ground<'a> {
    pub(super) pair: &'a Pair,
    pub(super) kind: LinkKind,
    /// Payload bytes per second of TCP.
    pub(super) rate: f64,
    /// Seconds.
    pub(super) rtt: f64,
}

/// A row of the table.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: &'static str,
    /// The links on which it is measured unless told otherwise.
    pub(super) links: &'static [LinkKind],
    pub(super) run: fn(&Ground<'_>) -> Vec<Figure>,
}

/// All of them, in order.
pub(super) const ROWS: [Row; 13] = [
    Row { name: "P1", links: &[LinkKind::Usual], run: |ground| pull(ground, "P1", 66.0) },
    Row { name: "P2", links: &[LinkKind::Long], run: |ground| pull(ground, "P2", 63.0) },
    Row { name: "P3", links: &[LinkKind::Lossy], run: |ground| pull(ground, "P3", 55.0) },
    Row { name: "P4", links: &[LinkKind::Usual, LinkKind::Long], run: cold_read },
    Row { name: "P5", links: &[LinkKind::Usual], run: connect },
    Row { name: "P6", links: &[LinkKind::Usual], run: first_byte },
    Row { name: "P7", links: &[LinkKind::Usual], run: idle_jumps },
    Row { name: "P8", links: &[LinkKind::Usual, LinkKind::Lossy], run: loaded_jumps },
    Row { name: "P9", links: &[LinkKind::Usual], run: loaded_small_reads },
    Row { name: "P10", links: &[LinkKind::Usual], run: player },
    Row { name: "P11", links: &[LinkKind::Usual], run: many_files_out },
    Row { name: "P12", links: &[LinkKind::Usual], run: many_files_appear },
    Row { name: "P18", links: &[LinkKind::Usual], run: overhead },
];

impl Ground<'_> {
    /// A file of the near peer as the far peer's drive shows it.
    fn drive(&self, name: &str) -> PathBuf {
        self.pair.far.mount().join("near/files").join(name)
    }

    /// Seconds of one cold jump on an otherwise idle link.
    fn jump_limit(&self) -> f64 {
        self.rtt + JUMP as f64 / self.rate
    }
}

fn figure(
    row: &'static str,
    what: &'static str,
    value: f64,
    target: Target,
    limit: impl Into<Option<f64>>,
) -> Figure {
    Figure { row, what, value, target, limit: limit.into() }
}

/// P1, P2, P3: a big file as a whole, each direction.
fn pull(ground: &Ground<'_>, row: &'static str, target: f64) -> Vec<Figure> {
    let (far, near) = (&ground.pair.far, &ground.pair.near);
    [("pull far <- near, MB/s", far, "near/files"), ("pull near <- far, MB/s", near, "far/back")]
        .map(|(what, peer, folder)| {
            let rate = pull_big(peer, folder);
            figure(row, what, rate, Target::AtLeast(target), ground.rate / 1e6)
        })
        .into()
}

/// Megabytes per second of one pull.
fn pull_big(peer: &Peer, shared: &str) -> f64 {
    peer.ask(&["cache", "drop"]);
    let folder = peer.home().join("pulled");
    fs::create_dir(&folder).expect("a folder");
    let start = Instant::now();
    let destination = folder.to_str().expect("a path of text");
    peer.ask(&["pull", &format!("{shared}/big.bin"), destination, "--wait"]);
    let took = start.elapsed();
    let pulled = fs::metadata(folder.join("big.bin")).expect("the pulled file").len();
    assert_eq!(pulled, BIG);
    fs::remove_dir_all(&folder).expect("removed");
    BIG as f64 / 1e6 / took.as_secs_f64()
}

/// P4: a big file front to back through the mount.
fn cold_read(ground: &Ground<'_>) -> Vec<Figure> {
    let rate = read_big(ground);
    vec![figure("P4", "cold read of 1 GB, MB/s", rate, Target::AtLeast(60.0), ground.rate / 1e6)]
}

/// Megabytes per second of one cold read.
fn read_big(ground: &Ground<'_>) -> f64 {
    let path = ground.drive("big.bin");
    read::make_cold(&ground.pair.far, &[&path]);
    let start = Instant::now();
    let read = read::through(&path, &AtomicU64::new(0), &AtomicBool::new(false));
    assert_eq!(read, BIG);
    read as f64 / 1e6 / start.elapsed().as_secs_f64()
}

/// P5: a saved contact is connected, also where IPv6 packets vanish.
fn connect(ground: &Ground<'_>) -> Vec<Figure> {
    let far = &ground.pair.far;
    let times = || -> Vec<f64> {
        (0..CONNECTS)
            .map(|_| {
                far.ask(&["disconnect", "near"]);
                // Both sides and the relay have settled.
                thread::sleep(Duration::from_secs(1));
                let start = Instant::now();
                far.ask(&["connect", "near", "--wait", "30"]);
                start.elapsed().as_secs_f64()
            })
            .collect()
    };
    let alive = times();
    ground.pair.lab.refuse(Site::Far, Refusal { ipv6: true, ..Refusal::default() });
    let dead = times();
    ground.pair.lab.refuse(Site::Far, Refusal::default());
    let limit = 2.0 * ground.rtt;
    vec![
        figure("P5", "connect, p50 s", percentile(&alive, 0.5), Target::None, limit),
        figure("P5", "connect, p95 s", percentile(&alive, 0.95), Target::AtMost(0.9), limit),
        figure("P5", "connect, dead IPv6, p50 s", percentile(&dead, 0.5), Target::None, limit),
        figure("P5", "connect, dead IPv6, p95 s", percentile(&dead, 0.95), Target::AtMost(0.9), limit),
    ]
}

/// P6: files nobody has read are opened.
fn first_byte(ground: &Ground<'_>) -> Vec<Figure> {
    let paths: Vec<_> = (0..files::COLD).map(|number| ground.drive(&files::cold(number))).collect();
    read::make_cold(&ground.pair.far, &paths.iter().map(PathBuf::as_path).collect::<Vec<&Path>>());
    let times: Vec<f64> = paths.iter().map(|path| read::first_bytes(path)).collect();
    vec![
        figure("P6", "open + first byte, p50 s", percentile(&times, 0.5), Target::None, ground.rtt),
        figure("P6", "open + first byte, p95 s", percentile(&times, 0.95), Target::AtMost(0.23), ground.rtt),
    ]
}

/// P7: jumps on an idle link.
fn idle_jumps(ground: &Ground<'_>) -> Vec<Figure> {
    let path = ground.drive("jump.bin");
    read::make_cold(&ground.pair.far, &[&path]);
    let times = read::jumps(&path, JUMP as usize, &AtomicU64::new(0));
    let limit = ground.jump_limit();
    vec![
        figure("P7", "jump of 2 MiB, idle, p50 s", percentile(&times, 0.5), Target::AtMost(0.24), limit),
        figure("P7", "jump of 2 MiB, idle, p95 s", percentile(&times, 0.95), Target::AtMost(0.25), limit),
    ]
}

/// What was seen while one program read front to back and another jumped.
struct Loaded {
    /// Seconds of each jump.
    times: Vec<f64>,
    /// Megabytes per second while the jumps ran: of both programs, and of the load alone.
    all: f64,
    load: f64,
}

fn jumps_under_load(ground: &Ground<'_>, length: usize) -> Loaded {
    // The second one only for an engine so slow that the first ends before the jumps.
    let loads = ["load.bin", "big.bin"].map(|name| ground.drive(name));
    let jump = ground.drive("jump.bin");
    read::make_cold(&ground.pair.far, &[&loads[0], &loads[1], &jump]);
    let (loaded, jumped, stop) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let reader = scope.spawn(|| loads.each_ref().map(|load| read::through(load, &loaded, &stop)));
        thread::sleep(LOAD_FIRST);
        let (start, before) = (Instant::now(), loaded.load(Ordering::Relaxed));
        let times = read::jumps(&jump, length, &jumped);
        let seconds = start.elapsed().as_secs_f64();
        let load = (loaded.load(Ordering::Relaxed) - before) as f64 / 1e6 / seconds;
        let outlived = !reader.is_finished();
        stop.store(true, Ordering::Relaxed);
        reader.join().expect("the load reads");
        assert!(outlived, "the load ended before the jumps: {times:?}");
        assert_eq!(times.len() as u64, JUMPS);
        Loaded { times, all: load + jumped.load(Ordering::Relaxed) as f64 / 1e6 / seconds, load }
    })
}

/// P8: jumps while another program reads front to back.
fn loaded_jumps(ground: &Ground<'_>) -> Vec<Figure> {
    let Loaded { times, all, load } = jumps_under_load(ground, JUMP as usize);
    let lossy = ground.kind == LinkKind::Lossy;
    let (p50, p95, max, rate) = if lossy { (0.46, 0.50, None, 50.0) } else { (0.25, 0.27, Some(0.30), 66.0) };
    let (limit, max) = (ground.jump_limit(), max.map_or(Target::None, Target::AtMost));
    let megabytes = ground.rate / 1e6;
    vec![
        figure("P8", "jump under load, p50 s", percentile(&times, 0.5), Target::AtMost(p50), limit),
        figure("P8", "jump under load, p95 s", percentile(&times, 0.95), Target::AtMost(p95), limit),
        figure("P8", "jump under load, max s", percentile(&times, 1.0), max, limit),
        figure("P8", "meanwhile in all, MB/s", all, Target::AtLeast(rate), megabytes),
        figure("P8", "meanwhile the load, MB/s", load, Target::None, megabytes),
    ]
}

/// P9: small reads while another program reads front to back.
fn loaded_small_reads(ground: &Ground<'_>) -> Vec<Figure> {
    let Loaded { times, all, .. } = jumps_under_load(ground, SMALL_READ);
    vec![
        figure("P9", "16 KiB under load, p50 s", percentile(&times, 0.5), Target::None, ground.rtt),
        figure("P9", "16 KiB under load, p95 s", percentile(&times, 0.95), Target::AtMost(0.24), ground.rtt),
        figure("P9", "meanwhile in all, MB/s", all, Target::None, ground.rate / 1e6),
    ]
}

/// P10: a film.
fn player(ground: &Ground<'_>) -> Vec<Figure> {
    let path = ground.drive("player.bin");
    read::make_cold(&ground.pair.far, &[&path]);
    let times = read::play(&path);
    let freezes = times.iter().filter(|time| **time > FREEZE).count() as f64;
    vec![
        figure("P10", "player, longest read s", percentile(&times, 1.0), Target::AtMost(FREEZE), None),
        figure("P10", "player, freezes", freezes, Target::AtMost(0.0), 0.0),
    ]
}

/// P11: a folder of small files copied out of the mount.
fn many_files_out(ground: &Ground<'_>) -> Vec<Figure> {
    let far = &ground.pair.far;
    read::make_cold(far, &[]);
    let copy = far.home().join("copied");
    let start = Instant::now();
    let status = Command::new("cp").arg("-r").arg(ground.drive("many")).arg(&copy).status().expect("cp");
    let took = start.elapsed().as_secs_f64();
    assert!(status.success(), "cp: {status}");
    assert_eq!(count(&copy), MANY);
    fs::remove_dir_all(&copy).expect("removed");
    vec![figure("P11", "10,000 files copied out, s", took, Target::AtMost(10.0), None)]
}

/// P12: files that are made at the near peer's disk appear in the far peer's drive.
fn many_files_appear(ground: &Ground<'_>) -> Vec<Figure> {
    let Pair { far, near, .. } = ground.pair;
    let folder = near.home().join("grows");
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("first"), "there").expect("a file");
    share(near, "far", &folder, "grows");
    far.wait_path("near/grows/first");
    let seen = far.mount().join("near/grows");
    for number in 0..MANY {
        fs::write(folder.join(number.to_string()), "grown").expect("a file");
    }
    let start = Instant::now();
    wait_for("all files appear", APPEAR_WITHIN, || (count(&seen) == MANY + 1).then_some(()));
    let took = start.elapsed().as_secs_f64();
    near.ask(&["unshare", folder.to_str().expect("a path of text")]);
    fs::remove_dir_all(&folder).expect("removed");
    vec![figure("P12", "10,000 files appear (real path), s", took, Target::AtMost(3.0), ground.rtt / 2.0)]
}

/// P18: what a cold read costs on the wire.
fn overhead(ground: &Ground<'_>) -> Vec<Figure> {
    let far = &ground.pair.far;
    let wire = || far.ask(&["status"])["wire"]["in"].as_f64().expect("bytes in");
    let before = wire();
    read_big(ground);
    let ratio = (wire() - before) / BIG as f64;
    assert!(ratio > 0.9, "the file was not cold: {ratio}");
    vec![figure("P18", "wire bytes per byte read", ratio, Target::AtMost(1.03), 1.0)]
}

fn count(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}
