//! Between the rooms that know a network and those that do not.

mod service;
mod source;
mod tree;

pub(crate) use service::HomeService;
pub(crate) use source::PeerSource;
pub(crate) use tree::HomeTree;
