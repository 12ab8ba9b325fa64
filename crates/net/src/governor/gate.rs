//! The governor of a session, as reads see it.

use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use farhold_wire::{LaneClass, ReadRequest};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Full, Governor, GovernorView, Priority};
use crate::pace::{Limiter, Place, Turn};

type Inner = Governor<oneshot::Sender<Admission>>;

/// Lets reads through as its governor decides, within the limit of what may be received.
pub(crate) struct Gate {
    governor: Mutex<Inner>,
    receive: Arc<Limiter>,
    /// This session's among all.
    place: Place,
    /// Held by one of the reads that wait, which wakes when it is this session's turn.
    turn: tokio::sync::Mutex<Turn>,
}

/// A read that may go, or is under way. Whoever reads reports to it; what has not arrived when it is dropped will not.
#[derive(Debug)]
pub(crate) struct Admission {
    gate: Arc<Gate>,
    class: LaneClass,
    since: Instant,
    /// Bytes still to come.
    left: u64,
    began: bool,
}

/// A read's place in the queue, until dropped.
struct Waiting<'a> {
    gate: &'a Gate,
    ticket: u64,
}

impl Gate {
    /// `former` is [`Self::kept`] of the session before, if it ran a similar way.
    pub(crate) fn new(former: Option<u64>, receive: Arc<Limiter>) -> Arc<Self> {
        let turn = Turn::new(&receive);
        let governor = Mutex::new(Governor::new(former, Instant::now()));
        Arc::new(Self { governor, receive, place: turn.place(), turn: tokio::sync::Mutex::new(turn) })
    }

    /// Waits until the read may go. Cancelling `raised` makes it one of [`Priority::Demand`].
    pub(crate) async fn admit(
        self: &Arc<Self>,
        request: &ReadRequest,
        priority: Priority,
        raised: &CancellationToken,
    ) -> Result<Admission, Full> {
        if priority == Priority::Demand || raised.is_cancelled() {
            return Ok(self.demand(request).await);
        }
        let (sender, admitted) = oneshot::channel();
        let ticket = self.lock().wait(priority, request.entry, request.length.into(), sender)?;
        let waiting = Waiting { gate: self, ticket };
        self.let_through();
        tokio::select! {
            biased;
            admission = admitted => match admission {
                Ok(admission) => Ok(admission),
                // Only a place that is given up loses its sender.
                Err(_) => Err(Full),
            },
            () = raised.cancelled() => {
                drop(waiting);
                Ok(self.demand(request).await)
            }
            never = self.follow_turns() => match never {},
        }
    }

    async fn demand(self: &Arc<Self>, request: &ReadRequest) -> Admission {
        self.receive.demand(request.length.into()).await;
        self.lock().demand(request.length.into(), Instant::now());
        Admission::new(self, LaneClass::Urgent, request.length.into())
    }

    fn let_through(self: &Arc<Self>) {
        loop {
            let next = {
                let mut governor = self.lock();
                if !governor.wants() {
                    return self.place.leave();
                }
                if !self.place.take() {
                    return governor.held_back();
                }
                governor.next(Instant::now())
            };
            let Some((bytes, waiting)) = next else { return };
            self.place.spend(bytes);
            // If nobody waits any more, what comes back gives its bytes back.
            let _ = waiting.send(Admission::new(self, LaneClass::Bulk, bytes));
        }
    }

    /// Lets reads through whenever it is this session's turn.
    async fn follow_turns(self: &Arc<Self>) -> Infallible {
        let mut turn = self.turn.lock().await;
        loop {
            turn.due().await;
            self.let_through();
        }
    }

    /// A round trip was measured.
    pub(crate) fn measured(&self, rtt: Duration) {
        self.lock().measured(rtt, Instant::now());
    }

    /// What the governor of a session that takes over may begin with.
    pub(crate) fn kept(&self) -> u64 {
        self.lock().kept()
    }

    /// When bytes came on bulk lanes last.
    pub(crate) fn arrived_at(&self) -> Option<Instant> {
        self.lock().arrived_at()
    }

