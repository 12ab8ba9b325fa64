//! The socket's client: takes and answers the engine's own types.

use std::future::Future;
use std::io;
use std::path::Path;
use std::time::Duration;

use farhold_engine::PinStatus;
use farhold_engine::commands::{
    ContactAdded, DrivePath, Holder, Listed, RateChange, RateLimits, Share, ShareRequest, Unmounted,
};
use farhold_engine::doctor::Finding;
use farhold_engine::settings::{Settings, StoredSettings};
use farhold_engine::status::{
    CacheStatus, MountStatus, OpenFile, SessionStatus, Status, TransferChanges, TransferId, TransferStatus,
};
use farhold_wire::proto::control as pb;
use futures_util::stream::{BoxStream, StreamExt};
use hyper_util::rt::TokioIo;
use pb::control_client::ControlClient as Stub;
use tokio::net::UnixStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Response, Streaming};
use tower::service_fn;

use crate::convert::commands::{drive_path_to, path_to, shares_from};
use crate::convert::error::from_status;
use crate::convert::transfers::{ids_from, ids_to};
use crate::convert::{FromProto, ToProto, all, required};
use crate::error::ControlError;

/// How long an engine may take to answer what does not wait for anybody.
const ANSWER: Duration = Duration::from_secs(60);
/// How long an engine may take to stop: it gives itself 10 s.
const STOP: Duration = Duration::from_secs(20);

/// A connection to a running engine.
#[derive(Debug, Clone)]
pub struct ControlClient {
    stub: Stub<Channel>,
}

async fn within<T>(
    limit: Duration,
    call: impl Future<Output = Result<Response<T>, tonic::Status>>,
) -> Result<T, ControlError> {
    match tokio::time::timeout(limit, call).await {
        Ok(Ok(response)) => Ok(response.into_inner()),
        Ok(Err(status)) => Err(from_status(&status)),
        Err(_) => Err(ControlError::TimedOut),
    }
}

fn milliseconds(interval: Duration) -> u32 {
    u32::try_from(interval.as_millis()).unwrap_or(u32::MAX)
}

fn checked<T: FromProto + 'static>(
    messages: Streaming<T::Message>,
) -> BoxStream<'static, Result<T, ControlError>>
where
    T::Message: Send,
{
    messages
        .map(|message| match message {
            Ok(message) => Ok(T::from_proto(message)?),
            Err(status) => Err(from_status(&status)),
        })
        .boxed()
}

fn cache(cache: Option<pb::Cache>) -> Result<CacheStatus, ControlError> {
    Ok(required(cache, "cache")?)
}

impl ControlClient {
    /// Attaches to the engine at `socket`.
    ///
    /// # Errors
    /// [`ControlError::NotRunning`] if nobody answers there.
    pub async fn attach(socket: &Path) -> Result<Self, ControlError> {
        let path = socket.to_owned();
        let connector = service_fn(move |_| {
            let path = path.clone();
            async move { Ok::<_, io::Error>(TokioIo::new(UnixStream::connect(path).await?)) }
        });
        // The name is never resolved: the connector ignores it.
        let channel = Endpoint::from_static("http://control.invalid").connect_with_connector(connector).await;
        let channel = channel.map_err(|_| ControlError::NotRunning { socket: socket.to_owned() })?;
        Ok(Self { stub: Stub::new(channel) })
    }

    /// How everything stands.
    ///
    /// # Errors
    /// [`ControlError`], as of every call.
    pub async fn status(&mut self) -> Result<Status, ControlError> {
        Ok(Status::from_proto(within(ANSWER, self.stub.status(pb::StatusRequest {})).await?)?)
    }

