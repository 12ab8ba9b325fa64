use std::os::unix::fs::{MetadataExt, PermissionsExt};

use farhold_wire::{EntryKind, Version};

use super::*;
use crate::transfers::hashes::group_length;

const G: usize = farhold_wire::limits::GROUP_BYTES as usize;

fn name(text: &str) -> Name {
    Name::new(text.as_bytes().to_vec()).unwrap()
}

fn entry(size: usize) -> Entry {
    Entry {
        id: EntryId([5; 16]),
        parent: None,
        name: name("there"),
        kind: EntryKind::File { size: size as u64 },
        version: Version { epoch: 1, counter: 1 },
        incarnation: 0,
        modified: Timestamp { seconds: 1_000_000_000, nanos: 5 },
        mode: 0o640,
        writable: false,
        unavailable: false,
    }
}

struct Place {
    temp: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join("to")).unwrap();
        std::fs::create_dir(temp.path().join("journals")).unwrap();
        Self { temp }
    }

    fn to(&self) -> PathBuf {
        self.temp.path().join("to")
    }

    fn open(&self, top: &str) -> Destination {
        Destination::open(&self.to(), name(top), 7, self.temp.path().join("journals")).unwrap()
    }

    fn journals(&self) -> usize {
        std::fs::read_dir(self.temp.path().join("journals")).unwrap().count()
    }

    fn names(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.to()).unwrap();
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

fn content(size: usize) -> Vec<u8> {
    (0..size).map(|index| (index / 9 + 1) as u8 | 1).collect()
}

#[test]
fn a_file_is_private_and_nameless_until_it_is_whole_and_resumes_from_what_is_on_the_disk() {
    let place = Place::new();
    let bytes = content(3 * G + 10);
    let entry = entry(bytes.len());
    let write = |part: &Part, group: usize| {
        let range = group * G..(group * G + group_length(bytes.len() as u64, group as u64) as usize);
        part.write(group as u64, range.start as u64, &bytes[range.clone()]).unwrap()
    };
    let (part, groups) = place.open("file").part(&[], &entry).unwrap();
    assert_eq!(groups.missing(), [0, 1, 2, 3]);
    write(&part, 1);
    write(&part, 3);
    drop(part);
    let [only] = &place.names()[..] else { panic!("one file") };
    assert!(only.starts_with(".file.") && only.ends_with(".part"), "{only}");
    let path = place.to().join(only);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);

    // A record that was cut off, and a group that is not what was noted, as after a power failure.
    let journal = std::fs::read_dir(place.temp.path().join("journals")).unwrap().next().unwrap().unwrap();
    let mut text = std::fs::read(journal.path()).unwrap();
    text.truncate(text.len() - 1);
    std::fs::write(journal.path(), text).unwrap();
    let (part, groups) = place.open("file").part(&[], &entry).unwrap();
    assert_eq!(groups.missing(), [0, 2, 3]);
    write(&part, 3);
    std::fs::File::options().write(true).open(&path).unwrap().write_all_at(b"spoilt", G as u64).unwrap();
    let (part, groups) = place.open("file").part(&[], &entry).unwrap();
    assert_eq!(groups.missing(), [0, 1, 2]);
    for group in [0, 1, 2] {
        write(&part, group);
    }
    part.finish(&entry).unwrap();
    assert_eq!(place.names(), ["file"]);
    assert_eq!(place.journals(), 0);
    let meta = std::fs::metadata(place.to().join("file")).unwrap();
    assert_eq!((meta.mode() & 0o777, meta.mtime(), meta.mtime_nsec()), (0o640, 1_000_000_000, 5));
    assert_eq!(std::fs::read(place.to().join("file")).unwrap(), bytes);
    assert_eq!(place.open("file").existing(&[], &entry).unwrap(), Existing::Same);
}

#[test]
fn zeros_stay_holes_and_make_holes() {
    let place = Place::new();
    let (part, _) = place.open("file").part(&[], &entry(2 * G)).unwrap();
    part.write(0, 0, &content(G)).unwrap();
    part.write(1, G as u64, &content(G)).unwrap();
    let blocks = || std::fs::metadata(place.to().join(&place.names()[0])).unwrap().blocks() * 512;
    part.file.sync_all().unwrap();
    assert!(blocks() >= 2 * G as u64);
    let mut zeros = vec![0; G];
    zeros[G - 1] = 1;
    part.write(0, 0, &zeros).unwrap();
    part.file.sync_all().unwrap();
    assert!(blocks() < (G + G / 4) as u64, "{}", blocks());
    let written = std::fs::read(place.to().join(&place.names()[0])).unwrap();
    assert_eq!(written, [zeros, content(G)].concat());
}

