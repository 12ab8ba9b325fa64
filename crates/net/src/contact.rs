//! One saved contact: a task that drives its [`Lifecycle`](crate::connect::lifecycle::Lifecycle).

mod dial;
mod flow;
mod punching;
mod task;

use std::sync::Arc;

use farhold_secure::{PublicKeys, RandomError, Rendezvous, random};
use farhold_wire::{ContactId, limits};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

pub(crate) use self::dial::{Meeting, dial_bridge};
pub(crate) use self::flow::{FlowError, Keeper, canonical};
use crate::calls::serving::Serving;
use crate::connect::lifecycle::Nonce;
use crate::leg::Parties;
use crate::rendezvous::SubscribeError;
use crate::roster::Host;
use crate::session::Calls;
use crate::shared::{Promotion, Shared};
use crate::state::{ContactState, OfflineReason, SessionState};

/// Legs that the contact opened and that nobody has looked at yet.
const INCOMING: usize = 8;
/// Reports of sessions that nobody has looked at yet.
const REPORTS: usize = 16;

/// What our user wants of a contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Has not said.
    None,
    Connect,
    Disconnect,
}

/// The random numbers that a contact's start takes: drawn before anything is given up for it.
#[derive(Debug)]
pub(crate) struct Fresh {
    slot_key: [u8; limits::SLOT_KEY_BYTES],
    nonce: Nonce,
}

impl Fresh {
    pub(crate) fn draw() -> Result<Self, RandomError> {
        Ok(Self { slot_key: random::array()?, nonce: random::array()? })
    }
}

/// Where calls go now.
#[derive(Debug, Clone)]
pub(crate) enum Way {
    /// Nowhere: they fail.
    Offline,
    /// Nowhere yet: they wait.
    Interrupted,
    Session(Arc<Calls>),
}

/// A contact's task, as others have it. Dropping it removes the contact.
#[derive(Debug)]
pub(crate) struct Contact {
    pub(crate) state: watch::Receiver<ContactState>,
    pub(crate) way: watch::Receiver<Way>,
    /// Reads that we have under way.
    pub(crate) reads: Arc<Semaphore>,
    wish: watch::Sender<Wish>,
    cancel: CancellationToken,
}

impl Contact {
    pub(crate) fn start(
        id: ContactId,
        keys: PublicKeys,
        rendezvous: Rendezvous,
        promotion: Option<Arc<Promotion>>,
        fresh: Fresh,
        shared: &Arc<Shared>,
    ) -> Result<Self, SubscribeError> {
        let rendezvous = Arc::new(rendezvous);
        let subscription = shared.relay.subscribe(&rendezvous, fresh.slot_key)?;
        let parties = Arc::new(Parties {
            identity: Arc::clone(&shared.identity),
            peer: keys,
            rendezvous,
            abilities: shared.abilities,
        });
        let (incoming_sender, incoming) = mpsc::channel(INCOMING);
        let host = Host { parties: Arc::clone(&parties), incoming: incoming_sender };
        let entry = shared.roster.enter((!shared.relay_only).then_some(host));
        let (wish, wish_receiver) = watch::channel(Wish::None);
        let offline = SessionState::Offline { reason: OfflineReason::Idle };
        let (state_sender, state) = watch::channel(ContactState { present: None, session: offline });
        let (way_sender, way) = watch::channel(Way::Offline);
        let (reports, report_receiver) = mpsc::channel(REPORTS);
        let cancel = shared.cancel.child_token();
        let parts = task::Parts {
            shared: Arc::clone(shared),
            parties,
            subscription,
            entry: Arc::new(entry),
            promotion,
            serving: Serving::new(id, Arc::clone(&shared.service), Arc::clone(&shared.send)),
            wish: wish_receiver,
            incoming,
            reports,
            report_receiver,
            state: state_sender,
            way: way_sender,
            cancel: cancel.clone(),
        };
        let task = task::Task::new(parts, fresh.nonce);
        shared.tracker.spawn(task.run());
        let reads = Arc::new(Semaphore::new(limits::READS_AT_ONCE));
        Ok(Self { state, way, reads, wish, cancel })
    }

    pub(crate) fn wish(&self, wish: Wish) {
        // Marked as changed also if it is the same: connecting again tries again.
        self.wish.send_replace(wish);
    }
}

impl Drop for Contact {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
