use proptest::prelude::{prop, prop_assert, prop_assert_eq, proptest};

use super::*;

const MBIT: u64 = 1_000_000;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn ip(last: u8) -> IpAddr {
    IpAddr::from([198, 18, 0, last])
}

fn ip6(last: u16) -> IpAddr {
    IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, last])
}

/// An IPv4 packet of `length` bytes that carries `mark`.
fn packet(from: u8, to: u8, protocol: u8, length: usize, mark: u32) -> Vec<u8> {
    let mut packet = vec![0; length];
    packet[0] = 0x45;
    packet[9] = protocol;
    packet[12..16].copy_from_slice(&[198, 18, 0, from]);
    packet[16..20].copy_from_slice(&[198, 18, 0, to]);
    packet[20..24].copy_from_slice(&mark.to_le_bytes());
    packet
}

fn packet6(from: u16, to: u16) -> Vec<u8> {
    let mut packet = vec![0; 100];
    packet[0] = 0x60;
    packet[6] = 6;
    for (at, address) in [(8, ip6(from)), (24, ip6(to))] {
        let IpAddr::V6(address) = address else { unreachable!() };
        packet[at..at + 16].copy_from_slice(&address.octets());
    }
    packet
}

fn mark(packet: &[u8]) -> u32 {
    u32::from_le_bytes(packet[20..24].try_into().unwrap())
}

/// Two hosts of 8 Mbit/s (1 byte per microsecond) and 100 ms of buffer, 50 ms apart.
fn two(loss: Loss) -> (Emulator, HostId, HostId) {
    let mut emulator = Emulator::new(1);
    let access = Access { up: 8 * MBIT, down: 8 * MBIT, buffer: ms(100) };
    let a = emulator.add(access, &[ip(1), ip6(1)]);
    let b = emulator.add(access, &[ip(2), ip6(2)]);
    emulator.set_between(a, b, Between { delay: ms(50), loss, cut: false });
    (emulator, a, b)
}

/// Everything still under way, with the moment of each arrival.
fn drain(emulator: &mut Emulator) -> Vec<(Duration, HostId, Vec<u8>)> {
    let mut out = Vec::new();
    while let Some(now) = emulator.next() {
        while let Some((host, packet)) = emulator.deliver(now) {
            out.push((now, host, packet));
        }
    }
    out
}

#[test]
fn a_packet_pays_uplink_delay_and_downlink() {
    let (mut emulator, a, b) = two(Loss::None);
    emulator.send(a, &packet(1, 2, 6, 1000, 7), ms(3));
    assert_eq!(emulator.deliver(ms(54)), None);
    // 3 + 1 (up) + 50 + 1 (down)
    let arrived = drain(&mut emulator);
    assert_eq!(arrived.len(), 1);
    assert_eq!((arrived[0].0, arrived[0].1), (ms(55), b));
    assert_eq!(arrived[0].2, packet(1, 2, 6, 1000, 7));
    assert_eq!(emulator.next(), None);
}

#[test]
fn a_full_buffer_drops_what_comes_last() {
    let (mut emulator, a, b) = two(Loss::None);
    for mark in 0..300 {
        emulator.send(a, &packet(1, 2, 6, 1000, mark), ms(0));
    }
    // 100 ms of buffer hold 100 packets, and one more is on the wire.
    let marks: Vec<_> = drain(&mut emulator).iter().map(|(_, _, packet)| mark(packet)).collect();
    assert_eq!(marks, (0..101).collect::<Vec<_>>());
    assert_eq!(emulator.counters(a).overflowed, 199);
    assert_eq!(emulator.counters(b).received, 101);
}

#[test]
fn a_slow_downlink_has_a_buffer_of_its_own() {
    let (mut emulator, a, b) = two(Loss::None);
    emulator.set_access(b, Access { up: 8 * MBIT, down: 4 * MBIT, buffer: ms(10) });
    for mark in 0..60 {
        emulator.send(a, &packet(1, 2, 6, 1000, mark), ms(0));
    }
    let arrived = drain(&mut emulator);
    // Packets come each ms and leave each 2 ms: the wait grows by 1 ms a packet until it is 10 ms.
    assert!(emulator.counters(a).overflowed >= 20, "{:?}", emulator.counters(a));
    for pair in arrived.windows(2) {
        assert_eq!(pair[1].0 - pair[0].0, ms(2));
    }
}

#[test]
fn what_a_network_refuses_vanishes() {
    let udp = packet(1, 2, 17, 100, 0);
    let tcp = packet(1, 2, 6, 100, 0);
    let v6 = packet6(1, 2);
    let passes = |emulator: &mut Emulator, from, packet: &[u8]| {
        emulator.send(from, packet, ms(0));
        drain(emulator).len() == 1
    };
    let (mut emulator, a, b) = two(Loss::None);
    for packet in [&udp, &tcp, &v6] {
        assert!(passes(&mut emulator, a, packet));
    }
    for host in [a, b] {
        emulator.refuse(host, Refusal { udp: true, ..Refusal::default() });
        assert_eq!([&udp, &tcp, &v6].map(|p| passes(&mut emulator, a, p)), [false, true, true]);
        emulator.refuse(host, Refusal { ipv6: true, ..Refusal::default() });
        assert_eq!([&udp, &tcp, &v6].map(|p| passes(&mut emulator, a, p)), [true, true, false]);
        emulator.refuse(host, Refusal { everything: true, ..Refusal::default() });
        assert_eq!([&udp, &tcp, &v6].map(|p| passes(&mut emulator, a, p)), [false, false, false]);
        emulator.refuse(host, Refusal::default());
    }
    let between = emulator.between(a, b);
    emulator.set_between(a, b, Between { cut: true, ..between });
    assert!(!passes(&mut emulator, a, &tcp));
    emulator.set_between(a, b, between);
    assert!(passes(&mut emulator, a, &tcp));
    assert!(!passes(&mut emulator, b, &tcp), "from an address that the sender does not have");
    assert!(!passes(&mut emulator, a, &packet(1, 9, 6, 100, 0)), "to nobody");
    assert!(!passes(&mut emulator, a, &[0x45, 0, 0]), "no packet");
    assert_eq!(emulator.counters(a).sent, emulator.counters(a).refused + emulator.counters(b).received);
}

