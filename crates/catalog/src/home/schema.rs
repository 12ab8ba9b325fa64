//! The tables of a home. `docs/catalog.md` describes them.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use farhold_wire::{ContactId, Entry, EntryId, EntryKind, Name, Timestamp, Version, limits};
use rusqlite::{Connection, OptionalExtension, Row as SqlRow};

use super::disk::{Kind, Origin, Seen};
use super::types::{Object, OwnEntry};
use crate::CatalogError;
use crate::store::{Format, damage};

pub(crate) const FORMAT: Format = Format {
    kind: "home",
    version: 1,
    create: "
        CREATE TABLE state (epoch INTEGER NOT NULL, sequence INTEGER NOT NULL, floor INTEGER NOT NULL);
        CREATE TABLE shares (
            share INTEGER PRIMARY KEY AUTOINCREMENT, path BLOB NOT NULL UNIQUE, folder INTEGER NOT NULL,
            root INTEGER NOT NULL, device INTEGER NOT NULL, system INTEGER NOT NULL,
            inode INTEGER NOT NULL, born INTEGER NOT NULL, available INTEGER NOT NULL
        );
        CREATE TABLE grants (
            share INTEGER NOT NULL, contact BLOB NOT NULL, name BLOB NOT NULL, writable INTEGER NOT NULL,
            granted INTEGER NOT NULL, PRIMARY KEY (contact, share), UNIQUE (contact, name)
        ) WITHOUT ROWID;
        CREATE TABLE entries (
            row INTEGER PRIMARY KEY AUTOINCREMENT, id BLOB NOT NULL UNIQUE, share INTEGER NOT NULL,
            parent INTEGER, name BLOB NOT NULL,
            kind INTEGER NOT NULL, inode INTEGER NOT NULL, born INTEGER NOT NULL, size INTEGER NOT NULL,
            seconds INTEGER NOT NULL, nanos INTEGER NOT NULL, changed INTEGER NOT NULL,
            mode INTEGER NOT NULL, target BLOB,
            counter INTEGER NOT NULL, incarnation INTEGER NOT NULL, sequence INTEGER NOT NULL,
            provisional INTEGER NOT NULL, announced INTEGER NOT NULL,
            unreadable INTEGER NOT NULL, skipped INTEGER NOT NULL
        );
        CREATE INDEX places ON entries (parent, name);
        CREATE INDEX objects ON entries (share, inode);
        CREATE INDEX changes ON entries (share, sequence);
        CREATE INDEX provisional ON entries (share, parent) WHERE provisional = 1;
        CREATE TABLE tombstones (
            sequence INTEGER PRIMARY KEY, id BLOB NOT NULL, share INTEGER NOT NULL, contact BLOB
        );
    ",
    durable: true,
};

const FOLDER: i64 = 1;
const FILE: i64 = 2;
const SYMLINK: i64 = 3;

pub(crate) fn kind_number(kind: Kind) -> i64 {
    match kind {
        Kind::Folder => FOLDER,
        Kind::File => FILE,
        // What is special is never recorded.
        Kind::Symlink | Kind::Special => SYMLINK,
    }
}

/// An entry as the catalog records it.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) row: i64,
    pub(crate) id: EntryId,
    pub(crate) share: i64,
    /// The row of its folder; `None` of a root.
    pub(crate) parent: Option<i64>,
    /// The id of its folder.
    pub(crate) parent_id: Option<EntryId>,
    pub(crate) name: Name,
    pub(crate) seen: Seen,
    /// Its version's counter; 0 before it was announced.
    pub(crate) counter: u64,
    pub(crate) incarnation: u64,
    /// Number of its last change; 0 before it was announced.
    pub(crate) sequence: u64,
    /// It was young when it was seen: the next look after that raises its version, whatever it sees.
    pub(crate) provisional: bool,
    /// Contacts may know it. A new folder is announced after everything below it was scanned.
    pub(crate) announced: bool,
    /// A folder that could not be read at its last scan.
    pub(crate) unreadable: bool,
    /// What its last scan found in it that is no entry.
    pub(crate) skipped: u64,
}

/// What [`Row::read`] reads, in its order.
const COLUMNS: &str = "e.row, e.id, e.share, e.parent, above.id, e.name, e.kind, e.inode, e.born, e.size, e.seconds, \
     e.nanos, e.changed, e.mode, e.target, e.counter, e.incarnation, e.sequence, e.provisional, e.announced, \
     e.unreadable, e.skipped";
const FROM: &str = "FROM entries e LEFT JOIN entries above ON above.row = e.parent";

