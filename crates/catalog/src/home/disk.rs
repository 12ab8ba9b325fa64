//! The disk as a share sees it: everything relative to the handle of its root, through no symlink, beneath it.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use farhold_wire::{Name, Timestamp};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Statx, StatxAttributes, StatxFlags};
use rustix::io::Errno;

use crate::link;

/// Nothing leads out: not upwards, not through links, not onto another file system.
const RESOLVE: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_XDEV);
/// Longest path given to the system at once, with room below `PATH_MAX`. Deeper ones are opened in stages.
const PATH_BYTES: usize = 3072;

/// What there can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Folder,
    File,
    Symlink,
    /// A device, FIFO or socket: never an entry, never opened.
    Special,
}

/// What the disk says of an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Meta {
    pub(crate) kind: Kind,
    pub(crate) device: u64,
    pub(crate) inode: u64,
    /// Nanoseconds since 1970; 0 if unknown.
    pub(crate) born: i64,
    pub(crate) size: u64,
    pub(crate) mode: u16,
    pub(crate) user: u32,
    pub(crate) group: u32,
    pub(crate) links: u32,
    pub(crate) blocks: u64,
    pub(crate) accessed: Timestamp,
    pub(crate) modified: Timestamp,
    pub(crate) changed: Timestamp,
    /// Something is mounted here.
    pub(crate) mount: bool,
}

impl Meta {
    fn of(stat: &Statx) -> Self {
        let kind = match FileType::from_raw_mode(stat.stx_mode.into()) {
            FileType::Directory => Kind::Folder,
            FileType::RegularFile => Kind::File,
            FileType::Symlink => Kind::Symlink,
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => Kind::Special,
        };
        let born = if stat.stx_mask & StatxFlags::BTIME.bits() == 0 {
            0
        } else {
            nanos(Timestamp { seconds: stat.stx_btime.tv_sec, nanos: stat.stx_btime.tv_nsec })
        };
        Self {
            kind,
            device: rustix::fs::makedev(stat.stx_dev_major, stat.stx_dev_minor),
            inode: stat.stx_ino,
            born,
            size: stat.stx_size,
            mode: stat.stx_mode & 0o7777,
            user: stat.stx_uid,
            group: stat.stx_gid,
            links: stat.stx_nlink,
            blocks: stat.stx_blocks,
            accessed: Timestamp { seconds: stat.stx_atime.tv_sec, nanos: stat.stx_atime.tv_nsec },
            modified: Timestamp { seconds: stat.stx_mtime.tv_sec, nanos: stat.stx_mtime.tv_nsec },
            changed: Timestamp { seconds: stat.stx_ctime.tv_sec, nanos: stat.stx_ctime.tv_nsec },
            mount: stat.stx_attributes.contains(StatxAttributes::MOUNT_ROOT),
        }
    }

    /// What an entry is made of; `None` for what is none.
    pub(crate) fn seen(&self, target: Option<Bytes>) -> Option<Seen> {
        let size = match self.kind {
            Kind::File => self.size,
            Kind::Folder | Kind::Symlink => 0,
            Kind::Special => return None,
        };
        Some(Seen {
            kind: self.kind,
            inode: self.inode,
            born: self.born,
            size,
            modified: self.modified,
            changed: nanos(self.changed),
            mode: self.mode & 0o777,
            target,
        })
    }

    pub(crate) fn is(&self, seen: &Seen) -> bool {
        (self.kind, self.inode, self.born) == (seen.kind, seen.inode, seen.born)
    }
}

/// An object as the catalog records it. Two that are equal are the same version of the same object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) kind: Kind,
    pub(crate) inode: u64,
    pub(crate) born: i64,
    pub(crate) size: u64,
    pub(crate) modified: Timestamp,
    /// Nanoseconds since 1970.
    pub(crate) changed: i64,
    pub(crate) mode: u16,
    /// Of a link that stays inside its share.
    pub(crate) target: Option<Bytes>,
}

/// Something found in a folder.
#[derive(Debug, Clone)]
pub(crate) struct Child {
    pub(crate) name: Name,
    pub(crate) seen: Seen,
    /// It changed so lately that a further change might leave the same times.
    pub(crate) young: bool,
}

/// A folder's content.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) children: Vec<Child>,
    /// What is there and is no entry.
    pub(crate) skipped: u64,
}

/// Nanoseconds since 1970; the ends of the range (years 1677 and 2262) stand for what lies beyond.
pub(crate) fn nanos(time: Timestamp) -> i64 {
    time.seconds.saturating_mul(1_000_000_000).saturating_add(time.nanos.into())
}

/// Why something could not be opened, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The place holds nothing, or something else than it did.
    Gone,
    /// This user may not.
    Denied,
    /// The disk failed, or this process ran out of something.
    Failed,
}

pub(crate) fn cause(error: &io::Error) -> Cause {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV | Errno::STALE) => Cause::Gone,
        Some(Errno::ACCESS | Errno::PERM) => Cause::Denied,
        _ => Cause::Failed,
    }
}

