//! What is pushed, as its receiver sees it: a small tree beside the catalog, read-only, for one contact. Ids are
//! derived from a secret of the push and from names, so they are the same after a restart. Content is read from where
//! it lies, and its version is made of what tells that it changed.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use farhold_catalog::stays_inside;
use farhold_wire::{
    ContactId, Entry, EntryId, EntryKind, Name, ReadFailure, ReadHead, ReadPart, ReadRequest, Timestamp,
    TransferKey, Version, limits,
};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Statx, StatxFlags};
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;

use super::MOST_ENTRIES;
use super::beneath;
use crate::error::ErrorClass;

/// A change time younger than this may stay the same through another change: one tick of the kernel's coarse clock
/// at 100 Hz, its slowest, and some more.
const YOUNG: Duration = Duration::from_millis(20);

/// All pushes that are offered now.
#[derive(Debug, Default)]
pub(crate) struct Offers {
    pushes: Mutex<Pushes>,
}

type Pushes = HashMap<(ContactId, TransferKey), Arc<Push>>;

impl Offers {
    pub(crate) fn get(&self, contact: ContactId, key: TransferKey) -> Option<Arc<Push>> {
        self.pushes().get(&(contact, key)).cloned()
    }

    pub(crate) fn insert(&self, contact: ContactId, key: TransferKey, push: Arc<Push>) {
        self.pushes().insert((contact, key), push);
    }

    pub(crate) fn retain(&self, keep: impl Fn(ContactId, TransferKey) -> bool) {
        self.pushes().retain(|(contact, key), _| keep(*contact, *key));
    }

    /// The push that has an entry, if the contact may see it.
    pub(crate) fn find(&self, contact: ContactId, entry: EntryId) -> Option<Arc<Push>> {
        let pushes = self.pushes();
        let mut theirs = pushes.iter().filter(|((to, _), _)| *to == contact).map(|(_, push)| push);
        theirs.find(|push| push.nodes.contains_key(&entry)).cloned()
    }