impl Row {
    fn read(row: &SqlRow<'_>) -> Result<Self, CatalogError> {
        let name: Vec<u8> = row.get(5)?;
        let kind = match row.get(6)? {
            FOLDER => Kind::Folder,
            FILE => Kind::File,
            SYMLINK => Kind::Symlink,
            _ => return Err(damage().into()),
        };
        let seen = Seen {
            kind,
            inode: row.get::<_, i64>(7)?.cast_unsigned(),
            born: row.get(8)?,
            size: row.get::<_, i64>(9)?.cast_unsigned(),
            modified: Timestamp { seconds: row.get(10)?, nanos: row.get(11)? },
            changed: row.get(12)?,
            mode: row.get(13)?,
            target: row.get::<_, Option<Vec<u8>>>(14)?.map(Bytes::from),
        };
        Ok(Self {
            row: row.get(0)?,
            id: EntryId(row.get(1)?),
            share: row.get(2)?,
            parent: row.get(3)?,
            parent_id: row.get::<_, Option<[u8; 16]>>(4)?.map(EntryId),
            name: Name::new(name).map_err(|_| damage())?,
            seen,
            counter: row.get::<_, i64>(15)?.cast_unsigned(),
            incarnation: row.get::<_, i64>(16)?.cast_unsigned(),
            sequence: row.get::<_, i64>(17)?.cast_unsigned(),
            provisional: row.get(18)?,
            announced: row.get(19)?,
            unreadable: row.get(20)?,
            skipped: row.get::<_, i64>(21)?.cast_unsigned(),
        })
    }

    /// The rows that fulfil `condition`, which may go on with an order and a limit; the entry is `e` in it.
    pub(crate) fn select(
        connection: &Connection,
        condition: &str,
        params: impl rusqlite::Params,
    ) -> Result<Vec<Self>, CatalogError> {
        let mut statement =
            connection.prepare_cached(&format!("SELECT {COLUMNS} {FROM} WHERE {condition}"))?;
        let mut rows = statement.query(params)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(Self::read(row)?);
        }
        Ok(found)
    }

    pub(crate) fn find(connection: &Connection, id: EntryId) -> Result<Option<Self>, CatalogError> {
        Ok(Self::select(connection, "e.id = ?1", [id.0])?.pop())
    }

    pub(crate) fn at(connection: &Connection, row: i64) -> Result<Option<Self>, CatalogError> {
        Ok(Self::select(connection, "e.row = ?1", [row])?.pop())
    }

    /// The announced entry of a name in a folder. Two may have it until the round that found the second one ends.
    pub(crate) fn named(
        connection: &Connection,
        folder: i64,
        name: &Name,
    ) -> Result<Option<Self>, CatalogError> {
        let condition = "e.parent = ?1 AND e.name = ?2 AND e.announced = 1 ORDER BY e.sequence DESC LIMIT 1";
        Ok(Self::select(connection, condition, (folder, name.as_bytes()))?.pop())
    }

    /// The entry as it is announced, its root by the name and right that `grant` gives.
    pub(crate) fn entry(&self, epoch: u64, share: &Share, grant: Option<&GrantRow>) -> Entry {
        let root = grant.filter(|_| self.parent.is_none());
        Entry {
            id: self.id,
            parent: self.parent_id,
            name: root.map_or_else(|| self.name.clone(), |grant| grant.name.clone()),
            kind: match self.seen.kind {
                Kind::Folder => EntryKind::Folder,
                Kind::File => EntryKind::File { size: self.seen.size },
                Kind::Symlink | Kind::Special => EntryKind::Symlink { target: self.seen.target.clone() },
            },
            version: Version { epoch, counter: self.counter },
            incarnation: self.incarnation,
            modified: self.seen.modified,
            mode: self.seen.mode,
            writable: root.is_some_and(|grant| grant.writable),
            unavailable: self.unreadable || (self.parent.is_none() && !share.available),
        }
    }

    pub(crate) fn own(&self, epoch: u64, share: &Share, grant: Option<&GrantRow>) -> OwnEntry {
        OwnEntry {
            entry: self.entry(epoch, share, grant),
            object: Object { device: share.origin.device, inode: self.seen.inode, born: self.seen.born },
        }
    }
}

/// The names that lead from a share's root to a row; `None` if there is no such row, or none that leads to the root
/// through at most [`limits::DEPTH`] folders: folders that are moved while they are listed can stand in a circle until
/// the next scan.
pub(crate) fn place(connection: &Connection, row: i64) -> Result<Option<Vec<Name>>, CatalogError> {
    let mut statement = connection.prepare_cached(
        "WITH RECURSIVE up(row, depth) AS (
            VALUES (?1, 0)
            UNION ALL
            SELECT e.parent, up.depth + 1 FROM up JOIN entries e ON e.row = up.row WHERE e.parent IS NOT NULL AND up.depth <= ?2
         ) SELECT e.name, e.parent FROM up JOIN entries e ON e.row = up.row ORDER BY up.depth DESC",
    )?;
    let mut rows = statement.query((row, limits::DEPTH as i64))?;
    let mut names = Vec::new();
    let mut from_root = false;
    while let Some(row) = rows.next()? {
        let parent: Option<i64> = row.get(1)?;
        if parent.is_none() {
            // The root's own name is no part of the way.
            from_root = true;
        } else if from_root {
            names.push(Name::new(row.get::<_, Vec<u8>>(0)?).map_err(|_| damage())?);
        } else {
            return Ok(None);
        }
    }
    Ok(from_root.then_some(names))
}

/// A shared path.
#[derive(Debug, Clone)]
pub(crate) struct Share {
    pub(crate) share: i64,
    pub(crate) path: PathBuf,
    pub(crate) folder: bool,
    /// The row of its root.
    pub(crate) root: i64,
    /// What its root was when it was last found.
    pub(crate) origin: Origin,
    pub(crate) available: bool,
}

