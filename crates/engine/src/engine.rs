//! The engine as a handle: starting, stopping, and what is asked of it.

use std::sync::Arc;
use std::time::Duration;

use farhold_net::{Net, NetConfig, RelayAddress};
use farhold_secure::{Code, Identity};
use tokio::sync::{Mutex, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::adapters::HomeService;
use crate::config::EngineConfig;
use crate::contacts::ContactBook;
use crate::contacts::file::ContactsFile;
use crate::controller::{Controller, Links, ORDERS, Order, blocking};
use crate::error::EngineError;
use crate::identity;
use crate::layout::Layout;
use crate::lock::{InstanceLock, LockError};
use crate::mounting::{Mounter, Mounting};
use crate::pins::Pins;
use crate::rates::Rates;
use crate::secrets::MasterKey;
use crate::seek::FetchMeter;
use crate::settings::Settings;
use crate::storage::{Places, Storage};
use crate::transfers::{Scheduler, Transfers};

mod contacts;
mod diagnosis;
mod drive;
mod mount;
mod pins;
mod settings;
mod shares;
mod status;
mod transfers;

/// How long goodbyes and unmounting may take when the engine stops, and how long closing files may take after that:
/// together less than 10 s.
const STOP_WORK: Duration = Duration::from_secs(6);
const STOP_STORAGE: Duration = Duration::from_millis(3500);

/// A running engine. Clones are the same engine. It must be stopped with [`Engine::stop`]: dropping the last clone
/// ends its tasks, but waits for nothing.
#[derive(Debug, Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    parts: Parts,
    storage: Storage,
    tasks: Tasks,
    /// Released when everything is closed.
    lock: Mutex<Option<InstanceLock>>,
}

/// Who ends what: `work` (the controller, replication, the mount) before the connections, and `all` at last.
#[derive(Debug)]
struct Tasks {
    all: CancellationToken,
    work: CancellationToken,
    tracker: TaskTracker,
}

impl Drop for Tasks {
    fn drop(&mut self) {
        self.all.cancel();
    }
}

/// What the network part is started with.
fn net_config(config: &EngineConfig, settings: &Settings) -> Result<NetConfig, EngineError> {
    Ok(NetConfig {
        relay: config.relay_with(settings)?,
        bind: config.loopback.then_some(std::net::Ipv4Addr::LOCALHOST.into()),
        port: config.listen.unwrap_or(settings.listen_port),
        no_lan: !config.lan_with(settings),
        relay_only: settings.relay_only || config.relay_only,
        ..NetConfig::default()
    })
}

/// What the config directory keeps.
struct Kept {
    settings: Settings,
    key: MasterKey,
    identity: Identity,
    file: ContactsFile,
    contacts: ContactBook,
}

/// Takes the config directory and reads what it keeps.
fn open(layout: &Layout) -> Result<(InstanceLock, Kept), EngineError> {
    let config_dir = || layout.root().to_owned();
    layout.create().map_err(|source| EngineError::ConfigDir { config_dir: config_dir(), source })?;
    let lock = InstanceLock::take(&layout.lock()).map_err(|error| match error {
        LockError::Held => EngineError::AlreadyRunning { config_dir: config_dir() },
        LockError::Io(source) => EngineError::ConfigDir { config_dir: config_dir(), source },
    })?;
    let settings = Settings::load(&layout.settings())?;
    let key = MasterKey::load(&layout.secret_key(), &[layout.identity(), layout.contacts()])?;
    let identity = identity::load(layout, &key)?;
    let file = ContactsFile::new(layout.contacts(), key.clone());
    let contacts = file.load()?;
    Ok((lock, Kept { settings, key, identity, file, contacts }))
}

impl Engine {
    /// Starts an engine: takes its config directory, opens what it keeps, mounts the drive, and connects to whom it
    /// was connected. Must be called in a multi-threaded tokio runtime.
    ///
    /// # Errors
    /// [`EngineError`]; nothing runs then.
    pub async fn start(config: EngineConfig) -> Result<Self, EngineError> {
        let root = std::path::absolute(&config.config_dir)
            .map_err(|source| EngineError::ConfigDir { config_dir: config.config_dir.clone(), source })?;
        let layout = Layout::new(root);
        let (lock, kept) = {
            let layout = layout.clone();
            blocking(move || open(&layout)).await?
        };
        let all = CancellationToken::new();
        let tasks = Tasks { work: all.child_token(), all, tracker: TaskTracker::new() };
        let places = Places {
            layout: &layout,
            key: &kept.key,
            code: kept.identity.code(),
            cache_dir: kept.settings.cache_dir.clone().unwrap_or_else(|| layout.cache()),
            cache_limit: kept.settings.cache_limit,
            mount: config.mount_with(&kept.settings)?.map(|options| options.point),
        };
        let storage = Storage::open(places, &tasks.all).await?;
        let started = Self::start_on(storage.clone(), layout, kept, config, &tasks).await;
        match started {
            Ok(started) => Ok(started.hold(storage, tasks, lock)),
            Err(error) => {
                tasks.all.cancel();
                tasks.tracker.close();
                tasks.tracker.wait().await;
                storage.close().await;
                Err(error)
            }
        }
    }

