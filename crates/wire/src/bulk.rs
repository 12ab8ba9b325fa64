//! Frames of a bulk lane. Either side asks and answers on the same lane.
//!
//! A frame is `kind (1) | request id (8, big-endian) | body length (4, big-endian) | body`. Bodies: a `ReadRequest`
//! (fetch), a `ReadHead` (head), plain bytes that follow each other from the head's offset on (data), one byte with
//! a `ReadFailure` or 0 for success (end), nothing (cancel), `SmallReads` (fetch small), and
//! `head length (2, big-endian) | ReadHead | all bytes` or nothing (small).

use bytes::{Buf, Bytes};
use prost::Message;

use crate::convert::WireError;
use crate::limits;
use crate::proto::peer as pb;
use crate::types::{ReadFailure, ReadHead, ReadRequest};

/// Bytes before a frame's body.
pub const HEADER_BYTES: usize = 13;

const FETCH: u8 = 1;
const HEAD: u8 = 2;
const DATA: u8 = 3;
const END: u8 = 4;
const CANCEL: u8 = 5;
const FETCH_SMALL: u8 = 6;
const SMALL: u8 = 7;

/// Bytes of the longest encoded `ReadRequest` and `ReadHead`.
const REQUEST_BYTES: usize = 128;
const HEAD_BYTES: usize = 8 << 10;
const SMALL_BYTES: usize = limits::SMALL_FILE_BYTES as usize;

/// One frame of a bulk lane; `id` is the asker's number of the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// Asks for a range.
    Fetch(u64, ReadRequest),
    /// Precedes the bytes.
    Head(u64, ReadHead),
    /// The next bytes, at most [`limits::PART_BYTES`].
    Data(u64, Bytes),
    /// Nothing more comes for this request.
    End(u64, Result<(), ReadFailure>),
    /// The asker no longer wants the rest.
    Cancel(u64),
    /// Asks for small files, whole: 1 to [`limits::SMALL_FILES`], each from its start on and of at most
    /// [`limits::SMALL_FILE_BYTES`].
    FetchSmall(u64, Vec<ReadRequest>),
    /// Answers the next request of those; `None` if that file is not to be had.
    Small(u64, Option<(ReadHead, Bytes)>),
}

impl Frame {
    /// The frame's beginning and, apart from it, its payload, which so is not copied.
    pub fn encode(self) -> (Bytes, Bytes) {
        // What of the body follows the header at once.
        let mut front = Vec::new();
        let (kind, id, body) = match self {
            Self::Fetch(id, request) => (FETCH, id, pb::ReadRequest::from(request).encode_to_vec().into()),
            Self::Head(id, head) => (HEAD, id, pb::ReadHead::from(head).encode_to_vec().into()),
            Self::Data(id, data) => (DATA, id, data),
            Self::End(id, outcome) => {
                let code = outcome.err().map_or(0, |failure| pb::ReadFailure::from(failure) as u8);
                (END, id, Bytes::copy_from_slice(&[code]))
            }
            Self::Cancel(id) => (CANCEL, id, Bytes::new()),
            Self::FetchSmall(id, requests) => {
                let requests = requests.into_iter().map(pb::ReadRequest::from).collect();
                (FETCH_SMALL, id, pb::SmallReads { requests }.encode_to_vec().into())
            }
            Self::Small(id, None) => (SMALL, id, Bytes::new()),
            Self::Small(id, Some((head, bytes))) => {
                let head = pb::ReadHead::from(head).encode_to_vec();
                front.extend_from_slice(&u16::try_from(head.len()).unwrap_or(u16::MAX).to_be_bytes());
                front.extend_from_slice(&head);
                (SMALL, id, bytes)
            }
        };
        let length = u32::try_from(front.len() + body.len()).unwrap_or(u32::MAX);
        let mut header = Vec::with_capacity(HEADER_BYTES + front.len());
        header.push(kind);
        header.extend_from_slice(&id.to_be_bytes());
        header.extend_from_slice(&length.to_be_bytes());
        header.append(&mut front);
        (header.into(), body)
    }

