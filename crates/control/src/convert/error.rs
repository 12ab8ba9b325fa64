//! Errors as gRPC statuses: the message for people, and the class for whoever scripts, in the metadata.

use farhold_engine::error::{EngineError, ErrorClass};
use tonic::{Code, Status};

use super::Malformed;
use crate::error::ControlError;

/// Metadata key of the class.
const CLASS: &str = "farhold-class";
/// Longest message in characters: with every one percent-encoded it still fits HTTP/2's usual limit of 16 KiB.
const MESSAGE_CHARS: usize = 1200;

const CLASSES: [(ErrorClass, &str, Code); 8] = [
    (ErrorClass::Internal, "internal", Code::Internal),
    (ErrorClass::Usage, "usage", Code::InvalidArgument),
    (ErrorClass::NotRunning, "not-running", Code::Unavailable),
    (ErrorClass::NotFound, "not-found", Code::NotFound),
    (ErrorClass::NotConnected, "not-connected", Code::FailedPrecondition),
    (ErrorClass::TimedOut, "timed-out", Code::DeadlineExceeded),
    (ErrorClass::Refused, "refused", Code::PermissionDenied),
    (ErrorClass::Conflict, "conflict", Code::AlreadyExists),
];

fn known(class: ErrorClass) -> (ErrorClass, &'static str, Code) {
    CLASSES.into_iter().find(|(other, ..)| *other == class).unwrap_or(CLASSES[0])
}

pub(crate) fn class_name(class: ErrorClass) -> &'static str {
    known(class).1
}

pub(crate) fn class_named(name: &str) -> Result<ErrorClass, Malformed> {
    let known = CLASSES.into_iter().find(|(_, other, _)| *other == name);
    known.map(|(class, ..)| class).ok_or(Malformed("class of a failure"))
}

fn status(class: ErrorClass, message: &str) -> Status {
    let (_, name, code) = known(class);
    let mut status = Status::new(code, message.chars().take(MESSAGE_CHARS).collect::<String>());
    status.metadata_mut().insert(CLASS, tonic::metadata::MetadataValue::from_static(name));
    status
}

/// An engine's error on its way out.
pub(crate) fn to_status(error: &EngineError) -> Status {
    status(error.class(), &error.to_string())
}

impl From<Malformed> for Status {
    fn from(Malformed(what): Malformed) -> Self {
        status(ErrorClass::Usage, &format!("the request lacks a valid {what}"))
    }
}

/// A status as it came in.
pub(crate) fn from_status(status: &Status) -> ControlError {
    let name = status.metadata().get(CLASS).and_then(|value| value.to_str().ok());
    match CLASSES.into_iter().find(|(_, other, _)| Some(*other) == name) {
        Some((class, ..)) => ControlError::Failed { class, message: status.message().to_owned() },
        // Not from the engine but from the transport.
        None if status.code() == Code::Unavailable => {
            ControlError::Failed { class: ErrorClass::NotRunning, message: "the engine stopped".to_owned() }
        }
        None => ControlError::Failed { class: ErrorClass::Internal, message: status.message().to_owned() },
    }
}

impl From<Malformed> for ControlError {
    fn from(Malformed(what): Malformed) -> Self {
        Self::Answer(what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farhold_engine::contacts::ContactError;

    #[test]
    fn class_and_message_survive() {
        for (class, ..) in CLASSES {
            let back = from_status(&status(class, "it's\nso: ü"));
            assert_eq!((back.class(), back.to_string().as_str()), (class, "it's\nso: ü"));
        }
        let error = EngineError::Contact(ContactError::Unknown { name: "x".repeat(5000) });
        let status = to_status(&error);
        assert_eq!(status.code(), Code::NotFound);
        assert_eq!(status.message().chars().count(), MESSAGE_CHARS);
    }

    #[test]
    fn a_broken_transport_is_an_engine_that_stopped() {
        assert_eq!(from_status(&Status::unavailable("broken pipe")).class(), ErrorClass::NotRunning);
        assert_eq!(from_status(&Status::unknown("?")).class(), ErrorClass::Internal);
    }
}
