use std::sync::atomic::{AtomicUsize, Ordering};

use farhold_wire::{Name, ReadHead, Timestamp, limits};

use super::*;

const V: Version = Version { epoch: 1, counter: 1 };
const G: usize = GROUP_BYTES as usize;

fn content(size: usize) -> Bytes {
    (0..size).map(|index| (index / 7 + index / G) as u8).collect::<Vec<_>>().into()
}

fn entry(size: usize) -> Entry {
    Entry {
        id: EntryId([1; 16]),
        parent: None,
        name: Name::new(b"f".to_vec()).unwrap(),
        kind: EntryKind::File { size: size as u64 },
        version: V,
        incarnation: 0,
        modified: Timestamp::default(),
        mode: 0o644,
        writable: false,
        unavailable: false,
    }
}

/// Serves a file as a home does.
fn serve(file: Bytes, request: ReadRequest) -> BoxStream<'static, Result<ReadPart, ReadFailure>> {
    let from = file.len().min(request.offset as usize);
    let to = file.len().min(from + request.length as usize);
    let head = ReadHead { entry: entry(file.len()), length: (to - from) as u32 };
    let pieces = file.slice(from..to);
    let parts: Vec<_> = pieces.chunks(limits::PART_BYTES).map(Bytes::copy_from_slice).collect();
    let parts = parts.into_iter().map(|part| Ok(ReadPart::Data(part)));
    stream::iter([Ok(ReadPart::Head(head))].into_iter().chain(parts)).boxed()
}

fn expected(file: &Bytes) -> Vec<GroupHash> {
    file.chunks(G).map(hash).collect()
}

async fn digest(
    hashes: &Arc<Hashes>,
    file: &Bytes,
    version: Version,
) -> (Result<Vec<GroupHash>, ReadFailure>, usize) {
    let read = Arc::new(AtomicUsize::new(0));
    let (counted, served) = (Arc::clone(&read), file.clone());
    let items = vec![DigestItem { entry: EntryId([1; 16]), version }];
    let parts = hashes.digest(items, move |request| {
        counted.fetch_add(request.length as usize, Ordering::Relaxed);
        serve(served.clone(), request)
    });
    let parts: Vec<_> = parts.map(|part| part.unwrap().hashes).collect().await;
    let all: Result<Vec<Vec<_>>, _> = parts.into_iter().collect();
    (all.map(|all| all.concat()), read.load(Ordering::Relaxed))
}

#[tokio::test]
async fn what_was_served_is_not_read_again() {
    let hashes = Arc::new(Hashes::default());
    let file = content(2 * G + 5);
    let request = |offset: usize, length| ReadRequest {
        entry: EntryId([1; 16]),
        version: V,
        offset: offset as u64,
        length,
    };
    for (offset, length) in [(0, GROUP_BYTES as u32), (2 * G, GROUP_BYTES as u32), (100, 5), (G, 100)] {
        let parts = hashes.follow(request(offset, length), serve(file.clone(), request(offset, length)));
        assert!(parts.all(|part| std::future::ready(part.is_ok())).await);
    }
    let (all, read) = digest(&hashes, &file, V).await;
    assert_eq!((all, read), (Ok(expected(&file)), G));
    // Now everything is known.
    assert_eq!(digest(&hashes, &file, V).await, (Ok(expected(&file)), 0));
    let other = Version { counter: 2, ..V };
    assert_eq!(digest(&hashes, &file, other).await.0, Err(ReadFailure::Changed));
}

#[tokio::test]
async fn files_of_all_sizes_have_as_many_hashes_as_groups() {
    for size in [0, 1, G - 1, G, G + 1, 3 * G] {
        let file = content(size);
        let (all, _) = digest(&Arc::default(), &file, V).await;
        assert_eq!(all, Ok(expected(&file)), "{size}");
        assert_eq!(groups(size as u64), expected(&file).len() as u64);
    }
    assert_eq!((group_length(5, 0), group_length(GROUP_BYTES + 5, 1), group_length(5, 1)), (5, 5, 0));
}

#[tokio::test]
async fn one_file_that_cannot_be_read_does_not_end_the_others() {
    let hashes = Arc::new(Hashes::default());
    let item = |id| DigestItem { entry: EntryId([id; 16]), version: V };
    let file = content(10);
    let served = file.clone();
    let parts = hashes.digest(vec![item(1), item(2), item(1)], move |request| {
        if request.entry == EntryId([2; 16]) {
            return stream::once(async { Err(ReadFailure::Denied) }).boxed();
        }
        serve(served.clone(), request)
    });
    let parts: Vec<_> = parts.map(Result::unwrap).collect().await;
    let found: Vec<_> = parts.into_iter().map(|part| (part.item, part.hashes)).collect();
    let good = Ok(expected(&file));
    assert_eq!(found, [(0, good.clone()), (1, Err(ReadFailure::Denied)), (2, good)]);
}

#[test]
fn what_is_kept_has_a_bound_and_the_latest_stays() {
    let mut known = Known::default();
    let key = |id: u8| (EntryId([id; 16]), V);
    known.note(key(1), 0, [0; 32]);
    for group in 0..KEPT as u64 {
        known.note(key(2), group, [1; 32]);
    }
    assert!(!known.files.contains_key(&key(1)));
    assert_eq!((known.count, known.order.len()), (KEPT, 1));
}