    fn pushes(&self) -> MutexGuard<'_, Pushes> {
        self.pushes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a push cannot be offered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PushError {
    #[error("what is to be pushed cannot be read: {0}")]
    Io(#[from] io::Error),
    #[error("it has more than {MOST_ENTRIES} files and folders")]
    TooMany,
    #[error("it was stopped")]
    Stopped,
}

impl PushError {
    /// `None` if it is no failure.
    pub(crate) fn class(&self) -> Option<ErrorClass> {
        match self {
            Self::Io(error) if error.kind() == io::ErrorKind::NotFound => Some(ErrorClass::NotFound),
            Self::Io(error) if error.kind() == io::ErrorKind::PermissionDenied => Some(ErrorClass::Refused),
            Self::Io(_) => Some(ErrorClass::Internal),
            Self::TooMany => Some(ErrorClass::Refused),
            Self::Stopped => None,
        }
    }
}

impl From<Errno> for PushError {
    fn from(error: Errno) -> Self {
        Self::Io(error.into())
    }
}

#[derive(Debug)]
struct Node {
    parent: Option<EntryId>,
    name: Name,
    /// Of a folder that can be read.
    children: Option<Vec<EntryId>>,
}

/// One push.
#[derive(Debug)]
pub(crate) struct Push {
    /// The folder in which it lies.
    base: PathBuf,
    /// What it is called there.
    place: Name,
    secret: [u8; 32],
    pub(crate) root: Entry,
    nodes: HashMap<EntryId, Node>,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
}

impl Push {
    /// Looks at all that lies at `path`, until it is told to stop; blocks. The contact sees it as `name`.
    pub(crate) fn open(
        path: &Path,
        name: &Name,
        key: TransferKey,
        tag: u64,
        stop: &CancellationToken,
    ) -> Result<Self, PushError> {
        let base = path.parent().unwrap_or(Path::new("/")).to_owned();
        let place = path.file_name().map_or_else(Vec::new, |name| name.as_bytes().to_vec());
        let place = Name::new(place).map_err(|_| io::Error::from(io::ErrorKind::NotFound))?;
        let mut secret = blake3::Hasher::new_derive_key("farhold 2026 entry ids of a push");
        secret.update(&key.0).update(&tag.to_be_bytes());
        let secret = *secret.finalize().as_bytes();
        let id = child_id(&secret, None, name);
        let mut push = Self {
            root: placeholder(id, name.clone()),
            base,
            place,
            secret,
            nodes: HashMap::new(),
            files: 0,
            bytes: 0,
        };
        push.nodes.insert(id, Node { parent: None, name: name.clone(), children: None });
        let start = push.start()?;
        push.root = push.entry(&start, id)?.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        if let EntryKind::File { size } = push.root.kind {
            (push.files, push.bytes) = (1, size);
        }
        let mut todo = vec![(id, 0)];
        while let Some((folder, depth)) = todo.pop() {
            push.walk(&start, folder, depth, &mut todo, stop)?;
        }
        Ok(push)
    }

    /// Takes up what a folder holds. One that cannot be read has nothing; whoever lists it is told why.
    fn walk(
        &mut self,
        start: &OwnedFd,
        folder: EntryId,
        depth: usize,
        todo: &mut Vec<(EntryId, usize)>,
        stop: &CancellationToken,
    ) -> Result<(), PushError> {
        if stop.is_cancelled() {
            return Err(PushError::Stopped);
        }
        if folder == self.root.id && self.root.kind != EntryKind::Folder {
            return Ok(());
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let opened = beneath::open(start, &self.path(folder), flags, Mode::empty());
        let Ok(mut entries) = opened.and_then(Dir::new) else { return Ok(()) };
        let mut children = Vec::new();
        while let Some(Ok(entry)) = entries.read() {
            if stop.is_cancelled() {
                return Err(PushError::Stopped);
            }
            let name = entry.file_name().to_bytes();
            let Ok(name) = Name::new(Bytes::copy_from_slice(name)) else { continue };
            let Ok(stat) = stat(entries.fd()?, &name) else { continue };
            match FileType::from_raw_mode(stat.stx_mode.into()) {
                FileType::RegularFile => {
                    self.files += 1;
                    self.bytes = self.bytes.saturating_add(stat.stx_size);
                }
                FileType::Directory if depth + 2 < limits::DEPTH => {
                    todo.push((child_id(&self.secret, Some(folder), &name), depth + 1));
                }
                FileType::Symlink => {}
                FileType::Directory
                | FileType::Fifo
                | FileType::Socket
                | FileType::CharacterDevice
                | FileType::BlockDevice
                | FileType::Unknown => continue,
            }
            let id = child_id(&self.secret, Some(folder), &name);
            self.nodes.insert(id, Node { parent: Some(folder), name, children: None });
            children.push(id);
            if self.nodes.len() > MOST_ENTRIES {
                return Err(PushError::TooMany);
            }
        }
        if let Some(node) = self.nodes.get_mut(&folder) {
            node.children = Some(children);
        }
        Ok(())
    }

    fn start(&self) -> Result<OwnedFd, Errno> {
        // The path was made canonical when it was pushed: a link on the way now leads to something else.
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::openat2(
            rustix::fs::CWD,
            &self.base,
            flags,
            Mode::empty(),
            rustix::fs::ResolveFlags::NO_SYMLINKS,
        )
    }

    /// The names that lead to an entry from the folder in which the push lies.
    fn path(&self, id: EntryId) -> Vec<Name> {
        let mut names = Vec::new();
        let mut at = self.nodes.get(&id);
        while let Some(node) = at {
            match node.parent {
                Some(parent) => {
                    names.push(node.name.clone());
                    at = self.nodes.get(&parent);
                }
                None => {
                    names.push(self.place.clone());
                    break;
                }
            }
        }
        names.reverse();
        names
    }

    /// An entry as it is now; `None` for what is none.
    fn entry(&self, start: &OwnedFd, id: EntryId) -> io::Result<Option<Entry>> {
        let path = self.path(id);
        let (Some(node), Some((last, folder))) = (self.nodes.get(&id), path.split_last()) else {
            return Ok(None);
        };
        let folder = beneath::folder(start, folder)?;
        let meta = stat(&folder, last)?;
        let kind = match FileType::from_raw_mode(meta.stx_mode.into()) {
            FileType::RegularFile => EntryKind::File { size: meta.stx_size },
            FileType::Directory => EntryKind::Folder,
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(&folder, last.as_bytes(), Vec::new())?.into_bytes();
                // The path counts the root, which the link's folder may be.
                let inside = path.len() >= 2 && stays_inside(&target, path.len() - 2);
                EntryKind::Symlink { target: inside.then(|| Bytes::from(target)) }
            }
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => return Ok(None),
        };
        Ok(Some(self.made(id, node, kind, &meta)))
    }

    fn made(&self, id: EntryId, node: &Node, kind: EntryKind, meta: &Statx) -> Entry {
        Entry {
            parent: node.parent,
            kind,
            version: self.version(meta),
            modified: Timestamp { seconds: meta.stx_mtime.tv_sec, nanos: meta.stx_mtime.tv_nsec },
            mode: meta.stx_mode & 0o777,
            ..placeholder(id, node.name.clone())
        }
    }

    /// Differs whenever the content may differ.
    fn version(&self, meta: &Statx) -> Version {
        let mut hasher = blake3::Hasher::new_keyed(&self.secret);
        let device = rustix::fs::makedev(meta.stx_dev_major, meta.stx_dev_minor);
        for number in [device, meta.stx_ino, meta.stx_size] {
            hasher.update(&number.to_be_bytes());
        }
        for time in [meta.stx_mtime, meta.stx_ctime] {
            hasher.update(&time.tv_sec.to_be_bytes()).update(&time.tv_nsec.to_be_bytes());
        }
        let mut numbers = [0; 16];
        hasher.finalize_xof().fill(&mut numbers);
        let (numbers, _) = numbers.as_chunks::<8>();
        Version { epoch: u64::from_be_bytes(numbers[0]), counter: u64::from_be_bytes(numbers[1]) }
    }

    /// What a folder holds, in pages.
    pub(crate) fn list(
        self: Arc<Self>,
        folder: EntryId,
    ) -> BoxStream<'static, Result<Vec<Entry>, ReadFailure>> {
        let Some(node) = self.nodes.get(&folder) else { return failed(ReadFailure::NotFound) };
        let Some(children) = node.children.clone() else { return failed(ReadFailure::Denied) };
        let pages: Vec<Vec<EntryId>> =
            children.chunks(limits::BATCH_CHANGES / 4).map(<[_]>::to_vec).collect();
        stream::iter(pages)
            .then(move |page| {
                let push = Arc::clone(&self);
                blocking(move || {
                    let start = push.start().map_err(|error| failure(&error.into()))?;
                    // What has gone since is left out.
                    Ok(page.iter().filter_map(|id| push.entry(&start, *id).ok().flatten()).collect())
                })
            })
            // A page of a listing is never empty.
            .filter(|page: &Result<Vec<Entry>, _>| {
                std::future::ready(page.as_ref().map_or(true, |page| !page.is_empty()))
            })
            .boxed()
    }

    /// Answers a read: a head, then the bytes.
    pub(crate) fn read(
        self: Arc<Self>,
        request: ReadRequest,
    ) -> BoxStream<'static, Result<ReadPart, ReadFailure>> {
        let reading = Reading { push: self, request, rest: None };
        stream::unfold(Some(reading), |reading| async move {
            let reading: Reading = reading?;
            let (part, reading) = match blocking(move || Ok(reading.next())).await {
                Ok(next) => next,
                Err(failure) => (Some(Err(failure)), None),
            };
            Some((part?, reading))
        })
        .boxed()
    }

