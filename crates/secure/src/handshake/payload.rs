//! What the two handshake messages carry.
//!
//! Proposal: `count (1) | versions (1 each) | capabilities (8, big-endian) | count (1) | suites (1 each) | hardware
//! AES (1)`. Choice: `version (1) | suite (1) | capabilities (8)`. Bytes after these are for later versions, and
//! ignored.

use bytes::Buf;

use super::{Abilities, HandshakeError, PROTOCOL_VERSION};
use crate::suite::Suite;

/// The initiator's: what it speaks and has. Anybody may have repeated it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Proposal {
    pub(super) versions: Vec<u8>,
    pub(super) capabilities: u64,
    /// Those of them that this program knows.
    pub(super) suites: Vec<Suite>,
    pub(super) hardware_aes: bool,
}

impl Proposal {
    pub(super) fn new(abilities: Abilities) -> Self {
        Self {
            versions: vec![PROTOCOL_VERSION],
            capabilities: abilities.capabilities,
            suites: Suite::ALL.to_vec(),
            hardware_aes: abilities.hardware_aes,
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![count(self.versions.len())];
        bytes.extend_from_slice(&self.versions);
        bytes.extend_from_slice(&self.capabilities.to_be_bytes());
        bytes.push(count(self.suites.len()));
        bytes.extend(self.suites.iter().map(|suite| suite.number()));
        bytes.push(u8::from(self.hardware_aes));
        bytes
    }

    pub(super) fn decode(mut bytes: &[u8]) -> Result<Self, HandshakeError> {
        let versions = list(&mut bytes)?;
        let capabilities = bytes.try_get_u64().map_err(|_| HandshakeError::Malformed)?;
        let suites = list(&mut bytes)?.into_iter().filter_map(Suite::from_number).collect();
        let hardware_aes = match bytes.try_get_u8() {
            Ok(0) => false,
            Ok(1) => true,
            Ok(_) | Err(_) => return Err(HandshakeError::Malformed),
        };
        Ok(Self { versions, capabilities, suites, hardware_aes })
    }

    pub(super) fn allows(&self, choice: &Choice) -> bool {
        self.versions.contains(&choice.version) && self.suites.contains(&choice.suite)
    }
}

/// The responder's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) version: u8,
    pub(super) suite: Suite,
    pub(super) capabilities: u64,
}

impl Choice {
    /// AES-256-GCM if both sides have AES in hardware, else ChaCha20-Poly1305.
    pub(super) fn new(abilities: Abilities, proposal: &Proposal) -> Result<Self, HandshakeError> {
        if !proposal.versions.contains(&PROTOCOL_VERSION) {
            return Err(HandshakeError::NoCommonVersion);
        }
        let suite = if abilities.hardware_aes && proposal.hardware_aes {
            Suite::Aes256Gcm
        } else {
            Suite::ChaCha20Poly1305
        };
        if !proposal.suites.contains(&suite) {
            return Err(HandshakeError::NoCommonSuite);
        }
        Ok(Self { version: PROTOCOL_VERSION, suite, capabilities: abilities.capabilities })
    }

    pub(super) fn encode(self) -> Vec<u8> {
        let mut bytes = vec![self.version, self.suite.number()];
        bytes.extend_from_slice(&self.capabilities.to_be_bytes());
        bytes
    }

    pub(super) fn decode(mut bytes: &[u8]) -> Result<Self, HandshakeError> {
        let malformed = |_| HandshakeError::Malformed;
        let version = bytes.try_get_u8().map_err(malformed)?;
        // A suite that this program does not know was not proposed by it.
        let suite =
            Suite::from_number(bytes.try_get_u8().map_err(malformed)?).ok_or(HandshakeError::NotProposed)?;
        let capabilities = bytes.try_get_u64().map_err(malformed)?;
        Ok(Self { version, suite, capabilities })
    }
}

fn count(length: usize) -> u8 {
    u8::try_from(length).expect("lists of this program are short")
}

fn list(bytes: &mut &[u8]) -> Result<Vec<u8>, HandshakeError> {
    let count = usize::from(bytes.try_get_u8().map_err(|_| HandshakeError::Malformed)?);
    let (list, rest) = bytes.split_at_checked(count).ok_or(HandshakeError::Malformed)?;
    *bytes = rest;
    Ok(list.to_vec())
}

#[cfg(test)]
mod tests;
