//! One end is a session, the other is whoever says what it likes on the control lane.

use farhold_secure::exchange::{EXCHANGE_EVERY, Exchange};
use farhold_wire::{ContactId, LaneClass};
use tokio::time::{Instant, advance, timeout};

use super::*;
use crate::control::{ControlChannel, ControlError};
use crate::testing::{Silent, legs, parties};

mod quic;

const PATIENCE: Duration = Duration::from_secs(10);

struct Other {
    channel: ControlChannel,
    exchange: Exchange,
    session: Session,
    reports: mpsc::Receiver<(SessionId, SessionEvent)>,
    tracker: TaskTracker,
}

impl Other {
    /// The session is side 1's; the other end is side 0, and has nominated.
    async fn new() -> Self {
        let parties = parties();
        let [zero, one] = legs(&parties).await;
        let (reports, report_receiver) = mpsc::channel(16);
        let tracker = TaskTracker::new();
        let setup = Setup {
            id: SessionId(1),
            leg: one,
            path: Path::Direct,
            number: 5,
            parties: Arc::clone(&parties[1]),
            nonces: None,
            keeper: None,
            relay: None,
            tickets: Arc::default(),
            serving: Serving::new(ContactId([1; 16]), Arc::new(Silent), Arc::default()),
            counter: Arc::default(),
            reports,
            former_window: None,
            receive: Arc::default(),
            cancel: CancellationToken::new(),
        };
        let session = Session::start(setup, &tracker);
        let (channel, exchange) = (zero.channel, zero.exchange);
        let mut other = Self { channel, exchange, session, reports: report_receiver, tracker };
        assert_eq!(other.hear().await, Message::Attempt(5));
        other
    }

    async fn say(&mut self, message: Message) {
        self.channel.send(message).unwrap();
        self.channel.flush().await.unwrap();
    }

    async fn hear(&mut self) -> Message {
        timeout(PATIENCE, self.channel.receive()).await.expect("a message in time").unwrap()
    }

    /// The next message that is none of those that come by themselves.
    async fn answer(&mut self) -> Message {
        loop {
            let message = self.hear().await;
            if !matches!(message, Message::About { .. } | Message::Ping(_) | Message::LaneOffer { .. }) {
                return message;
            }
        }
    }

    async fn report(&mut self) -> SessionEvent {
        timeout(PATIENCE, self.reports.recv()).await.expect("a report in time").unwrap().1
    }

    /// Nothing of the session is left.
    async fn nothing_left(self) {
        drop(self.session);
        self.tracker.close();
        timeout(PATIENCE, self.tracker.wait()).await.expect("the task ends");
    }
}

fn offer(lane: u32, class: LaneClass) -> Message {
    Message::LaneOffer { lane, class, nonce: [1; 32], bridge_leg: None, tcp_beside: false }
}

#[tokio::test]
async fn it_pings_offers_its_lane_and_answers() {
    let mut other = Other::new().await;
    let mut seen = [false; 3];
    while seen != [true; 3] {
        let message = other.hear().await;
        let what = [
            matches!(&message, Message::About { build } if !build.is_empty()),
            message == Message::Ping(1),
            matches!(&message, Message::LaneOffer { lane: 3, class: LaneClass::Urgent, .. }),
        ];
        let what = what.iter().position(|it| *it).unwrap_or_else(|| panic!("{message:?}"));
        seen[what] = true;
    }
    other.say(Message::Ping(77)).await;
    assert_eq!(other.answer().await, Message::Pong(77));
    other.say(Message::Pong(1)).await;
    let view = &mut other.session.view;
    timeout(PATIENCE, view.wait_for(|view| view.rtt.is_some())).await.unwrap().unwrap();
    other.nothing_left().await;
}