    fn open_file(&self, id: EntryId) -> io::Result<(File, Statx)> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = beneath::open(self.start()?, &self.path(id), flags, Mode::empty())?;
        let mut meta = stat_handle(&file)?;
        if FileType::from_raw_mode(meta.stx_mode.into()) != FileType::RegularFile {
            return Err(Errno::NOENT.into());
        }
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let changed =
            Duration::new(u64::try_from(meta.stx_ctime.tv_sec).unwrap_or(0), meta.stx_ctime.tv_nsec);
        if now.abs_diff(changed) < YOUNG {
            std::thread::sleep(YOUNG);
            meta = stat_handle(&file)?;
        }
        Ok((file.into(), meta))
    }
}

/// What is still to be answered.
struct Reading {
    push: Arc<Push>,
    request: ReadRequest,
    rest: Option<(File, Version, u64, u32)>,
}

type Next = (Option<Result<ReadPart, ReadFailure>>, Option<Reading>);

impl Reading {
    fn next(mut self) -> Next {
        let part = match self.rest.take() {
            None => self.begin().map(Some),
            Some((_, _, _, 0)) => Ok(None),
            Some((file, version, offset, left)) => self.more(file, version, offset, left).map(Some),
        };
        match part.transpose() {
            Some(Ok(part)) => (Some(Ok(part)), Some(self)),
            Some(Err(error)) => (Some(Err(failure(&error))), None),
            None => (None, None),
        }
    }

