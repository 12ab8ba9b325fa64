//! The handshake of a leg: `Noise_hybridKK_25519+MLKEM1024_AESGCM_SHA512`, one round trip.
//!
//! Both sides know each other's keys beforehand; X25519 and ML-KEM-1024 each alone would keep the result secret. The
//! initiator is whoever sent the leg's opening. Its message can be repeated by anybody who saw it, so it says nothing
//! secret and causes nothing but an answer; the responder gets its [`Established`] only when the initiator's first
//! record, which [`Initiator::finish`] writes, verifies.
//!
//! On the wire a message is `length (2, big-endian) | Noise message`, at most [`MESSAGE_BYTES`] after the length.

mod noise;
mod payload;

use std::time::{Duration, Instant};

use bytes::{Buf, BytesMut};
use sha2::{Digest, Sha512};
use zeroize::Zeroizing;

use crate::exchange::Exchange;
use crate::identity::{Identity, PublicKeys};
use crate::kdf::Key;
use crate::opening::{LegKind, OPENING_BYTES, Opening};
use crate::random::{self, RandomError};
use crate::ratchet::LaneName;
use crate::record::{Opener, Record, RecordError, Sealer};
use crate::rendezvous::{PairSecret, Rendezvous};
use crate::session::SessionKeys;
use crate::side::Side;
use crate::suite::{self, Suite};
use crate::words::WordsKey;

use noise::Noise;
use payload::{Choice, Proposal};

/// Longest handshake message, without its length.
pub const MESSAGE_BYTES: usize = 8 << 10;
/// How long a leg may take from its opening to its first record.
pub const HANDSHAKE_WITHIN: Duration = Duration::from_secs(5);
/// The version of the protocol that this program speaks.
pub const PROTOCOL_VERSION: u8 = 1;

/// Label of the [`ChannelBinding`].
pub const CHANNEL_BINDING_LABEL: &[u8] = b"EXPORTER-farhold-noise-v1";

const LENGTH_BYTES: usize = 2;

/// What both sides of a leg know before its handshake.
#[derive(Debug, Clone, Copy)]
pub struct Leg<'a> {
    /// My keys.
    pub identity: &'a Identity,
    /// The contact's keys.
    pub peer: &'a PublicKeys,
    /// What the opening was made from.
    pub rendezvous: &'a Rendezvous,
    /// How the leg goes.
    pub kind: LegKind,
    /// The opening as sent on this leg.
    pub opening: &'a Opening,
    /// What only the two ends of the channel below know: of a QUIC leg the TLS exporter's output, else nothing. Who
    /// ends that channel in the middle has another one on each side, and the handshake fails.
    pub binding: Option<&'a ChannelBinding>,
}

/// Output of the TLS exporter (RFC 8446, section 7.5) under [`CHANNEL_BINDING_LABEL`], without context.
pub type ChannelBinding = [u8; 32];

/// What this program can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    /// One bit each; bits that the other side does not know are ignored.
    pub capabilities: u64,
    /// Whether AES is in hardware here.
    pub hardware_aes: bool,
}

impl Abilities {
    /// These capabilities, on this machine.
    pub fn here(capabilities: u64) -> Self {
        Self { capabilities, hardware_aes: suite::hardware_aes() }
    }
}

/// Why a leg's handshake failed. The leg is closed without a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    /// A message over [`MESSAGE_BYTES`].
    #[error("a handshake message of {0} bytes is too long")]
    TooLong(usize),
    /// A message that lacks parts.
    #[error("a handshake message of {0} bytes is too short")]
    TooShort(usize),
    /// A message that the contact did not make for this leg.
    #[error("a handshake message does not verify")]
    Forged,
    /// An ephemeral key that is malformed or of low order.
    #[error("the peer's ephemeral key is unfit")]
    UnfitKey,
    /// An authentic message whose payload cannot be read.
    #[error("a handshake payload is malformed")]
    Malformed,
    /// No protocol version that both sides speak.
    #[error("the peer speaks no common protocol version")]
    NoCommonVersion,
    /// No record suite that both sides have.
    #[error("the peer has no common record suite")]
    NoCommonSuite,
    /// The responder chose what was not proposed.
    #[error("the peer chose what was not proposed")]
    NotProposed,
    /// The initiator's first record is not its confirmation.
    #[error("the peer did not confirm the handshake")]
    Unconfirmed,
    /// The initiator's first record does not verify.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// No random numbers.
    #[error(transparent)]
    Random(#[from] RandomError),
    /// The Noise library refused or failed.
    #[error("the handshake failed inside")]
    Internal,
}

