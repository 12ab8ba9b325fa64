//! The trees that a contact's folder shows, and the names that they are shown by.
//!
//! A name that differs from the home's is kept as long as the tree is there under its own name: it does not flip back
//! when the other tree of that name goes.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use farhold_catalog::{ContactId, EntryId};
use rusqlite::{Connection, params};

use crate::names;

/// Whose tree it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Side {
    Mine,
    Theirs,
}

impl Side {
    fn number(self) -> i64 {
        match self {
            Self::Mine => 0,
            Self::Theirs => 1,
        }
    }
}

/// A top-level entry of a space.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TreeRoot {
    pub(crate) side: Side,
    /// Its name at home.
    pub(crate) name: Vec<u8>,
    pub(crate) id: EntryId,
}

/// A name that differs from the home's.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Kept {
    /// The home's name that it was made for.
    name: Vec<u8>,
    shown: Vec<u8>,
}

type Keys = HashMap<(Side, EntryId), Kept>;

/// How the sides of a space are told apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Marks<'a> {
    pub(crate) mine: &'a str,
    pub(crate) theirs: &'a str,
    /// Mine keep their names.
    pub(crate) mine_first: bool,
}

/// The names that `roots` are shown by, in their order: all different.
fn assign(roots: &[TreeRoot], kept: &Keys, marks: Marks<'_>) -> Vec<Vec<u8>> {
    let mark = |side| match side {
        Side::Mine => marks.mine,
        Side::Theirs => marks.theirs,
    };
    let kept_name = |root: &TreeRoot| kept.get(&(root.side, root.id)).filter(|kept| kept.name == root.name);
    // Names that are kept come first, then the side that keeps its names. Within a side by name and id, so that both
    // machines come to the same.
    let mut order: Vec<usize> = (0..roots.len()).collect();
    order.sort_by_key(|index| {
        let root = &roots[*index];
        (kept_name(root).is_none(), (root.side == Side::Mine) != marks.mine_first, &root.name, root.id)
    });
    let mut taken: HashSet<Vec<u8>> = HashSet::new();
    let mut shown = vec![Vec::new(); roots.len()];
    for index in order {
        let root = &roots[index];
        let free = |name: &[u8]| !taken.contains(name);
        let name = match kept_name(root) {
            Some(kept) if free(&kept.shown) => kept.shown.clone(),
            Some(_) => names::marked(&root.name, mark(root.side), |name| !free(name)),
            None => names::shown(&root.name, mark(root.side), |name| !free(name)),
        };
        taken.insert(name.clone());
        shown[index] = name;
    }
    shown
}

/// The kept names of all contacts: in memory, and on disk for the next start.
#[derive(Debug, Clone)]
pub(crate) struct ShownNames {
    contacts: Arc<Mutex<HashMap<ContactId, Keys>>>,
    /// `None` once it is closed.
    database: Arc<Mutex<Option<Connection>>>,
}

impl ShownNames {
    /// Opens the database at `path`, or begins it. One that cannot be used is an error to log, not to stop for: names
    /// are then kept until the end of the program. Blocks.
    pub(crate) fn open(path: &Path) -> rusqlite::Result<Self> {
        Connection::open(path).and_then(Self::read).or_else(|error| {
            tracing::warn!("the database of shown names cannot be used");
            tracing::debug!(%error, "why it cannot be used");
            Self::read(Connection::open_in_memory()?)
        })
    }

