//! Answers of a database that are given again without asking it, until something is written.
//!
//! A query runs on another thread, which costs more than the query. Whoever copies a folder asks for the same entries
//! several times each.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Answers that are kept; when there are more, all make room.
const ANSWERS: usize = 16_384;

#[derive(Debug)]
pub(crate) struct Memory<K, V>(Mutex<Held<K, V>>);

#[derive(Debug)]
struct Held<K, V> {
    /// Rises with every write. An answer is of the state that it was asked in.
    writes: u64,
    answers: HashMap<K, V>,
}

/// Before which write something was asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked(u64);

impl<K: Eq + Hash, V: Clone> Memory<K, V> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Held { writes: 0, answers: HashMap::new() }))
    }

    /// What was answered to `key`.
    pub(crate) fn get(&self, key: &K) -> Option<V> {
        self.lock().answers.get(key).cloned()
    }

    /// To be called before the database is asked.
    pub(crate) fn asked(&self) -> Asked {
        Asked(self.lock().writes)
    }

    /// Keeps answers, unless something was written since they were asked for.
    pub(crate) fn keep(&self, asked: Asked, answers: impl IntoIterator<Item = (K, V)>) {
        let mut held = self.lock();
        if held.writes != asked.0 {
            return;
        }
        for (key, value) in answers {
            if held.answers.len() >= ANSWERS {
                held.answers.clear();
            }
            held.answers.insert(key, value);
        }
    }

    /// To be called when something was written, before that is told.
    pub(crate) fn forget(&self) {
        let mut held = self.lock();
        held.writes += 1;
        held.answers = HashMap::new();
    }

    fn lock(&self) -> MutexGuard<'_, Held<K, V>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_kept_until_something_is_written() {
        let memory = Memory::new();
        memory.keep(memory.asked(), [(1, "a"), (2, "b")]);
        assert_eq!((memory.get(&1), memory.get(&2), memory.get(&3)), (Some("a"), Some("b"), None));
        memory.forget();
        assert_eq!(memory.get(&1), None);
    }

    #[test]
    fn an_answer_from_before_a_write_is_not_kept() {
        let memory = Memory::new();
        let asked = memory.asked();
        memory.forget();
        memory.keep(asked, [(1, "old")]);
        assert_eq!(memory.get(&1), None);
        memory.keep(memory.asked(), [(1, "new")]);
        assert_eq!(memory.get(&1), Some("new"));
    }

    #[test]
    fn answers_are_bounded() {
        let memory = Memory::new();
        memory.keep(memory.asked(), (0..3 * ANSWERS + 1).map(|key| (key, ())));
        assert!(memory.lock().answers.len() <= ANSWERS && memory.get(&(3 * ANSWERS)).is_some());
    }
}
