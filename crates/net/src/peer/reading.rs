//! Reading a range of a file, across lanes and sessions.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use farhold_wire::{LaneClass, ReadFailure, ReadHead, ReadRequest, limits};
use futures_util::{Stream, StreamExt, stream};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use super::{BUSY_PAUSE, CALL_DEADLINE, Peer, Reading, lost, session};
use crate::activity::Call;
use crate::calls::{Answer, CallError};
use crate::error::PeerError;
use crate::governor::{Admission, Priority};
use crate::session::Calls;

/// Most bytes that a read should ask for unless it is [`Priority::Demand`]: longer ones fill a window unevenly.
pub const GOVERNED_BYTES: u32 = 1 << 20;
const _: () = assert!(GOVERNED_BYTES <= limits::READ_BYTES);

/// An answer that has not begun after so many round trips waits behind others...
const OVERDUE: f64 = 1.5;
/// ... but only if it is this late: on short ways it has been sent by then, and would come twice.
const OVERDUE_LEAST: Duration = Duration::from_millis(100);

/// How much longer an answer on a bulk lane may wait behind others, while those come: on a slow way it takes longer than
/// [`CALL_DEADLINE`] until all that a first window asked for is there.
const BEHIND_OTHERS: Duration = CALL_DEADLINE.saturating_mul(4);

/// A read whose answer has begun.
struct Opened {
    answer: Answer,
    admission: Admission,
    /// The call goes on until its last byte.
    _call: Call,
}

impl Peer {
    /// A range of a file. [`Priority::Demand`] goes at once, the others when the governor has room for them and should
    /// ask for no more than [`GOVERNED_BYTES`]; once `raised` is cancelled, a read that still waits goes at once too. If
    /// the lane or the session is lost on the way, the rest is asked for again; should it then be of another version,
    /// the read fails as changed.
    pub async fn read(
        &self,
        request: ReadRequest,
        priority: Priority,
        raised: CancellationToken,
    ) -> Result<Reading, PeerError> {
        let deadline = Instant::now() + CALL_DEADLINE;
        let opened = self.open(request, priority, &raised, deadline).await?;
        let head = opened.answer.head.clone();
        let rest = Rest { peer: self.clone(), request, priority, raised, head: head.clone(), got: 0, opened };
        Ok(Reading { head, data: rest.bytes().boxed() })
    }

    /// Asks until an answer begins, at the latest at `deadline`; the wait for room does not count, nor does that behind
    /// others which come.
    async fn open(
        &self,
        request: ReadRequest,
        priority: Priority,
        raised: &CancellationToken,
        mut deadline: Instant,
    ) -> Result<Opened, PeerError> {
        let mut way = self.way.clone();
        loop {
            let calls = in_time(deadline, session(&mut way)).await??;
            let call = calls.activity.call();
            let waits = Instant::now();
            let admission = tokio::select! {
                admission = calls.governor.admit(&request, priority, raised) => admission,
                () = calls.ended.cancelled() => continue,
                () = starved(priority) => return Err(PeerError::TimedOut),
            };
            let mut admission = admission.map_err(|_| PeerError::Crowded)?;
            deadline += waits.elapsed();
            let class = admission.class();
            let asked = async {
                tokio::select! {
                    answer = self.ask_on(&calls, class, request) => answer.map(Some),
                    () = calls.ended.cancelled() => Err(CallError::Lost),
                    () = overdue(&calls, class, raised) => Ok(None),
                }
            };
            let begun = match class {
                LaneClass::Urgent => in_time(deadline, asked).await?,
                LaneClass::Bulk => behind_others(&calls, &mut deadline, asked).await?,
            };
            match begun {
                // Given up, to be asked for as demand.
                Ok(None) => {}
                Ok(Some(answer)) => {
                    admission.began(answer.head.length);
                    return Ok(Opened { answer, admission, _call: call });
                }
                // The bulk lane has left the pool.
                Err(CallError::Lost) if class == LaneClass::Bulk => {}
                Err(CallError::Lost) => in_time(deadline, lost(&calls, &mut way)).await??,
                // Calls that were given up may not have left their places yet.
                Err(CallError::Failed(ReadFailure::Busy)) => sleep(BUSY_PAUSE).await,
                Err(CallError::Failed(failure)) => return Err(failure.into()),
                Err(CallError::Protocol(error)) => return Err(error.into()),
            }
        }
    }

    /// Asks once, on a lane of that class.
    async fn ask_on(
        &self,
        calls: &Calls,
        class: LaneClass,
        request: ReadRequest,
    ) -> Result<Answer, CallError> {
        match class {
            LaneClass::Urgent => {
                let mut clients = calls.urgent.clone();
                let client = clients.wait_for(Option::is_some).await;
                let client = client.ok().and_then(|client| client.clone()).ok_or(CallError::Lost)?;
                client.read(request).await
            }
            LaneClass::Bulk => {
                let permit = Arc::clone(&self.reads).acquire_owned().await.map_err(|_| CallError::Lost)?;
                calls.bulk.ready().await;
                calls.bulk.read(request, permit).await
            }
        }
    }
}

