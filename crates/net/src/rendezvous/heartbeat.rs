//! Our posts for one contact.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use farhold_secure::rendezvous::{Hour, Stamp};
use farhold_secure::{Rendezvous, Token};
use farhold_wire::limits;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::Relay;
use super::link::Link;
use super::rpc::CallError;
use crate::clock;

/// How often a post is renewed.
const EVERY: Duration = Duration::from_secs(20);
/// Between two posts at least: what changes more often is posted as it then is.
const APART: Duration = Duration::from_millis(20);
/// Before a post that the relay refused is tried again; doubles up to [`EVERY`].
const AGAIN: Duration = Duration::from_secs(1);
/// How long a post lives: two renewals may fail.
const LIFE_SECONDS: u32 = 60;
const _: () = assert!(LIFE_SECONDS <= limits::POST_TTL_SECONDS);
/// How long the program waits at its end for posts to be taken back; they end by themselves otherwise.
const TAKE_BACK_WITHIN: Duration = Duration::from_secs(1);

pub(super) struct Heartbeat {
    pub(super) relay: Arc<Relay>,
    pub(super) rendezvous: Arc<Rendezvous>,
    pub(super) slot_key: [u8; limits::SLOT_KEY_BYTES],
    pub(super) content: watch::Receiver<Option<Vec<u8>>>,
    pub(super) cancel: CancellationToken,
}

impl Heartbeat {
    pub(super) async fn run(mut self) {
        let mut posted = None;
        let cancel = self.cancel.clone();
        cancel.run_until_cancelled(self.beat(&mut posted)).await;
        let link = self.relay.links.borrow().clone();
        if let (Some(token), Some(link)) = (posted, link) {
            let _ = timeout(TAKE_BACK_WITHIN, link.client.post(token, Vec::new(), 0, self.slot_key)).await;
        }
    }

    async fn beat(&mut self, posted: &mut Option<Token>) {
        let mut links = self.relay.links.subscribe();
        let mut last_time = 0;
        let mut again = AGAIN;
        loop {
            let Ok(link) = links.wait_for(Option::is_some).await.map(|link| link.clone()) else { return };
            let Ok(content) = self.content.wait_for(Option::is_some).await.map(|content| content.clone())
            else {
                return;
            };
            let (Some(link), Some(content)) = (link, content) else { continue };
            let now = clock::unix_milliseconds();
            // Stamps never go back, lest a post look older than one before; where the contact watches, the clock says.
            last_time = now.max(last_time);
            match self.post(&link, &content, Hour::of(now), last_time).await {
                Ok(token) => {
                    *posted = Some(token);
                    again = AGAIN;
                }
                Err(CallError::Broken(_)) => {
                    // The link's keeper puts another in its place.
                    if links.changed().await.is_err() {
                        return;
                    }
                    continue;
                }
                Err(CallError::Refused(reason)) => {
                    tracing::warn!(%reason, "the relay refuses a post");
                    sleep(again).await;
                    again = (again * 2).min(EVERY);
                    continue;
                }
            }
            sleep(APART).await;
            tokio::select! {
                () = sleep(EVERY) => {}
                changed = self.content.changed() => if changed.is_err() { return },
                changed = links.changed() => if changed.is_err() { return },
            }
        }
    }

    async fn post(
        &self,
        link: &Link,
        content: &[u8],
        hour: Hour,
        unix_milliseconds: u64,
    ) -> Result<Token, CallError> {
        let rendezvous = &self.rendezvous;
        let token = rendezvous.post_token(hour);
        let counter = self.relay.posts.fetch_add(1, Ordering::Relaxed);
        let stamp = Stamp { unix_milliseconds, counter };
        let blob =
            rendezvous.seal(&token, stamp, content).map_err(|error| CallError::Refused(error.to_string()))?;
        link.call(link.client.post(token, blob, LIFE_SECONDS, self.slot_key)).await?;
        Ok(token)
    }
}
