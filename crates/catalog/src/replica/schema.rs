//! The tables of a replica. `docs/catalog.md` describes them.

use bytes::Bytes;
use farhold_wire::{Entry, EntryId, EntryKind, Name, Position, Space, Timestamp, Version};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::CatalogError;
use crate::store::{Format, damage};

pub(crate) const FORMAT: Format = Format {
    kind: "replica",
    version: 1,
    create: "
        CREATE TABLE state (
            epoch INTEGER, sequence INTEGER,
            generation INTEGER NOT NULL, step INTEGER NOT NULL, rank INTEGER NOT NULL,
            entries INTEGER NOT NULL, top_complete INTEGER NOT NULL,
            total_bytes INTEGER, free_bytes INTEGER
        );
        INSERT INTO state VALUES (NULL, NULL, 0, 0, 0, 0, 0, NULL, NULL);
        CREATE TABLE entries (
            id BLOB PRIMARY KEY, parent BLOB NOT NULL, name BLOB NOT NULL,
            kind INTEGER NOT NULL, size INTEGER NOT NULL, target BLOB,
            epoch INTEGER NOT NULL, counter INTEGER NOT NULL, incarnation INTEGER NOT NULL,
            seconds INTEGER NOT NULL, nanos INTEGER NOT NULL, mode INTEGER NOT NULL,
            writable INTEGER NOT NULL, unavailable INTEGER NOT NULL,
            complete INTEGER NOT NULL, generation INTEGER NOT NULL,
            rank INTEGER NOT NULL, absorbed INTEGER NOT NULL
        ) WITHOUT ROWID;
        CREATE INDEX places ON entries (parent, name, rank);
        CREATE INDEX incomplete ON entries (complete) WHERE complete = 0;
        CREATE INDEX absorbed ON entries (absorbed) WHERE absorbed > 0;
    ",
    durable: false,
};

/// Kinds of entries, as numbers in the database.
pub(crate) const FOLDER: i64 = 1;
const FILE: i64 = 2;
const SYMLINK: i64 = 3;

/// A query for entries, with the columns that [`Held::read`] reads.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, parent, name, kind, size, target, epoch, counter, incarnation, seconds, nanos, mode, \
             writable, unavailable, complete, absorbed FROM entries ",
            $rest
        )
    };
}
pub(crate) use select;

/// An entry and what the replica keeps beside it.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(crate) entry: Entry,
    /// A folder: everything in it is known.
    pub(crate) complete: bool,
    /// It came with an answer, during the step of this number, and no batch named it yet; 0 otherwise.
    pub(crate) absorbed: i64,
}

impl Held {
    pub(crate) fn read(row: &Row<'_>) -> Result<Self, CatalogError> {
        let parent: Vec<u8> = row.get(1)?;
        let name: Vec<u8> = row.get(2)?;
        let kind = match row.get(3)? {
            FOLDER => EntryKind::Folder,
            FILE => EntryKind::File { size: row.get::<_, i64>(4)?.cast_unsigned() },
            SYMLINK => EntryKind::Symlink { target: row.get::<_, Option<Vec<u8>>>(5)?.map(Bytes::from) },
            _ => return Err(damage().into()),
        };
        let entry = Entry {
            id: EntryId(row.get(0)?),
            parent: match parent.as_slice() {
                [] => None,
                bytes => Some(EntryId(bytes.try_into().map_err(|_| damage())?)),
            },
            name: Name::new(name).map_err(|_| damage())?,
            kind,
            version: Version {
                epoch: row.get::<_, i64>(6)?.cast_unsigned(),
                counter: row.get::<_, i64>(7)?.cast_unsigned(),
            },
            incarnation: row.get::<_, i64>(8)?.cast_unsigned(),
            modified: Timestamp { seconds: row.get(9)?, nanos: row.get(10)? },
            mode: row.get(11)?,
            writable: row.get(12)?,
            unavailable: row.get(13)?,
        };
        Ok(Self { entry, complete: row.get(14)?, absorbed: row.get(15)? })
    }

