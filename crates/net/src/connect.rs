//! Making and keeping the connection with a contact, without I/O.

pub(crate) mod grade;
pub(crate) mod join;
pub(crate) mod lifecycle;
pub(crate) mod punch;
pub(crate) mod race;
