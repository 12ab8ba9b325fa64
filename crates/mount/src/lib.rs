//! The drive mounted: an adapter decodes what the system asks, lets the drive do it elsewhere, and answers.
//!
//! Nothing here knows a contact or the network, and nothing outside knows an error number or a FUSE type.

mod fuse;

pub use fuse::{Holder, Mount, MountError, MountOptions, Stopped, holders, repair_stale};
