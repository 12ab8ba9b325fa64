//! Contacts that reach each other over loopback, with a relay and everything in one process.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod connecting;
mod failures;
mod hostile;
mod pairing;
mod paths;
mod proxy;
mod support;
