//! The board: sealed blobs under tokens, and who watches which tokens. A state machine without I/O and clock.
//!
//! A token has up to [`limits::SLOTS_PER_TOKEN`] slots, one for each slot key. A slot is replaced or taken back only
//! with its own key, so that somebody else who knows the token can neither overwrite nor remove it; whoever watches
//! the token gets all of its slots.
//!
//! A watcher is told states, not a history: its queue holds each of its tokens at most once, and what it takes is
//! the state at that moment. So a slow watcher costs no memory and always ends with the truth.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::{Duration, Instant};

use bytes::Bytes;
use farhold_wire::limits;

use crate::config::{Limit, Limits};
use crate::pace::Pace;
use crate::source::{Full, Quota, Source};

pub(crate) type Token = [u8; limits::TOKEN_BYTES];
pub(crate) type SlotKey = [u8; limits::SLOT_KEY_BYTES];

/// Names a watcher for as long as it watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct WatcherId(u64);

/// A checked post.
#[derive(Debug, Clone)]
pub(crate) struct Post {
    pub(crate) token: Token,
    pub(crate) slot_key: SlotKey,
    /// Empty takes the slot back.
    pub(crate) blob: Bytes,
    pub(crate) ttl: Duration,
}

/// Why a post was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PostRefusal {
    /// The source posts too often.
    TooFast,
    /// Others hold all slots of the token.
    SlotsTaken,
    /// The board is full, or this source's part of it.
    Full(Full),
}

/// Why nobody watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WatchRefusal {
    /// One of the tokens has all the watches that it may.
    WatchesTaken,
    /// There are enough watches, or enough of this source.
    Full(Full),
}

/// How much is on the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BoardSize {
    pub(crate) tokens: usize,
    pub(crate) posts: usize,
    pub(crate) post_bytes: usize,
    pub(crate) watches: usize,
    pub(crate) watched_tokens: usize,
}

#[derive(Debug)]
struct Slot {
    key: SlotKey,
    blob: Bytes,
    expires: Instant,
    /// Whose limits it counts against: its latest poster's.
    source: Source,
}

#[derive(Debug)]
struct Watcher {
    source: Source,
    /// For each token, whether it is in the queue.
    tokens: HashMap<Token, bool>,
    queue: VecDeque<Token>,
}

#[derive(Debug)]
pub(crate) struct Board {
    slots: HashMap<Token, Vec<Slot>>,
    expiries: BTreeSet<(Instant, Token, SlotKey)>,
    watchers: HashMap<WatcherId, Watcher>,
    watched_by: HashMap<Token, BTreeMap<WatcherId, Source>>,
    next_watcher: u64,
    woken: BTreeSet<WatcherId>,
    posts: Quota,
    post_bytes: Quota,
    watches: Quota,
    watched_tokens: Quota,
    token_watches: Limit,
    post_pace: Pace,
}

