//! How commands and the window reach a running engine: gRPC over a Unix socket that only its user can open.
//!
//! * [`Host`] is what can be asked of an engine; [`ControlServer`] answers with it, [`ControlClient`] asks.
//! * `convert` stands between the generated messages and the engine's own types. The messages stay in this crate.

mod client;
mod convert;
mod error;
mod host;
mod server;

pub use client::ControlClient;
pub use error::ControlError;
pub use host::Host;
pub use server::{ControlServer, ServeError};
