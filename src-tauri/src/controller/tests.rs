use std::cell::{Cell, RefCell};
use std::rc::Rc;

use farhold_engine::status::{
    CacheStatus, ContactStatus, Direction, IdentityStatus, LatencySummary, MountStateName, MountStatus,
    NetworkStatus, PairingState, RelayStateName, SecretStore, SeekStatus, SessionStateName, SessionStatus,
    TransferChanges, TransferId, TransferState, TransferStatus, WireStatus,
};

use super::*;
use crate::dto::{FailureKind, Link, LinkKind};

/// What the controller did.
#[derive(Debug, Clone, PartialEq)]
enum Done {
    Emit(Message),
    Order(Order),
    Tray(tray::Icon),
    Notify(String),
    Show(Option<String>),
    Hide,
    Minimise,
    Reload,
    Open(std::path::PathBuf),
    Remember(Box<Remembered>),
    Autostart(bool),
    Exit(Exit),
}

#[derive(Debug, Default, Clone)]
struct Fake {
    done: Rc<RefCell<Vec<Done>>>,
    autostart: Rc<Cell<bool>>,
    broken: Rc<Cell<bool>>,
}

impl Fake {
    fn did(&self, done: Done) {
        self.done.borrow_mut().push(done);
    }

    fn outcome(&self) -> Result<(), Failure> {
        if self.broken.get() { Err(Failure::new(FailureKind::Internal, "It is broken.")) } else { Ok(()) }
    }
}

impl Integration for Fake {
    fn emit(&self, message: Message) {
        self.did(Done::Emit(message));
    }
    fn order(&self, order: Order) {
        self.did(Done::Order(order));
    }
    fn set_tray(&self, icon: tray::Icon, _menu: Vec<tray::Line>) {
        self.did(Done::Tray(icon));
    }
    fn notify(&self, notification: Notification) {
        self.did(Done::Notify(notification.title));
    }
    fn show_window(&self, activation: Option<String>) {
        self.did(Done::Show(activation));
    }
    fn hide_window(&self) {
        self.did(Done::Hide);
    }
    fn minimise_window(&self) {
        self.did(Done::Minimise);
    }
    fn reload_page(&self) {
        self.did(Done::Reload);
    }
    fn open_folder(&self, folder: &std::path::Path) {
        self.did(Done::Open(folder.to_owned()));
    }
    fn remember(&self, remembered: &Remembered) -> Result<(), Failure> {
        self.did(Done::Remember(Box::new(remembered.clone())));
        self.outcome()
    }
    fn autostart(&self) -> bool {
        self.autostart.get()
    }
    fn set_autostart(&self, on: bool) -> Result<(), Failure> {
        self.did(Done::Autostart(on));
        self.outcome()?;
        self.autostart.set(on);
        Ok(())
    }
    fn exit(&self, how: Exit) {
        self.did(Done::Exit(how));
    }
}

/// A controller with a clock of its own.
struct Rig {
    controller: Controller<Fake>,
    fake: Fake,
    now: Instant,
}

impl Rig {
    fn new() -> Self {
        Self::with(Remembered::default(), false)
    }

    fn with(mut remembered: Remembered, safe: bool) -> Self {
        remembered.preferences.language = Some("en".to_owned());
        let fake = Fake::default();
        let mut controller = Controller::new(fake.clone(), remembered, safe);
        let now = Instant::now();
        controller.begin(now);
        let mut rig = Self { controller, fake, now };
        rig.pass(Duration::ZERO);
        rig.take();
        rig
    }

    /// Whose page is painted and listens.
    fn painted() -> Self {
        let mut rig = Self::new();
        rig.handle(Event::Request(Request::Painted));
        rig
    }

    fn handle(&mut self, event: Event) {
        self.controller.handle(event, self.now);
        self.controller.elapse(self.now);
    }

    /// Lets time pass, with everything that falls due on the way.
    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(at) = self.controller.deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.controller.elapse(self.now);
        }
        self.now = end;
    }

    fn take(&self) -> Vec<Done> {
        self.fake.done.take()
    }

    /// What was done but for the state and the tray, which follow everything.
    fn acts(&mut self) -> Vec<Done> {
        let boring = |done: &Done| matches!(done, Done::Tray(_) | Done::Emit(Message::State(_)));
        self.take().into_iter().filter(|done| !boring(done)).collect()
    }

    fn host(&mut self, event: HostEvent) {
        self.handle(Event::Host(event));
    }

    /// An engine that runs and has told everything.
    fn run_engine(&mut self) {
        self.host(HostEvent::Starting { demo: false });
        self.host(HostEvent::Running { hosted: true });
        self.host(HostEvent::Status(Box::new(status())));
        self.transfers(vec![]);
        self.pass(EMIT_EVERY);
        self.take();
    }

    fn transfers(&mut self, changed: Vec<TransferStatus>) {
        self.host(HostEvent::Transfers(TransferChanges { changed, removed: Vec::new(), complete: true }));
    }
}

