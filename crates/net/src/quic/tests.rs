use std::net::UdpSocket as StdUdpSocket;

use bytes::BytesMut;
use farhold_secure::handshake::HandshakeError;
use farhold_secure::opening::{LegKind, Opening};
use farhold_secure::{PairSecret, Rendezvous, Side};
use farhold_wire::datagram::MAGIC;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::UdpSocket;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::control::{ControlError, Message};
use crate::leg;
use crate::roster::Roster;
use crate::testing::{endpoints, parties, quic_legs};

mod proxy;

/// Longer than an answer over loopback takes.
const SOON: Duration = Duration::from_millis(500);

fn entry() -> Entry {
    Arc::<Roster>::default().enter(None)
}

#[tokio::test]
async fn a_leg_carries_messages_both_ways() {
    let (parties, endpoints) = (parties(), endpoints());
    let [mut zero, mut one] = quic_legs(&parties, &endpoints).await;
    zero.channel.send(Message::Ping(1)).unwrap();
    zero.channel.flush().await.unwrap();
    assert_eq!(one.channel.receive().await.unwrap(), Message::Ping(1));
    one.channel.send(Message::Pong(1)).unwrap();
    one.channel.flush().await.unwrap();
    assert_eq!(zero.channel.receive().await.unwrap(), Message::Pong(1));
    for (leg, other) in [(&zero, &endpoints[1]), (&one, &endpoints[0])] {
        assert_eq!(leg.channel.stream().socket().peer().unwrap(), other.local().unwrap());
    }
}

/// Who closes a lane keeps the connection until the other end has heard everything.
#[tokio::test]
async fn a_lane_that_was_closed_has_said_everything() {
    let [mut zero, mut one] = quic_legs(&parties(), &endpoints()).await;
    let close = async move {
        for number in 0..1000 {
            zero.channel.send(Message::Ping(number)).unwrap();
        }
        let _ = zero.channel.close().await;
    };
    let hear = async move {
        for number in 0..1000 {
            assert_eq!(one.channel.receive().await.unwrap(), Message::Ping(number));
        }
        assert!(matches!(one.channel.receive().await, Err(ControlError::Ended)));
    };
    tokio::join!(close, hear);
}

#[tokio::test]
async fn a_connection_that_is_lost_ends_its_streams() {
    let [zero, mut one] = quic_legs(&parties(), &endpoints()).await;
    drop(zero);
    let ended = timeout(SOON, one.channel.receive()).await.expect("in time");
    assert!(ended.is_err(), "{ended:?}");
}

#[tokio::test]
async fn strangers_get_no_answer_and_cost_no_handshake() {
    let ([_, one], [stranger, server]) = (parties(), endpoints());
    // Another pair's secret, and a reflected id.
    let secret = PairSecret::from_bytes(&[9; 32]);
    let rendezvous = Arc::new(Rendezvous::saved(&secret, Side::Zero));
    let [zero, _] = parties();
    let other =
        Parties { identity: Arc::clone(&zero.identity), peer: zero.peer.clone(), rendezvous, ..*zero };
    let entry = entry();
    let accepting = server.accept(&one, &entry, Arc::default());
    let calling = async {
        for caller in [&other, &*one] {
            let dialled = timeout(SOON, stranger.dial(server.local().unwrap(), caller, Arc::default())).await;
            assert!(dialled.is_err(), "{dialled:?}");
        }
        // What quinn would answer.
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let long = |version: &[u8], id: u8| [&[0xc0], version, &[id], &[5; 1300][..]].concat();
        for junk in [
            long(&[0, 0, 0, 9], 20),
            long(&[0, 0, 0, 1], 3),
            long(&[0, 0, 0, 1], 20),
            vec![0x41; 1300],
            MAGIC.to_vec(),
            vec![],
        ] {
            socket.send_to(&junk, server.local().unwrap()).await.unwrap();
        }
        let answer = timeout(SOON, socket.recv_from(&mut [0; 2000])).await;
        assert!(answer.is_err(), "{answer:?}");
    };
    tokio::select! {
        accepted = accepting => panic!("{accepted:?}"),
        () = calling => {}
    }
    let stats = server.endpoint.stats();
    assert_eq!((stats.accepted_handshakes, stats.refused_handshakes), (0, 0), "{stats:?}");
    assert_eq!((stats.ignored_handshakes > 0, server.quic.counter.sent()), (true, 0), "{stats:?}");
}

/// Whoever ends TLS in the middle sees openings, and no more.
#[tokio::test]
async fn a_man_in_the_middle_is_noticed() {
    let ([zero, one], [client, server], [middle, _]) = (parties(), endpoints(), endpoints());
    let entry = entry();
    let to = middle.local().unwrap();
    let between = async {
        let incoming = middle.incoming().await.unwrap();
        let id = incoming.caller().unwrap();
        let mut to_client = incoming.accept(Arc::default()).await.unwrap();
        let mut config = middle.quic.configs.client.clone();
        config.initial_dst_cid_provider(Arc::new(move || ConnectionId::new(id.as_bytes())));
        let connecting = middle.endpoint.connect_with(config, server.local().unwrap(), SERVER_NAME).unwrap();
        let stream = Link::new(connecting.await.unwrap()).open().await.unwrap();
        let _ = copy_bidirectional(&mut to_client, &mut Socket::quic(stream, Arc::default())).await;
    };
    let dialled = async {
        let socket = client.dial(to, &zero, Arc::default()).await.unwrap();
        leg::initiate(socket, &zero, LegKind::Quic, CancellationToken::new()).await
    };
    let accepted = async {
        let mut socket = server.accept(&one, &entry, Arc::default()).await.unwrap();
        let (opening, received) = leg::read_opening(&mut socket).await.unwrap();
        let opening = Opening::from_bytes(opening);
        leg::respond(socket, &one, LegKind::Quic, &opening, received, CancellationToken::new()).await
    };
    let (dialled, accepted, ()) = tokio::join!(dialled, accepted, between);
    assert!(dialled.is_err(), "{dialled:?}");
    assert!(matches!(accepted, Err(LegError::Handshake(HandshakeError::Forged))), "{accepted:?}");
}

