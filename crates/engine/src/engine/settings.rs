//! The settings, for commands.

use super::Engine;
use crate::commands::{RateChange, RateLimits};
use crate::controller::Order;
use crate::error::EngineError;
use crate::settings::{Settings, StoredSettings};

impl Engine {
    /// The settings on disk, and which of them wait for the next start.
    pub fn settings(&self) -> StoredSettings {
        let parts = &self.inner.parts;
        let settings = parts.settings.borrow().clone();
        let restart_needed = parts.config.restart_needed(&parts.started, &settings);
        StoredSettings { settings, restart_needed }
    }

    /// Stores other settings as a whole, and applies what a running engine can: everything but the port, the cache's
    /// folder, `relay_only`, and what this run has an option for. Nothing is changed if anything is refused.
    ///
    /// # Errors
    /// [`EngineError::Setting`] of a value that cannot be used, and others of what cannot be applied.
    pub async fn change_settings(&self, settings: Settings) -> Result<StoredSettings, EngineError> {
        settings.check()?;
        self.order(|reply| Order::ChangeSettings { settings: Box::new(settings), reply }).await?;
        Ok(self.settings())
    }

    /// Sets and keeps what contacts' contents may take of the network; answers what holds now.
    ///
    /// # Errors
    /// [`EngineError::Setting`] of a limit with which nothing would go.
    pub async fn limit_rates(&self, change: RateChange) -> Result<RateLimits, EngineError> {
        self.order(|reply| Order::LimitRates { change, reply }).await
    }
}
