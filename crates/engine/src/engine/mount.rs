//! The mount, for commands.

use super::Engine;
use crate::commands::{Holder, Unmounted};
use crate::error::EngineError;
use crate::status::MountStatus;

impl Engine {
    /// Mounts the drive where this run or the settings say; without an effect if it is mounted.
    ///
    /// # Errors
    /// [`EngineError::Mount`].
    pub async fn mount(&self) -> Result<MountStatus, EngineError> {
        Err(EngineError::Stopping)
    }

    /// Unmounts the drive until [`mount`](Self::mount) or the next start. While programs use it, it stays as it is
    /// unless `force` is set, and they are told.
    ///
    /// # Errors
    /// [`EngineError::Mount`] if the system refuses.
    pub async fn unmount(&self, force: bool) -> Result<Unmounted, EngineError> {
        let _ = force;
        Err(EngineError::Stopping)
    }

    /// Programs that use the drive, as far as this user may see them; none if it is not mounted.
    ///
    /// # Errors
    /// [`EngineError`].
    pub async fn holders(&self) -> Result<Vec<Holder>, EngineError> {
        Err(EngineError::Stopping)
    }
}
