//! What is under way goes on by itself after a cut link and on another address, and every byte of it is right.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use farhold_tests::peer::{Peer, PeerOptions};
use farhold_tests::{tree, wait_for};
use farhold_wan::emulator::Refusal;
use farhold_wan::lab::{Lab, Plan, Site};
use farhold_wan::pair::Pair;
use serde_json::Value;

/// Bytes that are moved: some seconds of the link.
const FILE: usize = 40 << 20;
/// How long the link is cut.
const CUT: Duration = Duration::from_secs(20);
/// How long everything may take, on a loaded machine.
const WITHIN: Duration = Duration::from_secs(180);

/// Two peers that are connected; the near one shares a file.
fn start() -> Pair {
    let plan = Plan { rtt: Duration::from_millis(60), rate: 50_000_000, ..Plan::default() };
    let options = PeerOptions { mount: true, ..PeerOptions::default() };
    let pair = Pair::start(Lab::new(plan).expect("a lab"), options);
    let folder = pair.near.home().join("shared");
    tree::write(&folder.join("big"), 1, FILE);
    pair.share_near(&folder, "big");
    pair
}

/// Asserts that `file` holds what is shared.
fn assert_right(file: PathBuf) {
    assert!(fs::read(file).expect("its bytes") == tree::bytes(1, FILE), "the bytes are wrong");
}

/// Waits until bytes are under way, and some have come.
fn wait_under_way(peer: &Peer) {
    let received = || peer.ask(&["status"])["wire"]["in"].as_u64().expect("bytes in");
    let before = received();
    wait_for("bytes come", WITHIN, || (received() > before + (4 << 20)).then_some(()));
}

fn cut(pair: &Pair) {
    pair.lab.refuse(Site::Far, Refusal { everything: true, ..Refusal::default() });
    thread::sleep(CUT);
    pair.lab.refuse(Site::Far, Refusal::default());
}

/// Reads the file through the far drive while `event` happens.
fn read_through(event: impl FnOnce(&mut Pair)) {
    let mut pair = start();
    let file = pair.far.mount().join("near/shared/big");
    let reader = thread::spawn(|| assert_right(file));
    wait_under_way(&pair.far);
    event(&mut pair);
    wait_for("the read ends", WITHIN, || reader.is_finished().then_some(()));
    reader.join().expect("the read is right");
    pair.stop();
}

/// The only transfer of `peer`.
fn transfer(peer: &Peer) -> Value {
    peer.ask(&["status"])["transfers"][0].take()
}

fn wait_done(peer: &Peer) {
    wait_for("the transfer is done", WITHIN, || {
        let transfer = transfer(peer);
        let state = transfer["state"].as_str().expect("a state");
        assert!(!["failed", "cancelled", "paused"].contains(&state), "{transfer}");
        (state == "done").then_some(())
    });
}

/// Pulls the file to the far peer while `event` happens.
fn pull_through(event: impl FnOnce(&mut Pair)) {
    let mut pair = start();
    let folder = pair.far.home().join("pulled");
    fs::create_dir(&folder).expect("a folder");
    pair.far.ask(&["pull", "near/shared/big", folder.to_str().expect("a path of text")]);
    wait_under_way(&pair.far);
    event(&mut pair);
    wait_done(&pair.far);
    assert_right(folder.join("big"));
    pair.stop();
}

/// Pushes the file from the near peer while `event` happens.
fn push_through(event: impl FnOnce(&mut Pair)) {
    let mut pair = start();
    let folder = pair.far.home().join("accepted");
    fs::create_dir(&folder).expect("a folder");
    pair.far.ask(&["accept", "near", folder.to_str().expect("a path of text")]);
    let file = pair.near.home().join("shared/big");
    pair.near.ask(&["push", file.to_str().expect("a path of text"), "far"]);
    wait_under_way(&pair.far);
    event(&mut pair);
    wait_done(&pair.near);
    wait_done(&pair.far);
    assert_right(folder.join("big"));
    pair.stop();
}

#[test]
#[ignore = "needs root"]
fn a_read_goes_on_after_a_cut() {
    read_through(|pair| cut(pair));
}

#[test]
#[ignore = "needs root"]
fn a_pull_goes_on_after_a_cut() {
    pull_through(|pair| cut(pair));
}

#[test]
#[ignore = "needs root"]
fn a_push_goes_on_after_a_cut() {
    push_through(|pair| cut(pair));
}

#[test]
#[ignore = "needs root"]
fn a_read_goes_on_when_the_reader_moves() {
    read_through(|pair| pair.lab.change_addresses(Site::Far).expect("other addresses"));
}

#[test]
#[ignore = "needs root"]
fn a_read_goes_on_when_the_other_moves() {
    read_through(|pair| pair.lab.change_addresses(Site::Near).expect("other addresses"));
}

#[test]
#[ignore = "needs root"]
fn a_pull_goes_on_when_an_address_changes() {
    pull_through(|pair| pair.lab.change_addresses(Site::Far).expect("other addresses"));
}

#[test]
#[ignore = "needs root"]
fn a_push_goes_on_when_an_address_changes() {
    push_through(|pair| pair.lab.change_addresses(Site::Near).expect("other addresses"));
}
