//! The files of blocks: `<dir>/blocks/<contact>/<entry>/<epoch>-<counter>/<index>`, ids and versions as
//! hexadecimal digits.
//!
//! A file is written in place and not synced. What a crash leaves of it does not open and is fetched anew, so
//! nothing here needs an order of writes. Files whose names are not of this form are left alone.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::key::{BLOCK_BYTES, BlockId, ContentKey, hex};
use crate::seal::OVERHEAD;
use crate::store::index::Found;

/// Room on a file system, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Space {
    pub(crate) total: u64,
    /// For this user.
    pub(crate) free: u64,
    /// Unit of allocation.
    pub(crate) unit: u64,
}

/// What the store needs of a disk. Every call blocks.
pub(crate) trait Files: Send + Sync + 'static {
    /// Makes the folder, if there is none.
    fn prepare(&self) -> io::Result<()>;
    /// The file of a block, which should be `length` bytes long; at most one byte more is read.
    fn read(&self, id: &BlockId, length: u64) -> io::Result<Vec<u8>>;
    /// Writes the file of a block, in place of any former one.
    fn write(&self, id: &BlockId, file: &[u8]) -> io::Result<()>;
    /// Removes the file of a block, and with the last one its folders. A missing file is no error.
    fn remove(&self, id: &BlockId, last: bool) -> io::Result<()>;
    /// Sets the file's modification time to now.
    fn refresh(&self, id: &BlockId) -> io::Result<()>;
    /// Every content that has a folder.
    fn contents(&self) -> io::Result<Vec<ContentKey>>;
    /// The files of `key`; those of an impossible length are removed.
    fn blocks(&self, key: &ContentKey) -> io::Result<Vec<Found>>;
    /// Room where the files are.
    fn space(&self) -> io::Result<Space>;
}

/// [`Files`] in a folder.
#[derive(Debug)]
pub(crate) struct Disk {
    dir: PathBuf,
    root: PathBuf,
}

impl Disk {
    pub(crate) fn new(dir: PathBuf) -> Self {
        let root = dir.join("blocks");
        Self { dir, root }
    }

    fn folder(&self, key: &ContentKey) -> PathBuf {
        let mut path = self.root.join(hex(&key.contact));
        path.push(hex(&key.entry));
        path.push(format!("{:016x}-{:016x}", key.epoch, key.counter));
        path
    }

    fn path(&self, id: &BlockId) -> PathBuf {
        self.folder(&id.key).join(id.index.to_string())
    }
}

impl Files for Disk {
    fn prepare(&self) -> io::Result<()> {
        fs::create_dir_all(&self.root)
    }

    fn read(&self, id: &BlockId, length: u64) -> io::Result<Vec<u8>> {
        let capacity = usize::try_from(length + 1).map_err(io::Error::other)?;
        let mut file = Vec::with_capacity(capacity);
        File::open(self.path(id))?.take(length + 1).read_to_end(&mut file)?;
        Ok(file)
    }

    fn write(&self, id: &BlockId, file: &[u8]) -> io::Result<()> {
        let path = self.path(id);
        let mut target = match File::create(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(self.folder(&id.key))?;
                File::create(&path)?
            }
            created => created?,
        };
        target.write_all(file)
    }

    fn remove(&self, id: &BlockId, last: bool) -> io::Result<()> {
        match fs::remove_file(self.path(id)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        if last {
            // A folder that still holds something refuses, and stays.
            let folder = self.folder(&id.key);
            for empty in folder.ancestors().take(3) {
                if fs::remove_dir(empty).is_err() {
                    break;
                }
            }
        }
        Ok(())
    }

    fn refresh(&self, id: &BlockId) -> io::Result<()> {
        File::options().write(true).open(self.path(id))?.set_modified(SystemTime::now())
    }

    fn contents(&self) -> io::Result<Vec<ContentKey>> {
        let mut contents = Vec::new();
        for contact in folders(&self.root)? {
            let Some(contact_id) = parse_id(&contact) else { continue };
            for entry in folders(&contact)? {
                let Some(entry_id) = parse_id(&entry) else { continue };
                for version in folders(&entry)? {
                    let Some((epoch, counter)) = parse_version(&version) else { continue };
                    contents.push(ContentKey { contact: contact_id, entry: entry_id, epoch, counter });
                }
            }
        }
        Ok(contents)
    }

    fn blocks(&self, key: &ContentKey) -> io::Result<Vec<Found>> {
        let entries = match fs::read_dir(self.folder(key)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry?;
            let Some(index) = entry.file_name().to_str().and_then(parse_index) else { continue };
            let metadata = match entry.metadata() {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                metadata => metadata?,
            };
            if !metadata.is_file() {
                continue;
            }
            let length =
                metadata.len().checked_sub(OVERHEAD).filter(|length| (1..=BLOCK_BYTES).contains(length));
            let Some(length) = length.and_then(|length| u32::try_from(length).ok()) else {
                self.remove(&BlockId { key: *key, index }, false)?;
                continue;
            };
            let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            found.push(Found { index, length, modified: modified.map_or(0, |time| time.as_secs()) });
        }
        Ok(found)
    }

    fn space(&self) -> io::Result<Space> {
        let space = fs4::statvfs(&self.dir)?;
        Ok(Space {
            total: space.total_space(),
            free: space.available_space(),
            unit: space.allocation_granularity(),
        })
    }
}

