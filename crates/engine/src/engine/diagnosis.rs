//! Finding faults, for commands.

use std::time::Duration;

use farhold_net::{RelayAddress, test_relay};

use super::Engine;
use crate::diagnostics::{self, Facts};
use crate::doctor::{self, Finding, Running};
use crate::error::EngineError;

impl Engine {
    /// What works on this machine, and how to mend what does not.
    ///
    /// # Errors
    /// [`EngineError::Stopping`].
    pub async fn doctor(&self) -> Result<Vec<Finding>, EngineError> {
        let status = self.status()?;
        Ok(doctor::examine(self.layout(), None, Running::Yes(&status)).await)
    }

    /// Calls the relay at `address` (`HOST` or `HOST:PORT`), which need not be the one in use, and tells how long its
    /// answer took.
    ///
    /// # Errors
    /// [`EngineError::RelayTest`], which says what to do.
    pub async fn test_relay(&self, address: &str) -> Result<Duration, EngineError> {
        let relay: RelayAddress = address.parse()?;
        Ok(test_relay(&relay).await?)
    }

    /// A JSON document for whoever looks for a fault: version, system, settings, status, doctor and the latest log
    /// messages, without names, codes, paths and addresses.
    ///
    /// # Errors
    /// [`EngineError::Stopping`], [`EngineError::Task`].
    pub async fn diagnostics(&self) -> Result<String, EngineError> {
        let status = self.status()?;
        let findings = doctor::examine(self.layout(), None, Running::Yes(&status)).await;
        let parts = &self.inner.parts;
        let settings = parts.settings.borrow().clone();
        let log = parts.config.logs.lines();
        let layout = parts.layout.clone();
        // Many texts are searched for many names.
        let document = move || {
            diagnostics::document(Facts { layout: &layout, settings, status: Some(status), findings, log })
        };
        tokio::task::spawn_blocking(document).await.map_err(EngineError::Task)
    }
}
