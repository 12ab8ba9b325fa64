//! Opening what lies below a folder, and nothing else: through no link, and never upwards.

use std::os::fd::{AsFd, OwnedFd};

use farhold_wire::Name;
use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// Longest path given to the system at once, with room below `PATH_MAX`. Deeper ones are opened in stages.
const PATH_BYTES: usize = 3072;

const RESOLVE: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);

/// Opens what `names` lead to below `folder`; the folder itself without names.
pub(crate) fn open(folder: impl AsFd, names: &[Name], flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::CLOEXEC;
    if names.is_empty() {
        return rustix::fs::openat2(folder, ".", flags, mode, RESOLVE);
    }
    let mut names = names.iter().peekable();
    let mut from: Option<OwnedFd> = None;
    loop {
        let mut path = Vec::new();
        while let Some(name) = names.next_if(|name| path.len() + name.as_bytes().len() < PATH_BYTES) {
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(name.as_bytes());
        }
        let start = from.as_ref().map_or(folder.as_fd(), AsFd::as_fd);
        if names.peek().is_none() {
            return rustix::fs::openat2(start, path, flags, mode, RESOLVE);
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        from = Some(rustix::fs::openat2(start, path, flags, Mode::empty(), RESOLVE)?);
    }
}

/// Opens a folder to work in.
pub(crate) fn folder(start: impl AsFd, names: &[Name]) -> Result<OwnedFd, Errno> {
    open(start, names, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())
}
