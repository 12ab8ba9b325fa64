//! Pulls and pushes, for commands.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use farhold_wire::Name;
use futures_util::stream::{BoxStream, StreamExt};

use super::Engine;
use crate::commands::DrivePath;
use crate::controller::{Order, blocking};
use crate::error::EngineError;
use crate::layout::Layout;
use crate::status::{TransferChanges, TransferId, TransferStatus};
use crate::transfers::Job;
use crate::transfers::error::TransferError;

impl Engine {
    /// Pulls a file or folder of a contact, `NAME/PATH`. It lands in `destination` if that is a folder, and else is
    /// called so; without one it lands in the user's `Downloads`. Nothing is overwritten. Works also while the contact
    /// is away: the transfer waits.
    ///
    /// # Errors
    /// [`EngineError::Transfer`] and others, if it cannot even begin. What befalls it later is in its status.
    pub async fn pull(
        &self,
        source: &DrivePath,
        destination: Option<PathBuf>,
    ) -> Result<TransferId, EngineError> {
        let id = self.book().named(&source.contact)?.id();
        let Some(last) = source.below.last().cloned() else {
            return Err(TransferError::NoPath { contact: source.contact.clone() }.into());
        };
        let destination = match destination {
            Some(destination) => std::path::absolute(&destination)
                .map_err(|source| TransferError::Local { path: destination, source })?,
            None => Layout::default_downloads().ok_or(TransferError::NoHome)?,
        };
        let name = last.clone();
        let (folder, name) = blocking(move || place(&destination, &name)).await?;
        let job = Job::Pull {
            below: source.below.iter().map(Into::into).collect(),
            folder: folder.as_path().into(),
            name: (&name).into(),
            begun: false,
        };
        self.inner.parts.transfers.add(id, last, job).await
    }

    /// Pushes a file or folder to a contact, who has it once it accepts. What is at `path` when it is sent is what
    /// arrives.
    ///
    /// # Errors
    /// [`EngineError::Transfer`] and others, if it cannot even begin.
    pub async fn push(&self, path: PathBuf, contact: &str) -> Result<TransferId, EngineError> {
        let id = self.book().named(contact)?.id();
        let (path, name) = blocking(move || source(path)).await?;
        self.inner.parts.transfers.add(id, name, Job::Push { path: path.as_path().into() }).await
    }

    /// All transfers that are not over, and the latest that are.
    pub fn transfers(&self) -> Vec<TransferStatus> {
        self.inner.parts.transfers.statuses()
    }

    /// Stops a transfer until it is resumed; keeps what was received.
    ///
    /// # Errors
    /// [`EngineError::Transfer`].
    pub async fn pause_transfer(&self, id: TransferId) -> Result<(), EngineError> {
        self.inner.parts.transfers.change(id, |table, id| table.pause(id)).await
    }

    /// Lets a transfer go on that is paused or failed, from where it was.
    ///
    /// # Errors
    /// [`EngineError::Transfer`].
    pub async fn resume_transfer(&self, id: TransferId) -> Result<(), EngineError> {
        self.inner.parts.transfers.change(id, |table, id| table.resume(id)).await
    }

    /// Gives a transfer up, and removes what is not finished of it.
    ///
    /// # Errors
    /// [`EngineError::Transfer`].
    pub async fn cancel_transfer(&self, id: TransferId) -> Result<(), EngineError> {
        self.inner.parts.transfers.change(id, |table, id| table.cancel(id)).await
    }

    /// Waits until a transfer is done, or needs the user.
    ///
    /// # Errors
    /// [`EngineError::Transfer`], [`EngineError::Stopping`].
    pub async fn transfer_done(&self, id: TransferId) -> Result<TransferStatus, EngineError> {
        tokio::select! {
            status = self.inner.parts.transfers.rests(id) => status,
            () = self.inner.tasks.work.cancelled() => Err(EngineError::Stopping),
        }
    }

    /// Takes one push that was offered, into `folder` or into the user's `Downloads/Farhold`, which is made.
    ///
    /// # Errors
    /// [`EngineError::Transfer`].
    pub async fn accept_offer(&self, id: TransferId, folder: Option<PathBuf>) -> Result<(), EngineError> {
        let folder = blocking(move || match folder {
            Some(folder) => incoming(&folder),
            None => default_incoming(),
        });
        let folder = folder.await?;
        self.inner.parts.transfers.change(id, |table, id| table.accept(id, &folder)).await
    }