/// The root of a share, open while something is done below it. Not kept longer: it would hold up an unmount.
#[derive(Debug)]
pub(crate) struct Root {
    handle: OwnedFd,
    /// Of a shared file: its name in the folder that `handle` is.
    file: Option<Name>,
    /// What the root is.
    pub(crate) meta: Meta,
    /// How far apart two changes must be, on this file system, to have different change times.
    pub(crate) granularity: Duration,
    /// The number that the file system gives itself; often made of its UUID.
    system: u64,
}

/// What a share's root was when it was last found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) device: u64,
    pub(crate) system: u64,
    pub(crate) inode: u64,
    pub(crate) born: i64,
}

impl Root {
    pub(crate) fn origin(&self) -> Origin {
        let Meta { device, inode, born, .. } = self.meta;
        Origin { device, system: self.system, inode, born }
    }

    /// Whether this may be taken for the root that was shared: the same object, also if its device has another
    /// number since a restart; or another object at its place, made there on the same file system. What is mounted
    /// at the place must be the same object: another disk is another thing.
    pub(crate) fn follows(&self, before: &Origin) -> bool {
        let now = self.origin();
        let same_system = now.system == before.system;
        let same_object = (now.inode, now.born) == (before.inode, before.born);
        (same_object && (now.born != 0 || same_system))
            || (same_system && now.device == before.device && !self.meta.mount)
    }

