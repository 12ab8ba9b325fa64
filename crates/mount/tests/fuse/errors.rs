//! Error numbers of Linux, as errno(3) has them.

use std::io;

use rustix::io::Errno;

pub(crate) const EACCES: i32 = Errno::ACCESS.raw_os_error();
pub(crate) const EBUSY: i32 = Errno::BUSY.raw_os_error();
pub(crate) const EHOSTDOWN: i32 = Errno::HOSTDOWN.raw_os_error();
pub(crate) const ENAMETOOLONG: i32 = Errno::NAMETOOLONG.raw_os_error();
pub(crate) const ENOENT: i32 = Errno::NOENT.raw_os_error();
pub(crate) const ENOTCONN: i32 = Errno::NOTCONN.raw_os_error();
pub(crate) const ENOTDIR: i32 = Errno::NOTDIR.raw_os_error();
pub(crate) const EPERM: i32 = Errno::PERM.raw_os_error();
pub(crate) const EROFS: i32 = Errno::ROFS.raw_os_error();
pub(crate) const ESTALE: i32 = Errno::STALE.raw_os_error();

/// The number of the error that a call must have failed with.
pub(crate) fn errno<T>(result: io::Result<T>) -> i32 {
    result.err().expect("an error").raw_os_error().expect("an error of the system")
}
