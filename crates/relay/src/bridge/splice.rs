//! Passing bytes between the two legs of a pair.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::Instant;

use farhold_wire::bridge::PAIRED;

use crate::metrics::{Counter, PairEnd};
use crate::throttle::Bucket;

/// Bytes held for each direction of a pair. More gains nothing: the sockets' own buffers cover the link.
const BUFFER: usize = 32 << 10;

/// When a byte last passed, in either direction.
struct Activity {
    start: Instant,
    last_ms: AtomicU64,
}

impl Activity {
    fn now(&self) {
        let elapsed = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_ms.store(elapsed, Ordering::Relaxed);
    }

    async fn idle_for(&self, limit: Duration) {
        loop {
            let last = self.start + Duration::from_millis(self.last_ms.load(Ordering::Relaxed));
            if last.elapsed() >= limit {
                return;
            }
            tokio::time::sleep_until(last + limit).await;
        }
    }
}

/// One leg of a pair.
#[derive(Debug)]
pub(crate) struct Side<'a, R, W> {
    pub(crate) read: R,
    pub(crate) write: W,
    /// What its source may send.
    pub(crate) bucket: &'a Bucket,
}

/// Tells both legs that they are paired, then passes bytes both ways until both ends are through, one fails, or
/// nothing passes for `idle`. The end of one direction is passed on and leaves the other open. A side that sends more
/// than the rate of its source is read more slowly.
pub(crate) async fn splice<R, W>(
    a: Side<'_, R, W>,
    b: Side<'_, R, W>,
    idle: Duration,
    passed: &Counter,
) -> PairEnd
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let activity = Activity { start: Instant::now(), last_ms: AtomicU64::new(0) };
    let both = async {
        tokio::try_join!(
            copy(a.read, a.bucket, b.write, &activity, passed),
            copy(b.read, b.bucket, a.write, &activity, passed)
        )
    };
    tokio::select! {
        result = both => if result.is_ok() { PairEnd::Finished } else { PairEnd::Broken },
        () = activity.idle_for(idle) => PairEnd::Idle,
    }
}

async fn copy<R, W>(
    mut from: R,
    bucket: &Bucket,
    mut to: W,
    activity: &Activity,
    passed: &Counter,
) -> io::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    to.write_all(&[PAIRED]).await?;
    let mut buffer = vec![0; BUFFER];
    loop {
        let read = from.read(&mut buffer).await?;
        if read == 0 {
            return to.shutdown().await;
        }
        activity.now();
        to.write_all(&buffer[..read]).await?;
        activity.now();
        passed.add(read as u64);
        let wait = bucket.charge(read, Instant::now().into_std());
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::io::{DuplexStream, duplex, split};
    use tokio::task::JoinHandle;

    use super::*;
    use crate::source::Source;
    use crate::throttle::Throttle;

    const IDLE: Duration = Duration::from_secs(600);

    type Spliced = (DuplexStream, DuplexStream, JoinHandle<PairEnd>, Arc<Counter>);

    async fn spliced() -> Spliced {
        spliced_at(u64::MAX).await
    }

    /// Both callers' ends of a splice under way, each of a source that may send so many bytes a second, and what
    /// becomes of it.
    async fn spliced_at(bytes_per_second: u64) -> Spliced {
        let ((mut a, relay_a), (mut b, relay_b)) = (duplex(1024), duplex(1024));
        let passed = Arc::new(Counter::default());
        let counter = Arc::clone(&passed);
        let throttle = Throttle::new(bytes_per_second);
        let end = tokio::spawn(async move {
            let buckets = [1, 2].map(|number| throttle.bucket(Source::V4([192, 0, 2, number])));
            let ((a_read, a_write), (b_read, b_write)) = (split(relay_a), split(relay_b));
            let a = Side { read: a_read, write: a_write, bucket: &buckets[0] };
            let b = Side { read: b_read, write: b_write, bucket: &buckets[1] };
            splice(a, b, IDLE, &counter).await
        });
        assert_eq!((a.read_u8().await.unwrap(), b.read_u8().await.unwrap()), (PAIRED, PAIRED));
        (a, b, end, passed)
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_one_direction_leaves_the_other_open() {
        let (mut a, mut b, end, passed) = spliced().await;
        a.write_all(b"question").await.unwrap();
        a.shutdown().await.unwrap();
        let mut heard = Vec::new();
        b.read_to_end(&mut heard).await.unwrap();
        assert_eq!(heard, b"question");

        b.write_all(b"answer").await.unwrap();
        b.shutdown().await.unwrap();
        heard.clear();
        a.read_to_end(&mut heard).await.unwrap();
        assert_eq!(heard, b"answer");
        assert_eq!(end.await.unwrap(), PairEnd::Finished);
        assert_eq!(passed.get(), 14);
    }

    #[tokio::test(start_paused = true)]
    async fn a_side_that_sends_too_fast_is_slowed_down_and_loses_nothing() {
        let (mut a, mut b, end, passed) = spliced_at(1_000_000).await;
        let start = Instant::now();
        let sent: Vec<u8> = (0..3_000_000_u32).map(|number| number.to_be_bytes()[2]).collect();
        let sending = async {
            a.write_all(&sent).await.unwrap();
            a.shutdown().await.unwrap();
        };
        let mut heard = Vec::new();
        let (_, read) = tokio::join!(sending, b.read_to_end(&mut heard));
        read.unwrap();
        assert!(heard == sent && passed.get() == 3_000_000);
        // All but the burst of a quarter of a second.
        let took = start.elapsed();
        assert!(took >= Duration::from_millis(2740) && took < Duration::from_millis(2900), "{took:?}");
        drop(b);
        end.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_pair_is_idle_only_if_neither_side_speaks() {
        let (mut a, mut b, end, _) = spliced().await;
        for turn in 0..6 {
            tokio::time::sleep(IDLE - Duration::from_secs(1)).await;
            let (from, to) = if turn % 2 == 0 { (&mut a, &mut b) } else { (&mut b, &mut a) };
            from.write_all(b"x").await.unwrap();
            assert_eq!(to.read_u8().await.unwrap(), b'x');
        }
        assert!(!end.is_finished());
        let silent_since = Instant::now();
        assert_eq!(end.await.unwrap(), PairEnd::Idle);
        assert_eq!(silent_since.elapsed(), IDLE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_side_that_takes_nothing_does_not_hold_a_pair_open() {
        let (mut a, _b, end, _) = spliced().await;
        let flood = tokio::spawn(async move { a.write_all(&vec![0; 1 << 20]).await });
        assert_eq!(end.await.unwrap(), PairEnd::Idle);
        assert!(flood.await.unwrap().is_err());
    }
}
