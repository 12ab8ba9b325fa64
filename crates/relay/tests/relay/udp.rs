//! The UDP relay.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use farhold_relay::{Limit, Rate, RunningRelay};
use farhold_wire::bridge::BridgeSide::{self, One, Zero};
use farhold_wire::datagram::{Datagram, Join, Joined, MAGIC, Refusal};
use tokio::net::UdpSocket;

use crate::support::*;

/// A program's socket, and what it knows of its flow.
struct Caller {
    socket: UdpSocket,
    relay: SocketAddr,
    join: Join,
}

impl Caller {
    async fn new(from: &str, relay: &RunningRelay, token: u8, side: BridgeSide) -> Self {
        let socket = UdpSocket::bind(from).await.unwrap();
        let join = Join { token: [token; 32], side, nonce: [side as u8 + 1; 8], cookie: [0; 8] };
        Self { socket, relay: relay.addresses().bridge, join }
    }

    async fn send(&self, bytes: &[u8]) {
        self.socket.send_to(bytes, self.relay).await.unwrap();
    }

    async fn hear(&self) -> Vec<u8> {
        let mut buffer = vec![0; 65_536];
        let (length, from) = soon(self.socket.recv_from(&mut buffer)).await.unwrap();
        assert_eq!(from, self.relay);
        buffer.truncate(length);
        buffer
    }

    async fn ask(&self, request: &Datagram) -> Datagram {
        self.send(&request.encode()).await;
        Datagram::decode(&self.hear().await).unwrap()
    }

    /// Joins, and proves the address.
    async fn join(&mut self) -> Joined {
        for _ in 0..2 {
            let answer = self.ask(&Datagram::Join(self.join.clone())).await;
            let Datagram::Joined(joined) = answer else { panic!("{answer:?}") };
            if joined.cookie == self.join.cookie {
                return joined;
            }
            self.join.cookie = joined.cookie;
        }
        panic!("the cookie changes");
    }

    /// The relay's word that the other side has come.
    async fn other_came(&self) {
        let word = Datagram::decode(&self.hear().await).unwrap();
        let Datagram::Joined(joined) = word else { panic!("{word:?}") };
        assert!(joined.both && joined.nonce == self.join.nonce);
    }
}

async fn pair(relay: &RunningRelay, token: u8) -> (Caller, Caller) {
    let mut zero = Caller::new(HOME, relay, token, Zero).await;
    let mut one = Caller::new(AWAY, relay, token, One).await;
    assert!(!zero.join().await.both);
    assert!(one.join().await.both);
    zero.other_came().await;
    (zero, one)
}

fn lost(cause: &str) -> String {
    format!("udp_lost_total{{cause=\"{cause}\"}}")
}

#[tokio::test]
async fn a_caller_is_told_its_address() {
    let relay = start(|_| {});
    let caller = Caller::new(AWAY, &relay, 1, Zero).await;
    let address = caller.socket.local_addr().unwrap();
    let here = caller.ask(&Datagram::Where { nonce: [5; 8] }).await;
    assert_eq!(here, Datagram::Here { nonce: [5; 8], address });
    relay.stop().await;
}

#[tokio::test]
async fn two_sides_exchange_datagrams_and_nobody_else_does() {
    let relay = start(|_| {});
    let (zero, one) = pair(&relay, 1).await;
    let (other, _other_one) = pair(&relay, 2).await;
    let stranger = Caller::new(HOME, &relay, 1, Zero).await;
    stranger.send(b"forged").await;
    other.send(b"of another flow").await;
    zero.send(b"ping").await;
    one.send(b"pong").await;
    assert_eq!((one.hear().await, zero.hear().await), (b"ping".to_vec(), b"pong".to_vec()));
    assert_eq!(metric(&relay, "udp_flows").await, 2);
    assert_eq!(metric(&relay, "udp_sides").await, 4);
    assert_eq!(metric(&relay, "udp_datagrams_total").await, 3);
    assert_eq!(metric(&relay, "udp_bytes_total").await, 23);
    assert_eq!(metric(&relay, &lost("stranger")).await, 1);
    relay.stop().await;
}

#[tokio::test]
async fn many_datagrams_of_mixed_sizes_come_whole_and_unmixed() {
    let relay = start(|_| {});
    let (zero, one) = pair(&relay, 1).await;
    // A number, then bytes that follow from it.
    let datagram = |number: u32| {
        let size = if number.is_multiple_of(7) { 40 + number as usize % 1000 } else { 1400 };
        let rest = (0..size).map(|index| (index as u32 ^ number) as u8);
        number.to_be_bytes().into_iter().chain(rest).collect::<Vec<u8>>()
    };
    const WINDOW: u32 = 50;
    const COUNT: u32 = 20_000;
    // Both ways at once. Each waits for what the other had to send, so that no buffer overflows on a busy machine.
    let exchange = async |from: &Caller| {
        let mut heard = BTreeSet::new();
        for number in 0..COUNT {
            from.send(&datagram(number)).await;
            while number + 1 - heard.len() as u32 >= WINDOW
                || (number + 1 == COUNT && heard.len() as u32 != COUNT)
            {
                let bytes = from.hear().await;
                let number = u32::from_be_bytes(bytes[..4].try_into().unwrap());
                assert!(bytes == datagram(number), "datagram {number}");
                assert!(heard.insert(number), "datagram {number} came twice");
            }
        }
    };
    tokio::join!(exchange(&zero), exchange(&one));
    assert_eq!(metric(&relay, "udp_datagrams_total").await, u64::from(2 * COUNT));
    relay.stop().await;
}

