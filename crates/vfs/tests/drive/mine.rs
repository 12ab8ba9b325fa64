//! My own trees, as a contact's folder shows them.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use farhold_vfs::{NodeKind, OpenMode, Owner, VfsError};

use crate::Bench;
use crate::peer::Peer;

impl Bench {
    pub(crate) fn shared(&self, name: &str) -> PathBuf {
        self.folder.path().join("shared").join(name)
    }

    /// Makes a folder with files and shares it with a contact.
    pub(crate) async fn share(&self, name: &str, files: &[(&str, &str)], with: &Peer) {
        let path = self.shared(name);
        fs::create_dir_all(&path).unwrap();
        for (file, content) in files {
            fs::write(path.join(file), content).unwrap();
        }
        self.home.share(&path, &[with.id], None, false).await.unwrap();
        self.until(|| async { self.walk(&format!("bob/{name}")).await.is_ok() }).await;
    }

    /// Waits until something is so; the home sees changes of its disk a little later.
    async fn until<F: Future<Output = bool>>(&self, so: impl Fn() -> F) {
        let began = Instant::now();
        while !so().await {
            assert!(began.elapsed() < Duration::from_secs(20), "it does not come");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

#[tokio::test]
async fn mine_are_served_from_the_disk() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    bench.share("docs", &[("file", "content"), ("empty", "")], &bob).await;
    let path = bench.shared("docs/file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o754)).unwrap();
    assert_eq!(bench.names("bob/docs").await.unwrap(), ["empty", "file"]);
    assert_eq!(bench.read("bob/docs/file").await.unwrap(), "content");
    assert!(bench.read("bob/docs/empty").await.unwrap().is_empty());
    let attr = bench.walk("bob/docs/file").await.unwrap();
    let disk = fs::metadata(&path).unwrap();
    assert_eq!((attr.kind, attr.size, attr.mode, attr.links), (NodeKind::File, 7, 0o754, 1));
    assert_eq!(attr.owner, Owner::Backing { user: disk.uid(), group: disk.gid() });
    assert_eq!(attr.modified, disk.modified().unwrap());
    assert_eq!(bench.walk("bob/docs/none").await, Err(VfsError::NotFound));
}

#[tokio::test]
async fn what_may_change_again_within_the_same_time_is_not_kept_in_the_cache_of_the_system() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    bench.share("docs", &[("file", "content")], &bob).await;
    let node = bench.walk("bob/docs/file").await.unwrap().node;
    fs::write(bench.shared("docs/file"), "changed").unwrap();
    let written = Instant::now();
    for _ in 0..2 {
        let opened = bench.drive.open_file(node, OpenMode::Read).await.unwrap();
        // A machine that stood still meanwhile may keep it.
        assert!(!opened.keep_cache || written.elapsed() > Duration::from_secs(2));
        bench.drive.release(opened.handle);
    }
}

#[tokio::test]
async fn a_file_is_one_node_for_every_contact_that_sees_it() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    let carol = bench.contact(3, "carol").await;
    bench.share("docs", &[("file", "content")], &bob).await;
    bench.home.share(&bench.shared("docs"), &[carol.id], None, false).await.unwrap();
    let file = bench.walk("bob/docs/file").await.unwrap().node;
    assert_eq!(bench.walk("carol/docs/file").await.unwrap().node, file);
    // A folder has one parent only.
    assert_ne!(bench.walk("carol/docs").await.unwrap().node, bench.walk("bob/docs").await.unwrap().node);
}

#[tokio::test]
async fn a_replaced_file_of_mine_is_another_node() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    bench.share("docs", &[("file", "old")], &bob).await;
    let old = bench.walk("bob/docs/file").await.unwrap().node;
    let open = bench.open("bob/docs/file").await.unwrap();
    fs::write(bench.shared("docs/.new"), "newer").unwrap();
    fs::rename(bench.shared("docs/.new"), bench.shared("docs/file")).unwrap();
    bench.until(|| async { bench.read("bob/docs/file").await.is_ok_and(|read| read == "newer") }).await;
    assert_ne!(bench.walk("bob/docs/file").await.unwrap().node, old);
    assert_eq!(bench.drive.read(open, 0, 100).await.unwrap(), "old");
    assert_eq!(bench.drive.getattr(old).await.unwrap().links, 0);
    assert_eq!(bench.drive.open_file(old, OpenMode::Read).await, Err(VfsError::Stale));
}

#[tokio::test]
async fn links_and_special_files_of_mine() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    let docs = bench.shared("docs");
    fs::create_dir_all(docs.join("inner")).unwrap();
    symlink("inner", docs.join("inside")).unwrap();
    symlink("/etc/passwd", docs.join("outside")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(docs.join("fifo")).status().unwrap().success());
    bench.share("docs", &[("file", "x")], &bob).await;
    // What is neither file, folder nor link is not there.
    assert_eq!(bench.names("bob/docs").await.unwrap(), ["file", "inner", "inside", "outside"]);
    let inside = bench.walk("bob/docs/inside").await.unwrap();
    assert_eq!((inside.kind, inside.size), (NodeKind::Symlink, 5));
    assert_eq!(bench.drive.readlink(inside.node).await.unwrap(), "inner");
    let outside = bench.walk("bob/docs/outside").await.unwrap().node;
    assert_eq!(bench.drive.readlink(outside).await, Err(VfsError::Denied));
}

#[tokio::test]
async fn a_root_that_is_gone_is_an_error_and_never_empty() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    bench.share("docs", &[("file", "x")], &bob).await;
    fs::rename(bench.shared("docs"), bench.shared("away")).unwrap();
    bench.until(|| async { bench.names("bob/docs").await == Err(VfsError::Unavailable) }).await;
    assert_eq!(bench.names("bob").await.unwrap(), ["docs"]);
    fs::rename(bench.shared("away"), bench.shared("docs")).unwrap();
    bench.until(|| async { bench.names("bob/docs").await.is_ok_and(|names| names == ["file"]) }).await;
}

#[tokio::test]
async fn changes_on_my_disk_are_told() {
    let bench = Bench::new().await;
    let bob = bench.contact(2, "bob").await;
    bench.share("docs", &[("file", "x")], &bob).await;
    let node = bench.walk("bob/docs/file").await.unwrap().node;
    let queue = bench.drive.invalidations();
    fs::write(bench.shared("docs/file"), "longer").unwrap();
    let content = farhold_vfs::Invalidation::Content(node);
    bench.until(|| async { std::iter::from_fn(|| queue.try_next()).any(|item| item == content) }).await;
}
