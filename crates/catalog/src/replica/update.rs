//! Batches and answers applied, each in one transaction.

use farhold_wire::{Batch, Change, Entry, EntryId, EntryKind};
use rusqlite::{Connection, Transaction};

use super::Limits;
use super::difference::Difference;
use super::schema::{Held, State};
use crate::{CatalogError, Replica, ReplicaError, TreeEvent};

/// Most names that the end of a snapshot reports as removed. What it removes beyond is removed all the same, and
/// whoever caches names notices at the end of their time to live.
const GONE_REPORTED: i64 = 65_536;

/// One transaction under way.
pub(crate) struct Update<'a> {
    connection: &'a Connection,
    state: State,
    limits: Limits,
    difference: Difference,
}

impl<'a> Update<'a> {
    pub(crate) fn begin(transaction: &'a Transaction<'_>, limits: Limits) -> Result<Self, CatalogError> {
        let state = State::load(transaction)?;
        Ok(Self { connection: transaction, state, limits, difference: Difference::default() })
    }

    /// What changed, and where the replica stands once the transaction is committed.
    pub(crate) fn finish(self) -> Result<(Vec<TreeEvent>, State), CatalogError> {
        self.state.save(self.connection)?;
        Ok((self.difference.events(self.connection)?, self.state))
    }

    /// To be called at the end: batches are small beside the limits, so what is beyond them is a part of one batch.
    pub(crate) fn check_size(&self) -> Result<(), ReplicaError> {
        let roots = self
            .connection
            .prepare_cached("SELECT count(*) FROM entries WHERE parent = x''")
            .and_then(|mut statement| statement.query_row([], |row| row.get::<_, i64>(0)))
            .map_err(CatalogError::from)?;
        if roots.cast_unsigned() > Replica::ROOTS {
            return Err(ReplicaError::TooManyRoots(Replica::ROOTS));
        }
        let number = |pragma: &str| {
            let number = self.connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
            number.map(i64::cast_unsigned).map_err(CatalogError::from)
        };
        let pages = number("page_count")?.saturating_sub(number("freelist_count")?);
        if pages.saturating_mul(number("page_size")?) > self.limits.bytes {
            return Err(ReplicaError::TooLarge(self.limits.bytes));
        }
        Ok(())
    }

    pub(crate) fn apply(&mut self, batch: Batch) -> Result<(), ReplicaError> {
        if batch.snapshot_begin {
            self.state.epoch = Some(batch.position.epoch);
            self.state.sequence = None;
            self.state.generation += 1;
        } else if !self.follows(&batch) {
            return Err(ReplicaError::OutOfOrder);
        }
        for change in batch.changes {
            match change {
                Change::Put(entry) => self.put(entry)?,
                Change::Remove(id) => self.remove(id)?,
            }
        }
        if batch.space.is_some() {
            self.state.space = batch.space;
        }
        // A home sends several batches for one step, and moves the position with the last of them.
        let reached = if self.state.in_snapshot() {
            batch.snapshot_end
        } else {
            self.state.sequence != Some(batch.position.sequence)
        };
        if reached {
            if batch.snapshot_end {
                self.drop_unnamed()?;
                self.state.top_complete = true;
            }
            self.state.sequence = Some(batch.position.sequence);
            self.state.step += 1;
            self.drop_unconfirmed()?;
            self.connection
                .prepare_cached("UPDATE entries SET complete = 1 WHERE complete = 0 AND absorbed = 0")
                .and_then(|mut statement| statement.execute([]))
                .map_err(CatalogError::from)?;
        }
        Ok(())
    }

    fn follows(&self, batch: &Batch) -> bool {
        if self.state.epoch != Some(batch.position.epoch) {
            return false;
        }
        match self.state.sequence {
            Some(sequence) => batch.position.sequence >= sequence && !batch.snapshot_end,
            None => self.state.in_snapshot(),
        }
    }

    fn put(&mut self, mut entry: Entry) -> Result<(), ReplicaError> {
        let old = Held::find(self.connection, entry.id)?;
        let mut complete = entry.kind != EntryKind::Folder;
        if let Some(Held { entry: old, complete: known, .. }) = old {
            self.difference.touch(self.connection, old.parent, &old.name)?;
            complete |= known && old.kind == EntryKind::Folder;
            // An answer may have overtaken the batch: its content is newer, the place is told by batches.
            if is_older(&entry, &old) {
                entry = Entry {
                    parent: entry.parent,
                    name: entry.name,
                    writable: entry.writable,
                    unavailable: entry.unavailable,
                    ..old
                };
            }
        } else {
            self.count_new()?;
        }
        self.difference.touch(self.connection, entry.parent, &entry.name)?;
        self.state.rank += 1;
        Held { entry, complete, absorbed: 0 }.write(self.connection, &self.state)?;
        Ok(())
    }

    fn count_new(&mut self) -> Result<(), ReplicaError> {
        if self.state.entries >= self.limits.entries {
            return Err(ReplicaError::TooManyEntries(self.limits.entries));
        }
        self.state.entries += 1;
        Ok(())
    }

