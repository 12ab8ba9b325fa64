//! The end: the engine stops and unmounts first, unless something holds a file of the drive.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Controller;
use crate::dto::{EngineState, Failure, Held, Holder};
use crate::host::Order;
use crate::integration::{Exit, Integration, Message};

/// The program ends after so long, whatever the engine does. It gives itself less.
const LIMIT: Duration = Duration::from_secs(10);

/// Who waits to be told why the program does not end.
type Reply = oneshot::Sender<Result<Vec<Holder>, Failure>>;

/// An end under way.
#[derive(Debug)]
pub(super) struct Quitting {
    how: Exit,
    /// Whether it ends whatever holds the drive.
    force: bool,
    reply: Option<Reply>,
    pub(super) deadline: Instant,
}

impl Quitting {
    pub(super) fn new(how: Exit, force: bool, reply: Option<Reply>, now: Instant) -> Self {
        Self { how, force, reply, deadline: now + LIMIT }
    }
}

impl<I: Integration> Controller<I> {
    /// Ends the program. Without `force` not while something holds a file of the drive: then `reply`, or the user, is
    /// told what does.
    pub(super) fn quit(&mut self, force: bool, reply: Option<Reply>, now: Instant) {
        let mut quitting = Quitting::new(Exit::Quit, force, reply, now);
        if let Some(before) = &self.quitting {
            if !force {
                tracing::debug!("the program is ending already: {:?}", before.how);
                return;
            }
            // To insist twice does not make it last longer.
            if before.force {
                quitting.deadline = before.deadline;
            }
        }
        self.quitting = Some(quitting);
        self.integration.order(Order::Quit { force });
    }

    pub(super) fn held(&mut self, holders: Vec<Holder>) {
        // An answer to the first, friendly try, while by now the user insists, stops nothing.
        let Some(quitting) = self.quitting.take_if(|quitting| !quitting.force) else { return };
        match quitting.reply {
            // Whoever asked may be gone.
            Some(reply) => drop(reply.send(Ok(holders))),
            None => {
                self.integration.show_window(None);
                self.say(Message::QuitHeld(Held { holders }));
            }
        }
    }

    pub(super) fn exit(&mut self) {
        self.engine.state = EngineState::Stopping;
        if self.unsaved.is_some() {
            self.save_place();
        }
        let how = match self.quitting.take() {
            Some(Quitting { how, reply, .. }) => {
                if let Some(reply) = reply {
                    drop(reply.send(Ok(Vec::new())));
                }
                how
            }
            None => Exit::Quit,
        };
        self.integration.exit(how);
    }
}
