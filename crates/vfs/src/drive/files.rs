//! Reading files.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use farhold_cache::{ContentKey, FetchError, ReadError, Reader, Usage};
use farhold_catalog::{Entry, EntryId, EntryKind, Version};
use tokio::time::Instant;

use super::lookup::{entry_attr, gone};
use super::open::Place;
use super::{Drive, local, lock};
use crate::attr::{Attr, Handle, NodeId, OpenFile, OpenMode};
use crate::contact::Contact;
use crate::error::VfsError;
use crate::invalidation::Invalidation;
use crate::known::{ContentState, Target};

/// How often one read begins again because the content changed meanwhile.
const ATTEMPTS: u32 = 16;
/// How long it waits for the content to settle, more with each attempt.
const SETTLE: Duration = Duration::from_millis(20);
/// The coarsest steps that file systems give times in: two changes within one cannot be told apart by their time.
const TIME_STEP: Duration = Duration::from_secs(2);
/// A system whose reading ahead failed asks once more for what a program wants of it. Within this time after a wait
/// that was in vain, that is not waited for again.
const IN_VAIN: Duration = Duration::from_secs(2);

/// An open file.
#[derive(Debug)]
pub(super) enum OpenedFile {
    Mine(MyFile),
    Theirs(TheirFile),
}

/// A file of mine, open on the disk: it stays readable whatever becomes of its name.
#[derive(Debug)]
pub(super) struct MyFile {
    node: NodeId,
    file: Arc<File>,
    attr: Attr,
}

/// A file of a contact's. It follows changes in place; if another object takes the place of this one, it keeps to what
/// it has opened.
#[derive(Debug)]
pub(super) struct TheirFile {
    node: NodeId,
    pub(super) contact: Arc<Contact>,
    pub(super) entry: EntryId,
    incarnation: u64,
    /// What it was in when it was opened; `None` at the top level.
    pub(super) folder: Option<EntryId>,
    /// Up to where it was read, from its start on without a gap.
    pub(super) read_to: AtomicU64,
    reading: Mutex<Reading>,
    /// What was waited for in vain last, and until when.
    in_vain: Mutex<Option<(Range<u64>, Instant)>>,
    pub(super) place: Mutex<Place>,
}

/// The version that is read now.
#[derive(Debug)]
struct Reading {
    /// Changes of the contact's trees that were told before this version was looked up: it is the newest one as long as
    /// no more are told.
    changes: u64,
    version: Version,
    attr: Attr,
    reader: Arc<Reader>,
}

impl OpenedFile {
    fn node(&self) -> NodeId {
        match self {
            Self::Mine(file) => file.node,
            Self::Theirs(file) => file.node,
        }
    }
}

impl TheirFile {
    /// Of the version that is read now, in bytes.
    pub(super) fn size(&self) -> u64 {
        lock(&self.reading).reader.size()
    }

    /// The version that is read now, and its size in bytes.
    pub(super) fn shown(&self) -> (ContentKey, u64) {
        let reading = lock(&self.reading);
        (reading.reader.key(), reading.reader.size())
    }

    /// What was read of that version.
    pub(super) fn usage(&self) -> Usage {
        lock(&self.reading).reader.usage()
    }

    fn was_in_vain(&self, offset: u64) -> bool {
        let in_vain = lock(&self.in_vain);
        in_vain.as_ref().is_some_and(|(range, at)| range.contains(&offset) && at.elapsed() < IN_VAIN)
    }

    fn note_in_vain(&self, offset: u64, length: u32) {
        let mut in_vain = lock(&self.in_vain);
        let mut range = offset..offset.saturating_add(length.into());
        // Reading ahead is several requests, which fail together.
        if let Some((before, at)) = in_vain.as_ref()
            && at.elapsed() < IN_VAIN
        {
            range = before.start.min(range.start)..before.end.max(range.end);
        }
        *in_vain = Some((range, Instant::now()));
    }
}

