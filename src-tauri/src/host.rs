//! The engine that the window shows: hosted in this process, running in another one, or the demo's. Either way it is
//! spoken to through its control socket. [`Host`] owns whatever runs here, and ends it.

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use farhold_control::{ControlClient, ControlError, ControlServer};
use farhold_demo::Demo;
use farhold_engine::commands::Share;
use farhold_engine::layout::Layout;
use farhold_engine::status::{Status, TransferChanges, TransferId};
use farhold_engine::{Engine, EngineConfig, EngineError, PinStatus};
use futures_util::StreamExt;
use futures_util::future::OptionFuture;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::controller::Event;
use crate::dto::{Failure, FailureKind, Holder};

mod calls;

/// How often changes are told, at most.
const WATCH_EVERY: Duration = Duration::from_millis(100);
/// How long an engine that holds the config directory may take until it answers.
const ATTACH: Duration = Duration::from_secs(10);
/// How long it may take to find out who uses the drive.
const HOLDERS: Duration = Duration::from_secs(3);

/// What the host is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Order {
    /// Starts the engine anew, or attaches to one.
    Restart,
    /// Shows the demo instead of the user's own engine.
    StartDemo,
    /// Ends it, and shows the user's own engine.
    StopDemo,
    Connect {
        contact: String,
    },
    Disconnect {
        contact: String,
    },
    Pause(Vec<TransferId>),
    Resume(Vec<TransferId>),
    /// Ends what runs here; without `force` not while something holds a file of the drive.
    Quit {
        force: bool,
    },
}

/// What the host tells.
#[derive(Debug)]
pub(crate) enum HostEvent {
    Starting {
        demo: bool,
    },
    Running {
        hosted: bool,
    },
    Status(Box<Status>),
    Listed {
        shares: Vec<Share>,
        pins: Vec<PinStatus>,
    },
    Transfers(TransferChanges),
    /// No engine runs; it can be started again.
    Failed(Failure),
    /// An order was not carried out.
    Refused(Failure),
    Stopping,
    /// Nothing ends: these hold the drive.
    Held(Vec<Holder>),
    /// Nothing runs here any more.
    Ended,
}

/// What runs.
enum Running {
    Hosted {
        engine: Engine,
        control: ControlServer,
    },
    Demo(Box<Demo>),
    /// In another process, which this one leaves alone.
    Attached,
}

/// What comes after an engine.
enum Next {
    Start { demo: bool },
    Failed(Failure),
    End,
}

/// The host of the engine.
#[derive(Debug)]
pub(crate) struct Host {
    config_dir: PathBuf,
    orders: mpsc::Receiver<Order>,
    events: mpsc::Sender<Event>,
    /// How the page's commands reach the engine.
    client: watch::Sender<Option<ControlClient>>,
}

impl Host {
    pub(crate) fn new(
        config_dir: PathBuf,
        orders: mpsc::Receiver<Order>,
        events: mpsc::Sender<Event>,
        client: watch::Sender<Option<ControlClient>>,
    ) -> Self {
        Self { config_dir, orders, events, client }
    }

    /// Runs until it is told to quit. To be awaited to its end.
    pub(crate) async fn run(mut self, demo: bool) {
        let mut next = Next::Start { demo };
        loop {
            next = match next {
                Next::Start { demo } => {
                    self.tell(HostEvent::Starting { demo }).await;
                    match self.start(demo).await {
                        Ok((running, client)) => self.host(running, client, demo).await,
                        Err(failure) => Next::Failed(failure),
                    }
                }
                Next::Failed(failure) => {
                    self.tell(HostEvent::Failed(failure)).await;
                    self.wait().await
                }
                Next::End => {
                    self.tell(HostEvent::Ended).await;
                    return;
                }
            };
        }
    }

    async fn tell(&self, event: HostEvent) {
        // The controller ends last, and with it everything.
        let _ = self.events.send(Event::Host(event)).await;
    }

    async fn start(&self, demo: bool) -> Result<(Running, ControlClient), Failure> {
        if demo {
            let demo = Box::new(Demo::start(None).await?);
            let client = ControlClient::attach(&demo.engine().layout().control_socket()).await;
            return self.ready(Running::Demo(demo), client).await;
        }
        let socket = Layout::new(&self.config_dir).control_socket();
        let deadline = Instant::now() + ATTACH;
        loop {
            match Engine::start(EngineConfig::new(&self.config_dir)).await {
                Ok(engine) => {
                    let control = match ControlServer::start(&socket, Arc::new(engine.clone())) {
                        Ok(control) => control,
                        Err(error) => {
                            engine.stop().await;
                            return Err(Failure::internal("The engine cannot be reached", error));
                        }
                    };
                    let client = ControlClient::attach(&socket).await;
                    return self.ready(Running::Hosted { engine, control }, client).await;
                }
                Err(EngineError::AlreadyRunning { .. }) => {}
                Err(error) => return Err(error.into()),
            }
            if let Ok(client) = ControlClient::attach(&socket).await {
                return Ok((Running::Attached, client));
            }
            // It is starting, or ending.
            if Instant::now() >= deadline {
                return Err(Failure::new(
                    FailureKind::Conflict,
                    "Another engine holds the config directory, but does not answer; end its process and start again.",
                ));
            }
            tokio::time::sleep(WATCH_EVERY).await;
        }
    }

