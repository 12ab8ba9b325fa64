//! The task of a contact: events in, effects out.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use farhold_secure::opening::LegKind;
use farhold_secure::{RandomError, random};
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::dial::{Dial, DialError, Dialled, Relayed};
use super::punching::Punching;
use super::{Way, Wish, until};
use crate::calls::serving::Serving;
use crate::clock;
use crate::connect::grade::Grade;
use crate::connect::lifecycle::{
    Effect, Event, Goodbye, LegId, Lifecycle, Moment, MyPost, Nonce, Origin, PeerPost, Phase, ReadyLeg,
    SessionEvent, SessionId,
};
use crate::connect::race::{DialId, Target};
use crate::control::Message;
use crate::governor::GovernorMeter;
use crate::leg::{Leg, LegError, Parties};
use crate::rendezvous::rpc::PresencePost;
use crate::rendezvous::{Seen, Subscription};
use crate::roster::{Entry, IncomingLeg};
use crate::session::{Order, Session, Setup};
use crate::shared::{Promotion, Shared};
use crate::state::{Connection, ContactState, MissingWay, OfflineReason, Path, RelayState, SessionState};

/// How long sessions may take to say goodbye when the program stops or the contact is removed.
const FAREWELL: Duration = Duration::from_secs(2);
/// Sessions that were replaced or ended and may still say goodbye.
const LEAVING: usize = 8;
/// How long a refusal may take.
const REFUSAL: Duration = Duration::from_secs(1);

/// What the task is made of.
pub(super) struct Parts {
    pub(super) shared: Arc<Shared>,
    pub(super) parties: Arc<Parties>,
    pub(super) subscription: Subscription,
    pub(super) entry: Arc<Entry>,
    pub(super) promotion: Option<Arc<Promotion>>,
    pub(super) serving: Serving,
    pub(super) wish: watch::Receiver<Wish>,
    pub(super) incoming: mpsc::Receiver<IncomingLeg>,
    pub(super) reports: mpsc::Sender<(SessionId, SessionEvent)>,
    pub(super) report_receiver: mpsc::Receiver<(SessionId, SessionEvent)>,
    pub(super) state: watch::Sender<ContactState>,
    pub(super) way: watch::Sender<Way>,
    pub(super) cancel: CancellationToken,
}

/// An authenticated leg of which the lifecycle decides.
struct Candidate {
    leg: Leg,
    relayed: Option<Relayed>,
}

pub(super) struct Task {
    parts: Parts,
    lifecycle: Lifecycle,
    dials: JoinSet<Result<Dialled, DialError>>,
    dialling: HashMap<Id, DialId>,
    aborts: HashMap<DialId, AbortHandle>,
    punching: Punching,
    refusals: JoinSet<()>,
    candidate: Option<(LegId, Candidate)>,
    last_leg: u64,
    session: Option<Session>,
    /// Path and window of the session before.
    former: Option<(Path, u64)>,
    /// Sessions that were replaced or ended and are not through.
    leaving: JoinSet<()>,
    my_post: Option<MyPost>,
    told: Option<(Phase, Option<bool>, Vec<MissingWay>)>,
}

impl Task {
    pub(super) fn new(parts: Parts, nonce: Nonce) -> Self {
        let at = moment(nonce);
        let lifecycle = Lifecycle::new(parts.parties.side(), parts.shared.relay.address().is_some(), &at);
        let punching = Punching::new(parts.parties.side(), parts.shared.endpoint.clone());
        Self {
            parts,
            lifecycle,
            dials: JoinSet::new(),
            dialling: HashMap::new(),
            aborts: HashMap::new(),
            punching,
            refusals: JoinSet::new(),
            candidate: None,
            last_leg: 0,
            session: None,
            former: None,
            leaving: JoinSet::new(),
            my_post: None,
            told: None,
        }
    }

    pub(super) async fn run(mut self) {
        let cancel = self.parts.cancel.clone();
        if let Some(Err(error)) = cancel.run_until_cancelled(self.live()).await {
            tracing::error!(%error, "a contact cannot be reached any more");
        }
        let stopping = self.parts.shared.cancel.is_cancelled();
        self.parts.way.send_replace(Way::Offline);
        let offline = SessionState::Offline { reason: OfflineReason::Disconnected };
        self.parts.state.send_modify(|state| state.session = offline);
        if let Some(session) = self.session.take() {
            let goodbye = if stopping { Goodbye::Stopping } else { Goodbye::User };
            session.order(Order::End(Some(goodbye)));
            let _ = timeout(FAREWELL, session.ended()).await;
        }
    }

