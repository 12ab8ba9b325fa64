//! The socket's server: every call goes to the [`Host`], and nothing is decided here.

use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use farhold_engine::commands::{Listed, RateChange, ShareRequest};
use farhold_engine::error::EngineError;
use farhold_engine::settings::Settings;
use farhold_engine::status::TransferId;
use farhold_wire::proto::control as pb;
use futures_util::stream::{self, BoxStream, StreamExt};
use pb::control_server::{Control, ControlServer as Service};
use tokio::net::UnixListener;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::UnixListenerStream;
use tokio_util::sync::CancellationToken;
use tonic::transport::Server;
use tonic::{Request, Response, Status};

use crate::convert::commands::{LISTED_AT_ONCE, drive_path_from, path_from, shares_to};
use crate::convert::error::to_status;
use crate::convert::transfers::{ids_from, ids_to};
use crate::convert::{FromProto, ToProto, required};
use crate::host::Host;

/// Calls that one connection may have under way at once.
const CALLS_AT_ONCE: usize = 64;
/// Shortest interval of a watch: a status costs a little, and nobody reads faster.
const LEAST_INTERVAL: Duration = Duration::from_millis(100);
/// How long answers under way may take when the server stops.
const DRAIN: Duration = Duration::from_secs(2);

/// The socket cannot be served.
#[derive(Debug, thiserror::Error)]
#[error("cannot serve the control socket {}: {source}", socket.display())]
pub struct ServeError {
    /// The socket.
    pub socket: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// Answers at a socket until stopped.
#[derive(Debug)]
pub struct ControlServer {
    socket: PathBuf,
    /// Device and number of the socket's file: the next engine may have put its own in its place.
    file: (u64, u64),
    cancel: CancellationToken,
    task: JoinHandle<Result<(), tonic::transport::Error>>,
}

impl ControlServer {
    /// Serves `host` at `socket`, which only this user can open. What is left there of an earlier engine is replaced,
    /// also if that one is just ending: an engine's lock on its config directory, not its socket, keeps a second one
    /// away. Needs a tokio runtime.
    ///
    /// # Errors
    /// [`ServeError`].
    pub fn start(socket: &Path, host: Arc<dyn Host>) -> Result<Self, ServeError> {
        let (listener, file) =
            bind(socket).map_err(|source| ServeError { socket: socket.to_owned(), source })?;
        let cancel = CancellationToken::new();
        let service = Service::new(Adapter { host, cancel: cancel.clone() });
        let serving = Server::builder()
            .concurrency_limit_per_connection(CALLS_AT_ONCE)
            .add_service(service)
            .serve_with_incoming_shutdown(
                UnixListenerStream::new(listener),
                cancel.clone().cancelled_owned(),
            );
        Ok(Self { socket: socket.to_owned(), file, cancel, task: tokio::spawn(serving) })
    }

    /// Takes no more calls, lets those under way finish for 2 s, and removes the socket, unless it is another's by now.
    pub async fn stop(mut self) {
        self.cancel.cancel();
        match tokio::time::timeout(DRAIN, &mut self.task).await {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(error))) => tracing::warn!("the control server ended with an error: {error}"),
            Ok(Err(error)) => tracing::error!("the control server's task failed: {error}"),
            Err(_) => self.task.abort(),
        }
        let ours = identify(&self.socket).is_ok_and(|file| file == self.file);
        if ours && let Err(error) = std::fs::remove_file(&self.socket) {
            tracing::debug!("the control socket was not removed: {error}");
        }
    }
}

fn bind(socket: &Path) -> io::Result<(UnixListener, (u64, u64))> {
    match std::fs::remove_file(socket) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let listener = UnixListener::bind(socket)?;
    // Until here its folder, which is this user's alone, keeps others out.
    std::fs::set_permissions(socket, PermissionsExt::from_mode(0o600))?;
    Ok((listener, identify(socket)?))
}

fn identify(socket: &Path) -> io::Result<(u64, u64)> {
    let found = std::fs::symlink_metadata(socket)?;
    Ok((found.dev(), found.ino()))
}

