use std::io::ErrorKind;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{advance, sleep, timeout};

use super::*;
use crate::testing::{sockets, streams};

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index ^ (index >> 8)) as u8).collect()
}

async fn chunk(stream: &mut RecordStream) -> io::Result<Option<Bytes>> {
    poll_fn(|cx| stream.poll_chunk(cx)).await
}

#[tokio::test]
async fn bytes_come_through_in_order_up_to_the_authenticated_end() {
    let [mut a, mut b] = streams().await;
    let sent = pattern(5 << 20);
    let (written, read) = tokio::join!(
        async {
            for piece in sent.chunks(100_001) {
                a.write_all(piece).await.unwrap();
            }
            a.shutdown().await
        },
        async {
            let mut received = Vec::new();
            b.read_to_end(&mut received).await.map(|_| received)
        }
    );
    written.unwrap();
    assert!(read.unwrap() == sent);
}

#[tokio::test]
async fn writes_are_there_after_a_flush_and_several_slices_make_one_record() {
    let [mut a, mut b] = streams().await;
    let slices = [IoSlice::new(b"one "), IoSlice::new(b""), IoSlice::new(b"record")];
    assert_eq!(poll_fn(|cx| Pin::new(&mut a).poll_write_vectored(cx, &slices)).await.unwrap(), 10);
    a.flush().await.unwrap();
    assert_eq!(chunk(&mut b).await.unwrap().as_deref(), Some(&b"one record"[..]));
}

#[tokio::test]
async fn an_end_without_a_close_is_no_end_of_data() {
    let [mut a, mut b] = streams().await;
    a.write_all(b"half").await.unwrap();
    a.flush().await.unwrap();
    drop(a);
    assert_eq!(chunk(&mut b).await.unwrap().as_deref(), Some(&b"half"[..]));
    assert_eq!(chunk(&mut b).await.unwrap_err().kind(), ErrorKind::UnexpectedEof);
}

#[tokio::test]
async fn what_is_no_record_ends_the_lane() {
    for junk in [
        &[
            0, 0, 0, 40, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
            24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40,
        ][..],
        &[0xff; 8],
        &[0; 4],
    ] {
        let [mut a, mut b] = streams().await;
        a.socket.write_all(junk).await.unwrap();
        assert_eq!(chunk(&mut b).await.unwrap_err().kind(), ErrorKind::InvalidData);
        assert!(chunk(&mut b).await.is_err(), "and it stays at its end");
    }
}

#[tokio::test]
async fn an_announced_length_takes_no_memory_before_its_bytes_come() {
    let [mut a, mut b] = streams().await;
    a.socket.write_all(&(1u32 << 20).to_be_bytes()).await.unwrap();
    a.socket.write_all(&[7; 1000]).await.unwrap();
    assert!(timeout(Duration::from_millis(100), chunk(&mut b)).await.is_err());
    assert_eq!(b.received.len(), 1004);
    assert!(b.received.capacity() <= 16 << 10, "{}", b.received.capacity());
}

#[tokio::test]
async fn a_cancelled_lane_fails_its_reader() {
    let [mut a, _b] = streams().await;
    let cancel = CancellationToken::new();
    a.cancel_with(cancel.clone());
    let (read, ()) = tokio::join!(chunk(&mut a), async { cancel.cancel() });
    assert_eq!(read.unwrap_err().kind(), ErrorKind::ConnectionAborted);
}

#[tokio::test]
async fn an_idle_lane_is_pinged() {
    let [mut a, mut b] = streams().await;
    let activity = Activity::new();
    b.report_to(Arc::clone(&activity));
    let (one, other) =
        (tokio::spawn(async move { chunk(&mut a).await }), tokio::spawn(async move { chunk(&mut b).await }));
    sleep(Duration::from_millis(50)).await;
    tokio::time::pause();
    let before = activity.last_heard();
    advance(PING_AFTER).await;
    tokio::time::resume();
    let heard = async {
        while activity.last_heard() == before {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(5), heard).await.expect("a ping");
    one.abort();
    other.abort();
}

#[tokio::test]
async fn a_lane_on_which_nothing_arrives_ends() {
    let [mut a, mut b] = streams().await;
    tokio::time::pause();
    let start = Instant::now();
    let patience = PING_AFTER * MISSED_MOST;
    let late = patience - Duration::from_secs(1);
    let (read, ()) = tokio::join!(
        async { [chunk(&mut b).await, chunk(&mut b).await].map(|read| (read, start.elapsed())) },
        async {
            sleep(late).await;
            a.write_all(b"late").await.unwrap();
            a.flush().await.unwrap();
        }
    );
    // What arrives begins the wait anew, and one who only writes and never reads sends no pings.
    let [(first, _), (second, ended)] = read;
    assert_eq!(first.unwrap().as_deref(), Some(&b"late"[..]));
    assert_eq!(second.unwrap_err().kind(), ErrorKind::TimedOut);
    assert!(ended >= late + patience && ended < late + patience + PING_AFTER, "{ended:?}");
}

#[tokio::test]
async fn pings_keep_an_idle_lane_from_ending() {
    let [mut a, mut b] = streams().await;
    tokio::time::pause();
    let idle = async { tokio::join!(chunk(&mut a), chunk(&mut b)) };
    assert!(timeout(PING_AFTER * MISSED_MOST * 5, idle).await.is_err());
}

#[tokio::test]
async fn a_leap_of_the_clock_is_no_silence() {
    let [mut a, mut b] = streams().await;
    tokio::time::pause();
    assert!(timeout(Duration::from_secs(1), chunk(&mut a)).await.is_err());
    advance(PING_AFTER * MISSED_MOST * 5).await;
    let idle = async { tokio::join!(chunk(&mut a), chunk(&mut b)) };
    assert!(timeout(PING_AFTER * MISSED_MOST * 5, idle).await.is_err());
}

#[tokio::test]
async fn a_reader_that_takes_nothing_ends_the_lane() {
    let [mut a, b] = streams().await;
    let writing = tokio::spawn(async move {
        let data = vec![0; 1 << 20];
        loop {
            if let Err(error) = a.write_all(&data).await {
                return error.kind();
            }
        }
    });
    // Until the system's buffers are full.
    sleep(Duration::from_millis(500)).await;
    assert!(!writing.is_finished());
    tokio::time::pause();
    advance(STALLED_AFTER).await;
    tokio::time::resume();
    assert_eq!(timeout(Duration::from_secs(5), writing).await.unwrap().unwrap(), ErrorKind::TimedOut);
    drop(b);
}

#[tokio::test]
async fn the_sockets_bytes_are_counted() {
    let [mut a, mut b] = sockets().await;
    a.write_all(&[1; 1000]).await.unwrap();
    b.read_exact(&mut [0; 600]).await.unwrap();
    assert_eq!((a.counter().sent(), b.counter().received()), (1000, 600));
}
