//! Whole small files.

use super::*;
use crate::calls::SmallFile;

/// Requests for so many files.
fn requests(count: u8) -> Vec<ReadRequest> {
    (0..count).map(|number| ReadRequest { entry: EntryId([number; 16]), ..request(100) }).collect()
}

fn file(number: u8, length: u32) -> (ReadHead, Bytes) {
    let mut head = head(length);
    head.entry.id = EntryId([number; 16]);
    (head, part(length as usize))
}

fn ask(other: &Other, count: u8) -> JoinHandle<Result<Vec<SmallFile>, CallError>> {
    let (pool, places) = (Arc::clone(&other.pool), Arc::new(Semaphore::new(1)));
    tokio::spawn(async move {
        let files = pool.read_small(requests(count), places.acquire_owned().await.unwrap()).await?;
        files.collect::<Vec<_>>().await.into_iter().collect()
    })
}

#[tokio::test]
async fn files_come_in_order_and_some_are_not_to_be_had() {
    let mut other = Other::new().await;
    let asked = ask(&other, 4);
    assert_eq!(other.hear().await, Frame::FetchSmall(1, requests(4)));
    let files = [Some(file(0, 100)), None, Some(file(2, 0)), Some(file(3, 7))];
    other.say(files.clone().map(|file| Frame::Small(1, file))).await;
    other.say([Frame::End(1, Ok(()))]).await;
    assert_eq!(asked.await.unwrap(), Ok(files.to_vec()));
}

#[tokio::test]
async fn a_lie_fails_the_request_and_ends_the_lane() {
    let small = |number, length| Frame::Small(1, Some(file(number, length)));
    let lies: Vec<(Vec<Frame>, WireError)> = vec![
        (vec![small(1, 100)], WireError::Unknown("entry of an answer")),
        (vec![small(0, 101)], WireError::TooLarge("answer")),
        (vec![small(0, 1), small(1, 1), small(2, 1)], WireError::TooLarge("answer")),
        (vec![small(0, 1), Frame::End(1, Ok(()))], WireError::Missing("rest of an answer")),
        (vec![Frame::Head(1, head(10))], WireError::Unknown("part of an answer")),
        (vec![Frame::Data(1, part(10))], WireError::Unknown("part of an answer")),
    ];
    for (frames, error) in lies {
        let mut other = Other::new().await;
        let asked = ask(&other, 2);
        other.hear().await;
        other.say(frames.clone()).await;
        assert_eq!(asked.await.unwrap(), Err(CallError::Protocol(error)), "{frames:?}");
        assert!(matches!(other.end().await, BulkError::Protocol(why) if why == error), "{frames:?}");
    }
    let mut other = Other::new().await;
    let asked = other.ask(100);
    other.hear().await;
    other.say([Frame::Small(1, None)]).await;
    let error = WireError::Unknown("part of an answer");
    assert_eq!(asked.await.unwrap(), Err(CallError::Protocol(error)), "no answer to a range");
}

#[tokio::test]
async fn they_are_served_each_with_its_own_outcome() {
    // It has the entry of `head` alone, whole.
    let mut other = Other::with(Arc::new(Whole(AtomicUsize::new(0)))).await;
    let served = request(100);
    let other_entry = ReadRequest { entry: EntryId([9; 16]), ..served };
    other.say([Frame::FetchSmall(1, vec![served, other_entry, served])]).await;
    let whole = Some((head(100), part(100)));
    for file in [whole.clone(), None, whole] {
        assert_eq!(other.hear().await, Frame::Small(1, file));
    }
    assert_eq!(other.hear().await, Frame::End(1, Ok(())));
}

#[tokio::test]
async fn one_request_takes_one_place_however_many_files_it_names() {
    let mut other = Other::new().await;
    let places = limits::READS_AT_ONCE as u64;
    other.say((0..places).map(|id| Frame::FetchSmall(id, requests(64)))).await;
    other.say([Frame::FetchSmall(places, requests(1))]).await;
    assert_eq!(other.hear().await, Frame::End(places, Err(ReadFailure::Busy)));
    other.say([Frame::Cancel(0)]).await;
    assert_eq!(other.hear().await, Frame::End(0, Ok(())));
}