struct Adapter {
    host: Arc<dyn Host>,
    cancel: CancellationToken,
}

/// The answer to a command that has none but that it was done.
fn done<R>(answer: Result<(), EngineError>, reply: R) -> Result<Response<R>, Status> {
    answer.map(|()| Response::new(reply)).map_err(|error| to_status(&error))
}

/// The answer to what began a transfer.
fn started(answer: Result<TransferId, EngineError>) -> Result<Response<pb::TransferReply>, Status> {
    let id = answer.map_err(|error| to_status(&error))?;
    Ok(Response::new(pb::TransferReply { id: id.0 }))
}

/// What `look` sees, and again whenever it has changed, once in `interval_ms` at most; until `cancel`.
fn watched<T, R, F>(
    interval_ms: u32,
    cancel: CancellationToken,
    look: impl Fn() -> F + Send + 'static,
) -> BoxStream<'static, Result<R, Status>>
where
    T: ToProto<Message = R> + Clone + PartialEq + Send + 'static,
    R: 'static,
    F: Future<Output = Result<T, EngineError>> + Send,
{
    let mut interval = tokio::time::interval(interval_of(interval_ms));
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let seen = stream::unfold((look, interval, None), |(look, mut interval, mut last)| async {
        let seen = loop {
            interval.tick().await;
            match look().await {
                Ok(seen) if last.as_ref() == Some(&seen) => {}
                other => break other,
            }
        };
        last = seen.as_ref().ok().cloned();
        let answer = seen.map(ToProto::to_proto).map_err(|error| to_status(&error));
        Some((answer, (look, interval, last)))
    });
    seen.take_until(cancel.cancelled_owned()).boxed()
}

fn interval_of(interval_ms: u32) -> Duration {
    Duration::from_millis(interval_ms.into()).max(LEAST_INTERVAL)
}

fn id(request: &Request<pb::TransferRequest>) -> TransferId {
    TransferId(request.get_ref().id)
}

#[tonic::async_trait]
impl Control for Adapter {
    type WatchStream = BoxStream<'static, Result<pb::StatusReply, Status>>;
    type ListStream = BoxStream<'static, Result<pb::ListReply, Status>>;
    type WatchTransfersStream = BoxStream<'static, Result<pb::TransferChanges, Status>>;
    type WatchOpenFilesStream = BoxStream<'static, Result<pb::OpenFilesReply, Status>>;

    async fn status(&self, _: Request<pb::StatusRequest>) -> Result<Response<pb::StatusReply>, Status> {
        let status = self.host.status().await.map_err(|error| to_status(&error))?;
        Ok(Response::new(status.to_proto()))
    }

    async fn watch(&self, request: Request<pb::WatchRequest>) -> Result<Response<Self::WatchStream>, Status> {
        let host = Arc::clone(&self.host);
        let look = move || {
            let host = Arc::clone(&host);
            async move { host.status().await }
        };
        Ok(Response::new(watched(request.into_inner().interval_ms, self.cancel.clone(), look)))
    }

    async fn stop(&self, _: Request<pb::StopRequest>) -> Result<Response<pb::StopReply>, Status> {
        self.host.stop().await;
        Ok(Response::new(pb::StopReply {}))
    }

    async fn code(&self, _: Request<pb::CodeRequest>) -> Result<Response<pb::CodeReply>, Status> {
        Ok(Response::new(pb::CodeReply { code: self.host.code() }))
    }

    async fn add_contact(
        &self,
        request: Request<pb::AddContactRequest>,
    ) -> Result<Response<pb::AddContactReply>, Status> {
        let pb::AddContactRequest { name, code } = request.into_inner();
        let added = self.host.add_contact(&name, &code).await;
        let added = added.map_err(|error| to_status(&error))?;
        Ok(Response::new(pb::AddContactReply { name: added.name, code: added.code }))
    }

