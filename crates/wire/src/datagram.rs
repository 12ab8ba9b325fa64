//! Our own UDP datagrams: between a program and the relay's UDP port, and between two programs that open their NATs
//! to each other.
//!
//! A datagram is `MAGIC (4) | kind (1) | fields`, each kind of one exact length. The top two bits of its first byte
//! are 00. Every QUIC packet has the second of them set (RFC 9000, section 17; so the "grease" of RFC 9287, which
//! leaves it to chance, must be off), which lets both share a port. Addresses are 16 bytes of IPv6 address, IPv4 ones
//! mapped, and 2 bytes of port, big-endian.
//!
//! A program asks the relay [`Where`](Datagram::Where) and hears [`Here`](Datagram::Here). With
//! [`Join`](Datagram::Join) it becomes a side of a flow, and the relay answers [`Joined`](Datagram::Joined), to both
//! sides when the second comes, or [`Refused`](Datagram::Refused). From then on everything that does not begin with
//! [`MAGIC`] goes to the other side as it is. No request draws more bytes than it has.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use crate::bridge::{BridgeSide, BridgeToken};
use crate::convert::WireError;

/// How each of our datagrams begins.
pub const MAGIC: [u8; 4] = [0x08, b'f', b'h', 1];
/// Bytes of the longest.
pub const LONGEST: usize = JOIN_BYTES;

const WHERE: u8 = 1;
const HERE: u8 = 2;
const JOIN: u8 = 3;
const JOINED: u8 = 4;
const REFUSED: u8 = 5;
const PUNCH: u8 = 6;

const HEAD_BYTES: usize = MAGIC.len() + 1;
const ADDRESS_BYTES: usize = 18;
const HERE_BYTES: usize = HEAD_BYTES + 8 + ADDRESS_BYTES;
/// Padded to the length of its answer.
const WHERE_BYTES: usize = HERE_BYTES;
const JOINED_BYTES: usize = HEAD_BYTES + 8 + 8 + 1 + ADDRESS_BYTES;
/// Padded to the length of its two answers, one for each side.
const JOIN_BYTES: usize = 2 * JOINED_BYTES;

/// Random, chosen by who asks; the answer repeats it.
pub type RequestNonce = [u8; 8];
/// What the relay gives to an address, and only who hears at that address can give back.
pub type Cookie = [u8; 8];

/// One of our datagrams, checked.
#[derive(Clone, PartialEq, Eq)]
pub enum Datagram {
    /// To the relay: from which address do I come?
    Where {
        /// For the answer.
        nonce: RequestNonce,
    },
    /// The relay's answer to `Where`.
    Here {
        /// Of the request.
        nonce: RequestNonce,
        /// Where the request came from.
        address: SocketAddr,
    },
    /// To the relay: I am this side of the flow of this token, and I am here. To be repeated, every 10 s and after a
    /// change of my address, and at once with the cookie of an answer that brings a new one: until then the relay
    /// passes on little to me.
    Join(Join),
    /// The relay's answer to `Join`, and what it tells a side when the other one comes.
    Joined(Joined),
    /// The relay's other answer to `Join`.
    Refused {
        /// Of the request.
        nonce: RequestNonce,
        /// Why.
        reason: Refusal,
    },
    /// From one program to the other: opens the sender's NAT, and shows the receiver that this way works.
    Punch(Punch),
}

/// A side that joins its flow.
#[derive(Clone, PartialEq, Eq)]
pub struct Join {
    /// Names the flow; used for one flow only.
    pub token: BridgeToken,
    /// Which side of it I am.
    pub side: BridgeSide,
    /// For the answer.
    pub nonce: RequestNonce,
    /// Of the last answer heard at this address; zeros at first.
    pub cookie: Cookie,
}

/// A side that has joined.
#[derive(Clone, PartialEq, Eq)]
pub struct Joined {
    /// Of the side's latest request.
    pub nonce: RequestNonce,
    /// Proves that who joined hears at its address, once the next `Join` carries it.
    pub cookie: Cookie,
    /// Whether the other side is there too.
    pub both: bool,
    /// Where the request came from.
    pub address: SocketAddr,
}

/// What opens a NAT.
#[derive(Clone, PartialEq, Eq)]
pub struct Punch {
    /// Of which attempt of the two it is.
    pub id: [u8; 16],
    /// Proves that it is the contact's.
    pub mac: [u8; 16],
    /// Whether it answers one that arrived.
    pub answer: bool,
}

/// Why a side cannot join.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// The relay carries all the flows that it may.
    Full,
    /// The source has all the flows that it may.
    SourceFull,
    /// The address is a side of another flow, or the other side of this one.
    AddressTaken,
    /// The flow of this token has ended.
    Ended,
}

impl Refusal {
    const ALL: [Self; 4] = [Self::Full, Self::SourceFull, Self::AddressTaken, Self::Ended];
}

