use super::*;

const KEY: ContentKey = ContentKey { contact: [0xab; 16], entry: [1; 16], epoch: 0x10, counter: 3 };

fn id(index: u64) -> BlockId {
    BlockId { key: KEY, index }
}

fn disk() -> (tempfile::TempDir, Disk, Geometry) {
    let dir = tempfile::tempdir().unwrap();
    let disk = Disk::new(dir.path().into());
    let geometry = disk.prepare().unwrap();
    (dir, disk, geometry)
}

fn slot(byte: u8, length: u64) -> Vec<u8> {
    vec![byte; (length + OVERHEAD) as usize]
}

fn found(disk: &Disk, segment: u64) -> Vec<(u64, u64)> {
    let found = disk.blocks(&KEY, segment).unwrap();
    found.iter().map(|found| (found.index, found.length.into())).collect()
}

#[test]
fn lists_what_it_wrote_and_nothing_else() {
    let (dir, disk, geometry) = disk();
    assert_eq!(disk.contents().unwrap(), BTreeMap::new());
    let next = geometry.slots;
    disk.write(&id(next + 1), &slot(2, 7)).unwrap();
    disk.write(&id(next), &slot(1, BLOCK_BYTES)).unwrap();
    disk.write(&id(2), &slot(3, BLOCK_BYTES)).unwrap();
    let folder = dir.path().join(format!("segments-{next}/abababababababababababababababab"));
    let name = "01010101010101010101010101010101-0000000000000010-0000000000000003-";
    let path = |segment: &str| folder.join(format!("{name}{segment}"));
    assert!(path("1").exists(), "the documented path");
    for foreign in ["01", "1-", "x", ""] {
        fs::write(path(foreign), "foreign").unwrap();
    }
    fs::create_dir(path("9")).unwrap();
    fs::write(dir.path().join(format!("segments-{next}/notes")), "foreign").unwrap();

    let mut contents = disk.contents().unwrap();
    contents.values_mut().for_each(|segments| segments.sort_unstable());
    assert_eq!(contents, BTreeMap::from([(KEY, vec![0, 1, 9])]));
    assert_eq!(found(&disk, 0), [(2, BLOCK_BYTES)]);
    assert_eq!(found(&disk, 1), [(next, BLOCK_BYTES), (next + 1, 7)]);
    assert_eq!(found(&disk, 9), []);
    assert_eq!(found(&disk, 5), []);
    assert_eq!(disk.read(&id(next + 1), 39).unwrap(), slot(2, 7));
    assert_eq!(disk.read(&id(next), slot(1, BLOCK_BYTES).len()).unwrap(), slot(1, BLOCK_BYTES));
    assert!(path("01").exists() && path("9").exists(), "foreign files are left alone");
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_freed_takes_up_nothing_and_is_not_found_again() {
    use std::os::unix::fs::MetadataExt;

    let (dir, disk, geometry) = disk();
    assert_eq!(geometry.slots, SLOTS, "the file system of this test can make holes");
    (0..4).for_each(|index| disk.write(&id(index), &slot(index as u8, BLOCK_BYTES)).unwrap());
    let folder = dir.path().join("segments-64/abababababababababababababababab");
    let path = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let modified = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1000);
    File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    let used = || fs::metadata(&path).unwrap().blocks() * 512;
    let charge = (BLOCK_BYTES + OVERHEAD).next_multiple_of(geometry.unit);
    let before = used();
    disk.remove(&id(1), false).unwrap();
    disk.remove(&id(3), false).unwrap();
    assert!(used() + 2 * charge <= before, "{} and {before}", used());
    assert_eq!(found(&disk, 0), [(0, BLOCK_BYTES), (2, BLOCK_BYTES)]);
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), modified, "a hole is no use");
    assert_eq!(disk.read(&id(1), 4).unwrap(), [0; 4]);
    assert_eq!(disk.read(&id(2), 4).unwrap(), [2; 4]);
    disk.refresh(&id(0)).unwrap();
    assert!(fs::metadata(&path).unwrap().modified().unwrap() > modified);

    disk.remove(&id(0), false).unwrap();
    disk.remove(&id(2), false).unwrap();
    assert_eq!(found(&disk, 0), []);
    assert!(!path.exists(), "a segment without blocks is removed");
    disk.remove(&id(2), false).unwrap();
}

#[test]
fn the_last_segment_takes_its_folder_along() {
    let (dir, disk, geometry) = disk();
    let root = dir.path().join(format!("segments-{}", geometry.slots));
    disk.write(&id(0), &slot(1, 7)).unwrap();
    disk.write(&id(geometry.slots), &slot(1, 7)).unwrap();
    disk.remove(&id(0), true).unwrap();
    assert_eq!(disk.contents().unwrap(), BTreeMap::from([(KEY, vec![1])]));
    disk.remove(&id(geometry.slots), true).unwrap();
    disk.remove(&id(geometry.slots), true).unwrap();
    assert_eq!(fs::read_dir(root).unwrap().count(), 0);
}

#[test]
fn what_lay_otherwise_is_removed_and_nothing_of_the_users() {
    let (dir, disk, geometry) = disk();
    disk.write(&id(0), &slot(1, 7)).unwrap();
    let other = if geometry.slots == 1 { "segments-64" } else { "segments-1" };
    for former in [&format!("{other}/ab"), "blocks"] {
        fs::create_dir_all(dir.path().join(former)).unwrap();
        fs::write(dir.path().join(former).join("0"), "former").unwrap();
    }
    disk.tidy().unwrap();
    disk.tidy().unwrap();
    assert_eq!(found(&disk, 0), [(0, 7)]);
    assert!(dir.path().join("blocks/0").exists());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
}

#[test]
fn before_it_is_prepared_everything_fails() {
    let dir = tempfile::tempdir().unwrap();
    let disk = Disk::new(dir.path().join("a/b"));
    assert!(disk.write(&id(0), &slot(1, 7)).is_err());
    assert!(disk.contents().is_err());
    disk.prepare().unwrap();
    disk.prepare().unwrap();
    disk.write(&id(0), &slot(1, 7)).unwrap();
}
