//! Secrets at rest. One master key (a file of mode 0600, which `status` and `up` say) seals the identity and the
//! contacts; each sealed file has a key of its own derived from it.
//!
//! Format of a sealed file: `"FHSEAL" | version (1) | nonce (12) | AES-256-GCM ciphertext and tag`, with the first
//! seven bytes and the file's label as associated data. The nonce is random; a file is written far less often than
//! the 2^32 times for which that is safe. Whatever cannot be opened is an error and stays as it is.

use std::io;
use std::path::{Path, PathBuf};

use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{Aes256Gcm, Key, Nonce};
use hkdf::Hkdf;
use sha2::Sha512;
use zeroize::Zeroizing;

use crate::files;
use crate::layout::open_to_others;

/// First bytes of the master key's file.
const KEY_MAGIC: &[u8; 7] = b"FHKEY\0\x01";
/// First bytes of a sealed file; the last one is the format's version.
const SEAL_MAGIC: &[u8; 6] = b"FHSEAL";
const SEAL_VERSION: u8 = 1;
const HEADER_BYTES: usize = SEAL_MAGIC.len() + 1;
const NONCE_BYTES: usize = 12;
const TAG_BYTES: usize = 16;
/// Largest sealed file that is read, in bytes: some thousand contacts.
const FILE_BYTES: u64 = 32 << 20;

/// Why a secret cannot be had or kept.
#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    /// The file system would not.
    #[error("cannot read or write {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the file system said.
        source: io::Error,
    },
    /// The system has no randomness.
    #[error("the system gives no random numbers")]
    Random,
    /// Sealed files are there, but not the key that opens them.
    #[error(
        "{} is missing, but sealed files are here: without it they cannot be opened. Restore it from a backup, \
         or move the config directory away to begin anew", path.display()
    )]
    KeyMissing {
        /// The key file.
        path: PathBuf,
    },
    /// The key's file has another length or beginning.
    #[error("{} is damaged; it was left as it is. Restore it from a backup", path.display())]
    KeyDamaged {
        /// The key file.
        path: PathBuf,
    },
    /// Others can read the key.
    #[error("{0} can be read by others; run: chmod 600 {0}", path.display())]
    KeyExposed {
        /// The key file.
        path: PathBuf,
    },
    /// Truncated, changed, or sealed under another key.
    #[error("{} is damaged or belongs to another key; it was left as it is. Restore it from a backup", path.display())]
    Damaged {
        /// The sealed file.
        path: PathBuf,
    },
    /// Another version of Farhold wrote it.
    #[error("{} has format version {version}, this build knows {SEAL_VERSION}; it was left as it is", path.display())]
    Version {
        /// The sealed file.
        path: PathBuf,
        /// What it says.
        version: u8,
    },
    /// Another version of Farhold wrote what is inside it.
    #[error("{} has schema version {version}, which this build does not know; it was left as it is", path.display())]
    Schema {
        /// The sealed file.
        path: PathBuf,
        /// What it says.
        version: u64,
    },
    /// Contacts are there, but not the identity that they know.
    #[error(
        "{} is missing, but contacts are here: they know the identity that is gone. Restore it from a backup, \
         or move the config directory away to begin anew", path.display()
    )]
    IdentityMissing {
        /// The identity file.
        path: PathBuf,
    },
}

/// The key under which everything secret of one config directory is kept. Erased when dropped.
#[derive(Clone)]
pub struct MasterKey(Zeroizing<[u8; 32]>);

impl std::fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MasterKey")
    }
}

