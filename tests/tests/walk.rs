//! Two people on one relay: pair, connect, share, list, read; directly and through the relay only.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::Duration;

use farhold_tests::peer::{Peer, PeerOptions, Relay, output, pair};
use farhold_tests::{tree, wait_for};

const BIG: usize = 64 << 20;

/// Wire bytes in and out of a peer so far.
fn wire(peer: &Peer) -> u64 {
    let status = peer.ask(&["status"]);
    status["wire"]["in"].as_u64().expect("bytes in") + status["wire"]["out"].as_u64().expect("bytes out")
}

fn walk(relay_only: bool) {
    let relay = Relay::start();
    let mut anna = Peer::start(&relay, PeerOptions { mount: true, relay_only });
    let mut ben = Peer::start(&relay, PeerOptions { relay_only, ..PeerOptions::default() });
    pair(&anna, &ben);
    let path = anna.contact("ben")["session"]["path"].as_str().expect("a path").to_owned();
    assert_eq!(path == "relayed", relay_only, "the path is {path}");

    let shared = ben.home().join("shared");
    tree::write(&shared.join("big.bin"), 1, BIG);
    tree::write(&shared.join("notes/deep/er/small.txt"), 2, 1234);
    tree::write(&shared.join("notes/empty.txt"), 3, 0);
    fs::create_dir(shared.join("nothing")).expect("a folder");
    symlink("notes/empty.txt", shared.join("link")).expect("a link");
    ben.ask(&["share", shared.to_str().expect("text"), "--with", "anna"]);

    let seen = anna.wait_path("ben/shared/notes/deep/er/small.txt");
    assert_eq!(tree::hash(&seen), tree::hash(&shared.join("notes/deep/er/small.txt")));
    let listed = anna.ask(&["ls", "ben/shared"]).to_string();
    assert!(listed.contains("big.bin") && listed.contains("notes"), "{listed}");

    // One read of the big file costs its size on the wire, the second one nothing.
    let big = anna.mount().join("ben/shared/big.bin");
    let before = wire(&anna);
    assert_eq!(tree::hash(&big), tree::hash(&shared.join("big.bin")));
    let once = wire(&anna) - before;
    let size = BIG as u64;
    assert!(once >= size && once <= size * 103 / 100, "{once} bytes for a file of {size}");
    let before = wire(&anna);
    let evict = format!("dd if={} iflag=nocache count=0 status=none", big.display());
    output(Command::new("bash").args(["-c", &evict]));
    assert_eq!(tree::hash(&big), tree::hash(&shared.join("big.bin")));
    let twice = wire(&anna) - before;
    assert!(twice < 64 << 10, "{twice} bytes for the second read");

    assert_eq!(tree::listing(&anna.mount().join("ben/shared")), tree::listing(&shared));

    // What changes at home is seen here; what is no longer shared is gone.
    tree::write(&shared.join("notes/empty.txt"), 4, 777);
    tree::write(&shared.join("later.txt"), 5, 10);
    fs::remove_file(shared.join("big.bin")).expect("removed");
    wait_for("the change is seen", Duration::from_secs(20), || {
        (tree::listing(&anna.mount().join("ben/shared")) == tree::listing(&shared)).then_some(())
    });
    ben.ask(&["unshare", shared.to_str().expect("text")]);
    wait_for("the share is gone", Duration::from_secs(20), || {
        output(Command::new("ls").arg(anna.mount().join("ben"))).is_empty().then_some(())
    });

    anna.stop();
    ben.stop();
}

#[test]
fn directly() {
    walk(false);
}

#[test]
fn through_the_relay_only() {
    walk(true);
}

#[test]
fn commands_fail_with_their_exit_codes() {
    let relay = Relay::start();
    let mut anna = Peer::start(&relay, PeerOptions::default());
    let code = |peer: &Peer, arguments: &[&str]| peer.command(arguments).status.code();
    assert_eq!(code(&anna, &["frobnicate"]), Some(2), "usage");
    assert_eq!(code(&anna, &["contact", "add", "short", "abcde"]), Some(2), "a code that is none");
    assert_eq!(code(&anna, &["connect", "nobody"]), Some(4), "no such contact");
    assert_eq!(code(&anna, &["share", "/does/not/exist"]), Some(4), "no such file");
    anna.stop();
    assert_eq!(code(&anna, &["shares"]), Some(3), "not running");
}