impl Share {
    fn read(row: &SqlRow<'_>) -> rusqlite::Result<Self> {
        let path: Vec<u8> = row.get(1)?;
        Ok(Self {
            share: row.get(0)?,
            path: Path::new(std::ffi::OsStr::from_bytes(&path)).to_owned(),
            folder: row.get(2)?,
            root: row.get(3)?,
            origin: Origin {
                device: row.get::<_, i64>(4)?.cast_unsigned(),
                system: row.get::<_, i64>(5)?.cast_unsigned(),
                inode: row.get::<_, i64>(6)?.cast_unsigned(),
                born: row.get(7)?,
            },
            available: row.get(8)?,
        })
    }

    const SELECT: &str =
        "SELECT share, path, folder, root, device, system, inode, born, available FROM shares";

    pub(crate) fn all(connection: &Connection) -> Result<Vec<Self>, CatalogError> {
        let mut statement = connection.prepare_cached(&format!("{} ORDER BY path", Self::SELECT))?;
        let shares = statement.query_map([], Self::read)?;
        Ok(shares.collect::<Result<_, _>>()?)
    }

    pub(crate) fn find(connection: &Connection, share: i64) -> Result<Option<Self>, CatalogError> {
        let mut statement = connection.prepare_cached(&format!("{} WHERE share = ?1", Self::SELECT))?;
        Ok(statement.query_row([share], Self::read).optional()?)
    }

    pub(crate) fn by_path(connection: &Connection, path: &Path) -> Result<Option<Self>, CatalogError> {
        let mut statement = connection.prepare_cached(&format!("{} WHERE path = ?1", Self::SELECT))?;
        Ok(statement.query_row([path.as_os_str().as_bytes()], Self::read).optional()?)
    }
}

/// One contact's right to a share.
#[derive(Debug, Clone)]
pub(crate) struct GrantRow {
    pub(crate) share: i64,
    pub(crate) contact: ContactId,
    pub(crate) name: Name,
    pub(crate) writable: bool,
    /// Number of the change that gave it: who stands before it gets the whole tree.
    pub(crate) granted: u64,
}

impl GrantRow {
    fn select(
        connection: &Connection,
        condition: &str,
        params: impl rusqlite::Params,
    ) -> Result<Vec<Self>, CatalogError> {
        let mut statement = connection.prepare_cached(&format!(
            "SELECT share, contact, name, writable, granted FROM grants WHERE {condition}"
        ))?;
        let mut rows = statement.query(params)?;
        let mut grants = Vec::new();
        while let Some(row) = rows.next()? {
            grants.push(Self {
                share: row.get(0)?,
                contact: ContactId(row.get(1)?),
                name: Name::new(row.get::<_, Vec<u8>>(2)?).map_err(|_| damage())?,
                writable: row.get(3)?,
                granted: row.get::<_, i64>(4)?.cast_unsigned(),
            });
        }
        Ok(grants)
    }

    pub(crate) fn of_contact(connection: &Connection, contact: ContactId) -> Result<Vec<Self>, CatalogError> {
        Self::select(connection, "contact = ?1 ORDER BY share", [contact.0])
    }

    pub(crate) fn of_share(connection: &Connection, share: i64) -> Result<Vec<Self>, CatalogError> {
        Self::select(connection, "share = ?1 ORDER BY contact", [share])
    }

    pub(crate) fn find(
        connection: &Connection,
        share: i64,
        contact: ContactId,
    ) -> Result<Option<Self>, CatalogError> {
        Ok(Self::select(connection, "contact = ?1 AND share = ?2", (contact.0, share))?.pop())
    }
}

/// Numbers of the whole catalog.
#[derive(Debug, Clone, Copy)]
pub(crate) struct State {
    /// Random, of this database alone.
    pub(crate) epoch: u64,
    /// Number of the last change.
    pub(crate) sequence: u64,
    /// Who stands before this gets a snapshot: removals up to here are forgotten.
    pub(crate) floor: u64,
}

impl State {
    /// Begins a database that was just made.
    pub(crate) fn begin(connection: &Connection) -> Result<(), CatalogError> {
        let mut epoch = [0; 8];
        getrandom::fill(&mut epoch).map_err(|error| CatalogError::Disk(error.into()))?;
        connection.execute("INSERT INTO state VALUES (?1, 0, 0)", [i64::from_be_bytes(epoch)])?;
        Ok(())
    }

    /// `None` in a database that was just made.
    pub(crate) fn load(connection: &Connection) -> Result<Option<Self>, CatalogError> {
        let state = connection
            .prepare_cached("SELECT epoch, sequence, floor FROM state")?
            .query_row([], |row| {
                Ok(Self {
                    epoch: row.get::<_, i64>(0)?.cast_unsigned(),
                    sequence: row.get::<_, i64>(1)?.cast_unsigned(),
                    floor: row.get::<_, i64>(2)?.cast_unsigned(),
                })
            })
            .optional()?;
        Ok(state)
    }
}
