//! The code: an identity's fingerprint, given to a peer out of band.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;

/// Length of a code in bytes: SHA-512's output.
pub const CODE_BYTES: usize = 64;
/// Length of a code as text.
pub const CODE_CHARS: usize = 86;

/// SHA-512 over a label and both public keys of an identity; as text, 86 characters of unpadded base64url.
/// Codes compare in constant time for equality, and byte by byte for order.
#[derive(Clone, Copy, Eq, PartialOrd, Ord)]
pub struct Code([u8; CODE_BYTES]);

/// Why text is no code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CodeError {
    /// Not 86 characters.
    #[error("a code has 86 characters")]
    Length,
    /// A character that codes do not have, or bits set that must be zero.
    #[error("a code has only letters, digits, '-' and '_'")]
    Character,
}

impl Code {
    /// Takes the bytes of a code.
    pub fn from_bytes(bytes: [u8; CODE_BYTES]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8; CODE_BYTES] {
        &self.0
    }
}

impl PartialEq for Code {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl std::hash::Hash for Code {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl FromStr for Code {
    type Err = CodeError;

    /// Reads a code; white space around it is ignored, since codes are pasted.
    fn from_str(text: &str) -> Result<Self, CodeError> {
        let text = text.trim();
        if text.chars().count() != CODE_CHARS {
            return Err(CodeError::Length);
        }
        let mut bytes = [0; CODE_BYTES];
        match URL_SAFE_NO_PAD.decode_slice(text, &mut bytes) {
            Ok(CODE_BYTES) => Ok(Self(bytes)),
            Ok(_) | Err(_) => Err(CodeError::Character),
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

/// The first characters only: enough to tell two apart in a log, too few to use.
impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Code({}..)", &URL_SAFE_NO_PAD.encode(self.0)[..6])
    }
}

#[cfg(test)]
mod tests;