    fn begin(&mut self) -> io::Result<ReadPart> {
        let (push, id) = (&self.push, self.request.entry);
        let node = push.nodes.get(&id).ok_or(Errno::NOENT)?;
        let (file, meta) = push.open_file(id)?;
        let entry = push.made(id, node, EntryKind::File { size: meta.stx_size }, &meta);
        let length = u64::from(self.request.length).min(meta.stx_size.saturating_sub(self.request.offset));
        let length = u32::try_from(length).unwrap_or(0);
        self.rest = Some((file, entry.version, self.request.offset, length));
        Ok(ReadPart::Head(ReadHead { entry, length }))
    }

    /// Reads the next piece, and makes sure afterwards that it is of the version that was named.
    fn more(&mut self, file: File, version: Version, offset: u64, left: u32) -> io::Result<ReadPart> {
        use std::os::unix::fs::FileExt;
        let mut data = vec![0; (left as usize).min(limits::PART_BYTES)];
        match file.read_exact_at(&mut data, offset) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(Errno::STALE.into()),
            other => other?,
        }
        if self.push.version(&stat_handle(&file)?) != version {
            return Err(Errno::STALE.into());
        }
        let length = u32::try_from(data.len()).unwrap_or(left);
        self.rest = Some((file, version, offset + u64::from(length), left - length));
        Ok(ReadPart::Data(data.into()))
    }
}

fn failure(error: &io::Error) -> ReadFailure {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => ReadFailure::NotFound,
        Some(Errno::STALE) => ReadFailure::Changed,
        Some(Errno::ACCESS | Errno::PERM) => ReadFailure::Denied,
        _ => ReadFailure::Internal,
    }
}

fn failed<T: Send + 'static>(failure: ReadFailure) -> BoxStream<'static, Result<T, ReadFailure>> {
    stream::once(async move { Err(failure) }).boxed()
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ReadFailure> + Send + 'static,
) -> Result<T, ReadFailure> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(ReadFailure::Internal))
}

fn child_id(secret: &[u8; 32], parent: Option<EntryId>, name: &Name) -> EntryId {
    let mut hasher = blake3::Hasher::new_keyed(secret);
    hasher.update(&parent.map_or([0; 16], |parent| parent.0)).update(name.as_bytes());
    let mut id = [0; 16];
    hasher.finalize_xof().fill(&mut id);
    EntryId(id)
}

fn placeholder(id: EntryId, name: Name) -> Entry {
    Entry {
        id,
        parent: None,
        name,
        kind: EntryKind::Folder,
        version: Version { epoch: 0, counter: 0 },
        incarnation: 0,
        modified: Timestamp::default(),
        mode: 0,
        writable: false,
        unavailable: false,
    }
}

const STAT: StatxFlags = StatxFlags::BASIC_STATS;

fn stat(folder: impl AsFd, name: &Name) -> Result<Statx, Errno> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    rustix::fs::statx(folder, OsStr::from_bytes(name.as_bytes()), flags, STAT)
}

fn stat_handle(handle: impl AsFd) -> Result<Statx, Errno> {
    rustix::fs::statx(handle, "", AtFlags::EMPTY_PATH | AtFlags::NO_AUTOMOUNT, STAT)
}

#[cfg(test)]
mod tests;