#[test]
fn a_cut_link_loses_what_is_under_way() {
    let (mut emulator, a, b) = two(Loss::None);
    emulator.send(a, &packet(1, 2, 6, 1000, 0), ms(0));
    emulator.refuse(b, Refusal { everything: true, ..Refusal::default() });
    assert_eq!(emulator.deliver(ms(51)), None);
    emulator.refuse(b, Refusal::default());
    assert_eq!(drain(&mut emulator), []);
}

#[test]
fn a_new_address_replaces_the_old_one() {
    let (mut emulator, a, b) = two(Loss::None);
    emulator.set_addresses(a, &[ip(3)]);
    emulator.send(b, &packet(2, 1, 6, 100, 1), ms(0));
    emulator.send(b, &packet(2, 3, 6, 100, 2), ms(0));
    emulator.send(a, &packet(1, 2, 6, 100, 3), ms(0));
    emulator.send(a, &packet(3, 2, 6, 100, 4), ms(0));
    let mut marks: Vec<_> = drain(&mut emulator).iter().map(|(_, _, packet)| mark(packet)).collect();
    marks.sort_unstable();
    assert_eq!(marks, [2, 4]);
}

#[test]
fn a_shorter_delay_does_not_overtake() {
    let (mut emulator, a, b) = two(Loss::None);
    emulator.send(a, &packet(1, 2, 6, 100, 0), ms(0));
    emulator.set_between(a, b, Between { delay: ms(1), ..Between::default() });
    emulator.send(a, &packet(1, 2, 6, 100, 1), ms(1));
    let marks: Vec<_> = drain(&mut emulator).iter().map(|(_, _, packet)| mark(packet)).collect();
    assert_eq!(marks, [0, 1]);
}

/// Share of lost packets and mean length of a burst, over 200,000 packets.
fn lost(loss: Loss) -> (f64, f64) {
    let (mut state, mut rng) = (LossState::default(), fastrand::Rng::with_seed(5));
    let fates: Vec<bool> = (0..200_000).map(|_| state.drops(loss, &mut rng)).collect();
    let lost = fates.iter().filter(|lost| **lost).count() as f64;
    let bursts = fates.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
    (lost / fates.len() as f64, lost / bursts)
}

#[test]
fn losses_have_the_share_and_the_bursts_asked_for() {
    assert_eq!(lost(Loss::None).0, 0.0);
    let (share, burst) = lost(Loss::Random { share: 0.02 });
    assert!((0.018..0.022).contains(&share) && burst < 1.1, "{share} {burst}");
    let (share, burst) = lost(Loss::Bursts { share: 0.02, length: 8.0 });
    assert!((0.016..0.024).contains(&share) && (7.0..9.0).contains(&burst), "{share} {burst}");
}

#[test]
fn a_lossy_path_counts_what_it_lost() {
    let (mut emulator, a, b) = two(Loss::Random { share: 0.5 });
    for number in 0..1000_u64 {
        emulator.send(a, &packet(1, 2, 6, 100, 0), ms(number));
    }
    drain(&mut emulator);
    let lost = emulator.counters(a).lost;
    assert!((400..600).contains(&lost), "{lost}");
    assert_eq!(emulator.counters(b).received + lost, 1000);
}

proptest! {
    /// Whatever is sent: nothing is faster than the link or the delay, order is kept, no packet waits longer than
    /// both buffers allow, and each packet is either received or counted as dropped.
    #[test]
    fn rate_order_and_buffer_hold(sends in prop::collection::vec((0_u64..3_000, 40_usize..1500), 1..400)) {
        let (mut emulator, a, b) = two(Loss::None);
        let mut now = Duration::ZERO;
        let mut sent = Vec::new();
        let mut arrived = Vec::new();
        for (number, (gap, length)) in sends.iter().enumerate() {
            now += Duration::from_micros(*gap);
            while let Some(at) = emulator.next().filter(|at| *at <= now) {
                while let Some((_, packet)) = emulator.deliver(at) {
                    arrived.push((at, packet));
                }
            }
            emulator.send(a, &packet(1, 2, 6, *length, number as u32), now);
            sent.push(now);
        }
        arrived.extend(drain(&mut emulator).into_iter().map(|(at, _, packet)| (at, packet)));
        for pair in arrived.windows(2) {
            prop_assert!(mark(&pair[0].1) < mark(&pair[1].1));
            prop_assert!(pair[1].0 - pair[0].0 >= time_on_link(pair[1].1.len(), 8 * MBIT));
        }
        for (at, packet) in &arrived {
            let took = *at - sent[mark(packet) as usize];
            let own = time_on_link(packet.len(), 8 * MBIT) * 2;
            prop_assert!(took >= ms(50) + own && took <= ms(50) + own + ms(200), "{took:?}");
        }
        let counters = emulator.counters(a);
        prop_assert_eq!(counters.sent, emulator.counters(b).received + counters.overflowed);
    }
}
