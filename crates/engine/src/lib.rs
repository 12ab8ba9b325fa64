//! The controller of Farhold: settings, secrets, contacts, sessions, shares, the drive.

pub mod commands;
pub mod contacts;
pub mod error;
pub mod layout;
pub mod secrets;
pub mod settings;
pub mod status;

mod files;
mod identity;
mod lock;
mod seek;