    /// Does not take it; its sender is told.
    ///
    /// # Errors
    /// [`EngineError::Transfer`].
    pub async fn decline_offer(&self, id: TransferId) -> Result<(), EngineError> {
        self.inner.parts.transfers.change(id, |table, id| table.decline(id)).await
    }

    /// Takes transfers that are done, cancelled or failed off the list, with what they left unfinished: these, or
    /// all. Answers which.
    ///
    /// # Errors
    /// [`EngineError::Transfer`].
    pub async fn forget_transfers(
        &self,
        ids: Option<Vec<TransferId>>,
    ) -> Result<Vec<TransferId>, EngineError> {
        self.inner.parts.transfers.discard(ids).await
    }

    /// All transfers, in chunks up to the first that is `complete`, and then what changes of them, once in `interval`
    /// at most; ends with the engine.
    pub fn transfer_changes(&self, interval: Duration) -> BoxStream<'static, TransferChanges> {
        let stopping = self.inner.tasks.work.clone().cancelled_owned();
        self.inner.parts.transfers.changes(interval).take_until(stopping).boxed()
    }

    /// Takes what a contact pushes into a folder from now on, also what it has offered already; or what it pushes waits
    /// for the user again.
    ///
    /// # Errors
    /// [`EngineError::Contact`]; [`EngineError::Transfer`] if that is no folder.
    pub async fn accept_pushes(&self, name: &str, folder: Option<PathBuf>) -> Result<(), EngineError> {
        let folder = match folder {
            Some(folder) => Some(blocking(move || incoming(&folder)).await?),
            None => None,
        };
        let id = self.book().named(name)?.id();
        let accepted = folder.clone();
        self.order(|reply| Order::Accept { name: name.to_owned(), folder, reply }).await?;
        match accepted {
            Some(folder) => self.inner.parts.transfers.accept_all(id, &folder).await,
            None => Ok(()),
        }
    }
}

/// Folder and name of what is pulled to `destination`.
fn place(destination: &Path, name: &Name) -> Result<(PathBuf, Name), TransferError> {
    let local = |source| TransferError::Local { path: destination.to_owned(), source };
    let (folder, name) = if destination.is_dir() {
        (destination.to_owned(), name.clone())
    } else {
        let folder = destination.parent().unwrap_or(Path::new("/"));
        let name = destination.file_name().unwrap_or_default().as_bytes().to_vec();
        let name = Name::new(name).map_err(|_| TransferError::NoName { path: destination.to_owned() })?;
        if !std::fs::metadata(folder).map_err(local)?.is_dir() {
            return Err(local(std::io::ErrorKind::NotADirectory.into()));
        }
        (folder.to_owned(), name)
    };
    let path = folder.join(OsStr::from_bytes(name.as_bytes()));
    match path.symlink_metadata() {
        Ok(_) => Err(TransferError::Exists { path }),
        Err(_) => Ok((folder, name)),
    }
}

/// Real path and name of what is pushed. A link is pushed as what it leads to.
fn source(path: PathBuf) -> Result<(PathBuf, Name), TransferError> {
    let named = std::path::absolute(&path).ok();
    let named = named.and_then(|path| Name::new(path.file_name()?.as_bytes().to_vec()).ok());
    let real = match std::fs::canonicalize(&path) {
        Ok(real) => real,
        Err(source) => return Err(TransferError::Local { path, source }),
    };
    let kind = std::fs::metadata(&real).map(|meta| meta.file_type());
    match (kind, named) {
        (Ok(kind), Some(name)) if kind.is_file() || kind.is_dir() => Ok((real, name)),
        (Ok(kind), Some(_)) if !kind.is_file() => {
            Err(TransferError::Local { path, source: std::io::ErrorKind::InvalidInput.into() })
        }
        (Ok(_), _) => Err(TransferError::NoName { path }),
        (Err(source), _) => Err(TransferError::Local { path, source }),
    }
}

/// Where a push lands whose place the user did not say.
fn default_incoming() -> Result<PathBuf, TransferError> {
    let path = Layout::default_downloads().ok_or(TransferError::NoHome)?.join("Farhold");
    std::fs::create_dir_all(&path).map_err(|source| TransferError::Folder { path: path.clone(), source })?;
    incoming(&path)
}

fn incoming(folder: &Path) -> Result<PathBuf, TransferError> {
    let real = std::fs::canonicalize(folder);
    let real = real.map_err(|source| TransferError::Local { path: folder.to_owned(), source })?;
    if real.is_dir() {
        return Ok(real);
    }
    Err(TransferError::Local { path: real, source: std::io::ErrorKind::NotADirectory.into() })
}
