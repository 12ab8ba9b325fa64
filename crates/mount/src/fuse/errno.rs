//! What Linux calls each failure. The only place where it is said.

use farhold_vfs::VfsError;
use fuser::Errno;

/// The error number of `error`. `docs/semantics.md` lists them.
pub(super) fn errno(error: VfsError) -> Errno {
    match error {
        VfsError::NotFound => Errno::ENOENT,
        VfsError::Stale => Errno::ESTALE,
        VfsError::NotFolder => Errno::ENOTDIR,
        VfsError::IsFolder => Errno::EISDIR,
        VfsError::NotLink => Errno::EINVAL,
        VfsError::NameTooLong => Errno::ENAMETOOLONG,
        VfsError::Offline => Errno::EHOSTDOWN,
        VfsError::TimedOut => Errno::ETIMEDOUT,
        VfsError::Denied => Errno::EACCES,
        VfsError::ReadOnly => Errno::EROFS,
        VfsError::NotPermitted => Errno::EPERM,
        VfsError::Shared => Errno::EBUSY,
        VfsError::BadHandle => Errno::EBADF,
        VfsError::TooManyOpen => Errno::ENFILE,
        // Not EAGAIN for `Busy`: on a file some programs take it for "nothing more now" and end up with less than
        // the file holds.
        VfsError::Busy | VfsError::Unavailable | VfsError::HomeFailed | VfsError::LocalFailed => Errno::EIO,
    }
}