    async fn live(&mut self) -> Result<Infallible, RandomError> {
        let mut relay = self.parts.shared.relay.state();
        let mut lan = self.parts.shared.lan.subscribe();
        let mut addresses = self.parts.shared.addresses.clone();
        let mut announced = self.parts.shared.announced.clone();
        let mut outer = self.parts.shared.outer.clone();
        relay.mark_changed();
        self.act();
        loop {
            let deadline = self.lifecycle.deadline();
            let view = self.session.as_mut().map(|session| &mut session.view);
            // A sender that is gone means that the program stops, which cancels this.
            let event = tokio::select! {
                Ok(()) = self.parts.wish.changed() => match *self.parts.wish.borrow_and_update() {
                    Wish::None => None,
                    Wish::Connect => Some(Event::Connect),
                    Wish::Disconnect => Some(Event::Disconnect),
                },
                Ok(()) = self.parts.subscription.seen().changed() => self.seen(),
                Ok(()) = relay.changed() => match *relay.borrow_and_update() {
                    RelayState::None => Some(Event::RelaySet { set: false }),
                    RelayState::Connecting => Some(Event::RelaySet { set: true }),
                    RelayState::Connected => Some(Event::Relay { up: true }),
                    RelayState::Unreachable { .. } => Some(Event::Relay { up: false }),
                },
                Ok(()) = lan.changed() => {
                    lan.mark_unchanged();
                    self.seen()
                }
                Ok(()) = addresses.changed() => {
                    addresses.mark_unchanged();
                    self.punching.restart();
                    Some(Event::Network { unrooted: self.unrooted() })
                }
                Ok(()) = announced.changed() => {
                    announced.mark_unchanged();
                    self.post();
                    None
                }
                Ok(()) = outer.changed() => {
                    outer.mark_unchanged();
                    self.post();
                    None
                }
                Some(IncomingLeg { leg, kind, number }) = self.parts.incoming.recv() => {
                    Some(self.ready(leg, kind, None, number, Origin::Accepted))
                }
                event = self.punching.next() => Some(event),
                Some(joined) = self.dials.join_next_with_id() => self.dialled(joined),
                Some((id, event)) = self.parts.report_receiver.recv() => Some(Event::Session(id, event)),
                Some(_) = self.leaving.join_next() => None,
                Some(_) = self.refusals.join_next() => None,
                () = changed(view) => {
                    self.told = None;
                    self.measured()
                }
                () = until(deadline) => Some(Event::Time),
            };
            if let Some(event) = event {
                self.handle(event)?;
            }
            self.tell();
        }
    }

    fn handle(&mut self, event: Event) -> Result<(), RandomError> {
        let proof = matches!(event, Event::Post(_) | Event::Ready(_));
        self.lifecycle.handle(event, &moment(random::array()?));
        self.act();
        // Both need the pair secret, so the contact has it.
        if proof && let Some(promotion) = self.parts.promotion.take() {
            promotion.take();
        }
        Ok(())
    }

    fn seen(&mut self) -> Option<Event> {
        let Seen { present, post } = self.parts.subscription.seen().borrow_and_update().clone();
        match (present, post) {
            (Some(true), Some(post)) => match PresencePost::decode(&post) {
                Ok(post) => {
                    let Shared { relay_only, lan, loopback, addresses, .. } = &*self.parts.shared;
                    let addresses = addresses.borrow();
                    let announced = if *relay_only { &[][..] } else { &post.candidates };
                    let reflexive = if *relay_only { &[][..] } else { &post.reflexive };
                    let mut candidates = addresses.candidates(announced, *loopback);
                    let mut punchable = addresses.punchable(reflexive, &candidates, *loopback);
                    if !*lan.borrow() {
                        candidates.retain(|candidate| candidate.path != Path::Lan);
                        punchable.retain(|address| addresses.path_to(address.ip()) != Path::Lan);
                    }
                    Some(Event::Post(PeerPost {
                        nonce: post.nonce,
                        want: post.want,
                        refuse: post.refuse,
                        attempt: post.attempt,
                        candidates,
                        punchable,
                    }))
                }
                Err(error) => {
                    tracing::warn!(%error, "a contact's post cannot be read");
                    None
                }
            },
            (Some(false), _) => Some(Event::Absent),
            (None, _) | (_, None) => None,
        }
    }

