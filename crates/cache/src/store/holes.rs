//! Holes in files: where they are, and how they are made.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

/// Whether holes of `unit` bytes can be made in files in `dir`: tries it.
#[cfg(target_os = "linux")]
pub(super) fn can_be_made(dir: &Path, unit: u64) -> io::Result<bool> {
    use std::io::Write;

    use rustix::io::Errno;

    let path = dir.join(".probe");
    let mut file = File::options().read(true).write(true).create(true).truncate(true).open(&path)?;
    let probed = (|| {
        file.write_all(&vec![1; usize::try_from(unit).map_err(io::Error::other)?])?;
        match punch(&file, 0..unit) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(false),
            Err(error) => Err(error.into()),
            Ok(()) => Ok(data(&file, unit)?.is_empty()),
        }
    })();
    std::fs::remove_file(&path)?;
    probed
}

/// Gives the bytes of a file back to the file system.
#[cfg(target_os = "linux")]
pub(super) fn make(file: &File, bytes: Range<u64>) -> io::Result<()> {
    Ok(punch(file, bytes)?)
}

#[cfg(target_os = "linux")]
fn punch(file: &File, bytes: Range<u64>) -> rustix::io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};

    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    fallocate(file, flags, bytes.start, bytes.end - bytes.start)
}

/// Where a file of `length` bytes is not a hole, in order.
#[cfg(target_os = "linux")]
pub(super) fn data(file: &File, length: u64) -> io::Result<Vec<Range<u64>>> {
    use rustix::fs::{SeekFrom, seek};
    use rustix::io::Errno;

    let mut found = Vec::new();
    let mut at = 0;
    while at < length {
        let start = match seek(file, SeekFrom::Data(at)) {
            Err(Errno::NXIO) => break,
            start => start?,
        };
        at = seek(file, SeekFrom::Hole(start))?.max(start + 1);
        found.push(start..at.min(length));
    }
    Ok(found)
}

/// Whether holes can be made: only where it is known how.
#[cfg(not(target_os = "linux"))]
pub(super) fn can_be_made(_: &Path, _: u64) -> io::Result<bool> {
    Ok(false)
}

/// Gives the bytes of a file back to the file system.
#[cfg(not(target_os = "linux"))]
pub(super) fn make(_: &File, _: Range<u64>) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Where a file of `length` bytes is not a hole, in order.
#[cfg(not(target_os = "linux"))]
pub(super) fn data(_: &File, length: u64) -> io::Result<Vec<Range<u64>>> {
    Ok(if length > 0 { vec![0..length] } else { Vec::new() })
}