    /// How it stands.
    pub(crate) fn view(&self) -> GovernorView {
        self.lock().view()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Whole between any two statements, so a panic elsewhere does not spoil it.
        self.governor.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Gate").field(&self.view()).finish()
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut governor = self.gate.lock();
        governor.withdraw(self.ticket);
        if !governor.wants() {
            self.gate.place.leave();
        }
    }
}

impl Admission {
    fn new(gate: &Arc<Gate>, class: LaneClass, bytes: u64) -> Self {
        Self { gate: Arc::clone(gate), class, since: Instant::now(), left: bytes, began: false }
    }

    /// The lanes that it goes on.
    pub(crate) fn class(&self) -> LaneClass {
        self.class
    }

    /// The answer has begun, and holds so many bytes.
    pub(crate) fn began(&mut self, length: u32) {
        self.gate.measured(self.since.elapsed());
        let less = self.left.saturating_sub(length.into());
        self.give_back(less);
        self.began = true;
    }

    /// Bytes of the answer are there.
    pub(crate) fn arrived(&mut self, bytes: usize) {
        let bytes = self.left.min(u64::try_from(bytes).unwrap_or(u64::MAX));
        self.settle(bytes, Governor::arrived);
    }

    /// These bytes will not come, and never went.
    fn give_back(&mut self, bytes: u64) {
        if bytes > 0 {
            self.gate.receive.refund(bytes, self.class == LaneClass::Urgent);
            self.settle(bytes, Governor::gone);
        }
    }

    fn settle(&mut self, bytes: u64, how: impl FnOnce(&mut Inner, u64, bool, Instant)) {
        if bytes == 0 {
            return;
        }
        self.left -= bytes;
        how(&mut self.gate.lock(), bytes, self.class == LaneClass::Bulk, Instant::now());
        self.gate.let_through();
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        if self.began {
            // The rest may be on its way.
            self.settle(self.left, Governor::gone);
        } else {
            self.give_back(self.left);
        }
    }
}

#[cfg(test)]
mod tests {
    use farhold_wire::{EntryId, Version};
    use futures_util::FutureExt;

    use super::*;
    use crate::governor::START_BYTES;

    fn request(megabytes: u32) -> ReadRequest {
        let version = Version { epoch: 1, counter: 1 };
        ReadRequest { entry: EntryId([1; 16]), version, offset: 0, length: megabytes << 20 }
    }

    /// The first window, in MiB.
    const START_MIB: u32 = (START_BYTES >> 20) as u32;

    /// A gate whose window is full.
    async fn full() -> (Arc<Gate>, Admission) {
        let gate = Gate::new(None, Arc::default());
        let never = CancellationToken::new();
        let admission = gate.admit(&request(START_MIB), Priority::Bulk, &never).await.unwrap();
        assert_eq!(admission.class(), LaneClass::Bulk);
        (gate, admission)
    }

