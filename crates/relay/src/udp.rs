//! The UDP relay, on the bridge's port number: tells callers their address, and passes datagrams between the two sides
//! of a flow. [`flows`] decides which two, [`outbox`] gathers what goes out. One task does it all: it holds nothing
//! back, and what the system does not take at once is lost, as on any link.

pub(crate) mod flows;
mod outbox;
mod socket;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use farhold_wire::datagram::{Datagram, is_ours};
use quinn_udp::{RecvMeta, Transmit};
use tokio::net::UdpSocket;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use self::flows::{Flows, Route, Stop};
use self::outbox::{Block, Outbox};
use self::socket::{Inbox, Socket};
use crate::config::{Limits, Timings};
use crate::metrics::{Counters, DatagramLoss};
use crate::pace::Pace;
use crate::source::Source;
use crate::throttle::Throttle;

/// How often sides that did not join again are looked for.
const SWEEP: Duration = Duration::from_secs(1);
/// Pause after a failed receive that tells of this machine.
const RECEIVE_PAUSE: Duration = Duration::from_millis(100);

/// What the task and the metrics share.
#[derive(Debug)]
pub(crate) struct UdpRelay {
    state: Mutex<State>,
    counters: Arc<Counters>,
}

#[derive(Debug)]
struct State {
    flows: Flows,
    requests: Pace,
}

impl UdpRelay {
    pub(crate) fn new(
        limits: &Limits,
        timings: &Timings,
        throttle: Arc<Throttle>,
        counters: Arc<Counters>,
    ) -> Self {
        let flows = Flows::new(limits.udp_sides, timings.udp_side, throttle);
        let state = State { flows, requests: Pace::new(limits.udp_request_rate) };
        Self { state: Mutex::new(state), counters }
    }

    /// Sides joined now, and flows that have both.
    pub(crate) fn held(&self) -> (usize, usize) {
        let state = self.lock();
        (state.flows.sides(), state.flows.pairs())
    }

    /// Serves callers until `stopping`.
    pub(crate) async fn serve(self: Arc<Self>, io: UdpSocket, stopping: CancellationToken) -> io::Result<()> {
        let mut socket = Socket::new(io)?;
        let (mut inbox, mut outbox) = (Inbox::new(), Outbox::default());
        let mut sweep = tokio::time::interval(SWEEP);
        sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stopping.cancelled() => return Ok(()),
                now = sweep.tick() => self.lock().flows.expire(now.into_std()),
                received = socket.receive(&mut inbox) => match received {
                    Ok(()) => self.pass(&mut socket, &inbox, &mut outbox),
                    Err(error) => {
                        tracing::debug!(%error, "receiving datagrams failed");
                        // On some systems a caller that is gone fails the next receive.
                        if error.kind() != io::ErrorKind::ConnectionReset {
                            tokio::time::sleep(RECEIVE_PAUSE).await;
                        }
                    }
                },
            }
        }
    }

    /// Answers requests and passes on everything else.
    fn pass(&self, socket: &mut Socket, inbox: &Inbox, outbox: &mut Outbox) {
        let now = Instant::now().into_std();
        let mut answers = Vec::new();
        for received in inbox.received() {
            let RecvMeta { addr, ecn, dst_ip, .. } = received.meta;
            // No program has port 0, and sending there is an error.
            if addr.port() == 0 {
                self.lose(DatagramLoss::Malformed, received.datagrams().count());
                continue;
            }
            let caller = Route { to: addr, from: dst_ip };
            let (ours, others): (Vec<_>, Vec<_>) = received.datagrams().partition(|bytes| is_ours(bytes));
            for request in ours {
                match self.request(caller, request, now) {
                    Ok(more) => answers.extend(more),
                    Err(loss) => self.lose(loss, 1),
                }
            }
            if others.is_empty() {
                continue;
            }
            let bytes = others.iter().map(|bytes| bytes.len()).sum();
            let route = match self.lock().flows.forward(addr, bytes, now) {
                Ok(route) => route,
                Err(stop) => {
                    self.lose(stop.into(), others.len());
                    continue;
                }
            };
            for datagram in others {
                let most = socket.block_datagrams(datagram.len());
                if let Some(full) = outbox.push(route, ecn, datagram, most) {
                    self.send(socket, full, outbox);
                }
            }
        }
        while let Some(block) = outbox.pop() {
            self.send(socket, block, outbox);
        }
        for (route, datagram) in answers {
            self.answer(socket, route, &datagram);
        }
    }

    fn request(
        &self,
        caller: Route,
        request: &[u8],
        now: std::time::Instant,
    ) -> Result<Vec<(Route, Datagram)>, DatagramLoss> {
        let mut state = self.lock();
        // Before anything else, so that parsing costs nobody much.
        if !state.requests.take(Source::from(caller.to), now) {
            return Err(DatagramLoss::TooFast);
        }
        match Datagram::decode(request) {
            Ok(Datagram::Where { nonce }) => {
                self.counters.udp_requests.add(1);
                Ok(vec![(caller, Datagram::Here { nonce, address: caller.to })])
            }
            Ok(Datagram::Join(join)) => {
                self.counters.udp_requests.add(1);
                Ok(state.flows.join(caller, &join, now))
            }
            Ok(
                Datagram::Here { .. } | Datagram::Joined(_) | Datagram::Refused { .. } | Datagram::Punch(_),
            )
            | Err(_) => Err(DatagramLoss::Malformed),
        }
    }

    fn answer(&self, socket: &Socket, route: Route, datagram: &Datagram) {
        if let Datagram::Refused { reason, .. } = datagram {
            self.counters.joins_refused(*reason).add(1);
        }
        let contents = datagram.encode();
        let transmit = Transmit {
            destination: route.to,
            ecn: None,
            contents: &contents,
            segment_size: None,
            src_ip: route.from,
        };
        if let Err(error) = socket.send_one(&transmit) {
            self.lose((&error).into(), 1);
        }
    }

    fn send(&self, socket: &mut Socket, block: Block, outbox: &mut Outbox) {
        let datagrams = block.bytes.len().div_ceil(block.segment);
        match socket.send(&block) {
            Ok(()) => {
                self.counters.udp_datagrams.add(datagrams as u64);
                self.counters.udp_bytes.add(block.bytes.len() as u64);
            }
            Err(error) => self.lose((&error).into(), datagrams),
        }
        outbox.reuse(block);
    }

    fn lose(&self, loss: DatagramLoss, datagrams: usize) {
        self.counters.datagrams_lost(loss).add(datagrams as u64);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<Stop> for DatagramLoss {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Stranger => Self::Stranger,
            Stop::Alone => Self::Alone,
            Stop::Unproven => Self::Unproven,
            Stop::TooFast => Self::TooFast,
        }
    }
}

/// Of a send.
impl From<&io::Error> for DatagramLoss {
    fn from(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::WouldBlock { Self::Blocked } else { Self::Unsent }
    }
}
