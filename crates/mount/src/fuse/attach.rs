//! Mounting and unmounting: `mount(2)` where this user may, `fusermount3` otherwise.
//!
//! The FUSE library can mount too, but unmounts a path a second time after somebody else unmounted it, and takes a
//! busy mount for an unmounted one.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{self, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use super::error::MountError;

/// What the drive's mounts are called in the mount table.
pub(super) const SOURCE: &str = "farhold";
/// Their type there.
pub(super) const KIND: &str = "fuse.farhold";

const DEVICE: &str = "/dev/fuse";
const FUSERMOUNT: &str = "fusermount3";
/// Tells fusermount3 on which of its descriptors to send the device's (see its source: the only way).
const FUSERMOUNT_CHANNEL: &str = "_FUSE_COMMFD";
/// It only opens a device and mounts it; more than this means that the mount point's own disk hangs.
const FUSERMOUNT_LIMIT: Duration = Duration::from_secs(10);

/// Mounts at `point`, an existing folder; what comes back is the kernel's end of the mount.
pub(super) fn attach(point: &Path, allow_other: bool) -> Result<OwnedFd, MountError> {
    match attach_directly(point, allow_other) {
        Err(AttachError::NotAllowed) => attach_by_fusermount(point, allow_other),
        Err(AttachError::Failed(error)) => Err(error),
        Ok(device) => Ok(device),
    }
}

enum AttachError {
    NotAllowed,
    Failed(MountError),
}

fn attach_directly(point: &Path, allow_other: bool) -> Result<OwnedFd, AttachError> {
    let failed = |source: io::Error| AttachError::Failed(MountError::Kernel { source });
    let mode = point.metadata().map_err(failed)?.mode();
    let device = match File::options().read(true).write(true).open(DEVICE) {
        Ok(device) => OwnedFd::from(device),
        // fusermount3 may open it for us.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(AttachError::NotAllowed),
        Err(error) => return Err(AttachError::Failed(MountError::NoFuse { source: error })),
    };
    let mut options = format!(
        "fd={},rootmode={mode:o},user_id={},group_id={},default_permissions",
        device.as_raw_fd(),
        rustix::process::getuid().as_raw(),
        rustix::process::getgid().as_raw(),
    );
    if allow_other {
        options.push_str(",allow_other");
    }
    let options = CString::new(options).map_err(|error| failed(error.into()))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    match rustix::mount::mount(SOURCE, point, KIND, flags, options.as_c_str()) {
        Ok(()) => Ok(device),
        Err(Errno::PERM | Errno::ACCESS) => Err(AttachError::NotAllowed),
        Err(error) => Err(failed(error.into())),
    }
}

fn attach_by_fusermount(point: &Path, allow_other: bool) -> Result<OwnedFd, MountError> {
    let kernel = |source: io::Error| MountError::Kernel { source };
    let (ours, theirs) = UnixStream::pair().map_err(kernel)?;
    ours.set_read_timeout(Some(FUSERMOUNT_LIMIT)).map_err(kernel)?;
    let mut options = format!("nosuid,nodev,default_permissions,fsname={SOURCE},subtype={SOURCE}");
    if allow_other {
        options.push_str(",allow_other");
    }
    let mut child = Command::new(FUSERMOUNT)
        .args([OsStr::new("-o"), OsStr::new(&options), OsStr::new("--"), point.as_os_str()])
        // As its standard input, the one descriptor that can be handed over without unsafe code.
        .env(FUSERMOUNT_CHANNEL, "0")
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|source| MountError::NoHelper { source })?;
    let received = receive_descriptor(&ours);
    if received.is_err() {
        // It has either ended already or hangs.
        let _ = child.kill();
    }
    let mut said = String::new();
    if let Some(stderr) = child.stderr.take() {
        let _ = stderr.take(4096).read_to_string(&mut said);
    }
    let _ = child.wait();
    match received {
        Ok(Some(device)) => Ok(device),
        Ok(None) => Err(MountError::Refused { reason: said.trim().to_owned() }),
        Err(source) => Err(kernel(source)),
    }
}

/// One descriptor from the other end of `socket`; `None` if that end was closed without sending one.
fn receive_descriptor(socket: &UnixStream) -> io::Result<Option<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(mut descriptors) = message {
            return Ok(descriptors.next());
        }
    }
    Ok(None)
}

/// How a mount is taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detach {
    /// Only if nobody uses it.
    Idle,
    /// From the tree of files now, whoever still uses it.
    Lazily,
}

/// Takes away what is mounted at `point`.
pub(super) fn detach(point: &Path, how: Detach) -> Result<(), DetachError> {
    let flags = match how {
        Detach::Idle => UnmountFlags::NOFOLLOW,
        // Forced, so that the connection to the kernel ends now and not when its users let go.
        Detach::Lazily => UnmountFlags::NOFOLLOW | UnmountFlags::DETACH | UnmountFlags::FORCE,
    };
    match rustix::mount::unmount(point, flags) {
        Ok(()) => Ok(()),
        Err(Errno::BUSY) => Err(DetachError::Busy),
        Err(Errno::INVAL) => Err(DetachError::NotMounted),
        Err(Errno::PERM) => detach_by_fusermount(point, how),
        Err(error) => Err(DetachError::Failed(error.to_string())),
    }
}

fn detach_by_fusermount(point: &Path, how: Detach) -> Result<(), DetachError> {
    let flag = match how {
        Detach::Idle => "-u",
        Detach::Lazily => "-uz",
    };
    let output = Command::new(FUSERMOUNT)
        .args([OsStr::new(flag), OsStr::new("--"), point.as_os_str()])
        // Its messages are read below.
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| DetachError::Failed(format!("{FUSERMOUNT}: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if said.contains("busy") {
        return Err(DetachError::Busy);
    }
    if said.contains("not found in") {
        return Err(DetachError::NotMounted);
    }
    Err(DetachError::Failed(said))
}

/// Why a mount is still there.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DetachError {
    /// Somebody uses it.
    Busy,
    /// It is not there any more.
    NotMounted,
    /// What the kernel or fusermount3 said.
    Failed(String),
}
