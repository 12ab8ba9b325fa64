//! The control lane: messages, each as one length and its bytes.

mod rpc;

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll, ready};

use bytes::BytesMut;
use farhold_secure::exchange::{ExchangeAnswer, ExchangeOffer};
use farhold_wire::{LaneClass, WireError};

use crate::connect::lifecycle::Goodbye;
use crate::stream::RecordStream;

/// 32 random bytes that one side contributes to a lane's keys.
pub(crate) type LaneNonce = [u8; 32];

/// What the two sides say to each other about their session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Message {
    /// Side 1's newest attempt.
    Attempt(u64),
    /// Side 0 makes this leg the session, under this number.
    Nominate(u64),
    About {
        build: String,
    },
    LaneOffer {
        lane: u32,
        class: LaneClass,
        nonce: LaneNonce,
        bridge_leg: Option<u32>,
        /// On TCP, though the control lane runs on QUIC.
        tcp_beside: bool,
    },
    LaneAnswer {
        lane: u32,
        nonce: LaneNonce,
    },
    LaneRefusal {
        lane: u32,
        reason: String,
    },
    ExchangeOffer(ExchangeOffer),
    ExchangeAnswer(ExchangeAnswer),
    ExchangeConfirm(u32),
    Goodbye(Goodbye),
    Pairing(PairingStep),
    Ping(u64),
    Pong(u64),
}

/// The steps of a pairing, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PairingStep {
    Commitment([u8; 32]),
    Contribution([u8; 32]),
    Reveal([u8; 32]),
    Stored,
}

/// Why a control lane cannot go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ControlError {
    /// The lane broke.
    #[error(transparent)]
    Lane(#[from] io::Error),
    /// The contact ended the lane.
    #[error("the contact closed the lane")]
    Ended,
    /// What came is no message.
    #[error(transparent)]
    Message(#[from] WireError),
    /// A message that has no place here.
    #[error("a control message came out of turn")]
    OutOfTurn,
    /// More is said than the other side takes.
    #[error("the contact does not take our messages")]
    Overflow,
}

/// A control lane, by messages.
#[derive(Debug)]
pub(crate) struct ControlChannel {
    stream: RecordStream,
    received: BytesMut,
}

impl ControlChannel {
    pub(crate) fn new(stream: RecordStream) -> Self {
        Self { stream, received: BytesMut::new() }
    }

    #[cfg(test)]
    pub(crate) fn into_stream(self) -> RecordStream {
        self.stream
    }

    pub(crate) fn stream(&self) -> &RecordStream {
        &self.stream
    }

    pub(crate) fn stream_mut(&mut self) -> &mut RecordStream {
        &mut self.stream
    }

    /// Seals a message; [`Self::receive`] and [`Self::flush`] write it.
    pub(crate) fn send(&mut self, message: Message) -> Result<(), ControlError> {
        if !self.stream.has_room() {
            return Err(ControlError::Overflow);
        }
        Ok(self.stream.seal(message.encode().as_slice())?)
    }

    /// The next message; writes what is sealed meanwhile. Nothing is lost if it is given up.
    pub(crate) async fn receive(&mut self) -> Result<Message, ControlError> {
        poll_fn(|cx| self.poll_receive(cx)).await
    }

    /// Writes what is sealed.
    pub(crate) async fn flush(&mut self) -> Result<(), ControlError> {
        Ok(self.stream.drain().await?)
    }

    /// Ends the lane, with everything sealed before. Returns once the other end has closed it too: until then the
    /// system would take what still comes for a reason to reset the connection, and what was said would be lost.
    pub(crate) async fn close(&mut self) -> Result<(), ControlError> {
        poll_fn(|cx| self.stream.poll_close(cx)).await?;
        while poll_fn(|cx| self.stream.poll_chunk(cx)).await?.is_some() {}
        Ok(())
    }

    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<Message, ControlError>> {
        let drained = self.stream.poll_drain(cx);
        let next = self.poll_next(cx);
        match drained {
            // What the other end said before it stopped listening still counts.
            Poll::Ready(Err(error)) if next.is_pending() => Poll::Ready(Err(error.into())),
            Poll::Ready(_) | Poll::Pending => next,
        }
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Message, ControlError>> {
        loop {
            if let Some(message) = Message::decode(&mut self.received)? {
                return Poll::Ready(Ok(message));
            }
            match ready!(self.stream.poll_chunk(cx))? {
                Some(chunk) => self.received.extend_from_slice(&chunk),
                None => return Poll::Ready(Err(ControlError::Ended)),
            }
        }
    }
}

#[cfg(test)]
mod tests;
