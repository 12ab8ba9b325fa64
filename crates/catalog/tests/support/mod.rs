//! A home with something to share, and a peer that follows it.
#![allow(dead_code, clippy::unwrap_used, reason = "each test uses its part; a helper may panic")]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use farhold_catalog::{Home, HomeConfig, Lookup, Replica};
use farhold_wire::{
    Change, ContactId, Entry, EntryId, EntryKind, Name, ReadFailure, ReadHead, ReadPart, ReadRequest, limits,
};
use futures_util::StreamExt;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub(crate) const ANNA: ContactId = ContactId([0xaa; 16]);
pub(crate) const BERT: ContactId = ContactId([0xbb; 16]);

/// Long enough for anything that a test waits for, on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Bench {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) home: Home,
}

impl Bench {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["shared", "own"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let home = open(folder.path()).await;
        Self { folder, home }
    }

    /// A home that shares its folder with Anna, and she follows.
    pub(crate) async fn shared() -> (Self, Follower) {
        let bench = Self::new().await;
        bench.home.share(&bench.path(""), &[ANNA], None, false).await.unwrap();
        let follower = Follower::new(&bench, ANNA).await;
        (bench, follower)
    }

    /// A path in the shared folder.
    pub(crate) fn path(&self, below: &str) -> PathBuf {
        let shared = self.folder.path().join("shared");
        if below.is_empty() { shared } else { shared.join(below) }
    }

    pub(crate) fn write(&self, below: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(below), content).unwrap();
    }

    pub(crate) async fn restart(&mut self) {
        self.home.close().await;
        self.home = open(self.folder.path()).await;
    }

    /// Everything that the catalog has on disk.
    pub(crate) fn catalog(&self) -> PathBuf {
        self.folder.path().join("own")
    }
}

pub(crate) async fn open(folder: &Path) -> Home {
    let config = HomeConfig { folder: folder.join("own"), refused: vec![folder.join("own")] };
    Home::open(config, CancellationToken::new()).await.unwrap()
}

/// A replica that follows a home.
pub(crate) struct Follower {
    pub(crate) replica: Replica,
    pub(crate) contact: ContactId,
    path: PathBuf,
    task: JoinHandle<()>,
}

impl Follower {
    pub(crate) async fn new(bench: &Bench, contact: ContactId) -> Self {
        let path = bench.folder.path().join(format!("{contact}.db"));
        let replica = Replica::open(&path).await.unwrap();
        let task = follow(&bench.home, &replica, contact);
        Self { replica, contact, path, task }
    }

    pub(crate) fn disconnect(&self) {
        self.task.abort();
    }

    pub(crate) fn connect(&mut self, home: &Home) {
        self.task.abort();
        self.task = follow(home, &self.replica, self.contact);
    }

    pub(crate) async fn restart(&mut self, home: &Home) {
        self.disconnect();
        self.replica.close().await;
        self.replica = Replica::open(&self.path).await.unwrap();
        self.connect(home);
    }

