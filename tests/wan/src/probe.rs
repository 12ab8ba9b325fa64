//! What a network carries, by plain sockets: round trips, TCP flows, and UDP at a rate.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::net::sockopt::set_socket_recv_buffer_size_force;

use crate::space::Space;

/// What a UDP packet of full size carries over IPv4.
const DATAGRAM: usize = 1472;
/// What a probe waits for an answer, above any round trip that is emulated.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);
/// Buffer of the UDP probe's receiver.
const RECEIVE_BUFFER: usize = 16 << 20;
/// Round trips of one ping, and how many lost packets end it.
const PINGS: usize = 10;
const LOST_PINGS: usize = 4;
/// How soon a probe's helper notices the end.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Median round trip of a UDP echo from `from` to `to`, whose address is `ip`; fails if nothing comes back.
pub fn ping(from: &Space, to: &Space, ip: IpAddr) -> Result<Duration> {
    let server = to.run(|| UdpSocket::bind((ip, 0)))?;
    server.set_read_timeout(Some(LOOK_EVERY))?;
    let client = from.run(|| UdpSocket::bind(unspecified(ip)))?;
    client.connect(server.local_addr()?)?;
    client.set_read_timeout(Some(ANSWER_WITHIN))?;
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut packet = [0; 64];
            while !stop.load(Ordering::Relaxed) {
                if let Ok((length, sender)) = server.recv_from(&mut packet) {
                    // An answer that cannot be sent is a lost one.
                    let _ = server.send_to(&packet[..length], sender);
                }
            }
        });
        let trips = round_trips(&client);
        stop.store(true, Ordering::Relaxed);
        let mut trips = trips?;
        trips.sort_unstable();
        trips.get(trips.len() / 2).copied().context("no answer")
    })
}

/// The round trips of packets that were answered; few if many are lost.
fn round_trips(client: &UdpSocket) -> io::Result<Vec<Duration>> {
    let (mut trips, mut lost) = (Vec::new(), 0);
    for number in 0_u32.. {
        if trips.len() == PINGS || lost == LOST_PINGS {
            break;
        }
        let (start, sent) = (Instant::now(), number.to_be_bytes());
        client.send(&sent)?;
        let mut answer = [0; 64];
        // What was given up may come yet.
        let answered = loop {
            match client.recv(&mut answer) {
                Ok(length) if answer[..length] == sent => break true,
                Ok(_) => {}
                Err(_) => break false,
            }
        };
        if answered { trips.push(start.elapsed()) } else { lost += 1 }
    }
    Ok(trips)
}

/// Bytes per second that `flows` TCP connections carry together from `from` to `to`, whose address is `ip`, in the
/// second half of `within`.
pub fn tcp(from: &Space, to: &Space, ip: IpAddr, flows: usize, within: Duration) -> Result<f64> {
    let listener = to.run(|| TcpListener::bind((ip, 0)))?;
    let address = listener.local_addr()?;
    let received = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..flows {
            let sender = from.run(|| TcpStream::connect_timeout(&address, ANSWER_WITHIN))?;
            // Ends the sender's thread also when the receiver no longer reads.
            sender.set_write_timeout(Some(ANSWER_WITHIN))?;
            let (receiver, _) = listener.accept()?;
            receiver.set_read_timeout(Some(ANSWER_WITHIN))?;
            scope.spawn(|| pour(sender, &stop));
            scope.spawn(|| drain(receiver, &received, &stop));
        }
        thread::sleep(within / 2);
        let (start, before) = (Instant::now(), received.load(Ordering::Relaxed));
        thread::sleep(within / 2);
        let bytes = received.load(Ordering::Relaxed) - before;
        let rate = bytes as f64 / start.elapsed().as_secs_f64();
        stop.store(true, Ordering::Relaxed);
        Ok(rate)
    })
}

fn pour(mut sender: TcpStream, stop: &AtomicBool) {
    let bytes = vec![0; 256 * 1024];
    while !stop.load(Ordering::Relaxed) && sender.write_all(&bytes).is_ok() {}
}

fn drain(mut receiver: TcpStream, received: &AtomicU64, stop: &AtomicBool) {
    let mut bytes = vec![0; 256 * 1024];
    while !stop.load(Ordering::Relaxed) {
        match receiver.read(&mut bytes) {
            Ok(0) | Err(_) => return,
            Ok(length) => received.fetch_add(length as u64, Ordering::Relaxed),
        };
    }
}

/// What became of UDP packets sent at a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UdpCarried {
    /// Payload bytes per second that arrived.
    pub rate: f64,
    /// Part of the packets that did not arrive.
    pub loss: f64,
}

/// Sends UDP packets of full size from `from` to `to`, whose address is `ip`, so that they occupy `rate` bits per
/// second of the link, for `within`.
pub fn udp(from: &Space, to: &Space, ip: IpAddr, rate: u64, within: Duration) -> Result<UdpCarried> {
    let server = to.run(|| UdpSocket::bind((ip, 0)))?;
    server.set_read_timeout(Some(ANSWER_WITHIN))?;
    // Beyond the system's limit, so that a receiver that waits for a processor loses nothing.
    set_socket_recv_buffer_size_force(&server, RECEIVE_BUFFER)?;
    let address = server.local_addr()?;
    let client = from.run(|| UdpSocket::bind(unspecified(ip)))?;
    client.connect(address)?;
    let per_second = rate as f64 / 8.0 / (DATAGRAM + 28) as f64;
    thread::scope(|scope| {
        let receiver = scope.spawn(|| receive(&server));
        let start = Instant::now();
        let packet = [0; DATAGRAM];
        let mut sent = 0_u64;
        while start.elapsed() < within {
            let due = (start.elapsed().as_secs_f64() * per_second) as u64;
            while sent < due {
                client.send(&packet)?;
                sent += 1;
            }
            thread::sleep(Duration::from_millis(1));
        }
        let (packets, took) = receiver.join().expect("it only counts")?;
        Ok(UdpCarried {
            rate: (packets * DATAGRAM as u64) as f64 / took.as_secs_f64(),
            loss: 1.0 - packets as f64 / sent as f64,
        })
    })
}

/// Packets until none come any more, and the time from the first to the last.
fn receive(server: &UdpSocket) -> io::Result<(u64, Duration)> {
    let mut packet = [0; 2048];
    server.recv(&mut packet)?;
    let start = Instant::now();
    let (mut packets, mut last) = (1, start);
    while server.recv(&mut packet).is_ok() {
        packets += 1;
        last = Instant::now();
    }
    Ok((packets, (last - start).max(Duration::from_millis(1))))
}

fn unspecified(ip: IpAddr) -> SocketAddr {
    match ip {
        IpAddr::V4(_) => SocketAddr::from(([0; 4], 0)),
        IpAddr::V6(_) => SocketAddr::from(([0_u16; 8], 0)),
    }
}