    async fn rename_contact(
        &self,
        request: Request<pb::RenameContactRequest>,
    ) -> Result<Response<pb::RenameContactReply>, Status> {
        let pb::RenameContactRequest { old, new } = request.into_inner();
        done(self.host.rename_contact(&old, &new).await, pb::RenameContactReply {})
    }

    async fn remove_contact(
        &self,
        request: Request<pb::RemoveContactRequest>,
    ) -> Result<Response<pb::RemoveContactReply>, Status> {
        done(self.host.remove_contact(&request.into_inner().name).await, pb::RemoveContactReply {})
    }

    async fn connect_contact(
        &self,
        request: Request<pb::ConnectRequest>,
    ) -> Result<Response<pb::ConnectReply>, Status> {
        let pb::ConnectRequest { name, wait_ms } = request.into_inner();
        let session = self.host.connect(&name, wait_ms.map(Duration::from_millis)).await;
        let session = session.map_err(|error| to_status(&error))?;
        Ok(Response::new(pb::ConnectReply { session: Some(session.to_proto()) }))
    }

    async fn disconnect_contact(
        &self,
        request: Request<pb::DisconnectRequest>,
    ) -> Result<Response<pb::DisconnectReply>, Status> {
        done(self.host.disconnect(&request.into_inner().name).await, pb::DisconnectReply {})
    }

    async fn share(&self, request: Request<pb::ShareRequest>) -> Result<Response<pb::SharesReply>, Status> {
        let shares = self.host.share(ShareRequest::from_proto(request.into_inner())?).await;
        Ok(Response::new(shares_to(shares.map_err(|error| to_status(&error))?)))
    }

    async fn unshare(
        &self,
        request: Request<pb::UnshareRequest>,
    ) -> Result<Response<pb::SharesReply>, Status> {
        let pb::UnshareRequest { path, with } = request.into_inner();
        let shares = self.host.unshare(path_from(path)?, with.as_deref()).await;
        Ok(Response::new(shares_to(shares.map_err(|error| to_status(&error))?)))
    }

    async fn shares(&self, _: Request<pb::SharesRequest>) -> Result<Response<pb::SharesReply>, Status> {
        Ok(Response::new(shares_to(self.host.shares().await.map_err(|error| to_status(&error))?)))
    }

    async fn list(&self, request: Request<pb::ListRequest>) -> Result<Response<Self::ListStream>, Status> {
        let path = request.into_inner().path.map(drive_path_from).transpose()?;
        let listed = self.host.list(path).await.map_err(|error| to_status(&error))?;
        Ok(Response::new(pages(listed)))
    }

    async fn pull(&self, request: Request<pb::PullRequest>) -> Result<Response<pb::TransferReply>, Status> {
        let pb::PullRequest { source, destination } = request.into_inner();
        let destination = destination.map(path_from).transpose()?;
        started(self.host.pull(drive_path_from(source)?, destination).await)
    }

    async fn push(&self, request: Request<pb::PushRequest>) -> Result<Response<pb::TransferReply>, Status> {
        let pb::PushRequest { path, contact } = request.into_inner();
        started(self.host.push(path_from(path)?, &contact).await)
    }

    async fn pause_transfer(
        &self,
        request: Request<pb::TransferRequest>,
    ) -> Result<Response<pb::TransferChangeReply>, Status> {
        done(self.host.pause_transfer(id(&request)).await, pb::TransferChangeReply {})
    }

    async fn resume_transfer(
        &self,
        request: Request<pb::TransferRequest>,
    ) -> Result<Response<pb::TransferChangeReply>, Status> {
        done(self.host.resume_transfer(id(&request)).await, pb::TransferChangeReply {})
    }

    async fn cancel_transfer(
        &self,
        request: Request<pb::TransferRequest>,
    ) -> Result<Response<pb::TransferChangeReply>, Status> {
        done(self.host.cancel_transfer(id(&request)).await, pb::TransferChangeReply {})
    }