    #[tokio::test(start_paused = true)]
    async fn a_read_waits_until_bytes_arrive_or_will_not() {
        for arrives in [true, false] {
            let (gate, mut first) = full().await;
            let never = CancellationToken::new();
            let request = request(1);
            let mut second = Box::pin(gate.admit(&request, Priority::ReadAhead, &never));
            assert!(second.as_mut().now_or_never().is_none());
            first.began(START_MIB << 20);
            if arrives {
                first.arrived(1);
            } else {
                drop(first);
            }
            assert_eq!(second.await.unwrap().class(), LaneClass::Bulk);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_short_answer_makes_room_at_once() {
        let (gate, mut first) = full().await;
        first.began(1000);
        assert_eq!(gate.view().outstanding, 1000);
        first.arrived(1000);
        first.arrived(1000);
        drop(first);
        assert_eq!(gate.view().outstanding, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn demand_and_what_is_raised_go_at_once() {
        let (gate, _first) = full().await;
        let raised = CancellationToken::new();
        let demand = gate.admit(&request(2), Priority::Demand, &raised).await.unwrap();
        assert_eq!((demand.class(), gate.view().outstanding), (LaneClass::Urgent, START_BYTES + (2 << 20)));
        let request = request(1);
        let mut waiting = Box::pin(gate.admit(&request, Priority::ReadAhead, &raised));
        assert!(waiting.as_mut().now_or_never().is_none());
        raised.cancel();
        assert_eq!(waiting.await.unwrap().class(), LaneClass::Urgent);
        assert_eq!(gate.view().queued, 0);
        let raised_before = gate.admit(&request, Priority::Bulk, &raised).await.unwrap();
        assert_eq!(raised_before.class(), LaneClass::Urgent);
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_waits_for_leaves_the_queue_and_takes_nothing() {
        let (gate, first) = full().await;
        let never = CancellationToken::new();
        let request = request(1);
        let mut given_up = Box::pin(gate.admit(&request, Priority::Bulk, &never));
        let mut let_through = Box::pin(gate.admit(&request, Priority::Bulk, &never));
        assert!(given_up.as_mut().now_or_never().is_none());
        assert!(let_through.as_mut().now_or_never().is_none());
        drop(given_up);
        assert_eq!(gate.view().queued, 1);
        drop(first);
        // It may go, but nobody looks.
        assert_eq!((gate.view().queued, gate.view().outstanding), (0, 1 << 20));
        drop(let_through);
        assert_eq!(gate.view().outstanding, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn bulk_keeps_to_the_limit_and_demand_does_not_wait_for_it() {
        let receive = Arc::new(Limiter::default());
        receive.set(Some(1 << 20));
        let gates = [Gate::new(None, Arc::clone(&receive)), Gate::new(None, Arc::clone(&receive))];
        let begin = Instant::now();
        let bulk = gates.iter().flat_map(|gate| (0..30).map(move |_| gate)).map(|gate| async move {
            let mut admission =
                gate.admit(&request(1), Priority::Bulk, &CancellationToken::new()).await.unwrap();
            let at = begin.elapsed();
            admission.began(1 << 20);
            admission.arrived(1 << 20);
            (Arc::as_ptr(gate), at)
        });
        let demand = async {
            let mut longest = Duration::ZERO;
            for _ in 0..10 {
                tokio::time::sleep(Duration::from_secs(4)).await;
                let asked = Instant::now();
                let never = CancellationToken::new();
                let mut admission = gates[0].admit(&request(1), Priority::Demand, &never).await.unwrap();
                longest = longest.max(asked.elapsed());
                admission.began(1 << 20);
                admission.arrived(1 << 20);
            }
            longest
        };
        let (bulk, longest) = tokio::join!(futures_util::future::join_all(bulk), demand);
        assert_eq!(longest, Duration::ZERO);
        let last = bulk.iter().map(|(_, at)| *at).max().unwrap().as_secs_f64();
        // Seventy requests, each of a second.
        assert!((66.0..72.0).contains(&last), "{last}");
        // Both sessions have their part at every time.
        let mut early: Vec<_> = bulk.iter().filter(|(_, at)| at.as_secs_f64() < last / 2.0).collect();
        early.sort_by_key(|(gate, _)| *gate);
        let first = early.iter().filter(|(gate, _)| *gate == early[0].0).count();
        assert!(first.abs_diff(early.len() - first) <= 1, "{first} of {}", early.len());
    }

    #[tokio::test(start_paused = true)]
    async fn who_gives_up_does_not_hold_up_another_session() {
        let receive = Arc::new(Limiter::default());
        receive.set(Some(1 << 20));
        let (one, other) = (Gate::new(None, Arc::clone(&receive)), Gate::new(None, Arc::clone(&receive)));
        let never = CancellationToken::new();
        let _first = one.admit(&request(1), Priority::Bulk, &never).await.unwrap();
        let request = request(1);
        let mut given_up = Box::pin(one.admit(&request, Priority::Bulk, &never));
        let mut waiting = Box::pin(other.admit(&request, Priority::Bulk, &never));
        assert!(given_up.as_mut().now_or_never().is_none() && waiting.as_mut().now_or_never().is_none());
        drop(given_up);
        let begin = Instant::now();
        waiting.await.unwrap();
        assert!(begin.elapsed() <= Duration::from_millis(1002), "{:?}", begin.elapsed());
    }
}
