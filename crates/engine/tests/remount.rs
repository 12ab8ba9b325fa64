//! A drive that somebody else unmounts is mounted again, and stopping leaves no mount. Needs FUSE.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use farhold_engine::status::{MountStateName, MountStatus};
use farhold_engine::{Engine, EngineConfig, MountChoice};

fn mounts_at(point: &Path) -> usize {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    mounts.lines().filter(|line| line.split(' ').nth(1) == point.to_str()).count()
}

fn unmount(point: &Path) {
    let root = rustix::process::geteuid().is_root();
    let mut command = if root { Command::new("umount") } else { Command::new("fusermount3") };
    if !root {
        command.arg("-u");
    }
    assert!(command.arg(point).status().unwrap().success());
}

fn status(engine: &Engine) -> MountStatus {
    engine.status().unwrap().mount.unwrap()
}

/// How long anything of this may take on a loaded machine.
const WITHIN: Duration = Duration::from_secs(60);

async fn wait(what: &str, probe: impl Fn() -> bool) {
    let end = Instant::now() + WITHIN;
    while !probe() {
        assert!(Instant::now() < end, "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_else_unmounts_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let point = folder.path().join("drive");
    let config = EngineConfig {
        mount: MountChoice::At(point.clone()),
        loopback: true,
        ..EngineConfig::new(folder.path().join("config"))
    };
    let engine = Engine::start(config.clone()).await.unwrap();
    assert_eq!((status(&engine).state, mounts_at(&point)), (MountStateName::Mounted, 1));

    unmount(&point);
    wait("mounted again", || mounts_at(&point) == 1 && status(&engine).state == MountStateName::Mounted)
        .await;

    // While it cannot be mounted, that is said; once it can, it is.
    let block = point.join("in the way");
    // The drive refuses the file, should it be mounted again before.
    while std::fs::write(&block, "x").is_err() {
        unmount(&point);
    }
    wait("the reason is told", || {
        let status = status(&engine);
        status.state == MountStateName::Failed
            && status.reason.is_some_and(|reason| reason.contains("not empty"))
    })
    .await;
    std::fs::remove_file(&block).unwrap();
    wait("mounted at last", || status(&engine).state == MountStateName::Mounted).await;

    // A second engine does not mount over it, and starts once it is gone.
    let other = EngineConfig { config_dir: folder.path().join("other"), ..config };
    let refused = Engine::start(other.clone()).await.unwrap_err();
    assert!(refused.to_string().contains("--mount"), "{refused}");
    engine.stop().await;
    assert_eq!(mounts_at(&point), 0);
    let other = Engine::start(other).await.unwrap();
    assert_eq!(mounts_at(&point), 1);
    other.stop().await;
    assert_eq!(mounts_at(&point), 0);
}
