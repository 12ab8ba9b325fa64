//! The checks of the doctor.

use std::fs::OpenOptions;
use std::io;
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{Finding, Running, Verdict};
use crate::layout::{Layout, open_to_others};
use crate::settings::SettingsError;
use crate::status::{MountStateName, Status};

/// Watched folders that a large shared tree needs; systems used to allow 8192.
const WATCHES: u64 = 65_536;

pub(super) fn engine(running: Running<'_>) -> Finding {
    match running {
        Running::Yes(_) => Finding::ok("engine", "runs"),
        Running::No => Finding::bad("engine", Verdict::Warning, "does not run", "start it with: farhold up"),
        Running::Silent { reason } => {
            Finding::bad("engine", Verdict::Failed, reason, "end its process, and start it with: farhold up")
        }
    }
}

/// Root mounts by itself; everybody else needs the set-user-id helper, which opens the device in the user's name.
pub(super) fn fuse() -> Finding {
    if let Err(error) = OpenOptions::new().read(true).write(true).open("/dev/fuse") {
        let fix = if error.kind() == io::ErrorKind::PermissionDenied {
            "sudo chmod 666 /dev/fuse, which is what systems usually set"
        } else {
            "sudo modprobe fuse; in a container, start it with --device /dev/fuse --cap-add SYS_ADMIN"
        };
        return Finding::bad("fuse", Verdict::Failed, format!("/dev/fuse cannot be opened: {error}"), fix);
    }
    if rustix::process::geteuid().is_root() {
        return Finding::ok("fuse", "/dev/fuse can be opened");
    }
    match find("fusermount3") {
        None => Finding::bad(
            "fuse",
            Verdict::Failed,
            "fusermount3 is not installed",
            "install the package fuse3 (Debian, Ubuntu: sudo apt-get install fuse3)",
        ),
        Some(path) if !is_privileged(&path) => Finding::bad(
            "fuse",
            Verdict::Failed,
            format!("{} may not mount: it is not set-user-id root", path.display()),
            format!("sudo chown root {0} && sudo chmod u+s {0}", path.display()),
        ),
        Some(path) => Finding::ok("fuse", format!("{} mounts for ordinary users", path.display())),
    }
}

fn find(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
}

fn is_privileged(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.uid() == 0 && found.mode() & 0o4000 != 0)
}

pub(super) fn mount(running: Option<&Status>) -> Finding {
    match running.and_then(|status| status.mount.as_ref()) {
        None => Finding::ok("drive", "is not to be mounted now"),
        Some(mount) if mount.state == MountStateName::Mounted => {
            Finding::ok("drive", format!("is mounted at {}", mount.point.display()))
        }
        Some(mount) if mount.state == MountStateName::Unmounted => {
            Finding::ok("drive", "is unmounted, as asked; farhold mount brings it back")
        }
        Some(mount) => Finding::bad(
            "drive",
            Verdict::Failed,
            format!(
                "is not mounted at {}: {}",
                mount.point.display(),
                mount.reason.as_deref().unwrap_or("unknown")
            ),
            "mend that; the engine tries again by itself",
        ),
    }
}

pub(super) fn settings(error: Option<&SettingsError>) -> Finding {
    match error {
        None => Finding::ok("settings", "can be read"),
        Some(error) => Finding::bad(
            "settings",
            Verdict::Failed,
            error.to_string(),
            "correct the file, or move it away to begin with defaults",
        ),
    }
}

pub(super) fn config_rights(layout: &Layout) -> Finding {
    let root = layout.root();
    match open_to_others(root) {
        Ok(false) => Finding::ok("config", format!("{} is yours alone", root.display())),
        Ok(true) => Finding::bad(
            "config",
            Verdict::Warning,
            format!("others can look into {}", root.display()),
            format!("chmod 700 {}", root.display()),
        ),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Finding::ok("config", format!("{} will be made at the first start", root.display()))
        }
        Err(error) => Finding::bad(
            "config",
            Verdict::Failed,
            format!("{} cannot be used: {error}", root.display()),
            "give it back to your user, or name another folder with --config-dir",
        ),
    }
}

