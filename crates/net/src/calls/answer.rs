//! What makes parts an answer to a read. No I/O.

use bytes::Bytes;
use farhold_wire::{ReadHead, ReadPart, ReadRequest, WireError, limits};

/// Checks one answer, part by part: a head that announces no more than was asked, then exactly that many bytes in
/// parts of a fit size.
#[derive(Debug)]
pub(crate) struct AnswerCheck {
    request: ReadRequest,
    /// Bytes still to come; `None` before the head.
    left: Option<usize>,
}

impl AnswerCheck {
    pub(crate) fn new(request: ReadRequest) -> Self {
        Self { request, left: None }
    }

    /// Looks at the next part.
    pub(crate) fn part(&mut self, part: &ReadPart) -> Result<(), WireError> {
        match part {
            ReadPart::Head(head) => self.head(head),
            ReadPart::Data(data) => self.data(data),
        }
    }

    pub(crate) fn head(&mut self, head: &ReadHead) -> Result<(), WireError> {
        if self.left.is_some() {
            return Err(WireError::Unknown("second head"));
        }
        if head.length > self.request.length {
            return Err(WireError::TooLarge("answer"));
        }
        if head.entry.id != self.request.entry {
            return Err(WireError::Unknown("entry of an answer"));
        }
        self.left = Some(usize::try_from(head.length).map_err(|_| WireError::TooLarge("answer"))?);
        Ok(())
    }

    pub(crate) fn data(&mut self, data: &Bytes) -> Result<(), WireError> {
        let left = self.left.ok_or(WireError::Missing("head"))?;
        let after = left.checked_sub(data.len()).ok_or(WireError::TooLarge("answer"))?;
        if data.len() > limits::PART_BYTES {
            return Err(WireError::TooLarge("part"));
        }
        if data.len() < limits::PART_MIN_BYTES && after > 0 {
            return Err(WireError::Length("part"));
        }
        self.left = Some(after);
        Ok(())
    }

    /// The answer has ended.
    pub(crate) fn end(&self) -> Result<(), WireError> {
        match self.left {
            Some(0) => Ok(()),
            Some(_) => Err(WireError::Missing("rest of an answer")),
            None => Err(WireError::Missing("head")),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use farhold_wire::{Entry, EntryId, EntryKind, Name, Timestamp, Version};
    use proptest::prelude::*;

    use super::*;

    pub(crate) fn request(length: u32) -> ReadRequest {
        ReadRequest { entry: EntryId([1; 16]), version: Version { epoch: 1, counter: 1 }, offset: 0, length }
    }

    pub(crate) fn head(length: u32) -> ReadHead {
        let entry = Entry {
            id: EntryId([1; 16]),
            parent: None,
            name: Name::new("file").unwrap(),
            kind: EntryKind::File { size: 1 << 40 },
            version: Version { epoch: 1, counter: 1 },
            incarnation: 0,
            modified: Timestamp::default(),
            mode: 0o644,
            writable: false,
            unavailable: false,
        };
        ReadHead { entry, length }
    }

    fn data(length: usize) -> Bytes {
        vec![0; length].into()
    }

    #[test]
    fn what_is_no_answer() {
        let mut check = AnswerCheck::new(request(100));
        assert_eq!(check.data(&data(1)), Err(WireError::Missing("head")));
        assert_eq!(check.end(), Err(WireError::Missing("head")));
        assert_eq!(check.head(&head(101)), Err(WireError::TooLarge("answer")));
        let mut other = head(100);
        other.entry.id = EntryId([2; 16]);
        assert_eq!(check.head(&other), Err(WireError::Unknown("entry of an answer")));
        assert_eq!(check.head(&head(100)), Ok(()));
        assert_eq!(check.head(&head(100)), Err(WireError::Unknown("second head")));
        assert_eq!(check.data(&data(101)), Err(WireError::TooLarge("answer")));
        assert_eq!(check.data(&data(99)), Err(WireError::Length("part")));
        assert_eq!(check.end(), Err(WireError::Missing("rest of an answer")));
        assert_eq!(check.data(&data(100)), Ok(()));
        assert_eq!(check.data(&data(0)), Ok(()));
        assert_eq!(check.end(), Ok(()));
    }

    proptest! {
        #[test]
        fn what_passes_has_the_announced_length(
            announced in 0u32..1 << 20,
            parts in proptest::collection::vec(0usize..300 << 10, 0..10),
        ) {
            let mut check = AnswerCheck::new(request(1 << 20));
            prop_assert_eq!(check.head(&head(announced)), Ok(()));
            let passed: Vec<_> = parts.iter().take_while(|length| check.data(&data(**length)).is_ok()).collect();
            let sum: usize = passed.into_iter().sum();
            prop_assert!(sum <= announced as usize);
            prop_assert_eq!(check.end().is_ok(), sum == announced as usize);
        }
    }
}
