//! The changes that one contact is told, as a stream.
//!
//! The log is compacted: each entry bears the number of its last change, and removals are remembered apart. A step
//! sends first every entry of each share whose number lies above what was sent, until there is none, and then the
//! removals up to the number at which the step began. So an entry that moved out of a folder has always been sent
//! before that folder's removal. Only the last batch of a step moves the position: if the connection breaks before,
//! the step is sent again, which changes nothing. A share granted after the contact's position is sent whole, and
//! so is everything, as a snapshot, if the position is of another epoch or older than the removals remembered: at
//! the beginning, or later because more was removed at once than is remembered.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use farhold_wire::{Batch, Change, ContactId, EntryId, Position, ReadFailure, Space, limits};
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt, StreamExt};
use rusqlite::Connection;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::core::Core;
use super::own;
use super::schema::{GrantRow, Row, Share, State};
use super::serve::{ANSWER_BYTES, failure, message_bytes};
use crate::CatalogError;

/// How often the room on the disk is looked at, and a position told that moved without anything to send.
const QUIET: Duration = Duration::from_secs(10);
/// How long a disk has to answer how much room there is.
const ROOM_ANSWER: Duration = Duration::from_secs(1);
/// A change of room that is told: this much, or one per cent of the disk if that is less.
const ROOM: u64 = 64 << 20;

pub(crate) fn changes(
    core: Arc<Core>,
    contact: ContactId,
    from: Option<Position>,
) -> BoxStream<'static, Result<Batch, ReadFailure>> {
    let feed = Feed {
        head: core.announcer.head.subscribe(),
        core,
        from: Some(from),
        cursor: Cursor { contact, base: 0, told: 0, sent: HashMap::new() },
        step: None,
        space: None,
        asking: None,
        quiet: Instant::now(),
    };
    stream::unfold(Some(feed), |feed| async move {
        let mut feed = feed?;
        match feed.next().await {
            Ok(Some(batch)) => Some((Ok(batch), Some(feed))),
            Ok(None) => None,
            Err(CatalogError::Closed) => None,
            Err(error) => Some((Err(failure(error)), None)),
        }
    })
    .boxed()
}

struct Feed {
    core: Arc<Core>,
    head: watch::Receiver<u64>,
    /// The position asked for, until the first step began.
    from: Option<Option<Position>>,
    cursor: Cursor,
    /// The step under way.
    step: Option<Step>,
    /// The room last told.
    space: Option<Space>,
    /// The question for the room, while it is not answered.
    asking: Option<BoxFuture<'static, Option<Space>>>,
    /// When to look next if nothing happens.
    quiet: Instant,
}

/// How far the contact was told.
#[derive(Debug, Clone)]
struct Cursor {
    contact: ContactId,
    /// Everything up to here was sent.
    base: u64,
    /// The position last told.
    told: u64,
    /// By share: when it was granted, and the number of the last entry sent of it.
    sent: HashMap<i64, (u64, u64)>,
}

/// A run of batches that ends with a new position.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// The position it leads to.
    target: u64,
    snapshot: bool,
    /// Nothing of it was sent yet.
    first: bool,
    /// Number of the last removal sent.
    removed: u64,
}

impl Feed {
    async fn next(&mut self) -> Result<Option<Batch>, CatalogError> {
        loop {
            if self.core.cancel.is_cancelled() {
                return Ok(None);
            }
            let opening = self.from.is_some();
            let step = match (self.step, self.from.take()) {
                (Some(step), _) => step,
                (None, Some(from)) => self.begin(from).await?,
                (None, None) => match self.wait().await? {
                    Woken::Changed => self.begin_live(),
                    Woken::Tell(batch) => return Ok(Some(batch)),
                    Woken::Ended => return Ok(None),
                },
            };
            let space = if opening { self.room().await } else { None };
            let mut cursor = std::mem::replace(&mut self.cursor, Cursor::empty());
            let epoch = self.core.epoch;
            let filled = self.core.store.read(move |connection| {
                let filled = fill(connection, epoch, &mut cursor, step)?;
                Ok((filled, cursor))
            });
            let (filled, cursor) = filled.await?;
            self.cursor = cursor;
            let filled = match filled {
                Fill::Part(filled) => filled,
                Fill::Forgotten(state) => {
                    self.step = Some(self.begin_snapshot(state));
                    continue;
                }
            };
            self.step = (!filled.last).then_some(Step { first: false, removed: filled.removed, ..step });
            if filled.last {
                self.cursor.base = step.target;
            }
            let tells =
                opening || step.snapshot || !filled.changes.is_empty() || (filled.last && !step.first);
            if tells {
                return Ok(Some(self.batch(step, filled, space)));
            }
        }
    }

