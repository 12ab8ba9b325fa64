//! The socket of the UDP relay: many datagrams with one system call, where the system can do that.

use std::io::{self, IoSliceMut};

use quinn_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSocketState};
use socket2::SockRef;
use tokio::io::Interest;
use tokio::net::UdpSocket;

use super::outbox::Block;

/// Bytes that the system should hold in each direction: what a link of 1 Gbit/s brings in 60 ms.
const BUFFER_BYTES: usize = 8 << 20;
/// Bytes of the largest datagram, or of a block of them that the system has gathered.
const READ_BYTES: usize = 65_536;

#[derive(Debug)]
pub(crate) struct Socket {
    io: UdpSocket,
    state: UdpSocketState,
    /// Datagrams longer than this are not sent as a block: one was refused, being too long for the link.
    block_segment: usize,
}

/// What was received.
#[derive(Debug)]
pub(crate) struct Inbox {
    buffers: Vec<Vec<u8>>,
    metas: [RecvMeta; BATCH_SIZE],
    filled: usize,
}

/// Datagrams of one source that came together.
#[derive(Debug)]
pub(crate) struct Received<'a> {
    pub(crate) meta: RecvMeta,
    bytes: &'a [u8],
}

impl<'a> Received<'a> {
    /// Each of them; none is empty.
    pub(crate) fn datagrams(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.bytes.chunks(self.meta.stride.max(1))
    }
}

impl Inbox {
    pub(crate) fn new() -> Self {
        let buffers = vec![vec![0; READ_BYTES]; BATCH_SIZE];
        Self { buffers, metas: [RecvMeta::default(); BATCH_SIZE], filled: 0 }
    }

    pub(crate) fn received(&self) -> impl Iterator<Item = Received<'_>> {
        let filled = self.metas.iter().zip(&self.buffers).take(self.filled);
        filled
            .map(|(meta, buffer)| Received { meta: *meta, bytes: buffer.get(..meta.len).unwrap_or_default() })
    }
}

impl Socket {
    pub(crate) fn new(io: UdpSocket) -> io::Result<Self> {
        let state = UdpSocketState::new((&io).into())?;
        enlarge_buffers(&io);
        Ok(Self { io, state, block_segment: usize::MAX })
    }

    /// Datagrams that a block may hold, if each has so many bytes.
    pub(crate) fn block_datagrams(&self, bytes: usize) -> usize {
        if bytes > self.block_segment { 1 } else { self.state.max_gso_segments() }
    }

    /// Waits until there is something in the inbox.
    pub(crate) async fn receive(&self, inbox: &mut Inbox) -> io::Result<()> {
        let Inbox { buffers, metas, filled } = inbox;
        // A receive that fails, or is given up, leaves nothing.
        *filled = 0;
        *filled = self
            .io
            .async_io(Interest::READABLE, || {
                let mut slices: Vec<_> = buffers.iter_mut().map(|buffer| IoSliceMut::new(buffer)).collect();
                self.state.recv((&self.io).into(), &mut slices, metas)
            })
            .await?;
        Ok(())
    }

    /// Sends a datagram without waiting.
    pub(crate) fn send_one(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.io.try_io(Interest::WRITABLE, || self.state.try_send((&self.io).into(), transmit))
    }

    /// Sends a block without waiting; one by one if the system refuses it as a block.
    pub(crate) fn send(&mut self, block: &Block) -> io::Result<()> {
        let Block { route, ecn, segment, bytes } = block;
        let destination = route.to;
        let single =
            |contents| Transmit { destination, ecn: *ecn, contents, segment_size: None, src_ip: route.from };
        if bytes.len() <= *segment {
            return self.send_one(&single(bytes));
        }
        if let Err(error) = self.send_one(&Transmit { segment_size: Some(*segment), ..single(bytes) }) {
            if error.kind() == io::ErrorKind::WouldBlock {
                return Err(error);
            }
            // Either this machine cannot send blocks, or these datagrams are longer than the link takes. The library
            // believes the first and never tries again, so a fresh state forgets that where the second is so.
            if error.kind() == io::ErrorKind::InvalidInput {
                self.block_segment = segment - 1;
                self.state = UdpSocketState::new((&self.io).into())?;
            }
            return bytes.chunks(*segment).try_for_each(|datagram| self.send_one(&single(datagram)));
        }
        Ok(())
    }
}

/// Asks for large buffers; beyond the system's bounds where it lets this program do so. Small ones lose datagrams when
/// the machine is busy, so what is got is told.
fn enlarge_buffers(io: &UdpSocket) {
    let socket = SockRef::from(io);
    #[cfg(target_os = "linux")]
    let (receive, send) = (
        rustix::net::sockopt::set_socket_recv_buffer_size_force(io, BUFFER_BYTES).map_err(io::Error::from),
        rustix::net::sockopt::set_socket_send_buffer_size_force(io, BUFFER_BYTES).map_err(io::Error::from),
    );
    #[cfg(not(target_os = "linux"))]
    let (receive, send): (io::Result<()>, io::Result<()>) =
        (Err(io::ErrorKind::Unsupported.into()), Err(io::ErrorKind::Unsupported.into()));
    let receive = receive.or_else(|_| socket.set_recv_buffer_size(BUFFER_BYTES));
    let send = send.or_else(|_| socket.set_send_buffer_size(BUFFER_BYTES));
    if let Err(error) = receive.and(send) {
        tracing::debug!(%error, "the system's buffers stay as they are");
    }
    match socket.recv_buffer_size() {
        Ok(bytes) if bytes < BUFFER_BYTES => {
            tracing::info!(bytes, "the UDP receive buffer is small; net.core.rmem_max bounds it");
        }
        Ok(_) => {}
        Err(error) => tracing::debug!(%error, "the size of the receive buffer is unknown"),
    }
}
