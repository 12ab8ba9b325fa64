use std::time::Duration;

use farhold_wire::bridge::BridgeSide::{One, Zero};
use farhold_wire::bridge::{BridgeCall, CALL_BYTES};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::*;

#[tokio::test]
async fn both_legs_of_one_side_long_before_the_other_side() {
    // As 20 s are to the 30 s of a real relay.
    let relay = start(|config| config.timings.parked = Duration::from_secs(3));
    let (first, second) = (1, 2);
    let mut joiner =
        [dial(HOME, &relay, &call(first, One)).await, dial(HOME, &relay, &call(second, One)).await];
    tokio::time::sleep(Duration::from_secs(2)).await;
    let mut creator =
        [dial(AWAY, &relay, &call(first, Zero)).await, dial(AWAY, &relay, &call(second, Zero)).await];
    for (a, b) in joiner.iter_mut().zip(&mut creator) {
        paired(a).await;
        paired(b).await;
        talk(a, b).await;
    }
    relay.stop().await;
}

#[tokio::test]
async fn a_side_is_never_paired_with_itself() {
    let relay = start(|config| config.timings.parked = Duration::from_millis(500));
    let mut home = dial(HOME, &relay, &call(1, Zero)).await;
    let mut away = dial(AWAY, &relay, &call(1, Zero)).await;
    closed(&mut home).await;
    closed(&mut away).await;
    assert_eq!(metric(&relay, "legs_ended_total{cause=\"unmatched\"}").await, 2);
    assert_eq!(metric(&relay, "pairs_total").await, 0);
    relay.stop().await;
}

