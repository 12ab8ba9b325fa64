//! The writing end.

use std::fmt;
use std::time::Instant;

use bytes::{Buf, BufMut, BytesMut};

use super::{
    CLOSE, DATA, HEADER_BYTES, KEY_UPDATE, Limits, OVERHEAD_BYTES, PAYLOAD_BYTES, PING, RecordError,
};
use crate::ratchet::Chain;
use crate::session::SessionKeys;
use crate::suite::{Aead, TAG_BYTES};

/// Turns payloads into records. It renews its key by itself, before the record that is due for it.
pub struct Sealer {
    chain: Chain,
    aead: Aead,
    counter: u64,
    bytes: u64,
    first_use: Option<Instant>,
    /// The last exchange that was mixed in, or missed.
    mixed: u32,
    session: SessionKeys,
    limits: Limits,
    closed: bool,
}

impl Sealer {
    pub(crate) fn new(chain: Chain, session: SessionKeys) -> Self {
        let aead = chain.aead();
        // A new lane has fresh keys: it need not mix in what came before it.
        let mixed = session.epoch();
        Self {
            chain,
            aead,
            counter: 0,
            bytes: 0,
            first_use: None,
            mixed,
            session,
            limits: Limits::STANDARD,
            closed: false,
        }
    }

    /// Appends a data record to `out`: 1 byte to [`PAYLOAD_BYTES`] of payload, best [`super::CHUNK_BYTES`], copied
    /// once and encrypted where it then lies. `a.chain(b)` makes one record of two pieces.
    pub fn data(&mut self, now: Instant, payload: impl Buf, out: &mut BytesMut) -> Result<(), RecordError> {
        match payload.remaining() {
            0 => Err(RecordError::Empty),
            length if length > PAYLOAD_BYTES => Err(RecordError::PayloadTooLarge(length)),
            _ => self.seal(now, DATA, payload, out),
        }
    }

    /// Appends a ping to `out`.
    pub fn ping(&mut self, now: Instant, out: &mut BytesMut) -> Result<(), RecordError> {
        self.seal(now, PING, [].as_slice(), out)
    }

    /// Appends a close record to `out`, the last record of this stream.
    pub fn close(&mut self, now: Instant, out: &mut BytesMut) -> Result<(), RecordError> {
        self.seal(now, CLOSE, [].as_slice(), out)?;
        self.closed = true;
        Ok(())
    }

    fn seal(
        &mut self,
        now: Instant,
        kind: u8,
        payload: impl Buf,
        out: &mut BytesMut,
    ) -> Result<(), RecordError> {
        if self.closed {
            return Err(RecordError::Closed);
        }
        let released = self.session.epoch();
        if released > self.mixed {
            self.update(released, out);
        } else if self.is_due(now) {
            self.update(0, out);
        }
        self.first_use.get_or_insert(now);
        self.append(kind, payload, out);
        Ok(())
    }

    fn is_due(&self, now: Instant) -> bool {
        self.bytes >= self.limits.bytes
            || self.counter >= self.limits.records
            || self.first_use.is_some_and(|first| now.saturating_duration_since(first) >= self.limits.age)
    }

    /// Writes the last record under this key and goes to the next, which mixes in `exchange` unless that is 0.
    pub(super) fn update(&mut self, exchange: u32, out: &mut BytesMut) {
        // A lane that was silent for a whole epoch may find that exchange replaced: it goes without, and mixes in the
        // newer one once that is released.
        let secret = self.session.secret(exchange);
        let named = if secret.is_some() { exchange } else { 0 };
        self.append(KEY_UPDATE, named.to_be_bytes().as_slice(), out);
        match secret {
            Some(secret) => self.chain.advance_with(named, &secret),
            None => self.chain.advance(),
        }
        self.mixed = self.mixed.max(exchange);
        self.aead = self.chain.aead();
        self.counter = 0;
        self.bytes = 0;
        self.first_use = None;
    }

    pub(super) fn append(&mut self, kind: u8, payload: impl Buf, out: &mut BytesMut) {
        let payload_length = payload.remaining();
        let length = 1 + payload_length + TAG_BYTES;
        let header = u32::try_from(length).expect("a payload is at most 1 MiB").to_be_bytes();
        let start = out.len();
        out.reserve(OVERHEAD_BYTES + payload_length);
        out.put_slice(&header);
        out.put_u8(kind);
        out.put(payload);
        let tag = self.aead.seal(self.counter, &header, &mut out[start + HEADER_BYTES..]);
        out.put_slice(&tag);
        self.counter += 1;
        self.bytes += length as u64;
    }

    #[cfg(test)]
    pub(crate) fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealer")
            .field("counter", &self.counter)
            .field("closed", &self.closed)
            .finish_non_exhaustive()
    }
}
