//! Where a transfer lands: one file, or one folder with all that is below it. Nothing outside is ever touched, no
//! link is followed, nothing is overwritten. A file is written under another name until it is whole and verified.
//! Everything here blocks.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use farhold_wire::{Entry, EntryId, GroupHash, Name, Timestamp};
use rustix::fs::{
    AtFlags, Dir, FallocateFlags, FileType, Mode, OFlags, RenameFlags, StatxFlags, Timespec, Timestamps,
};
use rustix::io::Errno;

use super::groups::Groups;
use super::hashes::{self, size_of};
use super::record::to_hex;
use super::{FREE_BYTES, beneath};
use crate::error::ErrorClass;

/// Zeros of this length at a place that is a multiple of it stay a hole.
const HOLE: usize = 64 << 10;
/// The disk takes so much at a time while more arrives: at the end little is left to wait for.
const SYNC_BYTES: u64 = 64 << 20;
/// How much of a name is in the name of its part file, so that that is no longer than names may be.
const PART_NAME: usize = 180;
/// Some file systems keep times no finer than this.
const COARSE_SECONDS: u64 = 2;

/// What the disk refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LocalError {
    #[error("the disk is full")]
    Full,
    #[error("permission denied at the destination")]
    Denied,
    #[error("the destination folder is gone")]
    Gone,
    #[error("something of that name exists already")]
    Exists,
    #[error("no file can be called so here")]
    Name,
    #[error("no link can be made here")]
    NoLink,
    #[error("the disk failed: {0}")]
    Failed(io::Error),
}

impl LocalError {
    pub(crate) fn class(&self) -> ErrorClass {
        match self {
            Self::Full | Self::Denied | Self::Name | Self::NoLink => ErrorClass::Refused,
            Self::Gone => ErrorClass::NotFound,
            Self::Exists => ErrorClass::Conflict,
            Self::Failed(_) => ErrorClass::Internal,
        }
    }
}

impl From<Errno> for LocalError {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOSPC | Errno::DQUOT => Self::Full,
            Errno::ACCESS | Errno::PERM | Errno::ROFS => Self::Denied,
            Errno::NOENT | Errno::STALE => Self::Gone,
            Errno::EXIST | Errno::NOTDIR | Errno::ISDIR | Errno::LOOP => Self::Exists,
            Errno::NAMETOOLONG | Errno::INVAL | Errno::ILSEQ => Self::Name,
            other => Self::Failed(other.into()),
        }
    }
}

impl From<io::Error> for LocalError {
    fn from(error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(number) => Errno::from_raw_os_error(number).into(),
            None => Self::Failed(error),
        }
    }
}

/// What is at a place already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Existing {
    Nothing,
    /// A file of the same size and time: it was finished before.
    Same,
    Other,
}

/// The place of one transfer.
#[derive(Debug)]
pub(crate) struct Destination {
    folder: OwnedFd,
    /// What the file or folder is called there.
    top: Name,
    /// In the names of part files.
    tag: String,
    journals: PathBuf,
}

/// A file that is not whole yet.
#[derive(Debug)]
pub(crate) struct Part {
    folder: OwnedFd,
    name: Name,
    part: Vec<u8>,
    file: File,
    journal: File,
    journal_path: PathBuf,
    /// Bytes written since the disk was made to take them.
    unsynced: AtomicU64,
}

