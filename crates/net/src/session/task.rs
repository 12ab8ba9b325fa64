//! The task of a session.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::num::NonZeroU8;
use std::sync::Arc;

use farhold_secure::exchange::{Exchange, ExchangeError};
use farhold_secure::session::SessionKeys;
use farhold_secure::{RandomError, Side, random};
use farhold_wire::LaneClass;
use tokio::sync::{mpsc, watch};
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::lanes::{Agreed, Base, Fresh, Lanes, OfferError, Owner, Route};
use super::opening::{self, OpeningError, Way};
use super::pulse::{Beat, Pulse};
use super::{Calls, GOODBYE_WITHIN, Order, RETIRED_LEAST, RETIRED_MOST, Setup, View, first_word};
use crate::bulk::BulkLane;
use crate::calls::rpc::{self, PeerClient};
use crate::calls::serving::Serving;
use crate::clock;
use crate::config::RelayAddress;
use crate::connect::lifecycle::{Goodbye, Nonce, SessionEvent, SessionId};
use crate::control::{ControlChannel, ControlError, Message};
use crate::counters::WireCounter;
use crate::leg::Parties;
use crate::quic::Link;
use crate::state::{LaneInfo, Path};
use crate::stream::RecordStream;
use crate::tickets::Tickets;

/// Marks the bridge legs of lanes, so that they never are those of an attempt.
const LANE_LEGS: u32 = 1 << 31;

/// How a session ended.
#[derive(Debug)]
enum End {
    /// We were told to.
    Ordered(Option<Goodbye>),
    /// The contact said so.
    Goodbye(Goodbye),
    /// The control lane broke, or what came on it was wrong.
    Broken(ControlError),
}

impl From<ControlError> for End {
    fn from(error: ControlError) -> Self {
        Self::Broken(error)
    }
}

impl From<ExchangeError> for End {
    fn from(error: ExchangeError) -> Self {
        tracing::warn!(%error, "the keys of a session cannot be renewed");
        Self::Broken(ControlError::OutOfTurn)
    }
}

impl From<RandomError> for End {
    fn from(error: RandomError) -> Self {
        tracing::error!(%error, "a session ends without random numbers");
        Self::Ordered(None)
    }
}

/// What came of a lane.
type Opened = (Agreed, Result<RecordStream, OpeningError>);
/// What a lane that ends by a panic, which is a fault of ours, is missing for.
const FAILED: &str = "the lane failed here";

pub(super) struct Task {
    id: SessionId,
    path: Path,
    channel: ControlChannel,
    keys: SessionKeys,
    exchange: Exchange,
    /// We dial the lanes, at this address.
    dials: Option<SocketAddr>,
    /// The control lane's QUIC connection.
    link: Option<Link>,
    parties: Arc<Parties>,
    nonces: Option<(Nonce, Nonce)>,
    relay: Option<RelayAddress>,
    tickets: Arc<Tickets>,
    serving: Serving,
    counter: Arc<WireCounter>,
    reports: mpsc::Sender<(SessionId, SessionEvent)>,
    cancel: CancellationToken,
    calls: Arc<Calls>,
    urgent: watch::Sender<Option<PeerClient>>,
    view: watch::Sender<View>,
    orders: mpsc::Receiver<Order>,
    lanes: Lanes,
    pulse: Pulse,
    counters: HashMap<u32, Arc<WireCounter>>,
    openings: JoinSet<Opened>,
    /// Lanes that stand; each ends with the reason.
    running: JoinSet<String>,
    /// Of which lane each task of the two is.
    tasks: HashMap<Id, u32>,
    /// Of a QUIC session that the other side dialled: takes the streams.
    _streams: JoinSet<()>,
    build: Option<String>,
    /// Since when a newer session carries on.
    retired: Option<Instant>,
    first: Message,
}

