//! The engine as a handle: starting, stopping, and what is asked of it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use farhold_mount::MountOptions;
use farhold_net::{Net, NetConfig, RelayAddress};
use farhold_secure::{Code, Identity};
use tokio::sync::{Mutex, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::adapters::HomeService;
use crate::config::{EngineConfig, MountChoice};
use crate::contacts::ContactBook;
use crate::contacts::file::ContactsFile;
use crate::controller::{Controller, Links, ORDERS, Order, blocking};
use crate::error::EngineError;
use crate::identity;
use crate::layout::Layout;
use crate::lock::{InstanceLock, LockError};
use crate::mounting::Mounting;
use crate::pins::Pins;
use crate::rates::Rates;
use crate::secrets::MasterKey;
use crate::seek::FetchMeter;
use crate::settings::Settings;
use crate::status::MountStatus;
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

/// The options of this run over the settings.
struct Choices {
    relay: Option<RelayAddress>,
    mount: Option<PathBuf>,
    cache_dir: PathBuf,
    net: NetConfig,
}

impl Choices {
    fn new(config: EngineConfig, settings: &Settings, layout: &Layout) -> Result<Self, EngineError> {
        let relay = match (config.relay, &settings.relay) {
            (Some(relay), _) => Some(relay),
            (None, Some(relay)) => Some(relay.parse()?),
            (None, None) => None,
        };
        let mount = match config.mount {
            MountChoice::At(point) => Some(point),
            MountChoice::Settings if settings.mount => {
                let point = settings.drive.clone().or_else(Layout::default_drive);
                Some(point.ok_or(EngineError::NoHome { option: "--mount" })?)
            }
            MountChoice::Settings | MountChoice::Off => None,
        };
        let net = NetConfig {
            relay: relay.clone(),
            bind: config.loopback.then_some(std::net::Ipv4Addr::LOCALHOST.into()),
            port: config.listen.unwrap_or(settings.listen_port),
            no_lan: config.no_lan || !settings.lan,
            relay_only: settings.relay_only || config.relay_only,
            ..NetConfig::default()
        };
        let cache_dir = settings.cache_dir.clone().unwrap_or_else(|| layout.cache());
        Ok(Self { relay, mount, cache_dir, net })
    }
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
        let choices = Choices::new(config, &kept.settings, &layout)?;
        let all = CancellationToken::new();
        let tasks = Tasks { work: all.child_token(), all, tracker: TaskTracker::new() };
        let places = Places {
            layout: &layout,
            key: &kept.key,
            code: kept.identity.code(),
            cache_dir: choices.cache_dir.clone(),
            cache_limit: kept.settings.cache_limit,
            mount: choices.mount.clone(),
        };
        let storage = Storage::open(places, &tasks.all).await?;
        let started = Self::start_on(storage.clone(), layout, kept, choices, &tasks).await;
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
        choices: Choices,
        tasks: &Tasks,
    ) -> Result<Parts, EngineError> {
        let code = *kept.identity.code();
        let (contacts, book) = watch::channel(kept.contacts);
        let transfers = Transfers::open(&layout, book.clone()).await?;
        let service = Arc::new(HomeService { home: storage.home.clone(), transfers: transfers.clone() });
        let identity = Arc::new(kept.identity);
        let (net, events) = Net::start(choices.net, identity, service, tasks.all.child_token()).await?;
        let meter = FetchMeter::default();
        let pins = Pins::open(layout.pins()).await?;
        let mut controller = Controller {
            code,
            layout: layout.clone(),
            settings: kept.settings.clone(),
            contacts,
            file: kept.file,
            net: net.clone(),
            storage: storage.clone(),
            meter: meter.clone(),
            pins: pins.clone(),
            tracker: tasks.tracker.clone(),
            cancel: tasks.work.clone(),
            links: Links::new(),
        };
        let resumed = controller.resume().await;
        let mounting = match (resumed, choices.mount) {
            (Ok(()), Some(point)) => {
                let options = MountOptions { point, allow_other: kept.settings.allow_other };
                Mounting::start(Arc::clone(&storage.drive), options).await.map(Some).map_err(Into::into)
            }
            (Ok(()), None) => Ok(None),
            (Err(error), _) => Err(error),
        };
        let mounting = match mounting {
            Ok(mounting) => mounting,
            Err(error) => {
                net.stop().await;
                return Err(error);
            }
        };
        let mount = mounting.as_ref().map(Mounting::status);
        if let Some(mounting) = mounting {
            tasks.tracker.spawn(mounting.keep(tasks.work.clone()));
        }
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
            relay: choices.relay,
            orders,
            contacts: book,
            mount,
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
    relay: Option<RelayAddress>,
    orders: mpsc::Sender<Order>,
    contacts: watch::Receiver<ContactBook>,
    mount: Option<watch::Receiver<MountStatus>>,
    meter: FetchMeter,
    rates: Rates,
    net: Net,
    transfers: Transfers,
    pins: Pins,
}

impl Parts {
    fn hold(self, storage: Storage, tasks: Tasks, lock: InstanceLock) -> Engine {
        let inner = Inner { parts: self, storage, tasks, lock: Mutex::new(Some(lock)) };
        Engine { inner: Arc::new(inner) }
    }
}

#[cfg(test)]
mod tests;
