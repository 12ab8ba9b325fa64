//! Why a command got no answer, or one that it did not want.

use std::path::PathBuf;

use farhold_engine::error::ErrorClass;

/// Why an engine did not do what it was asked over its socket.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// Nobody answers at the socket.
    #[error("not running: no engine answers at {}; start it with: farhold up", socket.display())]
    NotRunning {
        /// The socket.
        socket: PathBuf,
    },
    /// The engine answered with an error.
    #[error("{message}")]
    Failed {
        /// The kind of failure.
        class: ErrorClass,
        /// What the engine says.
        message: String,
    },
    /// The engine did not answer in time.
    #[error("the engine did not answer in time")]
    TimedOut,
    /// The engine's answer cannot be understood: another build.
    #[error("the engine answered without {0}; is it of another version? Restart it")]
    Answer(&'static str),
}

impl ControlError {
    /// The kind of failure.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::NotRunning { .. } => ErrorClass::NotRunning,
            Self::Failed { class, .. } => *class,
            Self::TimedOut => ErrorClass::TimedOut,
            Self::Answer(_) => ErrorClass::Internal,
        }
    }
}
