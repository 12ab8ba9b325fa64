//! The drive through FUSE: requests are decoded, done in tasks of their own, and answered from there.

mod adapter;
mod attach;
mod attr;
mod errno;
mod error;
mod holders;
mod limits;
mod mountinfo;
mod notify;
mod point;
mod repair;
mod requests;
mod session;
mod watch;

pub use error::MountError;
pub use holders::{Holder, holders};
pub use session::{Mount, MountOptions, Stopped, repair_stale};
