//! From records to frames.

use bytes::{Bytes, BytesMut};
use farhold_wire::bulk::Frame;
use farhold_wire::{WireError, limits};

/// Payload of one data frame: with its header it fills a record of the best size.
const DATA_BYTES: usize = farhold_secure::record::CHUNK_BYTES;

/// Puts frames together. A frame that lies within one record is not copied.
#[derive(Debug, Default)]
pub(super) struct FrameReader {
    record: Bytes,
    /// The beginning of a frame that the last record did not end: less than one frame.
    partial: BytesMut,
}

impl FrameReader {
    /// Takes the payload of the next record, once [`Self::next`] has no more of the last.
    pub(super) fn push(&mut self, record: Bytes) {
        debug_assert!(self.record.is_empty(), "the last record was read to its end");
        if self.partial.is_empty() {
            self.record = record;
        } else {
            self.partial.extend_from_slice(&record);
        }
    }

    /// The next frame; `None` if another record is needed.
    pub(super) fn next(&mut self) -> Result<Option<Frame>, WireError> {
        if !self.partial.is_empty() {
            return Frame::decode(&mut self.partial);
        }
        let frame = Frame::decode(&mut self.record)?;
        if frame.is_none() {
            self.partial.extend_from_slice(&std::mem::take(&mut self.record));
        }
        Ok(frame)
    }
}

/// Cuts a part of an answer into frames' payloads, none of which is too small to stand before another.
pub(super) fn pieces(mut part: Bytes) -> impl Iterator<Item = Bytes> {
    std::iter::from_fn(move || {
        if part.is_empty() {
            return None;
        }
        let length = if part.len() >= DATA_BYTES + limits::PART_MIN_BYTES { DATA_BYTES } else { part.len() };
        Some(part.split_to(length))
    })
}

#[cfg(test)]
mod tests {
    use farhold_wire::bulk::HEADER_BYTES;
    use proptest::prelude::*;

    use super::*;

    fn bytes(frames: &[Frame]) -> Vec<u8> {
        frames
            .iter()
            .cloned()
            .flat_map(|frame| {
                let (header, body) = frame.encode();
                [header, body].concat()
            })
            .collect()
    }

    fn read_all(reader: &mut FrameReader) -> Vec<Frame> {
        std::iter::from_fn(|| reader.next().unwrap()).collect()
    }

    #[test]
    fn a_frame_within_one_record_is_not_copied() {
        let frames = [Frame::Data(1, vec![7; 100].into()), Frame::Data(2, vec![8; 100].into())];
        let record = Bytes::from(bytes(&frames));
        let start = record.as_ptr();
        let mut reader = FrameReader::default();
        reader.push(record);
        let Some(Frame::Data(1, first)) = reader.next().unwrap() else { panic!("no frame") };
        assert_eq!(first.as_ptr(), start.wrapping_add(HEADER_BYTES));
        let Some(Frame::Data(2, second)) = reader.next().unwrap() else { panic!("no frame") };
        assert_eq!(second.as_ptr(), start.wrapping_add(2 * HEADER_BYTES + 100));
    }

    proptest! {
        #[test]
        fn frames_come_back_however_records_cut_them(
            lengths in proptest::collection::vec(0usize..2000, 1..8),
            cut in 1usize..3000,
        ) {
            let frames: Vec<_> =
                (0..).zip(lengths).map(|(id, length)| Frame::Data(id, vec![id as u8; length].into())).collect();
            let mut reader = FrameReader::default();
            let mut read = Vec::new();
            for record in bytes(&frames).chunks(cut) {
                reader.push(Bytes::copy_from_slice(record));
                read.extend(read_all(&mut reader));
            }
            prop_assert_eq!(read, frames);
        }

        #[test]
        fn pieces_are_the_part_and_each_is_fit(length in 0usize..=limits::PART_BYTES) {
            let pieces: Vec<_> = pieces(vec![0; length].into()).collect();
            prop_assert_eq!(pieces.iter().map(Bytes::len).sum::<usize>(), length);
            for (index, piece) in pieces.iter().enumerate() {
                let last = index + 1 == pieces.len();
                prop_assert!(!piece.is_empty() && piece.len() < DATA_BYTES + limits::PART_MIN_BYTES);
                prop_assert!(last && (length < limits::PART_MIN_BYTES || piece.len() >= limits::PART_MIN_BYTES) || piece.len() == DATA_BYTES);
            }
        }
    }
}
