//! The bulk lanes of a session, for whoever wants to read.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use farhold_wire::{ReadFailure, ReadHead, ReadRequest, WireError, limits};
use futures_util::stream::{self, BoxStream, StreamExt};
use futures_util::task::AtomicWaker;
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tokio::time::Instant;

use super::meters::Meters;
use super::small::Ask;
use crate::activity::{Activity, Call};
use crate::calls::{Answer, CallError, SmallFile};
use crate::state::Transport;

/// Requests that wait for a lane to take them.
const QUEUED: usize = 64;

/// A request on its way to the lane.
#[derive(Debug)]
pub(super) struct Fetch {
    pub(super) id: u64,
    pub(super) ask: Ask,
    pub(super) answer: mpsc::Sender<Part>,
    /// Counts against what the contact answers at once, until it says that this answer has ended.
    pub(super) _permit: OwnedSemaphorePermit,
}

/// What a lane passes on of an answer.
#[derive(Debug)]
pub(super) enum Part {
    Head(ReadHead),
    Data(Bytes),
    /// The next small file, if it is to be had.
    Small(Option<(ReadHead, Bytes)>),
    End(Result<(), ReadFailure>),
    Broken(WireError),
}

/// One lane, as seen by those who ask.
#[derive(Debug)]
pub(super) struct LaneShared {
    transport: Transport,
    /// Bytes asked for that have not come.
    asked: AtomicU64,
    cancelled: Mutex<Vec<u64>>,
    pub(super) woken: AtomicWaker,
}

impl LaneShared {
    pub(super) fn new(transport: Transport) -> Arc<Self> {
        let (asked, cancelled, woken) = (AtomicU64::new(0), Mutex::default(), AtomicWaker::new());
        Arc::new(Self { transport, asked, cancelled, woken })
    }

    /// The requests that nobody waits for any more, since the last call. No more than there are requests.
    pub(super) fn take_cancelled(&self) -> Vec<u64> {
        std::mem::take(&mut lock(&self.cancelled))
    }

    fn cancel(&self, id: u64) {
        lock(&self.cancelled).push(id);
        self.woken.wake();
    }
}

/// The way to one lane.
#[derive(Debug, Clone)]
struct Lane {
    number: u32,
    fetches: mpsc::Sender<Fetch>,
    shared: Arc<LaneShared>,
}

/// The bulk lanes that stand now.
#[derive(Debug)]
pub(crate) struct BulkPool {
    lanes: watch::Sender<Vec<Lane>>,
    ids: Mutex<u64>,
    meters: Arc<Mutex<Meters>>,
    activity: Arc<Activity>,
}

/// A request; ends it when dropped.
#[derive(Debug)]
struct Asked {
    id: u64,
    parts: mpsc::Receiver<Part>,
    /// Bytes that have not come.
    left: u64,
    lane: Arc<LaneShared>,
    meters: Arc<Mutex<Meters>>,
    _call: Call,
}

