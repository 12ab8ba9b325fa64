//! Why a command ends without having done its work, and the exit codes: nowhere else.

use std::io;

use farhold_control::{ControlError, ServeError};
use farhold_demo::DemoError;
use farhold_engine::commands::Holder;
use farhold_engine::error::{EngineError, ErrorClass};
use farhold_engine::settings::SettingsKey;
use farhold_engine::status::TransferStatus;

use crate::output;

/// Why a command ends without having done its work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// The engine could not be asked, or said no.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// An engine of this process said no.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The control socket cannot be served.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The demo does not start, or leaves something behind.
    #[error(transparent)]
    Demo(#[from] DemoError),
    /// The user has no home, and did not say where the config directory is.
    #[error("this user has no home directory; name the config directory with --config-dir")]
    NoHome,
    /// What a contact pushes must go somewhere.
    #[error("say into which folder: farhold accept {contact} DIR")]
    NoFolder {
        /// The contact.
        contact: String,
    },
    /// A setting cannot have that value.
    #[error("{key}: {reason}; nothing was changed")]
    Value {
        /// Which setting.
        key: SettingsKey,
        /// What is wrong.
        reason: String,
    },
    /// The drive stays mounted, because it is in use.
    #[error("{}", output::holders::held(.0))]
    Held(Vec<Holder>),
    /// A transfer that was waited for came to another end.
    #[error("{}", output::transfers::ended(.0))]
    Transfer(Box<TransferStatus>),
    /// A file, a signal or the terminal failed.
    #[error("{what}: {source}")]
    Io {
        /// What was being done.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl CommandError {
    /// For `map_err`.
    pub(crate) fn io(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what, source }
    }

    fn class(&self) -> ErrorClass {
        match self {
            Self::Control(error) => error.class(),
            Self::Engine(error) => error.class(),
            Self::Demo(DemoError::Engine(error)) => error.class(),
            Self::Serve(_)
            | Self::Demo(DemoError::Serve(_) | DemoError::Relay(_) | DemoError::Io { .. })
            | Self::Io { .. } => ErrorClass::Internal,
            Self::NoHome | Self::NoFolder { .. } | Self::Value { .. } => ErrorClass::Usage,
            Self::Held(_) => ErrorClass::Refused,
            // One that did not fail was paused or cancelled.
            Self::Transfer(transfer) => transfer.class.unwrap_or(ErrorClass::Refused),
        }
    }

    /// The exit code and the name of its meaning.
    pub(crate) fn code(&self) -> (u8, &'static str) {
        match self.class() {
            ErrorClass::Internal => (1, "internal"),
            // The same that clap uses for what it cannot parse.
            ErrorClass::Usage => (2, "usage"),
            ErrorClass::NotRunning => (3, "not_running"),
            ErrorClass::NotFound => (4, "not_found"),
            ErrorClass::NotConnected => (5, "not_connected"),
            ErrorClass::TimedOut => (6, "timed_out"),
            ErrorClass::Refused => (7, "refused"),
            ErrorClass::Conflict => (8, "conflict"),
        }
    }
}

#[cfg(test)]
mod tests {
    use farhold_engine::status::TransferState;

    use super::*;

    #[test]
    fn codes_are_the_documented_ones() {
        let code =
            |class| CommandError::Control(ControlError::Failed { class, message: String::new() }).code().0;
        assert_eq!(
            [
                ErrorClass::Internal,
                ErrorClass::Usage,
                ErrorClass::NotRunning,
                ErrorClass::NotFound,
                ErrorClass::NotConnected,
                ErrorClass::TimedOut,
                ErrorClass::Refused,
                ErrorClass::Conflict,
            ]
            .map(code),
            [1, 2, 3, 4, 5, 6, 7, 8]
        );
        assert_eq!(CommandError::NoHome.code().0, 2);
        assert_eq!(CommandError::io("x")(io::Error::other("y")).code().0, 1);
        let transfer = |state, class| {
            let transfer = output::transfers::tests::transfer(state, None);
            CommandError::Transfer(Box::new(TransferStatus { class, ..transfer })).code().0
        };
        assert_eq!(transfer(TransferState::Failed, Some(ErrorClass::NotFound)), 4);
        assert_eq!(transfer(TransferState::Paused, None), 7);
        let taken = EngineError::AlreadyRunning { config_dir: "/c".into() };
        assert_eq!(CommandError::Engine(taken).code(), (8, "conflict"));
    }
}
