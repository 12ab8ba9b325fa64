//! A limit of a rate, as those see it who keep to it.

use std::collections::BTreeMap;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::sync::Notify;
use tokio::time::{Instant, Sleep, sleep_until};

use super::{Pace, Wait};

/// What may be received, or sent, in a second.
#[derive(Debug)]
pub(crate) struct Limiter {
    state: Mutex<State>,
    /// Demand goes in the order in which it came.
    demand: tokio::sync::Mutex<()>,
    /// The limit was changed, or demand was given back.
    changed: Notify,
}

#[derive(Debug)]
struct State {
    pace: Pace,
    last: u64,
    /// Of those who wait for their turn.
    wakers: BTreeMap<u64, Waker>,
}

impl State {
    fn wake(&mut self) {
        std::mem::take(&mut self.wakers).into_values().for_each(Waker::wake);
    }
}

impl Default for Limiter {
    /// Without a limit.
    fn default() -> Self {
        let state = State { pace: Pace::new(Instant::now()), last: 0, wakers: BTreeMap::new() };
        Self { state: Mutex::new(state), demand: tokio::sync::Mutex::default(), changed: Notify::new() }
    }
}

impl Limiter {
    /// From now on so many bytes per second, or as many as there are.
    pub(crate) fn set(&self, rate: Option<u64>) {
        let mut state = self.state();
        state.pace.set(rate, Instant::now());
        state.wake();
        self.changed.notify_waiters();
    }

    /// Waits until bytes that somebody waits for may go; they count as gone then.
    pub(crate) async fn demand(&self, bytes: u64) {
        let _first = self.demand.lock().await;
        loop {
            let changed = self.changed.notified();
            let Err(until) = self.state().pace.demand(bytes, Instant::now()) else { return };
            tokio::select! {
                () = sleep_until(until) => {}
                () = changed => {}
            }
        }
    }

    /// Bytes that went will not come.
    pub(crate) fn refund(&self, bytes: u64, demand: bool) {
        let mut state = self.state();
        state.pace.refund(bytes, demand);
        state.wake();
        if demand {
            self.changed.notify_waiters();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Whole between any two statements, so a panic elsewhere does not spoil it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One who moves bulk under a limit, in turn with others.
pub(crate) struct Turn {
    limiter: Arc<Limiter>,
    number: u64,
    sleep: Pin<Box<Sleep>>,
}

impl Turn {
    pub(crate) fn new(limiter: &Arc<Limiter>) -> Self {
        let number = {
            let mut state = limiter.state();
            state.last += 1;
            state.last
        };
        Self { limiter: Arc::clone(limiter), number, sleep: Box::pin(sleep_until(Instant::now())) }
    }

    /// What says the same for it where it cannot wait.
    pub(crate) fn place(&self) -> Place {
        Place { limiter: Arc::clone(&self.limiter), number: self.number }
    }

    /// Ready once it is its turn, which it takes. Who goes then says how much it took.
    pub(crate) fn poll_take(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.poll(cx, |pace, who, now| pace.turn(who, now))
    }

    /// Returns once it is its turn, if it waits for that; it takes it with [`Place::take`].
    pub(crate) async fn due(&mut self) {
        poll_fn(|cx| {
            let due = |pace: &mut Pace, who, now| {
                if pace.waits(who) { pace.due(who, now) } else { Err(Wait::Others) }
            };
            self.poll(cx, due)
        })
        .await;
    }

    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        ask: impl Fn(&mut Pace, u64, Instant) -> Result<(), Wait>,
    ) -> Poll<()> {
        loop {
            let until = {
                let mut state = self.limiter.state();
                let Err(wait) = ask(&mut state.pace, self.number, Instant::now()) else {
                    return Poll::Ready(());
                };
                state.wakers.insert(self.number, cx.waker().clone());
                match wait {
                    Wait::Until(until) => until,
                    Wait::Others => return Poll::Pending,
                }
            };
            self.sleep.as_mut().reset(until);
            if self.sleep.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn").field("number", &self.number).finish_non_exhaustive()
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.place().leave();
        self.limiter.state().wakers.remove(&self.number);
    }
}

/// A [`Turn`]'s place among those who wait.
#[derive(Debug)]
pub(crate) struct Place {
    limiter: Arc<Limiter>,
    number: u64,
}

impl Place {
    /// Takes the turn if it is there; otherwise it waits from now on.
    pub(crate) fn take(&self) -> bool {
        self.limiter.state().pace.turn(self.number, Instant::now()).is_ok()
    }

    /// It went, with so many bytes.
    pub(crate) fn spend(&self, bytes: u64) {
        let mut state = self.limiter.state();
        state.pace.spend(bytes);
        state.wake();
    }

    /// It has nothing to wait for.
    pub(crate) fn leave(&self) {
        let mut state = self.limiter.state();
        if state.pace.leave(self.number) {
            state.wake();
        }
    }
}
