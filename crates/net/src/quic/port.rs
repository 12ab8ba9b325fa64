//! A UDP socket that QUIC shares with datagrams of our own, and whose bytes are counted.
//!
//! The two top bits of a datagram's first byte tell the two apart ([`farhold_wire::datagram`]). What quinn would answer
//! though no contact sent it (another version of QUIC, too short an id) does not reach it: whoever is no contact
//! hears nothing.

use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use farhold_wire::datagram;
use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, Runtime, UdpPoller};
use tokio::sync::broadcast;

use crate::counters::WireCounter;

/// Datagrams of ours that a slow reader may be behind.
const BEHIND: usize = 64;
/// The version of QUIC that we speak (RFC 9000).
const VERSION: [u8; 4] = [0, 0, 0, 1];
/// A client's first packets go to an id of at least that many bytes (RFC 9000, section 7.2).
const ID_LEAST: u8 = 8;

/// The socket.
pub(super) struct Port {
    inner: Arc<dyn AsyncUdpSocket>,
    /// The same socket, for datagrams of ours.
    plain: std::net::UdpSocket,
    ours: broadcast::Sender<(SocketAddr, Bytes)>,
    counter: Arc<WireCounter>,
}

/// Whose a datagram is.
#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Quic,
    Ours,
    Nobodys,
}

impl Port {
    pub(super) fn new(
        socket: std::net::UdpSocket,
        runtime: &dyn Runtime,
        counter: Arc<WireCounter>,
    ) -> io::Result<Arc<Self>> {
        // Both share what the socket is, so this holds for both.
        socket.set_nonblocking(true)?;
        let plain = socket.try_clone()?;
        let inner = runtime.wrap_udp_socket(socket)?;
        Ok(Arc::new(Self { inner, plain, ours: broadcast::Sender::new(BEHIND), counter }))
    }

    pub(super) fn send(&self, bytes: &[u8], to: SocketAddr) {
        let to = match (self.inner.local_addr(), to) {
            (Ok(SocketAddr::V6(_)), SocketAddr::V4(to)) => (to.ip().to_ipv6_mapped(), to.port()).into(),
            (Ok(_) | Err(_), to) => to,
        };
        match self.plain.send_to(bytes, to) {
            Ok(sent) => self.counter.add_sent(sent),
            Err(error) => tracing::debug!(%error, "a datagram was not sent"),
        }
    }

    pub(super) fn datagrams(&self) -> broadcast::Receiver<(SocketAddr, Bytes)> {
        self.ours.subscribe()
    }

    /// Leaves in `buffer` only what is QUIC's.
    fn sort(&self, buffer: &mut [u8], meta: &mut RecvMeta) {
        self.counter.add_received(meta.len);
        let stride = meta.stride.max(1);
        let quics = |datagram: &[u8]| kind(datagram) == Kind::Quic;
        if buffer[..meta.len].chunks(stride).all(quics) {
            return;
        }
        let mut kept = 0;
        for start in (0..meta.len).step_by(stride) {
            let datagram = start..(start + stride).min(meta.len);
            match kind(&buffer[datagram.clone()]) {
                Kind::Quic => {
                    buffer.copy_within(datagram.clone(), kept);
                    kept += datagram.len();
                }
                Kind::Ours => {
                    let from = SocketAddr::new(meta.addr.ip().to_canonical(), meta.addr.port());
                    // Without a reader they are nobody's.
                    let _ = self.ours.send((from, Bytes::copy_from_slice(&buffer[datagram])));
                }
                Kind::Nobodys => {}
            }
        }
        meta.len = kept;
    }
}

