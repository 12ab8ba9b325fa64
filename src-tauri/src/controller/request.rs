//! What the page asks for.

use tokio::time::Instant;

use super::{CloseHow, Controller, Request};
use crate::dto::{Failure, FailureKind, Preferences};
use crate::host::Order;
use crate::integration::Integration;

impl<I: Integration> Controller<I> {
    pub(super) fn request(&mut self, request: Request, now: Instant) {
        // Whoever asked may be gone, so that nobody takes the answer.
        match request {
            Request::State(reply) => drop(reply.send(self.state())),
            Request::Transfers(reply) => {
                drop(reply.send(self.transfers.all().values().cloned().collect()));
            }
            Request::Preferences(reply) => drop(reply.send(self.preferences())),
            Request::SetPreferences(preferences, reply) => {
                drop(reply.send(self.set_preferences(preferences)));
                // The language of the tray may be another one.
                self.changed(now);
            }
            Request::PauseAll => self.integration.order(Order::Pause(self.transfers.moving())),
            Request::ResumeAll => self.integration.order(Order::Resume(self.transfers.paused())),
            Request::RestartEngine => self.integration.order(Order::Restart),
            Request::StartDemo => self.integration.order(Order::StartDemo),
            Request::StopDemo => self.integration.order(Order::StopDemo),
            Request::Close(CloseHow::Hide) => self.hide(),
            Request::Close(CloseHow::Quit) => self.quit(false, None, now),
            Request::Quit { force, reply } => self.quit(force, Some(reply), now),
            Request::Painted => self.painted(),
        }
    }

    fn set_preferences(&mut self, preferences: Preferences) -> Result<(), Failure> {
        if let Some(problem) = preferences.problem() {
            return Err(Failure::new(FailureKind::Usage, problem));
        }
        if preferences.autostart != self.integration.autostart() {
            self.integration.set_autostart(preferences.autostart)?;
        }
        let remembered = crate::preferences::Remembered { preferences, ..self.remembered.clone() };
        self.integration.remember(&remembered)?;
        self.remembered = remembered;
        self.unsaved = None;
        Ok(())
    }
}
