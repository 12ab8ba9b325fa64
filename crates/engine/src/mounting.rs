//! The drive's mount, kept as the user wants it: what somebody else unmounts is mounted again, or its absence is said;
//! what the user unmounts stays so.

use std::sync::Arc;
use std::time::Duration;

use farhold_mount::{Holder, Mount, MountError, MountOptions};
use farhold_vfs::Drive;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::backoff::Backoff;
use crate::error::EngineError;
use crate::status::{MountStateName, MountStatus};

/// Before mounting again. The first attempt comes soon, so that an accident is over within seconds.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// Orders that may wait: each comes from a caller who waits for its answer.
const ORDERS: usize = 16;

type Done<T> = oneshot::Sender<Result<T, MountError>>;

/// What is wanted of the mount.
#[derive(Debug)]
enum Order {
    /// To be there. An error if it cannot be; it is as it was then.
    Mount { options: MountOptions, done: Done<MountStatus> },
    /// Not to be there; only if nobody uses it, unless forced. Answers who used it.
    Unmount { force: bool, done: Done<Vec<Holder>> },
    /// To be elsewhere, or nowhere. If somebody uses it, or it cannot be there, it is as it was.
    Place { options: Option<MountOptions>, done: Done<()> },
}

/// Gives orders to a [`Mounting`]. A caller that goes away does not stop what it began.
#[derive(Debug, Clone)]
pub(crate) struct Mounter {
    orders: mpsc::Sender<Order>,
    status: watch::Receiver<Option<MountStatus>>,
}

impl Mounter {
    /// How it stands; `None` if the drive is not to be mounted.
    pub(crate) fn status(&self) -> Option<MountStatus> {
        self.status.borrow().clone()
    }

    /// Mounts the drive, if it is not mounted.
    pub(crate) async fn mount(&self, options: MountOptions) -> Result<MountStatus, EngineError> {
        self.order(|done| Order::Mount { options, done }).await
    }

    /// Unmounts it until it is mounted again.
    pub(crate) async fn unmount(&self, force: bool) -> Result<Vec<Holder>, EngineError> {
        self.order(|done| Order::Unmount { force, done }).await
    }

    /// Mounts it elsewhere or nowhere.
    pub(crate) async fn place(&self, options: Option<MountOptions>) -> Result<(), EngineError> {
        self.order(|done| Order::Place { options, done }).await
    }

    async fn order<T>(&self, order: impl FnOnce(Done<T>) -> Order) -> Result<T, EngineError> {
        let (sender, done) = oneshot::channel();
        self.orders.send(order(sender)).await.map_err(|_| EngineError::Stopping)?;
        done.await.map_err(|_| EngineError::Stopping)?.map_err(EngineError::Remount)
    }
}

/// A drive and how it is mounted.
#[derive(Debug)]
pub(crate) struct Mounting {
    drive: Arc<Drive>,
    state: State,
    orders: mpsc::Receiver<Order>,
    status: watch::Sender<Option<MountStatus>>,
}

#[derive(Debug)]
enum State {
    /// Not to be there.
    Off,
    /// There.
    Mounted { mount: Box<Mount>, options: MountOptions },
    /// To be there, and tried again.
    Failed { options: MountOptions, backoff: Backoff, next: Instant },
}

/// What a waiting [`Mounting`] has to do.
enum Event {
    Cancelled,
    Ordered(Order),
    /// Somebody else unmounted it.
    Gone,
    /// Time for another attempt.
    Again,
}

impl Mounting {
    /// A drive that is not to be mounted yet.
    pub(crate) fn new(drive: Arc<Drive>) -> (Self, Mounter) {
        let (status, shown) = watch::channel(None);
        let (orders, received) = mpsc::channel(ORDERS);
        let mounting = Self { drive, state: State::Off, orders: received, status };
        (mounting, Mounter { orders, status: shown })
    }

    /// Keeps it as it is wanted until `cancel`, then unmounts.
    pub(crate) async fn keep(mut self, cancel: CancellationToken) {
        loop {
            match self.next(&cancel).await {
                Event::Cancelled => break,
                // Whoever asked may have gone away.
                Event::Ordered(Order::Mount { options, done }) => drop(done.send(self.mount(options).await)),
                Event::Ordered(Order::Unmount { force, done }) => drop(done.send(self.unmount(force).await)),
                Event::Ordered(Order::Place { options, done }) => drop(done.send(self.place(options).await)),
                Event::Gone => self.gone().await,
                Event::Again => self.again().await,
            }
        }
        if let State::Mounted { mount, .. } = self.state {
            stop(*mount).await;
        }
    }

