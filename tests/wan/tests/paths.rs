//! Every network gets a path, the best that it allows, and what is read through it is right.

#![allow(clippy::print_stderr, reason = "which translators punch is a figure")]

use std::time::Duration;

use farhold_tests::peer::PeerOptions;
use farhold_wan::emulator::{Loss, Refusal};
use farhold_wan::lab::{Lab, Plan, Site};
use farhold_wan::nat::Nat;
use farhold_wan::pair::Pair;

/// How long a session must stand without a relay, and with losses.
const STANDS: Duration = Duration::from_secs(20);

fn plan() -> Plan {
    Plan { rtt: Duration::from_millis(60), rate: 200_000_000, ..Plan::default() }
}

fn start(lab: Lab) -> Pair {
    Pair::start(lab, PeerOptions { mount: true, ..PeerOptions::default() })
}

fn refused(refusal: Refusal) -> Lab {
    let lab = Lab::new(plan()).expect("a lab");
    lab.refuse(Site::Far, refusal);
    lab
}

#[test]
#[ignore = "needs root"]
fn peers_that_reach_each_other_use_quic() {
    let pair = start(Lab::new(plan()).expect("a lab"));
    pair.wait_path(|path, transport| path == "direct" && transport == "quic");
    pair.read_new(1);
    pair.stop();
}

#[test]
#[ignore = "needs root"]
fn peers_that_reach_the_relay_alone_use_quic_through_it() {
    let lab = Lab::new(plan()).expect("a lab");
    lab.cut(Site::Far, Site::Near, true);
    let pair = start(lab);
    pair.wait_path(|path, transport| path == "relayed" && transport == "quic");
    pair.read_new(1);
    pair.stop();
}

#[test]
#[ignore = "needs root"]
fn where_udp_is_blocked_tcp_works_alone() {
    let pair = start(refused(Refusal { udp: true, ..Refusal::default() }));
    pair.wait_path(|path, transport| path == "direct" && transport == "tcp");
    pair.read_new(1);
    pair.stop();

    let lab = refused(Refusal { udp: true, ..Refusal::default() });
    lab.cut(Site::Far, Site::Near, true);
    let pair = start(lab);
    pair.wait_path(|path, transport| path == "relayed" && transport == "tcp");
    pair.read_new(1);
    pair.stop();
}

#[test]
#[ignore = "needs root"]
fn ipv6_that_vanishes_is_no_obstacle() {
    let pair = start(refused(Refusal { ipv6: true, ..Refusal::default() }));
    pair.wait_path(|path, _| path == "direct");
    pair.read_new(1);
    pair.stop();
}

/// A far peer behind `far`, with a near peer behind each kind.
fn translated(far: Nat) {
    for near in Nat::ALL {
        let lab = Lab::new(Plan { far: Some(far), near: Some(near), ..plan() }).expect("a lab");
        let pair = start(lab);
        // A port chosen anew for each destination cannot be guessed, unless the other side lets anybody in.
        let punches = far == Nat::Cone
            || near == Nat::Cone
            || (far == Nat::PortRestricted && near == Nat::PortRestricted);
        // Through an open filter a straight dial may come first, which is as good.
        pair.wait_path(|path, _| (path != "relayed") == punches);
        pair.read_new(1);
        let (path, transport) = pair.path();
        eprintln!("far {far:?}, near {near:?}: {path} {transport}");
        pair.stop();
    }
}

#[test]
#[ignore = "needs root"]
fn a_cone_punches_with_every_kind() {
    translated(Nat::Cone);
}

#[test]
#[ignore = "needs root"]
fn port_restricted_translators_punch_unless_the_other_is_symmetric() {
    translated(Nat::PortRestricted);
}

#[test]
#[ignore = "needs root"]
fn a_symmetric_translator_punches_with_a_cone() {
    translated(Nat::Symmetric);
}

#[test]
#[ignore = "needs root"]
fn nothing_notices_that_the_relay_is_gone() {
    let mut pair = start(Lab::new(plan()).expect("a lab"));
    pair.wait_path(|path, _| path == "direct");
    pair.relay.kill();
    let before = pair.path();
    pair.endure(STANDS, |_, _| assert_eq!(pair.path(), before));
    pair.stop();
}

#[test]
#[ignore = "needs root"]
fn a_session_stands_losses() {
    let loss = Loss::Random { share: 0.02 };
    let pair = start(Lab::new(Plan { loss, ..plan() }).expect("a lab"));
    pair.endure(STANDS, |_, _| ());
    pair.stop();
}
