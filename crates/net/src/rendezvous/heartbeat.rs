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
        let posted = self.beat().await;
        let link = self.relay.links.borrow().clone();
        if let (Some(token), Some(link)) = (posted, link) {
            let _ = timeout(TAKE_BACK_WITHIN, link.client.post(token, Vec::new(), 0, self.slot_key)).await;
        }
    }

    /// Posts until cancelled; gives the token of the last post.
    async fn beat(&mut self) -> Option<Token> {
        let cancel = self.cancel.clone();
        let mut links = self.relay.links.subscribe();
        let mut posted = None;
        let mut last_time = 0;
        let mut again = AGAIN;
        loop {
            let ready = cancel.run_until_cancelled(self.ready(&mut links)).await.flatten();
            let Some((link, content)) = ready else { return posted };
            let now = clock::unix_milliseconds();
            // Stamps never go back, lest a post look older than one before; where the contact watches, the clock says.
            last_time = now.max(last_time);
            // Not given up: what is on its way could come after it was taken back.
            let result = self.post(&link, &content, Hour::of(now), last_time).await;
            if let Ok(token) = &result {
                posted = Some(*token);
                again = AGAIN;
            }
            let pause = async {
                match result {
                    Ok(_) => {
                        sleep(APART).await;
                        tokio::select! {
                            () = sleep(EVERY) => true,
                            changed = self.content.changed() => changed.is_ok(),
                            changed = links.changed() => changed.is_ok(),
                        }
                    }
                    // The link's keeper puts another in its place.
                    Err(CallError::Broken(_)) => links.changed().await.is_ok(),
                    Err(CallError::Refused(reason)) => {
                        tracing::warn!(%reason, "the relay refuses a post");
                        sleep(again).await;
                        again = (again * 2).min(EVERY);
                        true
                    }
                }
            };
            if cancel.run_until_cancelled(pause).await != Some(true) {
                return posted;
            }
        }
    }

    /// Returns once there is a link and something to post; `None` if there will be none.
    async fn ready(&mut self, links: &mut watch::Receiver<Option<Link>>) -> Option<(Link, Vec<u8>)> {
        let link = links.wait_for(Option::is_some).await.ok()?.clone()?;
        let content = self.content.wait_for(Option::is_some).await.ok()?.clone()?;
        Some((link, content))
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