/// Whether these bytes are one of our datagrams, well formed or not.
pub fn is_ours(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

impl Datagram {
    /// The datagram's bytes, at most [`LONGEST`].
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(LONGEST);
        bytes.extend_from_slice(&MAGIC);
        match self {
            Self::Where { nonce } => {
                bytes.push(WHERE);
                bytes.extend_from_slice(nonce);
                bytes.resize(WHERE_BYTES, 0);
            }
            Self::Here { nonce, address } => {
                bytes.push(HERE);
                bytes.extend_from_slice(nonce);
                put_address(&mut bytes, *address);
            }
            Self::Join(Join { token, side, nonce, cookie }) => {
                bytes.push(JOIN);
                bytes.extend_from_slice(token);
                bytes.push(match side {
                    BridgeSide::Zero => 0,
                    BridgeSide::One => 1,
                });
                bytes.extend_from_slice(nonce);
                bytes.extend_from_slice(cookie);
                bytes.resize(JOIN_BYTES, 0);
            }
            Self::Joined(Joined { nonce, cookie, both, address }) => {
                bytes.push(JOINED);
                bytes.extend_from_slice(nonce);
                bytes.extend_from_slice(cookie);
                bytes.push(u8::from(*both));
                put_address(&mut bytes, *address);
            }
            Self::Refused { nonce, reason } => {
                bytes.push(REFUSED);
                bytes.extend_from_slice(nonce);
                bytes.push(match reason {
                    Refusal::Full => 0,
                    Refusal::SourceFull => 1,
                    Refusal::AddressTaken => 2,
                    Refusal::Ended => 3,
                });
            }
            Self::Punch(Punch { id, mac, answer }) => {
                bytes.push(PUNCH);
                bytes.extend_from_slice(id);
                bytes.extend_from_slice(mac);
                bytes.push(u8::from(*answer));
            }
        }
        bytes
    }

    /// Parses a whole datagram.
    ///
    /// # Errors
    /// Another beginning, an unknown kind, a length that is not the kind's, padding that is not zero, or a field
    /// with an unknown value.
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        let mut fields = Fields(bytes.strip_prefix(&MAGIC).ok_or(WireError::Malformed)?);
        let [kind] = fields.take()?;
        let datagram = match kind {
            WHERE => {
                let nonce = fields.take()?;
                fields.padding::<{ WHERE_BYTES - HEAD_BYTES - 8 }>()?;
                Self::Where { nonce }
            }
            HERE => Self::Here { nonce: fields.take()?, address: fields.address()? },
            JOIN => {
                let token = fields.take()?;
                let side = if fields.flag()? { BridgeSide::One } else { BridgeSide::Zero };
                let (nonce, cookie) = (fields.take()?, fields.take()?);
                fields.padding::<{ JOIN_BYTES - HEAD_BYTES - 32 - 1 - 8 - 8 }>()?;
                Self::Join(Join { token, side, nonce, cookie })
            }
            JOINED => Self::Joined(Joined {
                nonce: fields.take()?,
                cookie: fields.take()?,
                both: fields.flag()?,
                address: fields.address()?,
            }),
            REFUSED => {
                let nonce = fields.take()?;
                let [reason] = fields.take()?;
                let known = Refusal::ALL.get(usize::from(reason));
                Self::Refused { nonce, reason: *known.ok_or(WireError::Unknown("refusal"))? }
            }
            PUNCH => Self::Punch(Punch { id: fields.take()?, mac: fields.take()?, answer: fields.flag()? }),
            _ => return Err(WireError::Unknown("datagram kind")),
        };
        if fields.0.is_empty() { Ok(datagram) } else { Err(WireError::Malformed) }
    }
}

fn put_address(bytes: &mut Vec<u8>, address: SocketAddr) {
    let ip = match address.ip() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    };
    bytes.extend_from_slice(&ip.octets());
    bytes.extend_from_slice(&address.port().to_be_bytes());
}

/// What is still to be parsed.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let (field, rest) = self.0.split_first_chunk().ok_or(WireError::Malformed)?;
        self.0 = rest;
        Ok(*field)
    }

    fn flag(&mut self) -> Result<bool, WireError> {
        match self.take()? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(WireError::Malformed),
        }
    }

    fn address(&mut self) -> Result<SocketAddr, WireError> {
        let ip = Ipv6Addr::from(self.take::<16>()?).to_canonical();
        Ok((ip, u16::from_be_bytes(self.take()?)).into())
    }

    fn padding<const N: usize>(&mut self) -> Result<(), WireError> {
        if self.take()? == [0; N] { Ok(()) } else { Err(WireError::Malformed) }
    }
}

/// Tokens, nonces, cookies and MACs stay out of logs.
impl std::fmt::Debug for Datagram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Where { .. } => f.write_str("Where"),
            Self::Here { address, .. } => f.debug_tuple("Here").field(address).finish(),
            Self::Join(join) => join.fmt(f),
            Self::Joined(joined) => joined.fmt(f),
            Self::Refused { reason, .. } => f.debug_tuple("Refused").field(reason).finish(),
            Self::Punch(punch) => punch.fmt(f),
        }
    }
}

impl std::fmt::Debug for Join {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Join").field("side", &self.side).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Joined {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Joined")
            .field("both", &self.both)
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Punch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Punch").field("answer", &self.answer).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
