//! What can be asked of an engine.

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use farhold_engine::commands::{
    ContactAdded, DrivePath, Holder, Listed, RateChange, RateLimits, Share, ShareRequest, Unmounted,
};
use farhold_engine::doctor::Finding;
use farhold_engine::error::EngineError;
use farhold_engine::settings::{Settings, StoredSettings};
use farhold_engine::status::{
    CacheStatus, MountStatus, OpenFile, SessionStatus, Status, TransferChanges, TransferId, TransferStatus,
};
use farhold_engine::{Engine, PinStatus};
use futures_util::stream::BoxStream;

/// An engine, as commands see it. Names are contacts' names.
#[async_trait]
pub trait Host: Send + Sync + 'static {
    /// How everything stands.
    async fn status(&self) -> Result<Status, EngineError>;
    /// Stops the engine; returns when everything is unmounted and closed.
    async fn stop(&self);
    /// This engine's code.
    fn code(&self) -> String;
    /// Saves a contact and looks for it.
    async fn add_contact(&self, name: &str, code: &str) -> Result<ContactAdded, EngineError>;
    /// Calls a contact, and its folder, otherwise.
    async fn rename_contact(&self, old: &str, new: &str) -> Result<(), EngineError>;
    /// Forgets a contact with everything of it.
    async fn remove_contact(&self, name: &str) -> Result<(), EngineError>;
    /// Wants a session, and waits for it if told to.
    async fn connect(&self, name: &str, wait: Option<Duration>) -> Result<SessionStatus, EngineError>;
    /// Ends the session and wants none.
    async fn disconnect(&self, name: &str) -> Result<(), EngineError>;
    /// Shares paths with a contact.
    async fn share(&self, request: ShareRequest) -> Result<Vec<Share>, EngineError>;
    /// Withdraws a path from one contact, or from all; answers what was withdrawn.
    async fn unshare(&self, path: PathBuf, with: Option<&str>) -> Result<Vec<Share>, EngineError>;
    /// Everything shared from here.
    async fn shares(&self) -> Result<Vec<Share>, EngineError>;
    /// What a folder of the drive holds; without a path, the drive's top.
    async fn list(&self, path: Option<DrivePath>) -> Result<Vec<Listed>, EngineError>;
    /// Begins to fetch a file or folder of the drive into `destination`.
    async fn pull(&self, source: DrivePath, destination: Option<PathBuf>) -> Result<TransferId, EngineError>;
    /// Offers a file or folder to a contact, who fetches it if it accepts.
    async fn push(&self, path: PathBuf, contact: &str) -> Result<TransferId, EngineError>;
    /// Stops a transfer until it is resumed.
    async fn pause_transfer(&self, id: TransferId) -> Result<(), EngineError>;
    /// Goes on with a transfer that was paused or failed.
    async fn resume_transfer(&self, id: TransferId) -> Result<(), EngineError>;
    /// Gives a transfer up.
    async fn cancel_transfer(&self, id: TransferId) -> Result<(), EngineError>;
    /// Waits until a transfer is done, cancelled, failed or paused.
    async fn wait_transfer(&self, id: TransferId) -> Result<TransferStatus, EngineError>;
    /// Takes what a contact pushes into a folder, or takes nothing from it.
    async fn accept_pushes(&self, contact: &str, folder: Option<PathBuf>) -> Result<(), EngineError>;
    /// Takes one push that was offered, into a folder or the default one.
    async fn accept_offer(&self, id: TransferId, folder: Option<PathBuf>) -> Result<(), EngineError>;
    /// Takes it not.
    async fn decline_offer(&self, id: TransferId) -> Result<(), EngineError>;
    /// Takes finished transfers off the list, or these of them; answers which.
    async fn forget_transfers(&self, ids: Option<Vec<TransferId>>) -> Result<Vec<TransferId>, EngineError>;
    /// All transfers, and then what changes of them, once in `interval` at most; ends with the engine.
    fn transfer_changes(&self, interval: Duration) -> BoxStream<'static, TransferChanges>;
    /// What is open through the drive.
    async fn open_files(&self) -> Result<Vec<OpenFile>, EngineError>;
    /// Sets and keeps what contacts' bytes may take of the network.
    async fn limit_rates(&self, change: RateChange) -> Result<RateLimits, EngineError>;
    /// Empties the cache, or drops what it has of a path.
    async fn drop_cache(&self, path: Option<DrivePath>) -> Result<CacheStatus, EngineError>;
    /// Sets and keeps the cache's limit, in bytes.
    async fn limit_cache(&self, bytes: u64) -> Result<CacheStatus, EngineError>;
    /// Keeps a file or folder of a contact whole in the cache.
    async fn pin(&self, path: DrivePath) -> Result<PinStatus, EngineError>;
    /// Keeps it no longer.
    async fn unpin(&self, path: DrivePath) -> Result<(), EngineError>;
    /// What is kept so.
    async fn pins(&self) -> Result<Vec<PinStatus>, EngineError>;
    /// The settings on disk.
    async fn settings(&self) -> Result<StoredSettings, EngineError>;
    /// Stores other settings, and applies what a running engine can.
    async fn change_settings(&self, settings: Settings) -> Result<StoredSettings, EngineError>;
    /// Mounts the drive.
    async fn mount(&self) -> Result<MountStatus, EngineError>;
    /// Unmounts the drive until it is mounted again; while programs use it, only if forced.
    async fn unmount(&self, force: bool) -> Result<Unmounted, EngineError>;
    /// Who uses the drive.
    async fn holders(&self) -> Result<Vec<Holder>, EngineError>;
    /// What works on this machine.
    async fn doctor(&self) -> Result<Vec<Finding>, EngineError>;
    /// Calls a relay; how long its answer took.
    async fn test_relay(&self, address: &str) -> Result<Duration, EngineError>;
    /// A document for whoever looks for a fault, without names, codes, paths and addresses.
    async fn diagnostics(&self) -> Result<String, EngineError>;
}

