//! What is kept whole in the cache, for commands.

use farhold_wire::ContactId;

use super::Engine;
use super::drive::find;
use crate::commands::DrivePath;
use crate::controller::Order;
use crate::error::EngineError;
use crate::pins::keeper::files_below;
use crate::pins::{Pin, PinStatus};
use crate::storage::mark;

impl Engine {
    /// Keeps a file, or a folder with all that is and will be in it, whole in the cache. What is missing is fetched in
    /// the background, new versions too.
    ///
    /// # Errors
    /// [`EngineError::Pinned`] if the cache's limit does not allow it, and others.
    pub async fn pin(&self, path: &DrivePath) -> Result<PinStatus, EngineError> {
        let (contact, pin) = self.locate_pin(path).await?;
        let replica = self.replica(contact, path).await?;
        let files = files_below(&replica, contact, pin.entry).await?.unwrap_or_default();
        let cache = &self.inner.storage.cache;
        cache.check_pins(files.iter().map(|(key, size)| (*key, *size)))?;
        let shown = path.to_string();
        self.inner.parts.pins.add(pin).await?;
        self.pinned().into_iter().find(|status| status.path == shown).ok_or(EngineError::Stopping)
    }

    /// The opposite of [`pin`](Self::pin). What was fetched stays until its room is needed.
    ///
    /// # Errors
    /// [`EngineError::NoSuchPath`] if that is not pinned, and others.
    pub async fn unpin(&self, path: &DrivePath) -> Result<(), EngineError> {
        let contact = self.book().named(&path.contact)?.id();
        // Also what is gone can be unpinned, by the name that it had.
        let entry = self.locate_pin(path).await.ok().and_then(|(_, pin)| pin.entry);
        let below = below(path);
        let which = |pin: &Pin| {
            pin.contact == contact && (pin.below == below || (entry.is_some() && pin.entry == entry))
        };
        if self.inner.parts.pins.remove(which).await? {
            Ok(())
        } else {
            Err(EngineError::NoSuchPath { path: path.to_string() })
        }
    }

    /// What is pinned, and how much of it is here.
    pub fn pinned(&self) -> Vec<PinStatus> {
        let book = self.book();
        let name = |id: ContactId| book.get(id).map(|contact| contact.name.clone()).unwrap_or_default();
        self.inner.parts.pins.status(&self.inner.storage.cache, name)
    }

    async fn locate_pin(&self, path: &DrivePath) -> Result<(ContactId, Pin), EngineError> {
        let contact = self.book().named(&path.contact)?.id();
        let replica = self.replica(contact, path).await?;
        let mark = self.book().get(contact).map(|contact| mark(&contact.code)).unwrap_or_default();
        let missing = || EngineError::NoSuchPath { path: path.to_string() };
        let entry = match path.below.is_empty() {
            true => None,
            false => Some(find(&replica, &path.below, &mark).await?.ok_or_else(missing)?.id),
        };
        Ok((contact, Pin { contact, entry, below: below(path) }))
    }

    async fn replica(
        &self,
        id: ContactId,
        path: &DrivePath,
    ) -> Result<farhold_catalog::Replica, EngineError> {
        let missing = || EngineError::NoSuchPath { path: path.to_string() };
        self.order(|reply| Order::Replica { id, reply }).await?.ok_or_else(missing)
    }
}

fn below(path: &DrivePath) -> String {
    let names: Vec<String> = path.below.iter().map(ToString::to_string).collect();
    names.join("/")
}
