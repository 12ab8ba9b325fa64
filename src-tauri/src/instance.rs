//! One window per config directory: the first start holds a lock and listens at a socket beside the engine's; a second
//! one passes on what it was started with, and ends. No session bus is needed.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use farhold_engine::layout::Layout;
use rustix::fs::{FlockOperation, flock};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::Instant;

use crate::arguments::Start;

/// Most that a second start passes on, in bytes.
const MOST: u64 = 8 << 20;
/// How long either side waits for the other.
const PATIENCE: Duration = Duration::from_secs(5);
/// What the first start answers.
const TAKEN: &[u8] = b"taken";

/// Why this start is neither the first nor could reach it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InstanceError {
    #[error("cannot use {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("Farhold's window is already running, but does not answer; end its process and try again")]
    Silent,
}

/// What came of a start.
#[derive(Debug)]
pub(crate) enum Claim {
    /// It is the first.
    First(Instance),
    /// Another one took what it was started with.
    Passed,
}

/// The first start, until dropped.
#[derive(Debug)]
pub(crate) struct Instance {
    _lock: File,
    listener: UnixListener,
}

/// Becomes the one window of a config directory, or passes on to it.
pub(crate) async fn claim(layout: &Layout, start: &Start) -> Result<Claim, InstanceError> {
    let socket = layout.control_socket().with_extension("window");
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| InstanceError::Io { path, source }
    };
    layout.create().map_err(failed(layout.root()))?;
    let path = layout.root().join("window.lock");
    let lock = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
    let lock = lock.map_err(failed(&path))?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                let listener = listen(&socket).map_err(failed(&socket))?;
                return Ok(Claim::First(Instance { _lock: lock, listener }));
            }
            Err(rustix::io::Errno::WOULDBLOCK) => {}
            Err(error) => return Err(failed(&path)(error.into())),
        }
        match tokio::time::timeout_at(deadline, send(&socket, start)).await {
            Ok(Ok(())) => return Ok(Claim::Passed),
            // The first start does not listen yet, or is ending: then this one becomes the first.
            Ok(Err(error)) if Instant::now() < deadline => {
                tracing::debug!("the running window is not reached: {error}");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Ok(Err(_)) | Err(_) => return Err(InstanceError::Silent),
        }
    }
}

/// Listens in place of whoever left the socket behind: they hold the lock no more.
fn listen(socket: &Path) -> io::Result<UnixListener> {
    match std::fs::remove_file(socket) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let listener = UnixListener::bind(socket)?;
    std::fs::set_permissions(socket, PermissionsExt::from_mode(0o600))?;
    Ok(listener)
}

async fn send(socket: &Path, start: &Start) -> io::Result<()> {
    let mut stream = UnixStream::connect(socket).await?;
    stream.write_all(&serde_json::to_vec(start)?).await?;
    stream.shutdown().await?;
    let mut answer = Vec::new();
    stream.take(16).read_to_end(&mut answer).await?;
    if answer == TAKEN { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

impl Instance {
    /// What the next start passes on. What is no start is passed over.
    pub(crate) async fn next(&self) -> Start {
        loop {
            let received = async {
                let (stream, _) = self.listener.accept().await?;
                tokio::time::timeout(PATIENCE, receive(stream)).await.map_err(io::Error::from)?
            };
            match received.await {
                Ok(start) => return start,
                Err(error) => {
                    tracing::warn!("another start of the window could not be understood: {error}");
                    // Errors of accepting itself may come without end.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }
}

async fn receive(mut stream: UnixStream) -> io::Result<Start> {
    let mut content = Vec::new();
    (&mut stream).take(MOST).read_to_end(&mut content).await?;
    let start = serde_json::from_slice(&content)?;
    stream.write_all(TAKEN).await?;
    Ok(start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dto::Path as SentPath;

    #[tokio::test]
    async fn a_second_start_passes_on_and_a_third_one_is_first_again() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path().join("config"));
        let Claim::First(first) = claim(&layout, &Start::default()).await.unwrap() else {
            panic!("not first")
        };
        let start = Start {
            links: vec!["farhold://pair/x".to_owned()],
            paths: vec![SentPath::new("/a b")],
            ..Start::default()
        };
        let (passed, received) = tokio::join!(claim(&layout, &start), first.next());
        assert!(matches!(passed.unwrap(), Claim::Passed));
        assert_eq!(received, start);
        drop(first);
        // The socket is still there, its owner is not.
        assert!(matches!(claim(&layout, &start).await.unwrap(), Claim::First(_)));
    }

    #[tokio::test]
    async fn a_second_start_becomes_the_first_when_that_one_ends_without_answering() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path().join("config"));
        let Claim::First(first) = claim(&layout, &Start::default()).await.unwrap() else {
            panic!("not first")
        };
        let ends = async {
            // Heard, and then not answered any more.
            let heard = first.listener.accept().await;
            drop((heard, first));
        };
        let start = Start::default();
        let (second, ()) = tokio::join!(claim(&layout, &start), ends);
        assert!(matches!(second.unwrap(), Claim::First(_)));
    }

    #[tokio::test]
    async fn nonsense_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path().join("config"));
        let Claim::First(first) = claim(&layout, &Start::default()).await.unwrap() else {
            panic!("not first")
        };
        let socket = layout.control_socket().with_extension("window");
        let nonsense = async {
            let mut stream = UnixStream::connect(&socket).await.unwrap();
            stream.write_all(b"{}").await.unwrap();
        };
        let start = Start { demo: true, ..Start::default() };
        let (_, passed, received) = tokio::join!(nonsense, claim(&layout, &start), first.next());
        assert!(matches!(passed.unwrap(), Claim::Passed));
        assert!(received.demo);
    }
}