fn status() -> Status {
    Status {
        identity: IdentityStatus { code: "CODE".to_owned(), secrets: SecretStore::File },
        contacts: vec![ContactStatus {
            name: "anna".to_owned(),
            code: "ANNA".to_owned(),
            pairing: PairingState::Paired,
            present: Some(false),
            wanted: true,
            session: SessionStatus {
                state: SessionStateName::Offline,
                path: None,
                transport: None,
                lanes: Vec::new(),
                paths: Vec::new(),
                governor: None,
                rtt_ms: None,
                epoch: None,
                reason: None,
            },
            words: None,
            accept: None,
        }],
        mount: Some(MountStatus { point: "/drive".into(), state: MountStateName::Mounted, reason: None }),
        cache: CacheStatus::default(),
        wire: WireStatus::default(),
        seek: SeekStatus::default(),
        first_byte: LatencySummary::default(),
        transfers: Vec::new(),
        network: NetworkStatus {
            relay: None,
            relay_state: RelayStateName::Connected,
            relay_reason: None,
            listen: None,
        },
    }
}

fn transfer(id: u64, state: TransferState) -> TransferStatus {
    TransferStatus {
        id: TransferId(id),
        direction: Direction::Pull,
        contact: "anna".to_owned(),
        name: "Photos".to_owned(),
        state,
        reason: None,
        class: None,
        files_done: 0,
        files: 1,
        bytes_done: 0,
        bytes: 10,
        rate: 0,
        remaining_seconds: None,
        destination: None,
    }
}

#[test]
fn the_page_is_told_ten_times_a_second_at_most_and_only_of_changes() {
    let mut rig = Rig::painted();
    rig.run_engine();
    let told = |rig: &mut Rig| {
        rig.take().iter().filter(|done| matches!(done, Done::Emit(Message::State(_)))).count()
    };
    for number in 0..50 {
        let mut status = status();
        status.wire.received = number;
        rig.host(HostEvent::Status(Box::new(status)));
        rig.pass(Duration::from_millis(20));
    }
    let states = told(&mut rig);
    assert!((8..=10).contains(&states), "{states}");
    rig.pass(EMIT_EVERY);
    rig.take();
    let mut same = status();
    same.wire.received = 49;
    rig.host(HostEvent::Status(Box::new(same)));
    rig.pass(EMIT_EVERY);
    assert_eq!(told(&mut rig), 0);
}

#[test]
fn transfers_are_told_as_changes() {
    let mut rig = Rig::painted();
    rig.run_engine();
    rig.transfers(vec![transfer(1, TransferState::Running), transfer(2, TransferState::Queued)]);
    rig.host(HostEvent::Transfers(TransferChanges {
        removed: vec![TransferId(2)],
        ..TransferChanges::default()
    }));
    rig.pass(EMIT_EVERY);
    let changes: Vec<_> = rig
        .acts()
        .into_iter()
        .filter_map(
            |done| if let Done::Emit(Message::Transfers(changes)) = done { Some(changes) } else { None },
        )
        .collect();
    let ids: Vec<u64> = changes.iter().flat_map(|changes| &changes.changed).map(|one| one.id).collect();
    assert_eq!(ids.last(), Some(&1));
    // An engine that is gone has no transfers.
    rig.host(HostEvent::Failed(Failure::not_running()));
    rig.pass(EMIT_EVERY);
    let gone = rig.acts().into_iter().any(|done| {
        matches!(
            done, Done::Emit(Message::Transfers(changes)) if changes.removed == [1]
        )
    });
    assert!(gone);
}