/// By the invariants of QUIC (RFC 8999) and the fixed bit of version 1 (RFC 9000, section 17).
fn kind(datagram: &[u8]) -> Kind {
    const LONG: u8 = 0x80;
    const FIXED: u8 = 0x40;
    match *datagram {
        [first, ..] if first & (LONG | FIXED) == 0 => {
            if datagram.starts_with(&datagram::MAGIC) {
                Kind::Ours
            } else {
                Kind::Nobodys
            }
        }
        [first, ..] if first & (LONG | FIXED) == FIXED => Kind::Quic,
        [first, a, b, c, d, length, ..]
            if first & FIXED == FIXED && [a, b, c, d] == VERSION && length >= ID_LEAST =>
        {
            Kind::Quic
        }
        _ => Kind::Nobodys,
    }
}

impl fmt::Debug for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Port").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl AsyncUdpSocket for Port {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Arc::clone(&self.inner).create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.inner.try_send(transmit)?;
        self.counter.add_sent(transmit.contents.len());
        Ok(())
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let received = ready!(self.inner.poll_recv(cx, bufs, meta))?;
        for (buffer, meta) in bufs.iter_mut().zip(meta.iter_mut()).take(received) {
            self.sort(buffer, meta);
        }
        Poll::Ready(Ok(received))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.inner.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.inner.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.inner.may_fragment()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use quinn::TokioRuntime;

    use super::*;

    fn initial(id: u8) -> Vec<u8> {
        [&[0xc3, 0, 0, 0, 1, id], &[7; 40][..]].concat()
    }

    #[test]
    fn whose_a_datagram_is() {
        assert_eq!(kind(&initial(20)), Kind::Quic);
        assert_eq!(kind(&[0x41, 1, 2]), Kind::Quic);
        assert_eq!(kind(&[&datagram::MAGIC[..], &[1, 2, 3]].concat()), Kind::Ours);
        // Too short an id, another version, no version at all, no fixed bit.
        let others = [
            initial(7),
            vec![0xc3, 0x6b, 0x33, 0x43, 0xcf, 20, 1],
            vec![0xc3, 0, 0, 0, 0, 20, 1],
            vec![0x80; 30],
        ];
        for other in others {
            assert_eq!(kind(&other), Kind::Nobodys, "{other:?}");
        }
        for short in [&[][..], &[0xc3], &[0xc3, 0, 0, 0, 1], &[0x08], &datagram::MAGIC[..3]] {
            assert_eq!(kind(short), Kind::Nobodys, "{short:?}");
        }
    }

    proptest! {
        /// Several datagrams come in one buffer, all but the last of one length.
        #[test]
        fn sorting_keeps_what_is_quics(kinds in prop::collection::vec(0..3_u8, 1..20), last in 1..50_usize) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
            let _entered = runtime.enter();
            let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
            let port = Port::new(socket, &TokioRuntime, Arc::default()).unwrap();
            let mut ours = port.datagrams();
            let mut datagrams: Vec<Vec<u8>> = (0..)
                .zip(&kinds)
                .map(|(index, kind)| {
                    let head = match kind {
                        0 => &[0x41, 0, 0, 0][..],
                        1 => &datagram::MAGIC,
                        _ => &[0x80, 0, 0, 0],
                    };
                    [head, &[index; 46]].concat()
                })
                .collect();
            let end = datagrams.last_mut().unwrap();
            end.truncate(last.max(4));
            let mut buffer = datagrams.concat();
            let mut meta = RecvMeta::default();
            (meta.len, meta.stride) = (buffer.len(), 50.min(buffer.len()));
            port.sort(&mut buffer, &mut meta);
            let of = |wanted: u8| {
                let with = kinds.iter().zip(&datagrams).filter(move |(kind, _)| **kind == wanted);
                with.map(|(_, datagram)| datagram.clone()).collect::<Vec<_>>()
            };
            prop_assert_eq!(&buffer[..meta.len], of(0).concat());
            let mut heard = Vec::new();
            while let Ok((_, bytes)) = ours.try_recv() {
                heard.push(bytes.to_vec());
            }
            prop_assert_eq!(heard, of(1));
        }
    }
}