    async fn start_on(
        storage: Storage,
        layout: Layout,
        kept: Kept,
        config: EngineConfig,
        tasks: &Tasks,
    ) -> Result<Parts, EngineError> {
        let code = *kept.identity.code();
        let (contacts, book) = watch::channel(kept.contacts);
        let transfers = Transfers::open(&layout, book.clone()).await?;
        let service = Arc::new(HomeService { home: storage.home.clone(), transfers: transfers.clone() });
        let identity = Arc::new(kept.identity);
        let (net, events) =
            Net::start(net_config(&config, &kept.settings)?, identity, service, tasks.all.child_token())
                .await?;
        net.limit(kept.settings.limit_receive, kept.settings.limit_send);
        let meter = FetchMeter::default();
        let pins = Pins::open(layout.pins()).await?;
        let (mut mounting, mounter) = Mounting::new(Arc::clone(&storage.drive));
        let (settings, settings_receiver) = watch::channel(kept.settings.clone());
        let mut controller = Controller {
            code,
            layout: layout.clone(),
            config: config.clone(),
            settings,
            contacts,
            file: kept.file,
            net: net.clone(),
            storage: storage.clone(),
            mounter: mounter.clone(),
            meter: meter.clone(),
            pins: pins.clone(),
            tracker: tasks.tracker.clone(),
            cancel: tasks.work.clone(),
            links: Links::new(),
        };
        let begun = async {
            controller.resume().await?;
            match config.mount_with(&kept.settings)? {
                Some(options) => Ok(mounting.begin(options).await.map(drop)?),
                None => Ok(()),
            }
        };
        if let Err(error) = begun.await {
            net.stop().await;
            return Err(error);
        }
        tasks.tracker.spawn(mounting.keep(tasks.work.clone()));
        let (orders, received) = mpsc::channel(ORDERS);
        tasks.tracker.spawn(controller.run(received, events));
        let scheduler = Scheduler::new(transfers.clone(), net.clone(), orders.clone(), layout.journals());
        tasks.tracker.spawn(scheduler.run(tasks.work.clone()));
        let rates = Rates::default();
        let noting = Self::note_rates(net.clone(), book.clone(), rates.clone());
        tasks.tracker.spawn(tasks.work.clone().run_until_cancelled_owned(noting));
        Ok(Parts {
            code,
            layout,
            config,
            started: kept.settings,
            settings: settings_receiver,
            orders,
            contacts: book,
            mounter,
            meter,
            rates,
            net,
            transfers,
            pins,
        })
    }

    /// This engine's code.
    pub fn code(&self) -> String {
        self.inner.parts.code.to_string()
    }

    /// Where this engine keeps its files and its control socket.
    pub fn layout(&self) -> &Layout {
        &self.inner.parts.layout
    }

    /// Says goodbye to all contacts, unmounts the drive, and closes everything; within 10 s. Whoever calls it while
    /// it is under way, or later, waits for the same end; if the caller goes away in the middle, the next one goes on.
    pub async fn stop(&self) {
        let mut lock = self.inner.lock.lock().await;
        if lock.is_none() {
            return;
        }
        let Tasks { all, work, tracker } = &self.inner.tasks;
        work.cancel();
        tracker.close();
        let ending = async { tokio::join!(self.inner.parts.net.stop(), tracker.wait()) };
        if tokio::time::timeout(STOP_WORK, ending).await.is_err() {
            tracing::error!("something of the engine does not end; it is left behind");
        }
        all.cancel();
        if tokio::time::timeout(STOP_STORAGE, self.inner.storage.close()).await.is_err() {
            tracing::error!("the databases do not close; they are left as after a crash");
        }
        *lock = None;
    }

    /// Waits until somebody begins to stop the engine. Whoever hosts it then calls [`Engine::stop`] too: the one who
    /// began may have gone away.
    pub async fn stopping(&self) {
        self.inner.tasks.work.cancelled().await;
    }

    /// Gives an order to the controller and waits until it is done.
    async fn order<T>(
        &self,
        order: impl FnOnce(oneshot::Sender<Result<T, EngineError>>) -> Order,
    ) -> Result<T, EngineError> {
        let (reply, done) = oneshot::channel();
        self.inner.parts.orders.send(order(reply)).await.map_err(|_| EngineError::Stopping)?;
        done.await.map_err(|_| EngineError::Stopping)?
    }

    fn book(&self) -> watch::Ref<'_, ContactBook> {
        self.inner.parts.contacts.borrow()
    }
}

/// What runs besides the storage that it works on.
#[derive(Debug)]
struct Parts {
    code: Code,
    layout: Layout,
    config: EngineConfig,
    /// The settings that this run began with.
    started: Settings,
    settings: watch::Receiver<Settings>,
    orders: mpsc::Sender<Order>,
    contacts: watch::Receiver<ContactBook>,
    mounter: Mounter,
    meter: FetchMeter,
    rates: Rates,
    net: Net,
    transfers: Transfers,
    pins: Pins,
}

impl Parts {
    /// The relay in use; settings are checked before they are taken over.
    fn relay(&self) -> Option<RelayAddress> {
        self.config.relay_with(&self.settings.borrow()).ok().flatten()
    }

    fn hold(self, storage: Storage, tasks: Tasks, lock: InstanceLock) -> Engine {
        let inner = Inner { parts: self, storage, tasks, lock: Mutex::new(Some(lock)) };
        Engine { inner: Arc::new(inner) }
    }
}

#[cfg(test)]
mod tests;