#[test]
fn a_failed_engine_is_shown_and_can_be_started_again_from_the_tray() {
    let mut rig = Rig::painted();
    rig.host(HostEvent::Starting { demo: false });
    rig.host(HostEvent::Failed(Failure::new(FailureKind::Internal, "It is damaged.")));
    rig.pass(EMIT_EVERY);
    let done = rig.take();
    let shown = done.iter().rev().find_map(|done| {
        if let Done::Emit(Message::State(state)) = done { Some(state.engine.clone()) } else { None }
    });
    assert_eq!(shown.unwrap().failure.unwrap().message, "It is damaged.");
    assert!(done.contains(&Done::Tray(tray::Icon::Trouble)));
    rig.handle(Event::Tray { event: tray::Event::RestartEngine, activation: None });
    assert_eq!(rig.acts(), [Done::Order(Order::Restart)]);
}

#[test]
fn what_ended_while_nobody_looked_is_notified_once_and_what_was_there_at_first_is_not() {
    let mut rig = Rig::new();
    rig.host(HostEvent::Running { hosted: true });
    rig.transfers(vec![transfer(1, TransferState::Done)]);
    rig.host(HostEvent::Status(Box::new(status())));
    rig.pass(EMIT_EVERY);
    rig.transfers(vec![transfer(2, TransferState::Running)]);
    rig.pass(EMIT_EVERY);
    rig.take();
    rig.transfers(vec![transfer(2, TransferState::Done)]);
    rig.pass(Duration::from_secs(1));
    let notified: Vec<_> = rig.acts().into_iter().filter(|done| matches!(done, Done::Notify(_))).collect();
    assert_eq!(notified, [Done::Notify("Transfer done".to_owned())]);
}

#[test]
fn closing_hides_only_into_a_tray_that_is_there() {
    let mut rig = Rig::painted();
    rig.take();
    rig.handle(Event::Window(WindowEvent::CloseRequested));
    assert_eq!(rig.acts(), [Done::Emit(Message::AskClose)]);
    rig.handle(Event::Request(Request::Close(CloseHow::Hide)));
    assert_eq!(rig.acts(), [Done::Minimise]);
    rig.handle(Event::TrayHost(true));
    rig.handle(Event::Window(WindowEvent::CloseRequested));
    assert_eq!(rig.acts(), [Done::Hide]);
    // The panel crashed.
    rig.handle(Event::TrayHost(false));
    rig.handle(Event::Window(WindowEvent::CloseRequested));
    assert_eq!(rig.acts(), [Done::Emit(Message::AskClose)]);
}

#[test]
fn closing_quits_if_the_user_wants_that_or_the_page_cannot_ask() {
    let mut rig = Rig::new();
    rig.handle(Event::Window(WindowEvent::CloseRequested));
    assert_eq!(rig.acts(), [Done::Order(Order::Quit { force: false })]);
    let mut remembered = Remembered::default();
    remembered.preferences.close_to_tray = false;
    let mut rig = Rig::with(remembered, false);
    rig.handle(Event::TrayHost(true));
    rig.handle(Event::Window(WindowEvent::CloseRequested));
    assert_eq!(rig.acts(), [Done::Order(Order::Quit { force: false })]);
}

fn holder() -> Holder {
    Holder { pid: 7, program: "vlc".to_owned(), file: "/drive/anna/film".to_owned() }
}

#[test]
fn quitting_tells_who_asked_what_holds_the_drive_and_ends_when_forced() {
    let mut rig = Rig::painted();
    rig.take();
    let (reply, mut answer) = oneshot::channel();
    rig.handle(Event::Request(Request::Quit { force: false, reply }));
    rig.host(HostEvent::Held(vec![holder()]));
    assert_eq!(answer.try_recv().unwrap().unwrap(), [holder()]);
    // Nothing is under way any more.
    rig.pass(Duration::from_secs(20));
    assert_eq!(rig.acts(), [Done::Order(Order::Quit { force: false })]);
    let (reply, mut answer) = oneshot::channel();
    rig.handle(Event::Request(Request::Quit { force: true, reply }));
    rig.host(HostEvent::Ended);
    assert_eq!(answer.try_recv().unwrap().unwrap(), []);
    assert_eq!(rig.acts(), [Done::Order(Order::Quit { force: true }), Done::Exit(Exit::Quit)]);
}

#[test]
fn quitting_from_the_tray_shows_what_holds_the_drive() {
    let mut rig = Rig::painted();
    rig.take();
    rig.handle(Event::Tray { event: tray::Event::Quit, activation: None });
    rig.host(HostEvent::Held(vec![holder()]));
    let held = Message::QuitHeld(crate::dto::Held { holders: vec![holder()] });
    assert_eq!(rig.acts(), [Done::Order(Order::Quit { force: false }), Done::Show(None), Done::Emit(held)]);
}

