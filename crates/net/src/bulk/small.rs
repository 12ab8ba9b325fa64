//! What is asked on a bulk lane, and what makes parts an answer to it: a range of a file, or whole small files.

use std::collections::VecDeque;

use bytes::Bytes;
use farhold_wire::{ReadHead, ReadRequest, WireError};

use super::pool::Part;
use crate::calls::answer::AnswerCheck;

/// What is asked.
#[derive(Debug, Clone)]
pub(super) enum Ask {
    Range(ReadRequest),
    Small(Vec<ReadRequest>),
}

/// Checks the parts of one answer.
#[derive(Debug)]
pub(super) enum Check {
    Range(AnswerCheck),
    /// The requests that are still to be answered.
    Small(VecDeque<ReadRequest>),
}

impl Check {
    pub(super) fn new(ask: &Ask) -> Self {
        match ask {
            Ask::Range(request) => Self::Range(AnswerCheck::new(*request)),
            Ask::Small(requests) => Self::Small(requests.iter().copied().collect()),
        }
    }

    /// Looks at the next part.
    pub(super) fn part(&mut self, part: &Part) -> Result<(), WireError> {
        match (self, part) {
            (_, Part::End(Err(_)) | Part::Broken(_)) => Ok(()),
            (Self::Range(check), Part::Head(head)) => check.head(head),
            (Self::Range(check), Part::Data(data)) => check.data(data),
            (Self::Range(check), Part::End(Ok(()))) => check.end(),
            (Self::Small(left), Part::Small(file)) => {
                let request = left.pop_front().ok_or(WireError::TooLarge("answer"))?;
                file.as_ref().map_or(Ok(()), |file| small(&request, file))
            }
            (Self::Small(left), Part::End(Ok(()))) if left.is_empty() => Ok(()),
            (Self::Small(_), Part::End(Ok(()))) => Err(WireError::Missing("rest of an answer")),
            (Self::Range(_), Part::Small(_)) | (Self::Small(_), Part::Head(_) | Part::Data(_)) => {
                Err(WireError::Unknown("part of an answer"))
            }
        }
    }
}

fn small(request: &ReadRequest, (head, _): &(ReadHead, Bytes)) -> Result<(), WireError> {
    if head.entry.id != request.entry {
        return Err(WireError::Unknown("entry of an answer"));
    }
    if head.length > request.length {
        return Err(WireError::TooLarge("answer"));
    }
    Ok(())
}
