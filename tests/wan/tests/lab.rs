//! The lab is what it says: delays, rates, losses, refusals, translators.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

use farhold_wan::emulator::{Loss, Refusal};
use farhold_wan::lab::{Lab, Plan, Site};
use farhold_wan::nat::Nat;
use farhold_wan::probe;

const RTT: Duration = Duration::from_millis(40);
const RATE: u64 = 20_000_000;

fn plan() -> Plan {
    Plan { rtt: RTT, rate: RATE, ..Plan::default() }
}

fn ping(lab: &Lab, ip: IpAddr) -> Option<Duration> {
    probe::ping(lab.space(Site::Far), lab.space(Site::Near), ip).ok()
}

#[test]
#[ignore = "needs root"]
fn it_delays_limits_and_loses_as_asked() {
    let loss = Loss::Random { share: 0.1 };
    let lab = Lab::new(Plan { loss, ..plan() }).expect("a lab");
    for ip in [lab.v4(Site::Near), lab.v6(Site::Near)] {
        assert!(ping(&lab, ip).is_some_and(|trip| trip >= RTT), "{ip}");
    }
    let (far, near) = (lab.space(Site::Far), lab.space(Site::Near));
    let carried =
        probe::udp(far, near, lab.v4(Site::Near), RATE * 2, Duration::from_secs(2)).expect("a rate");
    assert!(carried.rate <= RATE as f64 / 8.0 && carried.loss > 0.4, "{carried:?}");
    let carried =
        probe::udp(far, near, lab.v4(Site::Near), RATE / 4, Duration::from_secs(2)).expect("a rate");
    assert!(carried.loss > 0.03 && carried.loss < 0.3, "{carried:?}");
    let rate = probe::tcp(near, lab.space(Site::Relay), lab.v4(Site::Relay), 2, Duration::from_secs(2));
    let rate = rate.expect("a rate");
    assert!(rate > 0.0 && rate <= RATE as f64 / 8.0 * 1.1, "{rate}");
}

#[test]
#[ignore = "needs root"]
fn links_are_cut_and_addresses_change_while_it_runs() {
    let mut lab = Lab::new(plan()).expect("a lab");
    let (v4, v6) = (lab.v4(Site::Near), lab.v6(Site::Near));
    let passes = |lab: &Lab| [ping(lab, v4).is_some(), ping(lab, v6).is_some()];
    assert_eq!(passes(&lab), [true, true]);
    lab.cut(Site::Far, Site::Near, true);
    assert_eq!(passes(&lab), [false, false]);
    assert!(probe::ping(lab.space(Site::Far), lab.space(Site::Relay), lab.v4(Site::Relay)).is_ok());
    lab.cut(Site::Far, Site::Near, false);
    lab.refuse(Site::Near, Refusal { ipv6: true, ..Refusal::default() });
    assert_eq!(passes(&lab), [true, false]);
    lab.refuse(Site::Near, Refusal { udp: true, ..Refusal::default() });
    assert_eq!(passes(&lab), [false, false]);
    lab.refuse(Site::Near, Refusal::default());

    lab.change_addresses(Site::Far).expect("other addresses");
    assert_eq!(passes(&lab), [true, true]);
    lab.change_addresses(Site::Near).expect("other addresses");
    assert_ne!((lab.v4(Site::Near), lab.v6(Site::Near)), (v4, v6));
    assert_eq!([lab.v4(Site::Near), lab.v6(Site::Near)].map(|ip| ping(&lab, ip).is_some()), [true, true]);
    let old = probe::ping(lab.space(Site::Far), lab.space(Site::Near), v4);
    assert!(old.is_err(), "nobody has the old address");
}

#[test]
#[ignore = "needs root"]
fn labs_run_beside_each_other() {
    let labs = [Lab::new(plan()).expect("a lab"), Lab::new(plan()).expect("a lab")];
    for lab in &labs {
        assert!(ping(lab, lab.v4(Site::Near)).is_some());
    }
}

/// A socket of a site, which waits for packets only briefly.
fn socket(lab: &Lab, site: Site) -> UdpSocket {
    let socket = lab.space(site).run(|| UdpSocket::bind("0.0.0.0:0")).expect("a socket");
    socket.set_read_timeout(Some(Duration::from_millis(500))).expect("a timeout");
    socket
}

fn local(lab: &Lab, site: Site, socket: &UdpSocket) -> SocketAddr {
    SocketAddr::new(lab.v4(site), socket.local_addr().expect("its address").port())
}

#[test]
#[ignore = "needs root"]
fn translators_map_and_filter_as_their_kind() {
    for nat in Nat::ALL {
        let lab = Lab::new(Plan { far: Some(nat), ..plan() }).expect("a lab");
        let inside = socket(&lab, Site::Far);
        let outside = [socket(&lab, Site::Relay), socket(&lab, Site::Near)];
        let mut buffer = [0; 8];
        // What each of two others sees it as; both can answer.
        let mut seen = BTreeSet::new();
        for (other, site) in outside.iter().zip([Site::Relay, Site::Near]) {
            inside.send_to(b"out", local(&lab, site, other)).expect("sent");
            let (_, source) = other.recv_from(&mut buffer).expect("what was sent");
            assert_eq!(source.ip(), lab.v4(Site::Far));
            other.send_to(b"answer", source).expect("sent");
            inside.recv_from(&mut buffer).expect("an answer");
            seen.insert(source.port());
        }
        let own = inside.local_addr().expect("its address").port();
        assert_eq!(seen == BTreeSet::from([own]), nat != Nat::Symmetric, "{nat:?}: {seen:?} of {own}");
        // Who was never sent to gets in through an open filter only.
        let stranger = socket(&lab, Site::Near);
        let mapped = SocketAddr::new(lab.v4(Site::Far), *seen.first().expect("a port"));
        stranger.send_to(b"hello", mapped).expect("sent");
        assert_eq!(inside.recv_from(&mut buffer).is_ok(), nat == Nat::Cone, "{nat:?}");
        // A refused packet does not spoil the mapping.
        inside.send_to(b"out", local(&lab, Site::Near, &stranger)).expect("sent");
        let (_, source) = stranger.recv_from(&mut buffer).expect("what was sent");
        assert_eq!(source.port() == own, nat != Nat::Symmetric, "{nat:?}");
    }
}
