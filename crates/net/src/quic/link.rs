//! A QUIC connection and its streams.

use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use std::{fmt, io};

use farhold_secure::handshake::{CHANNEL_BINDING_LABEL, ChannelBinding};
use farhold_wire::LaneClass;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::config::{LANES, SEND_WINDOW, WINDOW};

/// A connection. Cheap to clone; it closes, and drops what is not acknowledged, with its last clone and stream.
#[derive(Clone)]
pub(crate) struct Link(quinn::Connection);

/// One stream of a connection.
pub(crate) struct Stream {
    link: Link,
    send: quinn::SendStream,
    receive: quinn::RecvStream,
}

impl Link {
    pub(super) fn new(connection: quinn::Connection) -> Self {
        Self(connection)
    }

    /// The round trip, as smoothed by QUIC.
    pub(crate) fn rtt(&self) -> Duration {
        self.0.rtt()
    }

    /// What QUIC counts of the connection.
    #[cfg(test)]
    pub(crate) fn stats(&self) -> quinn::ConnectionStats {
        self.0.stats()
    }

    /// The other end, as it is now.
    pub(crate) fn remote(&self) -> SocketAddr {
        let remote = self.0.remote_address();
        SocketAddr::new(remote.ip().to_canonical(), remote.port())
    }

    /// Our address at which the other end reached us; `None` at the end that dialled, which may change it.
    pub(crate) fn local_ip(&self) -> Option<IpAddr> {
        self.0.local_ip().filter(|_| self.0.side() == quinn::Side::Server).map(|ip| ip.to_canonical())
    }

    /// What only the two ends of this connection know.
    pub(crate) fn binding(&self) -> io::Result<ChannelBinding> {
        let mut binding = [0; 32];
        self.0
            .export_keying_material(&mut binding, CHANNEL_BINDING_LABEL, &[])
            .map_err(|_| io::Error::other("the TLS connection exports nothing"))?;
        Ok(binding)
    }

    /// The other end is authenticated: raises the limits to those of a session.
    pub(crate) fn admit(&self) {
        if self.0.side() == quinn::Side::Server {
            self.0.set_max_concurrent_bi_streams(LANES.into());
        }
        self.0.set_receive_window(WINDOW.into());
        self.0.set_send_window(SEND_WINDOW);
    }

    /// A new stream, once the other end lets us have one. It hears of it with the first byte.
    pub(crate) async fn open(&self) -> io::Result<Stream> {
        let (send, receive) = self.0.open_bi().await?;
        Ok(Stream { link: self.clone(), send, receive })
    }

    /// The next stream that the other end opened.
    pub(crate) async fn accept(&self) -> io::Result<Stream> {
        let (send, receive) = self.0.accept_bi().await?;
        Ok(Stream { link: self.clone(), send, receive })
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("id", &self.0.stable_id()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("link", &self.link)
            .field("id", &self.send.id())
            .finish_non_exhaustive()
    }
}

impl Stream {
    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    /// What of the connection's waiting bytes go first: the control lane's (`None`), then urgent ones, then the rest.
    pub(crate) fn prioritise(&self, class: Option<LaneClass>) {
        let priority = match class {
            None => 3,
            Some(LaneClass::Urgent) => 2,
            Some(LaneClass::Bulk) => 0,
        };
        // A stream that is closed has nothing to send.
        let _ = self.send.set_priority(priority);
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        AsyncRead::poll_read(Pin::new(&mut self.receive), cx, buf)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        AsyncWrite::poll_write(Pin::new(&mut self.send), cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        AsyncWrite::poll_flush(Pin::new(&mut self.send), cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        AsyncWrite::poll_shutdown(Pin::new(&mut self.send), cx)
    }
}
