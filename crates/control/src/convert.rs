//! Between the generated messages and the engine's types. What comes in is checked: the other end may be of another
//! build.

pub(crate) mod commands;
mod diagnosis;
pub(crate) mod error;
mod open_files;
mod pins;
mod rates;
mod settings;
pub(crate) mod status;
pub(crate) mod transfers;

use farhold_wire::proto::control as pb;

/// A message that lacks something, or has a value that nobody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

/// One of the engine's types as a message. (`From` would not do: both ends of it are other crates' types.)
pub(crate) trait ToProto {
    type Message;
    fn to_proto(self) -> Self::Message;
}

/// A message as one of the engine's types, checked.
pub(crate) trait FromProto: Sized {
    type Message;
    fn from_proto(message: Self::Message) -> Result<Self, Malformed>;
}

/// A part that must be there.
pub(crate) fn required<T: FromProto>(
    message: Option<T::Message>,
    what: &'static str,
) -> Result<T, Malformed> {
    T::from_proto(message.ok_or(Malformed(what))?)
}

/// All of a repeated part.
pub(crate) fn all<T: FromProto>(messages: Vec<T::Message>) -> Result<Vec<T>, Malformed> {
    messages.into_iter().map(T::from_proto).collect()
}

#[cfg(test)]
mod tests;
