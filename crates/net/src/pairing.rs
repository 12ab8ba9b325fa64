//! Pairing by codes: a task that looks for the owner of a code until both sides have stored the pair secret.
//!
//! The two find each other under tokens that derive from both codes, so all that is posted there is public: keys,
//! which the code vouches for, and a nonce. They meet through the bridge; the new secret comes from the handshake.
//! A round that breaks off is run again. Two sides that hold the same secret have nothing more to do here: each
//! shows the other that it has stored it by posting under it.

mod round;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use farhold_secure::{Code, PairSecret, PublicKeys, RandomError, Rendezvous, Side, random};
use farhold_wire::ContactId;
use subtle::ConstantTimeEq;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use self::round::{RoundError, Secret};
use crate::config::SavedContact;
use crate::connect::lifecycle::Nonce;
use crate::contact::{Meeting, dial_bridge};
use crate::counters::WireCounter;
use crate::event::NetEvent;
use crate::leg::{Leg, Parties};
use crate::rendezvous::rpc::PairingPost;
use crate::rendezvous::{Seen, SubscribeError, Subscription};
use crate::roster::Entry;
use crate::shared::{Promotion, Shared};

/// Whoever met nobody takes a fresh nonce after this long: whatever made the two wait for each other on different
/// legs ends with it.
const RENEW: Duration = Duration::from_secs(10);
/// Before the next leg.
const PAUSE: Duration = Duration::from_millis(500);

/// What stands for a secret in a post that others may read: 16 bytes that tell nothing about it.
pub(crate) type Check = [u8; 16];

/// Derives it as a bridge token that no leg ever has.
pub(crate) fn check_of(secret: &PairSecret, side: Side) -> Check {
    let token = Rendezvous::saved(secret, side).bridge_token(&[0; 16], &[0; 16], u32::MAX);
    let mut check = [0; 16];
    check.copy_from_slice(&token.0[..16]);
    check
}

/// A pending pairing, as others have it. Dropping it ends the pairing.
#[derive(Debug)]
pub(crate) struct Pairing {
    pub(crate) code: Code,
    stored: watch::Sender<Option<Check>>,
    promotion: Arc<Promotion>,
}

impl Pairing {
    /// Starts to look for the owner of `code`; `None` if the code is our own. `stored` stands for the secret of an
    /// earlier round.
    pub(crate) fn start(
        code: Code,
        stored: Option<Check>,
        shared: &Arc<Shared>,
    ) -> Result<Option<Self>, SubscribeError> {
        let Some(rendezvous) = Rendezvous::pairing(shared.identity.code(), &code) else { return Ok(None) };
        let rendezvous = Arc::new(rendezvous);
        let subscription = shared.relay.subscribe(&rendezvous, random::array()?)?;
        let (stored, stored_receiver) = watch::channel(stored);
        let cancel = shared.cancel.child_token();
        let promotion = Promotion::new(id_of(&code), Arc::clone(shared), cancel.clone());
        let task = Task {
            shared: Arc::clone(shared),
            code,
            rendezvous,
            subscription,
            entry: shared.roster.enter(None),
            stored: stored_receiver,
            promotion: Arc::clone(&promotion),
            cancel,
        };
        shared.tracker.spawn(task.run());
        Ok(Some(Self { code, stored, promotion }))
    }

    /// The contact with the secret that `check` stands for is stored.
    pub(crate) fn stored(&self, check: Check) {
        self.stored.send_replace(Some(check));
    }

    /// How the contact of this pairing becomes a saved one.
    pub(crate) fn promotion(&self) -> &Arc<Promotion> {
        &self.promotion
    }
}

impl Drop for Pairing {
    fn drop(&mut self) {
        self.promotion.end_pairing();
    }
}

struct Task {
    shared: Arc<Shared>,
    code: Code,
    rendezvous: Arc<Rendezvous>,
    subscription: Subscription,
    entry: Entry,
    stored: watch::Receiver<Option<Check>>,
    promotion: Arc<Promotion>,
    cancel: CancellationToken,
}

/// The other side, as its post says.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Other {
    nonce: Nonce,
    keys: PublicKeys,
    holds: Option<Check>,
}

impl Task {
    async fn run(mut self) {
        let cancel = self.cancel.clone();
        if let Some(Err(error)) = cancel.run_until_cancelled(self.look()).await {
            tracing::error!(%error, "a pairing ends without random numbers");
        }
    }

