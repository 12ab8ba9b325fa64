use std::os::unix::fs::symlink;

use super::*;

fn name(text: &str) -> Name {
    Name::new(text.to_owned()).unwrap()
}

fn root(folder: &tempfile::TempDir) -> Root {
    Root::open(folder.path(), true).unwrap()
}

fn gone(result: io::Result<impl std::fmt::Debug>) {
    assert_eq!(cause(&result.unwrap_err()), Cause::Gone);
}

#[test]
fn what_changed_within_the_granularity_is_young_on_either_side_of_the_clock() {
    let at = |millis: i64| Timestamp {
        seconds: 1_000_000 + millis.div_euclid(1000),
        nanos: (millis.rem_euclid(1000) * 1_000_000) as u32 + 1,
    };
    let now = UNIX_EPOCH + Duration::from_secs(1_000_000);
    assert!(is_young(at(-9), now, FINE));
    assert!(is_young(at(9), now, FINE));
    assert!(!is_young(at(-11), now, FINE));
    assert!(!is_young(at(11), now, FINE));
    assert!(is_young(at(-1990), now, COARSE));
    assert!(!is_young(at(3_600_000), now, COARSE));
}

#[test]
fn a_time_in_whole_seconds_counts_as_coarse() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("f"), "x").unwrap();
    let mut meta = root(&folder).stat(&[name("f")]).unwrap();
    let now = SystemTime::now() + Duration::from_secs(1);
    meta.changed.nanos = meta.changed.nanos.max(1);
    assert!(!is_young_on(&meta, now, FINE));
    meta.changed.nanos = 0;
    assert!(is_young_on(&meta, now, FINE));
}

#[test]
fn nothing_leads_out_of_the_root() {
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(outside.path().join("secret"), "x").unwrap();
    symlink(outside.path(), folder.path().join("door")).unwrap();
    symlink(outside.path().join("secret"), folder.path().join("link")).unwrap();
    let root = root(&folder);
    gone(root.stat(&[name("door"), name("secret")]));
    gone(root.open_folder(&[name("door")]));
    gone(root.open_file(&[name("link")], |_| true));
    assert_eq!(root.stat(&[name("link")]).unwrap().kind, Kind::Symlink);
}

#[test]
fn only_regular_files_are_opened() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    std::fs::write(folder.path().join("file"), "x").unwrap();
    let root = root(&folder);
    // Opening a FIFO would wait for ever.
    gone(root.open_file(&[name("fifo")], |_| true));
    gone(root.open_file(&[name("file")], |_| false));
    assert!(root.open_file(&[name("file")], |meta| meta.size == 1).is_ok());
}

#[test]
fn a_listing_names_entries_and_counts_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    for file in ["a", "b", "hidden"] {
        std::fs::write(folder.path().join(file), file).unwrap();
    }
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("socket")).unwrap();
    let root = root(&folder);
    let (handle, _) = root.open_folder(&[]).unwrap();
    let listing = root.list(handle, 0, &[OsStr::new("hidden")]).unwrap();
    let mut names: Vec<_> = listing.children.iter().map(|child| child.name.to_string()).collect();
    names.sort();
    assert_eq!(names, ["a", "b", "sub"]);
    assert_eq!(listing.skipped, 2);
    let (handle, _) = root.open_folder(&[]).unwrap();
    let deep = root.list(handle, farhold_wire::limits::DEPTH - 1, &[]).unwrap();
    assert!(deep.children.iter().all(|child| child.seen.kind != Kind::Folder));
}

#[test]
fn the_root_of_a_shared_file_is_the_file_in_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, "x").unwrap();
    let before = Root::open(&path, false).unwrap().origin();
    std::fs::write(folder.path().join("new"), "new").unwrap();
    std::fs::rename(folder.path().join("new"), &path).unwrap();
    let now = Root::open(&path, false).unwrap();
    assert!(now.follows(&before));
    assert_eq!(now.stat(&[]).unwrap().size, 3);
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    gone(Root::open(&path, false));
}

#[test]
fn another_file_system_is_another_root_unless_it_holds_the_same_object() {
    let folder = tempfile::tempdir().unwrap();
    let root = root(&folder);
    let before = root.origin();
    assert!(root.follows(&Origin { device: before.device + 1, ..before }) || before.born == 0);
    assert!(root.follows(&Origin { inode: before.inode + 1, ..before }));
    assert!(!root.follows(&Origin { device: before.device + 1, inode: before.inode + 1, ..before }));
    assert!(!root.follows(&Origin { system: before.system + 1, inode: before.inode + 1, ..before }));
}