    fn batch(&mut self, step: Step, filled: Filled, space: Option<Space>) -> Batch {
        // A snapshot has no position to stay at; its end counts.
        let sequence = if filled.last || step.snapshot { step.target } else { self.cursor.told };
        if filled.last {
            self.cursor.told = sequence;
        }
        Batch {
            position: Position { epoch: self.core.epoch, sequence },
            changes: filled.changes,
            snapshot_begin: step.snapshot && step.first,
            snapshot_end: step.snapshot && filled.last,
            space,
        }
    }

    async fn begin(&mut self, from: Option<Position>) -> Result<Step, CatalogError> {
        let state = self.core.store.read(State::load).await?.ok_or(CatalogError::Damaged)?;
        let target = state.sequence;
        self.head.mark_unchanged();
        if target < *self.head.borrow() {
            self.head.mark_changed();
        }
        let resumed =
            from.filter(|from| from.epoch == state.epoch && (state.floor..=target).contains(&from.sequence));
        let Some(Position { sequence: base, .. }) = resumed else {
            return Ok(self.begin_snapshot(state));
        };
        self.cursor.base = base;
        self.cursor.told = base;
        Ok(Step { target, snapshot: false, first: true, removed: base })
    }

    fn begin_snapshot(&mut self, state: State) -> Step {
        self.cursor.base = 0;
        self.cursor.told = 0;
        self.cursor.sent.clear();
        Step { target: state.sequence, snapshot: true, first: true, removed: 0 }
    }

    fn begin_live(&mut self) -> Step {
        let target = *self.head.borrow_and_update();
        Step { target, snapshot: false, first: true, removed: self.cursor.base }
    }

    async fn wait(&mut self) -> Result<Woken, CatalogError> {
        loop {
            let cancel = self.core.cancel.clone();
            tokio::select! {
                () = cancel.cancelled() => return Ok(Woken::Ended),
                changed = self.head.changed() => {
                    return Ok(if changed.is_ok() { Woken::Changed } else { Woken::Ended });
                }
                () = sleep_until(self.quiet) => {}
            }
            let space = self.room().await;
            if space.is_some() || self.cursor.told != self.cursor.base {
                self.cursor.told = self.cursor.base;
                return Ok(Woken::Tell(Batch {
                    position: Position { epoch: self.core.epoch, sequence: self.cursor.base },
                    changes: Vec::new(),
                    snapshot_begin: false,
                    snapshot_end: false,
                    space,
                }));
            }
        }
    }

    /// The room on the disk, if it differs noticeably from what was told.
    async fn room(&mut self) -> Option<Space> {
        self.quiet = Instant::now() + QUIET;
        let (core, contact) = (self.core.clone(), self.cursor.contact);
        // A disk that does not answer is not asked again meanwhile, and holds up nothing.
        let asking =
            self.asking.get_or_insert_with(|| async move { own::space(&core, contact).await.ok() }.boxed());
        let room = tokio::time::timeout(ROOM_ANSWER, asking).await.ok()?;
        self.asking = None;
        let room = room?;
        if self.space.is_some_and(|told| !differs(told, room)) {
            return None;
        }
        self.space = Some(room);
        Some(room)
    }
}

enum Woken {
    Changed,
    Tell(Batch),
    Ended,
}

