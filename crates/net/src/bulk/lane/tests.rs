//! One end is a lane, the other is whoever sends what it likes.

mod small;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use farhold_wire::{ContactId, EntryId, ReadHead, ReadRequest, limits};
use proptest::prelude::*;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::*;
use crate::activity::Activity;
use crate::calls::CallError;
use crate::calls::answer::tests::{head, request};
use crate::testing::{Silent, streams};

struct Other {
    stream: RecordStream,
    reader: FrameReader,
    pool: Arc<BulkPool>,
    lane: JoinHandle<BulkError>,
}

impl Other {
    async fn new() -> Self {
        Self::with(Arc::new(Silent)).await
    }

    /// The other end of a lane that answers by that service.
    async fn with(service: Arc<dyn crate::PeerService>) -> Self {
        let [ours, stream] = streams().await;
        let pool = BulkPool::new(Activity::new());
        let serving = Serving::new(ContactId([1; 16]), service, Arc::default());
        let lane = tokio::spawn(BulkLane::new(ours, 4, Arc::clone(&pool), serving).run());
        Self { stream, reader: FrameReader::default(), pool, lane }
    }

    async fn say(&mut self, frames: impl IntoIterator<Item = Frame>) {
        for frame in frames {
            let (header, body) = frame.encode();
            self.stream.seal(header.chain(body)).unwrap();
        }
        self.stream.drain().await.unwrap();
    }

    async fn hear(&mut self) -> Frame {
        loop {
            if let Some(frame) = self.reader.next().unwrap() {
                return frame;
            }
            let record = poll_fn(|cx| self.stream.poll_chunk(cx)).await.unwrap().unwrap();
            self.reader.push(record);
        }
    }

    /// Asks through the pool, as our own side does.
    fn ask(&self, length: u32) -> JoinHandle<Result<Vec<Bytes>, CallError>> {
        let (pool, places) = (Arc::clone(&self.pool), Arc::new(Semaphore::new(1)));
        tokio::spawn(async move {
            let answer = pool.read(request(length), places.acquire_owned().await.unwrap()).await?;
            assert_eq!(answer.head, head(answer.head.length));
            let parts: Vec<_> = answer.data.collect().await;
            parts.into_iter().collect()
        })
    }

    async fn end(self) -> BulkError {
        timeout(Duration::from_secs(5), self.lane).await.expect("the lane ends").unwrap()
    }
}

fn part(length: usize) -> Bytes {
    vec![0; length].into()
}

#[tokio::test]
async fn an_answer_in_several_parts() {
    let mut other = Other::new().await;
    let asked = other.ask(200_000);
    assert_eq!(other.hear().await, Frame::Fetch(1, request(200_000)));
    other
        .say([Frame::Head(1, head(150_000)), Frame::Data(1, part(100_000)), Frame::Data(1, part(50_000))])
        .await;
    other.say([Frame::End(1, Ok(()))]).await;
    assert_eq!(asked.await.unwrap().unwrap().iter().map(Bytes::len).sum::<usize>(), 150_000);
}

#[tokio::test]
async fn a_failure_before_and_after_the_head() {
    for frames in [vec![], vec![Frame::Head(1, head(10))]] {
        let mut other = Other::new().await;
        let asked = other.ask(10);
        other.hear().await;
        other.say(frames).await;
        other.say([Frame::End(1, Err(ReadFailure::Changed))]).await;
        assert_eq!(asked.await.unwrap(), Err(CallError::Failed(ReadFailure::Changed)));
    }
}

