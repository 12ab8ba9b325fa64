//! Transfers: beginning, waiting for, and changing them.

use std::convert::Infallible;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

use farhold_control::{ControlClient, ControlError};
use farhold_engine::commands::DrivePath;
use farhold_engine::status::{TransferId, TransferState, TransferStatus};
use futures_util::StreamExt;
use serde_json::json;

use super::absolute;
use crate::exit::CommandError;
use crate::output::{self, Output};

/// How often the line that shows the progress is written anew.
const SHOWN_EVERY: Duration = Duration::from_millis(500);

/// Begins to fetch; without a destination, into the current folder, like every program that fetches.
pub(super) async fn pull(
    source: DrivePath,
    destination: Option<PathBuf>,
    wait: bool,
    mut client: ControlClient,
    output: Output,
) -> Result<(), CommandError> {
    let destination = absolute(destination.unwrap_or_else(|| PathBuf::from(".")))?;
    let id = client.pull(&source, Some(&destination)).await?;
    begun(id, wait, client, output).await
}

/// Begins to send.
pub(super) async fn push(
    path: PathBuf,
    contact: String,
    wait: bool,
    mut client: ControlClient,
    output: Output,
) -> Result<(), CommandError> {
    let id = client.push(&absolute(path)?, contact).await?;
    begun(id, wait, client, output).await
}

async fn begun(
    id: TransferId,
    wait: bool,
    client: ControlClient,
    output: Output,
) -> Result<(), CommandError> {
    if !wait {
        return output
            .say(|| json!({"id": id}), || format!("Transfer {id} has begun; see: farhold transfers"));
    }
    let transfer = ended(id, client, output).await?;
    match transfer.state {
        TransferState::Done => {
            output.say(|| json!({"id": id, "transfer": transfer}), || output::transfers::ended(&transfer))
        }
        TransferState::Offered
        | TransferState::Queued
        | TransferState::Running
        | TransferState::Waiting
        | TransferState::Paused
        | TransferState::Failed
        | TransferState::Cancelled => Err(CommandError::Transfer(Box::new(transfer))),
    }
}

/// Waits for the end; a terminal is shown how far it is meanwhile.
async fn ended(
    id: TransferId,
    mut client: ControlClient,
    output: Output,
) -> Result<TransferStatus, ControlError> {
    if output.is_json() || !io::stderr().is_terminal() {
        return client.wait_transfer(id).await;
    }
    let mut statuses = client.watch(SHOWN_EVERY).await?;
    let showing = async {
        while let Some(Ok(status)) = statuses.next().await {
            if let Some(transfer) = status.transfers.iter().find(|transfer| transfer.id == id) {
                show(&output::transfers::progress(transfer));
            }
        }
        // The engine ended: waiting for the transfer fails then.
        std::future::pending::<Infallible>().await
    };
    let ended = tokio::select! {
        ended = client.wait_transfer(id) => ended,
        never = showing => match never {},
    };
    show("");
    ended
}

/// Writes the line anew. Nothing depends on it, so its errors do not matter.
fn show(line: &str) {
    let mut terminal = io::stderr().lock();
    let _ = write!(terminal, "\r\x1b[2K{line}").and_then(|()| terminal.flush());
}

/// Everything under way, and what ended lately.
pub(super) async fn list(mut client: ControlClient, output: Output) -> Result<(), CommandError> {
    let transfers = client.status().await?.transfers;
    output.say(|| json!({"transfers": transfers}), || output::transfers::list(&transfers))
}

/// What is done to a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Pause,
    Resume,
    Cancel,
    Decline,
}

/// Does it.
pub(super) async fn change(
    id: TransferId,
    change: Change,
    mut client: ControlClient,
    output: Output,
) -> Result<(), CommandError> {
    let text = match change {
        Change::Pause => {
            client.pause_transfer(id).await?;
            format!("Transfer {id} is paused. Go on with: farhold resume {id}")
        }
        Change::Resume => {
            client.resume_transfer(id).await?;
            format!("Transfer {id} goes on.")
        }
        Change::Cancel => {
            client.cancel_transfer(id).await?;
            format!("Transfer {id} is cancelled.")
        }
        Change::Decline => {
            client.decline_offer(id).await?;
            format!("Offer {id} is declined.")
        }
    };
    output.say(|| json!({"id": id}), || text)
}

/// Takes finished ones off the list: these, or all.
pub(super) async fn forget(
    ids: Vec<TransferId>,
    mut client: ControlClient,
    output: Output,
) -> Result<(), CommandError> {
    let ids = client.forget_transfers((!ids.is_empty()).then_some(&ids)).await?;
    output.say(
        || json!({"ids": ids}),
        || match ids.len() {
            0 => "No transfer is finished.".to_owned(),
            1 => "One transfer is forgotten.".to_owned(),
            count => format!("{count} transfers are forgotten."),
        },
    )
}

/// Takes an offer, or what a contact pushes from now on. A number is an offer, unless a contact is called so.
pub(super) async fn accept(
    what: String,
    folder: Option<PathBuf>,
    off: bool,
    mut client: ControlClient,
    output: Output,
) -> Result<(), CommandError> {
    if let (Ok(id), false) = (what.parse(), off)
        && !client.status().await?.contacts.iter().any(|contact| contact.name == what)
    {
        return accept_offer(id, folder, client, output).await;
    }
    if folder.is_none() && !off {
        return Err(CommandError::NoFolder { contact: what });
    }
    accept_pushes(what, folder, client, output).await
}

async fn accept_offer(
    id: TransferId,
    folder: Option<PathBuf>,
    mut client: ControlClient,
    output: Output,
) -> Result<(), CommandError> {
    let folder = folder.map(absolute).transpose()?;
    client.accept_offer(id, folder.as_deref()).await?;
    output.say(|| json!({"id": id}), || format!("Offer {id} is taken; see: farhold transfers"))
}

/// Lets a contact push into a folder, or no longer.
async fn accept_pushes(
    name: String,
    folder: Option<PathBuf>,
    mut client: ControlClient,
    output: Output,
) -> Result<(), CommandError> {
    let folder = folder.map(absolute).transpose()?;
    client.accept_pushes(name.clone(), folder.as_deref()).await?;
    output.say(
        || json!({"name": name, "folder": folder.as_ref().map(|folder| folder.to_string_lossy())}),
        || match &folder {
            Some(folder) => format!(
                "{name} may push files to you; they go into {}.",
                output::printable(&folder.to_string_lossy())
            ),
            None => format!("What {name} pushes waits for you to accept it from now on."),
        },
    )
}
