//! The kernel's requests: decoded here, done by the drive elsewhere.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use farhold_vfs::{BACKGROUND_SLOTS, Change, Drive, Handle, NodeId, OpenMode};
use fuser::{
    AccessFlags, BsdFileFlags, Errno, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenAccMode, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData,
    ReplyDirectory, ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyLseek, ReplyOpen, ReplyStatfs,
    ReplyXattr, Request, TimeOrNow,
};

use super::attr::{Mounter, TTL, file_attr, file_type};
use super::errno::errno;
use super::requests::Requests;

/// Longest data of one request, in bytes: what Linux allows unless its settings are changed.
const REQUEST_BYTES: u32 = 1 << 20;
/// Entries in one answer to readdir, at most: more than the buffers that programs usually list with can hold.
const LISTED_AT_ONCE: usize = 1024;
/// Entries in one answer to readdirplus, at most; each may cost a look at its attributes, held by the buffer or not.
const LISTED_WITH_ATTRIBUTES: usize = 128;
/// Unit that room on a disk is told in, in bytes.
const DISK_BLOCK: u32 = 4096;
/// Longest name, in bytes.
const NAME_BYTES: u32 = 255;

/// What we use of what the kernel offers. Not the write-back cache: under it the kernel keeps its own sizes and times
/// instead of the homes'.
const CAPABILITIES: [InitFlags; 5] = [
    InitFlags::FUSE_ASYNC_READ,
    InitFlags::FUSE_AUTO_INVAL_DATA,
    InitFlags::FUSE_PARALLEL_DIROPS,
    InitFlags::FUSE_DO_READDIRPLUS,
    InitFlags::FUSE_READDIRPLUS_AUTO,
];

/// The kernel asks no more and does without: there are no extended attributes (it tells programs EOPNOTSUPP), and a
/// file is one piece of data with a hole behind it.
const NEVER_AGAIN: Errno = Errno::ENOSYS;

/// Node numbers are never used twice, so one generation is enough.
const GENERATION: Generation = Generation(0);

/// The drive as the FUSE library calls it.
pub(super) struct Adapter {
    drive: Arc<Drive>,
    requests: Arc<Requests>,
    mounter: Mounter,
}

impl Adapter {
    pub(super) fn new(drive: Arc<Drive>, requests: Arc<Requests>) -> Self {
        Self { drive, requests, mounter: Mounter::current() }
    }

    /// Why a change of or in `node` is refused.
    fn refusal(&self, node: INodeNo, change: Change) -> Errno {
        errno(self.drive.refusal(NodeId(node.0), change))
    }
}

fn handle(handle: FileHandle) -> Handle {
    Handle(handle.0)
}

