//! Open files and folders by their numbers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::attr::Handle;
use crate::error::VfsError;

/// Files, or folders, that may be open at once.
const MOST: usize = 65_536;

/// Open things; a number is never given twice.
#[derive(Debug)]
pub(crate) struct Handles<T> {
    table: Mutex<Table<T>>,
}

#[derive(Debug)]
struct Table<T> {
    next: u64,
    open: HashMap<Handle, Arc<T>>,
}

impl<T> Handles<T> {
    pub(crate) fn new() -> Self {
        Self { table: Mutex::new(Table { next: 1, open: HashMap::new() }) }
    }

    pub(crate) fn insert(&self, thing: T) -> Result<Handle, VfsError> {
        let mut table = self.lock();
        if table.open.len() >= MOST {
            return Err(VfsError::TooManyOpen);
        }
        let handle = Handle(table.next);
        table.next += 1;
        table.open.insert(handle, Arc::new(thing));
        Ok(handle)
    }

    pub(crate) fn get(&self, handle: Handle) -> Result<Arc<T>, VfsError> {
        self.lock().open.get(&handle).cloned().ok_or(VfsError::BadHandle)
    }

    /// What was open is dropped once nobody works with it.
    pub(crate) fn remove(&self, handle: Handle) {
        let removed = self.lock().open.remove(&handle);
        // Outside the lock: dropping it may take long.
        drop(removed);
    }

    /// Closes all.
    pub(crate) fn clear(&self) {
        let removed = std::mem::take(&mut self.lock().open);
        drop(removed);
    }

    /// Everything open that `wanted` says yes to.
    pub(crate) fn filter(&self, wanted: impl Fn(&T) -> bool) -> Vec<Arc<T>> {
        self.lock().open.values().filter(|thing| wanted(thing)).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Table<T>> {
        // The table is whole between any two statements, so a panic elsewhere does not spoil it.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_not_used_again() {
        let handles = Handles::new();
        let first = handles.insert("a").unwrap();
        handles.remove(first);
        let second = handles.insert("b").unwrap();
        assert_ne!(first, second);
        assert_eq!(handles.get(first), Err(VfsError::BadHandle));
        assert_eq!(*handles.get(second).unwrap(), "b");
    }

    #[test]
    fn there_is_an_end() {
        let handles = Handles::new();
        for _ in 0..MOST {
            handles.insert(()).unwrap();
        }
        assert_eq!(handles.insert(()), Err(VfsError::TooManyOpen));
        handles.remove(Handle(1));
        handles.insert(()).unwrap();
    }
}