#[async_trait]
impl Host for Engine {
    async fn status(&self) -> Result<Status, EngineError> {
        Self::status(self)
    }

    async fn stop(&self) {
        Self::stop(self).await;
    }

    fn code(&self) -> String {
        Self::code(self)
    }

    async fn add_contact(&self, name: &str, code: &str) -> Result<ContactAdded, EngineError> {
        Self::add_contact(self, name, code).await
    }

    async fn rename_contact(&self, old: &str, new: &str) -> Result<(), EngineError> {
        Self::rename_contact(self, old, new).await
    }

    async fn remove_contact(&self, name: &str) -> Result<(), EngineError> {
        Self::remove_contact(self, name).await
    }

    async fn connect(&self, name: &str, wait: Option<Duration>) -> Result<SessionStatus, EngineError> {
        Self::connect(self, name, wait).await
    }

    async fn disconnect(&self, name: &str) -> Result<(), EngineError> {
        Self::disconnect(self, name).await
    }

    async fn share(&self, request: ShareRequest) -> Result<Vec<Share>, EngineError> {
        Self::share(self, request).await
    }

    async fn unshare(&self, path: PathBuf, with: Option<&str>) -> Result<Vec<Share>, EngineError> {
        Self::unshare(self, &path, with).await
    }

    async fn shares(&self) -> Result<Vec<Share>, EngineError> {
        Self::shares(self).await
    }

    async fn list(&self, path: Option<DrivePath>) -> Result<Vec<Listed>, EngineError> {
        Self::list(self, path.as_ref()).await
    }

    async fn pull(&self, source: DrivePath, destination: Option<PathBuf>) -> Result<TransferId, EngineError> {
        Self::pull(self, &source, destination).await
    }

    async fn push(&self, path: PathBuf, contact: &str) -> Result<TransferId, EngineError> {
        Self::push(self, path, contact).await
    }

    async fn pause_transfer(&self, id: TransferId) -> Result<(), EngineError> {
        Self::pause_transfer(self, id).await
    }

    async fn resume_transfer(&self, id: TransferId) -> Result<(), EngineError> {
        Self::resume_transfer(self, id).await
    }

    async fn cancel_transfer(&self, id: TransferId) -> Result<(), EngineError> {
        Self::cancel_transfer(self, id).await
    }

    async fn wait_transfer(&self, id: TransferId) -> Result<TransferStatus, EngineError> {
        Self::transfer_done(self, id).await
    }

    async fn accept_pushes(&self, contact: &str, folder: Option<PathBuf>) -> Result<(), EngineError> {
        Self::accept_pushes(self, contact, folder).await
    }

    async fn accept_offer(&self, id: TransferId, folder: Option<PathBuf>) -> Result<(), EngineError> {
        Self::accept_offer(self, id, folder).await
    }

    async fn decline_offer(&self, id: TransferId) -> Result<(), EngineError> {
        Self::decline_offer(self, id).await
    }

    async fn forget_transfers(&self, ids: Option<Vec<TransferId>>) -> Result<Vec<TransferId>, EngineError> {
        Self::forget_transfers(self, ids).await
    }

    fn transfer_changes(&self, interval: Duration) -> BoxStream<'static, TransferChanges> {
        Self::transfer_changes(self, interval)
    }

    async fn open_files(&self) -> Result<Vec<OpenFile>, EngineError> {
        Self::open_files(self).await
    }

    async fn limit_rates(&self, change: RateChange) -> Result<RateLimits, EngineError> {
        Self::limit_rates(self, change).await
    }

    async fn drop_cache(&self, path: Option<DrivePath>) -> Result<CacheStatus, EngineError> {
        Self::drop_cache(self, path.as_ref()).await
    }

    async fn limit_cache(&self, bytes: u64) -> Result<CacheStatus, EngineError> {
        Self::limit_cache(self, bytes).await
    }
    async fn pin(&self, path: DrivePath) -> Result<PinStatus, EngineError> {
        Self::pin(self, &path).await
    }

    async fn unpin(&self, path: DrivePath) -> Result<(), EngineError> {
        Self::unpin(self, &path).await
    }

    async fn pins(&self) -> Result<Vec<PinStatus>, EngineError> {
        Ok(Self::pinned(self))
    }

    async fn settings(&self) -> Result<StoredSettings, EngineError> {
        Ok(Self::settings(self))
    }

    async fn change_settings(&self, settings: Settings) -> Result<StoredSettings, EngineError> {
        Self::change_settings(self, settings).await
    }

    async fn mount(&self) -> Result<MountStatus, EngineError> {
        Self::mount(self).await
    }

    async fn unmount(&self, force: bool) -> Result<Unmounted, EngineError> {
        Self::unmount(self, force).await
    }

    async fn holders(&self) -> Result<Vec<Holder>, EngineError> {
        Self::holders(self).await
    }

    async fn doctor(&self) -> Result<Vec<Finding>, EngineError> {
        Self::doctor(self).await
    }

    async fn test_relay(&self, address: &str) -> Result<Duration, EngineError> {
        Self::test_relay(self, address).await
    }

    async fn diagnostics(&self) -> Result<String, EngineError> {
        Self::diagnostics(self).await
    }
}
