//! Bulk lanes: reads as plain frames, asked and answered in both directions on the same lane.

mod answers;
mod frames;
mod lane;
mod meters;
mod pool;
mod small;

pub(crate) use self::lane::BulkLane;
pub(crate) use self::pool::BulkPool;