async fn in_time<T>(deadline: Instant, call: impl Future<Output = T>) -> Result<T, PeerError> {
    timeout_at(deadline, call).await.map_err(|_| PeerError::TimedOut)
}

/// Waits for what was asked for on a bulk lane until `deadline`, which is put off while others come there.
async fn behind_others<T>(
    calls: &Calls,
    deadline: &mut Instant,
    asked: impl Future<Output = T>,
) -> Result<T, PeerError> {
    let mut asked = pin!(asked);
    let last = *deadline + BEHIND_OTHERS;
    loop {
        let error = match in_time(*deadline, &mut asked).await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let put_off = calls.governor.arrived_at().map(|at| last.min(at + CALL_DEADLINE));
        *deadline = put_off.filter(|later| *later > *deadline).ok_or(error)?;
    }
}

/// Returns when a read has waited for room too long. Transfers wait as long as the session lasts.
async fn starved(priority: Priority) {
    match priority {
        Priority::Demand | Priority::ReadAhead => sleep(CALL_DEADLINE).await,
        Priority::Bulk => std::future::pending().await,
    }
}

/// Returns when a read on a bulk lane has been raised, and its answer should long have begun: then it is quicker to ask
/// anew.
async fn overdue(calls: &Calls, class: LaneClass, raised: &CancellationToken) {
    let (since, rtt) = (Instant::now(), calls.governor.view().min_rtt);
    match (class, rtt) {
        (LaneClass::Bulk, Some(rtt)) => {
            raised.cancelled().await;
            sleep_until(since + overdue_after(rtt)).await;
        }
        (LaneClass::Bulk, None) | (LaneClass::Urgent, _) => std::future::pending().await,
    }
}

fn overdue_after(rtt: Duration) -> Duration {
    rtt.mul_f64(OVERDUE).max(rtt + OVERDUE_LEAST)
}

/// What is still to come of a read.
struct Rest {
    peer: Peer,
    request: ReadRequest,
    priority: Priority,
    raised: CancellationToken,
    head: ReadHead,
    /// Bytes that came.
    got: u32,
    opened: Opened,
}

impl Rest {
    fn bytes(self) -> impl Stream<Item = Result<bytes::Bytes, PeerError>> + Send {
        stream::unfold(Some(self), Self::next)
    }

    /// `None` as state ends the stream at the next call.
    async fn next(this: Option<Self>) -> Option<(Result<bytes::Bytes, PeerError>, Option<Self>)> {
        let mut this = this?;
        let deadline = Instant::now() + CALL_DEADLINE;
        loop {
            let failed = match in_time(deadline, this.opened.answer.data.next()).await {
                Ok(Some(Ok(bytes))) => {
                    this.opened.admission.arrived(bytes.len());
                    this.got += u32::try_from(bytes.len()).unwrap_or(u32::MAX);
                    return Some((Ok(bytes), Some(this)));
                }
                Ok(None) => return None,
                Ok(Some(Err(CallError::Lost))) => match this.resume(deadline).await {
                    Ok(()) => continue,
                    Err(error) => error,
                },
                Ok(Some(Err(CallError::Failed(failure)))) => failure.into(),
                Ok(Some(Err(CallError::Protocol(error)))) => error.into(),
                Err(error) => error,
            };
            return Some((Err(failed), None));
        }
    }