#[tokio::test]
async fn an_address_that_changes_takes_its_flow_along() {
    let relay = start(|_| {});
    let (zero, one) = pair(&relay, 1).await;
    let mut moved = Caller::new("127.0.0.3:0", &relay, 1, Zero).await;
    assert!(moved.join().await.both);
    one.send(b"to the new address").await;
    assert_eq!(moved.hear().await, b"to the new address");
    moved.send(b"from the new address").await;
    assert_eq!(one.hear().await, b"from the new address");
    zero.send(b"from the old address").await;
    until(|| async { metric(&relay, &lost("stranger")).await == 1 }).await;
    relay.stop().await;
}

#[tokio::test]
async fn what_begins_like_ours_and_is_no_request_goes_nowhere() {
    let relay = start(|_| {});
    let (zero, one) = pair(&relay, 1).await;
    let joined = Joined { nonce: [2; 8], cookie: [0; 8], both: false, address: one.relay };
    for bytes in [MAGIC.to_vec(), Datagram::Joined(joined).encode(), [&MAGIC[..], &[3; 90]].concat()] {
        zero.send(&bytes).await;
    }
    zero.send(b"").await;
    zero.send(b"the first that is passed on").await;
    assert_eq!(one.hear().await, b"the first that is passed on");
    assert_eq!(metric(&relay, &lost("malformed")).await, 3);
    relay.stop().await;
}

#[tokio::test]
async fn an_address_that_has_not_proved_itself_gets_little() {
    let relay = start(|_| {});
    let mut zero = Caller::new(HOME, &relay, 1, Zero).await;
    zero.join().await;
    let victim = Caller::new(AWAY, &relay, 1, One).await;
    victim.ask(&Datagram::Join(victim.join.clone())).await;
    zero.other_came().await;
    for _ in 0..100 {
        zero.send(&[7; 1000]).await;
    }
    until(|| async { metric(&relay, &lost("unproven")).await >= 80 }).await;
    assert!(metric(&relay, "udp_bytes_total").await <= 16_384);
    relay.stop().await;
}

#[tokio::test]
async fn floods_of_joins_and_requests_meet_their_limits_and_others_are_served() {
    let relay = start(|config| {
        config.limits.udp_sides = Limit::new(100, 5);
        config.limits.udp_request_rate = Rate { every: Duration::from_secs(600), burst: 20 };
    });
    let mut refused = 0;
    for token in 0..8 {
        let flooder = Caller::new(HOME, &relay, 10 + token, Zero).await;
        let answer = flooder.ask(&Datagram::Join(flooder.join.clone())).await;
        let full = Datagram::Refused { nonce: flooder.join.nonce, reason: Refusal::SourceFull };
        refused += usize::from(answer == full);
    }
    assert_eq!(refused, 3);
    let flooder = Caller::new(HOME, &relay, 1, Zero).await;
    for _ in 0..20 {
        flooder.send(&Datagram::Where { nonce: [1; 8] }.encode()).await;
    }
    until(|| async { metric(&relay, &lost("too_fast")).await == 8 }).await;
    assert_eq!(metric(&relay, "udp_joins_refused_total{cause=\"source_full\"}").await, 3);
    let mut good = Caller::new(AWAY, &relay, 1, Zero).await;
    assert!(!good.join().await.both);
    relay.stop().await;
}

#[tokio::test]
async fn a_source_that_sends_too_much_loses_it_and_others_do_not() {
    let relay = start(|config| config.limits.source_bytes_per_second = 40_000);
    let (zero, one) = pair(&relay, 1).await;
    for _ in 0..50 {
        zero.send(&[7; 1000]).await;
    }
    until(|| async { metric(&relay, &lost("too_fast")).await >= 30 }).await;
    one.send(b"fine").await;
    assert_eq!(zero.hear().await, b"fine");
    relay.stop().await;
}

#[tokio::test]
async fn a_side_that_does_not_join_again_is_forgotten() {
    let relay = start(|config| config.timings.udp_side = Duration::from_millis(300));
    let (zero, _one) = pair(&relay, 1).await;
    until(|| async { metric(&relay, "udp_sides").await == 0 }).await;
    let ended = Datagram::Refused { nonce: zero.join.nonce, reason: Refusal::Ended };
    assert_eq!(zero.ask(&Datagram::Join(zero.join.clone())).await, ended);
    relay.stop().await;
}
