//! The controller of Farhold: settings, secrets, contacts, sessions, shares, the drive.

pub mod layout;
pub mod secrets;
pub mod settings;
pub mod status;

mod files;
mod lock;
mod seek;