#[test]
fn nothing_that_is_there_is_overwritten() {
    let place = Place::new();
    let small = entry(3);
    for there in ["file", "folder", "link"] {
        let path = place.to().join(there);
        match there {
            "file" => std::fs::write(&path, "old").unwrap(),
            "folder" => std::fs::create_dir(&path).unwrap(),
            _ => std::os::unix::fs::symlink("file", &path).unwrap(),
        }
        let destination = place.open(there);
        assert_eq!(destination.existing(&[], &small).unwrap(), Existing::Other);
        destination.place_small(&[], &small, b"new").unwrap();
        assert!(matches!(destination.name_small(&[], &small), Err(LocalError::Exists)));
        let (part, _) = destination.part(&[], &small).unwrap();
        assert!(matches!(part.finish(&small), Err(LocalError::Exists)));
    }
    assert_eq!(std::fs::read(place.to().join("file")).unwrap(), b"old");
    assert!(matches!(place.open("file").make_folder(&[]), Err(LocalError::Exists)));
    assert!(matches!(place.open("link").make_folder(&[]), Err(LocalError::Exists)));
    assert!(matches!(place.open("file").make_link(&[], b"x"), Err(LocalError::Exists)));
}

#[test]
fn nothing_outside_is_touched_whatever_the_tree_became() {
    let place = Place::new();
    let outside = place.temp.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    let destination = place.open("top");
    destination.make_folder(&[]).unwrap();
    destination.make_folder(&[name("sub")]).unwrap();
    // Somebody puts a link in the place of a folder.
    std::fs::remove_dir(place.to().join("top/sub")).unwrap();
    std::os::unix::fs::symlink(&outside, place.to().join("top/sub")).unwrap();
    let below = [name("sub"), name("file")];
    assert!(destination.place_small(&below, &entry(1), b"x").is_err());
    assert!(destination.part(&below, &entry(1)).is_err());
    assert!(destination.make_folder(&below).is_err());
    assert!(destination.make_link(&below, b"x").is_err());
    destination.clean().unwrap();
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    // A link that stands for its own tree's folder is no folder either.
    assert!(matches!(destination.make_folder(&[name("sub")]), Err(LocalError::Exists)));
}

#[test]
fn cleaning_removes_parts_and_nothing_else() {
    let place = Place::new();
    let destination = place.open("top");
    destination.make_folder(&[]).unwrap();
    destination.make_folder(&[name("sub")]).unwrap();
    destination.place_small(&[name("sub"), name("whole")], &entry(1), b"x").unwrap();
    destination.name_small(&[name("sub"), name("whole")], &entry(1)).unwrap();
    destination.part(&[name("sub"), name("begun")], &entry(2 * G)).unwrap();
    let other = Destination::open(&place.to(), name("top"), 8, place.temp.path().join("journals")).unwrap();
    other.part(&[name("sub"), name("theirs")], &entry(2 * G)).unwrap();
    std::fs::write(place.to().join("top/.mine.part"), "x").unwrap();
    destination.clean().unwrap();
    let sub: Vec<_> =
        std::fs::read_dir(place.to().join("top/sub")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(sub.len(), 2, "{sub:?}");
    assert!(place.to().join("top/sub/whole").exists() && place.to().join("top/.mine.part").exists());
    assert_eq!(place.journals(), 1);
}

#[test]
fn long_names_have_part_files_too() {
    let place = Place::new();
    let long = "n".repeat(255);
    let destination = place.open(&long);
    destination.place_small(&[], &entry(1), b"x").unwrap();
    destination.name_small(&[], &entry(1)).unwrap();
    assert_eq!(place.names(), [long]);
}

#[test]
fn what_the_disk_refuses_is_told_by_its_cause() {
    let place = Place::new();
    let gone = place.temp.path().join("gone");
    let open = |path: &Path| Destination::open(path, name("x"), 1, place.temp.path().to_owned());
    assert!(matches!(open(&gone), Err(LocalError::Gone)));
    assert!(matches!(LocalError::from(Errno::NOSPC), LocalError::Full));
    assert!(matches!(LocalError::from(Errno::ROFS), LocalError::Denied));
    assert!(matches!(LocalError::from(Errno::NAMETOOLONG), LocalError::Name));
    assert!(matches!(LocalError::from(Errno::IO), LocalError::Failed(_)));
}

#[test]
fn a_size_that_no_disk_holds_is_refused_before_anything_is_made_of_it() {
    let place = Place::new();
    let mut entry = entry(0);
    entry.kind = EntryKind::File { size: farhold_wire::limits::FILE_BYTES };
    let refused = place.open("file").part(&[], &entry).map(|(_, groups)| groups.size());
    assert!(matches!(refused, Err(LocalError::Full)), "{refused:?}");
}
