//! Checked types of transfers: hashes of files, offers of pushes, reports.

use std::fmt;

use bytes::Bytes;

use crate::convert::{WireError, array, id_to};
use crate::limits;
use crate::proto::peer as pb;
use crate::types::{Entry, EntryId, Name, ReadFailure, Version};

/// BLAKE3 of one group of a file.
pub type GroupHash = [u8; 32];

/// Names a transfer between two contacts: random, made by whoever asked for it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransferKey(pub [u8; 16]);

impl fmt::Debug for TransferKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// When something was said of a transfer. Calls overtake each other: what was said before something that is known
/// already changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sequence {
    /// Random for each run of an engine.
    pub run: u64,
    /// What one run said later has a larger number.
    pub number: u64,
}

impl Sequence {
    /// Whether this was said after `before`; of another run everything was.
    pub fn is_after(self, before: Self) -> bool {
        self.run != before.run || self.number > before.number
    }
}

/// A file whose hashes are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DigestItem {
    /// Which file.
    pub entry: EntryId,
    /// In which version.
    pub version: Version,
}

/// Part of an answer: hashes of the item's next groups, at most [`limits::DIGEST_HASHES`]; none says that work goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestPart {
    /// Index in the request; never goes back.
    pub item: usize,
    /// The hashes, or why there are no more of this item.
    pub hashes: Result<Vec<GroupHash>, ReadFailure>,
}

/// A push, as its sender offers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// One for the life of the push.
    pub key: TransferKey,
    /// The file or folder; it has no parent.
    pub root: Entry,
    /// How many files there are, as the sender says.
    pub files: u64,
    /// Bytes of all files, as the sender says.
    pub bytes: u64,
    /// When it was said.
    pub sequence: Sequence,
}

/// What the receiver says to an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfferAnswer {
    /// It will pull.
    Accepted,
    /// It takes no pushes from this contact.
    NotWanted,
    /// It is more than the receiver takes or has room for.
    TooLarge,
    /// Others must end first.
    TooMany,
    /// The receiver's user gave this push up.
    Cancelled,
    /// The receiver's user has not decided yet; the receiver pulls, or reports, when that is done.
    Pending,
    /// The receiver has received it before.
    Received,
}

/// How it stands with a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransferState {
    /// A push on which the receiver's user has not decided.
    Offered,
    /// Waits for its turn.
    Queued,
    /// Bytes move.
    Running,
    /// Waits for what comes back by itself.
    Waiting,
    /// Stopped until somebody resumes it.
    Paused,
    /// In its place.
    Done,
    /// Ended before its end.
    Failed,
    /// Given up.
    Cancelled,
}

/// What the other side shows of a transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Which one.
    pub key: TransferKey,
    /// It is a push, at either side; otherwise a pull from the side that is told.
    pub push: bool,
    /// Name of the file or folder.
    pub name: Name,
    /// How it stands.
    pub state: TransferState,
    /// Why; empty if there is nothing to say. At most [`limits::REASON_BYTES`].
    pub reason: String,
    /// Files in their place.
    pub files_done: u64,
    /// Files in all.
    pub files: u64,
    /// Bytes received.
    pub bytes_done: u64,
    /// Bytes in all.
    pub bytes: u64,
    /// When it was said.
    pub sequence: Sequence,
}

/// How it stands with a push at its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Go on. Also the answer to a report on a pull.
    Open,
    /// The sender gave it up.
    Ended,
}

/// A request for digests, checked.
pub fn digest_items(request: &pb::DigestRequest) -> Result<Vec<DigestItem>, WireError> {
    if request.items.len() > limits::DIGEST_ITEMS {
        return Err(WireError::TooLarge("digest request"));
    }
    let item = |item: &pb::DigestItem| {
        Ok(DigestItem {
            entry: EntryId(array(&item.entry, "entry id")?),
            version: item.version.ok_or(WireError::Missing("version"))?.into(),
        })
    };
    request.items.iter().map(item).collect()
}

/// The opposite of [`digest_items`].
pub fn digest_request(items: &[DigestItem]) -> pb::DigestRequest {
    let item =
        |item: &DigestItem| pb::DigestItem { entry: id_to(item.entry), version: Some(item.version.into()) };
    pb::DigestRequest { items: items.iter().map(item).collect() }
}