impl Drive {
    /// Opens a file.
    ///
    /// # Errors
    /// [`VfsError::ReadOnly`] for writing, by now; other [`VfsError`]s.
    pub async fn open_file(&self, node: NodeId, mode: OpenMode) -> Result<OpenFile, VfsError> {
        match mode {
            OpenMode::Read => {}
            OpenMode::Write => return Err(VfsError::ReadOnly),
        }
        let (file, state) = match self.target(node)? {
            Target::Top | Target::Contact(_) | Target::MyEntry { .. } => return Err(VfsError::IsFolder),
            Target::MyFile { entry, .. } => self.open_mine(node, entry).await.map_err(gone)?,
            Target::Theirs { contact, entry, incarnation } => {
                let contact = self.contact(contact)?;
                let changes = contact.changes();
                let entry = self.their_entry(&contact, entry, incarnation).await?;
                open_theirs(node, contact, changes, &entry)?
            }
        };
        let handle = self.files.insert(file)?;
        let keep_cache = state.is_some_and(|state| lock(&self.known).opened(node, state));
        Ok(OpenFile { handle, keep_cache })
    }

    /// Reads up to `length` bytes of an open file; fewer only at its end.
    ///
    /// # Errors
    /// [`VfsError::Stale`] if the content that was opened is gone and not here; [`VfsError::Offline`],
    /// [`VfsError::TimedOut`] and [`VfsError::Busy`] if it must be fetched and cannot be; other [`VfsError`]s.
    pub async fn read(&self, file: Handle, offset: u64, length: u32) -> Result<Bytes, VfsError> {
        match &*self.files.get(file)? {
            OpenedFile::Mine(file) => read_mine(Arc::clone(&file.file), offset, length).await,
            OpenedFile::Theirs(file) if file.was_in_vain(offset) => Err(VfsError::TimedOut),
            OpenedFile::Theirs(file) => {
                let read = file.contact.wait(self.read_theirs(file, offset, length)).await;
                match &read {
                    Ok(data) => self.was_read(file, offset, data.len()),
                    Err(VfsError::TimedOut) => file.note_in_vain(offset, length),
                    Err(_) => {}
                }
                read
            }
        }
    }

    /// Closes a file.
    pub fn release(&self, file: Handle) {
        self.files.remove(file);
    }

    /// Attributes of a node that is gone, if it is open.
    pub(super) fn open_attr(&self, node: NodeId) -> Option<Attr> {
        let open = self.files.filter(|file| file.node() == node).pop()?;
        Some(match &*open {
            OpenedFile::Mine(file) => Attr { links: 0, ..file.attr },
            OpenedFile::Theirs(file) => Attr { links: 0, ..lock(&file.reading).attr },
        })
    }

    async fn open_mine(
        &self,
        node: NodeId,
        entry: EntryId,
    ) -> Result<(OpenedFile, Option<ContentState>), VfsError> {
        let file = self.home.open_file(entry).await.map_err(local)?;
        // After it was opened: if another object has come in its place, this is seen here.
        let attr = self.current(node).await?;
        // What has just changed may change again without another time.
        let settled = attr.changed.elapsed().is_ok_and(|age| age > TIME_STEP);
        let state = settled.then_some(ContentState::Disk(attr.size, attr.changed));
        Ok((OpenedFile::Mine(MyFile { node, file: Arc::new(file), attr }), state))
    }

    async fn read_theirs(&self, file: &TheirFile, offset: u64, length: u32) -> Result<Bytes, VfsError> {
        for attempt in 0..ATTEMPTS {
            // Told after the version was looked up, and perhaps before the file was among the open ones.
            if file.contact.changes() != lock(&file.reading).changes {
                match self.follow(file).await {
                    Ok(_) | Err(VfsError::Stale) => {}
                    Err(error) => return Err(error),
                }
            }
            let reader = Arc::clone(&lock(&file.reading).reader);
            match reader.read(offset, length).await {
                Ok(reply) => {
                    let shown = lock(&file.reading).reader.key();
                    if reply.key == shown {
                        return Ok(reply.data);
                    }
                    // Of a version that is no longer shown, nothing is passed on.
                    if reply.key != reader.key() {
                        let version = self.follow(file).await?;
                        if file.contact.content_key(file.entry, version) == reply.key {
                            return Ok(reply.data);
                        }
                    }
                }
                Err(ReadError::Fetch(FetchError::Changed)) => tokio::time::sleep(SETTLE * attempt).await,
                Err(error) => return Err(read_error(error)),
            }
        }
        Err(VfsError::HomeFailed)
    }

