//! Making and keeping the connection with a contact, without I/O.

pub(crate) mod lifecycle;
pub(crate) mod race;
