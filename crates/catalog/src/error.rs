//! Why the catalog fails, by cause.

use std::path::PathBuf;

use farhold_wire::{Name, NameError};

/// Why a database of the catalog, or something on this machine's disk, could not be used.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// No such entry.
    #[error("no such entry")]
    NotFound,
    /// The share's root is missing, unreadable, or on another device than it was.
    #[error("the share is not available")]
    Unavailable,
    /// This user may not read it.
    #[error("access denied")]
    Denied,
    /// The disk failed.
    #[error("the disk failed")]
    Disk(#[source] std::io::Error),
    /// A database failed.
    #[error("a database of the catalog failed")]
    Database(#[from] rusqlite::Error),
    /// A database is damaged: it is set aside at the next start.
    #[error("a database of the catalog is damaged and will be set aside at the next start")]
    Damaged,
    /// A database was written by a newer program.
    #[error("a database of the catalog has format {found}, this program knows {known}")]
    Newer {
        /// Of the database.
        found: i64,
        /// Of this program.
        known: i64,
    },
    /// The catalog is closed.
    #[error("the catalog is closed")]
    Closed,
}

/// Why something was not shared or unshared.
#[derive(Debug, thiserror::Error)]
pub enum ShareError {
    /// Nothing is there, or it cannot be reached.
    #[error("{0} cannot be opened")]
    Missing(PathBuf, #[source] std::io::Error),
    /// Neither a folder nor a regular file.
    #[error("{0} is neither a folder nor a regular file")]
    Special(PathBuf),
    /// Inside the drive, or in the program's own folders.
    #[error("{0} belongs to Farhold itself and cannot be shared")]
    Own(PathBuf),
    /// The contact sees this path under this name already.
    #[error("already shared with this contact")]
    AlreadyShared,
    /// The contact sees another share under this name.
    #[error("another share has the name {0}")]
    NameTaken(Name),
    /// The path's last part cannot be an entry's name, and none was given.
    #[error("it needs a name")]
    Name(#[from] NameError),
    /// Nobody to share with.
    #[error("no contact to share with")]
    NoContact,
    /// Not shared, or not with this contact.
    #[error("not shared")]
    NotShared,
    /// The catalog failed.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}

/// Why a replica refused what came from its home.
#[derive(Debug, thiserror::Error)]
pub enum ReplicaError {
    /// More entries than a contact may have.
    #[error("the contact announces more than {0} entries")]
    TooManyEntries(u64),
    /// More entries at the top level than a contact may have.
    #[error("the contact shares more than {0} trees")]
    TooManyRoots(u64),
    /// More bytes of names and link targets than a contact may have.
    #[error("the contact announces more than the {0} bytes that are kept for it")]
    TooLarge(u64),
    /// A batch that neither begins a snapshot nor follows the position held.
    #[error("a batch does not follow what is here")]
    OutOfOrder,
    /// The catalog failed.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}
