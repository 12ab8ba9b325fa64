//! What a caller says to the bridge of a relay before the relay splices it with its partner.
//!
//! A call is `version (1) | token (32) | side (1) | nonce (16)`. Once the partner has come too, both get the one byte
//! [`PAIRED`], and from then on each other's bytes. Until then the caller must be silent. Anything that goes wrong
//! is answered by closing the connection.

use crate::limits;

/// Bytes of a call.
pub const CALL_BYTES: usize = 2 + limits::TOKEN_BYTES + NONCE_BYTES;
/// The relay's answer when both are there.
pub const PAIRED: u8 = 1;

const VERSION: u8 = 1;
const NONCE_BYTES: usize = 16;

/// Under which two legs meet; used once.
pub type BridgeToken = [u8; limits::TOKEN_BYTES];
/// Random, new for every call.
pub type Nonce = [u8; NONCE_BYTES];

/// Whose leg it is. Two of one side never meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BridgeSide {
    /// The side with the smaller code.
    Zero,
    /// The other.
    One,
}

impl BridgeSide {
    /// Whom it meets.
    pub fn other(self) -> Self {
        match self {
            Self::Zero => Self::One,
            Self::One => Self::Zero,
        }
    }
}

/// A call, checked.
#[derive(Clone, PartialEq, Eq)]
pub struct BridgeCall {
    /// Under which the caller wants to meet its partner.
    pub token: BridgeToken,
    /// The caller's side.
    pub side: BridgeSide,
    /// Random, new for every call.
    pub nonce: Nonce,
}

impl BridgeCall {
    /// The call's bytes.
    pub fn encode(&self) -> [u8; CALL_BYTES] {
        let mut bytes = [0; CALL_BYTES];
        bytes[0] = VERSION;
        bytes[1..33].copy_from_slice(&self.token);
        bytes[33] = match self.side {
            BridgeSide::Zero => 0,
            BridgeSide::One => 1,
        };
        bytes[34..].copy_from_slice(&self.nonce);
        bytes
    }

    /// `None` if another version or an unknown side is named.
    pub fn decode(bytes: &[u8; CALL_BYTES]) -> Option<Self> {
        if bytes[0] != VERSION {
            return None;
        }
        let side = match bytes[33] {
            0 => BridgeSide::Zero,
            1 => BridgeSide::One,
            _ => return None,
        };
        Some(Self { token: bytes[1..33].try_into().ok()?, side, nonce: bytes[34..].try_into().ok()? })
    }
}

/// Token and nonce stay out of logs.
impl std::fmt::Debug for BridgeCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BridgeCall").field("side", &self.side).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_a_call() {
        let call = BridgeCall { token: [7; 32], side: BridgeSide::One, nonce: [9; 16] };
        let bytes = call.encode();
        let expected = [&[1][..], &[7; 32], &[1], &[9; 16]].concat();
        assert_eq!(bytes.as_slice(), expected);
        assert_eq!(BridgeCall::decode(&bytes), Some(call));
    }

    #[test]
    fn another_version_or_side_is_refused() {
        let good = BridgeCall { token: [7; 32], side: BridgeSide::Zero, nonce: [9; 16] }.encode();
        for (index, value) in [(0, 0), (0, 2), (33, 2), (33, 255)] {
            let mut bytes = good;
            bytes[index] = value;
            assert_eq!(BridgeCall::decode(&bytes), None);
        }
    }
}