/// A leg that is authenticated at both ends.
#[derive(Debug)]
pub struct Established {
    /// What encrypts all lanes of the session.
    pub suite: Suite,
    /// The peer's capability bits.
    pub capabilities: u64,
    /// Writes the leg's records.
    pub sealer: Sealer,
    /// Reads the leg's records.
    pub opener: Opener,
    /// Makes further lanes.
    pub session: SessionKeys,
    /// Renews the keys of a long session.
    pub exchange: Exchange,
    /// Of a pairing leg: what the contact is saved with, and what the authentication words come from.
    pub pairing: Option<PairingKeys>,
}

/// What a pairing brings.
#[derive(Debug)]
pub struct PairingKeys {
    /// The new contact's secret.
    pub secret: PairSecret,
    /// For the authentication words.
    pub words: WordsKey,
}

/// Takes a whole handshake message off `buffer`; `None` if more bytes are needed.
pub fn take_message(buffer: &mut BytesMut) -> Result<Option<BytesMut>, HandshakeError> {
    let Some(&length) = buffer.first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
    let length = usize::from(u16::from_be_bytes(length));
    if length > MESSAGE_BYTES {
        return Err(HandshakeError::TooLong(length));
    }
    if buffer.len() < LENGTH_BYTES + length {
        return Ok(None);
    }
    buffer.advance(LENGTH_BYTES);
    Ok(Some(buffer.split_to(length)))
}

/// The side that sent the opening, waiting for the answer.
#[derive(Debug)]
pub struct Initiator {
    noise: Noise,
    proposal: Proposal,
    proposal_hash: [u8; 64],
    side: Side,
    pairing_keys: Option<Vec<u8>>,
}

impl Initiator {
    /// Begins: the bytes to send after the opening.
    pub fn start(leg: &Leg<'_>, abilities: Abilities, out: &mut BytesMut) -> Result<Self, HandshakeError> {
        let side = leg.rendezvous.side();
        let mut noise = Noise::new(leg, true, &prologue(leg, side))?;
        let proposal = Proposal::new(abilities);
        let encoded = proposal.encode();
        write(&mut noise, &encoded, out)?;
        Ok(Self {
            noise,
            proposal,
            proposal_hash: Sha512::digest(&encoded).into(),
            side,
            pairing_keys: pairing_keys(leg),
        })
    }

    /// Takes the answer, which authenticates the responder, and appends my first record to `out`. Until that has
    /// arrived the responder sends nothing.
    pub fn finish(
        mut self,
        message: &[u8],
        now: Instant,
        out: &mut BytesMut,
    ) -> Result<Established, HandshakeError> {
        let encoded = read(&mut self.noise, message)?;
        let choice = Choice::decode(&encoded)?;
        if !self.proposal.allows(&choice) {
            return Err(HandshakeError::NotProposed);
        }
        let finished = Finished {
            noise: self.noise,
            proposal_hash: self.proposal_hash,
            choice_hash: Sha512::digest(&encoded).into(),
            suite: choice.suite,
            side: self.side,
            peer_capabilities: choice.capabilities,
            pairing_keys: self.pairing_keys,
        };
        let mut established = finished.establish(now)?;
        established.opener = established.opener.authenticated();
        established.sealer.ping(now, out)?;
        Ok(established)
    }
}

/// The responder's end of a leg whose initiator has not proved to be the contact: its message may be a repeated one.
/// There is nothing to do with it but wait.
#[derive(Debug)]
pub struct Unconfirmed(Box<Established>);

/// What the initiator's bytes made of a leg.
#[derive(Debug)]
pub enum Confirmation {
    /// More bytes are needed.
    Waiting(Unconfirmed),
    /// The initiator is the contact.
    Established(Box<Established>),
}

