//! Two contacts, and what they share, for the tests of this crate.

use std::sync::LazyLock;
use std::time::Instant;

use bytes::BytesMut;

use crate::handshake::{
    Abilities, ChannelBinding, Confirmation, Established, Initiator, Leg, respond, take_message,
};
use crate::identity::{IDENTITY_BYTES, Identity, PublicKeys};
use crate::kdf::Key;
use crate::opening::{LegKind, Opening};
use crate::random::testing::seeded;
use crate::ratchet::LaneName;
use crate::record::{Opener, Record, RecordError, Sealer};
use crate::rendezvous::{Hour, PairSecret, Rendezvous};
use crate::session::SessionKeys;
use crate::side::Side;
use crate::suite::Suite;

pub(crate) const HOUR: Hour = Hour(496_512);

/// The identities of side zero and side one.
static IDENTITIES: LazyLock<[Identity; 2]> = LazyLock::new(|| {
    let mut both = seeded(1, || [Identity::generate().unwrap(), Identity::generate().unwrap()]);
    both.sort_by_key(|identity| *identity.code());
    both
});

pub(crate) fn identity(side: Side) -> &'static Identity {
    &IDENTITIES[usize::from(side.number())]
}

pub(crate) fn stranger() -> Identity {
    Identity::from_seeds(&[7; IDENTITY_BYTES])
}

pub(crate) fn public(side: Side) -> &'static PublicKeys {
    identity(side).public()
}

pub(crate) fn saved(side: Side) -> Rendezvous {
    Rendezvous::saved(&PairSecret::from_bytes(&[9; 32]), side)
}

pub(crate) fn pairing(side: Side) -> Rendezvous {
    Rendezvous::pairing(identity(side).code(), identity(side.other()).code()).unwrap()
}

/// One side's view of a leg.
pub(crate) struct End {
    pub(crate) side: Side,
    pub(crate) rendezvous: Rendezvous,
    pub(crate) kind: LegKind,
    pub(crate) opening: Opening,
    pub(crate) binding: Option<ChannelBinding>,
    pub(crate) abilities: Abilities,
}

impl End {
    pub(crate) fn leg(&self) -> Leg<'_> {
        Leg {
            identity: identity(self.side),
            peer: public(self.side.other()),
            rendezvous: &self.rendezvous,
            kind: self.kind,
            opening: &self.opening,
            binding: self.binding.as_ref(),
        }
    }
}

/// The initiator's and the responder's end of a direct leg between saved contacts.
pub(crate) fn ends(initiator: Side, hardware_aes: [bool; 2]) -> [End; 2] {
    let opening = Opening::new(&saved(initiator), LegKind::Direct, HOUR).unwrap();
    let [for_initiator, for_responder] = hardware_aes;
    [(initiator, for_initiator), (initiator.other(), for_responder)].map(|(side, hardware_aes)| End {
        side,
        rendezvous: saved(side),
        kind: LegKind::Direct,
        opening,
        binding: None,
        abilities: Abilities { capabilities: 0b101 << side.number(), hardware_aes },
    })
}

/// A whole handshake: what the initiator and the responder have of it.
pub(crate) fn establish(ends: &[End; 2], now: Instant) -> [Established; 2] {
    let [initiator, responder] = ends;
    let mut wire = BytesMut::new();
    let waiting = Initiator::start(&initiator.leg(), initiator.abilities, &mut wire).unwrap();
    let message = take_message(&mut wire).unwrap().unwrap();
    let unconfirmed = respond(&responder.leg(), responder.abilities, &message, now, &mut wire).unwrap();
    let message = take_message(&mut wire).unwrap().unwrap();
    let mine = waiting.finish(&message, now, &mut wire).unwrap();
    match unconfirmed.confirm(&mut wire).unwrap() {
        Confirmation::Established(theirs) => [mine, *theirs],
        Confirmation::Waiting(_) => panic!("the first record is whole"),
    }
}

/// Both ends of a session with fixed keys: side zero's, then side one's.
pub(crate) fn session(suite: Suite) -> [LaneEnd; 2] {
    [Side::Zero, Side::One].map(|side| {
        let session = SessionKeys::new(suite, side);
        let chain = |sender: Side| Key::extract(b"test", &[sender.number()]);
        LaneEnd {
            sealer: session.sealer(LaneName::CONTROL, chain(side)),
            opener: session.opener(LaneName::CONTROL, chain(side.other())),
            session,
        }
    })
}

/// One end of a lane, and its session.
pub(crate) struct LaneEnd {
    pub(crate) sealer: Sealer,
    pub(crate) opener: Opener,
    pub(crate) session: SessionKeys,
}

/// Everything that `opener` makes of `bytes`.
pub(crate) fn open_all(opener: &mut Opener, bytes: &[u8]) -> Result<Vec<Record>, RecordError> {
    let mut buffer = BytesMut::from(bytes);
    let mut records = Vec::new();
    while let Some(record) = opener.open(&mut buffer)? {
        records.push(record);
    }
    if buffer.is_empty() { Ok(records) } else { Err(RecordError::Cut) }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).unwrap()).collect()
}
