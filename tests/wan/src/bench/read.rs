//! Timed reads of files on the drive.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use farhold_tests::peer::Peer;
use rustix::fs::{Advice, fadvise};

use super::files::{JUMP, JUMPS, PLAYER_RATE, PLAYER_SECONDS};

/// How much a program that reads front to back reads at once.
const STEP: usize = 1 << 20;
/// A player reads so often.
const PLAYER_TICK: Duration = Duration::from_millis(100);

/// Empties the cache of `peer` and takes these files of its drive out of the kernel's.
pub(crate) fn make_cold(peer: &Peer, paths: &[&Path]) {
    peer.ask(&["cache", "drop"]);
    for path in paths {
        let file = File::open(path).expect("a file of the drive");
        fadvise(&file, 0, None, Advice::DontNeed).expect("the kernel's cache");
    }
}

/// Reads a file front to back until its end or until `stop`, counting; its bytes.
pub(crate) fn through(path: &Path, count: &AtomicU64, stop: &AtomicBool) -> u64 {
    let mut file = File::open(path).expect("a file of the drive");
    let mut buffer = vec![0; STEP];
    let mut all = 0;
    while !stop.load(Ordering::Relaxed) {
        let length = file.read(&mut buffer).expect("its bytes") as u64;
        if length == 0 {
            break;
        }
        count.fetch_add(length, Ordering::Relaxed);
        all += length;
    }
    all
}

/// Seconds from before the open to the first bytes.
pub(crate) fn first_bytes(path: &Path) -> f64 {
    let start = Instant::now();
    let file = File::open(path).expect("a file of the drive");
    file.read_exact_at(&mut [0; 4096], 0).expect("its bytes");
    start.elapsed().as_secs_f64()
}

/// Seconds of each jump: reads `length` bytes at every place of a file of jumps once, in a fixed order without a
/// pattern. Counts the bytes.
pub(crate) fn jumps(path: &Path, length: usize, count: &AtomicU64) -> Vec<f64> {
    let file = File::open(path).expect("a file of the drive");
    let mut places: Vec<u64> = (0..JUMPS).collect();
    fastrand::Rng::with_seed(7).shuffle(&mut places);
    let mut buffer = vec![0; length];
    let jump = |place: u64| {
        let start = Instant::now();
        file.read_exact_at(&mut buffer, place * JUMP).expect("its bytes");
        count.fetch_add(length as u64, Ordering::Relaxed);
        start.elapsed().as_secs_f64()
    };
    places.into_iter().map(jump).collect()
}

/// Seconds of each read of a player after its first, which starts the clock.
pub(crate) fn play(path: &Path) -> Vec<f64> {
    let mut file = File::open(path).expect("a file of the drive");
    let ticks = PLAYER_SECONDS * 10;
    let mut buffer = vec![0; (PLAYER_RATE / 10) as usize];
    file.read_exact(&mut buffer).expect("its bytes");
    let start = Instant::now();
    let mut read = |tick: u64| {
        let due = PLAYER_TICK * tick as u32;
        thread::sleep(due.saturating_sub(start.elapsed()));
        let start = Instant::now();
        file.read_exact(&mut buffer).expect("its bytes");
        start.elapsed().as_secs_f64()
    };
    (1..ticks).map(&mut read).collect()
}
