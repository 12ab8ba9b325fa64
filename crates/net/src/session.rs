//! A session: one task around the control lane, which opens, runs and replaces the other lanes.

mod lanes;
mod opening;
mod pulse;
mod task;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use farhold_secure::Side;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::activity::Activity;
use crate::bulk::BulkPool;
use crate::calls::rpc::PeerClient;
use crate::calls::serving::Serving;
use crate::config::RelayAddress;
use crate::connect::lifecycle::{Goodbye, Nonce, SessionEvent, SessionId};
use crate::contact::Keeper;
use crate::control::Message;
use crate::counters::WireCounter;
use crate::governor::Gate;
use crate::leg::{Leg, Parties};
use crate::pace::Limiter;
use crate::state::{LaneInfo, Path, Transport};
use crate::tickets::Tickets;

/// How long calls on a session that was replaced may take to finish before they are made again on the newer one.
const RETIRED_MOST: Duration = Duration::from_secs(10);
/// How long a session that was replaced stays at least: its goodbye must not overtake the newer one's nomination, which
/// goes another way.
const RETIRED_LEAST: Duration = Duration::from_secs(1);
/// How long a goodbye may take.
const GOODBYE_WITHIN: Duration = Duration::from_secs(1);

/// Everything that a session is made of.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) id: SessionId,
    pub(crate) leg: Leg,
    pub(crate) path: Path,
    /// What is said first: as side 0 the number of the nomination, as side 1 our newest attempt.
    pub(crate) number: u64,
    pub(crate) parties: Arc<Parties>,
    /// The nonces of side 0 and side 1, for lanes through the bridge.
    pub(crate) nonces: Option<(Nonce, Nonce)>,
    /// Keeps the way through the relay's UDP open.
    pub(crate) keeper: Option<Keeper>,
    pub(crate) relay: Option<RelayAddress>,
    pub(crate) tickets: Arc<Tickets>,
    pub(crate) serving: Serving,
    /// Counts the bytes of all sessions.
    pub(crate) counter: Arc<WireCounter>,
    pub(crate) reports: mpsc::Sender<(SessionId, SessionEvent)>,
    /// What the governor of the session before kept, if that ran the same path.
    pub(crate) former_window: Option<u64>,
    /// What may be received in a second.
    pub(crate) receive: Arc<Limiter>,
    pub(crate) cancel: CancellationToken,
}

/// What a contact's calls go through while a session stands.
#[derive(Debug)]
pub(crate) struct Calls {
    /// The client on our urgent lane, while there is one.
    pub(crate) urgent: watch::Receiver<Option<PeerClient>>,
    pub(crate) bulk: Arc<BulkPool>,
    pub(crate) activity: Arc<Activity>,
    /// What lets reads through.
    pub(crate) governor: Arc<Gate>,
    /// Ends with the session.
    pub(crate) ended: CancellationToken,
}

/// What is to be shown of a session.
#[derive(Debug, Clone, Default)]
pub(crate) struct View {
    pub(crate) rtt: Option<Duration>,
    pub(crate) epoch: u32,
    pub(crate) build: Option<String>,
    pub(crate) lanes: Vec<LaneInfo>,
}

/// How a session is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// When its calls are through: a newer one carries on.
    Retire,
    /// Now, with a goodbye if the other side may hear it.
    End(Option<Goodbye>),
}

/// A session as its contact's task has it. Dropping it ends the session at once.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: SessionId,
    pub(crate) path: Path,
    pub(crate) transport: Transport,
    /// Our address, if the control lane is a straight one and hangs on it.
    pub(crate) local: Option<IpAddr>,
    pub(crate) calls: Arc<Calls>,
    pub(crate) view: watch::Receiver<View>,
    orders: mpsc::Sender<Order>,
    _keeper: Option<Keeper>,
    cancel: CancellationToken,
}

impl Session {
    /// Starts a session on a leg; its task is `tracker`'s.
    pub(crate) fn start(mut setup: Setup, tracker: &TaskTracker) -> Self {
        let (id, path, cancel) = (setup.id, setup.path, setup.cancel.clone());
        let transport = setup.leg.channel.stream().socket().transport();
        let keeper = setup.keeper.take();
        let local = match path {
            Path::Relayed => None,
            Path::Punched | Path::Direct | Path::Lan => setup.leg.channel.stream().socket().local(),
        };
        let (orders, order_receiver) = mpsc::channel(4);
        let (view_sender, view) = watch::channel(View::default());
        let (urgent_sender, urgent) = watch::channel(None);
        let activity = Activity::new();
        let bulk = BulkPool::new(Arc::clone(&activity));
        let governor = Gate::new(setup.former_window, Arc::clone(&setup.receive));
        let calls = Arc::new(Calls { urgent, bulk, activity, governor, ended: cancel.clone() });
        let task = task::Task::new(setup, Arc::clone(&calls), urgent_sender, view_sender, order_receiver);
        tracker.spawn(task.run());
        Self { id, path, transport, local, calls, view, orders, _keeper: keeper, cancel }
    }

    /// Gives an order; a session takes no more than a retirement and an end.
    pub(crate) fn order(&self, order: Order) {
        if self.orders.try_send(order).is_err() {
            self.cancel.cancel();
        }
    }

    /// Returns once the session's task has ended.
    pub(crate) async fn ended(&self) {
        self.orders.closed().await;
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

/// What a side says first in a session.
fn first_word(side: Side, number: u64) -> Message {
    match side {
        Side::Zero => Message::Nominate(number),
        Side::One => Message::Attempt(number),
    }
}

#[cfg(test)]
mod tests;