#[test]
fn the_program_ends_in_ten_seconds_even_if_the_engine_does_not() {
    let mut rig = Rig::painted();
    rig.take();
    rig.handle(Event::End);
    rig.pass(Duration::from_millis(9_900));
    assert_eq!(rig.acts(), [Done::Order(Order::Quit { force: true })]);
    rig.pass(Duration::from_millis(200));
    assert_eq!(rig.acts(), [Done::Exit(Exit::Quit)]);
}

#[test]
fn whoever_insists_on_the_end_is_not_held_up() {
    let mut rig = Rig::painted();
    rig.take();
    rig.handle(Event::Tray { event: tray::Event::Quit, activation: None });
    rig.pass(Duration::from_secs(2));
    rig.handle(Event::End);
    // The answer to the first try comes late; to ask again does not put off the end.
    rig.host(HostEvent::Held(vec![holder()]));
    rig.pass(Duration::from_secs(9));
    rig.handle(Event::End);
    rig.pass(Duration::from_secs(1));
    let quit = |force| Done::Order(Order::Quit { force });
    assert_eq!(rig.acts(), [quit(false), quit(true), quit(true), Done::Exit(Exit::Quit)]);
}

#[test]
fn a_page_that_stays_blank_is_drawn_by_the_safe_renderer_once() {
    let mut rig = Rig::new();
    rig.handle(Event::Window(WindowEvent::Shown));
    rig.handle(Event::Window(WindowEvent::Loaded));
    rig.pass(Duration::from_millis(2_900));
    assert_eq!(rig.acts(), []);
    rig.pass(Duration::from_millis(200));
    let acts = rig.acts();
    assert!(matches!(&acts[0], Done::Remember(remembered) if remembered.safe_renderer), "{acts:?}");
    assert_eq!(acts[1], Done::Order(Order::Quit { force: true }));
    rig.host(HostEvent::Ended);
    assert_eq!(rig.acts(), [Done::Exit(Exit::SafeRenderer)]);
    // With it, nothing more is tried.
    let mut rig = Rig::with(Remembered { safe_renderer: true, ..Remembered::default() }, true);
    rig.handle(Event::Window(WindowEvent::Shown));
    rig.pass(Duration::from_secs(60));
    assert_eq!(rig.acts(), []);
}

#[test]
fn a_page_that_is_painted_or_hidden_is_not_watched() {
    let mut rig = Rig::new();
    rig.handle(Event::Window(WindowEvent::Loaded));
    rig.pass(Duration::from_secs(60));
    assert_eq!(rig.acts(), []);
    rig.handle(Event::Window(WindowEvent::Shown));
    rig.pass(Duration::from_secs(2));
    rig.handle(Event::TrayHost(true));
    rig.handle(Event::Window(WindowEvent::CloseRequested));
    rig.pass(Duration::from_secs(60));
    assert_eq!(rig.acts(), [Done::Hide]);
    rig.handle(Event::Window(WindowEvent::Shown));
    rig.pass(Duration::from_secs(2));
    rig.handle(Event::Request(Request::Painted));
    rig.pass(Duration::from_secs(60));
    assert_eq!(rig.acts(), []);
}

#[test]
fn a_page_whose_process_ends_is_loaded_again() {
    let mut rig = Rig::painted();
    rig.handle(Event::Window(WindowEvent::Crashed));
    assert_eq!(rig.acts(), [Done::Reload]);
}

#[test]
fn what_a_start_brings_waits_until_the_page_listens() {
    let mut rig = Rig::new();
    let start = Start {
        links: vec!["farhold://pair/abc".to_owned()],
        paths: vec![Path::new("/a")],
        activation: Some("token".to_owned()),
        ..Start::default()
    };
    rig.handle(Event::Started(start.clone()));
    assert_eq!(rig.acts(), [Done::Show(Some("token".to_owned()))]);
    let link = Message::Link(Link { kind: LinkKind::Pair, text: "abc".to_owned() });
    let opened = Message::Opened(Paths { paths: start.paths.clone() });
    let told = [Done::Emit(link), Done::Emit(opened)];
    rig.handle(Event::Request(Request::Painted));
    assert_eq!(rig.acts(), told);
    // A second start raises the window and is told at once.
    rig.handle(Event::Started(Start { activation: None, ..start }));
    assert_eq!(rig.acts(), [[Done::Show(None)].as_slice(), &told].concat());
    rig.handle(Event::Started(Start { hidden: true, ..Start::default() }));
    assert_eq!(rig.acts(), []);
}