#[tokio::test]
async fn what_has_no_place_here_ends_it() {
    for wrong in [
        Message::Nominate(9),
        Message::Attempt(9),
        Message::Pairing(crate::control::PairingStep::Stored),
        Message::ExchangeConfirm(1),
        offer(3, LaneClass::Urgent),
        offer(0, LaneClass::Urgent),
        Message::LaneOffer {
            lane: 2,
            class: LaneClass::Bulk,
            nonce: [1; 32],
            bridge_leg: Some(1),
            tcp_beside: false,
        },
    ] {
        let mut other = Other::new().await;
        other.say(wrong.clone()).await;
        assert_eq!(other.report().await, SessionEvent::Closed, "{wrong:?}");
        other.nothing_left().await;
    }
}

#[tokio::test]
async fn more_lanes_than_there_may_be_are_refused() {
    let mut other = Other::new().await;
    let mut taken = 0;
    for index in 0..40 {
        other.say(offer(2 + 2 * index, LaneClass::Bulk)).await;
        let answer = other.answer().await;
        if matches!(answer, Message::LaneRefusal { .. }) {
            break;
        }
        assert!(matches!(answer, Message::LaneAnswer { .. }), "{answer:?}");
        taken += 1;
    }
    assert_eq!(taken, 24);
    other.nothing_left().await;
}

#[tokio::test]
async fn who_asks_and_does_not_listen_is_cut() {
    let mut other = Other::new().await;
    // Far more pongs than the system's buffers and ours hold.
    let flood = async {
        for number in 0.. {
            if other.channel.send(Message::Ping(number)).is_err() && other.channel.flush().await.is_err() {
                return;
            }
        }
    };
    timeout(PATIENCE, flood).await.expect("the connection is closed");
    assert_eq!(other.report().await, SessionEvent::Closed);
    other.nothing_left().await;
}

#[tokio::test]
async fn an_exchange_renews_the_keys_of_both_sides() {
    let mut other = Other::new().await;
    tokio::time::pause();
    advance(EXCHANGE_EVERY).await;
    tokio::time::resume();
    let offer = other.exchange.poll(Instant::now().into_std()).unwrap().expect("an exchange is due");
    other.say(Message::ExchangeOffer(offer)).await;
    let answer = loop {
        if let Message::ExchangeAnswer(answer) = other.answer().await {
            break answer;
        }
    };
    let confirm = other.exchange.answered(&answer, Instant::now().into_std()).unwrap();
    other.say(Message::ExchangeConfirm(confirm)).await;
    let view = &mut other.session.view;
    timeout(PATIENCE, view.wait_for(|view| view.epoch == 1)).await.unwrap().unwrap();
    // Under the new keys.
    other.say(Message::Ping(7)).await;
    assert_eq!(other.answer().await, Message::Pong(7));
    other.nothing_left().await;
}

#[tokio::test]
async fn goodbyes_are_said_and_heard() {
    let mut other = Other::new().await;
    other.say(Message::Goodbye(Goodbye::User)).await;
    assert_eq!(other.report().await, SessionEvent::Goodbye(Goodbye::User));
    other.nothing_left().await;

    let mut other = Other::new().await;
    other.session.order(Order::End(Some(Goodbye::Stopping)));
    assert_eq!(other.answer().await, Message::Goodbye(Goodbye::Stopping));
    let ended = timeout(PATIENCE, other.channel.receive()).await.unwrap();
    assert!(matches!(ended, Err(ControlError::Ended)), "{ended:?}");
    other.nothing_left().await;
}

#[tokio::test]
async fn a_session_that_was_replaced_waits_for_its_calls() {
    let mut other = Other::new().await;
    let call = other.session.calls.activity.call();
    other.session.order(Order::Retire);
    let early = timeout(RETIRED_LEAST + Duration::from_millis(500), other.answer()).await;
    assert!(early.is_err(), "{early:?}");
    drop(call);
    assert_eq!(other.answer().await, Message::Goodbye(Goodbye::Replaced));
    other.nothing_left().await;
}
