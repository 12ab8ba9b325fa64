//! The drive over a real catalog and a real cache, with contacts in memory.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is how it fails")]

mod changing;
mod incomplete;
mod listing;
mod mine;
mod peer;
mod reading;
mod small;
mod trees;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use farhold_cache::{Cache, CacheConfig};
use farhold_catalog::{Home, HomeConfig, Nodes, Replica};
use farhold_vfs::{Attr, DirEntry, Drive, DriveConfig, Handle, NodeId, OpenMode, VfsError};
use tokio_util::sync::CancellationToken;

use peer::Peer;

/// Far longer than anything here takes, unless it waits for ever.
const NEVER: Duration = Duration::from_secs(60);

/// A drive, and where its parts live.
struct Bench {
    drive: Arc<Drive>,
    home: Home,
    cache: Cache,
    folder: tempfile::TempDir,
    cancel: CancellationToken,
}

impl Bench {
    async fn new() -> Self {
        Self::in_folder(tempfile::tempdir().unwrap(), NEVER).await
    }

    /// With requests that wait for a contact so long.
    async fn with_wait(longest_wait: Duration) -> Self {
        Self::in_folder(tempfile::tempdir().unwrap(), longest_wait).await
    }

    async fn in_folder(folder: tempfile::TempDir, longest_wait: Duration) -> Self {
        let cancel = CancellationToken::new();
        let path = |name: &str| folder.path().join(name);
        let config = HomeConfig { folder: path("home"), refused: vec![path("cache")] };
        let home = Home::open(config, cancel.clone()).await.unwrap();
        let nodes = Nodes::open(&path("nodes.db")).await.unwrap();
        let cache = Cache::open(CacheConfig::new(path("cache"), 1 << 30, [7; 32]));
        let config = DriveConfig { longest_wait, ..DriveConfig::new(path("names.db"), "mMmMmM".to_owned()) };
        let drive = Drive::open(home.clone(), nodes, config, cancel.clone()).await.unwrap();
        Self { drive, home, cache, folder, cancel }
    }

    /// A contact all of whose trees are known, shown as `name`.
    async fn contact(&self, number: u8, name: &str) -> Arc<Peer> {
        let peer = Peer::new(number, self.replica(number).await).await;
        peer.show(&self.drive, name, &self.cache, true).await;
        peer
    }

    async fn replica(&self, number: u8) -> Replica {
        Replica::open(&self.folder.path().join(format!("replica-{number}.db"))).await.unwrap()
    }

    /// Looks up `path`, step by step from the top.
    async fn walk(&self, path: &str) -> Result<Attr, VfsError> {
        let mut attr = self.drive.getattr(NodeId::ROOT).await?;
        for name in path.split('/') {
            attr = self.drive.lookup(attr.node, name.as_bytes()).await?;
        }
        Ok(attr)
    }

    async fn open(&self, path: &str) -> Result<Handle, VfsError> {
        let node = self.walk(path).await?.node;
        Ok(self.drive.open_file(node, OpenMode::Read).await?.handle)
    }

    /// Opens, reads all and closes.
    async fn read(&self, path: &str) -> Result<Bytes, VfsError> {
        let file = self.open(path).await?;
        let read = self.drive.read(file, 0, 1 << 20).await;
        self.drive.release(file);
        read
    }

    /// The names in a folder, sorted, without `.` and `..`.
    async fn names(&self, path: &str) -> Result<Vec<String>, VfsError> {
        let node = self.walk(path).await?.node;
        let folder = self.drive.opendir(node).await?;
        let listed = self.list(folder, 100).await;
        self.drive.releasedir(folder);
        let mut names: Vec<String> =
            listed?.iter().map(|entry| String::from_utf8_lossy(&entry.name).into_owned()).collect();
        names.retain(|name| !matches!(name.as_str(), "." | ".."));
        names.sort();
        Ok(names)
    }

    /// All entries of an open folder, read `step` at a time.
    async fn list(&self, folder: Handle, step: usize) -> Result<Vec<DirEntry>, VfsError> {
        let mut entries: Vec<DirEntry> = Vec::new();
        loop {
            let cookie = entries.last().map_or(0, |entry| entry.next);
            let more = self.drive.readdir(folder, cookie, step).await?;
            if more.is_empty() {
                return Ok(entries);
            }
            entries.extend(more);
        }
    }

    /// Ends everything, and gives the folder back for a next run.
    async fn close(self) -> tempfile::TempDir {
        self.cancel.cancel();
        self.drive.close().await;
        self.home.close().await;
        self.cache.close().await;
        self.folder
    }
}
