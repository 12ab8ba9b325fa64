//! What lies under one contact's tokens. No I/O and no clock.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use farhold_secure::rendezvous::{Hour, Stamp};
use farhold_secure::{Rendezvous, Token};
use tokio::sync::watch;

/// What is known of a contact through the relay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Whether a post of it is alive; `None` before anything is known. An error of the relay changes nothing.
    pub(crate) present: Option<bool>,
    /// Its newest post.
    pub(crate) post: Option<Vec<u8>>,
}

#[derive(Debug)]
pub(super) struct Mailbox {
    rendezvous: Arc<Rendezvous>,
    newest: Option<Stamp>,
    /// Of each watched token that was reported: whether the newest post, or one newer, lies under it.
    alive: HashMap<Token, bool>,
    watched: usize,
    seen: watch::Sender<Seen>,
}

impl Mailbox {
    pub(super) fn new(rendezvous: Arc<Rendezvous>) -> (Self, watch::Receiver<Seen>) {
        let (seen, receiver) = watch::channel(Seen::default());
        (Self { rendezvous, newest: None, alive: HashMap::new(), watched: 0, seen }, receiver)
    }

    pub(super) fn tokens(&self, hour: Hour) -> [Token; 3] {
        self.rendezvous.watch_tokens(hour)
    }

    /// A new watch of `watched` tokens tells of each of them.
    pub(super) fn begin(&mut self, watched: usize) {
        self.alive.clear();
        self.watched = watched;
    }

    /// Another relay is asked from now on.
    pub(super) fn forget(&mut self) {
        self.begin(0);
        self.seen.send_modify(|seen| seen.present = None);
    }

    /// Takes all blobs under a token. Those that are older than one seen before, or repeat it after it was replaced,
    /// are somebody else's doing.
    pub(super) fn take(&mut self, token: Token, blobs: &[Bytes]) {
        let rendezvous = &self.rendezvous;
        let opened = blobs.iter().filter_map(|blob| rendezvous.open(&token, blob).ok());
        let latest = opened.max_by_key(|opened| opened.stamp);
        let latest = latest.filter(|opened| self.newest.is_none_or(|newest| opened.stamp >= newest));
        self.alive.insert(token, latest.is_some());
        let news = latest.filter(|opened| self.newest != Some(opened.stamp));
        if let Some(opened) = &news {
            self.newest = Some(opened.stamp);
        }
        let alive = self.alive.values().any(|alive| *alive);
        let all = self.alive.len() >= self.watched;
        self.seen.send_if_modified(|seen| {
            let present = if alive {
                Some(true)
            } else if all {
                Some(false)
            } else {
                seen.present
            };
            let changed = seen.present != present || news.is_some();
            seen.present = present;
            if let Some(opened) = news {
                seen.post = Some(opened.plaintext);
            }
            changed
        });
    }
}

#[cfg(test)]
mod tests;