fn differs(told: Space, now: Space) -> bool {
    told.total_bytes != now.total_bytes
        || told.free_bytes.abs_diff(now.free_bytes) >= ROOM.min(now.total_bytes / 100).max(1)
}

impl Cursor {
    fn empty() -> Self {
        Self { contact: ContactId([0; 16]), base: 0, told: 0, sent: HashMap::new() }
    }
}

enum Fill {
    Part(Filled),
    /// Removals that were not sent are not remembered any more: only a snapshot tells of them.
    Forgotten(State),
}

/// As much of a step as fits into one batch.
struct Filled {
    changes: Vec<Change>,
    /// Nothing of the step is left.
    last: bool,
    removed: u64,
}

fn fill(connection: &Connection, epoch: u64, cursor: &mut Cursor, step: Step) -> Result<Fill, CatalogError> {
    if !step.snapshot {
        let state = State::load(connection)?.ok_or(CatalogError::Damaged)?;
        if state.floor > step.removed {
            return Ok(Fill::Forgotten(state));
        }
    }
    let mut changes = Vec::new();
    let mut bytes = 0;
    let grants = GrantRow::of_contact(connection, cursor.contact)?;
    cursor.sent.retain(|share, (granted, _)| {
        grants.iter().any(|grant| (grant.share, grant.granted) == (*share, *granted))
    });
    for grant in &grants {
        let Some(share) = Share::find(connection, grant.share)? else { continue };
        let start = if grant.granted > cursor.base { 0 } else { cursor.base };
        let (_, sent) = cursor.sent.entry(grant.share).or_insert((grant.granted, start));
        loop {
            let room = limits::BATCH_CHANGES.saturating_sub(changes.len());
            let rows = Row::select(
                connection,
                "e.share = ?1 AND e.sequence > ?2 AND e.announced = 1 ORDER BY e.sequence LIMIT ?3",
                (grant.share, sent.cast_signed(), room as i64),
            )?;
            if rows.is_empty() && room > 0 {
                break;
            }
            for row in rows {
                bytes += message_bytes(&row);
                if bytes > ANSWER_BYTES && !changes.is_empty() {
                    return Ok(Fill::Part(Filled { changes, last: false, removed: step.removed }));
                }
                *sent = row.sequence;
                changes.push(Change::Put(row.entry(epoch, &share, Some(grant))));
            }
            if changes.len() >= limits::BATCH_CHANGES {
                return Ok(Fill::Part(Filled { changes, last: false, removed: step.removed }));
            }
        }
    }
    if step.snapshot {
        return Ok(Fill::Part(Filled { changes, last: true, removed: step.removed }));
    }
    let room = limits::BATCH_CHANGES.saturating_sub(changes.len());
    let (removals, last) = removals(connection, cursor.contact, step, room)?;
    let removed = removals.last().map_or(step.removed, |(sequence, _)| *sequence);
    changes.extend(removals.into_iter().map(|(_, id)| Change::Remove(id)));
    Ok(Fill::Part(Filled { changes, last, removed }))
}

/// Removals of a step that were not sent yet, in order, and whether these are all.
fn removals(
    connection: &Connection,
    contact: ContactId,
    step: Step,
    most: usize,
) -> Result<(Vec<(u64, EntryId)>, bool), CatalogError> {
    let mut statement = connection.prepare_cached(
        "SELECT sequence, id FROM tombstones WHERE sequence > ?1 AND sequence <= ?2 AND
         CASE WHEN contact IS NULL THEN share IN (SELECT share FROM grants WHERE contact = ?3) ELSE contact = ?3 END
         ORDER BY sequence LIMIT ?4",
    )?;
    let mut rows = statement.query((
        step.removed.cast_signed(),
        step.target.cast_signed(),
        contact.0,
        most as i64 + 1,
    ))?;
    let mut removals = Vec::new();
    while let Some(row) = rows.next()? {
        if removals.len() == most {
            return Ok((removals, false));
        }
        removals.push((row.get::<_, i64>(0)?.cast_unsigned(), EntryId(row.get(1)?)));
    }
    Ok((removals, true))
}

#[cfg(test)]
mod tests;
