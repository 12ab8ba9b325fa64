//! The controller's [`Integration`] with Tauri, the tray and the session bus.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use gtk::prelude::GtkWindowExt;
use serde::Serialize;
use tauri::{AppHandle, Emitter, Manager, WebviewWindow};
use tokio::sync::{mpsc, watch};
use tokio_util::task::TaskTracker;

use super::{WINDOW, view};
use crate::autostart::Autostart;
use crate::controller::{Event, WindowEvent};
use crate::desktop;
use crate::dto::{Failure, FailureKind, Nothing};
use crate::host::Order;
use crate::integration::{Exit, Integration, Message};
use crate::notifications::Notification;
use crate::preferences::{Place, Remembered, Store};
use crate::texts::{Texts, texts};
use crate::tray::{self, item::Shown};

/// What the controller works with.
#[derive(Debug)]
pub(super) struct Desktop {
    pub(super) app: AppHandle,
    pub(super) events: mpsc::Sender<Event>,
    pub(super) orders: mpsc::Sender<Order>,
    pub(super) tray: watch::Sender<Shown>,
    pub(super) notices: mpsc::Sender<Notification>,
    pub(super) store: Store,
    pub(super) autostart: Option<Autostart>,
    pub(super) texts: watch::Sender<&'static Texts>,
    /// Where the window was last while it was neither hidden nor maximised.
    pub(super) place: Arc<Mutex<Option<Place>>>,
    pub(super) tasks: TaskTracker,
    pub(super) exit: Arc<OnceLock<Exit>>,
}

impl Desktop {
    /// Does something to the window, where windows may be touched, if there is one.
    fn with_window(&self, work: impl FnOnce(&WebviewWindow) -> tauri::Result<()> + Send + 'static) {
        let app = self.app.clone();
        let done = self.app.run_on_main_thread(move || {
            if let Some(window) = app.get_webview_window(WINDOW)
                && let Err(error) = work(&window)
            {
                tracing::warn!("the window does not obey: {error}");
            }
        });
        if let Err(error) = done {
            tracing::debug!("the window ended: {error}");
        }
    }

    fn tell_page<T: Serialize + Clone>(&self, event: &str, payload: T) {
        if let Err(error) = self.app.emit_to(WINDOW, event, payload) {
            tracing::warn!("the page is not told: {error}");
        }
    }
}

impl Integration for Desktop {
    fn emit(&self, message: Message) {
        match message {
            Message::State(state) => self.tell_page("state", state),
            Message::Transfers(changes) => self.tell_page("transfers", changes),
            Message::Dragging(dragging) => self.tell_page("dragging", dragging),
            Message::Dropped(paths) => self.tell_page("dropped", paths),
            Message::Link(link) => self.tell_page("link", link),
            Message::Opened(paths) => self.tell_page("opened", paths),
            Message::AskClose => self.tell_page("ask-close", Nothing {}),
            Message::QuitHeld(held) => self.tell_page("quit-held", held),
            Message::ShowView(view) => self.tell_page("show-view", view),
        }
    }

    fn order(&self, order: Order) {
        // Full only while an engine starts and the user goes on clicking.
        if let Err(error) = self.orders.try_send(order) {
            tracing::warn!("the engine's host is too busy: {error}");
        }
    }

    fn set_tray(&self, icon: tray::Icon, menu: Vec<tray::Line>) {
        self.tray.send_replace(Some((icon, menu)));
    }

    fn notify(&self, notification: Notification) {
        if let Err(error) = self.notices.try_send(notification) {
            tracing::info!("a notification is left out: {error}");
        }
    }

    fn show_window(&self, activation: Option<String>) {
        let (app, events) = (self.app.clone(), self.events.clone());
        let place = Arc::clone(&self.place);
        let done = self.app.run_on_main_thread(move || {
            let found = app.get_webview_window(WINDOW).map_or_else(|| view::open(&app, &events, place), Ok);
            let shown = found.and_then(|window| {
                if let (Some(token), Ok(gtk)) = (activation, window.gtk_window()) {
                    gtk.set_startup_id(&token);
                }
                window.show()?;
                window.unminimize()?;
                window.set_focus()
            });
            if let Err(error) = shown {
                tracing::error!("the window cannot be shown: {error}");
            }
            view::tell(&events, WindowEvent::Shown);
        });
        if let Err(error) = done {
            tracing::debug!("the window ended: {error}");
        }
    }

    fn hide_window(&self) {
        self.with_window(WebviewWindow::hide);
    }

    fn minimise_window(&self) {
        self.with_window(WebviewWindow::minimize);
    }

    fn reload_page(&self) {
        self.with_window(WebviewWindow::reload);
    }

    fn open_folder(&self, folder: &Path) {
        let (folder, notices) = (folder.to_owned(), self.notices.clone());
        self.tasks.spawn(async move {
            if let Err(failure) = desktop::open_folder(&folder).await {
                let notice = Notification { title: failure.message, body: String::new(), view: "drive" };
                // Whether it is shown or not, there is nobody else to tell.
                let _ = notices.send(notice).await;
            }
        });
    }

    fn remember(&self, remembered: &Remembered) -> Result<(), Failure> {
        self.texts.send_replace(texts(remembered.preferences.language.as_deref()));
        // The disk may be slow.
        tokio::task::block_in_place(|| self.store.save(remembered))
    }

    fn autostart(&self) -> bool {
        self.autostart.as_ref().is_some_and(Autostart::is_on)
    }

    fn set_autostart(&self, on: bool) -> Result<(), Failure> {
        let Some(autostart) = &self.autostart else {
            let text = "This user has no home directory, so nothing can be started at login.";
            return Err(Failure::new(FailureKind::Refused, text));
        };
        autostart.set(on).map_err(|error| Failure::internal("The start at login cannot be changed", error))
    }

    fn exit(&self, how: Exit) {
        // The first one counts.
        let _ = self.exit.set(how);
        self.app.exit(0);
    }
}
