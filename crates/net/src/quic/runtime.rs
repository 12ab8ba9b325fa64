//! Where quinn's tasks run: each has an owner, and all of them end with the program.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quinn::{AsyncTimer, AsyncUdpSocket, TokioRuntime};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Tokio, with a list of what runs.
#[derive(Debug, Default)]
pub(super) struct Runtime {
    tasks: TaskTracker,
    stopped: CancellationToken,
}

impl Runtime {
    /// Gives the tasks `linger` to end by themselves, and then ends them.
    pub(super) async fn stop(&self, linger: Duration) {
        self.tasks.close();
        let _ = timeout(linger, self.tasks.wait()).await;
        self.stopped.cancel();
        self.tasks.wait().await;
    }
}

impl quinn::Runtime for Runtime {
    fn new_timer(&self, at: Instant) -> Pin<Box<dyn AsyncTimer>> {
        TokioRuntime.new_timer(at)
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        let stopped = self.stopped.clone();
        self.tasks.spawn(async move { stopped.run_until_cancelled_owned(future).await });
    }

    fn wrap_udp_socket(&self, socket: std::net::UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
        TokioRuntime.wrap_udp_socket(socket)
    }

    fn now(&self) -> Instant {
        TokioRuntime.now()
    }
}