impl MasterKey {
    /// Reads the key; makes one where there is none yet and none of `sealed` exists.
    ///
    /// # Errors
    /// [`SecretsError`]. A key is never made beside files that another one sealed.
    pub fn load(path: &Path, sealed: &[PathBuf]) -> Result<Self, SecretsError> {
        let io = |source| SecretsError::Io { path: path.to_owned(), source };
        let length = KEY_MAGIC.len() + 32;
        let Some(content) = files::read(path, 1 << 10).map_err(io)?.map(Zeroizing::new) else {
            if sealed.iter().any(|file| file.exists()) {
                return Err(SecretsError::KeyMissing { path: path.to_owned() });
            }
            let mut key = Zeroizing::new([0; 32]);
            getrandom::fill(key.as_mut()).map_err(|_| SecretsError::Random)?;
            let content = Zeroizing::new([KEY_MAGIC.as_slice(), key.as_slice()].concat());
            files::replace(path, &content).map_err(io)?;
            return Ok(Self(key));
        };
        if open_to_others(path).map_err(io)? {
            return Err(SecretsError::KeyExposed { path: path.to_owned() });
        }
        let damaged = || SecretsError::KeyDamaged { path: path.to_owned() };
        if content.len() != length {
            return Err(damaged());
        }
        let bytes = content.strip_prefix(KEY_MAGIC).ok_or_else(damaged)?;
        let mut key = Zeroizing::new([0; 32]);
        key.copy_from_slice(bytes);
        Ok(Self(key))
    }

    /// A key for one purpose, that tells nothing of any other.
    pub fn derive(&self, label: &str) -> Zeroizing<[u8; 32]> {
        let mut key = Zeroizing::new([0; 32]);
        let info = [b"farhold at rest v1 ".as_slice(), label.as_bytes()];
        Hkdf::<Sha512>::new(None, self.0.as_slice())
            .expand_multi_info(&info, key.as_mut())
            .unwrap_or_else(|_| unreachable!("32 bytes are within HKDF's limit"));
        key
    }

    /// Opens a sealed file; `None` if there is none.
    ///
    /// # Errors
    /// [`SecretsError`]; the file stays as it is.
    pub fn open(&self, path: &Path, label: &str) -> Result<Option<Zeroizing<Vec<u8>>>, SecretsError> {
        let read = files::read(path, FILE_BYTES);
        let Some(content) = read.map_err(|source| SecretsError::Io { path: path.to_owned(), source })? else {
            return Ok(None);
        };
        let damaged = || SecretsError::Damaged { path: path.to_owned() };
        if content.len() < HEADER_BYTES + NONCE_BYTES + TAG_BYTES || !content.starts_with(SEAL_MAGIC) {
            return Err(damaged());
        }
        let (header, rest) = content.split_at(HEADER_BYTES);
        let version = header[SEAL_MAGIC.len()];
        if version != SEAL_VERSION {
            return Err(SecretsError::Version { path: path.to_owned(), version });
        }
        let (nonce, sealed) = rest.split_at(NONCE_BYTES);
        let nonce = Nonce::try_from(nonce).map_err(|_| damaged())?;
        let data = [header, label.as_bytes()].concat();
        let plain =
            self.cipher(label).decrypt(&nonce, Payload { msg: sealed, aad: &data }).map_err(|_| damaged())?;
        Ok(Some(Zeroizing::new(plain)))
    }

    /// Replaces a sealed file as a whole.
    ///
    /// # Errors
    /// [`SecretsError`]; the file holds what it held.
    pub fn seal(&self, path: &Path, label: &str, plain: &[u8]) -> Result<(), SecretsError> {
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce).map_err(|_| SecretsError::Random)?;
        let mut content = [SEAL_MAGIC.as_slice(), &[SEAL_VERSION]].concat();
        let data = [content.as_slice(), label.as_bytes()].concat();
        let sealed = self
            .cipher(label)
            .encrypt(&Nonce::from(nonce), Payload { msg: plain, aad: &data })
            .unwrap_or_else(|_| unreachable!("the plaintext is within AES-GCM's limit"));
        content.extend_from_slice(&nonce);
        content.extend_from_slice(&sealed);
        files::replace(path, &content).map_err(|source| SecretsError::Io { path: path.to_owned(), source })
    }

    fn cipher(&self, label: &str) -> Aes256Gcm {
        Aes256Gcm::new(&Key::<Aes256Gcm>::from(*self.derive(label)))
    }
}

#[cfg(test)]
mod tests;
