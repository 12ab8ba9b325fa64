use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use farhold_net::{PeerError, PeerService};
use farhold_secure::opening::{LegKind, Opening};
use farhold_secure::rendezvous::Hour;
use farhold_secure::{Identity, PairSecret, Rendezvous, Side};
use farhold_wire::{
    Batch, ContactId, Entry, EntryId, LaneClass, Name, Position, ReadFailure, ReadHead, ReadPart,
    ReadRequest, WireError, limits,
};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use crate::support::*;

/// Sends `bytes`, and returns what comes back until the connection is closed.
async fn answer(to: std::net::SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(to).await.unwrap();
    // It may be closed before all is written.
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let _ = timeout(PATIENCE, stream.read_to_end(&mut answer)).await.expect("closed in time");
    answer
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_no_contact_is_closed_without_a_word() {
    let relay = relay();
    let (a, b) = pair(config(&address(&relay)), config(&address(&relay))).await;
    let to = a.net.listening().unwrap();
    let of_a = Identity::generate().unwrap();
    let stranger = Rendezvous::saved(&PairSecret::from_bytes(&[6; 32]), Side::Zero);
    let now = Hour::of(u64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap());
    let unknown = Opening::new(&stranger, LegKind::Direct, now).unwrap();
    let mut junk =
        vec![b"GET / HTTP/1.1\r\nHost: a.example.org\r\n\r\n".to_vec(), vec![0; 100], vec![0xff; 10_000]];
    junk.push(unknown.as_bytes().to_vec());
    junk.push([&[2][..], &[9; 32]].concat());
    junk.push(of_a.public().to_bytes());
    let answers = futures_util::future::join_all(junk.iter().map(|bytes| answer(to, bytes))).await;
    assert!(answers.iter().all(Vec::is_empty), "{answers:?}");
    a.net.connect(b.id()).unwrap();
    a.connected(&b).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_opening_is_good_once() {
    let relay = relay();
    let (a, b) = pair(config(&address(&relay)), config(&address(&relay))).await;
    let side = Side::between(b.identity.code(), a.identity.code()).unwrap();
    let of_b = Rendezvous::saved(&PairSecret::from_bytes(&[5; 32]), side);
    let now = Hour::of(u64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap());
    let opening = Opening::new(&of_b, LegKind::Direct, now).unwrap();
    let to = a.net.listening().unwrap();
    // The first is let in, and waited for; what follows is no handshake.
    let mut first = TcpStream::connect(to).await.unwrap();
    first.write_all(opening.as_bytes()).await.unwrap();
    let mut byte = [0];
    assert!(timeout(Duration::from_millis(500), first.read(&mut byte)).await.is_err(), "it stays open");
    let begun = Instant::now();
    assert_eq!(answer(to, opening.as_bytes()).await, []);
    assert!(begun.elapsed() < Duration::from_secs(4), "closed at once, not after the time of a handshake");
    // A message that is too long, and one that is no message.
    for message in [&[0xff, 0xff][..], &[0, 16, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]] {
        let opening = Opening::new(&of_b, LegKind::Direct, now).unwrap();
        assert_eq!(answer(to, &[opening.as_bytes(), message].concat()).await, []);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_connections_do_not_keep_a_contact_out() {
    let relay = relay();
    let (a, b) = pair(config(&address(&relay)), config(&address(&relay))).await;
    for node in [&a, &b] {
        let to = node.net.listening().unwrap();
        let mut silent = Vec::new();
        for _ in 0..100 {
            silent.push(TcpStream::connect(to).await.unwrap());
        }
        std::mem::forget(silent);
    }
    let start = Instant::now();
    a.net.connect(b.id()).unwrap();
    a.until(&b, "direct", |state| connection(state).is_some_and(|c| c.path == farhold_net::Path::Lan)).await;
    // Silent ones have 5 s.
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
}

/// How a home lies.
#[derive(Debug, Clone, Copy)]
enum Lie {
    MoreThanAsked,
    OtherEntry,
    TooShort,
    TooLong,
    Endless,
    NoHead,
    TwoHeads,
    SmallParts,
    LargeParts,
    Nothing,
}

/// Only the checks of its own side stand between this and the wire, so what a contact sees is a failure.
#[derive(Debug)]
struct Liar(Lie);

#[async_trait]
impl PeerService for Liar {
    fn changes(&self, _: ContactId, _: Option<Position>) -> BoxStream<'static, Result<Batch, ReadFailure>> {
        stream::once(async { Err(ReadFailure::Denied) }).boxed()
    }

    async fn lookup(&self, _: ContactId, _: Option<EntryId>, _: Name) -> Result<Option<Entry>, ReadFailure> {
        Ok(Some(Entry { parent: Some(EntryId([9; 16])), ..file() }))
    }

    fn list(&self, _: ContactId, parent: EntryId) -> BoxStream<'static, Result<Vec<Entry>, ReadFailure>> {
        let page = vec![Entry { parent: Some(parent), ..file() }; limits::BATCH_CHANGES + 1];
        stream::iter([Ok(page)]).boxed()
    }

    fn read(&self, _: ContactId, request: ReadRequest) -> BoxStream<'static, Result<ReadPart, ReadFailure>> {
        let head = |length| Ok(ReadPart::Head(ReadHead { entry: file(), length }));
        let data = |length: usize| Ok(ReadPart::Data(Bytes::from(vec![0; length])));
        let asked = request.length as usize;
        let part = limits::PART_BYTES;
        match self.0 {
            Lie::MoreThanAsked => stream::iter([head(request.length + 1)]).boxed(),
            Lie::OtherEntry => {
                let entry = Entry { id: EntryId([8; 16]), ..file() };
                stream::iter([Ok(ReadPart::Head(ReadHead { entry, length: request.length }))]).boxed()
            }
            Lie::TooShort => stream::iter([head(request.length), data(asked / 2)]).boxed(),
            Lie::TooLong => stream::iter([head(request.length), data(asked), data(1)]).boxed(),
            Lie::Endless => {
                stream::iter([head(request.length)]).chain(stream::repeat_with(move || data(part))).boxed()
            }
            Lie::NoHead => stream::iter([data(asked)]).boxed(),
            Lie::TwoHeads => stream::iter([head(request.length), head(request.length)]).boxed(),
            Lie::SmallParts => stream::iter([head(request.length)])
                .chain(stream::iter((0..asked).map(move |_| data(1))))
                .boxed(),
            Lie::LargeParts => stream::iter([head(request.length), data(part + 1)]).boxed(),
            Lie::Nothing => stream::empty().boxed(),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_home_that_does_not_keep_to_the_rules_fails_its_calls_only() {
    let relay = relay();
    let length = u32::try_from(limits::PART_BYTES).unwrap() + 1;
    for lie in [
        Lie::MoreThanAsked,
        Lie::OtherEntry,
        Lie::TooShort,
        Lie::TooLong,
        Lie::Endless,
        Lie::NoHead,
        Lie::TwoHeads,
        Lie::SmallParts,
        Lie::LargeParts,
        Lie::Nothing,
    ] {
        let a = Node::start(config(&address(&relay))).await;
        let identity = Arc::new(Identity::generate().unwrap());
        let b = Node::with(config(&address(&relay)), identity, Arc::new(Liar(lie))).await;
        a.knows(&b, [5; 32]);
        b.knows(&a, [5; 32]);
        a.net.connect(b.id()).unwrap();
        a.connected(&b).await;
        let peer = a.peer(&b);
        for class in [LaneClass::Urgent, LaneClass::Bulk] {
            let failed = timeout(PATIENCE, read(&peer, 0, length, class)).await.unwrap();
            assert_eq!(failed, Err(PeerError::Failed(ReadFailure::Internal)), "{lie:?}, {class:?}");
        }
        let looked = peer.lookup(None, Name::new("file").unwrap()).await;
        assert_eq!(looked, Err(PeerError::Protocol(WireError::Unknown("parent of an answer"))));
        assert_eq!(peer.list(FILE).await, Err(PeerError::Protocol(WireError::TooLarge("page"))));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_reads_than_may_be_under_way_wait_their_turn() {
    let relay = relay();
    let (a, b) = pair(config(&address(&relay)), config(&address(&relay))).await;
    a.net.connect(b.id()).unwrap();
    a.connected(&b).await;
    let peer = a.peer(&b);
    let reads = (0..3 * limits::READS_AT_ONCE as u64).map(|index| {
        let peer = peer.clone();
        async move { read(&peer, index * 1000, 1000, LaneClass::Bulk).await }
    });
    for done in futures_util::future::join_all(reads).await {
        done.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_that_nobody_waits_for_are_cancelled_at_home() {
    let relay = relay();
    let a = Node::start(config(&address(&relay))).await;
    let identity = Arc::new(Identity::generate().unwrap());
    let b = Node::with(config(&address(&relay)), identity, Arc::new(Slow)).await;
    a.knows(&b, [5; 32]);
    b.knows(&a, [5; 32]);
    a.net.connect(b.id()).unwrap();
    a.connected(&b).await;
    let peer = a.peer(&b);
    // Each takes a place at the home for ever, unless it is given up.
    for round in 0..3 {
        for class in [LaneClass::Urgent, LaneClass::Bulk] {
            let mut readings = Vec::new();
            for _ in 0..limits::READS_AT_ONCE {
                let opened = timeout(PATIENCE, ask(&peer, request(0, 1000), class)).await.unwrap();
                readings.push(opened.unwrap_or_else(|error| panic!("{round}: {error}")));
            }
        }
    }
}

/// Announces bytes and never sends them.
#[derive(Debug)]
struct Slow;

#[async_trait]
impl PeerService for Slow {
    fn changes(&self, _: ContactId, _: Option<Position>) -> BoxStream<'static, Result<Batch, ReadFailure>> {
        stream::pending().boxed()
    }

    async fn lookup(&self, _: ContactId, _: Option<EntryId>, _: Name) -> Result<Option<Entry>, ReadFailure> {
        std::future::pending().await
    }

    fn list(&self, _: ContactId, _: EntryId) -> BoxStream<'static, Result<Vec<Entry>, ReadFailure>> {
        stream::pending().boxed()
    }

    fn read(&self, _: ContactId, request: ReadRequest) -> BoxStream<'static, Result<ReadPart, ReadFailure>> {
        let head = ReadHead { entry: file(), length: request.length };
        stream::once(async { Ok(ReadPart::Head(head)) }).chain(stream::pending()).boxed()
    }
}
