//! One transaction that changes a home's catalog: numbers its changes and notes them as events.

use farhold_wire::{ContactId, EntryId, Name};
use rusqlite::{Connection, OptionalExtension};

use super::disk::{Kind, Origin, Seen};
use super::schema::{GrantRow, Row, Share, State, kind_number};
use crate::store::damage;
use crate::{CatalogError, HomeEvent, TreeEvent};

/// Removals that are remembered, for contacts who were away. Who missed more gets a snapshot.
const TOMBSTONES: i64 = 100_000;

/// A transaction under way.
pub(crate) struct Change<'a> {
    pub(crate) connection: &'a Connection,
    state: State,
    events: Vec<HomeEvent>,
}

/// Where an entry is, and what is there.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) parent: Option<i64>,
    pub(crate) name: Name,
    pub(crate) seen: Seen,
    pub(crate) young: bool,
}

impl<'a> Change<'a> {
    pub(crate) fn begin(connection: &'a Connection) -> Result<Self, CatalogError> {
        let state = State::load(connection)?.ok_or_else(damage)?;
        Ok(Self { connection, state, events: Vec::new() })
    }

    /// The number of the last change, and what changed for whoever looks.
    pub(crate) fn finish(self) -> Result<(u64, Vec<HomeEvent>), CatalogError> {
        self.connection
            .prepare_cached("UPDATE state SET sequence = ?1, floor = ?2")?
            .execute((self.state.sequence.cast_signed(), self.state.floor.cast_signed()))?;
        Ok((self.state.sequence, self.events))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state.sequence += 1;
        self.state.sequence
    }

    fn event(&mut self, event: TreeEvent) {
        self.events.push(HomeEvent { contact: None, event });
    }

    pub(crate) fn event_for(&mut self, contact: ContactId, event: TreeEvent) {
        self.events.push(HomeEvent { contact: Some(contact), event });
    }