    pub(crate) fn write(&self, connection: &Connection, state: &State) -> Result<(), CatalogError> {
        let entry = &self.entry;
        let (kind, size, target) = match &entry.kind {
            EntryKind::Folder => (FOLDER, 0, None),
            EntryKind::File { size } => (FILE, *size, None),
            EntryKind::Symlink { target } => (SYMLINK, 0, target.as_deref()),
        };
        // An answer does not count as being named by a snapshot.
        let generation = if self.absorbed > 0 { 0 } else { state.generation };
        connection
            .prepare_cached(
                "INSERT OR REPLACE INTO entries VALUES
                 (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
            )?
            .execute(rusqlite::params![
                entry.id.0,
                parent_bytes(entry.parent.as_ref()),
                entry.name.as_bytes(),
                kind,
                size.cast_signed(),
                target,
                entry.version.epoch.cast_signed(),
                entry.version.counter.cast_signed(),
                entry.incarnation.cast_signed(),
                entry.modified.seconds,
                entry.modified.nanos,
                entry.mode,
                entry.writable,
                entry.unavailable,
                self.complete,
                generation,
                state.rank,
                self.absorbed,
            ])?;
        Ok(())
    }

    pub(crate) fn find(connection: &Connection, id: EntryId) -> Result<Option<Self>, CatalogError> {
        connection
            .prepare_cached(select!("WHERE id = ?1"))?
            .query_row([id.0], |row| Ok(Self::read(row)))
            .optional()?
            .transpose()
    }

    /// What a name of a folder leads to. Of several entries that claim it, the one announced last.
    pub(crate) fn named(
        connection: &Connection,
        parent: Option<&EntryId>,
        name: &Name,
    ) -> Result<Option<Self>, CatalogError> {
        connection
            .prepare_cached(select!("WHERE parent = ?1 AND name = ?2 ORDER BY rank DESC LIMIT 1"))?
            .query_row((parent_bytes(parent), name.as_bytes()), |row| Ok(Self::read(row)))
            .optional()?
            .transpose()
    }
}

/// A parent as it stands in the database: empty for the top level.
pub(crate) fn parent_bytes(parent: Option<&EntryId>) -> &[u8] {
    parent.map_or(&[], |id| &id.0)
}

/// Where the replica stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct State {
    /// Of the home's catalog; `None` before anything came.
    pub(crate) epoch: Option<u64>,
    /// `None` before the end of the first snapshot, and while one is under way.
    pub(crate) sequence: Option<u64>,
    /// Number of the last snapshot begun. What it names bears it.
    pub(crate) generation: i64,
    /// Number of times that the position was reached.
    pub(crate) step: i64,
    /// Number of the last entry put.
    pub(crate) rank: i64,
    /// Entries held.
    pub(crate) entries: u64,
    /// Every root is known.
    pub(crate) top_complete: bool,
    pub(crate) space: Option<Space>,
}

impl State {
    pub(crate) fn load(connection: &Connection) -> Result<Self, CatalogError> {
        let state = connection
            .prepare_cached(
                "SELECT epoch, sequence, generation, step, rank, entries, top_complete,
                 total_bytes, free_bytes FROM state",
            )?
            .query_row([], |row| {
                let total: Option<i64> = row.get(7)?;
                let free: Option<i64> = row.get(8)?;
                Ok(Self {
                    epoch: row.get::<_, Option<i64>>(0)?.map(i64::cast_unsigned),
                    sequence: row.get::<_, Option<i64>>(1)?.map(i64::cast_unsigned),
                    generation: row.get(2)?,
                    step: row.get(3)?,
                    rank: row.get(4)?,
                    entries: row.get::<_, i64>(5)?.cast_unsigned(),
                    top_complete: row.get(6)?,
                    space: total.zip(free).map(|(total, free)| Space {
                        total_bytes: total.cast_unsigned(),
                        free_bytes: free.cast_unsigned(),
                    }),
                })
            })
            .optional()?;
        state.ok_or_else(|| damage().into())
    }

    pub(crate) fn save(&self, connection: &Connection) -> Result<(), CatalogError> {
        connection
            .prepare_cached(
                "UPDATE state SET epoch = ?1, sequence = ?2, generation = ?3, step = ?4, rank = ?5,
                 entries = ?6, top_complete = ?7, total_bytes = ?8, free_bytes = ?9",
            )?
            .execute(rusqlite::params![
                self.epoch.map(u64::cast_signed),
                self.sequence.map(u64::cast_signed),
                self.generation,
                self.step,
                self.rank,
                self.entries.cast_signed(),
                self.top_complete,
                self.space.map(|space| space.total_bytes.cast_signed()),
                self.space.map(|space| space.free_bytes.cast_signed()),
            ])?;
        Ok(())
    }

    pub(crate) fn position(&self) -> Option<Position> {
        let (epoch, sequence) = self.epoch.zip(self.sequence)?;
        Some(Position { epoch, sequence })
    }

    /// A snapshot has begun and not ended.
    pub(crate) fn in_snapshot(&self) -> bool {
        self.sequence.is_none() && self.generation > 0
    }
}
