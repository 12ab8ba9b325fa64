//! The bridge: takes calls over TCP, lets [`pairing`] decide which two meet, and splices them.
//!
//! Each leg is one task, which owns the leg's socket and reads it while it is parked, so that a leg whose caller went
//! away is gone at once. When two meet, the arriving task hands its leg to the parked one and ends; that one probes
//! both sockets once more and splices them, or goes on with the leg that still lives.

mod pairing;
mod splice;

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use farhold_wire::bridge::{BridgeCall, CALL_BYTES};
use socket2::SockRef;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::pairing::{LegId, Pairing, Placed};
use self::splice::{Side, splice};
use crate::accept::{Gate, Permit, accept};
use crate::config::{Limits, Timings};
use crate::metrics::{Counters, LegEnd};
use crate::source::Full;
use crate::throttle::Throttle;

/// What all legs share.
#[derive(Debug)]
pub(crate) struct Bridge {
    legs: Mutex<Legs>,
    next_leg: AtomicU64,
    timings: Timings,
    throttle: Arc<Throttle>,
    counters: Arc<Counters>,
}

#[derive(Debug)]
struct Legs {
    pairing: Pairing,
    /// Where the partner of each parked leg is handed over.
    parked: HashMap<LegId, oneshot::Sender<Leg>>,
}

/// One caller's connection whose call was read.
#[derive(Debug)]
struct Leg {
    id: LegId,
    stream: TcpStream,
    call: BridgeCall,
    permit: Permit,
    /// Until when it may be parked.
    until: Instant,
}

impl Bridge {
    pub(crate) fn new(
        limits: &Limits,
        timings: &Timings,
        throttle: Arc<Throttle>,
        counters: Arc<Counters>,
    ) -> Self {
        Self {
            legs: Mutex::new(Legs { pairing: Pairing::new(limits.parked_legs), parked: HashMap::new() }),
            next_leg: AtomicU64::new(0),
            timings: timings.clone(),
            throttle,
            counters,
        }
    }

    /// Legs that wait for their partner now.
    pub(crate) fn parked(&self) -> usize {
        self.lock().pairing.parked()
    }

    /// Serves callers until `stopping`; then no more are accepted, parked legs are closed, and spliced pairs go on
    /// until `ended`. All tasks are `tracker`'s.
    pub(crate) async fn serve(
        self: Arc<Self>,
        listener: TcpListener,
        gate: Arc<Gate>,
        tracker: TaskTracker,
        stopping: CancellationToken,
        ended: CancellationToken,
    ) {
        while let Some((stream, _, permit)) = stopping.run_until_cancelled(accept(&listener, &gate)).await {
            let (bridge, stopping, ended) = (Arc::clone(&self), stopping.clone(), ended.clone());
            tracker.spawn(async move {
                let pair = stopping.run_until_cancelled(bridge.meet(stream, permit)).await.flatten();
                if let Some((a, b)) = pair {
                    ended.run_until_cancelled(bridge.pass(a, b)).await;
                }
            });
        }
    }

    /// Reads the call and waits for the partner. `None` if this task has nothing left to do: the connection is closed
    /// or the task of its partner has it.
    async fn meet(&self, mut stream: TcpStream, permit: Permit) -> Option<(Leg, Leg)> {
        let mut bytes = [0; CALL_BYTES];
        let read = tokio::time::timeout(self.timings.opening, stream.read_exact(&mut bytes)).await;
        if !matches!(read, Ok(Ok(_))) {
            self.count(LegEnd::Silent);
            return None;
        }
        let Some(call) = BridgeCall::decode(&bytes) else {
            self.count(LegEnd::Malformed);
            return None;
        };
        let id = LegId(self.next_leg.fetch_add(1, Ordering::Relaxed));
        let mut leg = Leg { id, stream, call, permit, until: Instant::now() + self.timings.parked };
        let mut arrived = false;
        loop {
            let (waiting, handed) = self.place(leg, arrived)?;
            arrived = true;
            let partner = match self.wait(&waiting, handed).await {
                Ok(partner) => partner,
                Err(end) => {
                    self.count(end);
                    return None;
                }
            };
            match (probe(&waiting.stream), probe(&partner.stream)) {
                (Ok(()), Ok(())) => return Some((waiting, partner)),
                (Ok(()), Err(end)) => {
                    self.count(end);
                    leg = waiting;
                }
                (Err(end), Ok(())) => {
                    self.count(end);
                    leg = partner;
                }
                (Err(end), Err(other)) => {
                    self.count(end);
                    self.count(other);
                    return None;
                }
            }
        }
    }

