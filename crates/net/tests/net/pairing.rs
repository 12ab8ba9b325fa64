use farhold_net::NetEvent;

use crate::support::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_who_have_each_others_code_are_paired_and_connect() {
    let relay = relay();
    for make in [config, relayed] {
        let (mut a, mut b) =
            (Node::start(make(&address(&relay))).await, Node::start(make(&address(&relay))).await);
        a.net.pair(*b.identity.code()).unwrap();
        b.net.pair(*a.identity.code()).unwrap();
        let (paired_a, paired_b) = (a.event().await, b.event().await);
        let (
            NetEvent::Paired { code: of_b, contact: saved_b, words: words_a },
            NetEvent::Paired { code: of_a, contact: saved_a, words: words_b },
        ) = (paired_a, paired_b)
        else {
            panic!("not paired")
        };
        assert_eq!((of_a, of_b), (*a.identity.code(), *b.identity.code()));
        assert_eq!((saved_a.id, saved_b.id), (a.id(), b.id()));
        assert_eq!(saved_a.secret.as_bytes(), saved_b.secret.as_bytes());
        assert_eq!(words_a, words_b);
        assert_eq!(words_a.split(' ').count(), 4);
        a.net.confirm_stored(saved_b).unwrap();
        b.net.confirm_stored(saved_a).unwrap();
        assert!(matches!(a.event().await, NetEvent::Promoted { id } if id == b.id()));
        assert!(matches!(b.event().await, NetEvent::Promoted { id } if id == a.id()));
        a.net.connect(b.id()).unwrap();
        a.connected(&b).await;
        b.connected(&a).await;
        a.net.stop().await;
        b.net.stop().await;
    }
}
