//! Why a command did nothing.

use farhold_control::ControlError;
use farhold_demo::DemoError;
use farhold_engine::EngineError;
use farhold_engine::error::ErrorClass;
use serde::Serialize;
use ts_rs::TS;

/// The kind of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(crate) enum FailureKind {
    NotRunning,
    NotFound,
    NotConnected,
    Timeout,
    Refused,
    Conflict,
    Usage,
    Internal,
}

impl From<ErrorClass> for FailureKind {
    fn from(class: ErrorClass) -> Self {
        match class {
            ErrorClass::Internal => Self::Internal,
            ErrorClass::Usage => Self::Usage,
            ErrorClass::NotRunning => Self::NotRunning,
            ErrorClass::NotFound => Self::NotFound,
            ErrorClass::NotConnected => Self::NotConnected,
            ErrorClass::TimedOut => Self::Timeout,
            ErrorClass::Refused => Self::Refused,
            ErrorClass::Conflict => Self::Conflict,
        }
    }
}

/// `message` is a full sentence: what happened and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
pub(crate) struct Failure {
    pub(crate) kind: FailureKind,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// No engine is there to be asked.
    pub(crate) fn not_running() -> Self {
        Self::new(FailureKind::NotRunning, "The engine is not running; start it again and retry.")
    }

    /// Something of this program failed; `what` says what was tried, as the beginning of a sentence.
    pub(crate) fn internal(what: &str, error: impl std::fmt::Display) -> Self {
        Self::new(FailureKind::Internal, sentence(&format!("{what}: {error}")))
    }
}

impl From<ControlError> for Failure {
    fn from(error: ControlError) -> Self {
        if let ControlError::NotRunning { .. } = error {
            return Self::not_running();
        }
        Self::new(error.class().into(), sentence(&error.to_string()))
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Self::new(error.class().into(), sentence(&error.to_string()))
    }
}

impl From<DemoError> for Failure {
    fn from(error: DemoError) -> Self {
        match error {
            DemoError::Engine(error) => error.into(),
            error @ (DemoError::Serve(_) | DemoError::Relay(_) | DemoError::Io { .. }) => {
                Self::new(FailureKind::Internal, sentence(&error.to_string()))
            }
        }
    }
}

/// Errors are written to follow a colon; alone they begin with a capital letter and end with a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let Some(first) = letters.next() else { return String::new() };
    let end = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{}{}{end}", first.to_uppercase(), letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_become_sentences() {
        assert_eq!(sentence("there is no contact x; see: y"), "There is no contact x; see: y.");
        assert_eq!(sentence("Über alles."), "Über alles.");
        assert_eq!(sentence("/a/b is damaged"), "/a/b is damaged.");
        assert_eq!(sentence(""), "");
    }

    #[test]
    fn the_kind_follows_the_class() {
        let refused = ControlError::Failed { class: ErrorClass::Refused, message: "no".to_owned() };
        assert_eq!(Failure::from(refused), Failure::new(FailureKind::Refused, "No."));
        let gone = ControlError::NotRunning { socket: "/secret/path".into() };
        assert!(!Failure::from(gone).message.contains("/secret"));
    }
}
