//! Passing bytes between the two legs of a pair.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::time::Instant;

use farhold_wire::bridge::PAIRED;

use crate::metrics::{Counter, PairEnd};

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

/// Tells both legs that they are paired, then passes bytes both ways until both ends are through, one fails, or
/// nothing passes for `idle`. The end of one direction is passed on and leaves the other open.
pub(crate) async fn splice(
    a: &mut TcpStream,
    b: &mut TcpStream,
    idle: Duration,
    passed: &Counter,
) -> PairEnd {
    let activity = Activity { start: Instant::now(), last_ms: AtomicU64::new(0) };
    let (a_read, a_write) = a.split();
    let (b_read, b_write) = b.split();
    let both = async {
        tokio::try_join!(copy(a_read, b_write, &activity, passed), copy(b_read, a_write, &activity, passed))
    };
    tokio::select! {
        result = both => if result.is_ok() { PairEnd::Finished } else { PairEnd::Broken },
        () = activity.idle_for(idle) => PairEnd::Idle,
    }
}

async fn copy(
    mut from: ReadHalf<'_>,
    mut to: WriteHalf<'_>,
    activity: &Activity,
    passed: &Counter,
) -> io::Result<()> {
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
    }
}