    /// Waits until what is seen below the root `name` is what `path` holds.
    pub(crate) async fn sees(&self, name: &str, path: &Path) {
        let wait = async {
            loop {
                let before = on_disk(path);
                if self.tree(name).await == Some(before.clone()) && on_disk(path) == before {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        if tokio::time::timeout(PATIENCE, wait).await.is_err() {
            let (seen, held) = (self.tree(name).await, on_disk(path));
            let Some(seen) = seen else {
                panic!("{name} is not seen: {:?} {:?}", self.replica.roots().await, self.replica.position())
            };
            let differs = |a: &Tree, b: &Tree| -> Vec<_> {
                a.iter()
                    .filter(|(path, node)| b.get(*path) != Some(*node))
                    .map(|(path, node)| (String::from_utf8_lossy(path).into_owned(), node.clone()))
                    .collect()
            };
            panic!("only seen: {:?}\nonly on disk: {:?}", differs(&seen, &held), differs(&held, &seen));
        }
    }

    /// Waits until `what` holds.
    pub(crate) async fn until<F: AsyncFn(&Replica) -> bool>(&self, what: F) {
        let wait = async {
            while !what(&self.replica).await {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, wait).await.expect("it never comes");
    }

    pub(crate) async fn root(&self, name: &str) -> Option<Entry> {
        let found = self.replica.lookup(None, self::name(name)).await.unwrap();
        if let Lookup::Found(entry) = found { Some(entry) } else { None }
    }

    /// The entry at a path below the root named `shared`.
    pub(crate) async fn entry(&self, path: &str) -> Option<Entry> {
        let mut entry = self.root("shared").await?;
        for part in path.split('/').filter(|part| !part.is_empty()) {
            match self.replica.lookup(Some(entry.id), name(part)).await.unwrap() {
                Lookup::Found(found) => entry = found,
                Lookup::Absent | Lookup::Unknown => return None,
            }
        }
        Some(entry)
    }

    pub(crate) async fn expect(&self, path: &str) -> Entry {
        self.until(async |_| self.entry(path).await.is_some()).await;
        self.entry(path).await.unwrap()
    }

    pub(crate) async fn tree(&self, name: &str) -> Option<Tree> {
        let root = self.root(name).await?;
        if root.unavailable {
            return None;
        }
        let mut tree = Tree::new();
        let mut waiting = vec![(Vec::new(), root)];
        while let Some((path, entry)) = waiting.pop() {
            if entry.kind == EntryKind::Folder {
                let children = self.replica.children(entry.id).await.ok()?;
                if !children.complete {
                    return None;
                }
                for child in children.entries {
                    let start = if path.is_empty() { Vec::new() } else { [&path[..], b"/"].concat() };
                    let below = [&start[..], child.name.as_bytes()].concat();
                    waiting.push((below, child));
                }
            }
            tree.insert(path, Node::of_entry(&entry));
        }
        Some(tree)
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn follow(home: &Home, replica: &Replica, contact: ContactId) -> JoinHandle<()> {
    let (home, replica) = (home.clone(), replica.clone());
    tokio::spawn(async move {
        let mut changes = home.changes(contact, replica.position());
        while let Some(batch) = changes.next().await {
            let batch = batch.unwrap();
            assert!(batch.changes.len() <= limits::BATCH_CHANGES);
            assert!(batch.changes.iter().map(size).sum::<usize>() < limits::PEER_MESSAGE_BYTES);
            replica.apply(batch).await.unwrap();
        }
    })
}

/// More than a change takes in a message.
fn size(change: &Change) -> usize {
    let Change::Put(entry) = change else { return 20 };
    let target = match &entry.kind {
        EntryKind::Symlink { target: Some(target) } => target.len(),
        EntryKind::Symlink { target: None } | EntryKind::File { .. } | EntryKind::Folder => 0,
    };
    128 + entry.name.as_bytes().len() + target
}

/// Paths below a root, and what is there.
pub(crate) type Tree = BTreeMap<Vec<u8>, Node>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    kind: EntryKind,
    mode: u16,
    modified: (i64, u32),
}

impl Node {
    fn of_entry(entry: &Entry) -> Self {
        let modified = (entry.modified.seconds, entry.modified.nanos);
        Self { kind: entry.kind.clone(), mode: entry.mode, modified }
    }
}

/// What a folder holds, as it ought to be seen: without FIFOs, sockets and devices.
pub(crate) fn on_disk(root: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(path) = waiting.pop() {
        // A test may change the folder meanwhile; it compares again.
        let Ok(meta) = path.symlink_metadata() else { continue };
        let kind = if meta.is_dir() {
            waiting
                .extend(std::fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
            EntryKind::Folder
        } else if meta.is_file() {
            EntryKind::File { size: meta.len() }
        } else if meta.is_symlink() {
            let target = std::fs::read_link(&path).map(|target| target.into_os_string()).unwrap_or_default();
            let below = path.strip_prefix(root).unwrap().components().count() - 1;
            let ups = target.as_bytes().split(|byte| *byte == b'/').filter(|part| *part == b"..").count();
            let inside = !target.as_bytes().starts_with(b"/") && ups <= below;
            EntryKind::Symlink { target: inside.then(|| target.into_encoded_bytes().into()) }
        } else {
            continue;
        };
        let below = path.strip_prefix(root).unwrap().as_os_str().as_bytes().to_vec();
        let modified = (meta.mtime(), meta.mtime_nsec() as u32);
        tree.insert(below, Node { kind, mode: (meta.mode() & 0o777) as u16, modified });
    }
    tree
}

pub(crate) fn name(text: &str) -> Name {
    Name::new(text.to_owned()).unwrap()
}

pub(crate) fn os(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}

/// Everything that a read answers.
pub(crate) async fn read(
    home: &Home,
    contact: ContactId,
    request: ReadRequest,
) -> Result<(ReadHead, Vec<u8>), ReadFailure> {
    let mut parts = home.read(contact, request);
    let Some(ReadPart::Head(head)) = parts.next().await.transpose()? else { panic!("no head") };
    let mut data = Vec::new();
    while let Some(part) = parts.next().await.transpose()? {
        let ReadPart::Data(part) = part else { panic!("a second head") };
        assert!(!part.is_empty() && part.len() <= limits::PART_BYTES);
        data.extend_from_slice(&part);
    }
    assert_eq!(data.len(), head.length as usize);
    Ok((head, data))
}

pub(crate) fn request(entry: &Entry, offset: u64, length: u32) -> ReadRequest {
    ReadRequest { entry: entry.id, version: entry.version, offset, length }
}

/// The whole content, of whatever version is there when the last piece was read.
pub(crate) async fn content(home: &Home, contact: ContactId, id: EntryId) -> Result<Vec<u8>, ReadFailure> {
    let version = farhold_wire::Version { epoch: 0, counter: 0 };
    'again: loop {
        let mut whole = Vec::new();
        let mut of = None;
        loop {
            let offset = whole.len() as u64;
            let asked = ReadRequest { entry: id, version, offset, length: limits::READ_BYTES };
            let (head, data) = match read(home, contact, asked).await {
                Err(ReadFailure::Changed) => continue 'again,
                other => other?,
            };
            if *of.get_or_insert(head.entry.version) != head.entry.version {
                continue 'again;
            }
            whole.extend_from_slice(&data);
            let EntryKind::File { size } = head.entry.kind else { panic!("no file") };
            if whole.len() as u64 >= size {
                return Ok(whole);
            }
        }
    }
}