impl Task {
    pub(super) fn new(
        setup: Setup,
        calls: Arc<Calls>,
        urgent: watch::Sender<Option<PeerClient>>,
        view: watch::Sender<View>,
        orders: mpsc::Receiver<Order>,
    ) -> Self {
        let Setup {
            id,
            leg,
            path,
            number,
            parties,
            nonces,
            keeper: _,
            relay,
            tickets,
            serving,
            counter,
            reports,
            receive: _,
            former_window: _,
            cancel,
        } = setup;
        let side = parties.side();
        let crate::leg::Leg { mut channel, session: keys, exchange, pairing: _, initiated } = leg;
        let counter = WireCounter::part_of(&counter);
        let stream = channel.stream_mut();
        stream.report_to(Arc::clone(&calls.activity));
        stream.cancel_with(cancel.clone());
        stream.socket_mut().count_on(WireCounter::part_of(&counter));
        let socket = channel.stream().socket();
        socket.prioritise(None);
        let link = socket.link().cloned();
        let base = match (&link, path) {
            (Some(_), Path::Lan | Path::Direct) => Base::Quic { tcp_beside: true },
            (Some(_), Path::Punched | Path::Relayed) => Base::Quic { tcp_beside: false },
            (None, Path::Relayed) => Base::Bridge,
            (None, Path::Lan | Path::Direct | Path::Punched) => Base::Tcp,
        };
        let dials = (initiated && base != Base::Bridge).then(|| socket.peer().ok()).flatten();
        let mut streams = JoinSet::new();
        if let Some(link) = &link {
            link.admit();
            if !initiated {
                streams.spawn(opening::take_streams(link.clone(), Arc::clone(&tickets)));
            }
        }
        Self {
            id,
            path,
            channel,
            keys,
            exchange,
            dials,
            link,
            parties,
            nonces,
            relay,
            tickets,
            serving,
            counter,
            reports,
            cancel,
            calls,
            urgent,
            view,
            orders,
            lanes: Lanes::new(side, base, Instant::now()),
            pulse: Pulse::new(),
            counters: HashMap::new(),
            openings: JoinSet::new(),
            running: JoinSet::new(),
            tasks: HashMap::new(),
            _streams: streams,
            build: None,
            retired: None,
            first: first_word(side, number),
        }
    }

    pub(super) async fn run(mut self) {
        let Err(end) = self.talk().await;
        let report = match end {
            End::Ordered(goodbye) => {
                self.leave(goodbye).await;
                None
            }
            End::Goodbye(goodbye) => Some(SessionEvent::Goodbye(goodbye)),
            End::Broken(error) => {
                tracing::debug!(%error, "a control lane ended");
                Some(SessionEvent::Closed)
            }
        };
        self.cancel.cancel();
        if let Some(report) = report {
            self.report(report).await;
        }
    }

    /// Runs the session until it ends.
    async fn talk(&mut self) -> Result<std::convert::Infallible, End> {
        let first = std::mem::replace(&mut self.first, Message::Ping(0));
        self.channel.send(first)?;
        self.channel.send(Message::About { build: env!("CARGO_PKG_VERSION").to_owned() })?;
        self.show();
        loop {
            let deadline = self.due().await?;
            tokio::select! {
                message = self.channel.receive() => self.take(message?).await?,
                order = self.orders.recv() => self.obey(order)?,
                Some(opened) = self.openings.join_next_with_id() => self.opened(opened),
                Some(ended) = self.running.join_next_with_id() => self.ended(ended),
                () = self.calls.activity.changed() => {}
                () = sleep_until(deadline) => {}
            }
        }
    }

    /// Does what is due, and says when something next is.
    async fn due(&mut self) -> Result<Instant, End> {
        let now = Instant::now();
        let (heard, busy) = (self.calls.activity.last_heard(), self.calls.activity.busy());
        if let Some(since) = self.retired
            && now >= since + if busy { RETIRED_MOST } else { RETIRED_LEAST }
        {
            return Err(End::Ordered(Some(Goodbye::Replaced)));
        }
        while let Some(beat) = self.pulse.beat(now, heard, busy) {
            match beat {
                Beat::Ping(number) => self.channel.send(Message::Ping(number))?,
                Beat::Silent => self.report(SessionEvent::Silent).await,
                Beat::Alive => self.report(SessionEvent::Alive).await,
            }
        }
        if let Some(offer) = self.exchange.poll(clock::now())? {
            self.channel.send(Message::ExchangeOffer(offer))?;
        }
        if self.retired.is_none() {
            while self.lanes.deadline().is_some_and(|due| due <= now) {
                if let Some(offer) = self.lanes.offer(now, fresh()?) {
                    self.channel.send(offer)?;
                }
                self.show();
            }
        }
        let lanes = self.lanes.deadline().filter(|_| self.retired.is_none());
        let retired = self.retired.map(|since| since + if busy { RETIRED_MOST } else { RETIRED_LEAST });
        let next = self.pulse.deadline(heard, busy).into_iter().chain(lanes).chain(retired).min();
        // The pulse sleeps only while the session is silent, and then its contact's task has a deadline.
        Ok(next.unwrap_or(now + RETIRED_MOST))
    }