#[tokio::test]
async fn a_recorded_call_is_not_played_back() {
    let relay = start(|_| {});
    let recorded = call(1, Zero);
    let mut honest = dial(HOME, &relay, &recorded).await;
    until(|| async { metric(&relay, "parked_legs").await == 1 }).await;
    closed(&mut dial(AWAY, &relay, &recorded).await).await;
    let reflected = BridgeCall { side: One, ..recorded };
    closed(&mut dial(AWAY, &relay, &reflected).await).await;
    assert_eq!(metric(&relay, "legs_ended_total{cause=\"repeated\"}").await, 2);

    let mut partner = dial(AWAY, &relay, &call(1, One)).await;
    paired(&mut honest).await;
    paired(&mut partner).await;
    relay.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_corpse_is_not_paired_however_fresh_it_is() {
    let relay = start(|_| {});
    for token in 0..200 {
        // Its end is on the way to the relay while the partner arrives.
        drop(dial(HOME, &relay, &call(token, Zero)).await);
        let mut partner = dial(AWAY, &relay, &call(token, One)).await;
        let mut alive = dial(HOME, &relay, &call(token, Zero)).await;
        paired(&mut alive).await;
        paired(&mut partner).await;
        talk(&mut alive, &mut partner).await;
    }
    relay.stop().await;
}

// On one thread, so that the caller has left before the relay hears its call.
#[tokio::test]
async fn a_caller_that_leaves_at_once_does_not_use_up_its_partner() {
    let relay = start(|_| {});
    for token in 0..200 {
        let mut parked = dial(HOME, &relay, &call(token, Zero)).await;
        drop(dial(AWAY, &relay, &call(token, One)).await);
        let mut partner = dial(AWAY, &relay, &call(token, One)).await;
        paired(&mut parked).await;
        paired(&mut partner).await;
        talk(&mut parked, &mut partner).await;
    }
    relay.stop().await;
}

#[tokio::test]
async fn a_parked_leg_whose_caller_went_frees_its_place_at_once() {
    let relay = start(|_| {});
    let leg = dial(HOME, &relay, &call(1, Zero)).await;
    until(|| async { metric(&relay, "parked_legs").await == 1 }).await;
    drop(leg);
    until(|| async { metric(&relay, "parked_legs").await == 0 }).await;
    until(|| async { metric(&relay, "connections{port=\"bridge\"}").await == 0 }).await;
    assert_eq!(metric(&relay, "legs_ended_total{cause=\"gone\"}").await, 1);
    relay.stop().await;
}

#[tokio::test]
async fn a_leg_dialled_again_takes_the_place_of_the_older_one() {
    let relay = start(|_| {});
    let mut older = dial(HOME, &relay, &call(1, Zero)).await;
    until(|| async { metric(&relay, "parked_legs").await == 1 }).await;
    let mut newer = dial(HOME, &relay, &call(1, Zero)).await;
    closed(&mut older).await;
    let mut partner = dial(AWAY, &relay, &call(1, One)).await;
    paired(&mut newer).await;
    paired(&mut partner).await;
    relay.stop().await;
}

#[tokio::test]
async fn a_stranger_who_knows_the_token_does_not_push_out_a_leg() {
    let relay = start(|_| {});
    let mut honest = dial(HOME, &relay, &call(1, Zero)).await;
    until(|| async { metric(&relay, "parked_legs").await == 1 }).await;
    let mut stranger = dial(AWAY, &relay, &call(1, Zero)).await;
    until(|| async { metric(&relay, "parked_legs").await == 2 }).await;
    let mut first = dial("127.0.0.3:0", &relay, &call(1, One)).await;
    paired(&mut stranger).await;
    paired(&mut first).await;
    let mut again = dial("127.0.0.3:0", &relay, &call(1, One)).await;
    paired(&mut honest).await;
    paired(&mut again).await;
    talk(&mut honest, &mut again).await;
    relay.stop().await;
}

#[tokio::test]
async fn whoever_speaks_before_being_paired_is_closed() {
    let relay = start(|_| {});
    let mut leg = dial(HOME, &relay, &call(1, Zero)).await;
    leg.write_all(b"x").await.unwrap();
    closed(&mut leg).await;
    until(|| async { metric(&relay, "parked_legs").await == 0 }).await;
    relay.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_races_make_exactly_one_pair_each() {
    let relay = start(|_| {});
    for batch in 0..20 {
        let mut races = tokio::task::JoinSet::new();
        for token in batch * 50..(batch + 1) * 50 {
            let (zero, one) = (call(token, Zero), call(token, One));
            let address = relay.addresses().bridge;
            races.spawn(async move {
                let leg = async |from, call: BridgeCall| {
                    let mut leg = connect(from, address).await;
                    leg.write_all(&call.encode()).await.unwrap();
                    paired(&mut leg).await;
                    leg
                };
                let (mut a, mut b) = tokio::join!(leg(HOME, zero), leg(AWAY, one));
                talk(&mut a, &mut b).await;
            });
        }
        races.join_all().await;
    }
    assert_eq!(metric(&relay, "pairs_total").await, 1000);
    until(|| async { metric(&relay, "connections{port=\"bridge\"}").await == 0 }).await;
    relay.stop().await;
}

#[tokio::test]
async fn what_is_no_call_is_closed() {
    let relay = start(|_| {});
    let good = call(1, Zero).encode();
    for (index, value) in [(0, 0), (0, 2), (33, 2)] {
        let mut bytes = good;
        bytes[index] = value;
        let mut leg = connect(HOME, relay.addresses().bridge).await;
        leg.write_all(&bytes).await.unwrap();
        closed(&mut leg).await;
    }
    let mut web = connect(HOME, relay.addresses().bridge).await;
    web.write_all(b"GET / HTTP/1.1\r\nHost: relay.example\r\nUser-Agent: browser\r\n\r\n").await.unwrap();
    closed(&mut web).await;
    assert_eq!(metric(&relay, "legs_ended_total{cause=\"malformed\"}").await, 4);
    relay.stop().await;
}

#[tokio::test]
async fn a_call_that_drips_is_cut() {
    let relay = start(|config| config.timings.opening = Duration::from_millis(500));
    let bytes = call(1, Zero).encode();
    let mut leg = connect(HOME, relay.addresses().bridge).await;
    let dripping = async {
        for byte in bytes.iter().take(CALL_BYTES - 1).cycle() {
            if leg.write_all(&[*byte]).await.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    soon(dripping).await;
    assert_eq!(metric(&relay, "legs_ended_total{cause=\"silent\"}").await, 1);
    relay.stop().await;
}

#[tokio::test]
async fn a_hundred_silent_callers_are_in_nobodys_way() {
    let relay = start(|_| {});
    let mut silent = Vec::new();
    for _ in 0..100 {
        silent.push(connect(HOME, relay.addresses().bridge).await);
    }
    let mut a = dial(HOME, &relay, &call(1, Zero)).await;
    let mut b = dial(HOME, &relay, &call(1, One)).await;
    paired(&mut a).await;
    paired(&mut b).await;
    assert_eq!(metric(&relay, "connections{port=\"bridge\"}").await, 102);
    relay.stop().await;
}

/// Pseudo-random bytes (xorshift64), the same for the same seed.
fn noise(seed: u64, buffer: &mut [u8]) -> u64 {
    let mut state = seed;
    for chunk in buffer.chunks_mut(8) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        chunk.copy_from_slice(&state.to_le_bytes()[..chunk.len()]);
    }
    state
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_megabytes_pass_unchanged_and_the_end_of_one_direction_leaves_the_other() {
    const PIECE: usize = 64 << 10;
    const PIECES: usize = 1600;
    let relay = start(|_| {});
    let mut a = dial(HOME, &relay, &call(1, Zero)).await;
    let mut b = dial(AWAY, &relay, &call(1, One)).await;
    paired(&mut a).await;
    paired(&mut b).await;

    let sending = async {
        let (mut piece, mut state) = (vec![0; PIECE], 1);
        for _ in 0..PIECES {
            state = noise(state, &mut piece);
            a.write_all(&piece).await.unwrap();
        }
        a.shutdown().await.unwrap();
    };
    let receiving = async {
        let (mut piece, mut expected, mut state) = (vec![0; PIECE], vec![0; PIECE], 1);
        for index in 0..PIECES {
            state = noise(state, &mut expected);
            soon(b.read_exact(&mut piece)).await.unwrap();
            assert!(piece == expected, "piece {index} differs");
        }
        assert_eq!(soon(b.read(&mut piece)).await.unwrap(), 0);
    };
    tokio::join!(sending, receiving);

    b.write_all(b"got it all").await.unwrap();
    b.shutdown().await.unwrap();
    let mut answer = String::new();
    soon(a.read_to_string(&mut answer)).await.unwrap();
    assert_eq!(answer, "got it all");
    let passed = (PIECE * PIECES + answer.len()) as u64;
    until(|| async { metric(&relay, "pairs").await == 0 }).await;
    assert_eq!(metric(&relay, "bridge_bytes_total").await, passed);
    assert_eq!(metric(&relay, "pairs_ended_total{cause=\"finished\"}").await, 1);
    relay.stop().await;
}