    /// How everything stands, and again whenever that has changed, once in `interval` at most; ends with the engine.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn watch(
        &mut self,
        interval: Duration,
    ) -> Result<BoxStream<'static, Result<Status, ControlError>>, ControlError> {
        let interval_ms = milliseconds(interval);
        let statuses = within(ANSWER, self.stub.watch(pb::WatchRequest { interval_ms })).await?;
        Ok(checked(statuses))
    }

    /// Stops the engine; returns when it is unmounted and closed.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn stop(&mut self) -> Result<(), ControlError> {
        within(STOP, self.stub.stop(pb::StopRequest {})).await.map(|pb::StopReply {}| ())
    }

    /// The engine's code.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn code(&mut self) -> Result<String, ControlError> {
        Ok(within(ANSWER, self.stub.code(pb::CodeRequest {})).await?.code)
    }

    /// Saves a contact and looks for it.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn add_contact(&mut self, name: String, code: String) -> Result<ContactAdded, ControlError> {
        let added = within(ANSWER, self.stub.add_contact(pb::AddContactRequest { name, code })).await?;
        Ok(ContactAdded { name: added.name, code: added.code })
    }

    /// Calls a contact otherwise.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn rename_contact(&mut self, old: String, new: String) -> Result<(), ControlError> {
        let call = self.stub.rename_contact(pb::RenameContactRequest { old, new });
        within(ANSWER, call).await.map(|pb::RenameContactReply {}| ())
    }

    /// Forgets a contact.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn remove_contact(&mut self, name: String) -> Result<(), ControlError> {
        let call = self.stub.remove_contact(pb::RemoveContactRequest { name });
        within(ANSWER, call).await.map(|pb::RemoveContactReply {}| ())
    }

    /// Wants a session, and waits for it if told to.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn connect(
        &mut self,
        name: String,
        wait: Option<Duration>,
    ) -> Result<SessionStatus, ControlError> {
        let wait_ms = wait.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        let limit = ANSWER.saturating_add(wait.unwrap_or_default());
        let call = self.stub.connect_contact(pb::ConnectRequest { name, wait_ms });
        Ok(required(within(limit, call).await?.session, "session")?)
    }

    /// Ends the session and wants none.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn disconnect(&mut self, name: String) -> Result<(), ControlError> {
        let call = self.stub.disconnect_contact(pb::DisconnectRequest { name });
        within(ANSWER, call).await.map(|pb::DisconnectReply {}| ())
    }

    /// Shares paths, which must be absolute.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn share(&mut self, request: ShareRequest) -> Result<Vec<Share>, ControlError> {
        let reply = within(ANSWER, self.stub.share(request.to_proto())).await?;
        Ok(shares_from(reply)?)
    }

    /// Withdraws a path, which must be absolute, from one contact or from all; answers what was withdrawn.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn unshare(&mut self, path: &Path, with: Option<String>) -> Result<Vec<Share>, ControlError> {
        let call = self.stub.unshare(pb::UnshareRequest { path: path_to(path), with });
        Ok(shares_from(within(ANSWER, call).await?)?)
    }

    /// Everything shared from here.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn shares(&mut self) -> Result<Vec<Share>, ControlError> {
        Ok(shares_from(within(ANSWER, self.stub.shares(pb::SharesRequest {})).await?)?)
    }

    /// What a folder of the drive holds; without a path, the drive's top.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn list(&mut self, path: Option<&DrivePath>) -> Result<Vec<Listed>, ControlError> {
        let call = self.stub.list(pb::ListRequest { path: path.map(drive_path_to) });
        let mut pages = within(ANSWER, call).await?;
        let mut listed = Vec::new();
        loop {
            let page =
                tokio::time::timeout(ANSWER, pages.message()).await.map_err(|_| ControlError::TimedOut)?;
            let Some(page) = page.map_err(|status| from_status(&status))? else { break };
            for entry in page.entries {
                listed.push(Listed::from_proto(entry)?);
            }
        }
        Ok(listed)
    }

    /// Begins to fetch a file or folder of the drive into `destination`, which must be absolute.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn pull(
        &mut self,
        source: &DrivePath,
        destination: Option<&Path>,
    ) -> Result<TransferId, ControlError> {
        let (source, destination) = (drive_path_to(source), destination.map(path_to));
        let call = self.stub.pull(pb::PullRequest { source, destination });
        Ok(TransferId(within(ANSWER, call).await?.id))
    }

    /// Offers a file or folder, which must be an absolute path, to a contact.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn push(&mut self, path: &Path, contact: String) -> Result<TransferId, ControlError> {
        let call = self.stub.push(pb::PushRequest { path: path_to(path), contact });
        Ok(TransferId(within(ANSWER, call).await?.id))
    }

    /// Stops a transfer until it is resumed.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn pause_transfer(&mut self, id: TransferId) -> Result<(), ControlError> {
        let call = self.stub.pause_transfer(pb::TransferRequest { id: id.0 });
        within(ANSWER, call).await.map(|pb::TransferChangeReply {}| ())
    }

    /// Goes on with a transfer that was paused or failed.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn resume_transfer(&mut self, id: TransferId) -> Result<(), ControlError> {
        let call = self.stub.resume_transfer(pb::TransferRequest { id: id.0 });
        within(ANSWER, call).await.map(|pb::TransferChangeReply {}| ())
    }

    /// Gives a transfer up.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn cancel_transfer(&mut self, id: TransferId) -> Result<(), ControlError> {
        let call = self.stub.cancel_transfer(pb::TransferRequest { id: id.0 });
        within(ANSWER, call).await.map(|pb::TransferChangeReply {}| ())
    }

    /// Waits until a transfer is done, cancelled, failed or paused, however long that takes.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn wait_transfer(&mut self, id: TransferId) -> Result<TransferStatus, ControlError> {
        let answer = self.stub.wait_transfer(pb::TransferRequest { id: id.0 }).await;
        let transfer = answer.map_err(|status| from_status(&status))?.into_inner().transfer;
        Ok(required(transfer, "transfer")?)
    }

    /// Takes what a contact pushes into a folder, which must be an absolute path; or takes nothing from it.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn accept_pushes(
        &mut self,
        contact: String,
        folder: Option<&Path>,
    ) -> Result<(), ControlError> {
        let request = pb::AcceptPushesRequest { contact, folder: folder.map(path_to) };
        within(ANSWER, self.stub.accept_pushes(request)).await.map(|pb::AcceptPushesReply {}| ())
    }

    /// Takes one push that was offered, into a folder, which must be an absolute path, or into `Downloads/Farhold`.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn accept_offer(&mut self, id: TransferId, folder: Option<&Path>) -> Result<(), ControlError> {
        let request = pb::AcceptOfferRequest { id: id.0, folder: folder.map(path_to) };
        within(ANSWER, self.stub.accept_offer(request)).await.map(|pb::TransferChangeReply {}| ())
    }

    /// Does not take it; its sender is told.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn decline_offer(&mut self, id: TransferId) -> Result<(), ControlError> {
        let call = self.stub.decline_offer(pb::TransferRequest { id: id.0 });
        within(ANSWER, call).await.map(|pb::TransferChangeReply {}| ())
    }

    /// Takes transfers that are done, cancelled or failed off the list, with what they left unfinished: these, or
    /// all. Answers which.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn forget_transfers(
        &mut self,
        ids: Option<&[TransferId]>,
    ) -> Result<Vec<TransferId>, ControlError> {
        if ids.is_some_and(<[_]>::is_empty) {
            return Ok(Vec::new());
        }
        let ids = ids.map(ids_to).unwrap_or_default();
        let call = self.stub.forget_transfers(pb::ForgetTransfersRequest { ids });
        Ok(ids_from(within(ANSWER, call).await?.ids))
    }

    /// All transfers, in chunks up to the first message that is `complete`, and then what changes of them, once in
    /// `interval` at most; ends with the engine.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn watch_transfers(
        &mut self,
        interval: Duration,
    ) -> Result<BoxStream<'static, Result<TransferChanges, ControlError>>, ControlError> {
        let request = pb::WatchTransfersRequest { interval_ms: milliseconds(interval) };
        Ok(checked(within(ANSWER, self.stub.watch_transfers(request)).await?))
    }

    /// What is open through the drive, the latest read first, and again whenever that has changed, once in
    /// `interval` at most; ends with the engine.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn watch_open_files(
        &mut self,
        interval: Duration,
    ) -> Result<BoxStream<'static, Result<Vec<OpenFile>, ControlError>>, ControlError> {
        let request = pb::WatchOpenFilesRequest { interval_ms: milliseconds(interval) };
        Ok(checked(within(ANSWER, self.stub.watch_open_files(request)).await?))
    }

    /// Sets and keeps what contacts' bytes may take of the network; answers what holds now.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn limit_rates(&mut self, change: RateChange) -> Result<RateLimits, ControlError> {
        Ok(RateLimits::from_proto(within(ANSWER, self.stub.limit_rates(change.to_proto())).await?)?)
    }

    /// Empties the cache, or drops what it has of a path.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn drop_cache(&mut self, path: Option<&DrivePath>) -> Result<CacheStatus, ControlError> {
        let call = self.stub.drop_cache(pb::DropCacheRequest { path: path.map(drive_path_to) });
        cache(within(ANSWER, call).await?.cache)
    }

    /// Sets and keeps the cache's limit, in bytes.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn limit_cache(&mut self, bytes: u64) -> Result<CacheStatus, ControlError> {
        cache(within(ANSWER, self.stub.limit_cache(pb::LimitCacheRequest { bytes })).await?.cache)
    }

    /// Keeps a file or folder of a contact whole in the cache.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn pin(&mut self, path: &DrivePath) -> Result<PinStatus, ControlError> {
        let call = self.stub.pin(pb::PinRequest { path: drive_path_to(path) });
        Ok(required(within(ANSWER, call).await?.pin, "pin")?)
    }

    /// Keeps it no longer.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn unpin(&mut self, path: &DrivePath) -> Result<(), ControlError> {
        let call = self.stub.unpin(pb::PinRequest { path: drive_path_to(path) });
        within(ANSWER, call).await.map(|pb::UnpinReply {}| ())
    }

    /// What is kept so.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn pins(&mut self) -> Result<Vec<PinStatus>, ControlError> {
        Ok(all(within(ANSWER, self.stub.pins(pb::PinsRequest {})).await?.pins)?)
    }

    /// The settings on disk, and which of them wait for the next start.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn settings(&mut self) -> Result<StoredSettings, ControlError> {
        let reply = within(ANSWER, self.stub.get_settings(pb::GetSettingsRequest {})).await?;
        Ok(StoredSettings::from_proto(reply)?)
    }

    /// Stores other settings and applies what a running engine can; answers what is stored.
    ///
    /// # Errors
    /// [`ControlError`]; nothing is changed then.
    pub async fn change_settings(&mut self, settings: Settings) -> Result<StoredSettings, ControlError> {
        let request = pb::ChangeSettingsRequest { settings: Some(settings.to_proto()) };
        Ok(StoredSettings::from_proto(within(ANSWER, self.stub.change_settings(request)).await?)?)
    }

    /// Mounts the drive; without an effect if it is mounted.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn mount(&mut self) -> Result<MountStatus, ControlError> {
        Ok(required(within(ANSWER, self.stub.mount(pb::MountRequest {})).await?.mount, "mount")?)
    }

    /// Unmounts the drive until [`mount`](Self::mount) or the next start; while programs use it, only if forced.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn unmount(&mut self, force: bool) -> Result<Unmounted, ControlError> {
        Ok(Unmounted::from_proto(within(ANSWER, self.stub.unmount(pb::UnmountRequest { force })).await?)?)
    }

    /// Programs that use the drive, as far as this user may see them.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn holders(&mut self) -> Result<Vec<Holder>, ControlError> {
        Ok(all(within(ANSWER, self.stub.holders(pb::HoldersRequest {})).await?.holders)?)
    }

    /// What works on this machine, and how to mend what does not.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn doctor(&mut self) -> Result<Vec<Finding>, ControlError> {
        Ok(all(within(ANSWER, self.stub.doctor(pb::DoctorRequest {})).await?.findings)?)
    }

    /// Calls the relay at `address` (`HOST` or `HOST:PORT`), which need not be the one in use; how long its answer took.
    ///
    /// # Errors
    /// [`ControlError`], which says what to do.
    pub async fn test_relay(&mut self, address: String) -> Result<Duration, ControlError> {
        let reply = within(ANSWER, self.stub.test_relay(pb::TestRelayRequest { address })).await?;
        let seconds = reply.round_trip_ms / 1e3;
        Duration::try_from_secs_f64(seconds).map_err(|_| ControlError::Answer("a round trip"))
    }

    /// A JSON document for whoever looks for a fault: version, system, settings, status, doctor and the latest log
    /// messages, without names, codes, paths and addresses.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn diagnostics(&mut self) -> Result<String, ControlError> {
        Ok(within(ANSWER, self.stub.diagnostics(pb::DiagnosticsRequest {})).await?.document)
    }
}
