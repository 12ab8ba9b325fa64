//! The drive's mount, kept there: what somebody else unmounts is mounted again, or its absence is said.

use std::sync::Arc;
use std::time::Duration;

use farhold_mount::{Mount, MountError, MountOptions};
use farhold_vfs::Drive;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::backoff::Backoff;
use crate::status::{MountStateName, MountStatus};

/// Before mounting again. The first attempt comes soon, so that an accident is over within seconds.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// A mounted drive and how it stands.
#[derive(Debug)]
pub(crate) struct Mounting {
    mount: Mount,
    drive: Arc<Drive>,
    options: MountOptions,
    status: watch::Sender<MountStatus>,
}

impl Mounting {
    /// Mounts the drive.
    pub(crate) async fn start(drive: Arc<Drive>, options: MountOptions) -> Result<Self, MountError> {
        let mount = Mount::start(Arc::clone(&drive), options.clone()).await?;
        let (status, _) = watch::channel(mounted(&mount));
        Ok(Self { mount, drive, options, status })
    }

    /// How it stands, from now on.
    pub(crate) fn status(&self) -> watch::Receiver<MountStatus> {
        self.status.subscribe()
    }

    /// Keeps it mounted until `cancel`, then unmounts.
    pub(crate) async fn keep(self, cancel: CancellationToken) {
        let Self { mut mount, drive, options, status } = self;
        loop {
            let cancelled = tokio::select! {
                () = cancel.cancelled() => true,
                () = mount.gone() => false,
            };
            stop(mount).await;
            if cancelled {
                return;
            }
            tracing::warn!("the drive was unmounted by somebody else; it will be mounted again");
            failed(&status, "it was unmounted by somebody else".to_owned());
            match again(&drive, &options, &status, &cancel).await {
                Some(again) => mount = again,
                None => return,
            }
        }
    }
}

/// Mounts, however often it takes; `None` once cancelled.
async fn again(
    drive: &Arc<Drive>,
    options: &MountOptions,
    status: &watch::Sender<MountStatus>,
    cancel: &CancellationToken,
) -> Option<Mount> {
    let mut backoff = Backoff::new(RETRY.0, RETRY.1);
    loop {
        cancel.run_until_cancelled(tokio::time::sleep(backoff.next())).await?;
        // Not cancelled itself: mounting is quick, and one that has begun is better kept and then ended in order.
        match Mount::start(Arc::clone(drive), options.clone()).await {
            Ok(mount) => {
                status.send_replace(mounted(&mount));
                return Some(mount);
            }
            Err(error) => {
                tracing::warn!("the drive cannot be mounted; it will be tried again");
                tracing::debug!("the drive cannot be mounted: {error}");
                failed(status, error.to_string());
            }
        }
    }
}

fn mounted(mount: &Mount) -> MountStatus {
    MountStatus { point: mount.point().to_owned(), state: MountStateName::Mounted, reason: None }
}

fn failed(status: &watch::Sender<MountStatus>, reason: String) {
    status.send_modify(|status| {
        status.state = MountStateName::Failed;
        status.reason = Some(reason);
    });
}

async fn stop(mount: Mount) {
    if let Err(error) = mount.stop().await {
        tracing::error!("the drive stays mounted");
        tracing::debug!("the drive stays mounted: {error}");
    }
}
