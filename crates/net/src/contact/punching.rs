//! Punches that go out and come in on the shared UDP socket.

use std::net::SocketAddr;

use bytes::Bytes;
use farhold_secure::punch::PunchKey;
use farhold_secure::{Rendezvous, Side};
use farhold_wire::datagram::{Datagram, Punch};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;

use super::flow::canonical;
use crate::connect::lifecycle::{Event, PunchPlan};
use crate::connect::punch::Puncher;
use crate::quic::Endpoint;

/// Punches one contact. Its budget outlives every plan.
pub(super) struct Punching {
    puncher: Puncher,
    side: Side,
    endpoint: Option<Endpoint>,
    active: Option<Active>,
}

struct Active {
    plan: PunchPlan,
    key: PunchKey,
    datagrams: broadcast::Receiver<(SocketAddr, Bytes)>,
}

impl Punching {
    /// Without an endpoint, of a program that is reached through the relay alone, nothing is punched.
    pub(super) fn new(side: Side, endpoint: Option<Endpoint>) -> Self {
        Self { puncher: Puncher::new(Instant::now()), side, endpoint, active: None }
    }

    /// Punches this from now on.
    pub(super) fn follow(&mut self, plan: Option<PunchPlan>, rendezvous: &Rendezvous) {
        let now = Instant::now();
        let (Some(plan), Some(endpoint)) = (plan, &self.endpoint) else {
            self.active = None;
            self.puncher.aim(&[], now);
            return;
        };
        self.puncher.aim(&plan.addresses, now);
        if self.active.as_ref().is_none_or(|active| active.plan.nonces != plan.nonces) {
            self.puncher.restart(now);
        }
        let (zero, one) = plan.nonces;
        let key = rendezvous.punch_key(&zero, &one);
        self.active = Some(Active { plan, key, datagrams: endpoint.datagrams() });
    }

    /// Our addresses changed.
    pub(super) fn restart(&mut self) {
        self.puncher.restart(Instant::now());
    }

    /// Sends what is due until something comes of it. May be given up and called again at any time.
    pub(super) async fn next(&mut self) -> Event {
        loop {
            let (Some(active), Some(endpoint)) = (&mut self.active, &self.endpoint) else {
                return std::future::pending().await;
            };
            let now = Instant::now();
            while let Some(to) = self.puncher.next(now) {
                endpoint.send(&punch(&active.key, self.side, false), to);
            }
            if self.puncher.is_unheard(now) {
                return Event::Unpunched;
            }
            let deadline = self.puncher.deadline();
            let received = tokio::select! {
                received = active.datagrams.recv() => received,
                () = super::until(deadline) => continue,
            };
            let (from, bytes) = match received {
                Ok(received) => received,
                Err(RecvError::Lagged(_)) => continue,
                // The socket is gone, and with it the program.
                Err(RecvError::Closed) => return std::future::pending().await,
            };
            let Ok(Datagram::Punch(Punch { id, mac, answer })) = Datagram::decode(&bytes) else { continue };
            if !active.key.verify(self.side.other(), &id, answer, &mac) {
                continue;
            }
            let from = canonical(from);
            if self.puncher.heard(from, answer, Instant::now()) {
                endpoint.send(&punch(&active.key, self.side, true), from);
            }
            return Event::Punched { address: from };
        }
    }
}

fn punch(key: &PunchKey, side: Side, answer: bool) -> Vec<u8> {
    Datagram::Punch(Punch { id: *key.id(), mac: key.mac(side, answer), answer }).encode()
}
