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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;
    use crate::testing::sockets;

    fn ticket(byte: u8) -> Ticket {
        let mut opening = [byte; OPENING_BYTES];
        opening[0] = farhold_secure::lane::LANE_VERSION;
        Ticket::of(&opening).unwrap()
    }

    async fn arrive(waiting: oneshot::Sender<Arrival>) {
        let [socket, _] = sockets().await;
        let arrival = Arrival { socket, opening: [0; OPENING_BYTES], received: BytesMut::new() };
        waiting.send(arrival).unwrap();
    }

    #[tokio::test]
    async fn a_ticket_is_good_once_and_only_while_somebody_waits() {
        let tickets = Arc::new(Tickets::default());
        let mut expected = tickets.expect(ticket(1));
        let unexpected = tickets.expect(ticket(2));
        arrive(tickets.claim(ticket(1)).await).await;
        assert!(expected.arrival().await.is_some());
        drop(unexpected);
        for used in [1, 2, 3] {
            let claim = tickets.claim(ticket(used));
            assert!(timeout(Duration::from_millis(50), claim).await.is_err(), "{used}");
        }
        assert!(tickets.lock().is_empty());
    }

    #[tokio::test]
    async fn a_connection_that_is_faster_than_the_message_waits_for_it() {
        let tickets = Arc::new(Tickets::default());
        let early = tokio::spawn({
            let tickets = Arc::clone(&tickets);
            async move { arrive(tickets.claim(ticket(1)).await).await }
        });
        tokio::task::yield_now().await;
        drop(tickets.expect(ticket(2)));
        let mut expected = tickets.expect(ticket(1));
        assert!(timeout(Duration::from_secs(5), expected.arrival()).await.unwrap().is_some());
        early.await.unwrap();
    }
}
