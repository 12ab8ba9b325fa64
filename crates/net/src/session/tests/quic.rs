//! Both ends are sessions, on one QUIC connection.

use std::net::Ipv4Addr;

use tokio::task::JoinHandle;

use super::*;
use crate::listener::{self, Reception};
use crate::quic::Quic;
use crate::testing::{endpoints, quic_legs};

struct Both {
    sessions: [Session; 2],
    reports: [mpsc::Receiver<(SessionId, SessionEvent)>; 2],
    tracker: TaskTracker,
    /// Takes TCP lanes at side 1.
    listening: JoinHandle<()>,
}

impl Both {
    /// Side 0 has dialled, and nominated.
    async fn new(path: Path) -> Self {
        let parties = parties();
        let quic = Quic::new(Arc::default()).unwrap();
        let (tcp, server) = listener::bind(&quic, Some(Ipv4Addr::LOCALHOST.into()), 0).await.unwrap();
        let [client, _] = endpoints();
        let legs = quic_legs(&parties, &[client, server]).await;
        let tickets = Arc::<Tickets>::default();
        let reception = Reception {
            roster: Arc::default(),
            tickets: Arc::clone(&tickets),
            counter: Arc::default(),
            gate: Arc::default(),
            cancel: CancellationToken::new(),
        };
        let listening = tokio::spawn(listener::serve(tcp, Arc::new(reception)));
        let tracker = TaskTracker::new();
        let mut of = parties.iter();
        let [(zero, of_zero), (mut one, of_one)] = legs.map(|leg| {
            let parties = of.next().unwrap();
            let (reports, receiver) = mpsc::channel(16);
            let setup = Setup {
                id: SessionId(1),
                leg,
                path,
                number: 5,
                parties: Arc::clone(parties),
                nonces: None,
                keeper: None,
                relay: None,
                tickets: Arc::clone(&tickets),
                serving: Serving::new(ContactId([1; 16]), Arc::new(Silent), Arc::default()),
                counter: Arc::default(),
                reports,
                former_window: None,
                receive: Arc::default(),
                cancel: CancellationToken::new(),
            };
            (setup, receiver)
        });
        let zero = Session::start(zero, &tracker);
        assert_eq!(one.leg.first_words(Side::One, 0).await.unwrap(), Some(5));
        let one = Session::start(one, &tracker);
        Self { sessions: [zero, one], reports: [of_zero, of_one], tracker, listening }
    }

    /// Waits until all lanes stand at both ends, of which there are so many, and so many of them on TCP.
    async fn lanes(&mut self, all: usize, tcp: usize) {
        for session in &mut self.sessions {
            let wanted = |view: &View| {
                let on_tcp = view.lanes.iter().filter(|lane| lane.transport == Transport::Tcp).count();
                let standing = view.lanes.iter().all(|lane| lane.missing.is_none());
                standing && (view.lanes.len(), on_tcp) == (all, tcp)
            };
            let waited = timeout(PATIENCE, session.view.wait_for(wanted)).await.is_ok();
            assert!(waited, "{:?}", session.view.borrow().lanes);
        }
    }

    async fn nothing_left(self) {
        drop(self.sessions);
        self.tracker.close();
        timeout(PATIENCE, self.tracker.wait()).await.expect("the tasks end");
        self.listening.abort();
    }
}

#[tokio::test]
async fn its_lanes_are_streams_of_one_connection() {
    let mut both = Both::new(Path::Punched).await;
    // The control lane, an urgent lane of each side, two bulk lanes.
    both.lanes(5, 0).await;
    assert_eq!(both.sessions[0].transport, Transport::Quic);
    both.nothing_left().await;
}

#[tokio::test]
async fn on_a_short_path_tcp_lanes_run_beside_them() {
    let mut both = Both::new(Path::Lan).await;
    both.lanes(7, 2).await;
    both.nothing_left().await;
}

#[tokio::test]
async fn goodbyes_are_heard() {
    let both = Both::new(Path::Punched).await;
    let Both { sessions: [zero, _one], mut reports, .. } = both;
    zero.order(Order::End(Some(Goodbye::Stopping)));
    let heard = timeout(PATIENCE, reports[1].recv()).await.unwrap().unwrap();
    assert_eq!(heard.1, SessionEvent::Goodbye(Goodbye::Stopping));
}

#[tokio::test]
async fn a_connection_that_ends_is_a_cut() {
    let mut both = Both::new(Path::Punched).await;
    both.lanes(5, 0).await;
    let Both { sessions: [zero, _one], mut reports, .. } = both;
    drop(zero);
    let heard = timeout(PATIENCE, reports[1].recv()).await.unwrap().unwrap();
    assert_eq!(heard.1, SessionEvent::Closed);
}