    async fn wait_transfer(
        &self,
        request: Request<pb::TransferRequest>,
    ) -> Result<Response<pb::WaitTransferReply>, Status> {
        let transfer = self.host.wait_transfer(id(&request)).await.map_err(|error| to_status(&error))?;
        Ok(Response::new(pb::WaitTransferReply { transfer: Some(transfer.to_proto()) }))
    }

    async fn accept_pushes(
        &self,
        request: Request<pb::AcceptPushesRequest>,
    ) -> Result<Response<pb::AcceptPushesReply>, Status> {
        let pb::AcceptPushesRequest { contact, folder } = request.into_inner();
        let folder = folder.map(path_from).transpose()?;
        done(self.host.accept_pushes(&contact, folder).await, pb::AcceptPushesReply {})
    }

    async fn accept_offer(
        &self,
        request: Request<pb::AcceptOfferRequest>,
    ) -> Result<Response<pb::TransferChangeReply>, Status> {
        let pb::AcceptOfferRequest { id, folder } = request.into_inner();
        let folder = folder.map(path_from).transpose()?;
        done(self.host.accept_offer(TransferId(id), folder).await, pb::TransferChangeReply {})
    }

    async fn decline_offer(
        &self,
        request: Request<pb::TransferRequest>,
    ) -> Result<Response<pb::TransferChangeReply>, Status> {
        done(self.host.decline_offer(id(&request)).await, pb::TransferChangeReply {})
    }

    async fn forget_transfers(
        &self,
        request: Request<pb::ForgetTransfersRequest>,
    ) -> Result<Response<pb::ForgetTransfersReply>, Status> {
        let ids = ids_from(request.into_inner().ids);
        let forgotten = self.host.forget_transfers((!ids.is_empty()).then_some(ids)).await;
        let forgotten = forgotten.map_err(|error| to_status(&error))?;
        Ok(Response::new(pb::ForgetTransfersReply { ids: ids_to(&forgotten) }))
    }

    async fn watch_transfers(
        &self,
        request: Request<pb::WatchTransfersRequest>,
    ) -> Result<Response<Self::WatchTransfersStream>, Status> {
        let changes = self.host.transfer_changes(interval_of(request.into_inner().interval_ms));
        let changes = changes.map(|changes| Ok(changes.to_proto()));
        Ok(Response::new(changes.take_until(self.cancel.clone().cancelled_owned()).boxed()))
    }

    async fn watch_open_files(
        &self,
        request: Request<pb::WatchOpenFilesRequest>,
    ) -> Result<Response<Self::WatchOpenFilesStream>, Status> {
        let host = Arc::clone(&self.host);
        let look = move || {
            let host = Arc::clone(&host);
            async move { host.open_files().await }
        };
        Ok(Response::new(watched(request.into_inner().interval_ms, self.cancel.clone(), look)))
    }

    async fn limit_rates(
        &self,
        request: Request<pb::LimitRatesRequest>,
    ) -> Result<Response<pb::LimitRatesReply>, Status> {
        let change = RateChange::from_proto(request.into_inner())?;
        let limits = self.host.limit_rates(change).await.map_err(|error| to_status(&error))?;
        Ok(Response::new(limits.to_proto()))
    }

    async fn drop_cache(
        &self,
        request: Request<pb::DropCacheRequest>,
    ) -> Result<Response<pb::DropCacheReply>, Status> {
        let path = request.into_inner().path.map(drive_path_from).transpose()?;
        let cache = self.host.drop_cache(path).await.map_err(|error| to_status(&error))?;
        Ok(Response::new(pb::DropCacheReply { cache: Some(cache.to_proto()) }))
    }

    async fn limit_cache(
        &self,
        request: Request<pb::LimitCacheRequest>,
    ) -> Result<Response<pb::LimitCacheReply>, Status> {
        let cache =
            self.host.limit_cache(request.into_inner().bytes).await.map_err(|error| to_status(&error))?;
        Ok(Response::new(pb::LimitCacheReply { cache: Some(cache.to_proto()) }))
    }