    fn read(database: Connection) -> rusqlite::Result<Self> {
        database.execute_batch(
            "PRAGMA journal_mode = WAL;
             CREATE TABLE IF NOT EXISTS shown (
                 contact BLOB NOT NULL, side INTEGER NOT NULL, entry BLOB NOT NULL,
                 name BLOB NOT NULL, shown BLOB NOT NULL,
                 PRIMARY KEY (contact, side, entry)
             ) WITHOUT ROWID;",
        )?;
        let mut contacts: HashMap<ContactId, Keys> = HashMap::new();
        let mut statement = database.prepare("SELECT contact, side, entry, name, shown FROM shown")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let side = if row.get::<_, i64>(1)? == Side::Mine.number() { Side::Mine } else { Side::Theirs };
            let kept = Kept { name: row.get(3)?, shown: row.get(4)? };
            contacts.entry(ContactId(row.get(0)?)).or_default().insert((side, EntryId(row.get(2)?)), kept);
        }
        drop(rows);
        drop(statement);
        Ok(Self { contacts: Arc::new(Mutex::new(contacts)), database: Arc::new(Mutex::new(Some(database))) })
    }

    /// Closes the database, after whoever is writing to it. Names that are kept from now on are kept in memory alone.
    pub(crate) async fn close(&self) {
        let database = Arc::clone(&self.database);
        let closed = tokio::task::spawn_blocking(move || {
            // The last connection that is closed takes the files of the write-ahead log away.
            let Some(connection) = lock(&database).take() else { return };
            if let Err((_, error)) = connection.close() {
                tracing::debug!(%error, "the database of shown names is left as after a crash");
            }
        });
        if let Err(error) = closed.await {
            tracing::error!(%error, "closing the shown names ended early");
        }
    }

    /// The names that the trees of a contact's folder are shown by, in their order. `complete` tells of which sides
    /// all trees are given: the kept names of others stay.
    pub(crate) async fn of(
        &self,
        contact: ContactId,
        roots: &[TreeRoot],
        complete: &[Side],
        marks: Marks<'_>,
    ) -> Vec<Vec<u8>> {
        let (shown, changed) = {
            let mut contacts = lock(&self.contacts);
            let kept = contacts.entry(contact).or_default();
            let shown = assign(roots, kept, marks);
            let now = keep(roots, &shown, complete, kept);
            (shown, std::mem::replace(kept, now) != *kept)
        };
        if changed {
            self.save(contact).await;
        }
        shown
    }

    /// Every name that a tree may be shown by; the home's `name` among them.
    pub(crate) fn possible(&self, contact: ContactId, side: Side, id: EntryId, name: &[u8]) -> Vec<Vec<u8>> {
        let contacts = lock(&self.contacts);
        let kept = contacts.get(&contact).and_then(|keys| keys.get(&(side, id)));
        std::iter::once(name.to_vec()).chain(kept.map(|kept| kept.shown.clone())).collect()
    }

    /// Trouble with the disk costs the stability of names over a restart, no more: it is logged.
    async fn save(&self, contact: ContactId) {
        let names = self.clone();
        match tokio::task::spawn_blocking(move || names.save_blocking(contact)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!("shown names could not be kept");
                tracing::debug!(%error, "why they could not be kept");
            }
            Err(error) => tracing::error!(%error, "keeping shown names ended early"),
        }
    }

    fn save_blocking(&self, contact: ContactId) -> rusqlite::Result<()> {
        let mut database = lock(&self.database);
        let Some(database) = database.as_mut() else { return Ok(()) };
        // Read under the lock of the database: of two savers, the later one writes what is newer.
        let keys = lock(&self.contacts).get(&contact).cloned().unwrap_or_default();
        let transaction = database.transaction()?;
        transaction.execute("DELETE FROM shown WHERE contact = ?1", params![contact.0])?;
        for ((side, entry), kept) in keys {
            transaction.execute(
                "INSERT INTO shown (contact, side, entry, name, shown) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![contact.0, side.number(), entry.0, kept.name, kept.shown],
            )?;
        }
        transaction.commit()
    }
}

