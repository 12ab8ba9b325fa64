//! The settings, for commands.

use super::Engine;
use crate::controller::Order;
use crate::error::EngineError;
use crate::settings::{Settings, StoredSettings};

impl Engine {
    /// The settings on disk, and which of them wait for the next start.
    ///
    /// # Errors
    /// [`EngineError::Stopping`].
    pub async fn settings(&self) -> Result<StoredSettings, EngineError> {
        self.order(|reply| Order::Settings { reply }).await
    }

    /// Stores other settings as a whole, and applies what a running engine can: everything but the port, the cache's
    /// folder, `relay_only`, and what this run has an option for. Nothing is changed if anything is refused.
    ///
    /// # Errors
    /// [`EngineError::Setting`] of a value that cannot be used, and others of what cannot be applied.
    pub async fn change_settings(&self, settings: Settings) -> Result<StoredSettings, EngineError> {
        settings.check()?;
        self.order(|reply| Order::ChangeSettings { settings: Box::new(settings), reply }).await
    }
}
