//! The settings, changed while the engine runs.

use super::{Controller, blocking};
use crate::commands::{RateChange, RateLimits};
use crate::error::EngineError;
use crate::settings::Settings;

impl Controller {
    pub(super) async fn limit_cache(&self, bytes: u64) -> Result<(), EngineError> {
        // First, since it can refuse.
        self.storage.cache.set_limit(bytes).await?;
        let settings = Settings { cache_limit: bytes, ..self.settings.borrow().clone() };
        self.store(settings).await
    }

    pub(super) async fn limit_rates(&self, change: RateChange) -> Result<RateLimits, EngineError> {
        let mut settings = self.settings.borrow().clone();
        settings.limit_receive = change.receive.unwrap_or(settings.limit_receive);
        settings.limit_send = change.send.unwrap_or(settings.limit_send);
        settings.check()?;
        let limits = RateLimits { receive: settings.limit_receive, send: settings.limit_send };
        self.store(settings).await?;
        self.net.limit(limits.receive, limits.send);
        Ok(limits)
    }

    /// Applies and stores all settings. What can refuse comes first, and is taken back if something after it refuses.
    pub(super) async fn change_settings(&self, new: Settings) -> Result<(), EngineError> {
        let before = self.settings.borrow().clone();
        let relay = self.config.relay_with(&new)?;
        self.storage.cache.set_limit(new.cache_limit).await?;
        if let Err(error) = self.move_and_store(&before, new.clone()).await {
            if let Err(kept) = self.storage.cache.set_limit(before.cache_limit).await {
                tracing::warn!("the cache keeps a limit that is not stored: {kept}");
            }
            return Err(error);
        }
        self.net.set_relay(relay);
        self.net.set_lan(self.config.lan_with(&new));
        self.net.limit(new.limit_receive, new.limit_send);
        Ok(())
    }

    async fn move_and_store(&self, before: &Settings, new: Settings) -> Result<(), EngineError> {
        let (from, to) = (self.config.mount_with(before)?, self.config.mount_with(&new)?);
        if from == to {
            return self.store(new).await;
        }
        if let Some(options) = &to {
            self.storage.home.refuse(options.point.clone()).await?;
        }
        self.mounter.place(to).await?;
        let stored = self.store(new).await;
        if stored.is_err()
            && let Err(error) = self.mounter.place(from).await
        {
            tracing::warn!("the drive is mounted as the settings do not say");
            tracing::debug!("the drive is not where it was: {error}");
        }
        stored
    }

    async fn store(&self, settings: Settings) -> Result<(), EngineError> {
        let (path, saved) = (self.layout.settings(), settings.clone());
        blocking(move || saved.save(&path)).await?;
        self.settings.send_replace(settings);
        Ok(())
    }
}
