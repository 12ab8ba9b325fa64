use farhold_secure::handshake::Abilities;
use farhold_secure::{Identity, PairSecret, Rendezvous, Side};
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::*;
use crate::leg::Parties;
use crate::roster::Host;

/// In virtual time: a contact that dawdles with its opening has that much less for its handshake.
#[tokio::test(start_paused = true)]
async fn opening_and_handshake_have_one_deadline() {
    let secret = PairSecret::from_bytes(&[1; 32]);
    let parties = Parties {
        identity: Arc::new(Identity::generate().unwrap()),
        peer: Identity::generate().unwrap().public().clone(),
        rendezvous: Arc::new(Rendezvous::saved(&secret, Side::Zero)),
        abilities: Abilities::here(0),
    };
    let reception = Reception {
        roster: Arc::default(),
        tickets: Arc::default(),
        counter: Arc::default(),
        gate: Arc::default(),
        cancel: CancellationToken::new(),
    };
    let (incoming, _incoming) = mpsc::channel(1);
    let _entry = reception.roster.enter(Some(Host { parties: Arc::new(parties), incoming }));

    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let mut caller = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (stream, address) = listener.accept().await.unwrap();
    let socket = Socket::new(stream, Arc::default()).unwrap();
    let place = Place::take(&reception.gate, Source::of(address.ip()));

    let start = Instant::now();
    let hour = Hour::of(clock::unix_milliseconds());
    let opening = Opening::new(&Rendezvous::saved(&secret, Side::One), LegKind::Direct, hour).unwrap();
    let dawdling = async {
        sleep(HANDSHAKE_WITHIN - Duration::from_secs(1)).await;
        caller.write_all(opening.as_bytes()).await.unwrap();
    };
    let (received, ()) = tokio::join!(receive_from(socket, &reception, &place), dawdling);
    assert!(matches!(received, Err(LegError::TimedOut)), "{received:?}");
    assert_eq!(start.elapsed().as_secs(), HANDSHAKE_WITHIN.as_secs());
}
