//! Keeping the replica of what a contact shares up to date, for as long as the contact is linked.

use std::sync::Arc;
use std::time::Duration;

use farhold_catalog::{Replica, ReplicaError};
use farhold_net::{ContactState, Peer, SessionState};
use farhold_vfs::Drive;
use farhold_wire::{ContactId, Position};
use futures_util::StreamExt;
use tokio::sync::{Notify, watch};

use crate::backoff::Backoff;

/// After a failure of the session or the peer: sessions re-form within seconds.
const RETRY: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// After what will not be better soon: a full disk, a peer that announces too much.
const REFUSED: Duration = Duration::from_secs(60);

/// Follows one contact.
pub(crate) struct Follower {
    pub(crate) contact: ContactId,
    pub(crate) peer: Peer,
    pub(crate) replica: Replica,
    pub(crate) drive: Arc<Drive>,
    pub(crate) state: watch::Receiver<ContactState>,
    /// Told after every change of the replica.
    pub(crate) replicated: Arc<Notify>,
}

/// Why a stream of changes is no longer followed.
enum Ended {
    /// The session or the peer ended it; some batches may have been applied.
    Broken { progress: bool },
    /// A batch did not follow what is here: a snapshot mends that.
    OutOfOrder,
    /// The batch cannot be taken.
    Refused(ReplicaError),
}

impl Follower {
    /// Follows for ever; dropped to end.
    pub(crate) async fn run(mut self) {
        let mut backoff = Backoff::new(RETRY.0, RETRY.1);
        let mut from = self.replica.position();
        loop {
            let connected = |state: &ContactState| matches!(state.session, SessionState::Connected(_));
            if self.state.wait_for(connected).await.is_err() {
                // Nobody will ever connect again: the contact was removed, or the engine stops.
                return;
            }
            let ended = self.follow(from).await;
            from = self.replica.position();
            let delay = match ended {
                Ended::Broken { progress } => {
                    if progress {
                        backoff.reset();
                    }
                    backoff.next()
                }
                Ended::OutOfOrder => {
                    tracing::warn!("a contact's changes are out of order; asking for a snapshot");
                    from = None;
                    backoff.next()
                }
                Ended::Refused(error) => {
                    tracing::error!("a contact's changes cannot be taken: {error}");
                    REFUSED
                }
            };
            tokio::time::sleep(delay).await;
        }
    }

    async fn follow(&self, from: Option<Position>) -> Ended {
        let mut progress = false;
        let mut changes = match self.peer.changes(from).await {
            Ok(changes) => changes,
            Err(error) => {
                tracing::debug!("changes cannot be asked for: {error}");
                return Ended::Broken { progress };
            }
        };
        while let Some(batch) = changes.next().await {
            let batch = match batch {
                Ok(batch) => batch,
                Err(error) => {
                    tracing::debug!("changes ended: {error}");
                    return Ended::Broken { progress };
                }
            };
            match self.replica.apply(batch).await {
                Ok(events) => {
                    self.drive.tree_changed(self.contact, events).await;
                    self.replicated.notify_one();
                }
                Err(ReplicaError::OutOfOrder) => return Ended::OutOfOrder,
                Err(
                    error @ (ReplicaError::TooManyEntries(_)
                    | ReplicaError::TooManyRoots(_)
                    | ReplicaError::TooLarge(_)
                    | ReplicaError::Catalog(_)),
                ) => return Ended::Refused(error),
            }
            progress = true;
        }
        Ended::Broken { progress }
    }
}