    /// Asks for what is missing.
    async fn resume(&mut self, deadline: Instant) -> Result<(), PeerError> {
        let rest = ReadRequest {
            version: self.head.entry.version,
            offset: self.request.offset + u64::from(self.got),
            length: self.head.length - self.got,
            ..self.request
        };
        let opened = self.peer.open(rest, self.priority, &self.raised, deadline).await?;
        let head = &opened.answer.head;
        if head.entry.version != self.head.entry.version || head.length != rest.length {
            return Err(ReadFailure::Changed.into());
        }
        self.opened = opened;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::sync::{Semaphore, watch};

    use super::*;
    use crate::activity::Activity;
    use crate::bulk::BulkPool;
    use crate::calls::answer::tests::request;
    use crate::contact::Way;
    use crate::governor::{Gate, START_BYTES};

    /// Fills the first window.
    const START: u32 = START_BYTES as u32;

    /// Between parts of other answers.
    const EVERY: Duration = Duration::from_secs(10);

    /// A peer with a session that has no lanes.
    fn peer() -> (Peer, watch::Sender<Way>, Arc<Calls>) {
        let activity = Activity::new();
        let urgent = watch::channel(None);
        // Kept, as by a session's task that may open one yet.
        std::mem::forget(urgent.0);
        let calls = Arc::new(Calls {
            urgent: urgent.1,
            bulk: BulkPool::new(Arc::clone(&activity)),
            activity,
            governor: Gate::new(None, Arc::default()),
            ended: CancellationToken::new(),
        });
        let (sender, way) = watch::channel(Way::Session(Arc::clone(&calls)));
        (Peer::new(way, Arc::new(Semaphore::new(16))), sender, calls)
    }

    async fn read(peer: &Peer, priority: Priority) -> Result<Reading, PeerError> {
        peer.read(request(1 << 20), priority, CancellationToken::new()).await
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_waited_for_only_so_long_and_gives_its_room_back() {
        let (peer, _way, calls) = peer();
        for priority in [Priority::ReadAhead, Priority::Bulk] {
            let begin = Instant::now();
            assert_eq!(read(&peer, priority).await.unwrap_err(), PeerError::TimedOut);
            assert_eq!(begin.elapsed(), CALL_DEADLINE);
            assert_eq!(calls.governor.view().outstanding, 0);
            assert!(!calls.activity.busy());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_may_wait_behind_others_that_come_but_not_for_ever() {
        let (peer, _way, calls) = peer();
        let admitted =
            calls.governor.admit(&request(4 << 20), Priority::Bulk, &CancellationToken::new()).await;
        let mut others = admitted.unwrap();
        others.began(4 << 20);
        for (count, waits) in [(6, 6 * EVERY + CALL_DEADLINE), (60, CALL_DEADLINE + BEHIND_OTHERS)] {
            let begin = Instant::now();
            let others = async {
                for _ in 0..count {
                    sleep(EVERY).await;
                    others.arrived(1);
                }
            };
            let read = async {
                assert_eq!(read(&peer, Priority::Bulk).await.unwrap_err(), PeerError::TimedOut);
                assert_eq!(begin.elapsed(), waits);
            };
            tokio::join!(others, read);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn transfers_wait_for_room_as_long_as_it_takes() {
        let (peer, _way, calls) = peer();
        let full = calls.governor.admit(&request(START), Priority::Bulk, &CancellationToken::new()).await;
        let begin = Instant::now();
        let transfer = read(&peer, Priority::Bulk);
        let ahead = async {
            assert_eq!(read(&peer, Priority::ReadAhead).await.unwrap_err(), PeerError::TimedOut);
            assert_eq!(begin.elapsed(), CALL_DEADLINE);
            sleep(CALL_DEADLINE).await;
            drop(full);
        };
        let (transfer, ()) = tokio::join!(transfer, ahead);
        assert_eq!(transfer.unwrap_err(), PeerError::TimedOut);
        assert_eq!(begin.elapsed(), 3 * CALL_DEADLINE);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_raised_on_its_way_is_asked_for_anew_when_it_is_overdue() {
        let (peer, way, calls) = peer();
        calls.governor.measured(Duration::from_millis(200));
        let raised = CancellationToken::new();
        let reading = peer.read(request(START), Priority::ReadAhead, raised.clone());
        let waiting = read(&peer, Priority::ReadAhead);
        let observed = async {
            sleep(Duration::from_secs(1)).await;
            assert_eq!((calls.governor.view().outstanding, calls.governor.view().queued), (START.into(), 1));
            raised.cancel();
            sleep(Duration::from_millis(1)).await;
            // Demand fills no window: one read may always go beside it.
            assert_eq!(
                (calls.governor.view().outstanding, calls.governor.view().queued),
                (u64::from(START) + (1 << 20), 0)
            );
            way.send_replace(Way::Offline);
            calls.ended.cancel();
        };
        let (reading, waiting, ()) = tokio::join!(reading, waiting, observed);
        assert_eq!((reading.unwrap_err(), waiting.unwrap_err()), (PeerError::Offline, PeerError::Offline));
    }

    #[test]
    fn on_short_ways_nothing_is_overdue_at_once() {
        let ms = Duration::from_millis;
        assert_eq!([0, 50, 200, 300].map(|rtt| overdue_after(ms(rtt))), [ms(100), ms(150), ms(300), ms(450)]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_waits_goes_over_to_the_next_session() {
        let (peer, way, calls) = peer();
        let full = calls.governor.admit(&request(START), Priority::Bulk, &CancellationToken::new()).await;
        let (_, _next_way, next) = self::peer();
        let moved = async {
            sleep(Duration::from_secs(1)).await;
            assert_eq!(calls.governor.view().queued, 1);
            way.send_replace(Way::Session(Arc::clone(&next)));
            calls.ended.cancel();
            sleep(Duration::from_secs(1)).await;
            assert_eq!((calls.governor.view().queued, next.governor.view().outstanding), (0, 1 << 20));
            way.send_replace(Way::Offline);
            next.ended.cancel();
        };
        let (read, ()) = tokio::join!(read(&peer, Priority::ReadAhead), moved);
        assert_eq!(read.unwrap_err(), PeerError::Offline);
        drop(full);
    }
}