#[tokio::test]
async fn a_lie_fails_who_asked_and_ends_the_lane() {
    let wrong_entry = {
        let mut head = head(10);
        head.entry.id = EntryId([9; 16]);
        head
    };
    let lies: Vec<(Vec<Frame>, WireError)> = vec![
        (vec![Frame::Head(1, head(101))], WireError::TooLarge("answer")),
        (vec![Frame::Head(1, wrong_entry)], WireError::Unknown("entry of an answer")),
        (vec![Frame::Data(1, part(10))], WireError::Missing("head")),
        (vec![Frame::End(1, Ok(()))], WireError::Missing("head")),
        (vec![Frame::Head(1, head(10)), Frame::Head(1, head(10))], WireError::Unknown("second head")),
        (vec![Frame::Head(1, head(10)), Frame::Data(1, part(11))], WireError::TooLarge("answer")),
        (vec![Frame::Head(1, head(10)), Frame::Data(1, part(9))], WireError::Length("part")),
        (vec![Frame::Head(1, head(10)), Frame::End(1, Ok(()))], WireError::Missing("rest of an answer")),
        (vec![Frame::Head(7, head(10))], WireError::Unknown("request id")),
        (vec![Frame::End(7, Ok(()))], WireError::Unknown("request id")),
        (
            vec![Frame::Fetch(1, request(1)), Frame::Fetch(1, request(1))],
            WireError::Unknown("request id, used twice"),
        ),
    ];
    for (frames, error) in lies {
        let mut other = Other::new().await;
        let asked = other.ask(100);
        other.hear().await;
        other.say(frames.clone()).await;
        assert_eq!(asked.await.unwrap(), Err(CallError::Protocol(error)), "{frames:?}");
        assert!(matches!(other.end().await, BulkError::Protocol(why) if why == error), "{frames:?}");
    }
}

#[tokio::test]
async fn a_lane_that_breaks_is_lost_for_who_asked() {
    let mut other = Other::new().await;
    let asked = other.ask(100);
    other.hear().await;
    other.say([Frame::Head(1, head(100))]).await;
    drop(other.stream);
    assert_eq!(asked.await.unwrap(), Err(CallError::Lost));
}

#[tokio::test]
async fn what_nobody_waits_for_is_cancelled_and_its_rest_ignored() {
    let mut other = Other::new().await;
    let asked = other.ask(100);
    other.hear().await;
    other.say([Frame::Head(1, head(100))]).await;
    sleep(Duration::from_millis(50)).await;
    asked.abort();
    assert_eq!(other.hear().await, Frame::Cancel(1));
    other.say([Frame::Data(1, part(100)), Frame::End(1, Ok(()))]).await;
    // The number is free again, so whoever uses it now is wrong.
    other.say([Frame::End(1, Ok(()))]).await;
    assert!(matches!(other.end().await, BulkError::Protocol(WireError::Unknown("request id"))));
}

#[tokio::test]
async fn a_flood_of_requests_takes_the_places_there_are_and_no_more() {
    let mut other = Other::new().await;
    let flood = 4 * limits::READS_AT_ONCE as u64;
    other.say((0..flood).map(|id| Frame::Fetch(id, request(1)))).await;
    let mut refused = 0;
    while refused < flood - limits::READS_AT_ONCE as u64 {
        assert!(matches!(other.hear().await, Frame::End(_, Err(ReadFailure::Busy))));
        refused += 1;
    }
    // Cancelling one frees its place, and each has its end.
    other.say([Frame::Cancel(0), Frame::Cancel(u64::MAX)]).await;
    assert_eq!(other.hear().await, Frame::End(0, Ok(())));
    other.say([Frame::Fetch(flood, request(1)), Frame::Fetch(flood + 1, request(1))]).await;
    assert_eq!(other.hear().await, Frame::End(flood + 1, Err(ReadFailure::Busy)));
}

#[tokio::test]
async fn requests_of_a_contact_that_reads_no_answers_end_the_lane() {
    let service = Arc::new(Whole(AtomicUsize::new(0)));
    let mut other = Other::with(service).await;
    // The first few answers fill all buffers on the way, so that no other has an end.
    let flood = 4 * limits::READS_AT_ONCE as u64;
    for id in 0..flood {
        let (header, body) = Frame::Fetch(id, request(limits::READ_BYTES)).encode();
        other.stream.seal(header.chain(body)).unwrap();
    }
    // The lane may end before it has them all.
    let _ = other.stream.drain().await;
    let breach = WireError::TooLarge("number of requests under way");
    assert!(matches!(other.end().await, BulkError::Protocol(why) if why == breach));
}

