use std::fs;

use farhold_wire::limits::GROUP_BYTES;
use futures_util::TryStreamExt;

use super::*;

const KEY: TransferKey = TransferKey([3; 16]);

fn name(text: &str) -> Name {
    Name::new(text.as_bytes().to_vec()).unwrap()
}

fn open(path: &Path) -> Arc<Push> {
    Arc::new(Push::open(path, &name("shown"), KEY, 5, &CancellationToken::new()).unwrap())
}

fn tree() -> tempfile::TempDir {
    let temp = tempfile::tempdir().unwrap();
    let top = temp.path().join("top");
    fs::create_dir_all(top.join("sub")).unwrap();
    fs::write(top.join("sub/file"), vec![7; 3 * GROUP_BYTES as usize / 2]).unwrap();
    fs::write(top.join("empty"), "").unwrap();
    std::os::unix::fs::symlink("sub/file", top.join("inside")).unwrap();
    std::os::unix::fs::symlink("../../etc", top.join("sub/outside")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, top.join("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
        .unwrap();
    temp
}

async fn list(push: &Arc<Push>, folder: EntryId) -> Vec<Entry> {
    let mut all: Vec<Entry> = Arc::clone(push).list(folder).try_concat().await.unwrap();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    all
}

async fn read(
    push: &Arc<Push>,
    entry: &Entry,
    offset: u64,
    length: u32,
) -> Result<(Entry, Vec<u8>), ReadFailure> {
    let request = ReadRequest { entry: entry.id, version: entry.version, offset, length };
    let parts: Vec<ReadPart> = Arc::clone(push).read(request).try_collect().await?;
    let mut parts = parts.into_iter();
    let Some(ReadPart::Head(head)) = parts.next() else { panic!("no head") };
    let bytes = parts.flat_map(|part| match part {
        ReadPart::Data(data) => data.to_vec(),
        ReadPart::Head(_) => panic!("two heads"),
    });
    let bytes: Vec<u8> = bytes.collect();
    assert_eq!(bytes.len(), head.length as usize);
    Ok((head.entry, bytes))
}

#[tokio::test]
async fn a_tree_is_shown_as_it_is_and_under_the_same_ids_after_a_restart() {
    let temp = tree();
    let push = open(&temp.path().join("top"));
    assert_eq!((push.files, push.bytes), (2, 3 * GROUP_BYTES / 2));
    assert_eq!((push.root.name.clone(), push.root.parent), (name("shown"), None));
    let top = list(&push, push.root.id).await;
    let names: Vec<_> = top.iter().map(|entry| entry.name.to_string()).collect();
    assert_eq!(names, ["empty", "inside", "sub"]);
    assert!(top.iter().all(|entry| entry.parent == Some(push.root.id)));
    assert!(matches!(&top[1].kind, EntryKind::Symlink { target: Some(target) } if target == "sub/file"));
    let sub = list(&push, top[2].id).await;
    assert_eq!(sub[0].kind, EntryKind::File { size: 3 * GROUP_BYTES / 2 });
    assert_eq!(sub[1].kind, EntryKind::Symlink { target: None });

    let again = open(&temp.path().join("top"));
    assert_eq!((again.root.clone(), list(&again, again.root.id).await), (push.root.clone(), top));
    let other = Push::open(
        &temp.path().join("top"),
        &name("shown"),
        TransferKey([4; 16]),
        5,
        &CancellationToken::new(),
    )
    .unwrap();
    assert_ne!(other.root.id, push.root.id);

    // Only its contact sees it.
    let offers = Offers::default();
    let (anna, ben) = (ContactId([1; 16]), ContactId([2; 16]));
    offers.insert(anna, KEY, Arc::clone(&push));
    assert!(offers.find(anna, sub[0].id).is_some());
    assert!(offers.find(ben, sub[0].id).is_none());
    offers.retain(|_, _| false);
    assert!(offers.find(anna, sub[0].id).is_none());
}

#[tokio::test]
async fn what_is_read_is_of_the_version_that_is_named() {
    let temp = tree();
    let push = open(&temp.path().join("top"));
    let top = list(&push, push.root.id).await;
    let file = list(&push, top[2].id).await[0].clone();
    let half = (GROUP_BYTES / 2) as u32;
    let (entry, bytes) = read(&push, &file, GROUP_BYTES, GROUP_BYTES as u32).await.unwrap();
    assert_eq!((entry, bytes), (file.clone(), vec![7; half as usize]));
    assert_eq!(read(&push, &file, 2 * GROUP_BYTES, 5).await.unwrap().1, Vec::<u8>::new());
    assert_eq!(read(&push, &top[0], 0, 5).await.unwrap().1, Vec::<u8>::new());

    // Another content is another version, also of the same size and time.
    let path = temp.path().join("top/sub/file");
    let before = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, vec![8; 3 * GROUP_BYTES as usize / 2]).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(before).unwrap();
    let (newer, bytes) = read(&push, &file, 0, 5).await.unwrap();
    assert_eq!(bytes, [8; 5]);
    assert_ne!(newer.version, file.version);

    // It changes while it is read.
    let request =
        ReadRequest { entry: file.id, version: newer.version, offset: 0, length: GROUP_BYTES as u32 };
    let mut parts = Arc::clone(&push).read(request);
    assert!(matches!(parts.next().await, Some(Ok(ReadPart::Head(_)))));
    assert!(matches!(parts.next().await, Some(Ok(ReadPart::Data(_)))));
    std::thread::sleep(YOUNG);
    fs::write(&path, "short").unwrap();
    assert_eq!(parts.next().await, Some(Err(ReadFailure::Changed)));
    assert!(parts.next().await.is_none());

    fs::remove_file(&path).unwrap();
    assert_eq!(read(&push, &file, 0, 5).await, Err(ReadFailure::NotFound));
    // A link in its place is not followed.
    std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
    assert_eq!(read(&push, &file, 0, 5).await, Err(ReadFailure::NotFound));
    // A folder has no bytes, and what is in no tree is in none.
    assert_eq!(read(&push, &push.root, 0, 5).await, Err(ReadFailure::NotFound));
    let stranger = Entry { id: EntryId([0; 16]), ..file };
    assert_eq!(read(&push, &stranger, 0, 5).await, Err(ReadFailure::NotFound));
}

#[test]
fn what_is_not_there_cannot_be_pushed() {
    let temp = tempfile::tempdir().unwrap();
    let missing = Push::open(&temp.path().join("nothing"), &name("a"), KEY, 1, &CancellationToken::new());
    assert!(matches!(missing, Err(PushError::Io(_))));
}

#[test]
fn a_walk_that_nobody_waits_for_ends() {
    let temp = tempfile::tempdir().unwrap();
    let stop = CancellationToken::new();
    stop.cancel();
    let stopped = Push::open(temp.path(), &name("a"), KEY, 1, &stop);
    assert!(matches!(stopped, Err(PushError::Stopped)));
}
