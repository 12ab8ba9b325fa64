//! Lanes that the other side will dial: who waits for which ticket.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::BytesMut;
use farhold_secure::lane::Ticket;
use farhold_secure::opening::OPENING_BYTES;
use tokio::sync::{Notify, oneshot};

use crate::socket::Socket;

/// A connection that began with a ticket.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(crate) socket: Socket,
    pub(crate) opening: [u8; OPENING_BYTES],
    /// What came after the opening.
    pub(crate) received: BytesMut,
}

/// The tickets that are good now; each for one connection. There are no more of them than lanes being opened.
#[derive(Debug, Default)]
pub(crate) struct Tickets {
    waiting: Mutex<HashMap<Ticket, oneshot::Sender<Arrival>>>,
    added: Notify,
}

/// Waits for the connection of one ticket, which is good as long as this lives.
#[derive(Debug)]
pub(crate) struct Expected {
    tickets: Arc<Tickets>,
    ticket: Ticket,
    arrival: oneshot::Receiver<Arrival>,
}

impl Tickets {
    pub(crate) fn expect(self: &Arc<Self>, ticket: Ticket) -> Expected {
        let (sender, arrival) = oneshot::channel();
        self.lock().insert(ticket, sender);
        self.added.notify_waiters();
        Expected { tickets: Arc::clone(self), ticket, arrival }
    }

    /// Takes whoever waits for a ticket. Its own message may still be on the way, so this waits for it; the caller
    /// sets the deadline.
    pub(crate) async fn claim(&self, ticket: Ticket) -> oneshot::Sender<Arrival> {
        loop {
            let mut added = std::pin::pin!(self.added.notified());
            added.as_mut().enable();
            if let Some(waiting) = self.lock().remove(&ticket) {
                return waiting;
            }
            added.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Ticket, oneshot::Sender<Arrival>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Expected {
    /// The connection; `None` if the ticket was used in vain.
    pub(crate) async fn arrival(&mut self) -> Option<Arrival> {
        (&mut self.arrival).await.ok()
    }
}

impl Drop for Expected {
    fn drop(&mut self) {
        self.tickets.lock().remove(&self.ticket);
    }
}