pub(super) fn secrets(layout: &Layout) -> Finding {
    let path = layout.secret_key();
    match open_to_others(&path) {
        Ok(false) => Finding::ok(
            "secrets",
            format!("are sealed under {}, a file that only you can read", path.display()),
        ),
        Ok(true) => Finding::bad(
            "secrets",
            Verdict::Failed,
            format!("others can read {}", path.display()),
            format!("chmod 600 {}", path.display()),
        ),
        Err(error) if error.kind() == io::ErrorKind::NotFound && layout.identity().exists() => Finding::bad(
            "secrets",
            Verdict::Failed,
            format!("{} is missing", path.display()),
            "restore it from a backup, or move the config directory away to begin anew",
        ),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Finding::ok("secrets", "will be made at the first start")
        }
        Err(error) => Finding::bad(
            "secrets",
            Verdict::Failed,
            format!("{} cannot be looked at: {error}", path.display()),
            "give it back to your user",
        ),
    }
}

pub(super) fn port(port: u16, running: Option<&Status>) -> Finding {
    if let Some(status) = running {
        return match status.network.listen {
            Some(port) => Finding::ok("port", format!("direct connections come in on TCP and UDP {port}")),
            None => Finding::ok("port", "none: connections go through the relay only"),
        };
    }
    match TcpListener::bind(("0.0.0.0", port)) {
        Ok(_) if port == 0 => Finding::ok("port", "any free one is taken at the start"),
        Ok(_) => Finding::ok("port", format!("TCP {port} is free")),
        Err(error) => Finding::bad(
            "port",
            Verdict::Failed,
            format!("TCP {port} cannot be listened at: {error}"),
            "choose another with: farhold settings listen_port PORT (0 for any free one)",
        ),
    }
}

/// Where changes of shared files are noticed by the system's watches, each folder takes one.
pub(super) fn watches() -> Finding {
    let limit = std::fs::read_to_string("/proc/sys/fs/inotify/max_user_watches");
    match limit.ok().and_then(|limit| limit.trim().parse::<u64>().ok()) {
        None => Finding::ok("watches", "have no limit that is known here"),
        Some(limit) if limit >= WATCHES => Finding::ok("watches", format!("{limit} folders can be watched")),
        Some(limit) => Finding::bad(
            "watches",
            Verdict::Warning,
            format!(
                "only {limit} folders can be watched; larger shares are scanned from time to time instead"
            ),
            format!("sudo sysctl fs.inotify.max_user_watches={}", 8 * WATCHES),
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn rights_of_the_config_directory_and_its_key_are_told() {
        let temp = tempfile::tempdir().unwrap();
        let layout = Layout::new(temp.path().join("config"));
        assert_eq!(config_rights(&layout).verdict, Verdict::Ok);
        assert_eq!(secrets(&layout).verdict, Verdict::Ok);
        layout.create().unwrap();
        std::fs::write(layout.identity(), "x").unwrap();
        assert_eq!(secrets(&layout).verdict, Verdict::Failed);
        std::fs::write(layout.secret_key(), "x").unwrap();
        std::fs::set_permissions(layout.secret_key(), PermissionsExt::from_mode(0o644)).unwrap();
        std::fs::set_permissions(layout.root(), PermissionsExt::from_mode(0o755)).unwrap();
        assert_eq!(config_rights(&layout).verdict, Verdict::Warning);
        let key = secrets(&layout);
        assert_eq!(key.verdict, Verdict::Failed);
        assert_eq!(key.fix.unwrap(), format!("chmod 600 {}", layout.secret_key().display()));
    }

    #[test]
    fn a_taken_port_is_told() {
        assert_eq!(port(0, None).verdict, Verdict::Ok);
        let taken = TcpListener::bind("0.0.0.0:0").unwrap();
        assert_eq!(port(taken.local_addr().unwrap().port(), None).verdict, Verdict::Failed);
    }
}
