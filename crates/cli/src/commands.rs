//! The commands that ask a running engine.

use std::path::PathBuf;

use farhold_control::ControlClient;
use farhold_engine::commands::{RateChange, ShareRequest};
use serde_json::json;

use crate::args::{Ask, Cache, Contact, Share};
use crate::exit::CommandError;
use crate::output::{self, Output};
use crate::size::Limit;

use transfers::Change;

mod mount;
mod settings;
mod transfers;

/// Asks, and prints the answer.
pub(crate) async fn run(command: Ask, mut client: ControlClient, output: Output) -> Result<(), CommandError> {
    match command {
        Ask::Down => {
            client.stop().await?;
            output.say(|| json!({"stopped": true}), || "Farhold is stopped.".to_owned())
        }
        Ask::Status => {
            let status = client.status().await?;
            output.say(|| json!(status), || output::status::text(&status))
        }
        Ask::Code => {
            let code = client.code().await?;
            output.say(|| json!({"code": code}), || code.clone())
        }
        Ask::Contact(command) => contact(command, client, output).await,
        Ask::Connect { name, wait } => {
            let session = client.connect(name.clone(), wait).await?;
            output.say(
                || json!({"name": name, "session": session}),
                || output::status::session(&name, &session),
            )
        }
        Ask::Disconnect { name } => {
            client.disconnect(name.clone()).await?;
            output.say(|| json!({"name": name}), || format!("Disconnected from {name}."))
        }
        Ask::Share(Share { paths, with, name, write }) => {
            let paths = paths.into_iter().map(absolute).collect::<Result<_, _>>()?;
            let shares = client.share(ShareRequest { paths, with, name, writable: write }).await?;
            output.say(|| json!({"shares": shares}), || output::shares::shared(&shares))
        }
        Ask::Unshare { path, with } => {
            let shares = client.unshare(&absolute(path)?, with).await?;
            output.say(|| json!({"unshared": shares}), || output::shares::unshared(&shares))
        }
        Ask::Shares => {
            let shares = client.shares().await?;
            output.say(|| json!({"shares": shares}), || output::shares::list(&shares))
        }
        Ask::Ls { path } => {
            let entries = client.list(path.as_ref()).await?;
            output.say(|| json!({"entries": entries}), || output::listing::text(&entries))
        }
        Ask::Pull { source, destination, wait } => {
            transfers::pull(source, destination, wait, client, output).await
        }
        Ask::Push { path, contact, wait } => transfers::push(path, contact, wait, client, output).await,
        Ask::Transfers => transfers::list(client, output).await,
        Ask::Pause { id } => transfers::change(id, Change::Pause, client, output).await,
        Ask::Resume { id } => transfers::change(id, Change::Resume, client, output).await,
        Ask::Cancel { id } => transfers::change(id, Change::Cancel, client, output).await,
        Ask::Accept { what, folder, off } => transfers::accept(what, folder, off, client, output).await,
        Ask::Decline { id } => transfers::change(id, Change::Decline, client, output).await,
        Ask::Forget { ids } => transfers::forget(ids, client, output).await,
        Ask::Cache { command: None } => {
            let (cache, pins) = (client.status().await?.cache, client.pins().await?);
            output.say(|| json!({"cache": cache, "pins": pins}), || output::cache::whole(&cache, &pins))
        }
        Ask::Cache { command: Some(Cache::Drop { path }) } => {
            let cache = client.drop_cache(path.as_ref()).await?;
            output.say(|| json!({"cache": cache}), || output::cache::text(&cache))
        }
        Ask::Pin { path } => {
            let pin = client.pin(&path).await?;
            output.say(|| json!({"pin": pin}), || output::cache::pinned(&pin))
        }
        Ask::Unpin { path } => {
            client.unpin(&path).await?;
            let path = path.to_string();
            output
                .say(|| json!({"path": path}), || format!("{} is kept no longer.", output::printable(&path)))
        }
        Ask::Mount => mount::mount(client, output).await,
        Ask::Unmount { force } => mount::unmount(force, client, output).await,
        Ask::Settings { key, value } => settings::run(key.zip(value), client, output).await,
        Ask::Limit { size, receive, send } => limit(size, receive, send, client, output).await,
    }
}

async fn limit(
    size: Option<u64>,
    receive: Option<Limit>,
    send: Option<Limit>,
    mut client: ControlClient,
    output: Output,
) -> Result<(), CommandError> {
    let cache = match size {
        Some(size) => Some(client.limit_cache(size).await?),
        None => None,
    };
    let rates = match (receive, send) {
        (None, None) => None,
        (receive, send) => {
            let change =
                RateChange { receive: receive.map(|Limit(rate)| rate), send: send.map(|Limit(rate)| rate) };
            Some(client.limit_rates(change).await?)
        }
    };
    let json = || match (cache, rates) {
        (Some(cache), Some(rates)) => json!({"cache": cache, "rates": rates}),
        (Some(cache), None) => json!({"cache": cache}),
        (None, rates) => json!({"rates": rates}),
    };
    let text = || {
        let cache = cache.iter().map(output::cache::text);
        cache.chain(rates.iter().map(output::rates::text)).collect::<Vec<_>>().join("\n")
    };
    output.say(json, text)
}

async fn contact(command: Contact, mut client: ControlClient, output: Output) -> Result<(), CommandError> {
    match command {
        Contact::Add { name, code } => {
            let added = client.add_contact(name, code).await?;
            output.say(
                || json!(added),
                || {
                    format!(
                        "{} is saved. You are connected once {} has added your code too: farhold code",
                        added.name, added.name
                    )
                },
            )
        }
        Contact::List => {
            let contacts = client.status().await?.contacts;
            output.say(|| json!({"contacts": contacts}), || output::status::contacts(&contacts))
        }
        Contact::Rename { old, new } => {
            client.rename_contact(old.clone(), new.clone()).await?;
            output.say(|| json!({"name": new}), || format!("{old} is called {new} now."))
        }
        Contact::Remove { name } => {
            client.remove_contact(name.clone()).await?;
            output.say(|| json!({"removed": name}), || format!("{name} is removed."))
        }
    }
}

/// The engine has another working directory. Links stay as they are: what they mean is the engine's to decide.
fn absolute(path: PathBuf) -> Result<PathBuf, CommandError> {
    std::path::absolute(path).map_err(CommandError::io("cannot make the path absolute"))
}
