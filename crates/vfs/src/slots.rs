//! How many requests may wait for one contact, so that a dead contact never stalls the others.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::error::VfsError;

/// How long a request waits before it needs a slot: what comes from this machine's disk, or from a contact that answers,
/// is there by then.
const GRACE: Duration = Duration::from_secs(1);
/// Requests that wait longer for one contact at once: a quarter of those that the system lets wait for the drive.
const WAITING: usize = crate::BACKGROUND_SLOTS / 4;
/// Requests over that which wait for one of these to end: a busy contact's go on, a dead one's fail soon.
const QUEUED: usize = crate::BACKGROUND_SLOTS / 2;
/// How long they wait for that.
const QUEUE_WAIT: Duration = Duration::from_secs(5);

/// The waiting requests of one contact.
#[derive(Debug)]
pub(crate) struct Slots {
    waiting: Semaphore,
    queued: Semaphore,
}

impl Slots {
    pub(crate) fn new() -> Self {
        Self { waiting: Semaphore::new(WAITING), queued: Semaphore::new(QUEUED) }
    }

    /// Waits for `work`, at most for `longest`, holding a slot if it takes long.
    pub(crate) async fn hold<T>(
        &self,
        longest: Duration,
        work: impl Future<Output = Result<T, VfsError>>,
    ) -> Result<T, VfsError> {
        let held = async {
            let mut work = pin!(work);
            let _slot = tokio::select! {
                biased;
                outcome = &mut work => return outcome,
                slot = async {
                    tokio::time::sleep(GRACE).await;
                    self.slot().await
                } => slot?,
            };
            work.await
        };
        tokio::time::timeout(longest, held).await.unwrap_or(Err(VfsError::TimedOut))
    }

    async fn slot(&self) -> Result<impl Drop + '_, VfsError> {
        if let Ok(slot) = self.waiting.try_acquire() {
            return Ok(slot);
        }
        let _place = self.queued.try_acquire().map_err(|_| VfsError::Busy)?;
        match tokio::time::timeout(QUEUE_WAIT, self.waiting.acquire()).await {
            Ok(Ok(slot)) => Ok(slot),
            // Never closed, so only the time is up.
            Ok(Err(_)) | Err(_) => Err(VfsError::Busy),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::Arc;

    use tokio::task::JoinSet;
    use tokio::time::Instant;

    use super::*;

    const LONGEST: Duration = Duration::from_secs(27);

    #[tokio::test(start_paused = true)]
    async fn a_dead_contact_holds_its_share_and_what_is_at_hand_needs_none() {
        let slots = Arc::new(Slots::new());
        let mut tasks = JoinSet::new();
        for _ in 0..crate::BACKGROUND_SLOTS {
            let slots = Arc::clone(&slots);
            tasks.spawn(async move {
                let began = Instant::now();
                let outcome: Result<(), VfsError> = slots.hold(LONGEST, pending()).await;
                (outcome, began.elapsed().as_secs())
            });
        }
        tokio::time::sleep(GRACE * 2).await;
        let from_disk = async {
            tokio::time::sleep(GRACE / 2).await;
            Ok(7)
        };
        assert_eq!(slots.hold(LONGEST, from_disk).await, Ok(7));
        let mut ends: Vec<_> = tasks.join_all().await;
        ends.sort_by_key(|(_, seconds)| *seconds);
        let count = |error, seconds| ends.iter().filter(|end| **end == (Err(error), seconds)).count();
        assert_eq!(count(VfsError::Busy, 1), crate::BACKGROUND_SLOTS - WAITING - QUEUED);
        assert_eq!(count(VfsError::Busy, 6), QUEUED);
        assert_eq!(count(VfsError::TimedOut, 27), WAITING);
    }

    #[tokio::test(start_paused = true)]
    async fn a_busy_contact_serves_more_than_its_share() {
        let slots = Arc::new(Slots::new());
        let mut tasks = JoinSet::new();
        for _ in 0..WAITING + QUEUED {
            let slots = Arc::clone(&slots);
            tasks.spawn(async move {
                slots
                    .hold(LONGEST, async {
                        tokio::time::sleep(GRACE + Duration::from_millis(200)).await;
                        Ok(())
                    })
                    .await
            });
        }
        assert!(tasks.join_all().await.into_iter().all(|outcome| outcome == Ok(())));
        assert_eq!(slots.waiting.available_permits(), WAITING);
        assert_eq!(slots.queued.available_permits(), QUEUED);
    }
}