    async fn next(&mut self, cancel: &CancellationToken) -> Event {
        let changed = async {
            match &self.state {
                State::Off => std::future::pending().await,
                State::Mounted { mount, .. } => {
                    mount.gone().await;
                    Event::Gone
                }
                State::Failed { next, .. } => {
                    tokio::time::sleep_until(*next).await;
                    Event::Again
                }
            }
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => Event::Cancelled,
            event = changed => event,
            Some(order) = self.orders.recv() => Event::Ordered(order),
        }
    }

    async fn mount(&mut self, options: MountOptions) -> Result<MountStatus, MountError> {
        if let State::Mounted { mount, .. } = &self.state {
            return Ok(there(mount));
        }
        self.begin(options).await
    }

    async fn unmount(&mut self, force: bool) -> Result<Vec<Holder>, MountError> {
        let holders = self.leave(force).await?;
        self.show(MountStateName::Unmounted, None);
        Ok(holders)
    }

    async fn place(&mut self, options: Option<MountOptions>) -> Result<(), MountError> {
        let before = match &self.state {
            State::Off => None,
            State::Mounted { options, .. } | State::Failed { options, .. } => Some(options.clone()),
        };
        self.leave(false).await?;
        let unmounted = self.status.borrow().as_ref().is_some_and(|s| s.state == MountStateName::Unmounted);
        let Some(options) = options else {
            self.status.send_replace(None);
            return Ok(());
        };
        if unmounted {
            // As the user asked; the next mount is elsewhere.
            self.status.send_modify(|status| {
                if let Some(status) = status {
                    status.point = options.point;
                }
            });
            return Ok(());
        }
        let begun = self.begin(options).await.map(drop);
        if begun.is_err()
            && let Some(before) = before
            && let Err(error) = self.begin(before.clone()).await
        {
            self.fail(before, error.to_string());
        }
        begun
    }

    async fn gone(&mut self) {
        if let State::Mounted { mount, options } = std::mem::replace(&mut self.state, State::Off) {
            stop(*mount).await;
            tracing::warn!("the drive was unmounted by somebody else; it will be mounted again");
            self.fail(options, "it was unmounted by somebody else".to_owned());
        }
    }

    async fn again(&mut self) {
        let State::Failed { options, .. } = &self.state else { return };
        let Err(error) = self.begin(options.clone()).await else { return };
        tracing::warn!("the drive cannot be mounted; it will be tried again");
        tracing::debug!("the drive cannot be mounted: {error}");
        self.show(MountStateName::Failed, Some(error.to_string()));
        if let State::Failed { backoff, next, .. } = &mut self.state {
            *next = Instant::now() + backoff.next();
        }
    }

    /// Mounts what is not mounted. If that fails, the state stays.
    pub(crate) async fn begin(&mut self, options: MountOptions) -> Result<MountStatus, MountError> {
        let mount = Mount::start(Arc::clone(&self.drive), options.clone()).await?;
        let status = there(&mount);
        self.state = State::Mounted { mount: Box::new(mount), options };
        self.status.send_replace(Some(status.clone()));
        Ok(status)
    }

    /// Unmounts what is mounted; the state is off then. Answers who used it nevertheless.
    async fn leave(&mut self, force: bool) -> Result<Vec<Holder>, MountError> {
        match std::mem::replace(&mut self.state, State::Off) {
            State::Off | State::Failed { .. } => Ok(Vec::new()),
            State::Mounted { mount, .. } if force => match mount.stop().await {
                Ok(stopped) => Ok(stopped.holders),
                Err(error) => {
                    self.show(MountStateName::Failed, Some(error.to_string()));
                    Err(error)
                }
            },
            State::Mounted { mount, options } => match mount.try_stop().await {
                Ok(()) => Ok(Vec::new()),
                Err((mount, error)) => {
                    self.state = State::Mounted { mount: Box::new(mount), options };
                    Err(error)
                }
            },
        }
    }

    /// Not there; to be tried again.
    fn fail(&mut self, options: MountOptions, reason: String) {
        let point = options.point.clone();
        self.status.send_replace(Some(MountStatus {
            point,
            state: MountStateName::Failed,
            reason: Some(reason),
        }));
        let mut backoff = Backoff::new(RETRY.0, RETRY.1);
        let next = Instant::now() + backoff.next();
        self.state = State::Failed { options, backoff, next };
    }

    fn show(&self, state: MountStateName, reason: Option<String>) {
        self.status.send_modify(|status| {
            if let Some(status) = status {
                status.state = state;
                status.reason = reason;
            }
        });
    }
}

fn there(mount: &Mount) -> MountStatus {
    MountStatus { point: mount.point().to_owned(), state: MountStateName::Mounted, reason: None }
}

async fn stop(mount: Mount) {
    if let Err(error) = mount.stop().await {
        tracing::error!("the drive stays mounted");
        tracing::debug!("the drive stays mounted: {error}");
    }
}