    /// Hands the leg to its partner's task, or parks it; `None` if there is nothing to wait for.
    fn place(&self, mut leg: Leg, mut arrived: bool) -> Option<(Leg, oneshot::Receiver<Leg>)> {
        let mut legs = self.lock();
        let end = loop {
            let source = leg.permit.source();
            let placed = if arrived {
                legs.pairing.place(leg.id, &leg.call, source)
            } else {
                legs.pairing.arrive(leg.id, &leg.call, source, Instant::now().into_std())
            };
            arrived = true;
            match placed {
                Placed::Meets(other) => {
                    let Some(partner) = legs.parked.remove(&other) else { continue };
                    match partner.send(leg) {
                        Ok(()) => return None,
                        Err(back) => leg = back,
                    }
                }
                Placed::Parked { replaces } => {
                    if let Some(old) = replaces {
                        legs.parked.remove(&old);
                    }
                    let (sender, handed) = oneshot::channel();
                    legs.parked.insert(leg.id, sender);
                    return Some((leg, handed));
                }
                Placed::Repeated => break LegEnd::Repeated,
                Placed::Superseded => break LegEnd::Replaced,
                Placed::Full(Full::Source) => break LegEnd::SourceFull,
                Placed::Full(Full::Total) => break LegEnd::Full,
            }
        };
        self.count(end);
        None
    }

    /// Waits for a partner to be handed over, and no longer than the caller does.
    async fn wait(&self, leg: &Leg, mut handed: oneshot::Receiver<Leg>) -> Result<Leg, LegEnd> {
        let mut byte = [0];
        let end = tokio::select! {
            biased;
            partner = &mut handed => return partner.map_err(|_| LegEnd::Replaced),
            peeked = leg.stream.peek(&mut byte) => match peeked {
                Ok(1..) => LegEnd::Spoke,
                Ok(0) | Err(_) => LegEnd::Gone,
            },
            () = tokio::time::sleep_until(leg.until) => LegEnd::Unmatched,
        };
        let mut legs = self.lock();
        legs.pairing.leave(leg.id, &leg.call.token);
        legs.parked.remove(&leg.id);
        // Legs are handed over under the lock: a partner that came at the last moment is there by now.
        handed.try_recv().map_err(|_| end)
    }

    async fn pass(&self, mut a: Leg, mut b: Leg) {
        self.counters.pairs.add(1);
        let buckets = [&a, &b].map(|leg| self.throttle.bucket(leg.permit.source()));
        let ((a_read, a_write), (b_read, b_write)) = (a.stream.split(), b.stream.split());
        let a = Side { read: a_read, write: a_write, bucket: &buckets[0] };
        let b = Side { read: b_read, write: b_write, bucket: &buckets[1] };
        let end = splice(a, b, self.timings.idle, &self.counters.bridge_bytes).await;
        self.counters.pairs_ended(end).add(1);
    }

    fn count(&self, end: LegEnd) {
        self.counters.legs_ended(end).add(1);
    }

    fn lock(&self) -> MutexGuard<'_, Legs> {
        self.legs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks the system itself whether the caller is still there and silent: what the runtime has noticed may be older.
fn probe(stream: &TcpStream) -> Result<(), LegEnd> {
    match SockRef::from(stream).peek(&mut [MaybeUninit::uninit()]) {
        Ok(1..) => Err(LegEnd::Spoke),
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(()),
        Ok(0) | Err(_) => Err(LegEnd::Gone),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::time::Duration;

    use super::*;

    /// Waits without letting the runtime look at its sockets.
    fn probed(stream: &TcpStream) -> Option<LegEnd> {
        (0..500).find_map(|_| {
            std::thread::sleep(Duration::from_millis(10));
            probe(stream).err()
        })
    }

    #[tokio::test]
    async fn a_probe_hears_what_the_runtime_has_not_heard_yet() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let leaves = std::net::TcpStream::connect(address).unwrap();
        let (leaving, _) = listener.accept().await.unwrap();
        let mut speaks = std::net::TcpStream::connect(address).unwrap();
        let (speaking, _) = listener.accept().await.unwrap();
        assert!(probe(&leaving).is_ok() && probe(&speaking).is_ok());

        drop(leaves);
        speaks.write_all(b"x").unwrap();
        assert!(matches!(probed(&leaving), Some(LegEnd::Gone)));
        assert!(matches!(probed(&speaking), Some(LegEnd::Spoke)));
    }
}