    async fn ready(
        &self,
        running: Running,
        client: Result<ControlClient, ControlError>,
    ) -> Result<(Running, ControlClient), Failure> {
        match client {
            Ok(client) => Ok((running, client)),
            Err(error) => {
                self.stop(running).await;
                Err(error.into())
            }
        }
    }

    /// Shows a running engine until something else is wanted, then ends it if it is ours.
    async fn host(&mut self, running: Running, client: ControlClient, demo: bool) -> Next {
        self.client.send_replace(Some(client.clone()));
        self.tell(HostEvent::Running { hosted: !matches!(running, Running::Attached) }).await;
        let next = self.follow(&running, client, demo).await;
        self.client.send_replace(None);
        let next = next.unwrap_or_else(|error| {
            tracing::debug!("the engine ended: {error}");
            Next::Failed(Failure::new(FailureKind::NotRunning, "The engine was stopped; start it again."))
        });
        if !matches!(running, Running::Attached) {
            self.tell(HostEvent::Stopping).await;
        }
        self.stop(running).await;
        next
    }

    async fn follow(
        &mut self,
        running: &Running,
        mut client: ControlClient,
        demo: bool,
    ) -> Result<Next, ControlError> {
        let mut statuses = client.watch(WATCH_EVERY).await?;
        let mut transfers = client.watch_transfers(WATCH_EVERY).await?;
        let mut lists = pin!(calls::lists(client.clone()));
        let meeting: OptionFuture<_> = match running {
            Running::Demo(demo) => Some(demo.meet()),
            Running::Hosted { .. } | Running::Attached => None,
        }
        .into();
        let mut meeting = pin!(meeting);
        let mut met = !demo;
        let mut calls = JoinSet::new();
        loop {
            tokio::select! {
                status = statuses.next() => {
                    let status = status.ok_or(ControlError::TimedOut)??;
                    self.tell(HostEvent::Status(Box::new(status))).await;
                }
                changes = transfers.next() => {
                    let changes = changes.ok_or(ControlError::TimedOut)??;
                    self.tell(HostEvent::Transfers(changes)).await;
                }
                Some((shares, pins)) = lists.next() => self.tell(HostEvent::Listed { shares, pins }).await,
                outcome = &mut meeting, if !met => {
                    met = true;
                    if let Some(Err(error)) = outcome {
                        self.tell(HostEvent::Refused(error.into())).await;
                    }
                }
                Some(done) = calls.join_next() => match done {
                    Ok(Ok(())) => {}
                    Ok(Err(failure)) => self.tell(HostEvent::Refused(failure)).await,
                    Err(error) => tracing::error!("a call of the engine failed: {error}"),
                },
                order = self.orders.recv() => match order {
                    Some(Order::Restart) if matches!(running, Running::Attached) => {
                        let text = "The engine runs outside of the window; start it again where it was started.";
                        self.tell(HostEvent::Refused(Failure::new(FailureKind::Refused, text))).await;
                    }
                    Some(Order::Restart) => return Ok(Next::Start { demo }),
                    Some(Order::StartDemo) if !demo => {
                        // Any start of the program can ask for this.
                        let ours = matches!(running, Running::Hosted { .. });
                        if !ours || holders(&mut client).await.is_empty() {
                            return Ok(Next::Start { demo: true });
                        }
                        let text = "The demo would take the drive away, and programs use it; close their files first.";
                        self.tell(HostEvent::Refused(Failure::new(FailureKind::Conflict, text))).await;
                    }
                    Some(Order::StopDemo) if demo => return Ok(Next::Start { demo: false }),
                    Some(Order::StartDemo | Order::StopDemo) => {}
                    Some(Order::Quit { force }) => {
                        let ours = !matches!(running, Running::Attached);
                        let holders = if ours && !force { holders(&mut client).await } else { Vec::new() };
                        if holders.is_empty() {
                            return Ok(Next::End);
                        }
                        self.tell(HostEvent::Held(holders)).await;
                    }
                    Some(order) => {
                        calls.spawn(calls::carry_out(order, client.clone()));
                    }
                    None => return Ok(Next::End),
                },
            }
        }
    }

    /// Waits for an order while no engine runs.
    async fn wait(&mut self) -> Next {
        loop {
            match self.orders.recv().await {
                Some(Order::Restart | Order::StopDemo) => return Next::Start { demo: false },
                Some(Order::StartDemo) => return Next::Start { demo: true },
                Some(Order::Quit { .. }) | None => return Next::End,
                Some(
                    Order::Connect { .. } | Order::Disconnect { .. } | Order::Pause(_) | Order::Resume(_),
                ) => {
                    self.tell(HostEvent::Refused(Failure::not_running())).await;
                }
            }
        }
    }

    async fn stop(&self, running: Running) {
        match running {
            Running::Hosted { engine, control } => {
                engine.stop().await;
                control.stop().await;
            }
            Running::Demo(demo) => {
                if let Err(error) = demo.end().await {
                    self.tell(HostEvent::Refused(error.into())).await;
                }
            }
            Running::Attached => {}
        }
    }
}

/// Who uses the drive; nobody, if that cannot be found out in time.
async fn holders(client: &mut ControlClient) -> Vec<Holder> {
    match tokio::time::timeout(HOLDERS, client.holders()).await {
        Ok(Ok(holders)) => holders.into_iter().map(Holder::from).collect(),
        Ok(Err(_)) | Err(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