/// The folders in `path`; none if it has gone meanwhile.
fn folders(path: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut folders = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            folders.push(entry.path());
        }
    }
    Ok(folders)
}

fn name(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

fn parse_id(path: &Path) -> Option<[u8; 16]> {
    let name = name(path)?;
    let id = u128::from_str_radix(name, 16).ok()?.to_be_bytes();
    (hex(&id) == name).then_some(id)
}

fn parse_version(path: &Path) -> Option<(u64, u64)> {
    let name = name(path)?;
    let (epoch, counter) = name.split_once('-')?;
    let epoch = u64::from_str_radix(epoch, 16).ok()?;
    let counter = u64::from_str_radix(counter, 16).ok()?;
    (format!("{epoch:016x}-{counter:016x}") == name).then_some((epoch, counter))
}

fn parse_index(name: &str) -> Option<u64> {
    let index: u64 = name.parse().ok()?;
    (index.to_string() == name).then_some(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: ContentKey = ContentKey { contact: [0xab; 16], entry: [1; 16], epoch: 0x10, counter: 3 };

    #[test]
    fn lists_what_it_wrote_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let disk = Disk::new(dir.path().into());
        assert_eq!(disk.contents().unwrap(), []);
        disk.write(&BlockId { key: KEY, index: 7 }, &[0; 40]).unwrap();
        disk.write(&BlockId { key: KEY, index: 8 }, &[0; 32]).unwrap();
        let folder = dir.path().join(
            "blocks/abababababababababababababababab/01010101010101010101010101010101/\
             0000000000000010-0000000000000003",
        );
        assert_eq!(fs::read(folder.join("7")).unwrap(), [0; 40], "the documented path");
        fs::write(folder.join("07"), "foreign").unwrap();
        fs::write(folder.join("notes"), "foreign").unwrap();
        fs::create_dir(folder.join("9")).unwrap();
        fs::create_dir_all(dir.path().join("blocks/0123/4567")).unwrap();

        assert_eq!(disk.contents().unwrap(), [KEY]);
        let found = disk.blocks(&KEY).unwrap();
        assert_eq!(found.iter().map(|found| (found.index, found.length)).collect::<Vec<_>>(), [(7, 8)]);
        assert!(!folder.join("8").exists(), "a file too short for a block is removed");
        assert!(folder.join("07").exists() && folder.join("notes").exists(), "foreign files are left alone");
    }

    #[test]
    fn the_last_block_takes_its_folders_along() {
        let dir = tempfile::tempdir().unwrap();
        let disk = Disk::new(dir.path().into());
        let newer = ContentKey { counter: 4, ..KEY };
        for key in [KEY, newer] {
            disk.write(&BlockId { key, index: 0 }, &[0; 40]).unwrap();
        }
        disk.remove(&BlockId { key: KEY, index: 0 }, true).unwrap();
        assert_eq!(disk.contents().unwrap(), [newer]);
        disk.remove(&BlockId { key: newer, index: 0 }, true).unwrap();
        disk.remove(&BlockId { key: newer, index: 0 }, true).unwrap();
        assert_eq!(fs::read_dir(dir.path().join("blocks")).unwrap().count(), 0);
    }
}
