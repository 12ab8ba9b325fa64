//! The relay's client: one connection, on which we post for every contact and watch for all of them.
//!
//! * [`link`] keeps the connection, [`watcher`] the one watch with everybody's tokens.
//! * [`heartbeat`] posts for one contact, whatever becomes of sessions with it.
//! * [`reflexive`] asks from where the relay sees our UDP port.
//! * [`mailbox`] makes presence and news of what lies under a contact's tokens.

mod heartbeat;
mod link;
mod mailbox;
pub(crate) mod probe;
pub(crate) mod reflexive;
pub(crate) mod rpc;
mod watcher;

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use farhold_secure::rendezvous::Hour;
use farhold_secure::{RandomError, Rendezvous, Token};
use farhold_wire::limits;
use tokio::sync::{Notify, watch};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use self::heartbeat::Heartbeat;
use self::link::Link;
use self::mailbox::Mailbox;
pub(crate) use self::mailbox::Seen;
use crate::config::RelayAddress;
use crate::network::Addresses;
use crate::state::RelayState;

/// How many parties may be looked for at once: each is watched under three tokens.
pub(crate) const SUBSCRIPTIONS: usize = limits::WATCH_TOKENS / 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct SubscriptionId(u64);

/// The relay, as seen from here. It outlives the losses of its link.
#[derive(Debug)]
pub(crate) struct Relay {
    /// Which one; none means that nobody is found.
    address: watch::Sender<Option<RelayAddress>>,
    registry: Mutex<Registry>,
    changed: Notify,
    links: watch::Sender<Option<Link>>,
    state: watch::Sender<RelayState>,
    reflexive: watch::Sender<Option<IpAddr>>,
    /// The relay's UDP port, at the address at which its gRPC port was last reached.
    udp: Mutex<Option<SocketAddr>>,
    /// Numbers the posts of this run.
    posts: AtomicU64,
    tracker: TaskTracker,
    cancel: CancellationToken,
}

#[derive(Debug, Default)]
struct Registry {
    mailboxes: HashMap<SubscriptionId, Mailbox>,
    last: u64,
}

/// Somebody is looked for, and posted for, as long as this lives.
#[derive(Debug)]
pub(crate) struct Subscription {
    relay: Arc<Relay>,
    id: SubscriptionId,
    content: watch::Sender<Option<Vec<u8>>>,
    seen: watch::Receiver<Seen>,
    _heartbeat: DropGuard,
}

/// No more can be looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SubscribeError {
    #[error("too many contacts")]
    TooMany,
    #[error(transparent)]
    Random(#[from] RandomError),
}

impl Relay {
    /// Starts to keep the link, while there is a relay. Tasks are `tracker`'s and end with `cancel`.
    pub(crate) fn start(
        address: Option<RelayAddress>,
        addresses: watch::Receiver<Addresses>,
        tracker: &TaskTracker,
        cancel: CancellationToken,
    ) -> Arc<Self> {
        let state = RelayState::before(address.as_ref());
        let relay = Arc::new(Self {
            address: watch::Sender::new(address),
            registry: Mutex::default(),
            changed: Notify::new(),
            links: watch::Sender::new(None),
            state: watch::Sender::new(state),
            reflexive: watch::Sender::new(None),
            udp: Mutex::new(None),
            posts: AtomicU64::new(0),
            tracker: tracker.clone(),
            cancel,
        });
        tracker.spawn(link::keep(Arc::clone(&relay), addresses));
        tracker.spawn(watcher::watch(Arc::clone(&relay)));
        relay
    }

    /// Which one it is now.
    pub(crate) fn address(&self) -> Option<RelayAddress> {
        self.address.borrow().clone()
    }

    /// Another one from now on, or none.
    pub(crate) fn set_address(&self, address: Option<RelayAddress>) {
        self.address.send_if_modified(|before| {
            let changed = *before != address;
            *before = address;
            changed
        });
    }

    /// Nothing that the relay before said holds any more. Posts there end by themselves.
    fn forget(&self, next: Option<&RelayAddress>) {
        if let Some(link) = self.links.send_replace(None) {
            link.broken.cancel();
        }
        self.reflexive.send_replace(None);
        *self.lock_udp() = None;
        for mailbox in self.registry().mailboxes.values_mut() {
            mailbox.forget();
        }
        self.state.send_replace(RelayState::before(next));
    }

    /// How it stands with the relay.
    pub(crate) fn state(&self) -> watch::Receiver<RelayState> {
        self.state.subscribe()
    }

    /// The address from which the relay sees us.
    pub(crate) fn reflexive(&self) -> watch::Receiver<Option<IpAddr>> {
        self.reflexive.subscribe()
    }

    /// Where the relay's UDP port is, once the relay was reached.
    pub(crate) fn udp(&self) -> Option<SocketAddr> {
        *self.lock_udp()
    }

    fn lock_udp(&self) -> MutexGuard<'_, Option<SocketAddr>> {
        self.udp.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks for a contact from now on, and posts for it once there is [`Subscription::post`]. `slot_key` is random.
    pub(crate) fn subscribe(
        self: &Arc<Self>,
        rendezvous: &Arc<Rendezvous>,
        slot_key: [u8; limits::SLOT_KEY_BYTES],
    ) -> Result<Subscription, SubscribeError> {
        let mut registry = self.registry();
        if registry.mailboxes.len() >= SUBSCRIPTIONS {
            return Err(SubscribeError::TooMany);
        }
        registry.last += 1;
        let id = SubscriptionId(registry.last);
        let (mailbox, seen) = Mailbox::new(Arc::clone(rendezvous));
        registry.mailboxes.insert(id, mailbox);
        drop(registry);
        self.changed.notify_one();
        let content = watch::Sender::new(None);
        // Of the program's life, not of any session's: losing a session must not make us look absent.
        let heartbeat = self.cancel.child_token();
        self.tracker.spawn(
            Heartbeat {
                relay: Arc::clone(self),
                rendezvous: Arc::clone(rendezvous),
                slot_key,
                content: content.subscribe(),
                cancel: heartbeat.clone(),
            }
            .run(),
        );
        let relay = Arc::clone(self);
        Ok(Subscription { relay, id, content, seen, _heartbeat: heartbeat.drop_guard() })
    }

    /// All tokens that are watched in `hour`, each with whose it is.
    fn tokens(&self, hour: Hour) -> HashMap<Token, SubscriptionId> {
        let registry = self.registry();
        let of = |(id, mailbox): (&SubscriptionId, &Mailbox)| mailbox.tokens(hour).map(|token| (token, *id));
        registry.mailboxes.iter().flat_map(of).collect()
    }

    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subscription {
    /// Posts this from now on.
    pub(crate) fn post(&self, content: Vec<u8>) {
        self.content.send_if_modified(|posted| {
            let changed = posted.as_ref() != Some(&content);
            *posted = Some(content);
            changed
        });
    }

    /// Another eye on what is seen of the contact.
    pub(crate) fn watch(&self) -> watch::Receiver<Seen> {
        self.seen.clone()
    }

    /// What is seen of the contact; changes are marked.
    pub(crate) fn seen(&mut self) -> &mut watch::Receiver<Seen> {
        &mut self.seen
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.relay.registry().mailboxes.remove(&self.id);
        self.relay.changed.notify_one();
    }
}
