//! Contacts and sessions.

use std::time::Duration;

use farhold_net::{ContactState, SessionState};
use farhold_secure::Code;
use farhold_wire::ContactId;

use super::Engine;
use super::status::session_status;
use crate::commands::ContactAdded;
use crate::contacts::{ContactError, Pairing};
use crate::controller::Order;
use crate::error::EngineError;
use crate::rates::Moved;
use crate::status::SessionStatus;

impl Engine {
    /// Saves a contact under `name` and looks for it from now on, also after a restart; it must add us too.
    ///
    /// # Errors
    /// [`EngineError::Contact`].
    pub async fn add_contact(&self, name: &str, code: &str) -> Result<ContactAdded, EngineError> {
        let code: Code = code.parse().map_err(ContactError::Code)?;
        self.order(|reply| Order::AddContact { name: name.to_owned(), code, reply }).await?;
        Ok(ContactAdded { name: name.to_owned(), code: code.to_string() })
    }

    /// Calls a contact, and its folder in the drive, otherwise.
    ///
    /// # Errors
    /// [`EngineError::Contact`].
    pub async fn rename_contact(&self, old: &str, new: &str) -> Result<(), EngineError> {
        self.order(|reply| Order::RenameContact { old: old.to_owned(), new: new.to_owned(), reply }).await
    }

    /// Forgets a contact: pairing, shares in both directions, what is cached.
    ///
    /// # Errors
    /// [`EngineError::Contact`].
    pub async fn remove_contact(&self, name: &str) -> Result<(), EngineError> {
        self.order(|reply| Order::RemoveContact { name: name.to_owned(), reply }).await
    }

    /// Wants a session with a contact from now on, also after a restart. With `wait`, returns once it is connected;
    /// that includes a pairing that is still pending.
    ///
    /// # Errors
    /// [`EngineError::ConnectTimedOut`] if it is not connected after `wait`; it is still wanted then.
    pub async fn connect(&self, name: &str, wait: Option<Duration>) -> Result<SessionStatus, EngineError> {
        if self.inner.parts.relay().is_none() {
            return Err(EngineError::NoRelay);
        }
        let id = self.order(|reply| Order::Want { name: name.to_owned(), wanted: true, reply }).await?;
        let Some(waited) = wait else { return Ok(self.session_with(id)) };
        match tokio::time::timeout(waited, self.until_connected(id, name)).await {
            Ok(connected) => connected,
            Err(_) => {
                let reason = self.session_with(id).reason.unwrap_or_else(|| "still connecting".to_owned());
                Err(EngineError::ConnectTimedOut { name: name.to_owned(), waited, reason })
            }
        }
    }

    /// Ends the session and wants none, also after a restart, until [`Engine::connect`].
    ///
    /// # Errors
    /// [`EngineError::Contact`].
    pub async fn disconnect(&self, name: &str) -> Result<(), EngineError> {
        self.order(|reply| Order::Want { name: name.to_owned(), wanted: false, reply }).await.map(drop)
    }

    async fn until_connected(&self, id: ContactId, name: &str) -> Result<SessionStatus, EngineError> {
        let mut contacts = self.inner.parts.contacts.clone();
        loop {
            let met = contacts.wait_for(|book| {
                book.get(id).is_none_or(|contact| !matches!(contact.pairing, Pairing::Pending))
            });
            let known = met.await.map_err(|_| EngineError::Stopping)?.get(id).is_some();
            if !known {
                return Err(ContactError::Unknown { name: name.to_owned() }.into());
            }
            let connected = |state: &ContactState| matches!(state.session, SessionState::Connected(_));
            if let Ok(mut state) = self.inner.parts.net.state(id)
                && let Ok(state) = state.wait_for(connected).await
            {
                // Just made, so it has no rates yet.
                return Ok(session_status(&state, |_| Moved::default()));
            }
            // Removed, met again, or the engine stops: the next look at the contacts tells.
            contacts.changed().await.map_err(|_| EngineError::Stopping)?;
        }
    }
}