#[tokio::test]
async fn a_caller_id_is_good_once() {
    let ([zero, one], [client, server]) = (parties(), endpoints());
    let (entry, recorder) = (entry(), StdUdpSocket::bind("127.0.0.1:0").unwrap());
    // The first packet goes to somebody who records it and repeats it.
    let dial = client.dial(recorder.local_addr().unwrap(), &zero, Arc::default());
    assert!(timeout(SOON, dial).await.is_err());
    let mut packet = [0; 2000];
    let length = recorder.recv(&mut packet).unwrap();
    let hour = Hour::of(clock::unix_milliseconds());
    recorder.send_to(&packet[..length], server.local().unwrap()).unwrap();
    let incoming = server.incoming().await.unwrap();
    let id = incoming.caller().unwrap();
    entry.check_caller(&id, hour, &one).unwrap();
    drop(incoming);
    recorder.send_to(&packet[..length], server.local().unwrap()).unwrap();
    let incoming = server.incoming().await.unwrap();
    assert!(entry.check_caller(&incoming.caller().unwrap(), hour, &one).is_err());
}

#[tokio::test]
async fn limits_are_small_until_the_other_end_is_authenticated() {
    let ([zero, one], [client, server]) = (parties(), endpoints());
    let entry = entry();
    let to = server.local().unwrap();
    let flood = async {
        let mut socket = client.dial(to, &zero, Arc::default()).await.unwrap();
        let link = socket.link().unwrap().clone();
        assert!(timeout(SOON, link.open()).await.is_err(), "a second stream");
        let mut sent = 0;
        while let Ok(written) = timeout(SOON, socket.write(&[0; 1 << 10])).await {
            sent += written.unwrap();
            assert!(sent <= 1 << 20, "no end");
        }
        // The first of it waits here; what is on its way is for the window.
        (sent, link.stats().path.sent_packets, socket, link)
    };
    let (accepted, (_, packets, mut dialled, link)) =
        tokio::join!(server.accept(&one, &entry, Arc::default()), flood);
    let mut accepted = accepted.unwrap();
    assert!(packets < 40, "{packets}");
    // Admitted, it may have lanes and a session's window.
    accepted.link().unwrap().admit();
    let read = async {
        let mut all = BytesMut::new();
        while all.len() < 1 << 20 {
            accepted.read_buf(&mut all).await.unwrap();
        }
    };
    let write = async {
        timeout(SOON, link.open()).await.expect("a second stream").unwrap();
        dialled.write_all(&vec![0; 1 << 20]).await.unwrap();
    };
    tokio::join!(read, write);
}

#[tokio::test]
async fn datagrams_of_ours_share_the_socket() {
    let [a, b] = endpoints();
    let (mut at_a, mut at_b) = (a.datagrams(), b.datagrams());
    let hello = [&MAGIC[..], b"hello"].concat();
    a.send(&hello, b.local().unwrap());
    let (from, bytes) = timeout(SOON, at_b.recv()).await.unwrap().unwrap();
    assert_eq!((from, &bytes[..]), (a.local().unwrap(), &hello[..]));
    b.send(&hello, from);
    assert_eq!(timeout(SOON, at_a.recv()).await.unwrap().unwrap().0, b.local().unwrap());
    assert_eq!(a.quic.counter.sent(), hello.len() as u64);
    assert_eq!(a.quic.counter.received(), hello.len() as u64);
    // Beside a connection.
    quic_legs(&parties(), &[a.clone(), b.clone()]).await;
    a.send(&hello, b.local().unwrap());
    assert_eq!(timeout(SOON, at_b.recv()).await.unwrap().unwrap().1, hello);
}

/// A socket for both families reaches IPv4, and says so in IPv4's words.
#[tokio::test]
async fn one_socket_serves_both_families() {
    let quic = Quic::new(Arc::default()).unwrap();
    let both = Endpoint::listen(&quic, None, 0).unwrap();
    let [four, _] = endpoints();
    let mut heard = four.datagrams();
    both.send(&MAGIC, four.local().unwrap());
    let (from, _) = timeout(SOON, heard.recv()).await.unwrap().unwrap();
    assert_eq!(from.ip(), IpAddr::V4(Ipv4Addr::LOCALHOST));
    let [zero, _one] = quic_legs(&parties(), &[both, four.clone()]).await;
    assert_eq!(zero.channel.stream().socket().peer().unwrap(), four.local().unwrap());
}

#[tokio::test]
async fn nothing_is_left_after_the_end() {
    let ([client, server], parties) = (endpoints(), parties());
    let address = server.local().unwrap();
    let legs = quic_legs(&parties, &[client, server.clone()]).await;
    let quic = Arc::clone(&server.quic);
    drop(server);
    quic.stop().await;
    drop(legs);
    StdUdpSocket::bind(address).expect("the port is free");
}
