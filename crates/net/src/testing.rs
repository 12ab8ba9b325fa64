//! Two ends of a leg over loopback, for the tests of what runs on legs.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use async_trait::async_trait;
use farhold_secure::handshake::Abilities;
use farhold_secure::opening::{LegKind, Opening};
use farhold_secure::{Identity, PairSecret, Rendezvous, Side};
use farhold_wire::{Batch, ContactId, Entry, EntryId, Name, Position, ReadFailure, ReadPart, ReadRequest};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use crate::leg::{self, Leg, Parties};
use crate::quic::{Endpoint, Quic};
use crate::roster::Roster;
use crate::service::PeerService;
use crate::socket::Socket;
use crate::stream::RecordStream;

/// Two contacts, side 0 first.
pub(crate) fn parties() -> [Arc<Parties>; 2] {
    let mut identities = [Identity::generate().unwrap(), Identity::generate().unwrap()];
    if Side::between(identities[0].code(), identities[1].code()) == Some(Side::One) {
        identities.swap(0, 1);
    }
    let identities = identities.map(Arc::new);
    let secret = PairSecret::from_bytes(&[1; 32]);
    [(0, Side::Zero), (1, Side::One)].map(|(index, side)| {
        Arc::new(Parties {
            identity: Arc::clone(&identities[index]),
            peer: identities[1 - index].public().clone(),
            rendezvous: Arc::new(Rendezvous::saved(&secret, side)),
            abilities: Abilities::here(0),
        })
    })
}

/// A connection over loopback.
pub(crate) async fn sockets() -> [Socket; 2] {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let dialled = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (accepted, _) = listener.accept().await.unwrap();
    [dialled, accepted].map(|stream| Socket::new(stream, Arc::default()).unwrap())
}

/// An authenticated leg between `parties`, initiated by side 0.
pub(crate) async fn legs(parties: &[Arc<Parties>; 2]) -> [Leg; 2] {
    let [dialled, mut accepted] = sockets().await;
    let kind = LegKind::Direct;
    let initiated = leg::initiate(dialled, &parties[0], kind, CancellationToken::new());
    let responded = async {
        let (opening, received) = leg::read_opening(&mut accepted).await.unwrap();
        let opening = Opening::from_bytes(opening);
        let cancel = CancellationToken::new();
        // The initiator's first record goes with whatever it says first.
        leg::respond(accepted, &parties[1], kind, &opening, received, cancel).await.unwrap()
    };
    let initiated = async {
        let mut leg = initiated.await.unwrap();
        leg.channel.flush().await.unwrap();
        leg
    };
    let (zero, one) = tokio::join!(initiated, responded);
    [zero, one]
}

/// The same over QUIC, and the endpoints of side 0 and side 1.
pub(crate) async fn quic_legs(parties: &[Arc<Parties>; 2], endpoints: &[Endpoint; 2]) -> [Leg; 2] {
    let [client, server] = endpoints;
    let entry = Arc::<Roster>::default().enter(None);
    let kind = LegKind::Quic;
    let to = server.local().unwrap();
    let initiated = async {
        let socket = client.dial(to, &parties[0], Arc::default()).await.unwrap();
        let mut leg = leg::initiate(socket, &parties[0], kind, CancellationToken::new()).await.unwrap();
        leg.channel.flush().await.unwrap();
        leg
    };
    let responded = async {
        let mut accepted = server.accept(&parties[1], &entry, Arc::default()).await.unwrap();
        let (opening, received) = leg::read_opening(&mut accepted).await.unwrap();
        let opening = Opening::from_bytes(opening);
        leg::respond(accepted, &parties[1], kind, &opening, received, CancellationToken::new()).await.unwrap()
    };
    let (zero, one) = tokio::join!(initiated, responded);
    [zero, one]
}

/// Two QUIC endpoints on loopback.
pub(crate) fn endpoints() -> [Endpoint; 2] {
    std::array::from_fn(|_| {
        let quic = Quic::new(Arc::default()).unwrap();
        Endpoint::listen(&quic, Some(IpAddr::V4(Ipv4Addr::LOCALHOST)), 0).unwrap()
    })
}

/// Both ends of a lane.
pub(crate) async fn streams() -> [RecordStream; 2] {
    legs(&parties()).await.map(|leg| leg.channel.into_stream())
}

/// Answers nothing, ever.
#[derive(Debug)]
pub(crate) struct Silent;

#[async_trait]
impl PeerService for Silent {
    fn changes(&self, _: ContactId, _: Option<Position>) -> BoxStream<'static, Result<Batch, ReadFailure>> {
        stream::pending().boxed()
    }

    async fn lookup(&self, _: ContactId, _: Option<EntryId>, _: Name) -> Result<Option<Entry>, ReadFailure> {
        std::future::pending().await
    }

    fn list(&self, _: ContactId, _: EntryId) -> BoxStream<'static, Result<Vec<Entry>, ReadFailure>> {
        stream::pending().boxed()
    }

    fn read(&self, _: ContactId, _: ReadRequest) -> BoxStream<'static, Result<ReadPart, ReadFailure>> {
        stream::pending().boxed()
    }
}
