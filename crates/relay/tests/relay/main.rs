//! A whole relay on loopback sockets, as its callers see it.

// A test fails by panicking, its helpers too.
#![allow(clippy::unwrap_used)]

mod bridge;
mod limits;
#[cfg(unix)]
mod program;
mod rendezvous;
mod service;
mod support;
mod udp;