impl Asked {
    /// The next part of the answer; `None` if the lane is lost.
    async fn next(&mut self) -> Option<Part> {
        let part = self.parts.recv().await?;
        let bytes = match &part {
            Part::Data(data) | Part::Small(Some((_, data))) => data.len() as u64,
            Part::Head(_) | Part::Small(None) | Part::End(_) | Part::Broken(_) => 0,
        };
        if bytes > 0 {
            self.left = self.left.saturating_sub(bytes);
            self.lane.asked.fetch_sub(bytes, Ordering::Relaxed);
            lock(&self.meters).arrived(self.lane.transport, bytes, Instant::now());
        }
        Some(part)
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        // Before the lane hears of it: if it has not asked yet, it sees that nobody waits.
        self.parts.close();
        self.lane.asked.fetch_sub(self.left, Ordering::Relaxed);
        lock(&self.meters).gone(self.lane.transport, self.left);
        self.lane.cancel(self.id);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Whole between any two statements, so a panic elsewhere does not spoil it.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl BulkPool {
    pub(crate) fn new(activity: Arc<Activity>) -> Arc<Self> {
        let (lanes, ids) = (watch::Sender::new(Vec::new()), Mutex::new(0));
        Arc::new(Self { lanes, ids, meters: Arc::default(), activity })
    }

    /// A lane stands: what it takes requests from.
    pub(super) fn enter(&self, number: u32, shared: Arc<LaneShared>) -> mpsc::Receiver<Fetch> {
        let (fetches, receiver) = mpsc::channel(QUEUED);
        self.lanes.send_modify(|lanes| lanes.push(Lane { number, fetches, shared }));
        receiver
    }

    /// A lane is gone.
    pub(super) fn leave(&self, number: u32) {
        self.lanes.send_modify(|lanes| lanes.retain(|lane| lane.number != number));
    }

    /// Returns once there is a lane.
    pub(crate) async fn ready(&self) {
        // The pool holds the sender.
        let _ = self.lanes.subscribe().wait_for(|lanes| !lanes.is_empty()).await;
    }

    /// Asks for a range.
    pub(crate) async fn read(
        &self,
        request: ReadRequest,
        permit: OwnedSemaphorePermit,
    ) -> Result<Answer, CallError> {
        let parts = most_parts(request.length);
        answered(self.ask(Ask::Range(request), request.length.into(), parts, permit).await?).await
    }

    /// Asks for whole small files: each of them in order, as it comes; `None` where one is not to be had.
    pub(crate) async fn read_small(
        &self,
        requests: Vec<ReadRequest>,
        permit: OwnedSemaphorePermit,
    ) -> Result<BoxStream<'static, Result<SmallFile, CallError>>, CallError> {
        let bytes = requests.iter().map(|request| u64::from(request.length)).sum();
        // Each file, the end and, if it breaks off, why.
        let parts = requests.len() + 2;
        let asked = self.ask(Ask::Small(requests), bytes, parts, permit).await?;
        let files = stream::unfold(Some(asked), |asked| async move {
            let mut asked = asked?;
            let failed = match asked.next().await {
                Some(Part::Small(file)) => return Some((Ok(file), Some(asked))),
                Some(Part::End(Ok(()))) => return None,
                Some(Part::End(Err(failure))) => failure.into(),
                Some(Part::Broken(error)) => error.into(),
                Some(Part::Head(_) | Part::Data(_)) => WireError::Unknown("part of an answer").into(),
                None => CallError::Lost,
            };
            Some((Err(failed), None))
        });
        Ok(files.boxed())
    }

    /// Asks on the lane with the least to do, of those of the quicker transport.
    async fn ask(
        &self,
        ask: Ask,
        bytes: u64,
        parts: usize,
        permit: OwnedSemaphorePermit,
    ) -> Result<Asked, CallError> {
        let now = Instant::now();
        let lane = {
            let lanes = self.lanes.borrow();
            let quicker = lock(&self.meters).quicker(bytes, now);
            let place =
                |lane: &&Lane| (lane.shared.transport != quicker, lane.shared.asked.load(Ordering::Relaxed));
            lanes.iter().min_by_key(place).cloned().ok_or(CallError::Lost)?
        };
        lane.shared.asked.fetch_add(bytes, Ordering::Relaxed);
        lock(&self.meters).asked(lane.shared.transport, bytes, now);
        let (id, meters) = (self.next_id(), Arc::clone(&self.meters));
        let (answer, parts) = mpsc::channel(parts);
        let asked = Asked { id, parts, left: bytes, lane: lane.shared, meters, _call: self.activity.call() };
        let fetch = Fetch { id, ask, answer, _permit: permit };
        lane.fetches.send(fetch).await.map_err(|_| CallError::Lost)?;
        Ok(asked)
    }

    fn next_id(&self) -> u64 {
        let mut last = lock(&self.ids);
        *last += 1;
        *last
    }
}

/// How many parts an answer of that length has at most: head, data, end and, if it breaks off, why.
fn most_parts(length: u32) -> usize {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    3 + length.div_ceil(limits::PART_MIN_BYTES)
}

async fn answered(mut asked: Asked) -> Result<Answer, CallError> {
    let head = match asked.next().await {
        Some(Part::Head(head)) => head,
        Some(Part::Data(_) | Part::Small(_) | Part::End(Ok(()))) => {
            return Err(WireError::Missing("head").into());
        }
        Some(Part::End(Err(failure))) => return Err(failure.into()),
        Some(Part::Broken(error)) => return Err(error.into()),
        None => return Err(CallError::Lost),
    };
    let data = stream::unfold(Some(asked), |asked| async move {
        let mut asked = asked?;
        let failed = match asked.next().await {
            Some(Part::Data(data)) => return Some((Ok(data), Some(asked))),
            Some(Part::End(Ok(()))) => return None,
            Some(Part::End(Err(failure))) => failure.into(),
            Some(Part::Broken(error)) => error.into(),
            Some(Part::Head(_)) => WireError::Unknown("second head").into(),
            Some(Part::Small(_)) => WireError::Unknown("part of an answer").into(),
            None => CallError::Lost,
        };
        Some((Err(failed), None))
    });
    Ok(Answer { head, data: data.boxed() })
}
