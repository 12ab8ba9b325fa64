//! The bulk lanes of a session, for whoever wants to read.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use farhold_wire::{ReadFailure, ReadHead, ReadRequest, WireError, limits};
use futures_util::task::AtomicWaker;
use futures_util::{StreamExt, stream};
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};

use crate::activity::{Activity, Call};
use crate::calls::{Answer, CallError};

/// Requests that wait for a lane to take them.
const QUEUED: usize = 64;

/// A request on its way to the lane.
#[derive(Debug)]
pub(super) struct Fetch {
    pub(super) id: u64,
    pub(super) request: ReadRequest,
    pub(super) answer: mpsc::Sender<Part>,
    /// Counts against what the contact answers at once, until it says that this answer has ended.
    pub(super) _permit: OwnedSemaphorePermit,
}

/// What a lane passes on of an answer.
#[derive(Debug)]
pub(super) enum Part {
    Head(ReadHead),
    Data(Bytes),
    End(Result<(), ReadFailure>),
    Broken(WireError),
}

/// One lane, as seen by those who ask.
#[derive(Debug)]
pub(super) struct LaneShared {
    /// Bytes asked for and not yet answered.
    pub(super) asked: AtomicU64,
    cancelled: Mutex<Vec<u64>>,
    pub(super) woken: AtomicWaker,
}

impl LaneShared {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { asked: AtomicU64::new(0), cancelled: Mutex::default(), woken: AtomicWaker::new() })
    }

    /// The requests that nobody waits for any more, since the last call. No more than there are requests.
    pub(super) fn take_cancelled(&self) -> Vec<u64> {
        std::mem::take(&mut self.cancelled.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn cancel(&self, id: u64) {
        self.cancelled.lock().unwrap_or_else(PoisonError::into_inner).push(id);
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
    activity: Arc<Activity>,
}

/// Ends a request when dropped.
#[derive(Debug)]
struct Asked {
    id: u64,
    bytes: u64,
    lane: Arc<LaneShared>,
    _call: Call,
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.lane.asked.fetch_sub(self.bytes, Ordering::Relaxed);
        self.lane.cancel(self.id);
    }
}

impl BulkPool {
    pub(crate) fn new(activity: Arc<Activity>) -> Arc<Self> {
        Arc::new(Self { lanes: watch::Sender::new(Vec::new()), ids: Mutex::new(0), activity })
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

    /// Asks on the lane with the least to do.
    pub(crate) async fn read(
        &self,
        request: ReadRequest,
        permit: OwnedSemaphorePermit,
    ) -> Result<Answer, CallError> {
        let lane = {
            let lanes = self.lanes.borrow();
            let idlest = lanes.iter().min_by_key(|lane| lane.shared.asked.load(Ordering::Relaxed));
            idlest.cloned().ok_or(CallError::Lost)?
        };
        let bytes = u64::from(request.length);
        lane.shared.asked.fetch_add(bytes, Ordering::Relaxed);
        let id = self.next_id();
        let asked = Asked { id, bytes, lane: lane.shared, _call: self.activity.call() };
        let (answer, parts) = mpsc::channel(most_parts(request.length));
        let fetch = Fetch { id, request, answer, _permit: permit };
        lane.fetches.send(fetch).await.map_err(|_| CallError::Lost)?;
        answered(parts, asked).await
    }

    fn next_id(&self) -> u64 {
        let mut last: MutexGuard<'_, u64> = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        *last += 1;
        *last
    }
}

/// How many parts an answer of that length has at most: head, data, end and, if it breaks off, why.
fn most_parts(length: u32) -> usize {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    3 + length.div_ceil(limits::PART_MIN_BYTES)
}

async fn answered(mut parts: mpsc::Receiver<Part>, asked: Asked) -> Result<Answer, CallError> {
    let head = match parts.recv().await {
        Some(Part::Head(head)) => head,
        Some(Part::Data(_) | Part::End(Ok(()))) => return Err(WireError::Missing("head").into()),
        Some(Part::End(Err(failure))) => return Err(failure.into()),
        Some(Part::Broken(error)) => return Err(error.into()),
        None => return Err(CallError::Lost),
    };
    let data = stream::unfold(Some((parts, asked)), |state| async move {
        let (mut parts, asked) = state?;
        let failed = match parts.recv().await {
            Some(Part::Data(data)) => return Some((Ok(data), Some((parts, asked)))),
            Some(Part::End(Ok(()))) => return None,
            Some(Part::End(Err(failure))) => failure.into(),
            Some(Part::Broken(error)) => error.into(),
            Some(Part::Head(_)) => WireError::Unknown("second head").into(),
            None => CallError::Lost,
        };
        Some((Err(failed), None))
    });
    Ok(Answer { head, data: data.boxed() })
}