    async fn take(&mut self, message: Message) -> Result<(), End> {
        let now = Instant::now();
        match message {
            Message::Attempt(number) if self.lanes.side() == Side::Zero => {
                self.report(SessionEvent::Settled(number)).await;
            }
            Message::About { build } => {
                self.build = Some(build);
                self.show();
            }
            Message::LaneOffer { lane, class, nonce, bridge_leg, tcp_beside } => {
                let fresh = fresh()?;
                let answer = match self.lanes.offered(lane, class, nonce, bridge_leg, tcp_beside, fresh) {
                    Ok(agreed) => {
                        self.open(agreed);
                        Message::LaneAnswer { lane, nonce: fresh.nonce }
                    }
                    Err(refusal @ OfferError::TooMany) => {
                        Message::LaneRefusal { lane, reason: refusal.to_string() }
                    }
                    Err(OfferError::Number | OfferError::Path) => return Err(ControlError::OutOfTurn.into()),
                };
                self.channel.send(answer)?;
                self.show();
            }
            Message::LaneAnswer { lane, nonce } => {
                if let Some(agreed) = self.lanes.answered(lane, nonce) {
                    self.open(agreed);
                    self.show();
                }
            }
            Message::LaneRefusal { lane, reason } => {
                self.lanes.refused(lane, &reason, now);
                self.show();
            }
            Message::ExchangeOffer(offer) => {
                let answer = self.exchange.answer(&offer, clock::now())?;
                self.channel.send(Message::ExchangeAnswer(answer))?;
            }
            Message::ExchangeAnswer(answer) => {
                let number = self.exchange.answered(&answer, clock::now())?;
                self.channel.send(Message::ExchangeConfirm(number))?;
                self.show();
            }
            Message::ExchangeConfirm(number) => {
                self.exchange.confirmed(number)?;
                self.show();
            }
            Message::Goodbye(goodbye) => return Err(End::Goodbye(goodbye)),
            Message::Ping(number) => self.channel.send(Message::Pong(number))?,
            Message::Pong(number) => {
                self.pulse.pong(number, now);
                let transport = self.channel.stream().socket().link().map(Link::rtt);
                for rtt in self.pulse.rtt().into_iter().chain(transport) {
                    self.calls.governor.measured(rtt);
                }
                if let Some(rtt) = self.pulse.rtt() {
                    self.lanes.measured(rtt, now);
                }
                self.show();
            }
            Message::Attempt(_) | Message::Nominate(_) | Message::Pairing(_) => {
                return Err(ControlError::OutOfTurn.into());
            }
        }
        Ok(())
    }

    fn obey(&mut self, order: Option<Order>) -> Result<(), End> {
        match order {
            Some(Order::Retire) => {
                self.retired.get_or_insert_with(Instant::now);
                Ok(())
            }
            Some(Order::End(goodbye)) => Err(End::Ordered(goodbye)),
            None => Err(End::Ordered(None)),
        }
    }

    /// Opens a lane that both sides agreed on.
    fn open(&mut self, agreed: Agreed) {
        let lane =
            self.keys.lane(agreed.number, class_number(agreed.class), &agreed.my_nonce, &agreed.their_nonce);
        let way = match (agreed.route, self.dials, &self.link) {
            (Route::Bridge(leg), _, _) => match (&self.relay, self.nonces) {
                (Some(relay), Some((zero, one))) => {
                    let token = self.parties.rendezvous.bridge_token(&zero, &one, leg);
                    Ok(Way::Bridge { relay: relay.clone(), token, side: self.parties.side() })
                }
                (Some(_), None) | (None, _) => Err(OpeningError::NoRelay),
            },
            (Route::Same, Some(_), Some(link)) => Ok(Way::Stream(link.clone())),
            (Route::Same, Some(address), None) | (Route::TcpBeside, Some(address), _) => {
                Ok(Way::Dial(address))
            }
            (Route::Same | Route::TcpBeside, None, _) => Ok(Way::Await(self.tickets.expect(lane.ticket()))),
        };
        let counter = WireCounter::part_of(&self.counter);
        self.counters.insert(agreed.number, Arc::clone(&counter));
        let cancel = self.cancel.clone();
        let number = agreed.number;
        let handle = self.openings.spawn(async move {
            let opened = match way {
                Ok(way) => opening::open(lane, way, counter, cancel).await,
                Err(error) => Err(error),
            };
            (agreed, opened)
        });
        self.tasks.insert(handle.id(), number);
    }

    fn opened(&mut self, opened: Result<(Id, Opened), JoinError>) {
        let (agreed, opened) = match opened {
            Ok((id, opened)) => {
                self.tasks.remove(&id);
                opened
            }
            Err(error) => return self.failed(&error),
        };
        let number = agreed.number;
        match opened {
            Ok(mut stream) => {
                stream.report_to(Arc::clone(&self.calls.activity));
                self.lanes.up(number);
                self.carry(&agreed, stream);
            }
            Err(error) => self.lose(number, &error.to_string()),
        }
        self.show();
    }

