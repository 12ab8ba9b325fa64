//! Calls between two contacts, whatever lane they take.

pub(crate) mod answer;
pub(crate) mod rpc;
pub(crate) mod serving;

use farhold_wire::{ReadFailure, ReadHead, WireError};
use futures_util::stream::BoxStream;

/// Why a call on one lane has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CallError {
    /// The lane was lost: the call can be made again on another.
    #[error("the lane was lost")]
    Lost,
    /// The contact answered that it cannot.
    #[error(transparent)]
    Failed(#[from] ReadFailure),
    /// The answer is none.
    #[error(transparent)]
    Protocol(#[from] WireError),
}

/// One of several small files asked for: all its bytes, or `None` if it is not to be had.
pub(crate) type SmallFile = Option<(ReadHead, bytes::Bytes)>;

/// A read that is being answered.
pub(crate) struct Answer {
    pub(crate) head: ReadHead,
    /// Exactly the bytes that the head announces, or an error. Dropping it cancels the read.
    pub(crate) data: BoxStream<'static, Result<bytes::Bytes, CallError>>,
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answer").field("head", &self.head).finish_non_exhaustive()
    }
}
