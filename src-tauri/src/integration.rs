//! What the controller does to the world outside: the window, the tray, the desktop, the engine's host.

use std::path::Path;

use crate::dto::{Dragging, Failure, Held, Link, Paths, ShowView, State, TransferChanges};
use crate::host::Order;
use crate::notifications::Notification;
use crate::preferences::Remembered;
use crate::tray;

/// What the page is told.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Message {
    State(Box<State>),
    Transfers(TransferChanges),
    Dragging(Dragging),
    Dropped(Paths),
    Link(Link),
    Opened(Paths),
    AskClose,
    QuitHeld(Held),
    ShowView(ShowView),
}

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// For good.
    Quit,
    /// To start again at once, with the safe renderer.
    SafeRenderer,
}

/// The desktop, as the controller sees it. Nothing here waits.
pub(crate) trait Integration {
    /// Tells the page.
    fn emit(&self, message: Message);
    /// Tells the host of the engine.
    fn order(&self, order: Order);
    /// Shows an icon and a menu in the tray.
    fn set_tray(&self, icon: tray::Icon, menu: Vec<tray::Line>);
    /// Shows a notification.
    fn notify(&self, notification: Notification);
    /// Shows the window before all others. `activation` is what a Wayland compositor wants to see for that.
    fn show_window(&self, activation: Option<String>);
    /// Hides the window; the tray brings it back.
    fn hide_window(&self);
    /// Puts the window away where there is no tray.
    fn minimise_window(&self);
    /// Loads the page again.
    fn reload_page(&self);
    /// Opens a folder in the file manager.
    fn open_folder(&self, folder: &Path);
    /// Keeps what is to be remembered.
    fn remember(&self, remembered: &Remembered) -> Result<(), Failure>;
    /// Whether the program starts with the session.
    fn autostart(&self) -> bool;
    /// Switches that.
    fn set_autostart(&self, on: bool) -> Result<(), Failure>;
    /// Ends the program.
    fn exit(&self, how: Exit);
}