    /// Meets the other side again and again until cancelled.
    async fn look(&mut self) -> Result<Infallible, RandomError> {
        let mut nonce = random::array()?;
        loop {
            self.post(nonce);
            let Some(other) = self.other().await else { continue };
            let met = tokio::select! {
                met = self.meet(nonce, &other) => met,
                // With the other's next nonce; ours stays, or each change would bring about another.
                () = self.news(&other) => continue,
            };
            if met {
                nonce = random::array()?;
            }
            sleep(PAUSE).await;
        }
    }

    fn post(&self, nonce: Nonce) {
        let keys = self.shared.identity.public().to_bytes().into();
        let post = PairingPost { nonce, keys, holds: *self.stored.borrow() };
        self.subscription.post(post.encode());
    }

    /// The other side, once it posts and a round with it would bring something; `None` when we have stored something.
    async fn other(&mut self) -> Option<Other> {
        loop {
            if let Some(other) = self.known() {
                return Some(other);
            }
            // Both senders live as long as the task is not cancelled.
            tokio::select! {
                _ = self.subscription.seen().changed() => {}
                _ = self.stored.changed() => return None,
            }
        }
    }

    fn known(&mut self) -> Option<Other> {
        let Seen { present, post } = self.subscription.seen().borrow_and_update().clone();
        let post = PairingPost::decode(&post.filter(|_| present == Some(true))?).ok()?;
        let keys = PublicKeys::from_bytes(&post.keys).ok()?;
        if keys.code() != self.code {
            tracing::warn!("keys were posted that are not those of the code");
            return None;
        }
        let same = match (post.holds, *self.stored.borrow()) {
            (Some(theirs), Some(ours)) => bool::from(theirs.ct_eq(&ours)),
            (None, _) | (_, None) => false,
        };
        (!same).then_some(Other { nonce: post.nonce, keys, holds: post.holds })
    }

    /// Returns when the other side says something else than before.
    async fn news(&self, before: &Other) {
        let mut seen = self.subscription.watch();
        let unchanged = |seen: &Seen| {
            let post = seen.post.as_ref().and_then(|post| PairingPost::decode(post).ok());
            post.is_some_and(|post| post.nonce == before.nonce && post.holds == before.holds)
        };
        let _ = seen.wait_for(|seen| !unchanged(seen)).await;
    }

    /// Runs one round on one leg; `true` if the leg met the other side or waited long, so that it takes a fresh nonce.
    async fn meet(&self, nonce: Nonce, other: &Other) -> bool {
        let Some(relay) = self.shared.relay.address() else { return false };
        let side = self.rendezvous.side();
        let parties = Parties {
            identity: Arc::clone(&self.shared.identity),
            peer: other.keys.clone(),
            rendezvous: Arc::clone(&self.rendezvous),
            abilities: self.shared.abilities,
        };
        let nonces = match side {
            Side::Zero => (nonce, other.nonce),
            Side::One => (other.nonce, nonce),
        };
        let meeting = Meeting { relay, nonces, leg: 0 };
        let counter = WireCounter::part_of(&self.shared.counter);
        let dialled = dial_bridge(meeting, &parties, &self.entry, counter, self.cancel.clone());
        // Only the leg: the round after it has deadlines of its own, and storing may take longer.
        let leg = match timeout(RENEW, dialled).await {
            Ok(Ok(leg)) => leg,
            Ok(Err(failed)) => {
                tracing::debug!(error = %failed.error, "a pairing leg came to nothing");
                return failed.met;
            }
            Err(_) => return true,
        };
        if let Err(error) = self.round(leg, side, other).await {
            tracing::debug!(%error, "a pairing round broke off");
        }
        true
    }

    async fn round(&self, leg: Leg, side: Side, other: &Other) -> Result<(), RoundError> {
        let (mut round, Secret { secret, words }) = round::agree(leg, side).await?;
        let id = id_of(&self.code);
        let contact = SavedContact { id, keys: other.keys.clone(), secret, provisional: true };
        let check = check_of(&contact.secret, side);
        let paired = NetEvent::Paired { code: self.code, contact, words: words.to_string() };
        self.shared.events.send(paired).await.map_err(|_| RoundError::NotStored)?;
        let mut stored = self.stored.clone();
        round.confirm(async move { stored.wait_for(|stored| *stored == Some(check)).await.is_ok() }).await?;
        self.promotion.take();
        Ok(())
    }
}

/// Our name for the owner of a code.
pub(crate) fn id_of(code: &Code) -> ContactId {
    let mut id = [0; 16];
    id.copy_from_slice(&code.as_bytes()[..16]);
    ContactId(id)
}