    async fn pin(&self, request: Request<pb::PinRequest>) -> Result<Response<pb::PinReply>, Status> {
        let path = drive_path_from(request.into_inner().path)?;
        let pin = self.host.pin(path).await.map_err(|error| to_status(&error))?;
        Ok(Response::new(pb::PinReply { pin: Some(pin.to_proto()) }))
    }

    async fn unpin(&self, request: Request<pb::PinRequest>) -> Result<Response<pb::UnpinReply>, Status> {
        let path = drive_path_from(request.into_inner().path)?;
        done(self.host.unpin(path).await, pb::UnpinReply {})
    }

    async fn pins(&self, _: Request<pb::PinsRequest>) -> Result<Response<pb::PinsReply>, Status> {
        let pins = self.host.pins().await.map_err(|error| to_status(&error))?;
        Ok(Response::new(pb::PinsReply { pins: pins.into_iter().map(ToProto::to_proto).collect() }))
    }

    async fn get_settings(
        &self,
        _: Request<pb::GetSettingsRequest>,
    ) -> Result<Response<pb::SettingsReply>, Status> {
        let stored = self.host.settings().await.map_err(|error| to_status(&error))?;
        Ok(Response::new(stored.to_proto()))
    }

    async fn change_settings(
        &self,
        request: Request<pb::ChangeSettingsRequest>,
    ) -> Result<Response<pb::SettingsReply>, Status> {
        let settings: Settings = required(request.into_inner().settings, "settings")?;
        let stored = self.host.change_settings(settings).await.map_err(|error| to_status(&error))?;
        Ok(Response::new(stored.to_proto()))
    }

    async fn mount(&self, _: Request<pb::MountRequest>) -> Result<Response<pb::MountReply>, Status> {
        let mount = self.host.mount().await.map_err(|error| to_status(&error))?;
        Ok(Response::new(pb::MountReply { mount: Some(mount.to_proto()) }))
    }

    async fn unmount(
        &self,
        request: Request<pb::UnmountRequest>,
    ) -> Result<Response<pb::UnmountReply>, Status> {
        let unmounted = self.host.unmount(request.into_inner().force).await;
        Ok(Response::new(unmounted.map_err(|error| to_status(&error))?.to_proto()))
    }

    async fn holders(&self, _: Request<pb::HoldersRequest>) -> Result<Response<pb::HoldersReply>, Status> {
        let holders = self.host.holders().await.map_err(|error| to_status(&error))?;
        Ok(Response::new(pb::HoldersReply { holders: holders.into_iter().map(ToProto::to_proto).collect() }))
    }

    async fn doctor(&self, _: Request<pb::DoctorRequest>) -> Result<Response<pb::DoctorReply>, Status> {
        let findings = self.host.doctor().await.map_err(|error| to_status(&error))?;
        let findings = findings.into_iter().map(ToProto::to_proto).collect();
        Ok(Response::new(pb::DoctorReply { findings }))
    }

    async fn test_relay(
        &self,
        request: Request<pb::TestRelayRequest>,
    ) -> Result<Response<pb::TestRelayReply>, Status> {
        let round_trip = self.host.test_relay(&request.into_inner().address).await;
        let round_trip = round_trip.map_err(|error| to_status(&error))?;
        Ok(Response::new(pb::TestRelayReply { round_trip_ms: round_trip.as_secs_f64() * 1e3 }))
    }

    async fn diagnostics(
        &self,
        _: Request<pb::DiagnosticsRequest>,
    ) -> Result<Response<pb::DiagnosticsReply>, Status> {
        let document = self.host.diagnostics().await.map_err(|error| to_status(&error))?;
        Ok(Response::new(pb::DiagnosticsReply { document }))
    }
}

fn pages(listed: Vec<Listed>) -> BoxStream<'static, Result<pb::ListReply, Status>> {
    let entries = stream::iter(listed).map(ToProto::to_proto);
    entries.chunks(LISTED_AT_ONCE).map(|entries| Ok(pb::ListReply { entries })).boxed()
}
