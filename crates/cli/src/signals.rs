//! The signals that ask a program to end.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::CommandError;

/// Listens from its making on, so that none is missed while something is being started.
#[derive(Debug)]
pub(crate) struct EndSignal {
    interrupt: Signal,
    terminate: Signal,
}

impl EndSignal {
    pub(crate) fn listen() -> Result<Self, CommandError> {
        let listen = |kind| signal(kind).map_err(CommandError::io("cannot listen for signals"));
        Ok(Self { interrupt: listen(SignalKind::interrupt())?, terminate: listen(SignalKind::terminate())? })
    }

    /// Waits for Ctrl-C or SIGTERM.
    pub(crate) async fn wait(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
