//! Where an engine keeps what it keeps. Everything lies in one folder, so that one folder is one engine.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use farhold_wire::ContactId;
use sha2::{Digest, Sha256};

/// `sun_path` of a Unix socket address holds 108 bytes on Linux and 104 elsewhere, with its NUL.
const SOCKET_PATH_BYTES: usize = 103;

/// The files and folders of one config directory.
#[derive(Debug, Clone)]
pub struct Layout {
    root: PathBuf,
}

impl Layout {
    /// The layout of `config_dir`; touches nothing.
    pub fn new(config_dir: impl Into<PathBuf>) -> Self {
        Self { root: config_dir.into() }
    }

    /// The config directory of this user: `$XDG_CONFIG_HOME/farhold`, usually `~/.config/farhold`. `None` if the
    /// user has no home.
    pub fn default_config_dir() -> Option<PathBuf> {
        // A relative path there is to be ignored (XDG Base Directory Specification).
        let given = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        Some(given.or_else(|| Some(std::env::home_dir()?.join(".config")))?.join("farhold"))
    }

    /// Where the drive is mounted unless something else is asked for: `~/Farhold`. `None` if the user has no home.
    pub fn default_drive() -> Option<PathBuf> {
        Some(std::env::home_dir()?.join("Farhold"))
    }

    /// Where a pull lands unless something else is asked for: `~/Downloads`. `None` if the user has no home.
    pub fn default_downloads() -> Option<PathBuf> {
        Some(std::env::home_dir()?.join("Downloads"))
    }

    /// Makes the folders that must exist, readable by this user only.
    ///
    /// # Errors
    /// What the file system says.
    pub fn create(&self) -> io::Result<()> {
        for folder in [self.root.clone(), self.replicas(), self.journals(), self.runtime()] {
            private_folder(&folder)?;
        }
        if let Some(parent) = self.control_socket().parent() {
            private_folder(parent)?;
        }
        Ok(())
    }

    /// The config directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The user's settings.
    pub fn settings(&self) -> PathBuf {
        self.root.join("settings.json")
    }

    /// The master key, where no keychain holds it.
    pub fn secret_key(&self) -> PathBuf {
        self.root.join("secret.key")
    }

    /// What is kept whole in the cache.
    pub fn pins(&self) -> PathBuf {
        self.root.join("pins.json")
    }

    /// The sealed identity.
    pub fn identity(&self) -> PathBuf {
        self.root.join("identity")
    }

    /// The sealed contacts.
    pub fn contacts(&self) -> PathBuf {
        self.root.join("contacts")
    }

    /// The lock that one engine holds.
    pub fn lock(&self) -> PathBuf {
        self.root.join("farhold.lock")
    }

    /// The numbers of the drive's nodes.
    pub fn nodes(&self) -> PathBuf {
        self.root.join("nodes.db")
    }

    /// The names under which the drive shows what is called alike on both sides.
    pub fn names(&self) -> PathBuf {
        self.root.join("names.db")
    }

    /// The replicas of what contacts share.
    pub fn replicas(&self) -> PathBuf {
        self.root.join("replicas")
    }

    /// The replica of what one contact shares.
    pub fn replica(&self, contact: ContactId) -> PathBuf {
        self.replicas().join(format!("{contact}.db"))
    }

    /// The block cache, unless the settings name another folder.
    pub fn cache(&self) -> PathBuf {
        self.root.join("cache")
    }

    /// The list of transfers.
    pub fn transfers(&self) -> PathBuf {
        self.root.join("transfers.json")
    }

    /// The journals of files under way.
    pub fn journals(&self) -> PathBuf {
        self.root.join("transfers")
    }

    fn runtime(&self) -> PathBuf {
        self.root.join("runtime")
    }

    /// The control socket: in the config directory or, where that path is too long for a socket address, in the
    /// user's runtime folder under a name that depends on the config directory alone.
    pub fn control_socket(&self) -> PathBuf {
        self.control_socket_in(std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from))
    }

    fn control_socket_in(&self, user_runtime: Option<PathBuf>) -> PathBuf {
        // Absolute first: whoever names the same folder by a relative path comes to the same socket.
        let root = std::path::absolute(&self.root).unwrap_or_else(|_| self.root.clone());
        let near = Self::new(&root).runtime().join("control.sock");
        if near.as_os_str().len() <= SOCKET_PATH_BYTES {
            return near;
        }
        let digest = Sha256::digest(root.as_os_str().as_bytes());
        let hash: String = digest[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        user_runtime
            .unwrap_or_else(|| {
                std::env::temp_dir().join(format!("farhold-{}", rustix::process::getuid().as_raw()))
            })
            .join(format!("farhold-{hash}.sock"))
    }
}

/// Makes a folder for this user only. One that is there already keeps its rights, but must be the user's own: the
/// fallback for sockets may lie in a folder where everybody can create names.
fn private_folder(path: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let found = std::fs::metadata(path)?;
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("{} belongs to another user", path.display()),
        ));
    }
    Ok(())
}

/// Whether others than the owner may read or write `path`.
///
/// # Errors
/// What the file system says.
pub fn open_to_others(path: &Path) -> io::Result<bool> {
    Ok(std::fs::metadata(path)?.permissions().mode() & 0o077 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_private() {
        let temp = tempfile::tempdir().unwrap();
        let layout = Layout::new(temp.path().join("deep/config"));
        layout.create().unwrap();
        for folder in [layout.root().to_owned(), layout.replicas(), layout.runtime()] {
            assert!(!open_to_others(&folder).unwrap(), "{}", folder.display());
        }
    }

    #[test]
    fn a_long_path_moves_the_socket_and_keeps_it_apart() {
        let runtime = Some(PathBuf::from("/run/user/1000"));
        let short = Layout::new("/home/u/.config/farhold");
        assert_eq!(
            short.control_socket_in(runtime.clone()),
            Path::new("/home/u/.config/farhold/runtime/control.sock")
        );
        let long = |last: &str| Layout::new(format!("/{}/{last}", "d".repeat(120)));
        let (a, b) = (long("a").control_socket_in(runtime.clone()), long("b").control_socket_in(runtime));
        assert!(a.starts_with("/run/user/1000") && a.as_os_str().len() <= SOCKET_PATH_BYTES);
        assert_ne!(a, b);
        // However short the relative path of a folder is.
        let here = std::env::current_dir().unwrap();
        let name = "d".repeat(SOCKET_PATH_BYTES - "/runtime/control.sock".len());
        assert_eq!(
            Layout::new(&name).control_socket_in(None),
            Layout::new(here.join(&name)).control_socket_in(None)
        );
    }
}
