//! All that the window and the tray decide. [`Controller`] is a state machine: events and `now` in; calls of
//! [`Integration`] and a deadline out. [`run`] is the loop around it.

use std::time::Duration;

use farhold_engine::PinStatus;
use farhold_engine::commands::Share;
use farhold_engine::status::Status;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::arguments::Start;
use crate::dto::{
    Dragging, EngineInfo, EngineState, Failure, Holder, Path, Paths, Platform, Preferences, ShowView, State,
    Transfer,
};
use crate::host::{HostEvent, Order};
use crate::integration::{Exit, Integration, Message};
use crate::notifications::{self, Gate, Moment, Notification};
use crate::preferences::{Place, Remembered};
use crate::texts::{Texts, texts};
use crate::{link, tray};

mod quit;
mod request;
mod transfers;
mod window;

use quit::Quitting;
use transfers::TransferBook;
use window::Window;

/// The page is told at most so often.
const EMIT_EVERY: Duration = Duration::from_millis(100);
/// So much waits for a page that does not listen yet.
const WAITING: usize = 64;

/// What happens to the controller.
#[derive(Debug)]
pub(crate) enum Event {
    Host(HostEvent),
    Request(Request),
    Window(WindowEvent),
    Tray {
        event: tray::Event,
        activation: Option<String>,
    },
    /// Whether a tray shows our item.
    TrayHost(bool),
    /// A notification was clicked.
    View {
        view: &'static str,
        activation: Option<String>,
    },
    /// The program was started, for the first time or again.
    Started(Start),
    /// The system asks for an end.
    End,
}

/// What the page asks for. Commands that only concern the engine go to it past the controller.
#[derive(Debug)]
pub(crate) enum Request {
    State(oneshot::Sender<State>),
    Transfers(oneshot::Sender<Vec<Transfer>>),
    Preferences(oneshot::Sender<Preferences>),
    SetPreferences(Preferences, oneshot::Sender<Result<(), Failure>>),
    PauseAll,
    ResumeAll,
    RestartEngine,
    StartDemo,
    StopDemo,
    Close(CloseHow),
    Quit { force: bool, reply: oneshot::Sender<Result<Vec<Holder>, Failure>> },
    Painted,
}

/// What a closed window does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum CloseHow {
    Hide,
    Quit,
}

/// What happens to the window.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum WindowEvent {
    /// The window is on the screen.
    Shown,
    /// The page is loaded.
    Loaded,
    /// The process that draws the page is gone.
    Crashed,
    CloseRequested,
    Placed(Place),
    /// Files are dragged over the window, or no longer.
    Dragging(Option<usize>),
    Dropped(Vec<Path>),
}

/// The logic of the window and the tray.
#[derive(Debug)]
pub(crate) struct Controller<I> {
    integration: I,
    remembered: Remembered,
    /// A place of the window that is not saved yet, and when it will be.
    unsaved: Option<Instant>,
    window: Window,
    tray_host: bool,
    engine: EngineInfo,
    demo: bool,
    status: Option<Box<Status>>,
    shares: Vec<Share>,
    pins: Vec<PinStatus>,
    transfers: TransferBook,
    /// What was last looked at for notifications; `None` until an engine has told everything.
    moment: Option<Moment>,
    gate: Gate,
    shown_state: Option<State>,
    shown_tray: Option<(tray::Icon, Vec<tray::Line>)>,
    /// When the page was told last, and when it will be next.
    told: Option<Instant>,
    tell_at: Option<Instant>,
    /// What the page can be told only once it listens.
    waiting: Vec<Message>,
    quitting: Option<Quitting>,
}