impl Filesystem for Adapter {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // One by one: the library refuses a whole set for one bit that an older kernel lacks.
        for capability in CAPABILITIES {
            if config.add_capabilities(capability).is_err() {
                tracing::debug!(?capability, "the kernel lacks a capability");
            }
        }
        let background = u16::try_from(BACKGROUND_SLOTS).unwrap_or(u16::MAX);
        if config.set_max_background(background).is_err() || config.set_max_write(REQUEST_BYTES).is_err() {
            tracing::debug!("the library refuses a limit");
        }
        Ok(())
    }

    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let (drive, mounter) = (Arc::clone(&self.drive), self.mounter);
        let name = Bytes::copy_from_slice(name.as_bytes());
        self.requests.run(
            "lookup",
            reply,
            async move { drive.lookup(NodeId(parent.0), &name).await },
            move |reply, attr| reply.entry(&TTL, &file_attr(&attr, mounter), GENERATION),
        );
    }

    fn forget(&self, _request: &Request, node: INodeNo, count: u64) {
        // After the end everything is forgotten at once, and another mount may count anew.
        if !self.requests.are_refused() {
            self.drive.forget(NodeId(node.0), count);
        }
    }

    fn getattr(&self, _request: &Request, node: INodeNo, _file: Option<FileHandle>, reply: ReplyAttr) {
        let (drive, mounter) = (Arc::clone(&self.drive), self.mounter);
        self.requests.run(
            "getattr",
            reply,
            async move { drive.getattr(NodeId(node.0)).await },
            move |reply, attr| reply.attr(&TTL, &file_attr(&attr, mounter)),
        );
    }

    fn readlink(&self, _request: &Request, node: INodeNo, reply: ReplyData) {
        let drive = Arc::clone(&self.drive);
        self.requests.run(
            "readlink",
            reply,
            async move { drive.readlink(NodeId(node.0)).await },
            |reply, target| reply.data(&target),
        );
    }

    fn statfs(&self, _request: &Request, node: INodeNo, reply: ReplyStatfs) {
        let drive = Arc::clone(&self.drive);
        self.requests.run(
            "statfs",
            reply,
            async move { drive.statfs(NodeId(node.0)).await },
            |reply, space| {
                let block = u64::from(DISK_BLOCK);
                let (total, free) = (space.total / block, space.free / block);
                reply.statfs(total, free, free, 0, 0, DISK_BLOCK, NAME_BYTES, DISK_BLOCK);
            },
        );
    }

    fn open(&self, _request: &Request, node: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let drive = Arc::clone(&self.drive);
        let mode = match flags.acc_mode() {
            OpenAccMode::O_RDONLY => OpenMode::Read,
            OpenAccMode::O_WRONLY | OpenAccMode::O_RDWR => OpenMode::Write,
        };
        self.requests.run(
            "open",
            reply,
            async move { drive.open_file(NodeId(node.0), mode).await },
            |reply, file| {
                // Nothing was written that a close could have to bring home.
                let mut flags = FopenFlags::FOPEN_NOFLUSH;
                flags.set(FopenFlags::FOPEN_KEEP_CACHE, file.keep_cache);
                reply.opened(FileHandle(file.handle.0), flags);
            },
        );
    }

    fn read(
        &self,
        _request: &Request,
        _node: INodeNo,
        file: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let drive = Arc::clone(&self.drive);
        self.requests.run(
            "read",
            reply,
            async move { drive.read(handle(file), offset, size.min(REQUEST_BYTES)).await },
            |reply, data| reply.data(&data),
        );
    }

    fn release(
        &self,
        _request: &Request,
        _node: INodeNo,
        file: FileHandle,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        self.drive.release(handle(file));
        reply.ok();
    }

    fn opendir(&self, _request: &Request, node: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        let drive = Arc::clone(&self.drive);
        self.requests.run(
            "opendir",
            reply,
            async move { drive.opendir(NodeId(node.0)).await },
            |reply, folder| reply.opened(FileHandle(folder.0), FopenFlags::empty()),
        );
    }

    fn readdir(
        &self,
        _request: &Request,
        _node: INodeNo,
        folder: FileHandle,
        cookie: u64,
        reply: ReplyDirectory,
    ) {
        let drive = Arc::clone(&self.drive);
        self.requests.run(
            "readdir",
            reply,
            async move { drive.readdir(handle(folder), cookie, LISTED_AT_ONCE).await },
            |mut reply, entries| {
                for entry in &entries {
                    let name = OsStr::from_bytes(&entry.name);
                    if reply.add(INodeNo(entry.node.0), entry.next, file_type(entry.kind), name) {
                        break;
                    }
                }
                reply.ok();
            },
        );
    }

    fn readdirplus(
        &self,
        _request: &Request,
        _node: INodeNo,
        folder: FileHandle,
        cookie: u64,
        reply: ReplyDirectoryPlus,
    ) {
        let (drive, mounter) = (Arc::clone(&self.drive), self.mounter);
        let teller = Arc::clone(&self.drive);
        self.requests.run(
            "readdirplus",
            reply,
            async move { drive.readdirplus(handle(folder), cookie, LISTED_WITH_ATTRIBUTES).await },
            move |mut reply, entries| {
                let fitting = entries.iter().take_while(|(entry, attr)| {
                    let (node, name) = (INodeNo(entry.node.0), OsStr::from_bytes(&entry.name));
                    !reply.add(node, entry.next, name, &TTL, &file_attr(attr, mounter), GENERATION)
                });
                // Before the answer: the kernel may forget them right after it.
                teller.refer(fitting.map(|(entry, _)| entry));
                reply.ok();
            },
        );
    }

    fn releasedir(
        &self,
        _request: &Request,
        _node: INodeNo,
        folder: FileHandle,
        _flags: OpenFlags,
        reply: ReplyEmpty,
    ) {
        self.drive.releasedir(handle(folder));
        reply.ok();
    }

    fn access(&self, _request: &Request, _node: INodeNo, _mask: AccessFlags, reply: ReplyEmpty) {
        // The kernel checks modes itself (`default_permissions`) and asks nothing.
        reply.ok();
    }

    fn getxattr(&self, _request: &Request, _node: INodeNo, _name: &OsStr, _size: u32, reply: ReplyXattr) {
        reply.error(NEVER_AGAIN);
    }

    fn listxattr(&self, _request: &Request, _node: INodeNo, _size: u32, reply: ReplyXattr) {
        reply.error(NEVER_AGAIN);
    }

    fn lseek(
        &self,
        _request: &Request,
        _node: INodeNo,
        _file: FileHandle,
        _offset: i64,
        _whence: i32,
        reply: ReplyLseek,
    ) {
        reply.error(NEVER_AGAIN);
    }

    fn flush(
        &self,
        _request: &Request,
        _node: INodeNo,
        _file: FileHandle,
        _owner: LockOwner,
        reply: ReplyEmpty,
    ) {
        reply.ok();
    }

    fn fsync(&self, _request: &Request, _node: INodeNo, _file: FileHandle, _data: bool, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsyncdir(
        &self,
        _request: &Request,
        _node: INodeNo,
        _folder: FileHandle,
        _data: bool,
        reply: ReplyEmpty,
    ) {
        reply.ok();
    }

    fn setattr(
        &self,
        _request: &Request,
        node: INodeNo,
        _mode: Option<u32>,
        user: Option<u32>,
        group: Option<u32>,
        _size: Option<u64>,
        _accessed: Option<TimeOrNow>,
        _modified: Option<TimeOrNow>,
        _changed: Option<SystemTime>,
        _file: Option<FileHandle>,
        _created: Option<SystemTime>,
        _checked: Option<SystemTime>,
        _backed_up: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let change = if user.is_some() || group.is_some() { Change::Owner } else { Change::Content };
        reply.error(self.refusal(node, change));
    }

    fn mknod(
        &self,
        _request: &Request,
        parent: INodeNo,
        _name: &OsStr,
        _mode: u32,
        _umask: u32,
        _device: u32,
        reply: ReplyEntry,
    ) {
        reply.error(self.refusal(parent, Change::Create));
    }

    fn mkdir(
        &self,
        _request: &Request,
        parent: INodeNo,
        _name: &OsStr,
        _mode: u32,
        _umask: u32,
        reply: ReplyEntry,
    ) {
        reply.error(self.refusal(parent, Change::Create));
    }

    fn unlink(&self, _request: &Request, parent: INodeNo, _name: &OsStr, reply: ReplyEmpty) {
        reply.error(self.refusal(parent, Change::Remove));
    }

    fn rmdir(&self, _request: &Request, parent: INodeNo, _name: &OsStr, reply: ReplyEmpty) {
        reply.error(self.refusal(parent, Change::Remove));
    }

    fn symlink(&self, _request: &Request, parent: INodeNo, _name: &OsStr, _target: &Path, reply: ReplyEntry) {
        reply.error(self.refusal(parent, Change::Create));
    }

    fn rename(
        &self,
        _request: &Request,
        parent: INodeNo,
        _name: &OsStr,
        _new_parent: INodeNo,
        _new_name: &OsStr,
        _flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        reply.error(self.refusal(parent, Change::Remove));
    }

    fn link(
        &self,
        _request: &Request,
        node: INodeNo,
        _new_parent: INodeNo,
        _new_name: &OsStr,
        reply: ReplyEntry,
    ) {
        reply.error(self.refusal(node, Change::Link));
    }

    fn create(
        &self,
        _request: &Request,
        parent: INodeNo,
        _name: &OsStr,
        _mode: u32,
        _umask: u32,
        _flags: i32,
        reply: ReplyCreate,
    ) {
        reply.error(self.refusal(parent, Change::Create));
    }

    fn setxattr(
        &self,
        _request: &Request,
        node: INodeNo,
        _name: &OsStr,
        _value: &[u8],
        _flags: i32,
        _position: u32,
        reply: ReplyEmpty,
    ) {
        reply.error(self.refusal(node, Change::Content));
    }

    fn removexattr(&self, _request: &Request, node: INodeNo, _name: &OsStr, reply: ReplyEmpty) {
        reply.error(self.refusal(node, Change::Content));
    }
}
