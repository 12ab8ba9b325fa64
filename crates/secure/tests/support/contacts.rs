//! Two contacts, by what is public of this crate: for its tests, its benches and the fuzz targets.

// Each program that takes this file in is one crate, from which nothing is exported.
#![allow(unreachable_pub)]

use std::num::NonZeroU8;
use std::sync::LazyLock;
use std::time::Instant;

use bytes::BytesMut;
use farhold_secure::handshake::{
    Abilities, Confirmation, Established, Initiator, Leg, respond, take_message,
};
use farhold_secure::identity::IDENTITY_BYTES;
use farhold_secure::lane::LaneConfirmation;
use farhold_secure::opening::{LegKind, OPENING_BYTES, Opening};
use farhold_secure::record::{Opener, Sealer};
use farhold_secure::rendezvous::Hour;
use farhold_secure::{Identity, PairSecret, Rendezvous, Side};

/// The hour in which everything happens.
pub const HOUR: Hour = Hour(496_512);

static IDENTITIES: LazyLock<[Identity; 2]> = LazyLock::new(|| {
    let mut both = [1, 2].map(|seed| Identity::from_seeds(&[seed; IDENTITY_BYTES]));
    both.sort_by_key(|identity| *identity.code());
    both
});

/// The identity of one side.
pub fn identity(side: Side) -> &'static Identity {
    &IDENTITIES[usize::from(side.number())]
}

/// What one side derives from the pair secret.
pub fn rendezvous(side: Side) -> Rendezvous {
    Rendezvous::saved(&PairSecret::from_bytes(&[3; 32]), side)
}

/// One side's view of a direct leg.
pub fn leg<'a>(side: Side, rendezvous: &'a Rendezvous, opening: &'a Opening) -> Leg<'a> {
    Leg {
        identity: identity(side),
        peer: identity(side.other()).public(),
        rendezvous,
        kind: LegKind::Direct,
        opening,
        binding: None,
    }
}

/// What both programs can do.
pub fn abilities(hardware_aes: bool) -> Abilities {
    Abilities { capabilities: 0, hardware_aes }
}

/// A whole handshake: what side zero and side one have of it.
pub fn establish(hardware_aes: bool) -> [Established; 2] {
    let (zero, one) = (rendezvous(Side::Zero), rendezvous(Side::One));
    let opening = Opening::new(&zero, LegKind::Direct, HOUR).expect("random numbers");
    let (now, abilities) = (Instant::now(), abilities(hardware_aes));
    let mut wire = BytesMut::new();
    let initiator = Initiator::start(&leg(Side::Zero, &zero, &opening), abilities, &mut wire).expect("a leg");
    let message = take_message(&mut wire).expect("a good length").expect("a whole message");
    let unconfirmed = respond(&leg(Side::One, &one, &opening), abilities, &message, now, &mut wire)
        .expect("a good message");
    let message = take_message(&mut wire).expect("a good length").expect("a whole message");
    let mine = initiator.finish(&message, now, &mut wire).expect("a good message");
    match unconfirmed.confirm(&mut wire).expect("a good record") {
        Confirmation::Established(theirs) => [mine, *theirs],
        Confirmation::Waiting(_) => unreachable!("the record is whole"),
    }
}

/// A further lane: side zero's and side one's ends.
pub fn lane(ends: &[Established; 2], number: u32) -> [(Sealer, Opener); 2] {
    let nonces = [[1; 32], [2; 32]];
    let make = |end: usize| ends[end].session.lane(number, NonZeroU8::MIN, &nonces[end], &nonces[1 - end]);
    let (now, mut there, mut back) = (Instant::now(), BytesMut::new(), BytesMut::new());
    let dialer = make(0).dial(now, &mut there).expect("a fresh lane");
    let opening = there.split_to(OPENING_BYTES);
    let acceptor = make(1)
        .accept(opening.as_ref().try_into().expect("33 bytes"), now, &mut back)
        .expect("a good opening");
    [dialer.confirm(&mut back), acceptor.confirm(&mut there)].map(|end| match end.expect("a good record") {
        LaneConfirmation::Confirmed(sealer, opener) => (sealer, opener),
        LaneConfirmation::Waiting(_) => unreachable!("the record is whole"),
    })
}