impl Destination {
    pub(crate) fn open(folder: &Path, top: Name, tag: u64, journals: PathBuf) -> Result<Self, LocalError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(folder, flags, Mode::empty())?;
        Ok(Self { folder, top, tag: to_hex(&tag.to_be_bytes()), journals })
    }

    /// What is at the transfer's own place; `names` lead below it.
    pub(crate) fn existing(&self, names: &[Name], entry: &Entry) -> Result<Existing, LocalError> {
        let (folder, name) = self.place(names)?;
        let stat = match statx(&folder, name.as_bytes()) {
            Err(Errno::NOENT) => return Ok(Existing::Nothing),
            other => other?,
        };
        let file = FileType::from_raw_mode(stat.stx_mode.into()) == FileType::RegularFile;
        let time = stat.stx_mtime.tv_sec.abs_diff(entry.modified.seconds) <= COARSE_SECONDS;
        let same = file && time && size_of(entry) == Some(stat.stx_size);
        Ok(if same { Existing::Same } else { Existing::Other })
    }

    /// Whether there is something of that name in the folder.
    pub(crate) fn is_taken(folder: &Path, name: &Name) -> Result<bool, LocalError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(folder, flags, Mode::empty())?;
        match statx(&folder, name.as_bytes()) {
            Err(Errno::NOENT) => Ok(false),
            other => Ok(other.map(|_| true)?),
        }
    }

    /// Room on the disk for this user, in bytes.
    pub(crate) fn free_bytes(&self) -> Result<u64, LocalError> {
        let stat = rustix::fs::fstatvfs(&self.folder)?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    /// Whether so many bytes more can be written, and [`FREE_BYTES`] are left. Whoever tells the size of a file is not
    /// to be believed more than the disk holds.
    pub(crate) fn has_room(&self, bytes: u64) -> Result<(), LocalError> {
        let fits = bytes == 0 || bytes.saturating_add(FREE_BYTES) <= self.free_bytes()?;
        if fits { Ok(()) } else { Err(LocalError::Full) }
    }

    /// Bytes on the disk of a file's part.
    pub(crate) fn part_bytes(&self, names: &[Name], entry: &Entry) -> Result<u64, LocalError> {
        let (folder, name) = self.place(names)?;
        match statx(&folder, &self.part_name(name, entry.id)) {
            Err(Errno::NOENT) => Ok(0),
            other => Ok(other?.stx_blocks.saturating_mul(512)),
        }
    }

    /// Makes a folder, unless it is there.
    pub(crate) fn make_folder(&self, names: &[Name]) -> Result<(), LocalError> {
        let (folder, name) = self.place(names)?;
        match rustix::fs::mkdirat(&folder, name.as_bytes(), Mode::RWXU) {
            Ok(()) => Ok(()),
            // A folder, and no link to one.
            Err(Errno::EXIST) => Ok(beneath::folder(&folder, std::slice::from_ref(name)).map(drop)?),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a symlink, unless the same one is there.
    pub(crate) fn make_link(&self, names: &[Name], target: &[u8]) -> Result<(), LocalError> {
        let (folder, name) = self.place(names)?;
        match rustix::fs::symlinkat(target, &folder, name.as_bytes()) {
            Err(Errno::EXIST) => {
                let there = rustix::fs::readlinkat(&folder, name.as_bytes(), Vec::new());
                there.is_ok_and(|there| there.as_bytes() == target).then_some(()).ok_or(LocalError::Exists)
            }
            other => Ok(other?),
        }
    }

    /// Gives a folder its mode and time; nothing is made in it afterwards.
    pub(crate) fn finish_folder(&self, names: &[Name], entry: &Entry) -> Result<(), LocalError> {
        let (folder, name) = self.place(names)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let folder = beneath::open(&folder, std::slice::from_ref(name), flags, Mode::empty())?;
        rustix::fs::futimens(&folder, &times(entry.modified))?;
        Ok(rustix::fs::fchmod(&folder, mode(entry))?)
    }

    /// Opens a file's part, and says which of its groups are there: those that an earlier run noted, and that are so
    /// on the disk.
    pub(crate) fn part(&self, names: &[Name], entry: &Entry) -> Result<(Part, Groups), LocalError> {
        let (folder, name) = self.place(names)?;
        let part = self.part_name(name, entry.id);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = File::from(rustix::fs::openat(&folder, &part, flags, Mode::RUSR | Mode::WUSR)?);
        let size = size_of(entry).unwrap_or(0);
        let metadata = file.metadata()?;
        self.has_room(size.saturating_sub(metadata.blocks().saturating_mul(512)))?;
        let journal_path = self.journals.join(format!("{}-{}", self.tag, entry.id));
        let mut journal = std::fs::OpenOptions::new();
        let mut journal = journal.read(true).append(true).create(true).open(&journal_path)?;
        let mut groups = Groups::new(size);
        let there = metadata.len();
        if there > 0 {
            recall(&mut journal, &file, &mut groups, there)?;
        } else {
            journal.set_len(0)?;
        }
        file.set_len(groups.size())?;
        let part = Part {
            folder,
            name: name.clone(),
            part,
            file,
            journal,
            journal_path,
            unsynced: AtomicU64::new(0),
        };
        Ok((part, groups))
    }

    /// Puts a small file into its place, all at once. It is on the disk only after [`Destination::sync`].
    pub(crate) fn place_small(&self, names: &[Name], entry: &Entry, bytes: &[u8]) -> Result<(), LocalError> {
        let (folder, name) = self.place(names)?;
        let part = self.part_name(name, entry.id);
        let flags = OFlags::WRONLY
            | OFlags::CREATE
            | OFlags::TRUNC
            | OFlags::NOFOLLOW
            | OFlags::CLOEXEC
            | OFlags::NONBLOCK;
        let file = File::from(rustix::fs::openat(&folder, &part, flags, Mode::RUSR | Mode::WUSR)?);
        file.set_len(bytes.len() as u64)?;
        write_sparse(&file, 0, bytes)?;
        rustix::fs::futimens(&file, &times(entry.modified))?;
        rustix::fs::fchmod(&file, mode(entry))?;
        Ok(())
    }

    /// Gives a file of [`Destination::place_small`] its name.
    pub(crate) fn name_small(&self, names: &[Name], entry: &Entry) -> Result<(), LocalError> {
        let (folder, name) = self.place(names)?;
        give_name(&folder, &self.part_name(name, entry.id), name)
    }

    /// Waits until everything written is on the disk.
    pub(crate) fn sync(&self) -> Result<(), LocalError> {
        // A handle that names a place only cannot be synced.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let folder = beneath::open(&self.folder, &[], flags, Mode::empty())?;
        Ok(rustix::fs::syncfs(folder)?)
    }

    /// Removes all part files and journals of this transfer.
    pub(crate) fn clean(&self) -> Result<(), LocalError> {
        for journal in std::fs::read_dir(&self.journals)? {
            let journal = journal?;
            if journal.file_name().as_encoded_bytes().starts_with(self.tag.as_bytes()) {
                std::fs::remove_file(journal.path())?;
            }
        }
        let mut todo = vec![Vec::new()];
        while let Some(path) = todo.pop() {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
            let folder = match beneath::open(&self.folder, &path, flags, Mode::empty()) {
                // What is no folder holds no part.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
                other => other?,
            };
            for name in self.parts_in(&folder)? {
                rustix::fs::unlinkat(&folder, name.as_slice(), AtFlags::empty())?;
            }
            let names = if path.is_empty() { vec![self.top.clone()] } else { folders_in(&folder)? };
            todo.extend(names.into_iter().map(|name| path.iter().cloned().chain([name]).collect::<Vec<_>>()));
        }
        Ok(())
    }

    fn parts_in(&self, folder: &OwnedFd) -> Result<Vec<Vec<u8>>, LocalError> {
        let mark = format!(".{}-", self.tag).into_bytes();
        let is_part = |name: &[u8]| {
            name.starts_with(b".")
                && name.ends_with(b".part")
                && name.windows(mark.len()).any(|at| at == mark)
        };
        let names = Dir::read_from(folder)?.map(|entry| Ok(entry?.file_name().to_bytes().to_vec()));
        names.filter(|name| name.as_ref().map_or(true, |name| is_part(name))).collect()
    }

    /// `.NAME.<tag>-<entry>.part`.
    fn part_name(&self, name: &Name, entry: EntryId) -> Vec<u8> {
        let bytes = name.as_bytes();
        let mut part = b".".to_vec();
        part.extend_from_slice(&bytes[..bytes.len().min(PART_NAME)]);
        part.extend_from_slice(format!(".{}-{}.part", self.tag, to_hex(&entry.0)).as_bytes());
        part
    }

    /// The folder in which something lies, and its name there.
    fn place<'a>(&'a self, names: &'a [Name]) -> Result<(OwnedFd, &'a Name), LocalError> {
        let Some((name, below)) = names.split_last() else {
            return Ok((beneath::folder(&self.folder, &[])?, &self.top));
        };
        let mut path = vec![self.top.clone()];
        path.extend_from_slice(below);
        Ok((beneath::folder(&self.folder, &path)?, name))
    }
}

impl Part {
    /// Writes a group, which has been there before or not, and notes its hash.
    pub(crate) fn write(&self, group: u64, offset: u64, bytes: &[u8]) -> Result<GroupHash, LocalError> {
        let hash = hashes::hash(bytes);
        write_sparse(&self.file, offset, bytes)?;
        let mut record = group.to_be_bytes().to_vec();
        record.extend_from_slice(&hash);
        // Appended as a whole; what is noted is looked at again before it is believed.
        (&self.journal).write_all(&record)?;
        let length = bytes.len() as u64;
        if self.unsynced.fetch_add(length, Ordering::Relaxed) + length >= SYNC_BYTES {
            self.unsynced.store(0, Ordering::Relaxed);
            self.file.sync_data()?;
        }
        Ok(hash)
    }

    pub(crate) fn resize(&self, size: u64) -> Result<(), LocalError> {
        Ok(self.file.set_len(size)?)
    }

    /// Gives a whole and verified file its name, once it is on the disk.
    pub(crate) fn finish(&self, entry: &Entry) -> Result<(), LocalError> {
        rustix::fs::futimens(&self.file, &times(entry.modified))?;
        rustix::fs::fchmod(&self.file, mode(entry))?;
        self.file.sync_all()?;
        give_name(&self.folder, &self.part, &self.name)?;
        match std::fs::remove_file(&self.journal_path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

const RECORD: usize = 40;

/// Believes what a journal notes if the disk has it.
fn recall(journal: &mut File, file: &File, groups: &mut Groups, there: u64) -> Result<(), LocalError> {
    let mut noted = BTreeMap::new();
    let mut text = Vec::new();
    journal.read_to_end(&mut text)?;
    let (records, rest) = text.as_chunks::<RECORD>();
    for record in records {
        let (group, hash) = record.split_at(8);
        if let (Ok(group), Ok(hash)) = (group.try_into(), GroupHash::try_from(hash)) {
            noted.insert(u64::from_be_bytes(group), hash);
        }
    }
    // A record that was cut off would shift those that follow.
    journal.set_len((text.len() - rest.len()) as u64)?;
    let mut bytes = Vec::new();
    for (group, hash) in noted {
        let (offset, length) = groups.range(group);
        if length == 0 || offset + u64::from(length) > there {
            continue;
        }
        bytes.resize(length as usize, 0);
        file.read_exact_at(&mut bytes, offset)?;
        if hashes::hash(&bytes) == hash {
            groups.arrived(group, hash);
        }
    }
    Ok(())
}

/// Writes bytes so that long runs of zeros stay holes, whatever was there.
fn write_sparse(file: &File, offset: u64, bytes: &[u8]) -> Result<(), LocalError> {
    let is_zero = |piece: &[u8]| piece.iter().all(|byte| *byte == 0);
    for (index, piece) in bytes.chunks(HOLE).enumerate() {
        let at = offset + (index * HOLE) as u64;
        if !is_zero(piece) {
            file.write_all_at(piece, at)?;
            continue;
        }
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match rustix::fs::fallocate(file, flags, at, piece.len() as u64) {
            Ok(()) => {}
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => file.write_all_at(piece, at)?,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Renames without ever replacing anything.
fn give_name(folder: &OwnedFd, part: &[u8], name: &Name) -> Result<(), LocalError> {
    let name = name.as_bytes();
    match rustix::fs::renameat_with(folder, part, folder, name, RenameFlags::NOREPLACE) {
        // The file system cannot; a second name and the end of the first is the same.
        Err(Errno::INVAL | Errno::NOSYS) => {
            rustix::fs::linkat(folder, part, folder, name, AtFlags::empty())?;
            Ok(rustix::fs::unlinkat(folder, part, AtFlags::empty())?)
        }
        other => Ok(other?),
    }
}

fn folders_in(folder: &OwnedFd) -> Result<Vec<Name>, LocalError> {
    let mut found = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let maybe = matches!(entry.file_type(), FileType::Directory | FileType::Unknown);
        if let (true, Ok(name)) = (maybe, Name::new(entry.file_name().to_bytes().to_vec())) {
            found.push(name);
        }
    }
    Ok(found)
}

fn statx(folder: impl AsFd, name: &[u8]) -> Result<rustix::fs::Statx, Errno> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    rustix::fs::statx(folder, name, flags, StatxFlags::BASIC_STATS)
}

fn times(modified: Timestamp) -> Timestamps {
    let time = Timespec { tv_sec: modified.seconds, tv_nsec: modified.nanos.into() };
    Timestamps { last_access: time, last_modification: time }
}

/// The permission bits at home. Without them for the owner nothing could be done with it here.
fn mode(entry: &Entry) -> Mode {
    Mode::from_raw_mode(u32::from(entry.mode)) | Mode::RUSR
}

#[cfg(test)]
mod tests;