/// The names to keep, now that `roots` are shown as `shown`.
fn keep(roots: &[TreeRoot], shown: &[Vec<u8>], complete: &[Side], before: &Keys) -> Keys {
    let given: HashSet<(Side, EntryId)> = roots.iter().map(|root| (root.side, root.id)).collect();
    let absent = before.iter().filter(|(key, _)| !given.contains(key) && !complete.contains(&key.0));
    let differing = roots.iter().zip(shown).filter(|(root, shown)| root.name != **shown);
    differing
        .map(|(root, shown)| ((root.side, root.id), Kept { name: root.name.clone(), shown: shown.clone() }))
        .chain(absent.map(|(key, kept)| (*key, kept.clone())))
        .collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is in memory is whole between any two statements, and a panic undoes a transaction.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BOB: ContactId = ContactId([9; 16]);
    const MARKS: Marks<'_> = Marks { mine: "mMmMmM", theirs: "tTtTtT", mine_first: true };
    const ALL: [Side; 2] = [Side::Mine, Side::Theirs];

    fn root(side: Side, name: &str, id: u8) -> TreeRoot {
        TreeRoot { side, name: name.into(), id: EntryId([id; 16]) }
    }

    fn names() -> ShownNames {
        ShownNames::read(Connection::open_in_memory().unwrap()).unwrap()
    }

    async fn shown(names: &ShownNames, roots: &[TreeRoot], marks: Marks<'_>) -> Vec<String> {
        let shown = names.of(BOB, roots, &ALL, marks).await;
        shown.into_iter().map(|name| String::from_utf8(name).unwrap()).collect()
    }

    #[tokio::test]
    async fn the_first_side_keeps_its_name() {
        let roots =
            [root(Side::Mine, "docs", 1), root(Side::Theirs, "docs", 2), root(Side::Theirs, "music", 3)];
        assert_eq!(shown(&names(), &roots, MARKS).await, ["docs", "docs (tTtTtT)", "music"]);
        let second = Marks { mine_first: false, ..MARKS };
        assert_eq!(shown(&names(), &roots, second).await, ["docs (mMmMmM)", "docs", "music"]);
    }

    #[tokio::test]
    async fn a_shown_name_does_not_flip_back_and_survives_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("names.db");
        let both = [root(Side::Mine, "docs", 1), root(Side::Theirs, "docs", 2)];
        {
            let names = ShownNames::open(&path).unwrap();
            assert_eq!(shown(&names, &both, MARKS).await[1], "docs (tTtTtT)");
        }
        let names = ShownNames::open(&path).unwrap();
        assert_eq!(shown(&names, &both[1..], MARKS).await, ["docs (tTtTtT)"]);
        assert_eq!(shown(&names, &both, MARKS).await, ["docs", "docs (tTtTtT)"]);
        // Its home gives it another name: that one is free.
        assert_eq!(shown(&names, &[root(Side::Theirs, "papers", 2)], MARKS).await, ["papers"]);
        // Gone, so another tree of that name begins anew.
        assert_eq!(shown(&names, &[root(Side::Theirs, "docs", 4)], MARKS).await, ["docs"]);
    }

    #[tokio::test]
    async fn closing_leaves_the_database_alone_on_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let names = ShownNames::open(&folder.path().join("names.db")).unwrap();
        let both = [root(Side::Mine, "docs", 1), root(Side::Theirs, "docs", 2)];
        let shown_open = shown(&names, &both, MARKS).await;
        names.close().await;
        let left: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["names.db"]);
        // Whoever still asks is answered.
        assert_eq!(shown(&names, &both, MARKS).await, shown_open);
        assert_eq!(shown(&names, &both[1..], MARKS).await, ["docs (tTtTtT)"]);
        names.close().await;
    }

    #[tokio::test]
    async fn what_is_not_told_of_is_kept() {
        let names = names();
        let both = [root(Side::Mine, "docs", 1), root(Side::Theirs, "docs", 2)];
        names.of(BOB, &both, &ALL, MARKS).await;
        // Only my side is known now.
        names.of(BOB, &both[..1], &[Side::Mine], MARKS).await;
        assert_eq!(shown(&names, &both[1..], MARKS).await, ["docs (tTtTtT)"]);
        assert_eq!(names.possible(BOB, Side::Theirs, EntryId([2; 16]), b"docs").len(), 2);
    }

    #[tokio::test]
    async fn a_damaged_database_costs_only_the_memory_of_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("names.db");
        std::fs::write(&path, vec![7; 8192]).unwrap();
        let names = ShownNames::open(&path).unwrap();
        assert_eq!(shown(&names, &[root(Side::Mine, "docs", 1)], MARKS).await, ["docs"]);
    }

    proptest! {
        #[test]
        fn names_are_different_and_both_machines_agree(
            roots in prop::collection::hash_set((any::<bool>(), 0usize..4, any::<u8>()), 0..12)
        ) {
            // Names that collide with what is made for a collision are the hard ones.
            let names = ["a", "a (tTtTtT)", "a (mMmMmM)", "a (tTtTtT 2)"];
            let here: Vec<TreeRoot> = roots
                .iter()
                .map(|(mine, name, id)| root(if *mine { Side::Mine } else { Side::Theirs }, names[*name], *id))
                .collect();
            let there: Vec<TreeRoot> = here
                .iter()
                .map(|root| TreeRoot {
                    side: if root.side == Side::Mine { Side::Theirs } else { Side::Mine },
                    ..root.clone()
                })
                .collect();
            let shown_here = assign(&here, &Keys::new(), MARKS);
            let turned = Marks { mine: MARKS.theirs, theirs: MARKS.mine, mine_first: false };
            prop_assert_eq!(&shown_here, &assign(&there, &Keys::new(), turned));
            let different: HashSet<&Vec<u8>> = shown_here.iter().collect();
            prop_assert_eq!(different.len(), here.len());
            // What was kept of it holds.
            let kept = keep(&here, &shown_here, &ALL, &Keys::new());
            prop_assert_eq!(&shown_here, &assign(&here, &kept, MARKS));
        }
    }
}