#[tokio::test]
async fn half_a_frame_and_an_end() {
    let mut other = Other::new().await;
    other.stream.seal(&[1, 0, 0][..]).unwrap();
    poll_fn(|cx| other.stream.poll_close(cx)).await.unwrap();
    assert!(matches!(other.end().await, BulkError::Ended));
}

#[tokio::test]
async fn an_oversized_frame_is_refused_by_its_header() {
    for (kind, length) in
        [(1u8, 1 << 20), (2, 1 << 20), (3, 1 << 20), (4, 2), (5, 1), (6, 1 << 20), (7, 1 << 20), (9, 0u32)]
    {
        let mut other = Other::new().await;
        let header = [&[kind][..], &1u64.to_be_bytes(), &length.to_be_bytes()].concat();
        other.stream.seal(&header[..]).unwrap();
        other.stream.drain().await.unwrap();
        assert!(matches!(other.end().await, BulkError::Protocol(_)), "kind {kind}");
    }
}

/// Answers every read in full at once, and counts them.
#[derive(Debug)]
struct Whole(AtomicUsize);

#[async_trait::async_trait]
impl crate::PeerService for Whole {
    fn changes(
        &self,
        _: ContactId,
        _: Option<farhold_wire::Position>,
    ) -> BoxStream<'static, Result<farhold_wire::Batch, ReadFailure>> {
        stream::pending().boxed()
    }

    async fn lookup(
        &self,
        _: ContactId,
        _: Option<EntryId>,
        _: farhold_wire::Name,
    ) -> Result<Option<farhold_wire::Entry>, ReadFailure> {
        Ok(None)
    }

    fn list(
        &self,
        _: ContactId,
        _: EntryId,
    ) -> BoxStream<'static, Result<Vec<farhold_wire::Entry>, ReadFailure>> {
        stream::pending().boxed()
    }

    fn read(&self, _: ContactId, request: ReadRequest) -> BoxStream<'static, Result<ReadPart, ReadFailure>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let full = (0..request.length / (256 << 10)).map(|_| 256 << 10);
        let rest = Some(request.length as usize % (256 << 10)).filter(|rest| *rest > 0);
        let parts = full.chain(rest).map(|length| Ok(ReadPart::Data(part(length))));
        let head = ReadHead { length: request.length, ..head(0) };
        stream::iter(std::iter::once(Ok(ReadPart::Head(head))).chain(parts)).boxed()
    }
}

/// Both directions at once, far more than buffers hold: nothing waits for ever.
#[tokio::test]
async fn two_lanes_that_ask_and_answer_each_other_at_once() {
    let service = Arc::new(Whole(AtomicUsize::new(0)));
    let pools: Vec<_> = streams()
        .await
        .into_iter()
        .map(|stream| {
            let pool = BulkPool::new(Activity::new());
            let service = Arc::clone(&service) as Arc<dyn crate::PeerService>;
            let serving = Serving::new(ContactId([1; 16]), service, Arc::default());
            tokio::spawn(BulkLane::new(stream, 4, Arc::clone(&pool), serving).run());
            pool
        })
        .collect();
    let places = Arc::new(Semaphore::new(64));
    let reads = (0..64).map(|index| {
        let (pool, places) = (Arc::clone(&pools[index % 2]), Arc::clone(&places));
        async move {
            let answer = pool.read(request(2 << 20), places.acquire_owned().await.unwrap()).await.unwrap();
            let parts: Vec<_> = answer.data.collect().await;
            parts.into_iter().map(|part| part.unwrap().len()).sum::<usize>()
        }
    });
    let lengths = timeout(Duration::from_secs(20), futures_util::future::join_all(reads)).await.unwrap();
    assert!(lengths.iter().all(|length| *length == 2 << 20));
    assert_eq!(service.0.load(Ordering::Relaxed), 64);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_end_the_lane_or_wait_for_more(bytes in proptest::collection::vec(any::<u8>(), 1..500)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut other = Other::new().await;
            other.stream.seal(&bytes[..]).unwrap();
            other.stream.drain().await.unwrap();
            poll_fn(|cx| other.stream.poll_close(cx)).await.unwrap();
            other.end().await;
        });
    }
}
