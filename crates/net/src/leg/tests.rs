use tokio::time::Instant;

use super::*;
use crate::control::PairingStep;
use crate::testing::{legs, parties, sockets};

async fn initiated(parties: &Parties, socket: Socket) -> Result<Leg, LegError> {
    initiate(socket, parties, LegKind::Direct, CancellationToken::new()).await
}

#[tokio::test(start_paused = true)]
async fn who_does_not_answer_has_five_seconds() {
    let [parties, _] = parties();
    let [ours, _theirs] = sockets().await;
    let start = Instant::now();
    assert!(matches!(initiated(&parties, ours).await, Err(LegError::TimedOut)));
    assert_eq!(start.elapsed(), HANDSHAKE_WITHIN);
}

#[tokio::test]
async fn an_answer_that_is_none() {
    let [parties, _] = parties();
    for junk in [&[0, 4, 1, 2, 3, 4][..], &[0xff; 4], &[0; 2]] {
        let [ours, mut theirs] = sockets().await;
        theirs.write_all(junk).await.unwrap();
        let failed = initiated(&parties, ours).await;
        assert!(matches!(failed, Err(LegError::Handshake(_))), "{junk:?}: {failed:?}");
    }
    let [ours, theirs] = sockets().await;
    drop(theirs);
    assert!(matches!(initiated(&parties, ours).await, Err(LegError::Io(_))));
}

/// A recorded first message gets an answer, and that is all: nothing happens before the initiator's first record.
#[tokio::test(start_paused = true)]
async fn a_repeated_first_message_leads_nowhere() {
    let [zero, one] = parties();
    let [mut recorded, mut tapped] = sockets().await;
    let opening =
        Opening::new(&zero.rendezvous, LegKind::Direct, Hour::of(clock::unix_milliseconds())).unwrap();
    let mut out = BytesMut::from(&opening.as_bytes()[..]);
    Initiator::start(&zero.leg(LegKind::Direct, &opening, None), zero.abilities, &mut out).unwrap();
    recorded.write_all_buf(&mut out).await.unwrap();
    let (opening, received) = read_opening(&mut tapped).await.unwrap();
    let opening = Opening::from_bytes(opening);
    let cancel = CancellationToken::new();
    let answered = respond(tapped, &one, LegKind::Direct, &opening, received, cancel).await;
    assert!(matches!(answered, Err(LegError::TimedOut)), "{answered:?}");
    let mut message = BytesMut::new();
    while recorded.read_buf(&mut message).await.unwrap() > 0 {}
    assert!(handshake::take_message(&mut message).unwrap().is_some() && message.is_empty());
}

#[tokio::test]
async fn first_words() {
    let parties = parties();
    // Side 0 decides at once on its own leg; side 1 hears of it.
    let [mut zero, mut one] = legs(&parties).await;
    assert_eq!(zero.first_words(Side::Zero, 1).await.unwrap(), None);
    zero.channel.send(Message::Nominate(7)).unwrap();
    zero.channel.flush().await.unwrap();
    assert_eq!(one.first_words(Side::One, 1).await.unwrap(), Some(7));

    for (word, refused) in
        [(Message::Goodbye(Goodbye::Refused), true), (Message::Pairing(PairingStep::Stored), false)]
    {
        let [mut zero, mut one] = legs(&parties).await;
        zero.channel.send(word).unwrap();
        zero.channel.flush().await.unwrap();
        let failed = one.first_words(Side::One, 1).await;
        assert_eq!(matches!(failed, Err(LegError::Refused)), refused, "{failed:?}");
        assert!(failed.is_err());
    }
}

#[tokio::test]
async fn side_one_says_its_attempt_on_its_own_leg_and_waits_for_the_decision() {
    let [zero, one] = parties();
    // As if side 1 had dialled.
    let [mut of_one, mut of_zero] = legs(&[one, zero]).await;
    let (decided, heard) = tokio::join!(of_one.first_words(Side::One, 9), async {
        let heard = of_zero.first_words(Side::Zero, 1).await;
        of_zero.channel.send(Message::Nominate(10)).unwrap();
        of_zero.channel.flush().await.unwrap();
        heard
    });
    assert_eq!((decided.unwrap(), heard.unwrap()), (Some(10), Some(9)));
}

#[tokio::test]
async fn a_leg_that_nobody_decides_on_is_given_up() {
    let parties = parties();
    let [_zero, mut one] = legs(&parties).await;
    tokio::time::pause();
    let start = Instant::now();
    let waited = one.first_words(Side::One, 1).await;
    assert!(matches!(waited, Err(LegError::TimedOut)), "{waited:?}");
    assert!(start.elapsed() >= NOMINATION_WITHIN);
}