    fn measured(&self) -> Option<Event> {
        let session = self.session.as_ref()?;
        let rtt = session.view.borrow().rtt?;
        Some(Event::Session(session.id, SessionEvent::Measured(rtt)))
    }

    /// Whether the session's own address is gone.
    fn unrooted(&self) -> bool {
        let addresses = self.parts.shared.addresses.borrow();
        let ours = self.session.as_ref().and_then(|session| session.local);
        ours.is_some_and(|local| !addresses.has(local))
    }

    fn ready(
        &mut self,
        leg: Leg,
        kind: LegKind,
        relayed: Option<Relayed>,
        number: Option<u64>,
        origin: Origin,
    ) -> Event {
        self.last_leg += 1;
        let id = LegId(self.last_leg);
        let socket = leg.channel.stream().socket();
        let path = match (&relayed, socket.peer()) {
            (None, Ok(peer)) => match self.parts.shared.addresses.borrow().path_to(peer.ip()) {
                Path::Direct if kind == LegKind::Punched => Path::Punched,
                path @ (Path::Relayed | Path::Punched | Path::Direct | Path::Lan) => path,
            },
            (Some(_), _) | (None, Err(_)) => Path::Relayed,
        };
        let grade = Grade { path, transport: socket.transport() };
        self.candidate = Some((id, Candidate { leg, relayed }));
        Event::Ready(ReadyLeg { id, origin, grade, number })
    }

    fn dialled(&mut self, joined: Result<(Id, Result<Dialled, DialError>), JoinError>) -> Option<Event> {
        let (task, result) = match joined {
            Ok((task, result)) => (task, Some(result)),
            // Given up, or a panic, which ends this leg only.
            Err(error) => (error.id(), None),
        };
        let dial = self.dialling.remove(&task)?;
        self.aborts.remove(&dial);
        Some(match result {
            Some(Ok(Dialled { leg, kind, number, relayed })) => {
                self.ready(leg, kind, relayed, number, Origin::Dialled(dial))
            }
            Some(Err(DialError { error: LegError::Refused, .. })) => Event::Refused { dial },
            Some(Err(DialError { error, met })) => {
                tracing::debug!(%error, "a leg came to nothing");
                Event::Failed { dial, met, reason: error.to_string() }
            }
            None => Event::Failed { dial, met: false, reason: "given up".to_owned() },
        })
    }

    /// Does what the lifecycle asks for.
    fn act(&mut self) {
        while let Some(effect) = self.lifecycle.effect() {
            match effect {
                Effect::Post(post) => {
                    self.my_post = Some(post);
                    self.post();
                }
                Effect::Dial(dial, target) => self.dial(dial, target),
                Effect::DropDial(dial) => {
                    if let Some(abort) = self.aborts.remove(&dial) {
                        abort.abort();
                    }
                }
                Effect::Punch(plan) => self.punching.follow(plan, &self.parts.parties.rendezvous),
                Effect::Adopt { leg, session, grade, number } => self.adopt(leg, session, grade, number),
                Effect::Discard(leg) => drop(self.take_candidate(leg)),
                Effect::Refuse(leg) => {
                    if let Some(candidate) = self.take_candidate(leg) {
                        self.refusals.spawn(refuse(candidate.leg));
                    }
                }
                Effect::Retire(id) => self.part_with(id, Order::Retire),
                Effect::End(id, goodbye) => self.part_with(id, Order::End(goodbye)),
            }
        }
    }

    fn take_candidate(&mut self, id: LegId) -> Option<Candidate> {
        self.candidate.take_if(|(candidate, _)| *candidate == id).map(|(_, candidate)| candidate)
    }

    fn dial(&mut self, id: DialId, target: Target) {
        let Parts { shared, parties, entry, cancel, .. } = &self.parts;
        let dial = Dial {
            shared: Arc::clone(shared),
            parties: Arc::clone(parties),
            entry: Arc::clone(entry),
            target,
            attempt: self.lifecycle.number(),
            nonces: self.lifecycle.nonces(),
            cancel: cancel.clone(),
        };
        let handle = self.dials.spawn(dial.run());
        self.dialling.insert(handle.id(), id);
        self.aborts.insert(id, handle);
    }

