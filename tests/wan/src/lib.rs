//! The lab of long links: hosts in network namespaces, joined by an emulated wide-area network.
//!
//! Needs root (namespaces and TUN devices) and, for NATs, `nft`. Namespaces have no names: they live as long as the
//! lab holds them and the programs that run in them, so nothing is left behind however a lab ends, and labs can run
//! beside each other.

#![allow(clippy::print_stderr, reason = "a lab is a tool of the command line and of tests")]

pub mod emulator;
pub mod lab;
pub mod nat;
pub mod network;
pub mod pair;
pub mod probe;
pub mod space;
