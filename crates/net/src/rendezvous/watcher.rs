//! The one watch with everybody's tokens.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use farhold_secure::Token;
use farhold_secure::rendezvous::Hour;
use tokio::time::sleep;

use super::link::Link;
use super::rpc::{CallError, Watch};
use super::{Relay, SubscriptionId};
use crate::clock;

/// Subscriptions that come together are watched together.
const GATHER: Duration = Duration::from_millis(20);
/// Before a watch that the relay refused is asked for again.
const REFUSED_PAUSE: Duration = Duration::from_secs(5);
/// How often the clock is looked at: a machine that slept has missed hours that a timer would have waited for.
const CLOCK_EVERY: Duration = Duration::from_secs(10);

/// Watches until cancelled.
pub(super) async fn watch(relay: Arc<Relay>) {
    let cancel = relay.cancel.clone();
    cancel.run_until_cancelled(watch_on(&relay)).await;
}

async fn watch_on(relay: &Relay) {
    let mut links = relay.links.subscribe();
    loop {
        let link = match links.wait_for(Option::is_some).await {
            Ok(link) => link.clone(),
            Err(_) => return,
        };
        if let Some(link) = link {
            tokio::select! {
                () = link.broken.cancelled() => {}
                () = watch_link(relay, &link) => {}
            }
            link.broken.cancelled().await;
            // The loss is told before the next link.
            if links.changed().await.is_err() {
                return;
            }
        }
    }
}

/// Watches on one link until it breaks; with other tokens, the next watch is open before the old one ends.
async fn watch_link(relay: &Relay, link: &Link) {
    let mut current = None;
    loop {
        let hour = now();
        let tokens = relay.tokens(hour);
        let opened = match link.call(link.client.watch(tokens.keys())).await {
            Ok(watch) => watch,
            Err(CallError::Broken(_)) => return,
            Err(CallError::Refused(reason)) => {
                tracing::warn!(%reason, "the relay refuses to watch");
                sleep(REFUSED_PAUSE).await;
                continue;
            }
        };
        // Only now the one before ends.
        let watch = current.insert(opened);
        begin(relay, &tokens);
        let ended = tokio::select! {
            () = relay.changed.notified() => false,
            () = another_than(hour) => false,
            () = take_events(relay, watch, &tokens) => true,
        };
        if ended {
            link.broken.cancel();
            return;
        }
        sleep(GATHER).await;
    }
}

/// Returns when the watch has ended.
async fn take_events(relay: &Relay, watch: &mut Watch, tokens: &HashMap<Token, SubscriptionId>) {
    while let Some((token, blobs)) = watch.next().await {
        let mut registry = relay.registry();
        if let Some(mailbox) = tokens.get(&token).and_then(|id| registry.mailboxes.get_mut(id)) {
            mailbox.take(token, &blobs);
        }
    }
}

fn now() -> Hour {
    Hour::of(clock::unix_milliseconds())
}

/// Returns in another hour.
async fn another_than(hour: Hour) {
    while now() == hour {
        sleep(CLOCK_EVERY).await;
    }
}

fn begin(relay: &Relay, tokens: &HashMap<Token, SubscriptionId>) {
    let mut registry = relay.registry();
    for (id, mailbox) in &mut registry.mailboxes {
        let watched = tokens.values().filter(|of| *of == id).count();
        if watched > 0 {
            mailbox.begin(watched);
        }
    }
}
