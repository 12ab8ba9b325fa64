//! The parts put together: Tauri's event loop on the main thread, everything else as tasks beside it.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use anyhow::Context as _;
use farhold_engine::layout::Layout;
use tauri::{AppHandle, Manager, RunEvent};
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio_util::task::TaskTracker;

use crate::arguments::{Arguments, Start};
use crate::autostart::Autostart;
use crate::commands::{self, Shell};
use crate::controller::{self, Controller, Event};
use crate::host::Host;
use crate::instance::{self, Claim, Instance};
use crate::integration::Exit;
use crate::preferences::{Remembered, Store};
use crate::texts::texts;
use crate::{notifications, tray};

mod desktop;
mod view;

use desktop::Desktop;

/// The label of the one window.
pub(crate) const WINDOW: &str = "main";
/// With it WebKitGTK hands pictures over in plain memory, which every graphics driver can show.
const SAFE_RENDERER: &str = "WEBKIT_DISABLE_DMABUF_RENDERER";
/// Room for what happens while the controller is busy.
const EVENTS: usize = 256;
const ORDERS: usize = 64;
const NOTIFICATIONS: usize = 32;

/// Runs the window and the tray until they are told to end.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let config_dir = arguments.config_dir.clone().or_else(Layout::default_config_dir);
    let config_dir = config_dir.context("this user has no home directory; name one with --config-dir")?;
    let config_dir = std::path::absolute(config_dir)?;
    let start = arguments.start();
    let runtime = Runtime::new().context("cannot start threads")?;
    tauri::async_runtime::set(runtime.handle().clone());
    let instance = match runtime.block_on(instance::claim(&Layout::new(&config_dir), &start))? {
        Claim::First(instance) => instance,
        Claim::Passed => return Ok(()),
    };
    let (store, remembered) = Store::open(&config_dir);
    let safe = std::env::var_os(SAFE_RENDERER).is_some();
    if remembered.safe_renderer && !safe {
        return Err(again_safely(false));
    }
    let parts = Parts { arguments: arguments.clone(), config_dir, start, instance, store, remembered, safe };
    let how = parts.run(&runtime)?;
    // A thread that still waits for a disk must not keep the process.
    runtime.shutdown_background();
    match how {
        Exit::Quit => Ok(()),
        Exit::SafeRenderer => Err(again_safely(true)),
    }
}

/// Becomes this program anew, with the safe renderer and, if it was `shown`, with the window; returns only if that
/// fails. Whatever is open closes with it.
fn again_safely(shown: bool) -> anyhow::Error {
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return error.into(),
    };
    let arguments = std::env::args_os().skip(1).filter(|argument| !shown || argument != "--hidden");
    let error = Command::new(program).args(arguments).env(SAFE_RENDERER, "1").exec();
    anyhow::Error::new(error).context("cannot start again")
}

/// What a first start has found.
struct Parts {
    arguments: Arguments,
    config_dir: PathBuf,
    start: Start,
    instance: Instance,
    store: Store,
    remembered: Remembered,
    safe: bool,
}

impl Parts {
    fn run(self, runtime: &Runtime) -> anyhow::Result<Exit> {
        let _inside = runtime.enter();
        let (events, received) = mpsc::channel(EVENTS);
        let (client_sender, client) = watch::channel(None);
        let (texts_sender, texts_shown) =
            watch::channel(texts(self.remembered.preferences.language.as_deref()));
        let app = tauri::Builder::default()
            .invoke_handler(commands::handler())
            .build(tauri::generate_context!())
            .context("cannot start the window")?;
        app.manage(Shell {
            app: app.handle().clone(),
            config_dir: self.config_dir.clone(),
            events: events.clone(),
            client,
            texts: texts_shown.clone(),
            open_files: Mutex::new(None),
        });

        let (orders, ordered) = mpsc::channel(ORDERS);
        let (shown, tray_shown) = watch::channel(None);
        let (notices, wanted) = mpsc::channel(NOTIFICATIONS);
        let tasks = TaskTracker::new();
        let exit = Arc::new(OnceLock::new());
        let desktop = Desktop {
            app: app.handle().clone(),
            events: events.clone(),
            orders,
            tray: shown,
            notices,
            store: self.store,
            autostart: autostart(&self.arguments, &self.config_dir),
            texts: texts_sender,
            place: Arc::new(Mutex::new(self.remembered.place)),
            tasks: tasks.clone(),
            exit: Arc::clone(&exit),
        };
        let controller = Controller::new(desktop, self.remembered, self.safe);
        tasks.spawn(controller::run(controller, received));
        tasks.spawn(Host::new(self.config_dir, ordered, events.clone(), client_sender).run(self.start.demo));
        tasks.spawn(tray::item::run(tray_shown, events.clone()));
        tasks.spawn(notifications::bus::run(wanted, events.clone(), texts_shown));
        tasks.spawn(starts(self.start, self.instance, events.clone()));
        tasks.spawn(signals(events));
        app.run_return(on_run_event);
        Ok(exit.get().copied().unwrap_or(Exit::Quit))
    }
}

/// The window may be hidden or not made yet: only the controller ends the program.
fn on_run_event(_app: &AppHandle, event: RunEvent) {
    if let RunEvent::ExitRequested { code: None, api, .. } = event {
        api.prevent_exit();
    }
}

fn autostart(arguments: &Arguments, config_dir: &std::path::Path) -> Option<Autostart> {
    let program = std::env::current_exe().ok()?;
    let named = arguments.config_dir.is_some().then(|| config_dir.to_owned());
    Autostart::new(program, named)
}

/// Tells of this start, and of those after it.
async fn starts(first: Start, instance: Instance, events: mpsc::Sender<Event>) {
    let mut start = first;
    while events.send(Event::Started(start)).await.is_ok() {
        start = instance.next().await;
    }
}

/// Tells of the signals that ask a program to end.
async fn signals(events: mpsc::Sender<Event>) {
    let heard = async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hangup = signal(SignalKind::hangup())?;
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
            if events.send(Event::End).await.is_err() {
                return Ok(());
            }
        }
    };
    let heard: std::io::Result<()> = heard.await;
    if let Err(error) = heard {
        tracing::error!("signals are not heard: {error}");
    }
}

/// Locks what no panic can leave half done.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
