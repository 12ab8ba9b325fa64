//! The files: `<dir>/segments-<slots>/<contact>/<entry>-<epoch>-<counter>-<segment>`, ids and versions as hexadecimal
//! digits.
//!
//! A segment has a fixed number of *slots*, one for each of its blocks, at multiples of the same distance. A slot whose
//! block is not there is a hole, so a segment takes up what its blocks do. Where holes cannot be made, segments have one
//! slot.
//!
//! A slot is written in place and not synced. What a crash leaves of it does not open and is fetched anew, so nothing
//! here needs an order of writes. Files whose names are not of this form are left alone.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::key::{BLOCK_BYTES, BlockId, ContentKey, hex};
use crate::seal::OVERHEAD;
use crate::store::holes;
use crate::store::index::{Found, Geometry};

/// Blocks of a segment where holes can be made: 16 MiB, so that creating files costs nothing beside filling them.
const SLOTS: u64 = 64;
/// The least distance of slots, a page: holes are made of whole pages.
const PAGE: u64 = 4096;

/// Room on a file system, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Space {
    pub(crate) total: u64,
    /// For this user.
    pub(crate) free: u64,
}

/// What the store needs of a disk. Every call blocks.
pub(crate) trait Files: Send + Sync + 'static {
    /// Makes the folder, if there is none. Comes before all others.
    fn prepare(&self) -> io::Result<Geometry>;
    /// Removes what was kept here while files lay otherwise.
    fn tidy(&self) -> io::Result<()>;
    /// The first `length` bytes of a block's slot.
    fn read(&self, id: &BlockId, length: usize) -> io::Result<Vec<u8>>;
    /// Fills the slot of a block, which is free.
    fn write(&self, id: &BlockId, slot: &[u8]) -> io::Result<()>;
    /// Frees the slot of a block, or all of its segment. A missing file is no error.
    fn remove(&self, id: &BlockId, segment: bool) -> io::Result<()>;
    /// Sets the modification time of a block's segment to now.
    fn refresh(&self, id: &BlockId) -> io::Result<()>;
    /// Every content that has segments, and their numbers.
    fn contents(&self) -> io::Result<BTreeMap<ContentKey, Vec<u64>>>;
    /// The blocks in a segment; it is removed if there are none.
    fn blocks(&self, key: &ContentKey, segment: u64) -> io::Result<Vec<Found>>;
    /// Room where the files are.
    fn space(&self) -> io::Result<Space>;
}

/// [`Files`] in a folder.
#[derive(Debug)]
pub(crate) struct Disk {
    dir: PathBuf,
    layout: OnceLock<Layout>,
}

/// How the files lie, which depends on the file system.
#[derive(Debug)]
struct Layout {
    root: PathBuf,
    slots: u64,
    /// From one slot to the next, in bytes.
    stride: u64,
}

impl Disk {
    pub(crate) fn new(dir: PathBuf) -> Self {
        Self { dir, layout: OnceLock::new() }
    }

    fn layout(&self) -> io::Result<&Layout> {
        self.layout.get().ok_or_else(|| io::Error::other("the folder could not be prepared"))
    }

    fn open(&self, id: &BlockId, options: &fs::OpenOptions) -> io::Result<(File, u64)> {
        let layout = self.layout()?;
        let file = options.open(layout.path(&id.key, id.index / layout.slots))?;
        Ok((file, id.index % layout.slots * layout.stride))
    }
}

impl Layout {
    fn folder(&self, contact: &[u8; 16]) -> PathBuf {
        self.root.join(hex(contact))
    }

    fn path(&self, key: &ContentKey, segment: u64) -> PathBuf {
        let mut path = self.folder(&key.contact);
        path.push(format!("{}-{:016x}-{:016x}-{segment}", hex(&key.entry), key.epoch, key.counter));
        path
    }
}

impl Files for Disk {
    fn prepare(&self) -> io::Result<Geometry> {
        fs::create_dir_all(&self.dir)?;
        let unit = fs4::statvfs(&self.dir)?.allocation_granularity().max(1);
        let slots = if holes::can_be_made(&self.dir, unit.max(PAGE))? { SLOTS } else { 1 };
        let root = self.dir.join(format!("segments-{slots}"));
        fs::create_dir_all(&root)?;
        let stride = (BLOCK_BYTES + OVERHEAD).next_multiple_of(unit.max(PAGE));
        self.layout.get_or_init(|| Layout { root, slots, stride });
        Ok(Geometry { unit, slots })
    }

