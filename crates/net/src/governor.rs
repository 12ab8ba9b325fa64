//! How many bytes may be on their way to us at once, and whose. No I/O and no clock.

/// How much somebody waits for a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Priority {
    /// A transfer that may take its time.
    Bulk,
    /// A program will probably want it.
    ReadAhead,
    /// A program waits for it now.
    Demand,
}
