//! Does what the table decides: starts and stops work, tells contacts, keeps the list.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use farhold_net::{ContactState, Net, SessionState};
use farhold_wire::{ContactId, Report, Standing};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{self, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Transfers;
use super::error::Problem;
use super::fetch::Progress;
use super::record::{Record, to_hex};
use super::run::Worker;
use super::status::{TransferId, TransferState};
use super::table::{End, Work};
use crate::controller::Order;
use crate::storage::mark;

/// How often progress is taken, and contacts are looked at, while something is under way.
const BUSY: Duration = Duration::from_millis(250);
/// How often contacts are looked at while transfers wait for them.
const IDLE: Duration = Duration::from_secs(1);
/// How often a contact is told how far a transfer is.
const TELL: Duration = Duration::from_secs(1);
/// How often the list is written while nothing but progress changes.
const SAVE: Duration = Duration::from_secs(10);

/// The one task that works on transfers.
pub(crate) struct Scheduler {
    transfers: Transfers,
    net: Net,
    orders: mpsc::Sender<Order>,
    journals: PathBuf,
    workers: JoinSet<End>,
    /// What each of them works on.
    works: HashMap<task::Id, TransferId>,
    /// Of those that can be stopped.
    stops: HashMap<TransferId, CancellationToken>,
    progress: HashMap<TransferId, Arc<Progress>>,
    connected: HashSet<ContactId>,
    tells: JoinSet<(TransferId, Standing)>,
    told_at: Instant,
    saved: Vec<(TransferId, TransferState, Option<String>)>,
    saved_at: Instant,
}

impl Scheduler {
    pub(crate) fn new(
        transfers: Transfers,
        net: Net,
        orders: mpsc::Sender<Order>,
        journals: PathBuf,
    ) -> Self {
        let now = Instant::now();
        Self {
            transfers,
            net,
            orders,
            journals,
            workers: JoinSet::new(),
            works: HashMap::new(),
            stops: HashMap::new(),
            progress: HashMap::new(),
            connected: HashSet::new(),
            tells: JoinSet::new(),
            told_at: now,
            saved: Vec::new(),
            saved_at: now,
        }
    }

    /// Works until cancelled; then waits until nothing writes any more.
    pub(crate) async fn run(mut self, cancel: CancellationToken) {
        let mut changed = self.transfers.changed();
        loop {
            self.look();
            self.start(&cancel).await;
            self.tell();
            self.save().await;
            let due = self.transfers.table().next_due();
            let pause = Instant::now() + if self.workers.is_empty() { IDLE } else { BUSY };
            let until = due.map_or(pause, |due| due.min(pause));
            tokio::select! {
                () = cancel.cancelled() => break,
                Some(ended) = self.workers.join_next_with_id() => self.ended(ended),
                Some(Ok((id, standing))) = self.tells.join_next() => {
                    if standing == Standing::Ended {
                        self.transfers.table().withdrawn(id);
                    }
                }
                _ = changed.changed() => {}
                () = tokio::time::sleep_until(until) => {}
            }
        }
        // Their tokens hang off the one that was cancelled.
        while let Some(ended) = self.workers.join_next_with_id().await {
            self.ended(ended);
        }
        self.transfers.save_quietly().await;
    }

    /// Looks at contacts, clocks and progress.
    fn look(&mut self) {
        let now = Instant::now();
        let net = &self.net;
        let up = |id: ContactId| {
            let connected = |state: &ContactState| matches!(state.session, SessionState::Connected(_));
            net.state(id).is_ok_and(|state| connected(&state.borrow()))
        };
        // Before the table is locked: whoever shows transfers takes both in this order.
        let known: HashSet<ContactId> =
            self.transfers.contacts().iter().map(|contact| contact.id()).collect();
        let mut table = self.transfers.table();
        table.forget(|id| known.contains(&id));
        let mut connected = HashSet::new();
        for contact in table.contacts() {
            let is_up = up(contact);
            table.connection(contact, is_up);
            if is_up {
                if !self.connected.contains(&contact) {
                    table.tell_again(contact);
                }
                connected.insert(contact);
            }
        }
        self.connected = connected;
        table.due(now);
        for (id, progress) in &self.progress {
            let (amounts, arrived) = progress.take();
            table.progress(*id, amounts, arrived, now);
        }
        if !self.progress.is_empty() {
            self.transfers.notify_moved();
        }
        for (id, stop) in &self.stops {
            if table.is_stopped(*id) {
                stop.cancel();
            }
        }
        self.transfers.offers().retain(|contact, key| table.is_offered(contact, key));
    }

    /// Starts what is to be worked on.
    async fn start(&mut self, cancel: &CancellationToken) {
        let begun = {
            let connected = &self.connected;
            self.transfers.table().begin(|id| connected.contains(&id), Instant::now())
        };
        for (record, work) in begun {
            let id = record.id;
            if work == Work::Clean {
                let journals = self.journals.clone();
                let task = self.workers.spawn_blocking(move || {
                    super::run::clean(&record, journals);
                    End::Cleaned
                });
                self.works.insert(task.id(), id);
                continue;
            }
            let Some(worker) = self.worker(record).await else {
                let reason = "the contact is not connected".to_owned();
                self.transfers.table().ended(id, End::Wait { reason, retry: None }, Instant::now());
                continue;
            };
            let stop = cancel.child_token();
            self.stops.insert(id, stop.clone());
            if matches!(work, Work::Fetch(_)) {
                self.progress.insert(id, Arc::clone(&worker.progress));
            }
            let task = self.workers.spawn(async move {
                let end = {
                    let work = async {
                        match work {
                            Work::Fetch(root) => worker.fetch(root).await,
                            Work::Offer => worker.offer().await,
                            Work::Clean => End::Cleaned,
                        }
                    };
                    stop.run_until_cancelled(work).await.unwrap_or(End::Stopped)
                };
                // Whoever works on it next must not meet a late write.
                worker.writes.close();
                worker.writes.wait().await;
                end
            });
            self.works.insert(task.id(), id);
        }
    }

    async fn worker(&self, record: Record) -> Option<Worker> {
        let contact = record.contact();
        let peer = self.net.peer(contact).ok()?;
        let (reply, replica) = oneshot::channel();
        self.orders.send(Order::Replica { id: contact, reply }).await.ok()?;
        let replica = replica.await.ok().and_then(Result::ok).flatten();
        let mark = self.transfers.contacts().get(contact).map(|contact| mark(&contact.code));
        Some(Worker {
            transfers: self.transfers.clone(),
            record,
            peer,
            replica,
            mark: mark.unwrap_or_default(),
            progress: Arc::default(),
            writes: TaskTracker::new(),
            journals: self.journals.clone(),
        })
    }

    fn ended(&mut self, ended: Result<(task::Id, End), task::JoinError>) {
        let (task, end) = ended.unwrap_or_else(|error| {
            tracing::error!("a task that worked on a transfer failed: {error}");
            (error.id(), End::Fail(Problem::task()))
        });
        let Some(id) = self.works.remove(&task) else { return };
        let now = Instant::now();
        let mut table = self.transfers.table();
        if let Some(progress) = self.progress.remove(&id) {
            let (amounts, arrived) = progress.take();
            table.progress(id, amounts, arrived, now);
        }
        self.stops.remove(&id);
        tracing::debug!(%id, ?end, "work on a transfer has ended");
        table.ended(id, end, now);
        drop(table);
        self.transfers.notify();
    }

    /// Tells contacts what they are to know. What fails is told again with the next change, or the next session.
    fn tell(&mut self) {
        let now = Instant::now();
        // Changes of state are told at once, and progress now and then.
        let progress_due = now >= self.told_at + TELL;
        if progress_due {
            self.told_at = now;
        }
        let told = self.transfers.table().take_reports(progress_due);
        for (id, contact, report) in told {
            if self.connected.contains(&contact)
                && let Ok(peer) = self.net.peer(contact)
            {
                self.tells.spawn(async move { (id, say(peer, report).await) });
            }
        }
    }

    async fn save(&mut self) {
        let now = Instant::now();
        let states = self.transfers.table().states();
        if states != self.saved || (now >= self.saved_at + SAVE && !self.workers.is_empty()) {
            if states != self.saved {
                self.transfers.notify();
            }
            (self.saved, self.saved_at) = (states, now);
            self.transfers.save_quietly().await;
        }
    }
}

async fn say(peer: farhold_net::Peer, report: Report) -> Standing {
    let key = to_hex(&report.key.0);
    match peer.report(report).await {
        Ok(standing) => standing,
        Err(error) => {
            tracing::debug!(%error, key, "a contact was not told how a transfer stands");
            Standing::Open
        }
    }
}