    /// Takes the first whole frame off `buffer` (`Bytes` or `BytesMut`, from which it is split without a copy); `None`
    /// if more bytes are needed.
    pub fn decode(buffer: &mut (impl Buf + AsRef<[u8]>)) -> Result<Option<Self>, WireError> {
        let Some(mut header) = buffer.as_ref().get(..HEADER_BYTES) else { return Ok(None) };
        let kind = header.get_u8();
        let id = header.get_u64();
        let length = usize::try_from(header.get_u32()).map_err(|_| WireError::TooLarge("frame"))?;
        let most = match kind {
            FETCH => REQUEST_BYTES,
            HEAD => HEAD_BYTES,
            DATA => limits::PART_BYTES,
            END => 1,
            CANCEL => 0,
            FETCH_SMALL => limits::SMALL_FILES * REQUEST_BYTES,
            SMALL => 2 + HEAD_BYTES + SMALL_BYTES,
            _ => return Err(WireError::Unknown("frame kind")),
        };
        if length > most {
            return Err(WireError::TooLarge("frame"));
        }
        if buffer.remaining() < HEADER_BYTES + length {
            return Ok(None);
        }
        buffer.advance(HEADER_BYTES);
        let body = buffer.copy_to_bytes(length);
        let frame = match kind {
            FETCH => Self::Fetch(id, message::<pb::ReadRequest>(body)?.try_into()?),
            HEAD => Self::Head(id, message::<pb::ReadHead>(body)?.try_into()?),
            DATA => Self::Data(id, body),
            END => Self::End(id, outcome(&body)?),
            FETCH_SMALL => Self::FetchSmall(id, small_requests(body)?),
            SMALL => Self::Small(id, small(body)?),
            _ => Self::Cancel(id),
        };
        Ok(Some(frame))
    }
}

fn message<M: Message + Default>(body: Bytes) -> Result<M, WireError> {
    M::decode(body).map_err(|_| WireError::Malformed)
}

fn small_requests(body: Bytes) -> Result<Vec<ReadRequest>, WireError> {
    let requests = message::<pb::SmallReads>(body)?.requests;
    if requests.is_empty() {
        return Err(WireError::Missing("requests"));
    }
    if requests.len() > limits::SMALL_FILES {
        return Err(WireError::TooLarge("number of requests"));
    }
    let requests = requests.into_iter().map(ReadRequest::try_from).collect::<Result<Vec<_>, _>>()?;
    if requests.iter().any(|request| request.offset != 0 || request.length > limits::SMALL_FILE_BYTES) {
        return Err(WireError::TooLarge("small file"));
    }
    Ok(requests)
}

/// A whole file: exactly the bytes that its head announces.
fn small(mut body: Bytes) -> Result<Option<(ReadHead, Bytes)>, WireError> {
    if body.is_empty() {
        return Ok(None);
    }
    let length = usize::from(body.try_get_u16().map_err(|_| WireError::Malformed)?);
    if length > body.len() {
        return Err(WireError::Length("head"));
    }
    let head: ReadHead = message::<pb::ReadHead>(body.split_to(length))?.try_into()?;
    if usize::try_from(head.length) != Ok(body.len()) {
        return Err(WireError::Length("small file"));
    }
    Ok(Some((head, body)))
}

fn outcome(body: &[u8]) -> Result<Result<(), ReadFailure>, WireError> {
    match body.first() {
        None => Err(WireError::Missing("outcome")),
        Some(0) => Ok(Ok(())),
        Some(&code) => match pb::ReadFailure::try_from(i32::from(code)) {
            Ok(failure) => Ok(Err(failure.into())),
            Err(_) => Err(WireError::Unknown("read failure")),
        },
    }
}

#[cfg(test)]
mod tests;