/// Runs the controller until the program ends, or nobody is left who could tell it anything.
pub(crate) async fn run<I: Integration>(mut controller: Controller<I>, mut events: mpsc::Receiver<Event>) {
    controller.begin(Instant::now());
    loop {
        let deadline = controller.deadline();
        let wait = async {
            match deadline {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            event = events.recv() => match event {
                Some(event) => controller.handle(event, Instant::now()),
                None => return,
            },
            () = wait => {}
        }
        controller.elapse(Instant::now());
    }
}

impl<I: Integration> Controller<I> {
    /// `safe_renderer`: whether the page is drawn by the safe one.
    pub(crate) fn new(integration: I, remembered: Remembered, safe_renderer: bool) -> Self {
        Self {
            integration,
            remembered,
            unsaved: None,
            window: Window::new(safe_renderer),
            tray_host: false,
            engine: EngineInfo { state: EngineState::Starting, hosted: true, failure: None },
            demo: false,
            status: None,
            shares: Vec::new(),
            pins: Vec::new(),
            transfers: TransferBook::default(),
            moment: None,
            gate: Gate::default(),
            shown_state: None,
            shown_tray: None,
            told: None,
            tell_at: None,
            waiting: Vec::new(),
            quitting: None,
        }
    }

    fn begin(&mut self, now: Instant) {
        self.changed(now);
    }

    /// When something is to be done without an event.
    fn deadline(&self) -> Option<Instant> {
        let quitting = self.quitting.as_ref().map(|quitting| quitting.deadline);
        [self.tell_at, self.unsaved, self.window.probe(), quitting].into_iter().flatten().min()
    }

    /// Does what is due.
    fn elapse(&mut self, now: Instant) {
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if due(self.tell_at) {
            self.tell(now);
        }
        if due(self.unsaved) {
            self.save_place();
        }
        if due(self.window.probe()) {
            self.not_painted(now);
        }
        if due(self.quitting.as_ref().map(|quitting| quitting.deadline)) {
            self.exit();
        }
    }

    fn handle(&mut self, event: Event, now: Instant) {
        match event {
            Event::Host(event) => self.host(event, now),
            Event::Request(request) => self.request(request, now),
            Event::Window(event) => self.window(event, now),
            Event::Tray { event, activation } => self.tray(event, activation, now),
            Event::TrayHost(there) => {
                self.tray_host = there;
                self.changed(now);
            }
            Event::View { view, activation } => {
                self.integration.show_window(activation);
                self.say(Message::ShowView(ShowView { view }));
            }
            Event::Started(start) => self.started(start),
            Event::End => self.quit(true, None, now),
        }
    }

    fn started(&mut self, start: Start) {
        if start.demo && !self.demo {
            self.integration.order(Order::StartDemo);
        }
        if !start.hidden {
            self.integration.show_window(start.activation);
        }
        for link in &start.links {
            self.say(Message::Link(link::parse(link)));
        }
        if !start.paths.is_empty() {
            self.say(Message::Opened(Paths { paths: start.paths }));
        }
    }

    fn host(&mut self, event: HostEvent, now: Instant) {
        match event {
            HostEvent::Starting { demo } => {
                self.forget_engine(EngineState::Starting, None);
                self.demo = demo;
            }
            HostEvent::Running { hosted } => {
                self.engine = EngineInfo { state: EngineState::Running, hosted, failure: None };
            }
            HostEvent::Status(status) => self.status = Some(status),
            HostEvent::Listed { shares, pins } => (self.shares, self.pins) = (shares, pins),
            HostEvent::Transfers(changes) => self.transfers.take(changes),
            HostEvent::Failed(failure) => self.forget_engine(EngineState::Failed, Some(failure)),
            HostEvent::Refused(failure) => self.integration.notify(Notification {
                title: failure.message,
                body: String::new(),
                view: "diagnostics",
            }),
            HostEvent::Stopping => self.engine.state = EngineState::Stopping,
            HostEvent::Held(holders) => self.held(holders),
            HostEvent::Ended => self.exit(),
        }
        self.changed(now);
    }

    fn forget_engine(&mut self, state: EngineState, failure: Option<Failure>) {
        self.engine = EngineInfo { state, failure, ..self.engine.clone() };
        self.status = None;
        self.shares.clear();
        self.pins.clear();
        self.transfers.clear();
        self.moment = None;
    }

    fn tray(&mut self, event: tray::Event, activation: Option<String>, now: Instant) {
        match event {
            tray::Event::Connect { contact } => self.integration.order(Order::Connect { contact }),
            tray::Event::Disconnect { contact } => self.integration.order(Order::Disconnect { contact }),
            tray::Event::OpenFolder { contact } => self.open_drive(Some(&contact)),
            tray::Event::OpenDrive => self.open_drive(None),
            tray::Event::ShareFiles => {
                self.integration.show_window(activation);
                self.say(Message::ShowView(ShowView { view: "shares" }));
            }
            tray::Event::PauseAll => self.integration.order(Order::Pause(self.transfers.moving())),
            tray::Event::ResumeAll => self.integration.order(Order::Resume(self.transfers.paused())),
            tray::Event::RestartEngine => self.integration.order(Order::Restart),
            tray::Event::ShowWindow => self.integration.show_window(activation),
            tray::Event::Quit => self.quit(false, None, now),
        }
    }

    fn open_drive(&self, contact: Option<&str>) {
        if let Some(mount) = self.status.as_ref().and_then(|status| status.mount.as_ref()) {
            self.integration
                .open_folder(&contact.map_or_else(|| mount.point.clone(), |name| mount.point.join(name)));
        }
    }

    fn texts(&self) -> &'static Texts {
        texts(self.remembered.preferences.language.as_deref())
    }

    /// Tells the page, as soon as it listens.
    fn say(&mut self, message: Message) {
        if self.window.is_painted() {
            self.integration.emit(message);
        } else if self.waiting.len() < WAITING {
            self.waiting.push(message);
        }
    }

    /// Something is other than it was: the page and the tray will be told, but not too often.
    fn changed(&mut self, now: Instant) {
        if self.tell_at.is_none() {
            self.tell_at = Some(self.told.map_or(now, |told| now.max(told + EMIT_EVERY)));
        }
    }

    fn tell(&mut self, now: Instant) {
        self.told = Some(now);
        self.tell_at = None;
        let state = self.state();
        let shown = (tray::icon(&state), tray::menu(&state, self.texts()));
        if self.shown_tray.as_ref() != Some(&shown) {
            self.integration.set_tray(shown.0, shown.1.clone());
            self.shown_tray = Some(shown);
        }
        self.tell_notifications(&state, now);
        if let Some(changes) = self.transfers.changes() {
            self.integration.emit(Message::Transfers(changes));
        }
        if self.shown_state.as_ref() != Some(&state) {
            self.integration.emit(Message::State(Box::new(state.clone())));
            self.shown_state = Some(state);
        }
    }

    fn tell_notifications(&mut self, state: &State, now: Instant) {
        // Until everything was told once, nothing is news.
        if self.status.is_none() || !self.transfers.is_complete() {
            return;
        }
        let after = Moment::new(state, self.transfers.all());
        if let Some(before) = &self.moment {
            let switches = self.remembered.preferences.notifications;
            let found =
                notifications::notifications(before, &after, self.transfers.all(), switches, self.texts());
            for notification in found {
                if self.gate.admits(now) {
                    self.integration.notify(notification);
                }
            }
        }
        self.moment = Some(after);
    }

    fn state(&self) -> State {
        let status = self.status.as_deref();
        State {
            engine: self.engine.clone(),
            version: env!("CARGO_PKG_VERSION"),
            demo: self.demo,
            tray_available: self.tray_host,
            platform: Platform::this(),
            identity: status.map(|status| (&status.identity).into()),
            contacts: status.into_iter().flat_map(|status| &status.contacts).map(Into::into).collect(),
            drive: status.and_then(|status| status.mount.as_ref()).map(Into::into),
            cache: status.map(|status| (&status.cache).into()),
            wire: status.map(|status| (&status.wire).into()),
            seek: status.map(|status| (&status.seek).into()),
            first_byte: status.map(|status| (&status.first_byte).into()),
            network: status.map(|status| (&status.network).into()),
            shares: self.shares.iter().map(Into::into).collect(),
            pins: self.pins.iter().map(Into::into).collect(),
            transfer_counts: self.transfers.counts(),
        }
    }

    fn preferences(&self) -> Preferences {
        // The desktop's own file is the truth, which other programs change too.
        Preferences { autostart: self.integration.autostart(), ..self.remembered.preferences.clone() }
    }
}

#[cfg(test)]
mod tests;