impl From<DigestPart> for pb::DigestPart {
    fn from(part: DigestPart) -> Self {
        let item = u32::try_from(part.item).unwrap_or(u32::MAX);
        match part.hashes {
            Ok(hashes) => Self { item, hashes: hashes.concat().into(), failure: 0 },
            Err(failure) => {
                Self { item, hashes: Bytes::new(), failure: pb::ReadFailure::from(failure).into() }
            }
        }
    }
}

impl TryFrom<pb::DigestPart> for DigestPart {
    type Error = WireError;

    fn try_from(part: pb::DigestPart) -> Result<Self, WireError> {
        let item = part.item as usize;
        if item >= limits::DIGEST_ITEMS {
            return Err(WireError::TooLarge("digest item"));
        }
        if part.failure != 0 {
            return Ok(Self { item, hashes: Err(part.failure().into()) });
        }
        let (hashes, rest) = part.hashes.as_chunks::<32>();
        if !rest.is_empty() {
            return Err(WireError::Length("hashes"));
        }
        if hashes.len() > limits::DIGEST_HASHES {
            return Err(WireError::TooLarge("hashes"));
        }
        Ok(Self { item, hashes: Ok(hashes.to_vec()) })
    }
}

impl From<Sequence> for pb::Sequence {
    fn from(Sequence { run, number }: Sequence) -> Self {
        Self { run, number }
    }
}

fn sequence_from(sequence: Option<pb::Sequence>) -> Result<Sequence, WireError> {
    let pb::Sequence { run, number } = sequence.ok_or(WireError::Missing("sequence"))?;
    Ok(Sequence { run, number })
}

impl From<Offer> for pb::OfferRequest {
    fn from(offer: Offer) -> Self {
        let Offer { key, root, files, bytes, sequence } = offer;
        let id = Bytes::copy_from_slice(&key.0);
        Self { id, root: Some(root.into()), files, bytes, sequence: Some(sequence.into()) }
    }
}

impl TryFrom<pb::OfferRequest> for Offer {
    type Error = WireError;

    fn try_from(offer: pb::OfferRequest) -> Result<Self, WireError> {
        let root = Entry::try_from(offer.root.ok_or(WireError::Missing("root"))?)?;
        if root.parent.is_some() {
            return Err(WireError::Unknown("parent of a root"));
        }
        if offer.bytes > limits::FILE_BYTES || offer.files > limits::FILE_BYTES {
            return Err(WireError::TooLarge("size"));
        }
        let key = TransferKey(array(&offer.id, "transfer id")?);
        let sequence = sequence_from(offer.sequence)?;
        Ok(Self { key, root, files: offer.files, bytes: offer.bytes, sequence })
    }
}

impl From<OfferAnswer> for pb::OfferReply {
    fn from(answer: OfferAnswer) -> Self {
        let answer = match answer {
            OfferAnswer::Accepted => pb::OfferAnswer::Accepted,
            OfferAnswer::NotWanted => pb::OfferAnswer::NotWanted,
            OfferAnswer::TooLarge => pb::OfferAnswer::TooLarge,
            OfferAnswer::TooMany => pb::OfferAnswer::TooMany,
            OfferAnswer::Cancelled => pb::OfferAnswer::Cancelled,
            OfferAnswer::Pending => pb::OfferAnswer::Pending,
            OfferAnswer::Received => pb::OfferAnswer::Received,
        };
        Self { answer: answer.into() }
    }
}

impl TryFrom<pb::OfferReply> for OfferAnswer {
    type Error = WireError;

    fn try_from(reply: pb::OfferReply) -> Result<Self, WireError> {
        match reply.answer() {
            pb::OfferAnswer::Accepted => Ok(Self::Accepted),
            pb::OfferAnswer::NotWanted => Ok(Self::NotWanted),
            pb::OfferAnswer::TooLarge => Ok(Self::TooLarge),
            pb::OfferAnswer::TooMany => Ok(Self::TooMany),
            pb::OfferAnswer::Cancelled => Ok(Self::Cancelled),
            pb::OfferAnswer::Pending => Ok(Self::Pending),
            pb::OfferAnswer::Received => Ok(Self::Received),
            pb::OfferAnswer::Unspecified => Err(WireError::Unknown("answer")),
        }
    }
}

