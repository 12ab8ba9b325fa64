//! The board, shared: who posts or watches works on it under one lock, watchers are woken, and posts expire.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::board::{Board, BoardSize, Post, PostRefusal, Token, WatchRefusal, WatcherId};
use crate::config::Limits;
use crate::source::Source;

#[derive(Debug)]
pub(crate) struct Hub {
    shared: Mutex<Shared>,
    /// The next expiry is another one.
    rescheduled: Notify,
}

#[derive(Debug)]
struct Shared {
    board: Board,
    wakers: HashMap<WatcherId, Arc<Notify>>,
}

impl Shared {
    fn wake(&mut self) {
        for id in self.board.take_woken() {
            if let Some(waker) = self.wakers.get(&id) {
                waker.notify_one();
            }
        }
    }
}

impl Hub {
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            shared: Mutex::new(Shared { board: Board::new(limits), wakers: HashMap::new() }),
            rescheduled: Notify::new(),
        })
    }

    pub(crate) fn size(&self) -> BoardSize {
        self.lock().board.size()
    }

    pub(crate) fn post(&self, post: Post, source: Source) -> Result<(), PostRefusal> {
        let mut shared = self.lock();
        let before = shared.board.next_expiry();
        let result = shared.board.post(post, source, now());
        if shared.board.next_expiry() != before {
            self.rescheduled.notify_one();
        }
        shared.wake();
        result
    }

    pub(crate) fn watch(self: &Arc<Self>, tokens: Vec<Token>, source: Source) -> Result<Watch, WatchRefusal> {
        let mut shared = self.lock();
        let id = shared.board.watch(tokens, source)?;
        let waker = Arc::new(Notify::new());
        shared.wakers.insert(id, Arc::clone(&waker));
        Ok(Watch { hub: Arc::clone(self), id, waker })
    }

    /// Lets posts expire, for ever.
    pub(crate) async fn keep_time(&self) {
        loop {
            let next = self.lock().board.next_expiry();
            let due = async {
                match next {
                    Some(at) => tokio::time::sleep_until(at.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = self.rescheduled.notified() => {}
                () = due => {
                    let mut shared = self.lock();
                    shared.board.expire(now());
                    shared.wake();
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn now() -> std::time::Instant {
    Instant::now().into_std()
}

/// A watch under way; dropping it ends it.
#[derive(Debug)]
pub(crate) struct Watch {
    hub: Arc<Hub>,
    id: WatcherId,
    waker: Arc<Notify>,
}

impl Watch {
    /// The next token with its blobs: first the present state of every token, then changes.
    pub(crate) async fn next(&self) -> (Token, Vec<Bytes>) {
        loop {
            let event = self.hub.lock().board.next_event(self.id, now());
            match event {
                Some(event) => return event,
                None => self.waker.notified().await,
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut shared = self.hub.lock();
        shared.board.unwatch(self.id);
        shared.wakers.remove(&self.id);
    }
}
