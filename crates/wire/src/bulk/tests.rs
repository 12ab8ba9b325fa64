use bytes::BytesMut;
use proptest::prelude::*;

use super::*;
use crate::types::{Entry, EntryId, EntryKind, Name, Timestamp, Version};

fn head() -> ReadHead {
    let entry = Entry {
        id: EntryId([1; 16]),
        parent: None,
        name: Name::new(vec![b'n'; limits::NAME_BYTES]).unwrap(),
        kind: EntryKind::File { size: limits::FILE_BYTES },
        version: Version { epoch: u64::MAX, counter: u64::MAX },
        incarnation: u64::MAX,
        modified: Timestamp { seconds: i64::MIN, nanos: 999_999_999 },
        mode: 0o777,
        writable: true,
        unavailable: true,
    };
    ReadHead { entry, length: limits::READ_BYTES }
}

fn small_request() -> ReadRequest {
    let version = Version { epoch: u64::MAX, counter: u64::MAX };
    ReadRequest { entry: EntryId([7; 16]), version, offset: 0, length: limits::SMALL_FILE_BYTES }
}

fn small_file(length: u32) -> (ReadHead, Bytes) {
    (ReadHead { length, ..head() }, vec![9; length as usize].into())
}

fn frames() -> Vec<Frame> {
    let request = ReadRequest {
        entry: EntryId([7; 16]),
        version: Version { epoch: u64::MAX, counter: u64::MAX },
        offset: limits::FILE_BYTES - u64::from(limits::READ_BYTES),
        length: limits::READ_BYTES,
    };
    vec![
        Frame::Fetch(1, request),
        Frame::Head(2, head()),
        Frame::Data(3, vec![9; limits::PART_BYTES].into()),
        Frame::Data(4, Bytes::new()),
        Frame::End(5, Ok(())),
        Frame::End(6, Err(ReadFailure::Changed)),
        Frame::Cancel(u64::MAX),
        Frame::FetchSmall(8, vec![small_request(); limits::SMALL_FILES]),
        Frame::Small(9, None),
        Frame::Small(10, Some(small_file(limits::SMALL_FILE_BYTES))),
        Frame::Small(11, Some(small_file(0))),
    ]
}

fn encoded(frame: Frame) -> BytesMut {
    let (header, body) = frame.encode();
    BytesMut::from([header, body].concat().as_slice())
}

#[test]
fn frames_survive_any_cut() {
    let all: Vec<u8> = frames().into_iter().flat_map(encoded).collect();
    for step in [1, 13, 1000, all.len()] {
        let mut buffer = BytesMut::new();
        let mut found = Vec::new();
        for piece in all.chunks(step) {
            buffer.extend_from_slice(piece);
            while let Some(frame) = Frame::decode(&mut buffer).unwrap() {
                found.push(frame);
            }
        }
        assert_eq!(found, frames(), "in pieces of {step}");
        assert!(buffer.is_empty());
    }
}

#[test]
fn oversized_bodies_are_refused_from_the_header_alone() {
    for kind in [FETCH, HEAD, DATA, END, CANCEL, FETCH_SMALL, SMALL] {
        let mut buffer = BytesMut::from(&[kind, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff][..]);
        assert_eq!(Frame::decode(&mut buffer), Err(WireError::TooLarge("frame")), "kind {kind}");
    }
    let mut unknown = BytesMut::from(&[9, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0][..]);
    assert_eq!(Frame::decode(&mut unknown), Err(WireError::Unknown("frame kind")));
}

#[test]
fn an_end_without_or_with_unknown_outcome_is_refused() {
    let mut none = BytesMut::from(&[END, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0][..]);
    assert_eq!(Frame::decode(&mut none), Err(WireError::Missing("outcome")));
    let mut unknown = BytesMut::from(&[END, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 200][..]);
    assert_eq!(Frame::decode(&mut unknown), Err(WireError::Unknown("read failure")));
}

#[test]
fn small_files_are_few_small_and_whole() {
    let decoded = |frame: Frame| Frame::decode(&mut encoded(frame));
    let request = small_request();
    assert_eq!(decoded(Frame::FetchSmall(1, vec![])), Err(WireError::Missing("requests")));
    let many =
        vec![ReadRequest { version: Version { epoch: 0, counter: 0 }, ..request }; limits::SMALL_FILES + 1];
    assert_eq!(decoded(Frame::FetchSmall(1, many)), Err(WireError::TooLarge("number of requests")));
    for bad in [ReadRequest { offset: 1, ..request }, ReadRequest { length: request.length + 1, ..request }] {
        assert_eq!(decoded(Frame::FetchSmall(1, vec![request, bad])), Err(WireError::TooLarge("small file")));
    }
    let (file_head, bytes) = small_file(100);
    for wrong in [99, 101] {
        let head = ReadHead { length: wrong, ..file_head.clone() };
        assert_eq!(
            decoded(Frame::Small(1, Some((head, bytes.clone())))),
            Err(WireError::Length("small file"))
        );
    }
    for body in [&[0][..], &[0, 9, 1]] {
        let bytes = [&[SMALL, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, body.len() as u8], body].concat();
        assert!(Frame::decode(&mut BytesMut::from(bytes.as_slice())).is_err());
    }
}

proptest! {
    #[test]
    fn any_bytes_decode_or_fail(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let mut buffer = BytesMut::from(bytes.as_slice());
        let mut rest = buffer.len();
        while let Ok(Some(_)) = Frame::decode(&mut buffer) {
            prop_assert!(buffer.len() < rest, "every frame takes bytes");
            rest = buffer.len();
        }
    }
}