#[test]
fn preferences_are_checked_and_kept_only_if_they_can_be() {
    let mut rig = Rig::painted();
    rig.take();
    let set = |rig: &mut Rig, preferences: Preferences| {
        let (reply, mut answer) = oneshot::channel();
        rig.handle(Event::Request(Request::SetPreferences(preferences, reply)));
        answer.try_recv().unwrap()
    };
    let get = |rig: &mut Rig| {
        let (reply, mut answer) = oneshot::channel();
        rig.handle(Event::Request(Request::Preferences(reply)));
        answer.try_recv().unwrap()
    };
    let before = get(&mut rig);
    assert_eq!(
        set(&mut rig, Preferences { scale: 30, ..before.clone() }).unwrap_err().kind,
        FailureKind::Usage
    );
    let wanted = Preferences { scale: 150, autostart: true, ..before.clone() };
    rig.fake.broken.set(true);
    assert!(set(&mut rig, wanted.clone()).is_err());
    assert_eq!(get(&mut rig), before);
    rig.fake.broken.set(false);
    set(&mut rig, wanted.clone()).unwrap();
    assert_eq!(get(&mut rig), wanted);
    // Somebody else switches it off.
    rig.fake.autostart.set(false);
    assert!(!get(&mut rig).autostart);
}

#[test]
fn the_trays_menu_works() {
    let mut rig = Rig::painted();
    rig.run_engine();
    rig.transfers(vec![
        transfer(1, TransferState::Running),
        transfer(2, TransferState::Paused),
        TransferStatus { direction: Direction::Serve, ..transfer(3, TransferState::Running) },
    ]);
    rig.pass(EMIT_EVERY);
    rig.take();
    let mut choose = |event| {
        rig.handle(Event::Tray { event, activation: Some("t".to_owned()) });
        rig.acts()
    };
    assert_eq!(choose(tray::Event::PauseAll), [Done::Order(Order::Pause(vec![TransferId(1)]))]);
    assert_eq!(choose(tray::Event::ResumeAll), [Done::Order(Order::Resume(vec![TransferId(2)]))]);
    assert_eq!(choose(tray::Event::OpenDrive), [Done::Open("/drive".into())]);
    assert_eq!(
        choose(tray::Event::OpenFolder { contact: "anna".to_owned() }),
        [Done::Open("/drive/anna".into())]
    );
    assert_eq!(choose(tray::Event::ShowWindow), [Done::Show(Some("t".to_owned()))]);
    let connect = Order::Connect { contact: "anna".to_owned() };
    assert_eq!(choose(tray::Event::Connect { contact: "anna".to_owned() }), [Done::Order(connect)]);
}

#[test]
fn the_windows_place_is_saved_once_it_rests() {
    let mut rig = Rig::painted();
    rig.take();
    for x in 0..10 {
        let place = Place { x, y: 0, width: 800, height: 600, maximized: false };
        rig.handle(Event::Window(WindowEvent::Placed(place)));
        rig.pass(Duration::from_millis(100));
    }
    assert_eq!(rig.acts(), []);
    rig.pass(Duration::from_secs(1));
    let acts = rig.acts();
    assert!(
        matches!(&acts[..], [Done::Remember(one)] if one.place.is_some_and(|place| place.x == 9)),
        "{acts:?}"
    );
    // Also if the program ends before.
    rig.handle(Event::Window(WindowEvent::Placed(Place {
        x: 5,
        y: 0,
        width: 800,
        height: 600,
        maximized: true,
    })));
    rig.handle(Event::End);
    rig.host(HostEvent::Ended);
    assert!(rig.acts().iter().any(|done| matches!(done, Done::Remember(_))));
}

#[test]
fn drops_are_passed_on() {
    let mut rig = Rig::painted();
    rig.take();
    rig.handle(Event::Window(WindowEvent::Dragging(Some(3))));
    rig.handle(Event::Window(WindowEvent::Dropped(vec![Path::new("/a")])));
    assert_eq!(
        rig.acts(),
        [
            Done::Emit(Message::Dragging(Dragging { over: true, count: 3 })),
            Done::Emit(Message::Dragging(Dragging { over: false, count: 0 })),
            Done::Emit(Message::Dropped(Paths { paths: vec![Path::new("/a")] })),
        ]
    );
}