    fn remove(&mut self, id: EntryId) -> Result<(), CatalogError> {
        if let Some(held) = Held::find(self.connection, id)? {
            self.difference.touch(self.connection, held.entry.parent, &held.entry.name)?;
        }
        // Also below what never came: a home announces a new folder after what is in it.
        // UNION, not UNION ALL: it ends also where entries are made to stand in a circle.
        let gone = self
            .connection
            .prepare_cached(
                "WITH RECURSIVE below(id) AS (
                    VALUES (?1) UNION SELECT entries.id FROM below JOIN entries ON entries.parent = below.id
                 ) DELETE FROM entries WHERE id IN (SELECT id FROM below)",
            )?
            .execute([id.0])?;
        self.uncount(gone);
        Ok(())
    }

    fn uncount(&mut self, gone: usize) {
        self.state.entries = self.state.entries.saturating_sub(gone as u64);
    }

    /// Removes what a whole snapshot did not name.
    fn drop_unnamed(&mut self) -> Result<(), CatalogError> {
        let generation = self.state.generation;
        let tops = self.select(
            "SELECT id FROM entries WHERE generation < ?1 AND absorbed = 0 AND (parent = x'' OR EXISTS
             (SELECT 1 FROM entries above WHERE above.id = entries.parent AND above.generation = ?1)) LIMIT ?2",
            (generation, GONE_REPORTED),
        )?;
        self.touch_all(tops)?;
        let gone = self
            .connection
            .execute("DELETE FROM entries WHERE generation < ?1 AND absorbed = 0", [generation])?;
        self.uncount(gone);
        Ok(())
    }

    /// Removes what came with an answer and was named by no batch since. What the home knew when it answered during
    /// one step, it has announced by the end of the next one, unless it was removed meanwhile.
    fn drop_unconfirmed(&mut self) -> Result<(), CatalogError> {
        let step = self.state.step;
        let gone = self.select("SELECT id FROM entries WHERE absorbed > 0 AND absorbed < ?1", [step])?;
        self.touch_all(gone)?;
        let gone = self
            .connection
            .prepare_cached("DELETE FROM entries WHERE absorbed > 0 AND absorbed < ?1")?
            .execute([step])?;
        self.uncount(gone);
        Ok(())
    }

    fn select(&self, sql: &str, params: impl rusqlite::Params) -> Result<Vec<EntryId>, CatalogError> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let ids = statement.query_map(params, |row| Ok(EntryId(row.get(0)?)))?;
        Ok(ids.collect::<Result<_, _>>()?)
    }

    fn touch_all(&mut self, ids: Vec<EntryId>) -> Result<(), CatalogError> {
        for id in ids {
            if let Some(held) = Held::find(self.connection, id)? {
                self.difference.touch(self.connection, held.entry.parent, &held.entry.name)?;
            }
        }
        Ok(())
    }

    pub(crate) fn absorb(&mut self, entry: Entry) -> Result<(), ReplicaError> {
        if self.state.epoch.is_some_and(|epoch| epoch != entry.version.epoch) {
            return Ok(());
        }
        let (complete, absorbed) = match Held::find(self.connection, entry.id)? {
            Some(held) if is_older(&held.entry, &entry) => {
                self.difference.touch(self.connection, held.entry.parent, &held.entry.name)?;
                (held.complete, held.absorbed)
            }
            Some(_) => return Ok(()),
            None if self.is_complete(entry.parent)? => return Ok(()),
            None => {
                self.count_new()?;
                (entry.kind != EntryKind::Folder, self.state.step + 1)
            }
        };
        self.difference.touch(self.connection, entry.parent, &entry.name)?;
        self.state.rank += 1;
        Held { entry, complete, absorbed }.write(self.connection, &self.state)?;
        Ok(())
    }

    /// Whether nothing may be put into a folder but by batches: it is wholly known, or not known at all.
    fn is_complete(&self, folder: Option<EntryId>) -> Result<bool, CatalogError> {
        match folder {
            None => Ok(self.state.top_complete),
            Some(id) => Ok(Held::find(self.connection, id)?.is_none_or(|held| held.complete)),
        }
    }

    pub(crate) fn absorb_listing(
        &mut self,
        folder: EntryId,
        entries: Vec<Entry>,
    ) -> Result<(), ReplicaError> {
        for entry in entries {
            if entry.parent == Some(folder) {
                self.absorb(entry)?;
            }
        }
        self.connection
            .prepare_cached("UPDATE entries SET complete = 1 WHERE id = ?1")
            .and_then(|mut statement| statement.execute([folder.0]))
            .map_err(CatalogError::from)?;
        Ok(())
    }
}

/// Whether `entry` is an earlier version than `other`. Versions of different epochs do not compare.
fn is_older(entry: &Entry, other: &Entry) -> bool {
    entry.version.epoch == other.version.epoch && entry.version.counter < other.version.counter
}