    pub(crate) fn open(path: &Path, folder: bool) -> io::Result<Self> {
        let (start, file) = if folder {
            (path, None)
        } else {
            let name = path.file_name().ok_or(Errno::NOENT)?;
            let name = Name::new(Bytes::copy_from_slice(name.as_bytes())).map_err(|_| Errno::NOENT)?;
            (path.parent().unwrap_or(Path::new("/")), Some(name))
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // Canonical when it was shared: a link on the way now leads to something else.
        let handle =
            rustix::fs::openat2(rustix::fs::CWD, start, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
        let meta = match &file {
            None => stat_handle(&handle)?,
            Some(name) => stat_child(&handle, name)?,
        };
        let expected = if folder { Kind::Folder } else { Kind::File };
        if meta.kind != expected {
            return Err(Errno::NOENT.into());
        }
        let (granularity, system) = system(&handle)?;
        Ok(Self { handle, file, meta, granularity, system })
    }

    /// What is at `names` below the root, without opening it.
    pub(crate) fn stat(&self, names: &[Name]) -> io::Result<Meta> {
        Ok(stat_handle(self.open_at(names, OFlags::PATH | OFlags::NOFOLLOW)?)?)
    }

    /// Opens a folder for listing.
    pub(crate) fn open_folder(&self, names: &[Name]) -> io::Result<(OwnedFd, Meta)> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let folder = match self.open_at(names, flags | OFlags::NOATIME) {
            Err(error) if error.raw_os_error() == Some(Errno::PERM.raw_os_error()) => {
                self.open_at(names, flags)?
            }
            other => other?,
        };
        let meta = stat_handle(&folder)?;
        Ok((folder, meta))
    }

    /// Opens a regular file for reading, if `accept` likes what it is. What is no regular file is never opened.
    pub(crate) fn open_file(
        &self,
        names: &[Name],
        accept: impl FnOnce(&Meta) -> bool,
    ) -> io::Result<std::fs::File> {
        let place = self.open_at(names, OFlags::PATH | OFlags::NOFOLLOW)?;
        let meta = stat_handle(&place)?;
        if meta.kind != Kind::File || !accept(&meta) {
            return Err(Errno::NOENT.into());
        }
        // The same object again, whatever its place holds by now.
        let itself = format!("/proc/self/fd/{}", place.as_raw_fd());
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY;
        let file = match rustix::fs::open(&itself, flags | OFlags::NOATIME, Mode::empty()) {
            Err(Errno::PERM) => rustix::fs::open(&itself, flags, Mode::empty())?,
            other => other?,
        };
        Ok(file.into())
    }

    /// Lists a folder that lies `depth` folders below the root, leaving out the names in `hidden`.
    pub(crate) fn list(&self, folder: OwnedFd, depth: usize, hidden: &[&OsStr]) -> io::Result<Listing> {
        let mut listing = Listing { children: Vec::new(), skipped: 0 };
        let mut entries = Dir::new(folder)?;
        while let Some(entry) = entries.read() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            let special = matches!(
                entry.file_type(),
                FileType::Fifo | FileType::Socket | FileType::CharacterDevice | FileType::BlockDevice
            );
            let name = Name::new(Bytes::copy_from_slice(name));
            let hidden = hidden.iter().any(|hidden| hidden.as_bytes() == entry.file_name().to_bytes());
            match name {
                Ok(name) if !special && !hidden => {
                    let folder = entries.fd()?;
                    match self.child(folder, name, depth) {
                        Ok(Some(child)) => listing.children.push(child),
                        Ok(None) => listing.skipped += 1,
                        // It went while the folder was read.
                        Err(Errno::NOENT) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
                Ok(_) | Err(_) => listing.skipped += 1,
            }
        }
        Ok(listing)
    }

    fn child(&self, folder: impl AsFd, name: Name, depth: usize) -> Result<Option<Child>, Errno> {
        // Before the look, so that what is young then is never taken for old.
        let now = SystemTime::now();
        let meta = stat_child(&folder, &name)?;
        let elsewhere = meta.mount || (meta.kind == Kind::Folder && meta.device != self.meta.device);
        let too_deep = meta.kind == Kind::Folder && depth + 1 >= farhold_wire::limits::DEPTH;
        if elsewhere || too_deep {
            return Ok(None);
        }
        let target = match meta.kind {
            Kind::Symlink => {
                let target = rustix::fs::readlinkat(folder, name.as_bytes(), Vec::new())?.into_bytes();
                link::stays_inside(&target, depth).then(|| Bytes::from(target))
            }
            Kind::Folder | Kind::File | Kind::Special => None,
        };
        let young = self.is_young(&meta, now);
        Ok(meta.seen(target).map(|seen| Child { name, seen, young }))
    }

    /// Whether `meta`, looked at no earlier than `now`, may change again without another change time.
    pub(crate) fn is_young(&self, meta: &Meta, now: SystemTime) -> bool {
        is_young_on(meta, now, self.granularity)
    }

    fn open_at(&self, names: &[Name], flags: OFlags) -> io::Result<OwnedFd> {
        let mut names = self.file.iter().chain(names).peekable();
        if names.peek().is_none() {
            return Ok(rustix::fs::openat2(
                &self.handle,
                ".",
                flags | OFlags::CLOEXEC,
                Mode::empty(),
                RESOLVE,
            )?);
        }
        let mut from: Option<OwnedFd> = None;
        loop {
            let mut path = Vec::new();
            while let Some(name) = names.next_if(|name| path.len() + name.as_bytes().len() < PATH_BYTES) {
                if !path.is_empty() {
                    path.push(b'/');
                }
                path.extend_from_slice(name.as_bytes());
            }
            let last = names.peek().is_none();
            let flags = if last { flags } else { OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW };
            let start = from.as_ref().unwrap_or(&self.handle);
            let opened = rustix::fs::openat2(start, path, flags | OFlags::CLOEXEC, Mode::empty(), RESOLVE)?;
            if last {
                return Ok(opened);
            }
            from = Some(opened);
        }
    }
}

/// A change time younger than this may stay the same through another change: one tick of the kernel's coarse clock
/// at 100 Hz, its slowest.
const FINE: Duration = Duration::from_millis(10);
/// The same for FAT, which counts 2 s, and for network disks, whose servers have clocks and granularities of their own.
const COARSE: Duration = Duration::from_secs(2);

/// The same for a file whose root is not open any more.
pub(crate) fn is_young_on(meta: &Meta, now: SystemTime, granularity: Duration) -> bool {
    // Whole seconds are what a file system with coarse times leaves, whatever its type.
    let granularity = if meta.changed.nanos == 0 { COARSE } else { granularity };
    meta.kind == Kind::File && is_young(meta.changed, now, granularity)
}

fn is_young(changed: Timestamp, now: SystemTime, granularity: Duration) -> bool {
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(now.as_nanos()).unwrap_or(i64::MAX);
    let granularity = i64::try_from(granularity.as_nanos()).unwrap_or(i64::MAX);
    // A time well ahead of the clock is not about to pass.
    nanos(changed).abs_diff(now) < granularity.unsigned_abs()
}

/// File systems whose change times are coarse, or come from another machine (numbers of `statfs(2)`).
const COARSE_SYSTEMS: [u64; 12] = [
    0x4d44,      // FAT
    0x2011_bab0, // exFAT
    0x482b,      // HFS+
    0x6969,      // NFS
    0x517b,      // SMB
    0xff53_4d42, // CIFS
    0xfe53_4d42, // SMB2
    0x6573_5546, // FUSE
    0x0102_1997, // 9p
    0x00c3_6400, // Ceph
    0x5346_414f, // AFS
    0x786f_4256, // VirtualBox shared folders
];

/// How far apart changes must be on a file system, and the number that it gives itself.
fn system(handle: &OwnedFd) -> io::Result<(Duration, u64)> {
    // The type is signed, and of 32 bits on some machines.
    let kind = u64::from(rustix::fs::fstatfs(handle)?.f_type as u32);
    let granularity = if COARSE_SYSTEMS.contains(&kind) { COARSE } else { FINE };
    Ok((granularity, rustix::fs::fstatvfs(handle)?.f_fsid))
}

const STAT: StatxFlags = StatxFlags::BASIC_STATS.union(StatxFlags::BTIME);

pub(crate) fn stat_handle(handle: impl AsFd) -> Result<Meta, Errno> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::NO_AUTOMOUNT;
    rustix::fs::statx(handle, "", flags, STAT).map(|stat| Meta::of(&stat))
}

fn stat_child(folder: impl AsFd, name: &Name) -> Result<Meta, Errno> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    rustix::fs::statx(folder, name.as_bytes(), flags, STAT).map(|stat| Meta::of(&stat))
}

#[cfg(test)]
mod tests;