/// Takes the initiator's message and appends the answer to `out`.
pub fn respond(
    leg: &Leg<'_>,
    abilities: Abilities,
    message: &[u8],
    now: Instant,
    out: &mut BytesMut,
) -> Result<Unconfirmed, HandshakeError> {
    let side = leg.rendezvous.side();
    let mut noise = Noise::new(leg, false, &prologue(leg, side.other()))?;
    let proposal_bytes = read(&mut noise, message)?;
    let proposal = Proposal::decode(&proposal_bytes)?;
    let choice = Choice::new(abilities, &proposal)?;
    let choice_bytes = choice.encode();
    write(&mut noise, &choice_bytes, out)?;
    let finished = Finished {
        noise,
        proposal_hash: Sha512::digest(&proposal_bytes).into(),
        choice_hash: Sha512::digest(&choice_bytes).into(),
        suite: choice.suite,
        side,
        peer_capabilities: proposal.capabilities,
        pairing_keys: pairing_keys(leg),
    };
    Ok(Unconfirmed(Box::new(finished.establish(now)?)))
}

impl Unconfirmed {
    /// Looks for the initiator's first record in `buffer`, where further ones may follow it.
    pub fn confirm(mut self, buffer: &mut BytesMut) -> Result<Confirmation, HandshakeError> {
        match self.0.opener.open(buffer)? {
            None => Ok(Confirmation::Waiting(self)),
            Some(Record::Ping) => Ok(Confirmation::Established(self.0)),
            Some(Record::Data(_) | Record::Close) => Err(HandshakeError::Unconfirmed),
        }
    }
}

/// A handshake whose messages have all been seen.
struct Finished {
    noise: Noise,
    proposal_hash: [u8; 64],
    choice_hash: [u8; 64],
    suite: Suite,
    side: Side,
    peer_capabilities: u64,
    /// Of a pairing leg: both sides' public keys.
    pairing_keys: Option<Vec<u8>>,
}

impl Finished {
    /// Derives everything from the session secret, which ends here.
    fn establish(self, now: Instant) -> Result<Established, HandshakeError> {
        let Self { noise, proposal_hash, choice_hash, suite, side, peer_capabilities, pairing_keys } = self;
        let (handshake_hash, keys) = noise.finish()?;
        let secret = Key::extract(&handshake_hash, &*keys)
            .derive("session", &[&[suite.number()], &proposal_hash, &choice_hash]);
        let session = SessionKeys::new(suite, side);
        let chain = |sender: Side| secret.derive("control chain", &[&[sender.number()]]);
        Ok(Established {
            suite,
            capabilities: peer_capabilities,
            sealer: session.sealer(LaneName::CONTROL, chain(side)),
            opener: session.opener(LaneName::CONTROL, chain(side.other())),
            exchange: Exchange::new(session.clone(), now),
            pairing: pairing_keys.map(|keys| PairingKeys {
                secret: PairSecret::from_bytes(&secret.expand("pair secret", &[])),
                words: WordsKey::new(handshake_hash, keys),
            }),
            session,
        })
    }
}

/// Side zero's public keys, then side one's, if this leg is to pair them.
fn pairing_keys(leg: &Leg<'_>) -> Option<Vec<u8>> {
    let (mine, theirs) = (leg.identity.public(), leg.peer);
    let ordered = match leg.rendezvous.side() {
        Side::Zero => [mine, theirs],
        Side::One => [theirs, mine],
    };
    leg.rendezvous.is_pairing().then(|| ordered.map(PublicKeys::to_bytes).concat())
}

/// What both sides must agree on for the handshake to succeed; every field has a fixed length, and the last one is there
/// or not.
fn prologue(leg: &Leg<'_>, initiator: Side) -> Vec<u8> {
    let mut prologue = Vec::with_capacity(96);
    prologue.extend_from_slice(b"farhold");
    prologue.extend_from_slice(&[
        PROTOCOL_VERSION,
        leg.kind.number(),
        initiator.number(),
        u8::from(leg.rendezvous.is_pairing()),
    ]);
    let opening: &[u8; OPENING_BYTES] = leg.opening.as_bytes();
    prologue.extend_from_slice(opening);
    prologue.extend_from_slice(leg.binding.map_or(&[], ChannelBinding::as_slice));
    prologue
}

fn write(noise: &mut Noise, payload: &[u8], out: &mut BytesMut) -> Result<(), HandshakeError> {
    let message = noise.write(payload)?;
    let length = u16::try_from(message.len()).map_err(|_| HandshakeError::TooLong(message.len()))?;
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(&message);
    Ok(())
}

fn read(noise: &mut Noise, message: &[u8]) -> Result<Zeroizing<Vec<u8>>, HandshakeError> {
    if message.len() > MESSAGE_BYTES {
        return Err(HandshakeError::TooLong(message.len()));
    }
    noise.read(message)
}

#[cfg(test)]
mod tests;
