//! The window: whether its page was ever painted, where it is, and what closing it does.

use std::time::Duration;

use tokio::time::Instant;

use super::quit::Quitting;
use super::{Controller, Dragging, Exit, Message, Paths, WindowEvent};
use crate::host::Order;
use crate::integration::Integration;

/// How long a page that is loaded may take until it is painted.
const PAINT: Duration = Duration::from_secs(3);
/// How long it may take from the window's first sight on, on a machine that is busy.
const LOAD: Duration = Duration::from_secs(15);
/// A place is saved once the window has rested there.
const REST: Duration = Duration::from_secs(1);

/// How far the window is.
#[derive(Debug)]
pub(super) struct Window {
    safe_renderer: bool,
    painted: bool,
    loaded: bool,
    /// Until when it must be painted; `None` while nothing can be seen of it anyway.
    probe: Option<Instant>,
}

impl Window {
    pub(super) fn new(safe_renderer: bool) -> Self {
        Self { safe_renderer, painted: false, loaded: false, probe: None }
    }

    pub(super) fn is_painted(&self) -> bool {
        self.painted
    }

    pub(super) fn probe(&self) -> Option<Instant> {
        self.probe
    }

    fn watch(&mut self, limit: Duration, now: Instant) {
        if !self.painted && cfg!(target_os = "linux") {
            let until = now + limit;
            self.probe = Some(self.probe.map_or(until, |before| before.min(until)));
        }
    }
}

impl<I: Integration> Controller<I> {
    pub(super) fn window(&mut self, event: WindowEvent, now: Instant) {
        match event {
            WindowEvent::Shown => self.window.watch(if self.window.loaded { PAINT } else { LOAD }, now),
            WindowEvent::Loaded => {
                self.window.loaded = true;
                // One that is hidden is not painted either.
                if self.window.probe.is_some() {
                    self.window.watch(PAINT, now);
                }
            }
            WindowEvent::Crashed if self.window.painted => {
                tracing::error!("the process that draws the window ended; the page is loaded again");
                self.window.painted = false;
                self.integration.reload_page();
            }
            WindowEvent::Crashed => self.not_painted(now),
            WindowEvent::CloseRequested => self.close_requested(now),
            WindowEvent::Placed(place) => {
                if self.remembered.place != Some(place) {
                    self.remembered.place = Some(place);
                    self.unsaved = Some(now + REST);
                }
            }
            WindowEvent::Dragging(count) => {
                let dragging = Dragging { over: count.is_some(), count: count.unwrap_or_default() };
                self.integration.emit(Message::Dragging(dragging));
            }
            WindowEvent::Dropped(paths) => {
                self.integration.emit(Message::Dragging(Dragging { over: false, count: 0 }));
                if !paths.is_empty() {
                    self.say(Message::Dropped(Paths { paths }));
                }
            }
        }
    }

    /// The page is on the screen and listens.
    pub(super) fn painted(&mut self) {
        self.window.painted = true;
        self.window.probe = None;
        for message in std::mem::take(&mut self.waiting) {
            self.integration.emit(message);
        }
    }

    /// Some graphics drivers show nothing but white: then the safe renderer is used, from now on.
    pub(super) fn not_painted(&mut self, now: Instant) {
        self.window.probe = None;
        if self.window.safe_renderer {
            tracing::error!("the window stays blank; `farhold` in a terminal works all the same");
            return;
        }
        if self.quitting.is_some() {
            return;
        }
        tracing::warn!("the window stays blank; starting again with the safe renderer");
        self.remembered.safe_renderer = true;
        self.save();
        self.quitting = Some(Quitting::new(Exit::SafeRenderer, true, None, now));
        self.integration.order(Order::Quit { force: true });
    }

    fn close_requested(&mut self, now: Instant) {
        if !self.remembered.preferences.close_to_tray {
            self.quit(false, None, now);
        } else if self.tray_host {
            self.hide();
        } else if self.window.painted {
            // A window without a tray could not be brought back.
            self.integration.emit(Message::AskClose);
        } else {
            self.quit(false, None, now);
        }
    }

    /// Puts the window away in such a way that it can be brought back.
    pub(super) fn hide(&mut self) {
        // What cannot be seen is not painted.
        self.window.probe = None;
        if self.tray_host {
            self.integration.hide_window();
        } else {
            self.integration.minimise_window();
        }
    }

    pub(super) fn save_place(&mut self) {
        self.unsaved = None;
        self.save();
    }

    fn save(&self) {
        if let Err(failure) = self.integration.remember(&self.remembered) {
            tracing::warn!("what the window remembers is not saved");
            tracing::debug!("{}", failure.message);
        }
    }
}
