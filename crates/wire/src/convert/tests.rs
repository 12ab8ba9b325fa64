use super::*;

fn entry() -> Entry {
    Entry {
        id: EntryId([1; 16]),
        parent: Some(EntryId([2; 16])),
        name: Name::new(&b"name\xff"[..]).unwrap(),
        kind: EntryKind::File { size: 7 },
        version: Version { epoch: 3, counter: 4 },
        incarnation: 5,
        modified: Timestamp { seconds: -1, nanos: 999_999_999 },
        mode: 0o640,
        writable: true,
        unavailable: false,
    }
}

fn broken(change: impl FnOnce(&mut pb::Entry)) -> WireError {
    let mut message = pb::Entry::from(entry());
    change(&mut message);
    Entry::try_from(message).expect_err("must be refused")
}

#[test]
fn entries_survive_the_wire() {
    let folder = Entry { kind: EntryKind::Folder, parent: None, unavailable: true, ..entry() };
    let inside = Some(Bytes::from_static(b"../there"));
    let link = Entry { kind: EntryKind::Symlink { target: inside }, ..entry() };
    let outside = Entry { kind: EntryKind::Symlink { target: None }, ..entry() };
    for entry in [entry(), folder, link, outside] {
        assert_eq!(Entry::try_from(pb::Entry::from(entry.clone())), Ok(entry));
    }
}

#[test]
fn hostile_entries_are_refused() {
    for name in ["", ".", "..", "a/b", "/etc", "a\0b"] {
        let error = broken(|message| message.name = Bytes::from(name));
        assert!(matches!(error, WireError::Name(_)), "{name:?}: {error}");
    }
    assert_eq!(broken(|m| m.name = vec![b'a'; 256].into()), WireError::Name(NameError::TooLong));
    assert_eq!(broken(|m| m.id = Bytes::from_static(b"short")), WireError::Length("entry id"));
    assert_eq!(broken(|m| m.parent = Bytes::from_static(b"short")), WireError::Length("parent id"));
    assert_eq!(broken(|m| m.size = limits::FILE_BYTES + 1), WireError::TooLarge("size"));
    assert_eq!(broken(|m| m.modified_nanos = 1_000_000_000), WireError::TooLarge("time"));
    assert_eq!(broken(|m| m.version = None), WireError::Missing("version"));
    assert_eq!(broken(|m| m.kind = 99), WireError::Unknown("kind"));
    let link = |target: &'static [u8]| {
        broken(|m| {
            m.kind = pb::Kind::Symlink.into();
            m.link_target = Bytes::from_static(target);
        })
    };
    assert_eq!(link(b"/etc/passwd"), WireError::Unknown("link target"));
    assert_eq!(link(b"a\0b"), WireError::Unknown("link target"));
}

#[test]
fn special_bits_of_a_mode_are_dropped() {
    let mut message = pb::Entry::from(entry());
    message.mode = 0o104_755;
    assert_eq!(Entry::try_from(message).unwrap().mode, 0o755);
}

#[test]
fn reads_past_the_largest_file_are_refused() {
    let request = |offset, length| {
        ReadRequest::try_from(pb::ReadRequest {
            entry: vec![0; 16].into(),
            version: Some(pb::Version::default()),
            offset,
            length,
        })
    };
    assert!(request(limits::FILE_BYTES - 10, 10).is_ok());
    assert_eq!(request(limits::FILE_BYTES - 9, 10), Err(WireError::TooLarge("read offset")));
    assert_eq!(request(u64::MAX, 0), Err(WireError::TooLarge("read offset")));
    assert_eq!(request(0, limits::READ_BYTES + 1), Err(WireError::TooLarge("read length")));
}

#[test]
fn oversized_batches_and_pages_are_refused() {
    let entries = vec![pb::Entry::from(entry()); limits::BATCH_CHANGES + 1];
    let page = pb::ListPage { entries: entries.clone() };
    assert_eq!(page_from(page), Err(WireError::TooLarge("page")));
    let changes = entries
        .into_iter()
        .map(|entry| pb::Change { change: Some(pb::change::Change::Put(entry)) })
        .collect();
    let batch = pb::CatalogBatch { position: Some(pb::Position::default()), changes, ..Default::default() };
    assert_eq!(Batch::try_from(batch), Err(WireError::TooLarge("batch")));
}

#[test]
fn a_full_batch_fits_one_message() {
    let longest = Entry {
        name: Name::new(vec![b'n'; limits::NAME_BYTES]).unwrap(),
        kind: EntryKind::Symlink { target: Some(vec![b't'; 255].into()) },
        ..entry()
    };
    let batch = Batch {
        position: Position { epoch: u64::MAX, sequence: u64::MAX },
        changes: vec![Change::Put(longest); limits::BATCH_CHANGES],
        snapshot_begin: true,
        snapshot_end: true,
        space: Some(Space { total_bytes: u64::MAX, free_bytes: u64::MAX }),
    };
    let size = prost::Message::encoded_len(&pb::CatalogBatch::from(batch));
    assert!(size < limits::PEER_MESSAGE_BYTES, "{size} bytes");
}
