//! The reading end.

use std::fmt;

use bytes::{Buf, BytesMut};

use super::{
    CIPHERTEXT_BYTES, CLOSE, DATA, HEADER_BYTES, KEY_UPDATE, Limits, PING, Record, RecordError,
    UNAUTHENTICATED_BYTES,
};
use crate::ratchet::Chain;
use crate::session::SessionKeys;
use crate::suite::{Aead, TAG_BYTES};

/// Turns received bytes into records. After its first error it gives nothing but errors.
pub struct Opener {
    chain: Chain,
    aead: Aead,
    counter: u64,
    bytes: u64,
    /// The last exchange that was mixed in.
    mixed: u32,
    /// The last record was a key update.
    updated: bool,
    session: SessionKeys,
    limits: Limits,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing has verified yet.
    Unauthenticated,
    Open,
    Closed,
    Failed,
}

impl Opener {
    pub(crate) fn new(chain: Chain, session: SessionKeys) -> Self {
        let aead = chain.aead();
        Self {
            chain,
            aead,
            counter: 0,
            bytes: 0,
            mixed: 0,
            updated: false,
            session,
            limits: Limits::STANDARD,
            state: State::Unauthenticated,
        }
    }

    /// Lets the peer's first record be as long as any, since the peer has authenticated otherwise.
    pub(crate) fn authenticated(mut self) -> Self {
        self.state = State::Open;
        self
    }

    /// Takes the first whole record off `buffer`; `None` if more bytes are needed. It is decrypted where it lies, and
    /// its payload is split off without a copy. Key updates are handled here and not returned.
    pub fn open(&mut self, buffer: &mut BytesMut) -> Result<Option<Record>, RecordError> {
        let result = self.next(buffer);
        if result.is_err() {
            self.state = State::Failed;
        }
        result
    }

    /// Says that the connection has ended, with `rest` received but not opened: an error unless the peer closed the
    /// stream before.
    pub fn finish(&self, rest: &[u8]) -> Result<(), RecordError> {
        match self.state {
            State::Closed if rest.is_empty() => Ok(()),
            State::Closed => Err(RecordError::Closed),
            State::Failed => Err(RecordError::Failed),
            State::Unauthenticated | State::Open => Err(RecordError::Cut),
        }
    }

    /// How many bytes `buffer` lacks for its first record: at least 1, and of the record's body at most what a
    /// record may have.
    pub fn needed(&self, buffer: &[u8]) -> usize {
        let whole = match buffer.first_chunk::<HEADER_BYTES>() {
            Some(header) => {
                let length = usize::try_from(u32::from_be_bytes(*header)).unwrap_or(usize::MAX);
                HEADER_BYTES + length.min(self.longest())
            }
            None => HEADER_BYTES,
        };
        whole.saturating_sub(buffer.len()).max(1)
    }

    fn longest(&self) -> usize {
        match self.state {
            State::Unauthenticated => UNAUTHENTICATED_BYTES,
            State::Open | State::Closed | State::Failed => CIPHERTEXT_BYTES,
        }
    }

    fn next(&mut self, buffer: &mut BytesMut) -> Result<Option<Record>, RecordError> {
        loop {
            match self.state {
                State::Failed => return Err(RecordError::Failed),
                State::Closed if buffer.is_empty() => return Ok(None),
                State::Closed => return Err(RecordError::Closed),
                State::Unauthenticated | State::Open => {}
            }
            let Some((kind, payload)) = self.decrypt(buffer)? else { return Ok(None) };
            self.state = State::Open;
            if std::mem::replace(&mut self.updated, kind == KEY_UPDATE) && self.updated {
                return Err(RecordError::RepeatedUpdate);
            }
            match kind {
                DATA if payload.is_empty() => return Err(RecordError::Malformed),
                DATA => return Ok(Some(Record::Data(payload.freeze()))),
                KEY_UPDATE => self.update(&payload)?,
                PING | CLOSE if !payload.is_empty() => return Err(RecordError::Malformed),
                PING => return Ok(Some(Record::Ping)),
                CLOSE => {
                    self.state = State::Closed;
                    return Ok(Some(Record::Close));
                }
                unknown => return Err(RecordError::UnknownType(unknown)),
            }
        }
    }

    fn decrypt(&mut self, buffer: &mut BytesMut) -> Result<Option<(u8, BytesMut)>, RecordError> {
        let Some(&header) = buffer.first_chunk::<HEADER_BYTES>() else { return Ok(None) };
        let claimed = u32::from_be_bytes(header);
        let length = usize::try_from(claimed).map_err(|_| RecordError::TooLong(claimed))?;
        if length > self.longest() {
            return Err(RecordError::TooLong(claimed));
        }
        if length < 1 + TAG_BYTES {
            return Err(RecordError::TooShort(claimed));
        }
        if buffer.len() < HEADER_BYTES + length {
            return Ok(None);
        }
        if self.counter >= self.limits.hard_records || self.bytes + length as u64 > self.limits.hard_bytes {
            return Err(RecordError::Overused);
        }
        buffer.advance(HEADER_BYTES);
        let mut record = buffer.split_to(length);
        let tag = record.split_off(length - TAG_BYTES);
        let tag = tag.first_chunk::<TAG_BYTES>().ok_or(RecordError::TooShort(claimed))?;
        self.aead.open(self.counter, &header, &mut record, tag).map_err(|_| RecordError::Forged)?;
        self.counter += 1;
        self.bytes += length as u64;
        let kind = record.get_u8();
        Ok(Some((kind, record)))
    }

    fn update(&mut self, payload: &[u8]) -> Result<(), RecordError> {
        let named = u32::from_be_bytes(payload.try_into().map_err(|_| RecordError::Malformed)?);
        if named == 0 {
            self.chain.advance();
        } else {
            let unknown = RecordError::UnknownExchange(named);
            if named <= self.mixed {
                return Err(unknown);
            }
            self.chain.advance_with(named, &self.session.secret(named).ok_or(unknown)?);
            self.mixed = named;
        }
        self.aead = self.chain.aead();
        self.counter = 0;
        self.bytes = 0;
        Ok(())
    }

    #[cfg(test)]
    pub(crate) fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opener")
            .field("counter", &self.counter)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}