    /// A new entry. A folder is not announced yet.
    pub(crate) fn insert(&mut self, share: i64, found: &Found) -> Result<i64, CatalogError> {
        let mut id = [0; 16];
        getrandom::fill(&mut id).map_err(|error| CatalogError::Disk(error.into()))?;
        let announced = found.seen.kind != Kind::Folder;
        let sequence = if announced { self.next() } else { 0 };
        let seen = &found.seen;
        self.connection
            .prepare_cached(
                "INSERT INTO entries (id, share, parent, name, kind, inode, born, size, seconds, nanos, changed,
                 mode, target, counter, incarnation, sequence, provisional, announced, unreadable, skipped)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, 0, ?14, ?15, ?16, 0, 0)",
            )?
            .execute(rusqlite::params![
                id,
                share,
                found.parent,
                found.name.as_bytes(),
                kind_number(seen.kind),
                seen.inode.cast_signed(),
                seen.born,
                seen.size.cast_signed(),
                seen.modified.seconds,
                seen.modified.nanos,
                seen.changed,
                seen.mode,
                seen.target.as_deref(),
                sequence.cast_signed(),
                found.young,
                announced,
            ])?;
        let row = self.connection.last_insert_rowid();
        if announced && let Some(parent) = found.parent {
            let (id, parent) = (EntryId(id), self.id_of(parent)?);
            self.event(TreeEvent::Added { id, parent, name: found.name.clone() });
        }
        Ok(row)
    }

    fn id_of(&self, row: i64) -> Result<Option<EntryId>, CatalogError> {
        let id = self
            .connection
            .prepare_cached("SELECT id FROM entries WHERE row = ?1")?
            .query_row([row], |row| Ok(EntryId(row.get(0)?)))
            .optional()?;
        Ok(id)
    }

    /// Tells of a folder that is seen from now on; of a root each contact in its own words.
    fn added(&mut self, row: i64) -> Result<(), CatalogError> {
        let Some(row) = Row::at(self.connection, row)? else { return Ok(()) };
        if row.parent.is_some() {
            self.event(TreeEvent::Added { id: row.id, parent: row.parent_id, name: row.name });
            return Ok(());
        }
        for grant in GrantRow::of_share(self.connection, row.share)? {
            self.event_for(grant.contact, TreeEvent::Added { id: row.id, parent: None, name: grant.name });
        }
        Ok(())
    }

    /// An entry that is elsewhere, or otherwise, than recorded. `replaced`: another object took its place.
    pub(crate) fn update(&mut self, old: &Row, found: &Found, replaced: bool) -> Result<(), CatalogError> {
        let content = replaced || old.seen != found.seen || (old.provisional && !found.young);
        let moved = old.parent != found.parent || old.name != found.name;
        if !content && !moved {
            return Ok(());
        }
        let sequence = if old.announced { self.next() } else { 0 };
        let counter = if content && old.announced { sequence } else { old.counter };
        let seen = &found.seen;
        let changed = self
            .connection
            .prepare_cached(
                "UPDATE entries SET parent = ?3, name = ?4, kind = ?5, inode = ?6, born = ?7, size = ?8,
                 seconds = ?9, nanos = ?10, changed = ?11, mode = ?12, target = ?13, counter = ?14,
                 incarnation = incarnation + ?15, sequence = ?16, provisional = ?17
                 WHERE row = ?1 AND share = ?2",
            )?
            .execute(rusqlite::params![
                old.row,
                old.share,
                found.parent,
                found.name.as_bytes(),
                kind_number(seen.kind),
                seen.inode.cast_signed(),
                seen.born,
                seen.size.cast_signed(),
                seen.modified.seconds,
                seen.modified.nanos,
                seen.changed,
                seen.mode,
                seen.target.as_deref(),
                counter.cast_signed(),
                i64::from(replaced),
                sequence.cast_signed(),
                found.young,
            ])?;
        if changed == 0 || !old.announced {
            return Ok(());
        }
        if moved {
            let parent = found.parent.map_or(Ok(None), |parent| self.id_of(parent))?;
            let from = (old.parent_id, old.name.clone());
            self.event(TreeEvent::Moved { id: old.id, from, to: (parent, found.name.clone()) });
        }
        if content {
            self.event(match seen.kind {
                Kind::Folder => TreeEvent::Attributes { id: old.id },
                Kind::File | Kind::Symlink | Kind::Special => TreeEvent::Content { id: old.id, replaced },
            });
        }
        Ok(())
    }

    /// Announces a folder below which everything is known by now.
    pub(crate) fn announce(&mut self, row: i64) -> Result<(), CatalogError> {
        let sequence = self.state.sequence + 1;
        let changed = self
            .connection
            .prepare_cached(
                "UPDATE entries SET announced = 1, sequence = ?2, counter = ?2 WHERE row = ?1 AND announced = 0",
            )?
            .execute((row, sequence.cast_signed()))?;
        if changed > 0 {
            self.state.sequence = sequence;
            self.added(row)?;
        }
        Ok(())
    }

    /// Announces an entry again, because of something that is not in its row.
    pub(crate) fn touch(&mut self, row: i64) -> Result<(), CatalogError> {
        let sequence = self.state.sequence + 1;
        let changed = self
            .connection
            .prepare_cached("UPDATE entries SET sequence = ?2 WHERE row = ?1 AND announced = 1")?
            .execute((row, sequence.cast_signed()))?;
        if changed > 0
            && let Some(row) = Row::at(self.connection, row)?
        {
            self.state.sequence = sequence;
            self.event(TreeEvent::Attributes { id: row.id });
        }
        Ok(())
    }

    /// What the last scan of a folder could not take, and whether it could read it at all.
    pub(crate) fn scanned(&mut self, row: &Row, skipped: u64, unreadable: bool) -> Result<(), CatalogError> {
        if unreadable {
            self.connection
                .prepare_cached("UPDATE entries SET unreadable = 1 WHERE row = ?1")?
                .execute([row.row])?;
        } else {
            self.connection
                .prepare_cached("UPDATE entries SET unreadable = 0, skipped = ?2 WHERE row = ?1")?
                .execute((row.row, skipped.cast_signed()))?;
        }
        if row.unreadable != unreadable {
            self.touch(row.row)?;
        }
        Ok(())
    }

    /// Removes an entry that is not at `parent` and `name` any more, unless it turned up elsewhere meanwhile.
    pub(crate) fn remove_missing(&mut self, row: i64, parent: i64, name: &Name) -> Result<(), CatalogError> {
        let Some(row) = Row::at(self.connection, row)? else { return Ok(()) };
        if row.parent != Some(parent) || row.name != *name {
            return Ok(());
        }
        self.delete_tree(row.row)?;
        self.bury(row.id, row.share, None)?;
        self.event(TreeEvent::Removed { id: row.id, parent: row.parent_id, name: row.name });
        Ok(())
    }

    /// Also where folders stand in a circle: UNION, not UNION ALL, so that it ends.
    fn delete_tree(&mut self, row: i64) -> Result<(), CatalogError> {
        self.connection
            .prepare_cached(
                "WITH RECURSIVE below(row) AS (
                    VALUES (?1) UNION SELECT e.row FROM below JOIN entries e ON e.parent = below.row
                 ) DELETE FROM entries WHERE row IN (SELECT row FROM below)",
            )?
            .execute([row])?;
        Ok(())
    }

    /// Remembers a removal: for everybody who sees the share, or for one contact.
    pub(crate) fn bury(
        &mut self,
        id: EntryId,
        share: i64,
        contact: Option<ContactId>,
    ) -> Result<(), CatalogError> {
        let sequence = self.next();
        self.connection
            .prepare_cached("INSERT INTO tombstones (sequence, id, share, contact) VALUES (?1, ?2, ?3, ?4)")?
            .execute((sequence.cast_signed(), id.0, share, contact.map(|contact| contact.0)))?;
        Ok(())
    }

    /// Forgets the removals beyond those that are remembered.
    pub(crate) fn prune(&mut self) -> Result<(), CatalogError> {
        let newest_forgotten: Option<i64> = self
            .connection
            .prepare_cached("SELECT sequence FROM tombstones ORDER BY sequence DESC LIMIT 1 OFFSET ?1")?
            .query_row([TOMBSTONES], |row| row.get(0))
            .optional()?;
        if let Some(sequence) = newest_forgotten {
            self.connection.execute("DELETE FROM tombstones WHERE sequence <= ?1", [sequence])?;
            self.state.floor = sequence.cast_unsigned();
        }
        Ok(())
    }

    /// What a share's root is now.
    pub(crate) fn set_origin(&mut self, share: i64, origin: Origin) -> Result<(), CatalogError> {
        self.connection
            .prepare_cached(
                "UPDATE shares SET device = ?2, system = ?3, inode = ?4, born = ?5 WHERE share = ?1",
            )?
            .execute((
                share,
                origin.device.cast_signed(),
                origin.system.cast_signed(),
                origin.inode.cast_signed(),
                origin.born,
            ))?;
        Ok(())
    }

    /// Whether a share can be reached.
    pub(crate) fn set_available(&mut self, share: i64, available: bool) -> Result<(), CatalogError> {
        self.connection
            .prepare_cached("UPDATE shares SET available = ?2 WHERE share = ?1")?
            .execute((share, available))?;
        match Share::find(self.connection, share)? {
            Some(share) => self.touch(share.root),
            None => Ok(()),
        }
    }
}
