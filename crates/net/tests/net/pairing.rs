use std::sync::Arc;
use std::time::Duration;

use farhold_net::{NetConfig, NetError, NetEvent, SavedContact};
use farhold_secure::Identity;
use farhold_wire::LaneClass;
use tokio::time::{sleep, timeout};

use crate::support::*;

/// What a pairing brought, and the words.
async fn paired(node: &mut Node) -> (SavedContact, String) {
    match node.event().await {
        NetEvent::Paired { contact, words, .. } => (contact, words),
        NetEvent::Promoted { id } => panic!("{id} was promoted"),
    }
}

async fn promoted(node: &mut Node, other: &Identity) {
    let event = node.event().await;
    assert!(matches!(event, NetEvent::Promoted { id } if id == id_of(other)), "{event:?}");
}

/// Its contacts are only in memory here: this is what was on its disk.
async fn restarted(node: Node, config: NetConfig) -> Node {
    node.net.stop().await;
    Node::with(config, node.identity, Arc::new(Files::default())).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_who_have_each_others_code_are_paired_and_connect() {
    let relay = relay();
    for make in [config, relayed] {
        let (mut a, mut b) =
            (Node::start(make(&address(&relay))).await, Node::start(make(&address(&relay))).await);
        assert_eq!(a.net.pair(*b.identity.code()).unwrap(), b.id());
        b.net.pair(*a.identity.code()).unwrap();
        let ((saved_b, words_a), (saved_a, words_b)) = tokio::join!(paired(&mut a), paired(&mut b));
        assert_eq!((saved_a.id, saved_b.id), (a.id(), b.id()));
        assert_eq!((&saved_a.keys, &saved_b.keys), (a.identity.public(), b.identity.public()));
        assert!(saved_a.provisional && saved_b.provisional);
        assert_eq!(saved_a.secret.as_bytes(), saved_b.secret.as_bytes());
        assert_eq!(words_a, words_b);
        assert_eq!(words_a.split(' ').count(), 4);
        a.net.confirm_stored(saved_b).unwrap();
        b.net.confirm_stored(saved_a).unwrap();
        promoted(&mut a, &b.identity).await;
        promoted(&mut b, &a.identity).await;
        a.net.connect(b.id()).unwrap();
        a.connected(&b).await;
        b.connected(&a).await;
        read(&a.peer(&b), 0, 100, LaneClass::Urgent).await.unwrap();
        // To pair again takes an explicit act.
        assert!(matches!(a.net.pair(*b.identity.code()), Err(NetError::AlreadyPaired(_))));
        a.net.stop().await;
        b.net.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_comes_of_one_code_alone() {
    let relay = relay();
    let (mut a, b) =
        (Node::start(config(&address(&relay))).await, Node::start(config(&address(&relay))).await);
    let stranger = Identity::generate().unwrap();
    a.net.pair(*b.identity.code()).unwrap();
    b.net.pair(*stranger.code()).unwrap();
    assert!(timeout(Duration::from_secs(2), a.events.recv()).await.is_err());
    assert!(matches!(a.net.pair(*a.identity.code()), Err(NetError::OwnCode)));
    a.net.cancel_pairing(b.identity.code());
    b.net.pair(*a.identity.code()).unwrap();
    assert!(timeout(Duration::from_secs(2), a.events.recv()).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_pairings_at_once() {
    let relay = relay();
    let mut hub = Node::start(config(&address(&relay))).await;
    let mut others = Vec::new();
    for _ in 0..3 {
        let other = Node::start(config(&address(&relay))).await;
        hub.net.pair(*other.identity.code()).unwrap();
        other.net.pair(*hub.identity.code()).unwrap();
        others.push(other);
    }
    for _ in &others {
        let (contact, _) = paired(&mut hub).await;
        hub.net.confirm_stored(contact).unwrap();
    }
    for other in &mut others {
        let (contact, _) = paired(other).await;
        other.net.confirm_stored(contact).unwrap();
        promoted(other, &hub.identity).await;
        other.net.connect(hub.id()).unwrap();
        other.connected(&hub).await;
    }
}

/// A stored the secret and B's program ended before it had: they pair again by themselves.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_before_one_side_has_stored_heals() {
    let relay = relay();
    let at = address(&relay);
    let (mut a, mut b) = (Node::start(config(&at)).await, Node::start(config(&at)).await);
    a.net.pair(*b.identity.code()).unwrap();
    b.net.pair(*a.identity.code()).unwrap();
    let ((of_b, _), (lost, _)) = tokio::join!(paired(&mut a), paired(&mut b));
    a.net.confirm_stored(of_b).unwrap();
    let mut b = restarted(b, config(&at)).await;
    b.net.pair(*a.identity.code()).unwrap();
    let ((of_b, _), (of_a, _)) = tokio::join!(paired(&mut a), paired(&mut b));
    assert_ne!(of_a.secret.as_bytes(), lost.secret.as_bytes());
    assert_eq!(of_a.secret.as_bytes(), of_b.secret.as_bytes());
    a.net.confirm_stored(of_b).unwrap();
    b.net.confirm_stored(of_a).unwrap();
    promoted(&mut a, &b.identity).await;
    promoted(&mut b, &a.identity).await;
    a.net.connect(b.id()).unwrap();
    a.connected(&b).await;
}

/// Both have stored the secret, and neither heard of it from the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_after_both_sides_have_stored_heals_without_another_round() {
    let relay = relay();
    let at = address(&relay);
    let (mut a, mut b) = (Node::start(config(&at)).await, Node::start(config(&at)).await);
    a.net.pair(*b.identity.code()).unwrap();
    b.net.pair(*a.identity.code()).unwrap();
    let ((of_b, _), (of_a, _)) = tokio::join!(paired(&mut a), paired(&mut b));
    let mut a = restarted(a, config(&at)).await;
    let mut b = restarted(b, relayed(&at)).await;
    a.net.add(of_b).unwrap();
    sleep(Duration::from_millis(200)).await;
    b.net.add(of_a).unwrap();
    // Asking once more for what is pending changes nothing.
    a.net.pair(*b.identity.code()).unwrap();
    promoted(&mut a, &b.identity).await;
    promoted(&mut b, &a.identity).await;
    b.net.connect(a.id()).unwrap();
    b.connected(&a).await;
}
