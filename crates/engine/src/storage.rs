//! Everything of an engine that lies on disk behind a database or a cache, and the drive over it.

use std::path::PathBuf;
use std::sync::Arc;

use farhold_cache::{Cache, CacheConfig};
use farhold_catalog::{Home, HomeConfig, Nodes};
use farhold_secure::Code;
use farhold_vfs::{Drive, DriveConfig};
use tokio_util::sync::CancellationToken;

use crate::error::EngineError;
use crate::layout::Layout;
use crate::secrets::MasterKey;

/// The catalogs, the cache and the drive.
#[derive(Debug, Clone)]
pub(crate) struct Storage {
    pub(crate) home: Home,
    pub(crate) nodes: Nodes,
    pub(crate) cache: Cache,
    pub(crate) drive: Arc<Drive>,
}

/// Where it lies.
pub(crate) struct Places<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) key: &'a MasterKey,
    pub(crate) code: &'a Code,
    pub(crate) cache_dir: PathBuf,
    pub(crate) cache_limit: u64,
    /// Where the drive will be mounted: never shared.
    pub(crate) mount: Option<PathBuf>,
}

impl Storage {
    /// Opens everything; what was opened before an error is closed again.
    pub(crate) async fn open(places: Places<'_>, cancel: &CancellationToken) -> Result<Self, EngineError> {
        let Places { layout, key, code, cache_dir, cache_limit, mount } = places;
        let refused = [Some(layout.root().to_owned()), Some(cache_dir.clone()), mount];
        let config =
            HomeConfig { folder: layout.root().to_owned(), refused: refused.into_iter().flatten().collect() };
        let home = Home::open(config, cancel.child_token()).await?;
        let opened = async {
            let nodes = Nodes::open(&layout.nodes()).await?;
            let config = DriveConfig::new(layout.names(), mark(code));
            let drive = Drive::open(home.clone(), nodes.clone(), config, cancel.child_token()).await?;
            Ok::<_, EngineError>((nodes, drive))
        };
        match opened.await {
            Ok((nodes, drive)) => {
                let cache = Cache::open(CacheConfig::new(cache_dir, cache_limit, *key.derive("cache")));
                Ok(Self { home, nodes, cache, drive })
            }
            Err(error) => {
                cancel.cancel();
                home.close().await;
                Err(error)
            }
        }
    }

    /// Waits until everything is written and closed; the token given at the start must be cancelled.
    pub(crate) async fn close(&self) {
        tokio::join!(self.drive.close(), self.cache.close(), self.home.close());
        self.nodes.close().await;
    }
}

/// The six characters of a code that tell its side's trees from the other's of the same name.
pub(crate) fn mark(code: &Code) -> String {
    code.to_string().chars().take(6).collect()
}
