//! The drive is mounted, unmounted and moved when the user asks for it. Needs FUSE.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use farhold_engine::commands::{Holder, Unmounted};
use farhold_engine::error::ErrorClass;
use farhold_engine::settings::Settings;
use farhold_engine::status::{MountStateName, MountStatus};
use farhold_engine::{Engine, EngineConfig};
use tempfile::TempDir;

fn is_mounted(point: &Path) -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    mounts.lines().any(|line| line.split(' ').nth(1) == point.to_str())
}

/// A program that works in the drive.
struct User(Child);

impl User {
    fn start(point: &Path) -> Self {
        Self(Command::new("sleep").arg("600").current_dir(point).spawn().unwrap())
    }

    fn holder(&self, point: &Path) -> Holder {
        Holder { pid: self.0.id(), program: "sleep".to_owned(), file: point.to_owned() }
    }
}

impl Drop for User {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An engine whose settings say where the drive is.
async fn start(folder: &TempDir) -> (Engine, PathBuf) {
    let folder = folder.path().canonicalize().unwrap();
    let (config_dir, point) = (folder.join("config"), folder.join("drive"));
    std::fs::create_dir(&config_dir).unwrap();
    let settings = Settings { drive: Some(point.clone()), ..Settings::default() };
    settings.save(&config_dir.join("settings.json")).unwrap();
    let config = EngineConfig { loopback: true, ..EngineConfig::new(config_dir) };
    (Engine::start(config).await.unwrap(), point)
}

fn status(engine: &Engine) -> Option<MountStatus> {
    engine.status().unwrap().mount
}

fn state(engine: &Engine) -> Option<MountStateName> {
    status(engine).map(|mount| mount.state)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_user_unmounts_stays_so_until_it_is_mounted() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, point) = start(&folder).await;
    for _ in 0..2 {
        let unmounted = engine.unmount(false).await.unwrap();
        assert_eq!(unmounted, Unmounted { unmounted: true, holders: vec![] });
    }
    // Longer than what somebody else unmounts stays away.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(!is_mounted(&point));
    let expected = MountStatus { point: point.clone(), state: MountStateName::Unmounted, reason: None };
    assert_eq!(status(&engine), Some(expected));
    let mounted = MountStatus { point: point.clone(), state: MountStateName::Mounted, reason: None };
    for _ in 0..2 {
        assert_eq!(engine.mount().await.unwrap(), mounted);
        assert_eq!(status(&engine).as_ref(), Some(&mounted));
        assert!(is_mounted(&point));
    }
    // What is in the way is told, and nothing is tried again behind the user's back.
    engine.unmount(false).await.unwrap();
    std::fs::write(point.join("mine"), "x").unwrap();
    let refused = engine.mount().await.unwrap_err();
    assert_eq!(refused.class(), ErrorClass::Conflict);
    assert!(refused.to_string().contains("is not empty"), "{refused}");
    assert_eq!(state(&engine), Some(MountStateName::Unmounted));
    engine.stop().await;
    assert!(matches!(engine.mount().await, Err(error) if error.class() == ErrorClass::NotRunning));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drive_in_use_stays_unless_forced() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, point) = start(&folder).await;
    assert_eq!(engine.holders().await.unwrap(), []);
    let user = User::start(&point);
    let holders = vec![user.holder(&point)];
    assert_eq!(engine.holders().await.unwrap(), holders);
    let held = Unmounted { unmounted: false, holders: holders.clone() };
    assert_eq!(engine.unmount(false).await.unwrap(), held);
    assert_eq!(state(&engine), Some(MountStateName::Mounted));
    assert!(is_mounted(&point));

    assert_eq!(engine.unmount(true).await.unwrap(), Unmounted { unmounted: true, holders });
    assert_eq!(state(&engine), Some(MountStateName::Unmounted));
    assert!(!is_mounted(&point));
    assert_eq!(engine.holders().await.unwrap(), []);
    engine.mount().await.unwrap();
    engine.stop().await;
    assert!(!is_mounted(&point));
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_move_the_drive_unless_it_is_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, first) = start(&folder).await;
    let second = first.with_file_name("elsewhere");
    let change = async |change: &dyn Fn(&mut Settings)| {
        let mut settings = engine.settings().settings;
        change(&mut settings);
        engine.change_settings(settings).await
    };
    let to = |point: &Path| {
        let point = point.to_owned();
        move |settings: &mut Settings| settings.drive = Some(point.clone())
    };

    let user = User::start(&first);
    let before = engine.settings();
    let refused = change(&to(&second)).await.unwrap_err();
    assert_eq!(refused.class(), ErrorClass::Refused);
    let who = format!("{} (sleep, process {})", first.display(), user.0.id());
    assert!(refused.to_string().contains(&who), "{refused}");
    assert_eq!(engine.settings(), before);
    assert!(is_mounted(&first) && !is_mounted(&second));
    drop(user);

    assert_eq!(change(&to(&second)).await.unwrap().restart_needed, []);
    assert!(!is_mounted(&first) && is_mounted(&second));
    assert_eq!(status(&engine).unwrap().point, second);

    // Where it cannot be, it stays where it was.
    std::fs::write(first.join("mine"), "x").unwrap();
    let refused = change(&to(&first)).await.unwrap_err();
    assert!(refused.to_string().contains("is not empty"), "{refused}");
    assert!(is_mounted(&second));
    assert_eq!(engine.settings().settings.drive, Some(second.clone()));
    std::fs::remove_file(first.join("mine")).unwrap();

    change(&|settings| settings.mount = false).await.unwrap();
    assert_eq!((status(&engine), is_mounted(&second)), (None, false));
    change(&|settings| settings.mount = true).await.unwrap();
    assert!(is_mounted(&second));

    // What the user unmounted is not mounted because its place changes.
    engine.unmount(false).await.unwrap();
    change(&to(&first)).await.unwrap();
    let unmounted = MountStatus { point: first.clone(), state: MountStateName::Unmounted, reason: None };
    assert_eq!(status(&engine), Some(unmounted));
    assert!(!is_mounted(&first) && !is_mounted(&second));
    engine.mount().await.unwrap();
    assert!(is_mounted(&first));
    engine.stop().await;
}