impl From<Report> for pb::ReportRequest {
    fn from(report: Report) -> Self {
        let state = match report.state {
            TransferState::Offered => pb::TransferState::Offered,
            TransferState::Queued => pb::TransferState::Queued,
            TransferState::Running => pb::TransferState::Running,
            TransferState::Waiting => pb::TransferState::Waiting,
            TransferState::Paused => pb::TransferState::Paused,
            TransferState::Done => pb::TransferState::Done,
            TransferState::Failed => pb::TransferState::Failed,
            TransferState::Cancelled => pb::TransferState::Cancelled,
        };
        let mut reason = report.reason;
        reason.truncate(reason.floor_char_boundary(limits::REASON_BYTES));
        Self {
            id: Bytes::copy_from_slice(&report.key.0),
            name: Bytes::copy_from_slice(report.name.as_bytes()),
            state: state.into(),
            reason,
            files_done: report.files_done,
            files: report.files,
            bytes_done: report.bytes_done,
            bytes: report.bytes,
            push: report.push,
            sequence: Some(report.sequence.into()),
        }
    }
}

impl TryFrom<pb::ReportRequest> for Report {
    type Error = WireError;

    fn try_from(report: pb::ReportRequest) -> Result<Self, WireError> {
        let state = match report.state() {
            pb::TransferState::Offered => TransferState::Offered,
            pb::TransferState::Queued => TransferState::Queued,
            pb::TransferState::Running => TransferState::Running,
            pb::TransferState::Waiting => TransferState::Waiting,
            pb::TransferState::Paused => TransferState::Paused,
            pb::TransferState::Done => TransferState::Done,
            pb::TransferState::Failed => TransferState::Failed,
            pb::TransferState::Cancelled => TransferState::Cancelled,
            pb::TransferState::Unspecified => return Err(WireError::Unknown("state")),
        };
        if report.reason.len() > limits::REASON_BYTES {
            return Err(WireError::TooLarge("reason"));
        }
        // It is shown in terminals.
        if report.reason.chars().any(char::is_control) {
            return Err(WireError::Unknown("reason"));
        }
        Ok(Self {
            key: TransferKey(array(&report.id, "transfer id")?),
            push: report.push,
            name: Name::new(Bytes::copy_from_slice(&report.name))?,
            state,
            reason: report.reason,
            files_done: report.files_done,
            files: report.files,
            bytes_done: report.bytes_done,
            bytes: report.bytes,
            sequence: sequence_from(report.sequence)?,
        })
    }
}

impl From<Standing> for pb::ReportReply {
    fn from(standing: Standing) -> Self {
        let standing = match standing {
            Standing::Open => pb::Standing::Open,
            Standing::Ended => pb::Standing::Ended,
        };
        Self { standing: standing.into() }
    }
}

impl TryFrom<pb::ReportReply> for Standing {
    type Error = WireError;

