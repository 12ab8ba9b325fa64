//! One lane's bytes over its socket: records sealed in place on the way out and opened in place on the way in.
//!
//! A stream is driven by one task. Reading also sends the pings that keep an idle connection open, and notices that
//! the stream was cancelled or that nothing arrives any more.

use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use farhold_secure::record::{CHUNK_BYTES, Opener, Record, RecordError, Sealer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};
use tokio_util::io::poll_read_buf;
use tokio_util::sync::{CancellationToken, DropGuard, WaitForCancellationFutureOwned};

use crate::activity::Activity;
use crate::socket::Socket;

/// After this long without a record of ours, a ping goes out: hops on the way cut idle connections after 120 s and
/// more.
pub(crate) const PING_AFTER: Duration = Duration::from_secs(15);
/// The other end pings too, so a lane on which nothing arrives for this many times [`PING_AFTER`] is dead.
const MISSED_MOST: u32 = 3;
/// The other end always reads, so what is not taken for this long is not taken at all.
const STALLED_AFTER: Duration = Duration::from_secs(30);
/// Sealed bytes that may wait for the socket before nothing more is sealed.
const OUTGOING_BYTES: usize = 256 << 10;
/// A first read asks for this much; reads that come back full double it up to [`READ_MOST`].
const READ_FIRST: usize = 4 << 10;
const READ_MOST: usize = 256 << 10;

/// An encrypted lane.
pub(crate) struct RecordStream {
    socket: Socket,
    sealer: Sealer,
    opener: Opener,
    /// Ciphertext that is not opened yet.
    received: BytesMut,
    read_size: usize,
    /// Plaintext that is not read yet.
    plain: Bytes,
    /// Records that are not written yet.
    outgoing: BytesMut,
    ended: bool,
    close_sealed: bool,
    sent_at: Instant,
    ping: Pin<Box<Sleep>>,
    /// Since when nothing has arrived, though it was asked for; [`PING_AFTER`] without anything begins it anew.
    waiting_since: Option<Instant>,
    /// How many times in a row that was.
    missed: u32,
    /// Ends with the wait, or before.
    silence: Pin<Box<Sleep>>,
    stalled: Option<Pin<Box<Sleep>>>,
    cancelled: Pin<Box<WaitForCancellationFutureOwned>>,
    activity: Option<Arc<Activity>>,
    on_drop: Option<DropGuard>,
}

impl RecordStream {
    /// `received` came in with the handshake and is not opened yet, `outgoing` is still to be sent.
    pub(crate) fn new(
        socket: Socket,
        sealer: Sealer,
        opener: Opener,
        received: BytesMut,
        outgoing: BytesMut,
        cancel: CancellationToken,
    ) -> Self {
        let now = Instant::now();
        Self {
            socket,
            sealer,
            opener,
            received,
            read_size: READ_FIRST,
            plain: Bytes::new(),
            outgoing,
            ended: false,
            close_sealed: false,
            sent_at: now,
            ping: Box::pin(tokio::time::sleep_until(now + PING_AFTER)),
            waiting_since: None,
            missed: 0,
            silence: Box::pin(tokio::time::sleep_until(now + PING_AFTER)),
            stalled: None,
            cancelled: Box::pin(cancel.cancelled_owned()),
            activity: None,
            on_drop: None,
        }
    }

    /// Tells `activity` of everything that is received.
    pub(crate) fn report_to(&mut self, activity: Arc<Activity>) {
        self.activity = Some(activity);
    }

    /// Cancels `ended` when the stream is dropped, whoever has it then.
    pub(crate) fn signal_drop(&mut self, ended: CancellationToken) {
        self.on_drop = Some(ended.drop_guard());
    }

