//! Whether the relay is reached, over TCP and UDP, and whether a NAT lies between.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use farhold_net::RelayAddress;
use farhold_wire::datagram::{Datagram, LONGEST, RequestNonce};
use tokio::net::{TcpStream, UdpSocket, lookup_host};
use tokio::time::timeout;

use super::{Finding, Verdict};

/// How long a relay may take to accept a connection: a few round trips of the longest link.
const WITHIN: Duration = Duration::from_secs(3);
/// Datagrams may get lost: how often the relay is asked, and how long each answer may take.
const TRIES: usize = 4;
const ANSWER: Duration = Duration::from_millis(800);

/// Whether both TCP ports accept connections.
pub(super) async fn tcp(relay: Option<&RelayAddress>) -> Finding {
    let Some(relay) = relay else {
        return Finding::bad(
            "relay",
            Verdict::Warning,
            "none is set, so contacts cannot be found",
            "set it with: farhold settings relay HOST:PORT",
        );
    };
    for (port, what) in [(relay.port, "rendezvous"), (relay.bridge_port, "bridge")] {
        let dial = TcpStream::connect((relay.host.as_str(), port));
        let problem = match timeout(WITHIN, dial).await {
            Ok(Ok(_)) => continue,
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer within {} s", WITHIN.as_secs()),
        };
        return Finding::bad(
            "relay",
            Verdict::Failed,
            format!("the {what} of {} (port {port}) cannot be reached: {problem}", relay.host),
            format!(
                "is farhold-relay running there, and do firewalls let TCP {} and {} through?",
                relay.port, relay.bridge_port
            ),
        );
    }
    Finding::ok("relay", format!("{relay} and its bridge accept connections"))
}

/// Whether datagrams come and go, and from where the relay sees them come.
pub(super) async fn udp(relay: Option<&RelayAddress>) -> Finding {
    let Some(relay) = relay else { return Finding::ok("udp", "is not looked at without a relay") };
    match seen_from(relay).await {
        Ok((here, seen)) if here.ip() == seen.ip() => {
            Finding::ok("udp", "reaches the relay, with no address translation (NAT) in between")
        }
        Ok((here, seen)) => {
            let port = if here.port() == seen.port() { "keeps" } else { "changes" };
            Finding::ok(
                "udp",
                format!(
                    "reaches the relay, through a NAT that shows you as {} and {port} the port",
                    seen.ip()
                ),
            )
        }
        Err(error) => Finding::bad(
            "udp",
            Verdict::Warning,
            format!(
                "does not reach the relay ({error}): connections go over TCP, which is slower on long links"
            ),
            format!("do firewalls let UDP {} through, here and at the relay?", relay.bridge_port),
        ),
    }
}

/// The address of a socket of ours, and the one that the relay sees it at.
async fn seen_from(relay: &RelayAddress) -> io::Result<(SocketAddr, SocketAddr)> {
    let found = timeout(WITHIN, lookup_host((relay.host.as_str(), relay.bridge_port)));
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for at in found.await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?? {
        match ask(at).await {
            Ok(answer) => return Ok(answer),
            Err(error) => last = error,
        }
    }
    Err(last)
}

async fn ask(relay: SocketAddr) -> io::Result<(SocketAddr, SocketAddr)> {
    let any: IpAddr =
        if relay.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).await?;
    socket.connect(relay).await?;
    let mut nonce = RequestNonce::default();
    getrandom::fill(&mut nonce)?;
    for _ in 0..TRIES {
        socket.send(&Datagram::Where { nonce }.encode()).await?;
        if let Ok(seen) = timeout(ANSWER, answer(&socket, nonce)).await {
            return Ok((socket.local_addr()?, seen?));
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}

async fn answer(socket: &UdpSocket, asked: RequestNonce) -> io::Result<SocketAddr> {
    let mut bytes = [0; LONGEST];
    loop {
        let length = socket.recv(&mut bytes).await?;
        if let Ok(Datagram::Here { nonce, address }) = Datagram::decode(&bytes[..length])
            && nonce == asked
        {
            return Ok(SocketAddr::new(address.ip().to_canonical(), address.port()));
        }
    }
}

#[cfg(test)]
mod tests {
    use farhold_relay::{RelayConfig, RelayServer};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_relay_needs_both_ports() {
        assert_eq!(tcp(None).await.verdict, Verdict::Warning);
        let first = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let second = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = |listener: &TcpListener| listener.local_addr().unwrap().port();
        let address =
            RelayAddress { host: "127.0.0.1".to_owned(), port: port(&first), bridge_port: port(&second) };
        assert_eq!(tcp(Some(&address)).await.verdict, Verdict::Ok);
        drop(second);
        let found = tcp(Some(&address)).await;
        assert_eq!(found.verdict, Verdict::Failed);
        assert!(found.detail.contains("bridge"), "{}", found.detail);
    }

    #[tokio::test]
    async fn a_relay_answers_over_udp_or_is_told_not_to() {
        let relay = RelayServer::start(RelayConfig::loopback()).unwrap();
        let addresses = relay.addresses();
        let address = |bridge_port| RelayAddress {
            host: "127.0.0.1".to_owned(),
            port: addresses.grpc.port(),
            bridge_port,
        };
        let found = udp(Some(&address(addresses.bridge.port()))).await;
        assert_eq!(found.verdict, Verdict::Ok);
        assert!(found.detail.contains("no address translation"), "{}", found.detail);
        let silent = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let found = udp(Some(&address(silent.local_addr().unwrap().port()))).await;
        assert_eq!(found.verdict, Verdict::Warning);
        relay.stop().await;
    }
}