impl Board {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            slots: HashMap::new(),
            expiries: BTreeSet::new(),
            watchers: HashMap::new(),
            watched_by: HashMap::new(),
            next_watcher: 0,
            woken: BTreeSet::new(),
            posts: Quota::new(limits.posts),
            post_bytes: Quota::new(limits.post_bytes),
            watches: Quota::new(limits.watches),
            watched_tokens: Quota::new(limits.watched_tokens),
            token_watches: limits.token_watches,
            post_pace: Pace::new(limits.post_rate),
        }
    }

    pub(crate) fn size(&self) -> BoardSize {
        BoardSize {
            tokens: self.slots.len(),
            posts: self.posts.held(),
            post_bytes: self.post_bytes.held(),
            watches: self.watches.held(),
            watched_tokens: self.watched_tokens.held(),
        }
    }

    /// Puts, replaces or takes back a slot. Posts that are over by `now` no longer count.
    pub(crate) fn post(&mut self, post: Post, source: Source, now: Instant) -> Result<(), PostRefusal> {
        if !self.post_pace.take(source, now) {
            return Err(PostRefusal::TooFast);
        }
        self.expire(now);
        let old = self.take_slot(&post.token, &post.slot_key);
        if post.blob.is_empty() {
            if old.is_some() {
                self.queue_for_watchers(&post.token);
            }
            return Ok(());
        }
        let refusal = match self.check_room(&post, source) {
            Ok(()) => {
                if old.is_none_or(|old| old.blob != post.blob) {
                    self.queue_for_watchers(&post.token);
                }
                let Post { token, slot_key: key, blob, ttl } = post;
                self.put_slot(token, Slot { key, blob, expires: now + ttl, source });
                return Ok(());
            }
            Err(refusal) => refusal,
        };
        if let Some(old) = old {
            self.put_slot(post.token, old);
        }
        Err(refusal)
    }

    /// Watches `tokens`; the present state of each is queued. A token named twice counts once.
    pub(crate) fn watch(&mut self, tokens: Vec<Token>, source: Source) -> Result<WatcherId, WatchRefusal> {
        let mut queue = VecDeque::with_capacity(tokens.len());
        let mut queued = HashMap::with_capacity(tokens.len());
        for token in tokens {
            if queued.insert(token, true).is_none() {
                queue.push_back(token);
            }
        }
        if !queue.iter().all(|token| self.may_be_watched(token, source)) {
            return Err(WatchRefusal::WatchesTaken);
        }
        self.watched_tokens.check(source, queue.len()).map_err(WatchRefusal::Full)?;
        self.watches.take(source, 1).map_err(WatchRefusal::Full)?;
        self.watched_tokens.take(source, queue.len()).map_err(WatchRefusal::Full)?;
        let id = WatcherId(self.next_watcher);
        self.next_watcher += 1;
        for token in &queue {
            self.watched_by.entry(*token).or_default().insert(id, source);
        }
        self.watchers.insert(id, Watcher { source, tokens: queued, queue });
        Ok(id)
    }

    /// The watcher is gone.
    pub(crate) fn unwatch(&mut self, id: WatcherId) {
        let Some(watcher) = self.watchers.remove(&id) else { return };
        self.watches.give_back(watcher.source, 1);
        self.watched_tokens.give_back(watcher.source, watcher.tokens.len());
        for token in watcher.tokens.keys() {
            if let Some(watchers) = self.watched_by.get_mut(token) {
                watchers.remove(&id);
                if watchers.is_empty() {
                    self.watched_by.remove(token);
                }
            }
        }
        self.woken.remove(&id);
    }

    /// What the watcher has to be told next: a token and all blobs under it at `now`.
    pub(crate) fn next_event(&mut self, id: WatcherId, now: Instant) -> Option<(Token, Vec<Bytes>)> {
        let watcher = self.watchers.get_mut(&id)?;
        let token = watcher.queue.pop_front()?;
        watcher.tokens.insert(token, false);
        let slots = self.slots.get(&token).map_or(&[][..], Vec::as_slice);
        let live = slots.iter().filter(|slot| slot.expires > now);
        Some((token, live.map(|slot| slot.blob.clone()).collect()))
    }

    /// When [`Board::expire`] has something to do.
    pub(crate) fn next_expiry(&self) -> Option<Instant> {
        self.expiries.first().map(|(at, ..)| *at)
    }

    /// Removes the posts that are over.
    pub(crate) fn expire(&mut self, now: Instant) {
        while let Some(&(at, token, key)) = self.expiries.first() {
            if at > now {
                break;
            }
            self.take_slot(&token, &key);
            self.queue_for_watchers(&token);
        }
    }

    /// The watchers for which something was queued since the last call.
    pub(crate) fn take_woken(&mut self) -> BTreeSet<WatcherId> {
        std::mem::take(&mut self.woken)
    }

    /// Whether one more watch of the token fits.
    fn may_be_watched(&self, token: &Token, source: Source) -> bool {
        let Some(watchers) = self.watched_by.get(token) else { return true };
        let of_source = watchers.values().filter(|of| **of == source).count();
        watchers.len() < self.token_watches.total && of_source < self.token_watches.per_source
    }

    /// Whether one more slot fits, the one that it replaces having been taken out.
    fn check_room(&self, post: &Post, source: Source) -> Result<(), PostRefusal> {
        if self.slots.get(&post.token).is_some_and(|slots| slots.len() >= limits::SLOTS_PER_TOKEN) {
            return Err(PostRefusal::SlotsTaken);
        }
        self.posts.check(source, 1).map_err(PostRefusal::Full)?;
        self.post_bytes.check(source, post.blob.len()).map_err(PostRefusal::Full)
    }

    fn put_slot(&mut self, token: Token, slot: Slot) {
        // Its room was checked, or was its own until now.
        let taken = self.posts.take(slot.source, 1).and(self.post_bytes.take(slot.source, slot.blob.len()));
        debug_assert!(taken.is_ok(), "a slot without room");
        self.expiries.insert((slot.expires, token, slot.key));
        self.slots.entry(token).or_default().push(slot);
    }

    fn take_slot(&mut self, token: &Token, key: &SlotKey) -> Option<Slot> {
        let slots = self.slots.get_mut(token)?;
        let index = slots.iter().position(|slot| slot.key == *key)?;
        let slot = slots.remove(index);
        if slots.is_empty() {
            self.slots.remove(token);
        }
        self.expiries.remove(&(slot.expires, *token, slot.key));
        self.posts.give_back(slot.source, 1);
        self.post_bytes.give_back(slot.source, slot.blob.len());
        Some(slot)
    }

    fn queue_for_watchers(&mut self, token: &Token) {
        for id in self.watched_by.get(token).into_iter().flat_map(BTreeMap::keys) {
            let Some(watcher) = self.watchers.get_mut(id) else { continue };
            if watcher.tokens.insert(*token, true) == Some(false) {
                watcher.queue.push_back(*token);
                self.woken.insert(*id);
            }
        }
    }
}

#[cfg(test)]
mod tests;
