//! A TCP connection whose bytes are counted, and how one is made.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::connect::race::STAGGER;
use crate::counters::WireCounter;

/// How long one address may take to answer.
pub(crate) const CONNECT_WITHIN: Duration = Duration::from_secs(4);

/// A TCP connection to a contact, straight or through the bridge.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: TcpStream,
    counter: Arc<WireCounter>,
}

impl Socket {
    pub(crate) fn new(stream: TcpStream, counter: Arc<WireCounter>) -> io::Result<Self> {
        // Records are written whole, so waiting for more only delays the last one.
        stream.set_nodelay(true)?;
        Ok(Self { stream, counter })
    }

    /// The other end.
    pub(crate) fn peer(&self) -> io::Result<SocketAddr> {
        self.stream.peer_addr()
    }

    /// Our own end.
    pub(crate) fn local(&self) -> io::Result<SocketAddr> {
        self.stream.local_addr()
    }

    pub(crate) fn counter(&self) -> &Arc<WireCounter> {
        &self.counter
    }

    /// Counts on another counter from now on.
    pub(crate) fn count_on(&mut self, counter: Arc<WireCounter>) {
        self.counter = counter;
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let poll = Pin::new(&mut self.stream).poll_read(cx, buf);
        self.counter.add_received(buf.filled().len() - before);
        poll
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write(cx, buf);
        if let Poll::Ready(Ok(written)) = &poll {
            self.counter.add_sent(*written);
        }
        poll
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Connects to one address.
pub(crate) async fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    tokio::time::timeout(CONNECT_WITHIN, TcpStream::connect(address)).await?
}

/// Connects to whichever address of a host answers first: IPv6 and IPv4 in turn, [`STAGGER`] apart (RFC 8305).
pub(crate) async fn connect_host(host: &str, port: u16) -> io::Result<TcpStream> {
    let found = tokio::time::timeout(CONNECT_WITHIN, tokio::net::lookup_host((host, port))).await??;
    let (v6, v4): (Vec<_>, Vec<_>) = found.partition(SocketAddr::is_ipv6);
    let longer = v6.len().max(v4.len());
    let addresses = (0..longer).flat_map(|index| [v6.get(index), v4.get(index)]).flatten().copied();
    let mut attempts: FuturesUnordered<_> = (0..)
        .zip(addresses)
        .map(|(index, address)| async move {
            tokio::time::sleep(STAGGER.saturating_mul(index)).await;
            connect(address).await
        })
        .collect();
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    while let Some(attempt) = attempts.next().await {
        match attempt {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_host_is_reached_at_whichever_address_answers() {
        for at in ["127.0.0.1:0", "[::1]:0"] {
            // A machine without IPv6 has one address to try.
            let Ok(listener) = TcpListener::bind(at).await else { continue };
            let address = listener.local_addr().unwrap();
            let host = if address.is_ipv6() { "::1" } else { "localhost" };
            assert_eq!(connect_host(host, address.port()).await.unwrap().peer_addr().unwrap(), address);
        }
        let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        assert!(connect_host("localhost", closed.port()).await.is_err());
    }
}