    /// Runs a lane that stands.
    fn carry(&mut self, agreed: &Agreed, mut stream: RecordStream) {
        let number = agreed.number;
        stream.socket().prioritise(Some(agreed.class));
        let handle = match (agreed.class, agreed.owner) {
            (LaneClass::Bulk, _) => {
                let lane = BulkLane::new(stream, number, Arc::clone(&self.calls.bulk), self.serving.clone());
                self.running.spawn(async move { lane.run().await.to_string() })
            }
            (LaneClass::Urgent, Owner::Mine) => self.running.spawn(ask(stream, self.urgent.clone())),
            (LaneClass::Urgent, Owner::Theirs) => {
                let closed = CancellationToken::new();
                stream.signal_drop(closed.clone());
                let serving = self.serving.clone();
                self.running.spawn(async move {
                    let served = rpc::serve(stream, serving, closed).await;
                    served.err().map_or_else(|| "the lane was closed".to_owned(), |error| error.to_string())
                })
            }
        };
        self.tasks.insert(handle.id(), number);
    }

    fn ended(&mut self, ended: Result<(Id, String), JoinError>) {
        match ended {
            Ok((id, reason)) => {
                if let Some(number) = self.tasks.remove(&id) {
                    self.lose(number, &reason);
                    self.show();
                }
            }
            Err(error) => self.failed(&error),
        }
    }

    /// A lane's task panicked, which ends this lane only.
    fn failed(&mut self, error: &JoinError) {
        tracing::error!(%error, "a lane failed");
        if let Some(number) = self.tasks.remove(&error.id()) {
            self.lose(number, FAILED);
            self.show();
        }
    }

    fn lose(&mut self, number: u32, reason: &str) {
        tracing::debug!(lane = number, reason, "a lane is missing");
        self.counters.remove(&number);
        self.lanes.lost(number, reason, Instant::now());
    }

    /// Says goodbye, if it can be said in time.
    async fn leave(&mut self, goodbye: Option<Goodbye>) {
        let Some(goodbye) = goodbye else { return };
        let said = timeout(GOODBYE_WITHIN, async {
            self.channel.send(Message::Goodbye(goodbye))?;
            self.channel.close().await
        });
        if let Ok(Err(error)) = said.await {
            tracing::debug!(%error, "a goodbye was not said");
        }
    }

    async fn report(&self, event: SessionEvent) {
        // Without its contact's task the session is about to be cancelled.
        let _ = self.reports.send((self.id, event)).await;
    }

    fn show(&self) {
        let control = LaneInfo {
            id: None,
            class: None,
            transport: self.channel.stream().socket().transport(),
            path: self.path,
            wire: Arc::clone(self.channel.stream().socket().counter()),
            missing: None,
        };
        let others = self.lanes.status().into_iter().map(|lane| LaneInfo {
            id: lane.number,
            class: Some(lane.class),
            transport: lane.transport,
            path: self.path,
            wire: lane.number.and_then(|number| self.counters.get(&number)).cloned().unwrap_or_default(),
            missing: lane.missing,
        });
        self.view.send_replace(View {
            rtt: self.pulse.rtt(),
            epoch: self.keys.epoch(),
            build: self.build.clone(),
            lanes: std::iter::once(control).chain(others).collect(),
        });
    }
}

/// Is the client on a lane until it ends; says why.
async fn ask(mut stream: RecordStream, urgent: watch::Sender<Option<PeerClient>>) -> String {
    let closed = CancellationToken::new();
    stream.signal_drop(closed.clone());
    match PeerClient::connect(stream).await {
        Ok(client) => {
            urgent.send_replace(Some(client));
            closed.cancelled().await;
            urgent.send_replace(None);
            "the lane was closed".to_owned()
        }
        Err(error) => error.to_string(),
    }
}

fn fresh() -> Result<Fresh, RandomError> {
    let leg = u32::from_be_bytes(random::array()?) | LANE_LEGS;
    Ok(Fresh { nonce: random::array()?, bridge_leg: leg })
}

/// As in proto/peer.proto.
fn class_number(class: LaneClass) -> NonZeroU8 {
    const URGENT: NonZeroU8 = NonZeroU8::MIN;
    match class {
        LaneClass::Urgent => URGENT,
        LaneClass::Bulk => URGENT.saturating_add(1),
    }
}
