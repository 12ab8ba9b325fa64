//! What carries a lane, a TCP connection or a stream of a QUIC connection, with its bytes counted; and how TCP
//! connections are made.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use farhold_secure::handshake::ChannelBinding;
use farhold_wire::LaneClass;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::counters::WireCounter;
use crate::quic::{self, Link};
use crate::state::Transport;

/// Between the starts of two tries of a host: "Connection Attempt Delay" of RFC 8305, section 8.
const STAGGER: Duration = Duration::from_millis(250);
/// How long one address may take to answer.
pub(crate) const CONNECT_WITHIN: Duration = Duration::from_secs(4);

/// What carries a lane to a contact, straight or through the relay.
#[derive(Debug)]
pub(crate) struct Socket {
    carrier: Carrier,
    counter: Arc<WireCounter>,
}

#[derive(Debug)]
enum Carrier {
    Tcp(TcpStream),
    Quic(quic::Stream),
}

impl Socket {
    pub(crate) fn new(stream: TcpStream, counter: Arc<WireCounter>) -> io::Result<Self> {
        // Records are written whole, so waiting for more only delays the last one.
        stream.set_nodelay(true)?;
        Ok(Self { carrier: Carrier::Tcp(stream), counter })
    }

    /// A stream of a QUIC connection, whose own bytes `counter` counts; what its datagrams add up to is the endpoint's
    /// to count.
    pub(crate) fn quic(stream: quic::Stream, counter: Arc<WireCounter>) -> Self {
        Self { carrier: Carrier::Quic(stream), counter }
    }

    pub(crate) fn transport(&self) -> Transport {
        match &self.carrier {
            Carrier::Tcp(_) => Transport::Tcp,
            Carrier::Quic(_) => Transport::Quic,
        }
    }

    /// The connection of which this is a stream.
    pub(crate) fn link(&self) -> Option<&Link> {
        match &self.carrier {
            Carrier::Tcp(_) => None,
            Carrier::Quic(stream) => Some(stream.link()),
        }
    }

    /// What the two ends share below, if that is a secret.
    pub(crate) fn binding(&self) -> io::Result<Option<ChannelBinding>> {
        self.link().map(Link::binding).transpose()
    }

    /// The other end.
    pub(crate) fn peer(&self) -> io::Result<SocketAddr> {
        match &self.carrier {
            Carrier::Tcp(stream) => stream.peer_addr(),
            Carrier::Quic(stream) => Ok(stream.link().remote()),
        }
    }

    /// Our address, if the connection hangs on it.
    pub(crate) fn local(&self) -> Option<IpAddr> {
        match &self.carrier {
            Carrier::Tcp(stream) => stream.local_addr().ok().map(|address| address.ip()),
            Carrier::Quic(stream) => stream.link().local_ip(),
        }
    }

    /// Says what is carried, `None` being the control lane: where lanes share a connection, it decides which goes first.
    pub(crate) fn prioritise(&self, class: Option<LaneClass>) {
        match &self.carrier {
            Carrier::Tcp(_) => {}
            Carrier::Quic(stream) => stream.prioritise(class),
        }
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
        let Self { carrier, counter } = &mut *self;
        let before = buf.filled().len();
        match carrier {
            Carrier::Tcp(stream) => {
                let poll = Pin::new(stream).poll_read(cx, buf);
                counter.add_received(buf.filled().len() - before);
                poll
            }
            Carrier::Quic(stream) => {
                let poll = Pin::new(stream).poll_read(cx, buf);
                counter.add_received_alone(buf.filled().len() - before);
                poll
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let Self { carrier, counter } = &mut *self;
        match carrier {
            Carrier::Tcp(stream) => {
                let poll = Pin::new(stream).poll_write(cx, buf);
                if let Poll::Ready(Ok(written)) = &poll {
                    counter.add_sent(*written);
                }
                poll
            }
            Carrier::Quic(stream) => {
                let poll = Pin::new(stream).poll_write(cx, buf);
                if let Poll::Ready(Ok(written)) = &poll {
                    counter.add_sent_alone(*written);
                }
                poll
            }
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.carrier {
            Carrier::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Carrier::Quic(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.carrier {
            Carrier::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Carrier::Quic(stream) => Pin::new(stream).poll_shutdown(cx),
        }
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