    fn adopt(&mut self, leg: LegId, id: SessionId, grade: Grade, number: u64) {
        let Some(Candidate { leg, relayed }) = self.take_candidate(leg) else { return };
        let (nonces, keeper) = relayed.map(|relayed| (relayed.nonces, relayed.keeper)).unzip();
        let Parts { shared, parties, serving, reports, .. } = &self.parts;
        let setup = Setup {
            id,
            leg,
            path: grade.path,
            number,
            parties: Arc::clone(parties),
            nonces,
            keeper: keeper.flatten(),
            relay: shared.relay.address(),
            tickets: Arc::clone(&shared.tickets),
            serving: serving.clone(),
            counter: Arc::clone(&shared.counter),
            reports: reports.clone(),
            receive: Arc::clone(&self.parts.shared.receive),
            former_window: self.former.filter(|(path, _)| *path == grade.path).map(|(_, window)| window),
            // The session's own: it says goodbye after everything else was cancelled, and ends with its handle.
            cancel: CancellationToken::new(),
        };
        self.session = Some(Session::start(setup, &shared.tracker));
    }

    fn part_with(&mut self, id: SessionId, order: Order) {
        if let Some(session) = self.session.take_if(|session| session.id == id) {
            self.former = Some((session.path, session.calls.governor.kept()));
            if self.leaving.len() >= LEAVING {
                // Only a contact that plays with us replaces sessions so fast; dropped, this one ends at once.
                return;
            }
            session.order(order);
            self.leaving.spawn(async move { session.ended().await });
        }
    }

    fn post(&self) {
        let Some(mine) = self.my_post else { return };
        let Shared { announced, outer, .. } = &*self.parts.shared;
        let post = PresencePost {
            nonce: mine.nonce,
            want: mine.want,
            refuse: mine.refuse,
            attempt: mine.attempt,
            candidates: announced.borrow().clone(),
            reflexive: outer.borrow().clone(),
        };
        self.parts.subscription.post(post.encode());
    }

    /// Tells how it stands, if that has changed.
    fn tell(&mut self) {
        let now = (self.lifecycle.phase(), self.lifecycle.present(), self.lifecycle.missing());
        if self.told.as_ref() == Some(&now) {
            return;
        }
        self.told = Some(now.clone());
        let (phase, present, missing) = now;
        let way = match (phase, &self.session) {
            (Phase::Connected { .. }, Some(session)) => Way::Session(Arc::clone(&session.calls)),
            (Phase::Interrupted { .. }, _) => Way::Interrupted,
            (Phase::Connected { .. } | Phase::Connecting | Phase::Offline { .. }, _) => Way::Offline,
        };
        self.parts.way.send_replace(way);
        let session = match (phase, &self.session) {
            (Phase::Connected { .. }, Some(session)) => {
                let view = session.view.borrow().clone();
                SessionState::Connected(Connection {
                    path: session.path,
                    transport: session.transport,
                    missing,
                    governor: GovernorMeter::new(&session.calls.governor),
                    rtt: view.rtt,
                    epoch: view.epoch,
                    build: view.build,
                    lanes: view.lanes,
                })
            }
            (Phase::Connected { .. } | Phase::Connecting, _) => SessionState::Connecting,
            (Phase::Interrupted { since }, _) => SessionState::Interrupted { since },
            (Phase::Offline { reason }, _) => SessionState::Offline { reason },
        };
        self.parts.state.send_replace(ContactState { present, session });
    }
}

/// Tells the contact that we want no session now.
async fn refuse(mut leg: Leg) {
    let said = timeout(REFUSAL, async {
        leg.channel.send(Message::Goodbye(Goodbye::Refused))?;
        leg.channel.close().await
    });
    if let Ok(Err(error)) = said.await {
        tracing::debug!(%error, "a refusal was not said");
    }
}

fn moment(fresh: Nonce) -> Moment {
    Moment { now: Instant::now(), unix_milliseconds: clock::unix_milliseconds(), fresh }
}

async fn changed<T>(receiver: Option<&mut watch::Receiver<T>>) {
    if let Some(receiver) = receiver
        && receiver.changed().await.is_ok()
    {
        return;
    }
    std::future::pending().await
}