    /// Ends with `cancel` instead of with the token that it was made with.
    pub(crate) fn cancel_with(&mut self, cancel: CancellationToken) {
        self.cancelled = Box::pin(cancel.cancelled_owned());
    }

    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }

    pub(crate) fn socket_mut(&mut self) -> &mut Socket {
        &mut self.socket
    }

    /// The next bytes of the lane, as they came in one record; `None` after an authenticated end.
    pub(crate) fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Bytes>>> {
        if !self.plain.is_empty() {
            return Poll::Ready(Ok(Some(std::mem::take(&mut self.plain))));
        }
        if self.cancelled.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::Error::new(
                io::ErrorKind::ConnectionAborted,
                "the lane was cancelled",
            )));
        }
        self.poll_ping(cx)?;
        loop {
            if self.ended {
                return Poll::Ready(Ok(None));
            }
            match self.opener.open(&mut self.received).map_err(broken)? {
                Some(Record::Data(data)) => {
                    self.heard();
                    return Poll::Ready(Ok(Some(data)));
                }
                Some(Record::Ping) => self.heard(),
                Some(Record::Close) => self.ended = true,
                None => {
                    // A length that is only announced takes no memory: room grows with what arrived.
                    let needed = self.opener.needed(&self.received).min(self.received.len());
                    self.received.reserve(needed.max(self.read_size));
                    let room = self.received.capacity() - self.received.len();
                    let Poll::Ready(read) = poll_read_buf(Pin::new(&mut self.socket), cx, &mut self.received)
                    else {
                        self.poll_silence(cx)?;
                        return Poll::Pending;
                    };
                    self.waiting_since = None;
                    self.missed = 0;
                    match read? {
                        0 => {
                            self.opener.finish(&self.received).map_err(broken)?;
                            self.ended = true;
                        }
                        read if read == room => self.read_size = (self.read_size * 2).min(READ_MOST),
                        _ => {}
                    }
                }
            }
        }
    }

    /// Whether there is room to seal more.
    pub(crate) fn has_room(&self) -> bool {
        self.outgoing.len() < OUTGOING_BYTES
    }

    /// Seals a payload of at most [`farhold_secure::record::PAYLOAD_BYTES`] as one record, to be written by
    /// [`Self::poll_drain`].
    pub(crate) fn seal(&mut self, payload: impl Buf) -> io::Result<()> {
        let now = Instant::now();
        self.sealer.data(now.into_std(), payload, &mut self.outgoing).map_err(broken)?;
        self.sent_at = now;
        Ok(())
    }

    /// Writes what is sealed.
    pub(crate) fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.outgoing.is_empty() {
            match Pin::new(&mut self.socket).poll_write(cx, &self.outgoing) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(written)) => {
                    self.outgoing.advance(written);
                    self.stalled = None;
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    let stalled =
                        self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(STALLED_AFTER)));
                    ready!(stalled.as_mut().poll(cx));
                    return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                }
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Writes what is sealed.
    pub(crate) async fn drain(&mut self) -> io::Result<()> {
        poll_fn(|cx| self.poll_drain(cx)).await
    }

    /// Ends our direction with an authenticated close.
    pub(crate) fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.close_sealed {
            self.sealer.close(Instant::now().into_std(), &mut self.outgoing).map_err(broken)?;
            self.close_sealed = true;
        }
        ready!(self.poll_drain(cx))?;
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }

    fn poll_ping(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        while !self.close_sealed && self.ping.as_mut().poll(cx).is_ready() {
            let now = Instant::now();
            if now >= self.sent_at + PING_AFTER {
                self.sealer.ping(now.into_std(), &mut self.outgoing).map_err(broken)?;
                self.sent_at = now;
                if let Poll::Ready(result) = self.poll_drain(cx) {
                    result?;
                }
            }
            self.ping.as_mut().reset(self.sent_at + PING_AFTER);
        }
        Ok(())
    }

    /// Counts waits instead of measuring one, so that a program that was suspended does not take its own absence for
    /// the other end's.
    fn poll_silence(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let mut since = *self.waiting_since.get_or_insert_with(Instant::now);
        while self.silence.as_mut().poll(cx).is_ready() {
            let now = Instant::now();
            if now >= since + PING_AFTER {
                self.missed += 1;
                if self.missed >= MISSED_MOST {
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "the lane went silent"));
                }
                since = now;
                self.waiting_since = Some(now);
            }
            self.silence.as_mut().reset(since + PING_AFTER);
        }
        Ok(())
    }

    fn heard(&self) {
        if let Some(activity) = &self.activity {
            activity.heard();
        }
    }
}

/// What a broken lane is to whoever reads and writes bytes.
fn broken(error: RecordError) -> io::Error {
    let kind = match error {
        RecordError::Cut => io::ErrorKind::UnexpectedEof,
        RecordError::Closed | RecordError::Failed => io::ErrorKind::NotConnected,
        RecordError::TooLong(_)
        | RecordError::TooShort(_)
        | RecordError::Forged
        | RecordError::UnknownType(_)
        | RecordError::Malformed
        | RecordError::UnknownExchange(_)
        | RecordError::RepeatedUpdate
        | RecordError::Overused
        | RecordError::Empty
        | RecordError::PayloadTooLarge(_) => io::ErrorKind::InvalidData,
    };
    io::Error::new(kind, error)
}

impl std::fmt::Debug for RecordStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordStream")
            .field("socket", &self.socket)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

impl AsyncRead for RecordStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(mut chunk) = ready!(self.poll_chunk(cx))? {
            buf.put_slice(&chunk.split_to(chunk.len().min(buf.remaining())));
            self.plain = chunk;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for RecordStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    /// Seals up to [`CHUNK_BYTES`] as one record and passes on what the socket takes now; the rest waits for the next
    /// write or flush.
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if !self.has_room() {
            ready!(self.poll_drain(cx))?;
        }
        let mut left = CHUNK_BYTES;
        let taken: Vec<&[u8]> = bufs
            .iter()
            .map(|buf| {
                let taken = &buf[..buf.len().min(left)];
                left -= taken.len();
                taken
            })
            .collect();
        let length = CHUNK_BYTES - left;
        if length > 0 {
            self.seal(Slices { slices: &taken, length })?;
            if let Poll::Ready(result) = self.poll_drain(cx) {
                result?;
            }
        }
        Poll::Ready(Ok(length))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_drain(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_close(cx)
    }
}

/// Several slices as one payload.
struct Slices<'a> {
    slices: &'a [&'a [u8]],
    length: usize,
}

impl Buf for Slices<'_> {
    fn remaining(&self) -> usize {
        self.length
    }

    fn chunk(&self) -> &[u8] {
        self.slices.iter().find(|slice| !slice.is_empty()).copied().unwrap_or_default()
    }

    fn advance(&mut self, count: usize) {
        self.length -= count;
        let mut left = count;
        while let Some((first, rest)) = self.slices.split_first() {
            if left < first.len() {
                break;
            }
            left -= first.len();
            self.slices = rest;
        }
        debug_assert_eq!(left, 0, "chunks are taken whole");
    }
}

#[cfg(test)]
mod tests;
