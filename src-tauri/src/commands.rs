//! What the page can call. Each command is a few lines: those of the window and its state go to the controller, those
//! of the engine through its control socket. `names.rs` lists them; what is missing there cannot be called.

use std::sync::{Mutex, PoisonError};

use farhold_control::ControlClient;
use tauri::ipc::Invoke;
use tauri::{AppHandle, Wry};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::AbortHandle;

use crate::controller::{Event, Request};
use crate::dto::Failure;
use crate::texts::Texts;

mod contacts;
mod diagnostics;
mod drive;
mod files;
mod listing;
mod settings;
mod transfers;
mod window;

use contacts::*;
use diagnostics::*;
use drive::*;
use files::*;
use listing::*;
use settings::*;
use transfers::*;
use window::*;

macro_rules! commands {
    ($($name:ident),*) => { tauri::generate_handler![$($name),*] };
}

/// Answers the page's calls.
pub(crate) fn handler() -> impl Fn(Invoke<Wry>) -> bool + Send + Sync + 'static {
    include!("commands/names.rs")
}

/// What commands work with.
#[derive(Debug)]
pub(crate) struct Shell {
    pub(crate) app: AppHandle,
    pub(crate) config_dir: std::path::PathBuf,
    pub(crate) events: mpsc::Sender<Event>,
    pub(crate) client: watch::Receiver<Option<ControlClient>>,
    pub(crate) texts: watch::Receiver<&'static Texts>,
    /// What tells the page of open files.
    pub(crate) open_files: Mutex<Option<AbortHandle>>,
}

impl Shell {
    /// The engine that is shown.
    fn engine(&self) -> Result<ControlClient, Failure> {
        self.client.borrow().clone().ok_or_else(Failure::not_running)
    }

    /// Asks the controller.
    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> Request) -> Result<T, Failure> {
        let (reply, answer) = oneshot::channel();
        self.tell(request(reply)).await?;
        answer.await.map_err(|_| ending())
    }

    /// Tells the controller.
    async fn tell(&self, request: Request) -> Result<(), Failure> {
        self.events.send(Event::Request(request)).await.map_err(|_| ending())
    }

    /// Replaces what tells the page of open files.
    fn watch_with(&self, watcher: Option<AbortHandle>) {
        let mut held = self.open_files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = std::mem::replace(&mut *held, watcher) {
            before.abort();
        }
    }
}

fn ending() -> Failure {
    Failure::new(crate::dto::FailureKind::NotRunning, "Farhold is ending.")
}

#[cfg(test)]
mod tests;
