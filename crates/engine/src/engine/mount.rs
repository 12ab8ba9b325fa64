//! The mount, for commands.

use farhold_mount::MountError;

use super::Engine;
use crate::commands::{Holder, Unmounted};
use crate::error::EngineError;
use crate::status::{MountStateName, MountStatus};

impl Engine {
    /// Mounts the drive where this run or the settings say; without an effect if it is mounted.
    ///
    /// # Errors
    /// [`EngineError::Remount`].
    pub async fn mount(&self) -> Result<MountStatus, EngineError> {
        let parts = &self.inner.parts;
        let options = parts.config.place_with(&parts.settings.borrow())?;
        self.inner.storage.home.refuse(options.point.clone()).await?;
        parts.mounter.mount(options).await
    }

    /// Unmounts the drive until [`mount`](Self::mount) or the next start. While programs use it, it stays as it is
    /// unless `force` is set, and they are told.
    ///
    /// # Errors
    /// [`EngineError::Remount`] if the system refuses.
    pub async fn unmount(&self, force: bool) -> Result<Unmounted, EngineError> {
        match self.inner.parts.mounter.unmount(force).await {
            Ok(holders) => Ok(Unmounted { unmounted: true, holders: told(holders) }),
            Err(EngineError::Remount(MountError::Held { holders, .. })) => {
                Ok(Unmounted { unmounted: false, holders: told(holders) })
            }
            Err(error) => Err(error),
        }
    }

    /// Programs that use the drive, as far as this user may see them; none if it is not mounted.
    ///
    /// # Errors
    /// [`EngineError::Task`].
    pub async fn holders(&self) -> Result<Vec<Holder>, EngineError> {
        match self.inner.parts.mounter.status() {
            Some(MountStatus { point, state: MountStateName::Mounted, .. }) => {
                let found = tokio::task::spawn_blocking(move || farhold_mount::holders(&point)).await;
                found.map(told).map_err(EngineError::Task)
            }
            Some(_) | None => Ok(Vec::new()),
        }
    }
}

fn told(holders: Vec<farhold_mount::Holder>) -> Vec<Holder> {
    let told = |farhold_mount::Holder { pid, program, file }| Holder { pid, program, file };
    holders.into_iter().map(told).collect()
}
