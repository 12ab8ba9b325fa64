//! Accepting connections within limits, and ending them in time.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Sleep;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::config::Limit;
use crate::metrics::Counter;
use crate::source::{Quota, Source};

/// Pause after a failed accept that tells of this machine, mostly that file descriptors ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Counts the connections of one port.
#[derive(Debug)]
pub(crate) struct Gate {
    quota: Mutex<Quota>,
    pub(crate) admitted: Counter,
    pub(crate) refused: Counter,
}

impl Gate {
    pub(crate) fn new(limit: Limit) -> Arc<Self> {
        Arc::new(Self {
            quota: Mutex::new(Quota::new(limit)),
            admitted: Counter::default(),
            refused: Counter::default(),
        })
    }

    /// Connections now.
    pub(crate) fn held(&self) -> usize {
        self.lock().held()
    }

    fn lock(&self) -> MutexGuard<'_, Quota> {
        self.quota.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn admit(self: &Arc<Self>, source: Source) -> Option<Permit> {
        if self.lock().take(source, 1).is_err() {
            self.refused.add(1);
            return None;
        }
        self.admitted.add(1);
        Some(Permit { gate: Arc::clone(self), source })
    }
}

/// The place of one connection; dropping it frees the place.
#[derive(Debug)]
pub(crate) struct Permit {
    gate: Arc<Gate>,
    source: Source,
}

impl Permit {
    pub(crate) fn source(&self) -> Source {
        self.source
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.gate.lock().give_back(self.source, 1);
    }
}

/// The next connection that has a place. Others are closed at once.
pub(crate) async fn accept(listener: &TcpListener, gate: &Arc<Gate>) -> (TcpStream, SocketAddr, Permit) {
    loop {
        match listener.accept().await {
            Ok((stream, address)) => {
                let Some(permit) = gate.admit(address.into()) else { continue };
                // Without it small messages wait for acknowledgements; a failure costs speed only.
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "TCP_NODELAY is refused");
                }
                return (stream, address, permit);
            }
            Err(error) => {
                tracing::debug!(%error, "accept failed");
                if !is_of_one_caller(&error) {
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

/// Whether an accept failed since the caller left, or was interrupted: the next one may be there already.
fn is_of_one_caller(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted)
}

/// A connection that a server library drives: it fails by itself when its deadline passes before enough was read,
/// and when the relay has stopped.
#[derive(Debug)]
pub(crate) struct Guarded {
    stream: TcpStream,
    deadline: Option<Pin<Box<Sleep>>>,
    /// Bytes still to be read before the deadline is lifted.
    missing: usize,
    ended: Pin<Box<WaitForCancellationFutureOwned>>,
    _permit: Permit,
}

impl Guarded {
    /// `within` counts from now and is lifted once `enough` bytes were read (`usize::MAX`: never).
    pub(crate) fn new(
        (stream, permit): (TcpStream, Permit),
        within: Duration,
        enough: usize,
        ended: CancellationToken,
    ) -> Self {
        Self {
            stream,
            deadline: Some(Box::pin(tokio::time::sleep(within))),
            missing: enough,
            ended: Box::pin(ended.cancelled_owned()),
            _permit: permit,
        }
    }

    fn check(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        if self.ended.as_mut().poll(context).is_ready() {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        let deadline = self.deadline.as_mut().map(|deadline| deadline.as_mut().poll(context));
        if deadline.is_some_and(|poll| poll.is_ready()) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(())
    }
}

impl AsyncRead for Guarded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(context)?;
        let before = buffer.filled().len();
        std::task::ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let read = buffer.filled().len() - before;
        if self.missing != usize::MAX {
            self.missing = self.missing.saturating_sub(read);
        }
        if self.missing == 0 {
            self.deadline = None;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Guarded {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_write(context, buffer)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_write_vectored(context, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use rustix::io::Errno;

    use super::*;

    #[test]
    fn a_caller_that_left_holds_up_nobody() {
        for errno in [Errno::CONNABORTED, Errno::CONNRESET, Errno::INTR] {
            assert!(is_of_one_caller(&errno.into()), "{errno}");
        }
        for errno in [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM] {
            assert!(!is_of_one_caller(&errno.into()), "{errno}");
        }
    }
}