    fn try_from(reply: pb::ReportReply) -> Result<Self, WireError> {
        match reply.standing() {
            pb::Standing::Open => Ok(Self::Open),
            pb::Standing::Ended => Ok(Self::Ended),
            pb::Standing::Unspecified => Err(WireError::Unknown("standing")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{EntryKind, Timestamp};

    fn report() -> Report {
        Report {
            key: TransferKey([3; 16]),
            push: true,
            name: Name::new(b"film".to_vec()).unwrap(),
            state: TransferState::Paused,
            reason: "disk full".to_owned(),
            files_done: 1,
            files: 2,
            bytes_done: 3,
            bytes: 4,
            sequence: Sequence { run: 5, number: 6 },
        }
    }

    fn offer() -> Offer {
        let root = Entry {
            id: EntryId([1; 16]),
            parent: None,
            name: Name::new(b"film".to_vec()).unwrap(),
            kind: EntryKind::File { size: 9 },
            version: Version { epoch: 1, counter: 2 },
            incarnation: 0,
            modified: Timestamp::default(),
            mode: 0o644,
            writable: false,
            unavailable: false,
        };
        let sequence = Sequence { run: 7, number: 8 };
        Offer { key: TransferKey([2; 16]), root, files: 1, bytes: 9, sequence }
    }

    #[test]
    fn what_is_said_is_understood() {
        assert_eq!(Report::try_from(pb::ReportRequest::from(report())), Ok(report()));
        assert_eq!(Offer::try_from(pb::OfferRequest::from(offer())), Ok(offer()));
        for answer in [
            OfferAnswer::Accepted,
            OfferAnswer::NotWanted,
            OfferAnswer::TooLarge,
            OfferAnswer::TooMany,
            OfferAnswer::Cancelled,
            OfferAnswer::Pending,
            OfferAnswer::Received,
        ] {
            assert_eq!(OfferAnswer::try_from(pb::OfferReply::from(answer)), Ok(answer));
        }
        for standing in [Standing::Open, Standing::Ended] {
            assert_eq!(Standing::try_from(pb::ReportReply::from(standing)), Ok(standing));
        }
        for hashes in [Ok(vec![[1; 32], [2; 32]]), Ok(vec![]), Err(ReadFailure::Denied)] {
            let part = DigestPart { item: 3, hashes };
            assert_eq!(DigestPart::try_from(pb::DigestPart::from(part.clone())), Ok(part));
        }
        let version = Version { epoch: 1, counter: 2 };
        let items = vec![DigestItem { entry: EntryId([1; 16]), version }; limits::DIGEST_ITEMS];
        assert_eq!(digest_items(&digest_request(&items)), Ok(items));
    }

    #[test]
    fn what_was_said_later_is_after_and_another_run_always_is() {
        let at = |run, number| Sequence { run, number };
        assert!(at(1, 2).is_after(at(1, 1)) && at(2, 1).is_after(at(1, 9)));
        assert!(!at(1, 1).is_after(at(1, 1)) && !at(1, 1).is_after(at(1, 2)));
    }

    #[test]
    fn what_breaks_the_rules_is_refused() {
        let version = Version { epoch: 1, counter: 2 };
        let items = vec![DigestItem { entry: EntryId([1; 16]), version }; limits::DIGEST_ITEMS + 1];
        assert_eq!(digest_items(&digest_request(&items)), Err(WireError::TooLarge("digest request")));

        let part = |item, bytes: usize| pb::DigestPart { item, hashes: vec![0; bytes].into(), failure: 0 };
        assert_eq!(DigestPart::try_from(part(0, 33)), Err(WireError::Length("hashes")));
        assert_eq!(DigestPart::try_from(part(256, 32)), Err(WireError::TooLarge("digest item")));
        let many = part(0, 32 * (limits::DIGEST_HASHES + 1));
        assert_eq!(DigestPart::try_from(many), Err(WireError::TooLarge("hashes")));

        let said = |reason: &str| {
            Report::try_from(pb::ReportRequest { reason: reason.to_owned(), ..report().into() })
        };
        assert_eq!(said("\u{1b}[2J"), Err(WireError::Unknown("reason")));
        assert_eq!(said(&"a".repeat(513)), Err(WireError::TooLarge("reason")));
        // One's own reason is made to fit, between two characters.
        let long = Report { reason: format!("a{}", "ä".repeat(300)), ..report() };
        assert_eq!(Report::try_from(pb::ReportRequest::from(long)).unwrap().reason.len(), 511);

        let unordered = pb::ReportRequest { sequence: None, ..report().into() };
        assert_eq!(Report::try_from(unordered), Err(WireError::Missing("sequence")));

        let mut with_parent = offer();
        with_parent.root.parent = Some(EntryId([4; 16]));
        assert_eq!(
            Offer::try_from(pb::OfferRequest::from(with_parent)),
            Err(WireError::Unknown("parent of a root"))
        );
        let mut named_up = pb::OfferRequest::from(offer());
        named_up.root.as_mut().unwrap().name = Bytes::from_static(b"..");
        assert!(matches!(Offer::try_from(named_up), Err(WireError::Name(_))));
    }
}