    fn tidy(&self) -> io::Result<()> {
        let layout = self.layout()?;
        let others = [SLOTS, 1].into_iter().filter(|slots| *slots != layout.slots);
        for other in others {
            match fs::remove_dir_all(self.dir.join(format!("segments-{other}"))) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    fn read(&self, id: &BlockId, length: usize) -> io::Result<Vec<u8>> {
        let (mut file, offset) = self.open(id, File::options().read(true))?;
        file.seek(SeekFrom::Start(offset))?;
        let mut slot = vec![0; length];
        file.read_exact(&mut slot)?;
        Ok(slot)
    }

    fn write(&self, id: &BlockId, slot: &[u8]) -> io::Result<()> {
        let mut options = File::options();
        options.write(true).create(true).truncate(false);
        let (mut file, offset) = match self.open(id, &options) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(self.layout()?.folder(&id.key.contact))?;
                self.open(id, &options)?
            }
            opened => opened?,
        };
        file.seek(SeekFrom::Start(offset))?;
        file.write_all(slot)
    }

    fn remove(&self, id: &BlockId, segment: bool) -> io::Result<()> {
        let layout = self.layout()?;
        let result = if segment {
            fs::remove_file(layout.path(&id.key, id.index / layout.slots))
        } else {
            let opened = self.open(id, File::options().read(true).write(true));
            opened.and_then(|(file, offset)| {
                // A hole is no use of what is left.
                let modified = file.metadata()?.modified()?;
                holes::make(&file, offset..offset + layout.stride)?;
                file.set_modified(modified)
            })
        };
        match result {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        if segment {
            // A folder that still holds something refuses, and stays.
            fs::remove_dir(layout.folder(&id.key.contact)).ok();
        }
        Ok(())
    }

    fn refresh(&self, id: &BlockId) -> io::Result<()> {
        let (file, _) = self.open(id, File::options().write(true))?;
        file.set_modified(SystemTime::now())
    }

    fn contents(&self) -> io::Result<BTreeMap<ContentKey, Vec<u64>>> {
        let mut contents: BTreeMap<ContentKey, Vec<u64>> = BTreeMap::new();
        for entry in fs::read_dir(&self.layout()?.root)? {
            let folder = entry?.path();
            let Some(contact) = folder.file_name().and_then(|name| parse_id(name.to_str()?)) else {
                continue;
            };
            let Some(segments) = list(&folder)? else { continue };
            for segment in segments {
                let Some((key, number)) = parse_segment(contact, &segment?.file_name()) else { continue };
                contents.entry(key).or_default().push(number);
            }
        }
        Ok(contents)
    }

    fn blocks(&self, key: &ContentKey, segment: u64) -> io::Result<Vec<Found>> {
        let layout = self.layout()?;
        let file = match File::open(layout.path(key, segment)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            opened => opened?,
        };
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Ok(Vec::new());
        }
        let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let modified = modified.map_or(0, |time| time.as_secs());
        let mut found: Vec<Found> = Vec::new();
        for data in holes::data(&file, metadata.len())? {
            for slot in data.start / layout.stride..data.end.div_ceil(layout.stride).min(layout.slots) {
                let index = segment * layout.slots + slot;
                // Only the last slot may be shorter than a block. A length that is wrong is found out when it is read.
                let length =
                    (metadata.len() - slot * layout.stride).saturating_sub(OVERHEAD).min(BLOCK_BYTES);
                let Ok(length) = u32::try_from(length) else { continue };
                if length > 0 && found.last().is_none_or(|last| last.index < index) {
                    found.push(Found { index, length, modified });
                }
            }
        }
        if found.is_empty() {
            fs::remove_file(layout.path(key, segment))?;
        }
        Ok(found)
    }

    fn space(&self) -> io::Result<Space> {
        let space = fs4::statvfs(&self.dir)?;
        Ok(Space { total: space.total_space(), free: space.available_space() })
    }
}

/// What a folder holds; nothing if it is none, or is gone meanwhile.
fn list(folder: &Path) -> io::Result<Option<fs::ReadDir>> {
    match fs::read_dir(folder) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        entries => entries.map(Some),
    }
}

fn parse_id(name: &str) -> Option<[u8; 16]> {
    let id = u128::from_str_radix(name, 16).ok()?.to_be_bytes();
    (hex(&id) == name).then_some(id)
}

fn parse_segment(contact: [u8; 16], name: &std::ffi::OsStr) -> Option<(ContentKey, u64)> {
    let mut parts = name.to_str()?.split('-');
    let entry = parse_id(parts.next()?)?;
    let epoch = parse_number(parts.next()?)?;
    let counter = parse_number(parts.next()?)?;
    let segment = parts.next()?;
    let number: u64 = segment.parse().ok()?;
    let exact = parts.next().is_none() && number.to_string() == segment;
    exact.then_some((ContentKey { contact, entry, epoch, counter }, number))
}

fn parse_number(digits: &str) -> Option<u64> {
    let number = u64::from_str_radix(digits, 16).ok()?;
    (format!("{number:016x}") == digits).then_some(number)
}

#[cfg(test)]
mod tests;
