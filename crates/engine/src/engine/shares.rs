//! What is shared from here.

use std::path::{Path, PathBuf};

use farhold_catalog::ShareInfo;
use farhold_wire::ContactId;

use super::Engine;
use crate::commands::{Share, ShareRequest, ShareState};
use crate::controller::blocking;
use crate::error::EngineError;

impl Engine {
    /// Shares paths with a contact, from where they lie: nothing is copied.
    ///
    /// # Errors
    /// [`EngineError`]; what was shared before the path that failed stays shared.
    pub async fn share(&self, request: ShareRequest) -> Result<Vec<Share>, EngineError> {
        let ShareRequest { paths, with, name, writable } = request;
        if name.is_some() && paths.len() > 1 {
            return Err(EngineError::OneNameManyPaths);
        }
        // All of them, before any is shared.
        for path in &paths {
            exists(path.clone()).await?;
        }
        let (id, contact) = self.partner(with.as_deref())?;
        let mut shared = Vec::new();
        for path in &paths {
            let info = self.inner.storage.home.share(path, &[id], name.clone(), writable).await;
            let info = info.map_err(|source| EngineError::Share { path: path.clone(), source })?;
            shared.extend(grants(&info, |other| (other == id).then(|| contact.clone())));
        }
        Ok(shared)
    }

    /// Withdraws a path from one contact or from all, and answers what was withdrawn.
    ///
    /// # Errors
    /// [`EngineError::Share`] if it is not shared so.
    pub async fn unshare(&self, path: &Path, with: Option<&str>) -> Result<Vec<Share>, EngineError> {
        let contact = with.map(|name| self.book().named(name).map(|contact| contact.id())).transpose()?;
        let before = self.shares().await?;
        let withdrawn = self.inner.storage.home.unshare(path, contact).await;
        withdrawn.map_err(|source| EngineError::Share { path: path.to_owned(), source })?;
        let after = self.shares().await?;
        Ok(before.into_iter().filter(|share| !after.contains(share)).collect())
    }

    /// Everything shared from here, by path.
    ///
    /// # Errors
    /// [`EngineError::Catalog`].
    pub async fn shares(&self) -> Result<Vec<Share>, EngineError> {
        let infos = self.inner.storage.home.shares().await?;
        let book = self.book();
        let name = |id| book.get(id).map(|contact| contact.name.clone());
        Ok(infos.iter().flat_map(|info| grants(info, name)).collect())
    }

    /// With whom to share: the one named, or the only contact there is.
    fn partner(&self, with: Option<&str>) -> Result<(ContactId, String), EngineError> {
        let book = self.book();
        let contact = match with {
            Some(name) => book.named(name)?,
            None => {
                let mut contacts = book.iter();
                match (contacts.next(), contacts.count()) {
                    (Some(only), 0) => only,
                    (Some(_), more) => return Err(EngineError::ContactNeeded { count: more + 1 }),
                    (None, _) => return Err(EngineError::NoContacts),
                }
            }
        };
        Ok((contact.id(), contact.name.clone()))
    }
}

/// What the caller named must be there before a contact is looked for: a slip of the keyboard is the likelier cause.
async fn exists(path: PathBuf) -> Result<(), EngineError> {
    blocking(move || match path.symlink_metadata() {
        Ok(_) => Ok(()),
        Err(source) => Err(EngineError::NoSuchFile { path, source }),
    })
    .await
}

/// A share with each of the contacts that have a name.
fn grants(info: &ShareInfo, contact: impl Fn(ContactId) -> Option<String>) -> Vec<Share> {
    let state = match info.state {
        farhold_catalog::ShareState::Scanning => ShareState::Scanning,
        farhold_catalog::ShareState::Ready => ShareState::Ready,
        farhold_catalog::ShareState::Unavailable => ShareState::Unavailable,
    };
    let share = |grant: &farhold_catalog::Grant| {
        Some(Share {
            path: info.path.clone(),
            with: contact(grant.contact)?,
            name: grant.name.clone(),
            writable: grant.writable,
            state,
            entries: info.entries,
        })
    };
    info.grants.iter().filter_map(share).collect()
}
