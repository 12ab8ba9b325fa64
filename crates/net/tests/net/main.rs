//! Contacts that reach each other over loopback, with a relay and everything in one process.

mod connecting;
mod pairing;
mod support;
