//! Numbers for everything that the drive shows: kept across restarts, never used for anything else.

use std::path::Path;
use std::sync::Arc;

use farhold_wire::{ContactId, EntryId};
use rusqlite::{Connection, OptionalExtension};

use crate::memory::Memory;
use crate::store::{Format, Store, damage};
use crate::{CatalogError, Object};

const FORMAT: Format = Format {
    kind: "nodes",
    version: 1,
    // AUTOINCREMENT never gives a number again, even after rows were deleted. 1 is the drive's top folder.
    create: "
        CREATE TABLE nodes (number INTEGER PRIMARY KEY AUTOINCREMENT, key BLOB NOT NULL UNIQUE);
        INSERT INTO sqlite_sequence (name, seq) VALUES ('nodes', 1);
    ",
    durable: false,
};

/// What a number stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NodeKey {
    /// A contact's folder.
    Contact(ContactId),
    /// An entry of a peer's tree, in one incarnation.
    Peer {
        /// Whose tree.
        contact: ContactId,
        /// Which entry.
        entry: EntryId,
        /// Rises when the entry was replaced.
        incarnation: u64,
    },
    /// A folder or link of mine, as a contact's folder shows it: a folder has one parent only.
    Mine {
        /// In whose folder.
        contact: ContactId,
        /// Which entry.
        entry: EntryId,
        /// Rises when the entry was replaced.
        incarnation: u64,
    },
    /// A regular file of mine, however many shares and contacts show it.
    Object(Object),
}

const CONTACT: u8 = 1;
const PEER: u8 = 2;
const MINE: u8 = 3;
const OBJECT: u8 = 4;

impl NodeKey {
    /// One byte for the kind, then its fields, numbers big-endian.
    fn encode(self) -> Vec<u8> {
        match self {
            Self::Contact(contact) => [&[CONTACT], &contact.0[..]].concat(),
            Self::Peer { contact, entry, incarnation } => {
                [&[PEER], &contact.0[..], &entry.0[..], &incarnation.to_be_bytes()].concat()
            }
            Self::Mine { contact, entry, incarnation } => {
                [&[MINE], &contact.0[..], &entry.0[..], &incarnation.to_be_bytes()].concat()
            }
            Self::Object(Object { device, inode, born }) => {
                [&[OBJECT][..], &device.to_be_bytes(), &inode.to_be_bytes(), &born.to_be_bytes()].concat()
            }
        }
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (&kind, mut rest) = bytes.split_first()?;
        let key = match kind {
            CONTACT => Self::Contact(ContactId(take(&mut rest)?)),
            PEER => Self::Peer {
                contact: ContactId(take(&mut rest)?),
                entry: EntryId(take(&mut rest)?),
                incarnation: u64::from_be_bytes(take(&mut rest)?),
            },
            MINE => Self::Mine {
                contact: ContactId(take(&mut rest)?),
                entry: EntryId(take(&mut rest)?),
                incarnation: u64::from_be_bytes(take(&mut rest)?),
            },
            OBJECT => Self::Object(Object {
                device: u64::from_be_bytes(take(&mut rest)?),
                inode: u64::from_be_bytes(take(&mut rest)?),
                born: i64::from_be_bytes(take(&mut rest)?),
            }),
            _ => return None,
        };
        rest.is_empty().then_some(key)
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, others) = rest.split_first_chunk()?;
    *rest = others;
    Some(*first)
}

/// The numbers. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Nodes {
    store: Store,
    memory: Arc<Memory<NodeKey, u64>>,
}

impl Nodes {
    /// The number of the drive's top folder, which is never given out.
    pub const ROOT: u64 = 1;

    /// Opens the database at `path`, or begins it.
    pub async fn open(path: &Path) -> Result<Self, CatalogError> {
        let path = path.to_owned();
        let (store, _) = tokio::task::spawn_blocking(move || Store::open(&path, FORMAT))
            .await
            .map_err(|_| CatalogError::Closed)??;
        Ok(Self { store, memory: Arc::new(Memory::new()) })
    }

    /// Waits until the database is closed. Calls after this fail.
    pub async fn close(&self) {
        self.store.close().await;
        self.memory.forget();
    }

    /// The number of one key, given now if it has none.
    pub async fn number(&self, key: NodeKey) -> Result<u64, CatalogError> {
        self.numbers(vec![key]).await?.first().copied().ok_or(CatalogError::NotFound)
    }

    /// The numbers of many keys, in their order; all new ones cost one transaction.
    pub async fn numbers(&self, keys: Vec<NodeKey>) -> Result<Vec<u64>, CatalogError> {
        if let Some(all) = keys.iter().map(|key| self.memory.get(key)).collect() {
            return Ok(all);
        }
        let asked = self.memory.asked();
        let numbers = self.stored(keys.clone()).await?;
        self.memory.keep(asked, keys.into_iter().zip(numbers.iter().copied()));
        Ok(numbers)
    }

    async fn stored(&self, keys: Vec<NodeKey>) -> Result<Vec<u64>, CatalogError> {
        let keys: Vec<Vec<u8>> = keys.into_iter().map(NodeKey::encode).collect();
        let (keys, known) = self
            .store
            .read(move |connection| {
                let known = keys.iter().map(|key| find(connection, key)).collect::<Result<Vec<_>, _>>()?;
                Ok((keys, known))
            })
            .await?;
        if let Some(all) = known.into_iter().collect() {
            return Ok(all);
        }
        self.store
            .write(move |connection| {
                let transaction = connection.transaction()?;
                let numbers =
                    keys.iter().map(|key| find_or_give(&transaction, key)).collect::<Result<_, _>>()?;
                transaction.commit()?;
                Ok(numbers)
            })
            .await
    }

    /// What a number stands for.
    pub async fn key(&self, number: u64) -> Result<Option<NodeKey>, CatalogError> {
        self.store
            .read(move |connection| {
                let key: Option<Vec<u8>> = connection
                    .prepare_cached("SELECT key FROM nodes WHERE number = ?1")?
                    .query_row([number.cast_signed()], |row| row.get(0))
                    .optional()?;
                match key {
                    Some(key) => Ok(Some(NodeKey::decode(&key).ok_or_else(damage)?)),
                    None => Ok(None),
                }
            })
            .await
    }

    /// Forgets the keys of a contact who was removed; their numbers are not used again.
    pub async fn forget_contact(&self, contact: ContactId) -> Result<(), CatalogError> {
        let memory = Arc::clone(&self.memory);
        self.store
            .write(move |connection| {
                for kind in [CONTACT, PEER, MINE] {
                    let prefix = [&[kind], &contact.0[..]].concat();
                    connection
                        .execute("DELETE FROM nodes WHERE key >= ?1 AND substr(key, 1, 17) = ?1", [prefix])?;
                }
                memory.forget();
                Ok(())
            })
            .await
    }
}

fn find(connection: &Connection, key: &[u8]) -> Result<Option<u64>, CatalogError> {
    let number: Option<i64> = connection
        .prepare_cached("SELECT number FROM nodes WHERE key = ?1")?
        .query_row([key], |row| row.get(0))
        .optional()?;
    Ok(number.map(i64::cast_unsigned))
}

fn find_or_give(connection: &Connection, key: &[u8]) -> Result<u64, CatalogError> {
    if let Some(number) = find(connection, key)? {
        return Ok(number);
    }
    connection.prepare_cached("INSERT INTO nodes (key) VALUES (?1)")?.execute([key])?;
    Ok(connection.last_insert_rowid().cast_unsigned())
}

#[cfg(test)]
mod tests;
