//! Whatever happens to a folder, its home and its follower, in whatever order: in the end the follower sees what the
//! disk holds, reads what the files hold, and no version ever stood for two contents.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]

mod support;

use std::collections::HashMap;
use std::fs::{File, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::PathBuf;
use std::time::Duration;

use farhold_wire::{EntryId, EntryKind, ReadFailure, Version};
use proptest::prelude::*;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use support::{ANNA, Bench, Follower, open, os};

/// A path of up to three parts, of few names, so that operations meet.
type Place = Vec<u8>;

#[derive(Debug, Clone)]
enum Step {
    Write(Place, Vec<u8>),
    Append(Place, u8),
    Truncate(Place, u8),
    /// Other bytes of the same length, and the old time put back.
    Forge(Place, u8),
    Folder(Place),
    Rename(Place, Place),
    Exchange(Place, Place),
    HardLink(Place, Place),
    Link(Place, Place),
    Mode(Place, bool),
    Remove(Place),
    Wait(u8),
    Disconnect,
    Connect,
    RestartFollower,
    RestartHome,
    KillHome,
    LoseCatalog,
    Check,
}

fn step() -> impl Strategy<Value = Step> {
    let place = || prop::collection::vec(0..4u8, 1..4);
    let content = prop::collection::vec(any::<u8>(), 0..40);
    prop_oneof![
        4 => (place(), content).prop_map(|(place, content)| Step::Write(place, content)),
        1 => (place(), any::<u8>()).prop_map(|(place, byte)| Step::Append(place, byte)),
        1 => (place(), 0..30u8).prop_map(|(place, length)| Step::Truncate(place, length)),
        1 => (place(), any::<u8>()).prop_map(|(place, byte)| Step::Forge(place, byte)),
        4 => place().prop_map(Step::Folder),
        4 => (place(), place()).prop_map(|(from, to)| Step::Rename(from, to)),
        2 => (place(), place()).prop_map(|(one, other)| Step::Exchange(one, other)),
        1 => (place(), place()).prop_map(|(from, to)| Step::HardLink(from, to)),
        1 => (place(), place()).prop_map(|(at, target)| Step::Link(at, target)),
        1 => (place(), any::<bool>()).prop_map(|(place, all)| Step::Mode(place, all)),
        2 => place().prop_map(Step::Remove),
        3 => (0..150u8).prop_map(Step::Wait),
        1 => Just(Step::Disconnect),
        1 => Just(Step::Connect),
        1 => Just(Step::RestartFollower),
        1 => Just(Step::RestartHome),
        1 => Just(Step::KillHome),
        1 => Just(Step::LoseCatalog),
        2 => Just(Step::Check),
    ]
}

struct World {
    bench: Bench,
    anna: Follower,
    versions: HashMap<(EntryId, Version), Vec<u8>>,
}

impl World {
    fn path(&self, place: &[u8]) -> PathBuf {
        let names: [&[u8]; 4] = [b"a", b"b", b"\xff\n", b"long name with spaces"];
        place.iter().fold(self.bench.path(""), |path, part| path.join(os(names[usize::from(*part)])))
    }

    /// Most steps fail at times, for want of what they need: that is as good.
    async fn take(&mut self, step: Step) {
        match step {
            Step::Write(place, content) => drop(std::fs::write(self.path(&place), content)),
            Step::Append(place, byte) => {
                if let Ok(mut file) = File::options().append(true).open(self.path(&place)) {
                    let _ = std::io::Write::write_all(&mut file, &[byte]);
                }
            }
            Step::Truncate(place, length) => {
                if let Ok(file) = File::options().write(true).open(self.path(&place)) {
                    file.set_len(length.into()).unwrap();
                }
            }
            Step::Forge(place, byte) => {
                if let Ok(file) = File::options().write(true).open(self.path(&place)) {
                    let meta = file.metadata().unwrap();
                    if meta.len() > 0 {
                        file.write_at(&[byte], 0).unwrap();
                        file.set_modified(meta.modified().unwrap()).unwrap();
                    }
                }
            }
            Step::Folder(place) => drop(std::fs::create_dir(self.path(&place))),
            Step::Rename(from, to) => drop(std::fs::rename(self.path(&from), self.path(&to))),
            Step::Exchange(one, other) => {
                let _ = renameat_with(CWD, self.path(&one), CWD, self.path(&other), RenameFlags::EXCHANGE);
            }
            Step::HardLink(from, to) => drop(std::fs::hard_link(self.path(&from), self.path(&to))),
            Step::Link(at, target) => {
                let up = ["a", "../b", "../../a", "../../../etc"][target.len()];
                drop(symlink(up, self.path(&at)));
            }
            Step::Mode(place, all) => {
                let mode = Permissions::from_mode(if all { 0o777 } else { 0o700 });
                if !self.path(&place).is_symlink() {
                    drop(std::fs::set_permissions(self.path(&place), mode));
                }
            }
            Step::Remove(place) => {
                let path = self.path(&place);
                drop(std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir_all(&path)));
            }
            Step::Wait(millis) => tokio::time::sleep(Duration::from_millis(millis.into())).await,
            Step::Disconnect => self.anna.disconnect(),
            Step::Connect => self.anna.connect(&self.bench.home),
            Step::RestartFollower => self.anna.restart(&self.bench.home).await,
            Step::RestartHome => {
                self.bench.restart().await;
                self.anna.connect(&self.bench.home);
            }
            Step::KillHome => self.kill_home().await,
            Step::LoseCatalog => {
                self.bench.home.close().await;
                std::fs::remove_file(self.bench.catalog().join("home.db")).unwrap();
                self.bench.home = open(self.bench.folder.path()).await;
                self.anna.connect(&self.bench.home);
            }
            Step::Check => self.check().await,
        }
    }

    /// The catalog's files become again what they were at some moment at which nothing was closed.
    async fn kill_home(&mut self) {
        // What is announced after that moment would be forgotten, which no kill can do.
        self.anna.disconnect();
        tokio::task::yield_now().await;
        let files = ["home.db-wal", "home.db"];
        let kept = files.map(|file| std::fs::read(self.bench.catalog().join(file)).ok());
        self.bench.home.close().await;
        for (file, content) in files.iter().zip(kept) {
            if let Some(content) = content {
                std::fs::write(self.bench.catalog().join(file), content).unwrap();
            }
        }
        self.bench.home = open(self.bench.folder.path()).await;
        self.anna.connect(&self.bench.home);
    }

    /// Nothing changes meanwhile but what the follower still has to hear.
    async fn check(&mut self) {
        self.anna.connect(&self.bench.home);
        let agree = async {
            while self.compare().await.is_none() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(support::PATIENCE, agree).await.expect("they never agree");
    }

    /// `None` if the follower has not heard everything yet.
    async fn compare(&mut self) -> Option<()> {
        self.anna.sees("shared", &self.bench.path("")).await;
        let mut waiting = vec![(self.bench.path(""), self.anna.root("shared").await?)];
        while let Some((path, entry)) = waiting.pop() {
            match entry.kind {
                EntryKind::Folder => {
                    let children = self.anna.replica.children(entry.id).await.ok()?;
                    waiting.extend(
                        children
                            .entries
                            .into_iter()
                            .map(|child| (path.join(os(child.name.as_bytes())), child)),
                    );
                }
                EntryKind::File { .. } => {
                    let asked = support::request(&entry, 0, 1000);
                    // The catalog may be another one than the follower has heard of.
                    let (head, seen) = match support::read(&self.bench.home, ANNA, asked).await {
                        Err(ReadFailure::NotFound | ReadFailure::Unavailable) => return None,
                        other => other.unwrap(),
                    };
                    assert!(seen == std::fs::read(&path).unwrap(), "{}", path.display());
                    let known =
                        self.versions.entry((entry.id, head.entry.version)).or_insert_with(|| seen.clone());
                    assert!(*known == seen, "one version, two contents");
                }
                EntryKind::Symlink { .. } => {}
            }
        }
        Some(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, max_shrink_iters: 0, ..ProptestConfig::default() })]

    #[test]
    fn the_follower_sees_what_the_disk_holds(steps in prop::collection::vec(step(), 10..60)) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let (bench, anna) = Bench::shared().await;
            let mut world = World { bench, anna, versions: HashMap::new() };
            world.check().await;
            for step in steps {
                world.take(step).await;
            }
            world.check().await;
            world.bench.home.close().await;
        });
    }
}
