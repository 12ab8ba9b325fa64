//! Crashes, cut links and restarts, seen from a program that reads the drive.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use farhold_tests::peer::{Peer, PeerOptions, Relay, is_mounted, pair, succeeds};
use farhold_tests::{tree, wait_for};
use rustix::process::Signal;

const MOUNTED: PeerOptions = PeerOptions { mount: true, relay_only: false };
const BIG: usize = 256 << 20;

/// A program that reads a file from front to back.
fn reader(path: &Path) -> Child {
    Command::new("cat").arg(path).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("cat runs")
}

fn ended(child: &mut Child, within: Duration) -> bool {
    wait_for("the reader ends", within, || child.try_wait().expect("its status")).success()
}

fn quick(command: &mut Command, within: Duration) {
    let start = Instant::now();
    assert!(succeeds(command), "{command:?}");
    assert!(start.elapsed() < within, "{command:?} took {:?}", start.elapsed());
}

/// Reads through the mount until at least `bytes` of a file are in the cache.
fn cached(peer: &Peer, bytes: u64) {
    wait_for("something is cached", Duration::from_secs(30), || {
        (peer.ask(&["status"])["cache"]["used"].as_u64().expect("bytes") >= bytes).then_some(())
    });
}

/// Ben shares a folder with one big file, which Anna then sees: the folder at home, and the file on her drive.
fn share_big(anna: &Peer, ben: &Peer) -> (PathBuf, PathBuf) {
    let shared = ben.home().join("shared");
    tree::write(&shared.join("big.bin"), 1, BIG);
    ben.ask(&["share", shared.to_str().expect("text"), "--with", "anna"]);
    (shared, anna.wait_path("ben/shared/big.bin"))
}

#[test]
fn a_killed_peer_is_a_clear_error_and_comes_back_without_a_remount() {
    let relay = Relay::start();
    let mut anna = Peer::start(&relay, MOUNTED);
    let mut ben = Peer::start(&relay, PeerOptions::default());
    pair(&anna, &ben);
    let (shared, big) = share_big(&anna, &ben);

    let mut reading = reader(&big);
    cached(&anna, 1 << 20);
    ben.kill();
    // A UDP port that is gone says nothing: it is the silence that is noticed.
    assert!(!ended(&mut reading, Duration::from_secs(30)), "the reader must get an error");
    quick(Command::new("ls").arg("-lR").arg(anna.mount()), Duration::from_secs(2));

    ben.start_again();
    anna.wait_session("ben", "connected", Duration::from_secs(30));
    assert_eq!(tree::hash(&big), tree::hash(&shared.join("big.bin")));
    assert_eq!(tree::listing(&anna.mount().join("ben/shared")), tree::listing(&shared));
    anna.stop();
    ben.stop();
}

#[test]
fn a_link_cut_for_seconds_only_delays_a_reader() {
    let relay = Relay::start();
    let mut anna = Peer::start(&relay, PeerOptions { mount: true, relay_only: true });
    let mut ben = Peer::start(&relay, PeerOptions { relay_only: true, ..PeerOptions::default() });
    pair(&anna, &ben);
    let (shared, big) = share_big(&anna, &ben);

    // A stopped relay neither forwards nor closes anything: what a dead link looks like.
    let mut reading = reader(&big);
    cached(&anna, 1 << 20);
    relay.program().signal(Signal::STOP);
    std::thread::sleep(Duration::from_secs(12));
    quick(Command::new("ls").arg("-lR").arg(anna.mount()), Duration::from_secs(2));
    relay.program().signal(Signal::CONT);
    assert!(ended(&mut reading, Duration::from_secs(60)), "the reader goes on");
    assert_eq!(tree::hash(&big), tree::hash(&shared.join("big.bin")));
    anna.stop();
    ben.stop();
}

#[test]
fn our_own_crash_is_repaired_at_the_next_start() {
    let relay = Relay::start();
    let mut anna = Peer::start(&relay, MOUNTED);
    let mut ben = Peer::start(&relay, PeerOptions::default());
    pair(&anna, &ben);
    let (shared, big) = share_big(&anna, &ben);

    let mut reading = reader(&big);
    cached(&anna, 16 << 20);
    anna.kill();
    assert!(!ended(&mut reading, Duration::from_secs(10)));
    assert!(is_mounted(&anna.mount()), "the crash left its mount, which is what the next start must repair");

    anna.start_again();
    anna.wait_session("ben", "connected", Duration::from_secs(30));
    cached(&anna, 1 << 20);
    assert_eq!(tree::hash(&big), tree::hash(&shared.join("big.bin")));
    let hits = anna.ask(&["status"])["cache"]["hits"].as_u64().expect("hits");
    assert!(hits > 0, "what was cached before the crash is used");
    anna.stop();
    ben.stop();
}

#[test]
fn presence_survives_disconnects_and_relay_restarts() {
    let mut relay = Relay::start();
    let mut anna = Peer::start(&relay, PeerOptions::default());
    let mut ben = Peer::start(&relay, PeerOptions::default());
    pair(&anna, &ben);
    let present = |peer: &Peer, name: &str| peer.contact(name)["present"] == true;

    anna.ask(&["disconnect", "ben"]);
    ben.wait_session("anna", "offline", Duration::from_secs(10));
    let end = Instant::now() + Duration::from_secs(90);
    while Instant::now() < end {
        assert!(present(&ben, "anna"), "a disconnect must not make us look absent");
        std::thread::sleep(Duration::from_secs(3));
    }
    anna.ask(&["connect", "ben", "--wait", "30"]);
    ben.wait_session("anna", "connected", Duration::from_secs(10));

    relay.kill();
    std::thread::sleep(Duration::from_secs(2));
    relay.start_again();
    // A fresh relay knows of nobody: presence comes back only if both post and watch again.
    for (peer, name) in [(&anna, "ben"), (&ben, "anna")] {
        wait_for("present and connected again", Duration::from_secs(15), || {
            (present(peer, name) && peer.session(name) == "connected").then_some(())
        });
    }

    anna.stop();
    wait_for("a stopped engine is absent", Duration::from_secs(60), || {
        (!present(&ben, "anna")).then_some(())
    });
    ben.stop();
}