    /// Shows the version that the replica has of an open file, and gives back which one is shown.
    ///
    /// # Errors
    /// [`VfsError::Stale`] if another object has taken its place or it is gone; it keeps to what it has then.
    async fn follow(&self, file: &TheirFile) -> Result<Version, VfsError> {
        let changes = file.contact.changes();
        let found = self.their_entry(&file.contact, file.entry, file.incarnation).await;
        let mut reading = lock(&file.reading);
        if changes < reading.changes {
            // Who began to look later has been faster, and knows better.
            return Ok(reading.version);
        }
        let found = found.and_then(|entry| match entry.kind {
            EntryKind::File { size } => Ok((entry, size)),
            EntryKind::Folder | EntryKind::Symlink { .. } => Err(VfsError::Stale),
        });
        let (entry, size) = match found {
            Ok(found) => found,
            Err(error) => {
                if error == VfsError::Stale {
                    reading.changes = changes;
                }
                return Err(error);
            }
        };
        let version = entry.version;
        if reading.version == version {
            reading.changes = changes;
        } else {
            let reader = Arc::new(file.contact.reader(file.entry, version, size));
            *reading = Reading { changes, version, attr: entry_attr(file.node, &entry), reader };
            drop(reading);
            self.invalidate(Invalidation::Content(file.node));
        }
        Ok(version)
    }

    /// Lets the open files of changed entries follow them.
    pub(super) async fn follow_open(&self, contact: &Contact, changed: &HashSet<EntryId>) {
        if changed.is_empty() {
            return;
        }
        let open = self.files.filter(|file| match file {
            OpenedFile::Mine(_) => false,
            OpenedFile::Theirs(file) => file.contact.id() == contact.id() && changed.contains(&file.entry),
        });
        for file in open {
            if let OpenedFile::Theirs(file) = &*file
                && let Err(error) = self.follow(file).await
            {
                // It keeps to what it has.
                tracing::debug!(%error, "an open file does not follow its entry");
            }
        }
    }
}

fn open_theirs(
    node: NodeId,
    contact: Arc<Contact>,
    changes: u64,
    entry: &Entry,
) -> Result<(OpenedFile, Option<ContentState>), VfsError> {
    let size = match entry.kind {
        EntryKind::File { size } => size,
        EntryKind::Folder => return Err(VfsError::IsFolder),
        EntryKind::Symlink { .. } => return Err(VfsError::Denied),
    };
    let reader = Arc::new(contact.reader(entry.id, entry.version, size));
    let reading =
        Mutex::new(Reading { changes, version: entry.version, attr: entry_attr(node, entry), reader });
    let file = TheirFile {
        node,
        contact,
        entry: entry.id,
        incarnation: entry.incarnation,
        folder: entry.parent,
        read_to: AtomicU64::new(0),
        reading,
        in_vain: Mutex::default(),
        place: Mutex::default(),
    };
    Ok((OpenedFile::Theirs(file), Some(ContentState::Version(entry.version))))
}

fn read_error(error: ReadError) -> VfsError {
    match error {
        ReadError::Fetch(FetchError::Offline) => VfsError::Offline,
        ReadError::Fetch(FetchError::TimedOut) => VfsError::TimedOut,
        ReadError::Fetch(FetchError::NotFound) => VfsError::Stale,
        ReadError::Fetch(FetchError::Unavailable) => VfsError::Unavailable,
        ReadError::Fetch(FetchError::Denied) => VfsError::Denied,
        ReadError::Fetch(FetchError::Changed | FetchError::Other(_)) | ReadError::Inconsistent(_) => {
            tracing::debug!(%error, "a home failed a read");
            VfsError::HomeFailed
        }
        ReadError::Closed => VfsError::LocalFailed,
    }
}

/// Reads on a thread that may block.
async fn read_mine(file: Arc<File>, offset: u64, length: u32) -> Result<Bytes, VfsError> {
    let read = tokio::task::spawn_blocking(move || read_at(&file, offset, length)).await;
    match read {
        Ok(Ok(data)) => Ok(data),
        Ok(Err(error)) => {
            tracing::debug!(%error, "a file of mine cannot be read");
            Err(VfsError::LocalFailed)
        }
        Err(error) => {
            tracing::error!(%error, "reading a file ended early");
            Err(VfsError::LocalFailed)
        }
    }
}

fn read_at(file: &File, offset: u64, length: u32) -> io::Result<Bytes> {
    use std::os::unix::fs::FileExt;

    let mut data = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
    let mut filled = 0;
    while filled < data.len() {
        match file.read_at(&mut data[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(bytes) => filled += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    data.truncate(filled);
    Ok(data.into())
}
