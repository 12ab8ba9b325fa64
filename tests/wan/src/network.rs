//! Runs an [`Emulator`] between TUN devices, on a thread of its own.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::nice;
use tun_rs::{DeviceBuilder, SyncDevice};

use crate::emulator::{Emulator, HostId};
use crate::space::Space;

/// Name of a host's device on the emulated network.
pub const DEVICE: &str = "wan0";
/// Largest packet that the network carries.
const MTU: u16 = 1500;
/// Packets that wait in the device until the emulator takes them: more than come in one of its pauses.
const DEVICE_QUEUE: u32 = 10_000;
/// After so many packets at once the thread pauses, so that the next are a batch too: at 100,000 packets per second
/// waking for each would cost more than carrying it.
const BUSY: usize = 4;
/// How long. Adds to the delay of some packets.
const PAUSE: Duration = Duration::from_micros(150);
/// Packets taken from one device before the others have their turn.
const TURN: usize = 256;
/// How soon the end is noticed.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Makes the device of a host in its namespace, without addresses.
pub fn device(space: &Space) -> Result<SyncDevice> {
    let made = space.run(|| -> io::Result<SyncDevice> {
        let device = DeviceBuilder::new().name(DEVICE).mtu(MTU).tx_queue_len(DEVICE_QUEUE).build_sync()?;
        device.set_nonblocking(true)?;
        Ok(device)
    });
    let device = made.context("cannot make a TUN device")?;
    space.ip(&format!("link set {DEVICE} up"))?;
    Ok(device)
}

/// A network that runs; it ends with this value.
#[derive(Debug)]
pub struct Network {
    emulator: Arc<Mutex<Emulator>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Network {
    /// Runs it between these devices.
    pub fn start(emulator: Emulator, devices: Vec<(HostId, SyncDevice)>) -> Result<Self> {
        let emulator = Arc::new(Mutex::new(emulator));
        let stop = Arc::new(AtomicBool::new(false));
        let carrier = Carrier { emulator: Arc::clone(&emulator), devices, stop: Arc::clone(&stop) };
        let thread = thread::Builder::new().name("network".into()).spawn(move || carrier.run())?;
        Ok(Self { emulator, stop, thread: Some(thread) })
    }

    /// Looks at the network, or changes it while it runs.
    pub fn with<R>(&self, job: impl FnOnce(&mut Emulator) -> R) -> R {
        job(&mut self.emulator.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// The thread's part.
struct Carrier {
    emulator: Arc<Mutex<Emulator>>,
    devices: Vec<(HostId, SyncDevice)>,
    stop: Arc<AtomicBool>,
}

impl Carrier {
    fn run(&self) {
        // Programs under test that keep the processors busy must not make the network slower; without the right to
        // this it still runs.
        let _ = nice(-20);
        let origin = Instant::now();
        let mut packet = vec![0; usize::from(MTU)];
        while !self.stop.load(Ordering::Relaxed) {
            let (carried, next) = self.turn(origin, &mut packet);
            if carried >= BUSY {
                thread::sleep(PAUSE);
                continue;
            }
            let wait = next.map_or(LOOK_EVERY, |next| next.saturating_sub(origin.elapsed()).min(LOOK_EVERY));
            let mut fds: Vec<_> =
                self.devices.iter().map(|(_, device)| PollFd::new(device, PollFlags::IN)).collect();
            let wait = Timespec { tv_sec: 0, tv_nsec: wait.subsec_nanos().into() };
            // An interrupted wait is a short wait.
            let _ = poll(&mut fds, Some(&wait));
        }
    }

    /// Takes what the hosts sent and hands out what is due; how many packets that were, and when the next is due.
    fn turn(&self, origin: Instant, packet: &mut [u8]) -> (usize, Option<Duration>) {
        let mut emulator = self.emulator.lock().unwrap_or_else(PoisonError::into_inner);
        let mut carried = 0;
        for (host, device) in &self.devices {
            let now = origin.elapsed();
            for _ in 0..TURN {
                let Ok(length) = device.recv(packet) else { break };
                emulator.send(*host, &packet[..length], now);
                carried += 1;
            }
        }
        let now = origin.elapsed();
        while let Some((host, packet)) = emulator.deliver(now) {
            if let Some((_, device)) = self.devices.iter().find(|(id, _)| *id == host) {
                // A host without room for a packet loses it, as hosts do.
                let _ = device.send(&packet);
            }
            carried += 1;
        }
        (carried, emulator.next())
    }
}
